//! Leases on a machine's knobs, and who wins when several live at once.
//!
//! Pure: time is an argument. Every setting is a [`Lease`]; the machine that holds the knob counts its time to live
//! on its own monotonic clock, so neither a lost message nor a stepped wall clock can prolong it. The rules:
//!
//! * **Power caps**: the lowest live cap wins. When the last lease of some authority expires without renewal, a
//!   *fallback* of `min(cap in force, safe)` stands in with that authority, so silence never raises a cap. It has no
//!   end of its own: it ends with a new lease of at least this authority (a restarted system manager's first lease
//!   lifts its former self's fallback), with the holder's release, with an operator's order, or with the node manager.
//! * **Ceilings** (highest frequency): the lowest live one; **floors**: the highest live one, below its ceiling;
//!   **settings**: the highest authority, then the latest. Expiry leads to the next live lease, else the snapshot.
//! * **Release** leads to the next live lease, else the snapshot.
//! * A cap or ceiling above the snapshot takes effect only beside a live lease of [`Authority::System`] or above;
//!   floors are bounded by their ceiling and settings by the hardware. Hardware and thermal limits bound everybody.
//! * A lease that asks for the snapshot's very value is written like any other: it binds, the snapshot does not.

mod clamp;
mod error;
mod knob;
mod rank;
mod table;

pub use clamp::ClampedBy;
pub use error::{GrantError, ReleaseError};
pub use rank::Effective;
pub use table::{Decision, Ended, LeaseTable, TableLimits};

use std::fmt;
use std::time::Duration;

use crate::device::Device;
use crate::metric::MetricId;

/// One knob of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnobKey {
    /// What is controlled; a metric of kind `Control`.
    pub control: MetricId,
    /// Which part of the machine.
    pub device: Device,
}

/// Who speaks, in ascending order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Authority {
    /// A person's wish without a job.
    User = 0,
    /// A job manager for its job.
    Job = 1,
    /// The system manager with the machine's budget.
    System = 2,
    /// An operator.
    Administrator = 3,
}

/// A machine's boot, so that a lease from before a reboot cannot act after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootId([u8; 16]);

/// The right to hold a knob at a value for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// Who holds it; one holder has at most one lease on a knob.
    pub holder: String,
    /// In whose name.
    pub authority: Authority,
    /// The knob.
    pub knob: KnobKey,
    /// The wished value, in the SI unit of the control.
    pub value: f64,
    /// Counts the holder's requests; a request that is not above the last one of its term is stale.
    pub sequence: u64,
    /// Fences managers of one authority: a term below the highest seen is refused.
    pub term: u64,
    /// The boot that the holder believes the machine to be in; zero when it does not care.
    pub boot_id: BootId,
    /// How long it lives from the moment that the machine takes it.
    pub ttl: Duration,
}

/// How several leases on one knob are joined, and what expiry means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnobRule {
    /// A power cap with the value that a silent manager's machine falls back to.
    PowerCap {
        /// The fallback in watts.
        safe: f64,
    },
    /// An upper bound that costs only speed, such as the highest frequency.
    Ceiling,
    /// A lower bound, such as the lowest frequency, kept below its ceiling.
    Floor {
        /// The knob that bounds it from above.
        ceiling: Option<KnobKey>,
    },
    /// A choice without order, such as the energy preference.
    Setting,
}

/// What the table must know of one knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnobModel {
    /// The knob.
    pub key: KnobKey,
    /// How leases are joined.
    pub rule: KnobRule,
    /// Lowest value that the hardware takes.
    pub min: f64,
    /// Highest value that the hardware takes.
    pub max: f64,
    /// The value that the knob had before anything was changed.
    pub snapshot: f64,
}

/// A knob's new target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The knob.
    pub key: KnobKey,
    /// What to write, in the SI unit of the control.
    pub target: f64,
    /// Whether nothing binds the knob any longer, so that the machine can put back all that it saved.
    pub is_restore: bool,
}

impl Authority {
    const ALL: [Self; 4] = [Self::User, Self::Job, Self::System, Self::Administrator];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The authority of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::User => "user",
            Self::Job => "job",
            Self::System => "system",
            Self::Administrator => "administrator",
        })
    }
}

impl BootId {
    /// Not known, or not cared about.
    pub const UNKNOWN: Self = Self([0; 16]);

    /// From the 16 bytes of the kernel's boot id.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for KnobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.control, self.device)
    }
}

#[cfg(test)]
mod tests;
