//! Who kept a wish from being granted, as codes and words.
//!
//! Pure data.

use super::Authority;

/// Who decided a value, if not the lease that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ClampedBy {
    /// Nobody: the wish was granted as it is, up to the hardware's step.
    None = 0,
    /// A limit of the hardware.
    Hardware = 1,
    /// The system manager's budget.
    Budget = 2,
    /// A thermal limit.
    Thermal = 3,
    /// An operator.
    Administrator = 4,
    /// Another job's or user's lease.
    OtherLease = 5,
    /// The value from before all leases: only the system manager and operators may go beyond it.
    Snapshot = 6,
    /// The fallback that stands in for a holder whose lease ran out: the lower of the cap in force then and the safe
    /// value. It ends with a new lease of at least that authority or the holder's release, and not by itself.
    Fallback = 7,
    /// The upper bound of the same quantity.
    Ceiling = 8,
}

impl ClampedBy {
    const ALL: [Self; 9] = [
        Self::None,
        Self::Hardware,
        Self::Budget,
        Self::Thermal,
        Self::Administrator,
        Self::OtherLease,
        Self::Snapshot,
        Self::Fallback,
        Self::Ceiling,
    ];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The meaning of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "nobody",
            Self::Hardware => "hardware",
            Self::Budget => "system budget",
            Self::Thermal => "thermal limit",
            Self::Administrator => "administrator",
            Self::OtherLease => "another lease",
            Self::Snapshot => "value before all leases",
            Self::Fallback => "fallback of an expired lease",
            Self::Ceiling => "upper bound",
        }
    }

    pub(super) fn of(authority: Authority) -> Self {
        match authority {
            Authority::User | Authority::Job => Self::OtherLease,
            Authority::System => Self::Budget,
            Authority::Administrator => Self::Administrator,
        }
    }
}
