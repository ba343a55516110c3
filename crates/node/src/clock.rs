#![expect(
    clippy::disallowed_methods,
    reason = "I/O shell: the product's only clock reads and its only sleep"
)]
//! The two clocks of the machine and the only way to sleep. May touch: clocks, nothing else.
//!
//! Monotonic time (`CLOCK_MONOTONIC`, POSIX.1 `clock_gettime`) measures; wall time labels.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use units::{Instant, Timestamp};

/// The monotonic clock now. Does not block; a few tens of nanoseconds.
pub fn monotonic() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// The wall clock now; a clock set before 1970 reads as the epoch. Does not block.
pub fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Blocks the calling thread for at least `duration`.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Blocks the calling thread until the monotonic clock has reached `deadline`; returns at once when it has passed.
pub fn sleep_until(deadline: Instant) {
    let left = deadline.saturating_since(monotonic());
    if !left.is_zero() {
        sleep(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monotonic time never runs backwards and a sleep lasts at least as long as asked.
    #[test]
    fn monotonic_and_sleep() {
        let before = monotonic();
        sleep(Duration::from_millis(3));
        let after = monotonic();
        assert!(after - before >= Duration::from_millis(3));
        sleep_until(before);
        assert!(wall() > Timestamp::from_unix_nanos(1_600_000_000_000_000_000));
    }
}
