//! The leases of one machine and what each operation does to its knobs.
//!
//! Pure. Every operation appends the [`Change`]s that it causes, already in the order in which they must be written
//! (a floor goes down before its ceiling does, and up after it).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use units::Instant;

use super::clamp::ClampedBy;
use super::error::{GrantError, ReleaseError};
use super::knob::{Held, KnobState};
use super::rank::{Effective, effective};
use super::{Authority, BootId, Change, KnobKey, KnobModel, KnobRule, Lease};

/// Bounds of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLimits {
    /// Leases on one knob at once; more are refused.
    pub leases_max: usize,
    /// Holders whose last sequence is remembered for one knob; beyond it the longest unheard-of is forgotten.
    pub holders_max: usize,
    /// The longest time to live that is granted.
    pub ttl_max: Duration,
}

/// What a lease got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The value now in force, before the hardware rounds it.
    pub target: f64,
    /// Who kept the wish from being granted.
    pub clamped_by: ClampedBy,
    /// When this lease ends.
    pub until: Instant,
    /// Whether this very lease had been taken before; its time was not extended again.
    pub is_duplicate: bool,
}

/// All leases of one machine.
#[derive(Clone, Debug)]
pub struct LeaseTable {
    boot_id: BootId,
    bounds: TableLimits,
    knobs: BTreeMap<KnobKey, KnobState>,
    /// Highest term seen of the system manager and of the administrator.
    terms: BTreeMap<Authority, u64>,
    order: u64,
    /// Leases that ran out and were not told of yet.
    ended: VecDeque<Ended>,
}

/// A lease that ran out without renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The knob.
    pub knob: KnobKey,
    /// Who held it.
    pub holder: String,
}

/// Ends that wait to be told; the oldest is dropped beyond it.
const ENDED_MAX: usize = 256;

impl Default for TableLimits {
    fn default() -> Self {
        Self { leases_max: 64, holders_max: 256, ttl_max: Duration::from_secs(24 * 3600) }
    }
}

impl LeaseTable {
    /// A table without leases for the knobs of one machine in one boot.
    pub fn new(boot_id: BootId, models: impl IntoIterator<Item = KnobModel>, bounds: TableLimits) -> Self {
        let knobs = models.into_iter().map(|model| (model.key, KnobState::new(model))).collect();
        Self { boot_id, bounds, knobs, terms: BTreeMap::new(), order: 0, ended: VecDeque::new() }
    }

    /// Takes a lease, or renews the one that its holder has on the knob.
    ///
    /// # Errors
    /// See [`GrantError`]. Leases that ran out before `now` have ended even then, so `changes` may be non-empty.
    pub fn grant(
        &mut self,
        now: Instant,
        lease: &Lease,
        changes: &mut Vec<Change>,
    ) -> Result<Decision, GrantError> {
        self.expire(now, changes);
        self.check(lease)?;
        let bounds = self.bounds;
        let state = self.knobs.get_mut(&lease.knob).ok_or(GrantError::UnknownKnob(lease.knob))?;
        if let Some(until) = state.duplicate_of(lease)? {
            return Ok(self.decision(lease, until, true));
        }
        let full = state.leases.len() >= bounds.leases_max && state.held(&lease.holder).is_none();
        if full {
            return Err(GrantError::Full { knob: lease.knob, max: bounds.leases_max });
        }
        self.order += 1;
        let deadline = now + lease.ttl;
        state.insert(Held { lease: lease.clone(), deadline, order: self.order }, bounds.holders_max);
        if lease.authority >= Authority::System {
            let term = self.terms.entry(lease.authority).or_default();
            *term = lease.term.max(*term);
        }
        self.settle(changes);
        Ok(self.decision(lease, deadline, false))
    }

    /// What [`LeaseTable::grant`] would decide, changing nothing. Cost: a copy of the table.
    ///
    /// # Errors
    /// As `grant`.
    pub fn try_grant(&self, now: Instant, lease: &Lease) -> Result<Decision, GrantError> {
        self.clone().grant(now, lease, &mut Vec::new())
    }

