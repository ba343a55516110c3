//! The histories of writers and readers (RTPS 8.2.2, DDS 2.2.3.18).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::cdr::KeyHash;
use crate::message::StatusInfo;
use crate::qos::{History, Qos};
use crate::{Guid, Limits, Locator, SequenceNumber, WireTime};

/// One change: a sample, or the end of an instance.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) sequence: SequenceNumber,
    pub(crate) instance: Option<KeyHash>,
    pub(crate) status: StatusInfo,
    pub(crate) timestamp: Option<WireTime>,
    pub(crate) payload: Vec<u8>,
}

/// Why a change was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A keep-all history is full.
    Full,
    /// There are too many instances.
    Instances,
}

/// How many samples a history keeps, from its QoS and the limits.
#[derive(Clone, Copy, Debug)]
struct Depth {
    /// Per instance, the oldest giving way; `None` for keep-all.
    per_instance: Option<usize>,
    samples_max: usize,
    instances_max: usize,
}

impl Depth {
    fn new(qos: &Qos, limits: &Limits) -> Self {
        let limit = |value: Option<u32>, default: usize| value.map_or(default, |value| value as usize);
        let per_instance = match qos.history {
            History::KeepLast(depth) => Some(depth.max(1) as usize),
            History::KeepAll => None,
        };
        Self {
            per_instance,
            samples_max: match per_instance {
                Some(_) => limit(qos.resource_limits.max_samples, usize::MAX),
                None => limit(qos.resource_limits.max_samples, limits.keep_all_max),
            },
            instances_max: limit(qos.resource_limits.max_instances, limits.instances_max),
        }
    }
}

/// Buffers kept for reuse by a history.
const SPARE_MAX: usize = 32;
/// A buffer larger than this is not kept.
const SPARE_BYTES_MAX: usize = 16 << 10;

/// Payload buffers that go around.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.0.len() < SPARE_MAX && (1..=SPARE_BYTES_MAX).contains(&buffer.capacity()) {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}

/// A writer's changes in order of their sequence numbers, with holes where keep-last dropped one.
#[derive(Debug)]
pub(crate) struct WriterHistory {
    depth: Depth,
    changes: VecDeque<Change>,
    /// Sequence numbers of each instance, oldest first; only used for keyed topics.
    instances: BTreeMap<KeyHash, VecDeque<SequenceNumber>>,
    /// Instances whose newest change ends them, and its number.
    ended: BTreeMap<KeyHash, SequenceNumber>,
    buffers: Buffers,
}

impl WriterHistory {
    pub(crate) fn new(qos: &Qos, limits: &Limits) -> Self {
        Self {
            depth: Depth::new(qos, limits),
            changes: VecDeque::new(),
            instances: BTreeMap::new(),
            ended: BTreeMap::new(),
            buffers: Buffers::default(),
        }
    }

    /// Whether a change of `instance` would be accepted now.
    pub(crate) fn check(&self, instance: Option<KeyHash>) -> Result<(), Refused> {
        if self.depth.per_instance.is_none() && self.changes.len() >= self.depth.samples_max {
            return Err(Refused::Full);
        }
        match instance {
            Some(key)
                if self.instances.len() >= self.depth.instances_max && !self.instances.contains_key(&key) =>
            {
                Err(Refused::Instances)
            }
            _ => Ok(()),
        }
    }

    /// Adds the newest change, after [`WriterHistory::check`]; keep-last drops the oldest of its instance.
    pub(crate) fn push(
        &mut self,
        sequence: SequenceNumber,
        instance: Option<KeyHash>,
        status: StatusInfo,
        timestamp: Option<WireTime>,
        payload: &[u8],
    ) {
        let mut buffer = self.buffers.take();
        buffer.extend_from_slice(payload);
        self.changes.push_back(Change { sequence, instance, status, timestamp, payload: buffer });
        let Some(key) = instance else {
            if self.depth.per_instance.is_some_and(|depth| self.changes.len() > depth) {
                self.remove_oldest();
            }
            return;
        };
        if status.disposed || status.unregistered {
            self.ended.insert(key, sequence);
        } else {
            self.ended.remove(&key);
        }
        let of_instance = self.instances.entry(key).or_default();
        of_instance.push_back(sequence);
        if self.depth.per_instance.is_some_and(|depth| of_instance.len() > depth)
            && let Some(oldest) = of_instance.pop_front()
        {
            self.remove(oldest);
        }
        if self.changes.len() > self.depth.samples_max {
            self.remove_oldest();
        }
    }

    fn remove(&mut self, sequence: SequenceNumber) {
        if let Ok(index) = self.changes.binary_search_by_key(&sequence, |change| change.sequence)
            && let Some(change) = self.changes.remove(index)
        {
            self.buffers.give(change.payload);
        }
    }

