//! A reader's history: the samples that the application has not taken yet.

use alloc::collections::{BTreeMap, VecDeque};
use units::Instant;

use super::{Buffers, Depth, RawSample, Refused};
use crate::Limits;
use crate::cdr::KeyHash;
use crate::qos::{DestinationOrder, Qos};

/// Samples that the application has not taken yet.
#[derive(Debug)]
pub(crate) struct ReaderHistory {
    depth: Depth,
    samples: VecDeque<RawSample>,
    /// What is untaken of each instance.
    instances: BTreeMap<KeyHash, Untaken>,
    /// By source time, instead of as received.
    is_by_source: bool,
    /// Never later than the next expiry.
    expires_at: Option<Instant>,
    buffers: Buffers,
}

/// How much of an instance is untaken. Ends have a depth of their own: the value before one is not lost to it.
#[derive(Clone, Copy, Debug, Default)]
struct Untaken {
    values: usize,
    ends: usize,
}

impl ReaderHistory {
    pub(crate) fn new(qos: &Qos, limits: &Limits) -> Self {
        Self {
            depth: Depth::new(qos, limits),
            samples: VecDeque::new(),
            instances: BTreeMap::new(),
            is_by_source: qos.destination_order == DestinationOrder::BySource,
            expires_at: None,
            buffers: Buffers::default(),
        }
    }

    pub(crate) fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    /// Adds a sample; `Ok(true)` when keep-last overwrote an older one that nobody had taken.
    ///
    /// On refusal the sample comes back, so that a reliable reader can try again later.
    #[expect(
        clippy::result_large_err,
        reason = "a refused sample moves on, it is rare and no error to report"
    )]
    pub(crate) fn push(&mut self, sample: RawSample) -> Result<bool, (Refused, RawSample)> {
        let full = self.samples.len() >= self.depth.samples_max;
        let known = sample.instance.and_then(|key| self.instances.get(&key).copied());
        let Untaken { values, ends } = match sample.instance {
            Some(_) => known.unwrap_or_default(),
            None => Untaken { values: self.samples.len(), ends: self.samples.len() },
        };
        let same = if sample.is_end() { ends } else { values };
        let is_new = sample.instance.is_some() && known.is_none();
        if self.depth.per_instance.is_none() {
            let is_instance_full = sample.instance.is_some() && same >= self.depth.of_instance_max;
            if full || is_instance_full {
                return Err((Refused::Full, sample));
            }
        }
        if is_new && self.instances.len() >= self.depth.instances_max {
            return Err((Refused::Instances, sample));
        }
        let mut overwritten = false;
        // A disposal and the unregistering that follows it both stay.
        let more = usize::from(sample.instance.is_some() && sample.is_end());
        if self.depth.per_instance.is_some_and(|depth| same >= depth + more) {
            let is_same = |old: &RawSample| {
                old.instance == sample.instance
                    && (sample.instance.is_none() || old.is_end() == sample.is_end())
            };
            let oldest = self.samples.iter().position(is_same);
            if self.position_by_source(&sample).is_some_and(|index| Some(index) <= oldest) {
                // Older than all that is kept: it is the one to go.
                self.buffers.give(sample.payload);
                return Ok(true);
            }
            oldest.into_iter().for_each(|index| self.drop_at(index));
            overwritten = true;
        } else if full {
            self.drop_at(0);
            overwritten = true;
        }
        self.insert(sample);
        Ok(overwritten)
    }

    /// Adds the end of an instance beside the bounds. The caller adds one at most for each value handed over.
    pub(crate) fn push_end(&mut self, sample: RawSample) {
        self.insert(sample);
    }

    fn insert(&mut self, sample: RawSample) {
        if let Some(key) = sample.instance {
            let untaken = self.instances.entry(key).or_default();
            *(if sample.is_end() { &mut untaken.ends } else { &mut untaken.values }) += 1;
        }
        self.expires_at = [self.expires_at, sample.expires_at].into_iter().flatten().min();
        let later = self.position_by_source(&sample).unwrap_or(self.samples.len());
        self.samples.insert(later, sample);
    }

    /// Where a sample belongs that is older than the newest untaken one of its instance; looks at what is newer.
    fn position_by_source(&self, sample: &RawSample) -> Option<usize> {
        let order = sample.source_order().filter(|_| self.is_by_source)?;
        let of_instance = self.samples.iter().enumerate().rev();
        let of_instance = of_instance.filter(|(_, other)| other.instance == sample.instance);
        let newer =
            of_instance.take_while(|(_, other)| other.source_order().is_none_or(|other| other > order));
        newer.last().map(|(index, _)| index)
    }

    fn drop_at(&mut self, index: usize) {
        if let Some(sample) = self.samples.remove(index) {
            self.forget(&sample);
            self.buffers.give(sample.payload);
        }
    }

    fn forget(&mut self, sample: &RawSample) {
        let Some(key) = sample.instance else { return };
        if let Some(untaken) = self.instances.get_mut(&key) {
            let count = if sample.is_end() { &mut untaken.ends } else { &mut untaken.values };
            *count = count.saturating_sub(1);
            if untaken.values + untaken.ends == 0 {
                self.instances.remove(&key);
            }
        }
    }

    /// Takes the oldest sample.
    pub(crate) fn pop(&mut self) -> Option<RawSample> {
        let sample = self.samples.pop_front()?;
        self.forget(&sample);
        Some(sample)
    }

    /// Drops what has expired; returns how much that was. Looks at everything, but only when something may have.
    pub(crate) fn expire(&mut self, now: Instant) -> u64 {
        if self.expires_at.is_none_or(|at| at > now) {
            return 0;
        }
        let (mut index, mut expired) = (0, 0);
        while let Some(sample) = self.samples.get(index) {
            if sample.expires_at.is_some_and(|at| at <= now) {
                self.drop_at(index);
                expired += 1;
            } else {
                index += 1;
            }
        }
        self.expires_at = self.samples.iter().filter_map(|sample| sample.expires_at).min();
        expired
    }

    /// When [`ReaderHistory::expire`] wants to be called.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        self.expires_at
    }

    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.depth.per_instance.is_none() && self.samples.len() >= self.depth.samples_max
    }
}