    /// Ends a holder's lease on one knob, or the fallback that its expired lease left behind.
    ///
    /// # Errors
    /// See [`ReleaseError`].
    pub fn release(
        &mut self,
        now: Instant,
        holder: &str,
        sequence: u64,
        knob: KnobKey,
        changes: &mut Vec<Change>,
    ) -> Result<(), ReleaseError> {
        self.expire(now, changes);
        let state = self.knobs.get_mut(&knob).ok_or(ReleaseError::UnknownKnob(knob))?;
        if state.seen.get(holder).is_some_and(|seen| sequence <= seen.sequence) {
            return Err(ReleaseError::Stale { holder: holder.to_owned() });
        }
        self.order += 1;
        state.note_release(holder, sequence, self.order, self.bounds.holders_max);
        if !state.remove(holder) {
            return Err(ReleaseError::NotHeld { holder: holder.to_owned(), knob });
        }
        self.settle(changes);
        Ok(())
    }

    /// Ends every lease and fallback of one holder, without looking at sequences: for a holder that is known to be
    /// gone, or an operator's order. Returns how many knobs it held.
    pub fn release_holder(&mut self, now: Instant, holder: &str, changes: &mut Vec<Change>) -> usize {
        self.expire(now, changes);
        let held = self.knobs.values_mut().filter_map(|state| state.remove(holder).then_some(())).count();
        self.settle(changes);
        held
    }

    /// Ends every lease and fallback on one knob: an operator's order.
    pub fn clear(&mut self, now: Instant, knob: KnobKey, changes: &mut Vec<Change>) {
        self.expire(now, changes);
        if let Some(state) = self.knobs.get_mut(&knob) {
            state.leases.clear();
            state.fallback = None;
        }
        self.settle(changes);
    }

    /// Ends the leases whose time is over.
    pub fn expire(&mut self, now: Instant, changes: &mut Vec<Change>) {
        for (knob, state) in &mut self.knobs {
            let ended = state.expire(now).into_iter().map(|holder| Ended { knob: *knob, holder });
            self.ended.extend(ended);
        }
        let surplus = self.ended.len().saturating_sub(ENDED_MAX);
        self.ended.drain(..surplus);
        self.settle(changes);
    }

