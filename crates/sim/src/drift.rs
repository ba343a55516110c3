//! Clocks that do not agree: each host's runs at its own rate from its own origin.

use units::Instant;

/// A host's clock as a function of the world's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    origin: u64,
    /// Parts in a million by which it runs fast, or slow when negative.
    parts: i32,
}

const MILLION: u128 = 1_000_000;
/// No clock is worse than this by far.
const PARTS_MAX: i32 = 100_000;

impl Drift {
    /// A clock that reads `origin` at the world's start and then runs fast by `parts` in a million, at most 100,000
    /// either way.
    pub fn new(origin: Instant, parts: i32) -> Self {
        Self { origin: origin.as_nanos(), parts: parts.clamp(-PARTS_MAX, PARTS_MAX) }
    }

    fn rate(self) -> u128 {
        u128::try_from(i64::from(self.parts) + 1_000_000).unwrap_or(MILLION)
    }

    /// What the host's clock reads when the world's reads `world`.
    pub fn local(self, world: Instant) -> Instant {
        let run = u128::from(world.as_nanos()) * self.rate() / MILLION;
        nanos(run + u128::from(self.origin))
    }

    /// The first instant of the world at which the host's clock reads at least `local`.
    pub fn world(self, local: Instant) -> Instant {
        if local == Instant::MAX {
            return local;
        }
        let run = u128::from(local.as_nanos().saturating_sub(self.origin));
        nanos((run * MILLION).div_ceil(self.rate()))
    }
}

fn nanos(count: u128) -> Instant {
    Instant::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A host woken for a deadline finds it passed, and is not woken a tick too late.
        #[test]
        fn waking_is_exact(origin in 0..1_u64 << 50, parts in -2000..2000_i32, local in 0..1_u64 << 52) {
            let drift = Drift::new(Instant::from_nanos(origin), parts);
            let due = Instant::from_nanos(local);
            let wake = drift.world(due);
            prop_assert!(drift.local(wake) >= due);
            if wake > Instant::ZERO {
                prop_assert!(drift.local(Instant::from_nanos(wake.as_nanos() - 1)) < due);
            }
        }
    }

    /// Never is never on every clock.
    #[test]
    fn never_stays_never() {
        assert_eq!(Drift::new(Instant::from_nanos(9), -50).world(Instant::MAX), Instant::MAX);
    }
}
