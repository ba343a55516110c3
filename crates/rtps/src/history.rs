//! The histories of writers and readers (RTPS 8.2.2, DDS 2.2.3.18).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use crate::cdr::KeyHash;
use crate::message::StatusInfo;
use crate::qos::{History, Qos};
use crate::{Guid, Lease, Limits, Locator, SequenceNumber, WireTime};

/// One change: a sample, or the end of an instance.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) sequence: SequenceNumber,
    pub(crate) instance: Option<KeyHash>,
    pub(crate) status: StatusInfo,
    pub(crate) timestamp: Option<WireTime>,
    pub(crate) payload: Vec<u8>,
    /// When its lifespan is over; the end of an instance has none.
    pub(crate) expires_at: Option<Instant>,
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
    /// Per instance, in a keep-all history.
    of_instance_max: usize,
    instances_max: usize,
}

impl Depth {
    fn new(qos: &Qos, limits: &Limits) -> Self {
        let limit = |value: Option<u32>, default: usize| value.map_or(default, |value| value as usize);
        let of_instance_max = limit(qos.resource_limits.max_samples_per_instance, usize::MAX).max(1);
        let per_instance = match qos.history {
            History::KeepLast(depth) => Some((depth.max(1) as usize).min(of_instance_max)),
            History::KeepAll => None,
        };
        Self {
            per_instance,
            samples_max: match per_instance {
                Some(_) => limit(qos.resource_limits.max_samples, usize::MAX),
                None => limit(qos.resource_limits.max_samples, limits.keep_all_max),
            },
            of_instance_max,
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
    /// How long a sample is of use; for ever when `None`.
    lifespan: Option<Duration>,
    buffers: Buffers,
}

impl WriterHistory {
    pub(crate) fn new(qos: &Qos, limits: &Limits) -> Self {
        Self {
            depth: Depth::new(qos, limits),
            changes: VecDeque::new(),
            instances: BTreeMap::new(),
            ended: BTreeMap::new(),
            lifespan: match qos.lifespan {
                Lease::Finite(lifespan) => Some(lifespan),
                Lease::Infinite => None,
            },
            buffers: Buffers::default(),
        }
    }

    /// Whether a change of `instance` would be accepted now.
    pub(crate) fn check(&self, instance: Option<KeyHash>) -> Result<(), Refused> {
        if self.depth.per_instance.is_none() && self.changes.len() >= self.depth.samples_max {
            return Err(Refused::Full);
        }
        let of_instance = instance.and_then(|key| self.instances.get(&key));
        if self.depth.per_instance.is_none()
            && of_instance.is_some_and(|all| all.len() >= self.depth.of_instance_max)
        {
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
        now: Instant,
        sequence: SequenceNumber,
        instance: Option<KeyHash>,
        status: StatusInfo,
        timestamp: Option<WireTime>,
        payload: &[u8],
    ) {
        let mut buffer = self.buffers.take();
        buffer.extend_from_slice(payload);
        let is_end = status.disposed || status.unregistered;
        let expires_at = self.lifespan.filter(|_| !is_end).map(|lifespan| now.saturating_add(lifespan));
        self.changes.push_back(Change { sequence, instance, status, timestamp, payload: buffer, expires_at });
        let Some(key) = instance else {
            if self.depth.per_instance.is_some_and(|depth| self.changes.len() > depth) {
                self.remove_oldest();
            }
            return;
        };
        if is_end {
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

    /// Drops the samples whose lifespan is over; true when there were any.
    ///
    /// All have the same lifespan, so those that expire are the oldest, between the ends of instances.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        if self.lifespan.is_none() {
            return false;
        }
        let mut any = false;
        while let Some(change) = self.changes.iter().find(|change| change.expires_at.is_some()) {
            if change.expires_at > Some(now) {
                break;
            }
            let (sequence, instance) = (change.sequence, change.instance);
            if let Some(key) = instance
                && let Some(of_instance) = self.instances.get_mut(&key)
            {
                of_instance.retain(|number| *number != sequence);
                if of_instance.is_empty() {
                    self.instances.remove(&key);
                }
            }
            self.remove(sequence);
            any = true;
        }
        any
    }

    /// When [`WriterHistory::expire`] wants to be called: a sixteenth of the lifespan after the oldest sample has
    /// expired, so that many expire at once.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        let grace = self.lifespan? / 16;
        let oldest = self.changes.iter().find_map(|change| change.expires_at)?;
        Some(oldest.saturating_add(grace))
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
    /// Its number at the writer; zero for an instance that ends because this writer, its last, is gone.
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
    /// When it is of no use any more, by the reader's monotonic clock: its writer's lifespan after it arrived.
    pub expires_at: Option<Instant>,
    /// What the same change does to the instance after this value.
    pub(crate) then: StatusInfo,
}

/// The position of a sample among those of its instance by source time; writers in order at the same time.
pub(crate) type SourceOrder = (WireTime, Guid);

impl RawSample {
    /// The end of an instance, without its key.
    pub fn ending(
        (writer, sequence): (Guid, SequenceNumber),
        timestamp: Option<WireTime>,
        instance: Option<KeyHash>,
        status: StatusInfo,
        from: Locator,
    ) -> Self {
        let (payload, then) = (Vec::new(), StatusInfo::default());
        Self { writer, sequence, timestamp, instance, status, from, payload, expires_at: None, then }
    }

    /// Whether it ends its instance.
    pub(crate) fn is_end(&self) -> bool {
        self.status.disposed || self.status.unregistered
    }

    /// Its position by source time; none when the writer gave no time.
    pub(crate) fn source_order(&self) -> Option<SourceOrder> {
        self.timestamp.map(|timestamp| (timestamp, self.writer))
    }
}

mod untaken;

pub(crate) use untaken::ReaderHistory;

#[cfg(test)]
mod tests;
