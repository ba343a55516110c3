//! Time as it travels: seconds and 2^-32 fractions (RTPS 9.3.2.1).

use core::time::Duration;
use units::Timestamp;

/// Seconds and 2^-32 second fractions: a time stamp or a duration on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WireTime {
    /// Whole seconds.
    pub seconds: i32,
    /// Fractions of 2^-32 s.
    pub fraction: u32,
}

impl WireTime {
    /// The invalid time stamp.
    pub const INVALID: Self = Self { seconds: -1, fraction: 0xffff_ffff };
    /// The infinite duration.
    pub const INFINITE: Self = Self { seconds: 0x7fff_ffff, fraction: 0xffff_ffff };

    /// From a wall-clock time; times after 2106 become [`WireTime::INVALID`].
    pub fn from_timestamp(time: Timestamp) -> Self {
        let nanos = time.unix_nanos();
        match u32::try_from(nanos / 1_000_000_000) {
            Ok(seconds) => Self { seconds: seconds.cast_signed(), fraction: fraction(nanos % 1_000_000_000) },
            Err(_) => Self::INVALID,
        }
    }

    /// As a wall-clock time, unless it is the invalid one.
    pub fn to_timestamp(self) -> Option<Timestamp> {
        (self != Self::INVALID).then(|| {
            let seconds = u64::from(self.seconds.cast_unsigned());
            Timestamp::from_unix_nanos(seconds * 1_000_000_000 + nanos(self.fraction))
        })
    }
}

/// A duration that may be infinite: the form of every QoS period and lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lease {
    /// Ends after this long.
    Finite(Duration),
    /// Never ends.
    Infinite,
}

impl Lease {
    /// As it travels; more than 68 years becomes infinite.
    pub fn to_wire(self) -> WireTime {
        match self {
            Self::Finite(duration) => match i32::try_from(duration.as_secs()) {
                Ok(seconds) if seconds < i32::MAX => {
                    WireTime { seconds, fraction: fraction(u64::from(duration.subsec_nanos())) }
                }
                _ => WireTime::INFINITE,
            },
            Self::Infinite => WireTime::INFINITE,
        }
    }

    /// From the wire. Seconds of `0x7fffffff` mean infinite whatever the fraction (vendors differ there); negative
    /// seconds mean zero.
    pub fn from_wire(time: WireTime) -> Self {
        if time.seconds == i32::MAX {
            return Self::Infinite;
        }
        match u64::try_from(time.seconds) {
            Ok(seconds) => {
                Self::Finite(Duration::from_secs(seconds) + Duration::from_nanos(nanos(time.fraction)))
            }
            Err(_) => Self::Finite(Duration::ZERO),
        }
    }
}

/// Nanoseconds below one second to fractions, rounded up so that the way back gives the same nanoseconds.
fn fraction(nanos: u64) -> u32 {
    u32::try_from((nanos << 32).div_ceil(1_000_000_000)).unwrap_or(u32::MAX)
}

/// Fractions to nanoseconds, rounded down.
fn nanos(fraction: u32) -> u64 {
    (u64::from(fraction) * 1_000_000_000) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every nanosecond survives the trip over the wire's 2^-32 s fractions.
    #[test]
    fn times_survive_the_wire() {
        for nanos in [0, 1, 999, 1_000, 123_456_789, 500_000_000, 999_999_999] {
            let time = Timestamp::from_unix_nanos(1_700_000_000_000_000_000 + nanos);
            assert_eq!(WireTime::from_timestamp(time).to_timestamp(), Some(time));
            let lease = Lease::Finite(Duration::from_secs(20) + Duration::from_nanos(nanos));
            assert_eq!(Lease::from_wire(lease.to_wire()), lease);
        }
        assert_eq!(Lease::from_wire(Lease::Infinite.to_wire()), Lease::Infinite);
        assert_eq!(WireTime::INVALID.to_timestamp(), None);
    }
}
