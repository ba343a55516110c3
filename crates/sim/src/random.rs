//! The seeded source of all chance (SplitMix64: Steele, Lea and Flood, OOPSLA 2014). Its values never change between
//! versions, so a failing seed stays a failing seed.

use std::time::Duration;

use units::Ratio;

/// A generator whose whole state is one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// From a seed; every value is a good one.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or zero when that is zero. Uneven by at most `bound` in 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_bits()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A time from zero to `max`, `max` excluded.
    pub fn duration(&mut self, max: Duration) -> Duration {
        Duration::from_nanos(self.below(u64::try_from(max.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// True in `share` of the calls. Takes nothing from the generator when the answer is certain.
    pub fn chance(&mut self, share: Ratio) -> bool {
        let share = share.get();
        if share <= 0.0 || share.is_nan() {
            return false;
        }
        // 53 bits, so that the comparison is the same on every machine.
        share >= 1.0 || ((self.next_bits() >> 11) as f64) < share * (1_u64 << 53) as f64
    }

    /// One of `items`; `None` when there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len() as u64);
        items.get(usize::try_from(index).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of the published algorithm, so that seeds keep their meaning.
    #[test]
    fn values_are_stable() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_bits(), 3_203_168_211_198_807_973);
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..4).map(|_| random.below(1000)).collect();
        let mut again = Random::new(1);
        assert_eq!(drawn, (0..4).map(|_| again.below(1000)).collect::<Vec<_>>());
    }

    /// Shares come out as asked, and impossible and certain things are just that.
    #[test]
    fn chance_follows_the_share() {
        let mut random = Random::new(7);
        let mut hits = |share| (0..100_000).filter(|_| random.chance(Ratio::new(share))).count();
        assert_eq!((hits(0.0), hits(1.0), hits(f64::NAN)), (0, 100_000, 0));
        assert!((900..1100).contains(&hits(0.01)));
        assert!((49_000..51_000).contains(&hits(0.5)));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
