//! Why a lease was not taken or not released.
//!
//! Pure data.

use std::time::Duration;

use super::KnobKey;

/// Why a lease was not taken. Nothing changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GrantError {
    /// The machine has no such knob, or it cannot be written.
    #[error("{0} cannot be set here; ask for the capabilities to see what can")]
    UnknownKnob(KnobKey),
    /// The value cannot be compared.
    #[error("{value} is not a value for {knob}: it must be a finite number in SI units")]
    NotFinite {
        /// The knob.
        knob: KnobKey,
        /// The value that was asked for.
        value: f64,
    },
    /// Zero, or longer than the machine grants.
    #[error("a time to live of {asked:?} is not granted: it must be above 0 and at most {max:?}")]
    Ttl {
        /// What was asked for.
        asked: Duration,
        /// The longest that is granted.
        max: Duration,
    },
    /// The machine was booted since the holder last looked.
    #[error("the lease is for another boot of this machine; read the current boot id and ask again")]
    OtherBoot,
    /// A newer manager is in charge.
    #[error("term {asked} is over: term {current} is in charge")]
    StaleTerm {
        /// The term of the lease.
        asked: u64,
        /// The highest term seen.
        current: u64,
    },
    /// A newer request of the holder came first.
    #[error("request {asked} of {holder:?} is older than its request {last}")]
    StaleSequence {
        /// The holder.
        holder: String,
        /// The sequence of the lease.
        asked: u64,
        /// The highest sequence seen.
        last: u64,
    },
    /// Too many leases on the knob.
    #[error("{knob} already has {max} leases; release one or wait until one expires")]
    Full {
        /// The knob.
        knob: KnobKey,
        /// The bound that was reached.
        max: usize,
    },
}

/// Why a release did nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The machine has no such knob, or it cannot be written.
    #[error("{0} cannot be set here, so there is nothing to release")]
    UnknownKnob(KnobKey),
    /// The holder has no lease there.
    #[error("{holder:?} holds no lease on {knob}; it may have expired")]
    NotHeld {
        /// Who wanted to release.
        holder: String,
        /// The knob.
        knob: KnobKey,
    },
    /// A newer request of the holder came first.
    #[error("the release is older than the last request of {holder:?}")]
    Stale {
        /// The holder.
        holder: String,
    },
}
