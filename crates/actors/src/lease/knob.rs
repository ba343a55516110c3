//! One knob's leases, limits and fallback.
//!
//! Pure.

use std::collections::BTreeMap;

use units::Instant;

use super::clamp::ClampedBy;
use super::error::GrantError;
use super::{Authority, KnobModel, KnobRule, Lease};

#[derive(Clone, Debug)]
pub(super) struct KnobState {
    pub(super) model: KnobModel,
    pub(super) leases: Vec<Held>,
    pub(super) fallback: Option<Fallback>,
    pub(super) limits: BTreeMap<ClampedBy, f64>,
    /// What was last commanded; `None` when a write failed and must be repeated.
    pub(super) target: Option<f64>,
    /// Whether a lease or limit decided what was last commanded. One that asks for the snapshot's very value must be
    /// written too: somebody may have changed the knob since the snapshot.
    pub(super) is_bound: bool,
    /// What the hardware made of it.
    pub(super) applied: f64,
    pub(super) seen: BTreeMap<String, Seen>,
}

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) deadline: Instant,
    /// Ascending over all grants, so that "latest" is decided by arrival and not by a clock.
    pub(super) order: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Fallback {
    pub(super) value: f64,
    authority: Authority,
    holder: String,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// `None` when the holder was only heard to release.
    term: Option<u64>,
    pub(super) sequence: u64,
    order: u64,
}

impl KnobState {
    pub(super) fn new(model: KnobModel) -> Self {
        Self {
            model,
            leases: Vec::new(),
            fallback: None,
            limits: BTreeMap::new(),
            target: Some(model.snapshot),
            is_bound: false,
            applied: model.snapshot,
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn held(&self, holder: &str) -> Option<&Held> {
        self.leases.iter().find(|held| held.lease.holder == holder)
    }

    /// The end of the very same lease if it was taken before; an error if the request is older than the last one.
    pub(super) fn duplicate_of(&self, lease: &Lease) -> Result<Option<Instant>, GrantError> {
        let Some(seen) = self.seen.get(&lease.holder) else { return Ok(None) };
        let term = seen.term.unwrap_or(lease.term);
        if (lease.term, lease.sequence) > (term, seen.sequence) {
            return Ok(None);
        }
        match self.held(&lease.holder) {
            Some(held) if held.lease == *lease => Ok(Some(held.deadline)),
            _ if lease.term < term => Err(GrantError::StaleTerm { asked: lease.term, current: term }),
            _ => Err(GrantError::StaleSequence {
                holder: lease.holder.clone(),
                asked: lease.sequence,
                last: seen.sequence,
            }),
        }
    }

    pub(super) fn insert(&mut self, held: Held, holders_max: usize) {
        let lease = &held.lease;
        let seen = Seen { term: Some(lease.term), sequence: lease.sequence, order: held.order };
        self.seen.insert(lease.holder.clone(), seen);
        if self.fallback.as_ref().is_some_and(|fallback| lease.authority >= fallback.authority) {
            self.fallback = None;
        }
        match self.leases.iter_mut().find(|other| other.lease.holder == lease.holder) {
            Some(former) => *former = held,
            None => self.leases.push(held),
        }
        self.bound_seen(holders_max);
    }

    /// Remembers a release, so that a request from before it which arrives late does not bind the knob again.
    pub(super) fn note_release(&mut self, holder: &str, sequence: u64, order: u64, holders_max: usize) {
        let fresh = Seen { term: None, sequence, order };
        let seen = self.seen.entry(holder.to_owned()).or_insert(fresh);
        (seen.sequence, seen.order) = (sequence, order);
        self.bound_seen(holders_max);
    }

    fn bound_seen(&mut self, holders_max: usize) {
        if self.seen.len() > holders_max {
            self.forget_one();
        }
    }

    fn forget_one(&mut self) {
        let idle = self.seen.iter().filter(|(holder, _)| self.held(holder).is_none());
        if let Some(holder) = idle.min_by_key(|(_, seen)| seen.order).map(|(holder, _)| holder.clone()) {
            self.seen.remove(&holder);
        }
    }

    pub(super) fn remove(&mut self, holder: &str) -> bool {
        let count = self.leases.len();
        self.leases.retain(|held| held.lease.holder != holder);
        let left = self.fallback.take_if(|fallback| fallback.holder == holder).is_some();
        left || self.leases.len() < count
    }

    /// Ends the leases whose time is over and returns their holders.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<String> {
        let over: Vec<Held> = self.leases.extract_if(.., |held| held.deadline <= now).collect();
        self.fall_back(&over);
        over.into_iter().map(|held| held.lease.holder).collect()
    }

    fn fall_back(&mut self, over: &[Held]) {
        let KnobRule::PowerCap { safe } = self.model.rule else { return };
        let Some(strongest) = over.iter().max_by_key(|held| held.lease.authority) else { return };
        let authority = strongest.lease.authority;
        if self.leases.iter().any(|held| held.lease.authority >= authority) {
            return;
        }
        let current = self.target.unwrap_or(self.applied).min(self.applied);
        let value = current.min(safe);
        let holder = strongest.lease.holder.clone();
        self.fallback = Some(match self.fallback.take() {
            Some(former) if former.authority > authority => {
                Fallback { value: value.min(former.value), ..former }
            }
            Some(former) => Fallback { value: value.min(former.value), authority, holder },
            None => Fallback { value, authority, holder },
        });
    }

    /// The lowest live cap of the system manager or the administrator, for a power cap.
    pub(super) fn exit_bound(&self) -> Option<f64> {
        if !matches!(self.model.rule, KnobRule::PowerCap { .. }) {
            return None;
        }
        let leases = self.leases.iter().map(|held| (held.lease.authority, held.lease.value));
        let fallback = self.fallback.iter().map(|fallback| (fallback.authority, fallback.value));
        leases
            .chain(fallback)
            .filter(|(authority, _)| *authority >= Authority::System)
            .map(|(_, value)| value)
            .min_by(f64::total_cmp)
    }
}
