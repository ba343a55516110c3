//! What a reader holds of one writer and cannot hand over yet: samples that arrived early, numbers that will never
//! come, and samples of which some fragments are missing.

use alloc::collections::BTreeMap;

use crate::fragment::Partial;
use crate::history::RawSample;
use crate::message::DataFrag;
use crate::{FragmentNumber, FragmentNumberSet, Locator, SequenceNumber};

/// What is known of a number above the next expected one.
#[derive(Debug)]
pub(super) enum Early {
    Sample(RawSample),
    /// Will never come.
    Irrelevant,
}

/// What an early sample costs besides its bytes.
const SAMPLE_OVERHEAD: usize = 192;

/// Costs memory as long as something is missing; [`Backlog::cost`] says how much.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    early: BTreeMap<SequenceNumber, Early>,
    partial: BTreeMap<SequenceNumber, Partial>,
    cost: usize,
}

impl Backlog {
    /// Memory held.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// The memory that holding `bytes` of payload costs.
    pub(super) fn cost_of(bytes: usize) -> usize {
        bytes + SAMPLE_OVERHEAD
    }

    /// How many numbers are known early.
    pub(super) fn early_len(&self) -> usize {
        self.early.len()
    }

    pub(super) fn first_early(&self) -> Option<SequenceNumber> {
        self.early.keys().next().copied()
    }

    pub(super) fn is_known(&self, sequence: SequenceNumber) -> bool {
        self.early.contains_key(&sequence)
    }

    pub(super) fn is_partial(&self, sequence: SequenceNumber) -> bool {
        self.partial.contains_key(&sequence)
    }

    pub(super) fn hold(&mut self, sample: RawSample) {
        self.cost += Self::cost_of(sample.payload.capacity());
        self.early.insert(sample.sequence, Early::Sample(sample));
    }

    pub(super) fn mark_irrelevant(&mut self, sequence: SequenceNumber) {
        self.early.entry(sequence).or_insert(Early::Irrelevant);
    }

    fn discharge(&mut self, early: &Early) {
        if let Early::Sample(sample) = early {
            self.cost -= Self::cost_of(sample.payload.capacity());
        }
    }

    /// Takes what is known of this number.
    pub(super) fn take(&mut self, sequence: SequenceNumber) -> Option<Early> {
        let early = self.early.remove(&sequence)?;
        self.discharge(&early);
        Some(early)
    }

    /// Takes the lowest number below `end`.
    pub(super) fn take_first_below(&mut self, end: SequenceNumber) -> Option<(SequenceNumber, Early)> {
        let first = self.first_early().filter(|first| *first < end)?;
        self.take(first).map(|early| (first, early))
    }

    pub(super) fn partial_len(&self) -> usize {
        self.partial.len()
    }

    /// The lowest and the highest incomplete sample.
    pub(super) fn partial_ends(&self) -> Option<(SequenceNumber, SequenceNumber)> {
        Some((*self.partial.keys().next()?, *self.partial.keys().next_back()?))
    }

    pub(super) fn drop_partial(&mut self, sequence: SequenceNumber) {
        if let Some(partial) = self.partial.remove(&sequence) {
            self.cost -= partial.cost();
        }
    }

    /// Drops the incomplete samples below `end`; returns how many.
    pub(super) fn drop_partials_below(&mut self, end: SequenceNumber) -> u64 {
        let mut dropped = 0;
        while let Some((first, _)) = self.partial_ends().filter(|(first, _)| *first < end) {
            self.drop_partial(first);
            dropped += 1;
        }
        dropped
    }

    /// Drops the highest thing held, unless it is `keep` or lower; false when there is no such thing.
    pub(super) fn drop_last(&mut self, keep: SequenceNumber) -> bool {
        let early = self.early.keys().next_back().copied();
        let partial = self.partial.keys().next_back().copied();
        let Some(last) = early.max(partial).filter(|last| *last > keep) else { return false };
        self.take(last);
        self.drop_partial(last);
        true
    }

    /// Adds fragments; returns the sample's parts when they are complete.
    pub(super) fn add_fragments(&mut self, frag: &DataFrag<'_>, from: Locator) -> Option<Partial> {
        let partial = self.partial.entry(frag.sequence).or_insert_with(|| Partial::new(frag, from));
        let before = partial.cost();
        partial.note_origin(from);
        partial.insert(frag);
        self.cost += partial.cost() - before;
        if !partial.is_complete() {
            return None;
        }
        let partial = self.partial.remove(&frag.sequence)?;
        self.cost -= partial.cost();
        Some(partial)
    }

    /// The missing fragments of an incomplete sample.
    pub(super) fn missing_fragments(
        &self,
        sequence: SequenceNumber,
        last: FragmentNumber,
    ) -> Option<FragmentNumberSet> {
        self.partial.get(&sequence)?.missing(last)
    }
}
