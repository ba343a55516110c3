//! Who may set which knob: a list of what is allowed; everything else is denied.
//!
//! Pure.

use crate::lease::Authority;
use crate::metric::MetricId;

use super::{Caller, NodeManagerError, Origin};

/// What is allowed. The empty list allows nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllowList {
    rules: Vec<AllowRule>,
}

/// One permission.
#[derive(Clone, Debug, PartialEq)]
pub struct AllowRule {
    /// The principal, exactly, or a beginning followed by `*`.
    pub principal: String,
    /// The control.
    pub control: MetricId,
    /// The highest authority in whose name the principal may speak.
    pub authority: Authority,
    /// Lowest value that it may ask for, in the control's SI unit.
    pub min: f64,
    /// Highest value that it may ask for.
    pub max: f64,
}

/// More rules than this are refused: a list that long is damaged or made by mistake.
pub const RULES_MAX: usize = 4096;

/// A list with too many rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the allow list has {count} rules, at most {RULES_MAX} are taken")]
pub struct TooManyRulesError {
    count: usize,
}

impl AllowList {
    /// A list that allows nothing.
    pub const fn deny_all() -> Self {
        Self { rules: Vec::new() }
    }

    /// A list of these rules.
    ///
    /// # Errors
    /// When there are more than [`RULES_MAX`].
    pub fn new(rules: Vec<AllowRule>) -> Result<Self, TooManyRulesError> {
        if rules.len() > RULES_MAX {
            return Err(TooManyRulesError { count: rules.len() });
        }
        Ok(Self { rules })
    }

    /// The lowest authority that some rule lets set a control; `None` when no rule opens it.
    pub fn writable_by(&self, control: MetricId) -> Option<Authority> {
        self.rules.iter().filter(|rule| rule.control == control).map(|rule| rule.authority).min()
    }

    /// Checks that a caller may set a control in some authority's name, to a value or (without one) at all.
    ///
    /// # Errors
    /// `Denied` with the reason: the way of the request, the principal, the authority or the value.
    pub fn check(
        &self,
        caller: &Caller,
        control: MetricId,
        authority: Authority,
        value: Option<f64>,
    ) -> Result<(), NodeManagerError> {
        check_origin(caller)?;
        let principal = &caller.principal;
        let mut reason = format!("the allow list of this node gives {principal:?} no right to set {control}");
        for rule in self.rules.iter().filter(|rule| rule.control == control && rule.is_for(principal)) {
            if authority > rule.authority {
                reason = format!("{principal:?} may set {control} as {} at most", rule.authority);
            } else if let Some(value) = value.filter(|value| !(rule.min..=rule.max).contains(value)) {
                let (min, max) = (rule.min, rule.max);
                reason = format!("{principal:?} may set {control} from {min} to {max} only, not {value}");
            } else {
                return Ok(());
            }
        }
        Err(NodeManagerError::Denied(reason))
    }
}

/// Checks that a request that would change something came by a way that proves who speaks.
pub(super) fn check_origin(caller: &Caller) -> Result<(), NodeManagerError> {
    let reason = match caller.origin {
        Origin::Local => return Ok(()),
        Origin::Network { is_signed: false } => {
            "a change that arrives over the network must be signed; ask from a program on the node itself"
        }
        Origin::Network { is_signed: true } => {
            "this node manager cannot check signatures, so no change is taken from the network"
        }
    };
    Err(NodeManagerError::Denied(reason.into()))
}

impl AllowRule {
    fn is_for(&self, principal: &str) -> bool {
        match self.principal.strip_suffix('*') {
            Some(beginning) => principal.starts_with(beginning),
            None => self.principal == principal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(principal: &str, origin: Origin) -> Caller {
        Caller { principal: principal.into(), client: [1; 16], origin }
    }

    /// Only what a rule names is allowed; each denial says which condition failed.
    #[test]
    fn default_is_deny() {
        let rule = AllowRule {
            principal: "job:*".into(),
            control: MetricId::CPU_FREQUENCY_MAX_CONTROL,
            authority: Authority::Job,
            min: 1.0e9,
            max: 3.0e9,
        };
        let list = AllowList::new(vec![rule]).unwrap();
        let max = MetricId::CPU_FREQUENCY_MAX_CONTROL;
        let job = caller("job:4711", Origin::Local);
        list.check(&job, max, Authority::Job, Some(2.0e9)).unwrap();
        let denied = |caller: &Caller, control, authority, value| {
            list.check(caller, control, authority, Some(value)).unwrap_err().to_string()
        };
        assert!(denied(&job, max, Authority::System, 2.0e9).contains("as job at most"));
        assert!(denied(&job, max, Authority::Job, 4.0e9).contains("from 1000000000 to 3000000000"));
        assert!(denied(&caller("x", Origin::Local), max, Authority::Job, 2.0e9).contains("no right"));
        let cap = MetricId::NODE_POWER_LIMIT_CONTROL;
        assert!(denied(&job, cap, Authority::Job, 200.0).contains("NODE_POWER_LIMIT_CONTROL"));
        for is_signed in [false, true] {
            let remote = caller("job:4711", Origin::Network { is_signed });
            assert!(denied(&remote, max, Authority::Job, 2.0e9).contains("network"));
        }
        assert!(AllowList::deny_all().check(&job, max, Authority::User, None).is_err());
        assert_eq!(list.writable_by(max), Some(Authority::Job));
        assert_eq!(list.writable_by(cap), None);
    }
}
