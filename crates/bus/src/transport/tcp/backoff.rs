//! How long to wait before the next attempt to connect. Pure.

use std::time::Duration;

/// The wait after the first failure.
const WAIT_MIN: Duration = Duration::from_millis(100);
/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The wait after so many failures in a row: doubling from 100 ms to 5 s, a quarter less or more by `random`, so that
/// the clients of a server that comes back do not come all at once.
pub(super) fn wait(failures: u32, random: u64) -> Duration {
    let doubled = WAIT_MIN.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(WAIT_MAX);
    doubled.mul_f64(0.75 + 0.5 * (random % 1024) as f64 / 1024.0)
}

/// The next number of a small generator (SplitMix64) whose state is `state`.
pub(super) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits double from about 100 ms and stay at about 5 s, however long it lasts.
    #[test]
    fn waits_double_to_a_limit() {
        let mut state = 1;
        let mut about = |failures| wait(failures, random(&mut state)).as_secs_f64();
        for (failures, nominal) in
            [(0, 0.1), (1, 0.1), (2, 0.2), (3, 0.4), (6, 3.2), (7, 5.0), (u32::MAX, 5.0)]
        {
            let waited = about(failures);
            assert!((0.75 * nominal..=1.25 * nominal).contains(&waited), "{failures}: {waited}");
        }
    }
}
