//! Putting fragmented samples together again (RTPS 8.4.14.1).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::message::DataFrag;
use crate::{FragmentNumber, FragmentNumberSet, Locator};

/// A sample of which some fragments have arrived. Memory grows with the bytes received, never with the size claimed.
#[derive(Debug)]
pub(crate) struct Partial {
    sample_size: u32,
    fragment_size: u16,
    is_key: bool,
    from: Locator,
    /// Fragment number to its bytes.
    fragments: BTreeMap<u32, Vec<u8>>,
    /// Every fragment before this one is there.
    lowest_missing: u32,
    cost: usize,
}

/// What a fragment costs besides its bytes. Without it, fragments of one byte each would take many times the memory
/// that a budget of bytes allows.
const FRAGMENT_OVERHEAD: usize = 64;

impl Partial {
    pub(crate) fn new(first: &DataFrag<'_>, from: Locator) -> Self {
        Self {
            sample_size: first.sample_size,
            fragment_size: first.fragment_size,
            is_key: first.is_key,
            from,
            fragments: BTreeMap::new(),
            lowest_missing: 1,
            cost: 0,
        }
    }

    /// The most memory that keeping this submessage's fragments can cost.
    pub(crate) fn cost_of(frag: &DataFrag<'_>) -> usize {
        frag.bytes.len() + usize::from(frag.fragment_count) * FRAGMENT_OVERHEAD
    }

    /// A sample is only as trusted as the least trusted of its fragments.
    pub(crate) fn note_origin(&mut self, from: Locator) {
        if from != Locator::IN_PROCESS {
            self.from = from;
        }
    }

    pub(crate) fn origin(&self) -> Locator {
        self.from
    }

    /// Memory held: bytes and overhead.
    pub(crate) fn cost(&self) -> usize {
        self.cost
    }

    pub(crate) fn is_key(&self) -> bool {
        self.is_key
    }

    /// How many fragments the sample has.
    fn total(&self) -> u32 {
        fragment_total(self.sample_size as usize, self.fragment_size)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.lowest_missing > self.total()
    }

    /// Adds the fragments of one submessage that are not there yet. A submessage that contradicts the first one adds
    /// nothing.
    pub(crate) fn insert(&mut self, frag: &DataFrag<'_>) {
        if (frag.sample_size, frag.fragment_size) != (self.sample_size, self.fragment_size) {
            return;
        }
        let (total, size) = (self.total(), usize::from(self.fragment_size));
        let chunks = frag.bytes.chunks(size).take(usize::from(frag.fragment_count));
        for (number, chunk) in (frag.first_fragment.0..=total).zip(chunks) {
            let expected =
                if number == total { self.sample_size as usize - (number as usize - 1) * size } else { size };
            // The last chunk may carry the submessage's padding.
            let Some(chunk) = chunk.get(..expected) else { continue };
            if number < self.lowest_missing || self.fragments.contains_key(&number) {
                continue;
            }
            self.fragments.insert(number, chunk.to_vec());
            self.cost += chunk.len() + FRAGMENT_OVERHEAD;
        }
        while self.fragments.contains_key(&self.lowest_missing) {
            self.lowest_missing += 1;
        }
    }

    /// The missing fragments up to `last`, from the first missing one, at most 256 in one set.
    pub(crate) fn missing(&self, last: FragmentNumber) -> Option<FragmentNumberSet> {
        let first = self.lowest_missing;
        let last = last.0.min(self.total()).min(first.saturating_add(FragmentNumberSet::SPAN_MAX - 1));
        let mut set = FragmentNumberSet::empty(FragmentNumber(first));
        for number in (first..=last).filter(|number| !self.fragments.contains_key(number)) {
            set.insert(FragmentNumber(number));
        }
        (!set.is_empty()).then_some(set)
    }

    /// The whole sample; call only when [`Partial::is_complete`].
    pub(crate) fn assemble(self, mut into: Vec<u8>) -> Vec<u8> {
        into.clear();
        for fragment in self.fragments.into_values() {
            into.extend_from_slice(&fragment);
        }
        into
    }
}

/// How many fragments a payload of `bytes` needs; 1 for an empty one.
pub fn fragment_total(bytes: usize, fragment_size: u16) -> u32 {
    u32::try_from(bytes.div_ceil(usize::from(fragment_size).max(1))).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntityId, SequenceNumber};
    use std::vec;

    fn fragment(sample: &[u8], size: u16, first: u32, count: u16) -> DataFrag<'_> {
        let start = (first as usize - 1) * usize::from(size);
        let end = sample.len().min(start + usize::from(size) * usize::from(count));
        DataFrag {
            reader: EntityId::UNKNOWN,
            writer: EntityId::UNKNOWN,
            sequence: SequenceNumber::FIRST,
            first_fragment: FragmentNumber(first),
            fragment_count: count,
            fragment_size: size,
            sample_size: u32::try_from(sample.len()).unwrap(),
            inline_qos: None,
            is_key: false,
            bytes: &sample[start..end],
        }
    }

    /// A sample comes out whole whatever the order of its fragments, and what is missing is told until then.
    #[test]
    fn fragments_assemble_in_any_order() {
        let sample: Vec<u8> = (0..=255).cycle().take(1005).collect();
        for step in [1, 3, 7] {
            let total = fragment_total(sample.len(), 100);
            let mut partial = Partial::new(&fragment(&sample, 100, 1, 1), Locator::IN_PROCESS);
            for index in 0..total {
                let number = index * step % total + 1;
                assert!(!partial.is_complete());
                let missing = partial.missing(FragmentNumber(u32::MAX)).unwrap();
                assert!(missing.iter().any(|missing| missing.0 == number));
                assert_eq!(missing.iter().count(), (total - index) as usize);
                partial.insert(&fragment(&sample, 100, number, 1));
                partial.insert(&fragment(&sample, 100, number, 1));
            }
            assert!(partial.is_complete() && partial.missing(FragmentNumber(u32::MAX)).is_none());
            assert_eq!(partial.cost(), sample.len() + total as usize * FRAGMENT_OVERHEAD);
            assert_eq!(partial.assemble(vec![1, 2, 3]), sample);
        }
    }

    /// Fragments that contradict the first one about the sample are not mixed into it.
    #[test]
    fn contradicting_fragments_add_nothing() {
        let (sample, other) = (vec![1; 300], vec![2; 301]);
        let mut partial = Partial::new(&fragment(&sample, 100, 1, 1), Locator::IN_PROCESS);
        partial.insert(&fragment(&other, 100, 1, 3));
        partial.insert(&fragment(&other, 99, 1, 3));
        assert_eq!(partial.cost(), 0);
        partial.insert(&fragment(&sample, 100, 1, 3));
        assert!(partial.is_complete());
    }
}
