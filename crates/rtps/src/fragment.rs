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
    bytes: usize,
}

impl Partial {
    pub(crate) fn new(first: &DataFrag<'_>, from: Locator) -> Self {
        Self {
            sample_size: first.sample_size,
            fragment_size: first.fragment_size,
            is_key: first.is_key,
            from,
            fragments: BTreeMap::new(),
            bytes: 0,
        }
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

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_key(&self) -> bool {
        self.is_key
    }

    /// How many fragments the sample has.
    pub(crate) fn total(&self) -> u32 {
        fragment_total(self.sample_size as usize, self.fragment_size)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.fragments.len() == self.total() as usize
    }

    /// Adds the fragments of one submessage that are not there yet, at most `budget` bytes; returns the bytes added.
    /// A submessage that contradicts the first one adds nothing.
    pub(crate) fn insert(&mut self, frag: &DataFrag<'_>, budget: usize) -> usize {
        if (frag.sample_size, frag.fragment_size) != (self.sample_size, self.fragment_size) {
            return 0;
        }
        let mut added = 0;
        let chunks = frag.bytes.chunks(usize::from(self.fragment_size));
        for (number, chunk) in (frag.first_fragment.0..).zip(chunks).take(usize::from(frag.fragment_count)) {
            let is_last = number == self.total();
            let expected = if is_last {
                self.sample_size as usize - (number as usize - 1) * usize::from(self.fragment_size)
            } else {
                usize::from(self.fragment_size)
            };
            // The last chunk may carry the submessage's padding.
            let Some(chunk) = chunk.get(..expected) else { continue };
            if number > self.total() || added + chunk.len() > budget || self.fragments.contains_key(&number) {
                continue;
            }
            self.fragments.insert(number, chunk.to_vec());
            added += chunk.len();
        }
        self.bytes += added;
        added
    }

    /// The missing fragments up to `last`, from the first missing one, at most 256 in one set.
    pub(crate) fn missing(&self, last: FragmentNumber) -> Option<FragmentNumberSet> {
        let last = last.0.min(self.total());
        let mut numbers = (1..=last).filter(|number| !self.fragments.contains_key(number));
        let first = numbers.next()?;
        let mut set = FragmentNumberSet::empty(FragmentNumber(first));
        set.insert(FragmentNumber(first));
        for number in numbers {
            if !set.insert(FragmentNumber(number)) {
                break;
            }
        }
        Some(set)
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