    fn remove_oldest(&mut self) {
        let Some(change) = self.changes.pop_front() else { return };
        if let Some(key) = change.instance
            && let Some(of_instance) = self.instances.get_mut(&key)
        {
            of_instance.pop_front();
            if of_instance.is_empty() {
                self.instances.remove(&key);
                self.ended.remove(&key);
            }
        }
        self.buffers.give(change.payload);
    }

    /// Drops every change up to and including `acknowledged`.
    pub(crate) fn prune(&mut self, acknowledged: SequenceNumber) {
        while self.changes.front().is_some_and(|change| change.sequence <= acknowledged) {
            self.remove_oldest();
        }
    }

    /// Drops the instances whose end everybody has acknowledged: whoever joins later need not know of them.
    pub(crate) fn prune_ended(&mut self, acknowledged: SequenceNumber) {
        let known = self.ended.iter().filter(|(_, end)| **end <= acknowledged).map(|(key, _)| *key);
        for key in known.collect::<Vec<_>>() {
            self.ended.remove(&key);
            for sequence in self.instances.remove(&key).unwrap_or_default() {
                self.remove(sequence);
            }
        }
    }

    pub(crate) fn get(&self, sequence: SequenceNumber) -> Option<&Change> {
        let index = self.changes.binary_search_by_key(&sequence, |change| change.sequence).ok()?;
        self.changes.get(index)
    }

    /// The oldest change still there.
    pub(crate) fn first(&self) -> Option<SequenceNumber> {
        self.changes.front().map(|change| change.sequence)
    }

    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter()
    }
}

/// A sample as a reader hands it to the application.
#[derive(Debug)]
pub struct RawSample {
    /// The writer.
    pub writer: Guid,
    /// Its number at the writer.
    pub sequence: SequenceNumber,
    /// When the writer says it was written.
    pub timestamp: Option<WireTime>,
    /// The instance, for keyed topics.
    pub instance: Option<KeyHash>,
    /// Whether this ends the instance; the payload then holds only the key, or nothing.
    pub status: StatusInfo,
    /// Where it came from: the origin of its datagram, or of the least trusted of its fragments.
    pub from: Locator,
    /// The serialized sample with its 4-byte encapsulation header.
    pub payload: Vec<u8>,
}

/// Samples that the application has not taken yet.
#[derive(Debug)]
pub(crate) struct ReaderHistory {
    depth: Depth,
    samples: VecDeque<RawSample>,
    /// Untaken samples of each live instance.
    instances: BTreeMap<KeyHash, usize>,
    buffers: Buffers,
}

impl ReaderHistory {
    pub(crate) fn new(qos: &Qos, limits: &Limits) -> Self {
        Self {
            depth: Depth::new(qos, limits),
            samples: VecDeque::new(),
            instances: BTreeMap::new(),
            buffers: Buffers::default(),
        }
    }

    pub(crate) fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    /// Adds a sample; `Ok(true)` when keep-last overwrote an older one that nobody had taken.
    ///
    /// On refusal the sample comes back, so that a reliable reader can try again later.
    pub(crate) fn push(&mut self, sample: RawSample) -> Result<bool, (Refused, RawSample)> {
        let full = self.samples.len() >= self.depth.samples_max;
        if self.depth.per_instance.is_none() && full {
            return Err((Refused::Full, sample));
        }
        let mut overwritten = false;
        match sample.instance {
            None => {
                if self.depth.per_instance.is_some_and(|depth| self.samples.len() >= depth) || full {
                    self.drop_at(0);
                    overwritten = true;
                }
            }
            Some(key) => {
                let known = self.instances.get(&key).copied();
                if known.is_none() && self.instances.len() >= self.depth.instances_max {
                    return Err((Refused::Instances, sample));
                }
                if self.depth.per_instance.is_some_and(|depth| known.unwrap_or(0) >= depth) {
                    let oldest = self.samples.iter().position(|old| old.instance == Some(key));
                    if let Some(index) = oldest {
                        self.drop_at(index);
                    }
                    overwritten = true;
                } else if full {
                    self.drop_at(0);
                    overwritten = true;
                }
                *self.instances.entry(key).or_default() += 1;
            }
        }
        self.samples.push_back(sample);
        Ok(overwritten)
    }

    fn drop_at(&mut self, index: usize) {
        if let Some(sample) = self.samples.remove(index) {
            self.forget(&sample);
            self.buffers.give(sample.payload);
        }
    }

    fn forget(&mut self, sample: &RawSample) {
        let Some(key) = sample.instance else { return };
        if let Some(count) = self.instances.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
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

    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.depth.per_instance.is_none() && self.samples.len() >= self.depth.samples_max
    }
}

#[cfg(test)]
mod tests;