    /// The leases that ran out since the last call, within any operation.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        self.ended.drain(..).collect()
    }

    /// Sets or lifts a bound that no lease can pass: of the hardware, thermal, or the administrator's configuration.
    pub fn set_limit(
        &mut self,
        knob: KnobKey,
        source: ClampedBy,
        limit: Option<f64>,
        changes: &mut Vec<Change>,
    ) {
        let Some(state) = self.knobs.get_mut(&knob) else { return };
        match limit {
            Some(value) => state.limits.insert(source, value),
            None => state.limits.remove(&source),
        };
        self.settle(changes);
    }

    /// Tells the table what the hardware made of a change.
    pub fn confirm(&mut self, knob: KnobKey, applied: f64) {
        if let Some(state) = self.knobs.get_mut(&knob) {
            state.applied = applied;
        }
    }

    /// Tells the table that a change could not be written: the next operation asks for it again.
    pub fn mark_unwritten(&mut self, knob: KnobKey) {
        if let Some(state) = self.knobs.get_mut(&knob) {
            state.target = None;
        }
    }

    /// Ends everything for an orderly exit: each knob returns to its snapshot, a power cap to the snapshot bounded
    /// by the live caps of the system manager and the administrator.
    pub fn end(&mut self, now: Instant, changes: &mut Vec<Change>) {
        let mut unused = Vec::new();
        self.expire(now, &mut unused);
        for state in self.knobs.values_mut() {
            let remaining = state.exit_bound();
            state.leases.clear();
            state.fallback = None;
            match remaining {
                Some(bound) => state.limits.insert(ClampedBy::Budget, bound),
                None => state.limits.remove(&ClampedBy::Budget),
            };
        }
        changes.append(&mut unused);
        self.settle(changes);
    }

    /// When to call [`LeaseTable::expire`]; `None` while no lease lives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.knobs.values().flat_map(|state| &state.leases).map(|held| held.deadline).min()
    }

    /// Live leases on all knobs.
    pub fn lease_count(&self) -> usize {
        self.knobs.values().map(|state| state.leases.len()).sum()
    }

    /// The value in force on a knob and who decided it.
    pub fn effective(&self, knob: KnobKey) -> Option<Effective> {
        let state = self.knobs.get(&knob)?;
        let ceiling = match state.model.rule {
            KnobRule::Floor { ceiling: Some(ceiling) } => self.knobs.get(&ceiling),
            _ => None,
        };
        Some(effective(state, ceiling.map(|state| effective(state, None).value)))
    }

    /// The live leases on a knob with the instants at which they end.
    pub fn leases(&self, knob: KnobKey) -> impl Iterator<Item = (&Lease, Instant)> {
        self.knobs
            .get(&knob)
            .into_iter()
            .flat_map(|state| &state.leases)
            .map(|held| (&held.lease, held.deadline))
    }

    /// The knobs of the table.
    pub fn models(&self) -> impl Iterator<Item = &KnobModel> {
        self.knobs.values().map(|state| &state.model)
    }

    fn check(&self, lease: &Lease) -> Result<(), GrantError> {
        if !lease.value.is_finite() {
            return Err(GrantError::NotFinite { knob: lease.knob, value: lease.value });
        }
        if lease.ttl.is_zero() || lease.ttl > self.bounds.ttl_max {
            return Err(GrantError::Ttl { asked: lease.ttl, max: self.bounds.ttl_max });
        }
        if lease.boot_id != BootId::UNKNOWN && lease.boot_id != self.boot_id {
            return Err(GrantError::OtherBoot);
        }
        match self.terms.get(&lease.authority) {
            Some(&current) if lease.term < current => {
                Err(GrantError::StaleTerm { asked: lease.term, current })
            }
            _ => Ok(()),
        }
    }

    fn decision(&self, lease: &Lease, until: Instant, is_duplicate: bool) -> Decision {
        let effective = self.effective(lease.knob).unwrap_or(Effective {
            value: lease.value,
            decided_by: None,
            until: None,
        });
        let clamped_by = if effective.value.total_cmp(&lease.value).is_eq() {
            ClampedBy::None
        } else {
            effective.decided_by.unwrap_or(ClampedBy::Snapshot)
        };
        Decision { target: effective.value, clamped_by, until, is_duplicate }
    }

    /// Appends a change for every knob whose value in force is not what was last commanded, or that is bound or free
    /// since.
    fn settle(&mut self, changes: &mut Vec<Change>) {
        let targets: Vec<(KnobKey, Effective)> =
            self.knobs.keys().filter_map(|key| Some((*key, self.effective(*key)?))).collect();
        let (mut before, mut middle, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for (key, effective) in targets {
            let Some(state) = self.knobs.get_mut(&key) else { continue };
            let is_bound = effective.decided_by.is_some();
            let was_bound = std::mem::replace(&mut state.is_bound, is_bound);
            let former = state.target.replace(effective.value);
            let is_same = former.is_some_and(|former| former.total_cmp(&effective.value).is_eq());
            if is_same && was_bound == is_bound {
                continue;
            }
            let change = Change { key, target: effective.value, is_restore: !is_bound };
            let is_floor = matches!(state.model.rule, KnobRule::Floor { .. });
            match (is_floor, former.is_none_or(|former| effective.value < former)) {
                (false, _) => middle.push(change),
                (true, true) => before.push(change),
                (true, false) => after.push(change),
            }
        }
        changes.append(&mut before);
        changes.append(&mut middle);
        changes.append(&mut after);
    }
}
