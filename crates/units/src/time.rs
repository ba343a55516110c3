//! The two clocks, never confused: a monotonic [`Instant`] measures, a wall-clock [`Timestamp`] labels.

use core::ops::{Add, Sub};
use core::time::Duration;

/// A point on a monotonic clock, in nanoseconds since an arbitrary origin of this machine's current boot.
///
/// Differences are meaningful only between instants of one machine and one boot. Steps of the wall clock do not
/// change it. Reading it is a shell's work; pure code receives it as `now`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// Later than any instant that a clock returns.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds since the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`, or zero when `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant plus `duration`, at most [`Instant::MAX`].
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        self.saturating_add(duration)
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Saturates at zero, as a clock read on two CPUs may.
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

/// A point on the wall clock, in nanoseconds since 1970-01-01T00:00:00Z. A label: it may jump in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// From nanoseconds since the Unix epoch.
    pub const fn from_unix_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn unix_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the Unix epoch.
    pub fn unix_seconds(self) -> f64 {
        Duration::from_nanos(self.0).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock read that runs backwards gives zero, not a panic and not a huge time.
    #[test]
    fn differences_saturate() {
        let (a, b) = (Instant::from_nanos(5), Instant::from_nanos(9));
        assert_eq!(b - a, Duration::from_nanos(4));
        assert_eq!(a - b, Duration::ZERO);
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
    }
}
