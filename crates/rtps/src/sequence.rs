//! Sequence and fragment numbers and their bounded sets (RTPS 9.4.2.5 to 9.4.2.8).

use core::fmt;

/// The number of a change in a writer's history; the first is 1. Never negative here: parsing refuses that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(pub u64);

impl SequenceNumber {
    /// Before every change.
    pub const ZERO: Self = Self(0);
    /// The first change.
    pub const FIRST: Self = Self(1);

    /// The following number, saturating.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The preceding number, at least zero.
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a fragment of a sample; the first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentNumber(pub u32);

/// A number set that its standard forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberSetError {
    /// More than 256 bits.
    #[error("number set of {0} bits (at most 256)")]
    TooWide(u32),
}

/// The bits of a number set: bit 0, the most significant bit of the first word, stands for the base.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Bits {
    count: u32,
    words: [u32; 8],
}

impl Bits {
    const MAX: u32 = 256;

    fn from_words(count: u32, words: impl Iterator<Item = u32>) -> Result<Self, NumberSetError> {
        if count > Self::MAX {
            return Err(NumberSetError::TooWide(count));
        }
        let mut bits = Self { count, ..Self::default() };
        for (to, from) in bits.words.iter_mut().take(count.div_ceil(32) as usize).zip(words) {
            *to = from;
        }
        Ok(bits)
    }

    /// Sets a bit and widens the set to include it. False when it is out of range.
    fn insert(&mut self, bit: u64) -> bool {
        let Some(bit) = u32::try_from(bit).ok().filter(|bit| *bit < Self::MAX) else { return false };
        let Some(word) = self.words.get_mut((bit / 32) as usize) else { return false };
        *word |= 0x8000_0000 >> (bit % 32);
        self.count = self.count.max(bit + 1);
        true
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count).filter(|bit| {
            self.words.get((bit / 32) as usize).is_some_and(|word| word & (0x8000_0000 >> (bit % 32)) != 0)
        })
    }

    fn used_words(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().copied().take(self.count.div_ceil(32) as usize)
    }
}

/// Up to 256 sequence numbers from a base.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceNumberSet {
    base: SequenceNumber,
    bits: Bits,
}

impl SequenceNumberSet {
    /// The most numbers a set spans.
    pub const SPAN_MAX: u64 = Bits::MAX as u64;

    /// The empty set with a base: as an acknowledgement, "everything below `base` has arrived".
    pub fn empty(base: SequenceNumber) -> Self {
        Self { base, bits: Bits::default() }
    }

    /// From the wire's words.
    ///
    /// # Errors
    /// When `count` is above 256.
    pub fn from_words(
        base: SequenceNumber,
        count: u32,
        words: impl Iterator<Item = u32>,
    ) -> Result<Self, NumberSetError> {
        Ok(Self { base, bits: Bits::from_words(count, words)? })
    }

    /// The lowest number that the set can hold.
    pub fn base(&self) -> SequenceNumber {
        self.base
    }

    /// How many bits travel.
    pub fn bit_count(&self) -> u32 {
        self.bits.count
    }

    /// Adds a number; false when it is below the base or more than 255 above it.
    pub fn insert(&mut self, number: SequenceNumber) -> bool {
        number.0.checked_sub(self.base.0).is_some_and(|bit| self.bits.insert(bit))
    }

    /// Whether no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().next().is_none()
    }

    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = SequenceNumber> + '_ {
        self.bits.iter().map(|bit| SequenceNumber(self.base.0.saturating_add(u64::from(bit))))
    }

    /// The words that travel.
    pub fn words(&self) -> impl Iterator<Item = u32> + '_ {
        self.bits.used_words()
    }
}

impl fmt::Debug for SequenceNumberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:", self.base, self.bits.count)?;
        f.debug_list().entries(self.iter().map(|n| n.0)).finish()
    }
}

/// Up to 256 fragment numbers from a base.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct FragmentNumberSet {
    base: FragmentNumber,
    bits: Bits,
}

impl FragmentNumberSet {
    /// The most numbers a set spans.
    pub const SPAN_MAX: u32 = Bits::MAX;

    /// The empty set with a base.
    pub fn empty(base: FragmentNumber) -> Self {
        Self { base, bits: Bits::default() }
    }

    /// From the wire's words.
    ///
    /// # Errors
    /// When `count` is above 256.
    pub fn from_words(
        base: FragmentNumber,
        count: u32,
        words: impl Iterator<Item = u32>,
    ) -> Result<Self, NumberSetError> {
        Ok(Self { base, bits: Bits::from_words(count, words)? })
    }

    /// The lowest number that the set can hold.
    pub fn base(&self) -> FragmentNumber {
        self.base
    }

    /// How many bits travel.
    pub fn bit_count(&self) -> u32 {
        self.bits.count
    }

    /// Adds a number; false when it is below the base or more than 255 above it.
    pub fn insert(&mut self, number: FragmentNumber) -> bool {
        number.0.checked_sub(self.base.0).is_some_and(|bit| self.bits.insert(u64::from(bit)))
    }

    /// Whether no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().next().is_none()
    }

    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = FragmentNumber> + '_ {
        self.bits.iter().map(|bit| FragmentNumber(self.base.0.saturating_add(bit)))
    }

    /// The words that travel.
    pub fn words(&self) -> impl Iterator<Item = u32> + '_ {
        self.bits.used_words()
    }
}

impl fmt::Debug for FragmentNumberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:", self.base.0, self.bits.count)?;
        f.debug_list().entries(self.iter().map(|n| n.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Bit 0 is the most significant bit of the first word and stands for the base.
    #[test]
    fn the_base_is_the_most_significant_bit() {
        let mut set = FragmentNumberSet::empty(FragmentNumber(3));
        assert!(set.insert(FragmentNumber(3)) && set.insert(FragmentNumber(7)));
        assert_eq!((set.bit_count(), set.words().collect::<Vec<_>>()), (5, [0x8800_0000].to_vec()));
        assert_eq!(set.iter().map(|n| n.0).collect::<Vec<_>>(), [3, 7]);
        assert!(!set.insert(FragmentNumber(2)) && !set.insert(FragmentNumber(3 + 256)));
    }

    /// Sets wider than 256 bits are refused whatever words follow.
    #[test]
    fn wide_sets_are_refused() {
        let wide = SequenceNumberSet::from_words(SequenceNumber(1), 257, core::iter::repeat(0));
        assert_eq!(wide, Err(NumberSetError::TooWide(257)));
    }
}
