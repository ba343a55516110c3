//! Which value a knob gets when leases, limits and its snapshot disagree.
//!
//! Pure functions over one knob's state.

use std::cmp::Ordering;

use units::Instant;

use super::clamp::ClampedBy;
use super::knob::{Held, KnobState};
use super::{Authority, KnobRule};

/// The value in force on one knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// What the knob should hold, in the SI unit of the control.
    pub value: f64,
    /// Who decided it; `None` when nothing binds the knob and the value is its snapshot.
    pub decided_by: Option<ClampedBy>,
    /// When the lease that decided it ends, on this machine's monotonic clock.
    pub until: Option<Instant>,
}

/// The value that `state` calls for. `ceiling` is the value in force on the knob that bounds a floor from above.
pub(super) fn effective(state: &KnobState, ceiling: Option<f64>) -> Effective {
    match state.model.rule {
        KnobRule::PowerCap { .. } | KnobRule::Ceiling => lowest(state),
        KnobRule::Floor { .. } => highest(state, ceiling),
        KnobRule::Setting => strongest(state),
    }
}

fn bid(held: &Held) -> Effective {
    Effective {
        value: held.lease.value,
        decided_by: Some(ClampedBy::of(held.lease.authority)),
        until: Some(held.deadline),
    }
}

fn fixed(value: f64, by: ClampedBy) -> Effective {
    Effective { value, decided_by: Some(by), until: None }
}

fn snapshot(state: &KnobState) -> Effective {
    Effective { value: state.model.snapshot, decided_by: None, until: None }
}

fn by_value(a: &Effective, b: &Effective) -> Ordering {
    a.value.total_cmp(&b.value)
}

/// The lowest of the limits, which bind even the snapshot.
fn lowest_limit(state: &KnobState) -> Option<Effective> {
    state.limits.iter().map(|(by, value)| fixed(*value, *by)).min_by(by_value)
}

fn lower(a: Effective, b: Option<Effective>) -> Effective {
    match b {
        Some(b) if b.value < a.value => b,
        _ => a,
    }
}

fn lowest(state: &KnobState) -> Effective {
    let wish = state.leases.iter().map(bid).min_by(by_value);
    let fallback = state.fallback.as_ref().map(|fallback| fixed(fallback.value, ClampedBy::Fallback));
    let chosen = match (wish, fallback) {
        (None, None) => return lower(snapshot(state), lowest_limit(state)),
        (Some(wish), fallback) => lower(wish, fallback),
        (None, Some(fallback)) => fallback,
    };
    let may_raise = state.leases.iter().any(|held| held.lease.authority >= Authority::System);
    let default = (!may_raise).then(|| fixed(state.model.snapshot, ClampedBy::Snapshot));
    let bounded = lower(lower(chosen, default), lowest_limit(state));
    into_range(state, bounded)
}

fn highest(state: &KnobState, ceiling: Option<f64>) -> Effective {
    let ceiling = ceiling.map(|value| fixed(value, ClampedBy::Ceiling));
    let Some(wish) = state.leases.iter().map(bid).max_by(by_value) else {
        return lower(lower(snapshot(state), ceiling), lowest_limit(state));
    };
    into_range(state, lower(lower(wish, ceiling), lowest_limit(state)))
}

fn strongest(state: &KnobState) -> Effective {
    let wish = state.leases.iter().max_by_key(|held| (held.lease.authority, held.order)).map(bid);
    wish.map_or_else(|| snapshot(state), |wish| into_range(state, wish))
}

fn into_range(state: &KnobState, wish: Effective) -> Effective {
    if wish.value < state.model.min {
        fixed(state.model.min, ClampedBy::Hardware)
    } else if wish.value > state.model.max {
        fixed(state.model.max, ClampedBy::Hardware)
    } else {
        wish
    }
}
