//! What a reader knows of each instance: who writes it, and what its QoS says about the next sample of it.
//!
//! Only what needs this keeps it: readers of keyed topics, to tell when the last writer of an instance is gone
//! (NOT_ALIVE_NO_WRITERS in DDS 2.2.2.5.1.3), and readers with a deadline, a time-based filter, exclusive ownership or
//! order by source. The table is bounded by [`Limits::instances_max`]; a disposed instance gives way to a new one.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use super::ownership::{Strengths, Writers};
use crate::cdr::KeyHash;
use crate::deadline::{Deadlines, Instance as Name};
use crate::history::{RawSample, SourceOrder};
use crate::qos::{DestinationOrder, Ownership, Qos, Reliability};
use crate::{Guid, Limits};

/// What to do with a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Hand it over.
    Deliver,
    /// Keep it until the time-based filter lets it pass.
    Hold,
    /// It is nothing for the application.
    Drop,
    /// There is no room to apply the reader's QoS to its instance.
    Reject,
}

#[derive(Debug, Default)]
struct Instance {
    writers: Writers,
    /// Disposed by a writer and not written since.
    is_ended: bool,
    /// When the time-based filter let a sample pass.
    passed_at: Option<Instant>,
    /// The newest sample that it did not let pass yet.
    held: Option<RawSample>,
    /// The newest sample that the application has taken, in source order.
    taken: Option<SourceOrder>,
}

/// The instances of one reader.
#[derive(Debug)]
pub(super) struct Instances {
    known: BTreeMap<Name, Instance>,
    /// Those that are disposed: they give way to new ones.
    ended: BTreeSet<Name>,
    deadlines: Option<Deadlines>,
    /// When held samples pass.
    passing: BTreeSet<(Instant, Name)>,
    strengths: Strengths,
    separation: Option<Duration>,
    is_exclusive: bool,
    is_by_source: bool,
    is_keyed: bool,
    /// What the time-based filter holds back is handed over later.
    is_reliable: bool,
    max: usize,
}

impl Instances {
    /// `None` for a reader that need not know.
    pub(super) fn new(qos: &Qos, is_keyed: bool, limits: &Limits) -> Option<Self> {
        let separation = Some(qos.time_based_filter).filter(|separation| !separation.is_zero());
        let deadlines = Deadlines::new(qos.deadline, limits.instances_max);
        let is_exclusive = qos.ownership == Ownership::Exclusive;
        let is_by_source = qos.destination_order == DestinationOrder::BySource;
        let is_needed =
            is_keyed || deadlines.is_some() || separation.is_some() || is_exclusive || is_by_source;
        is_needed.then(|| Self {
            known: BTreeMap::new(),
            ended: BTreeSet::new(),
            deadlines,
            passing: BTreeSet::new(),
            strengths: Strengths::new(),
            separation,
            is_exclusive,
            is_by_source,
            is_keyed,
            is_reliable: qos.reliability == Reliability::Reliable,
            max: limits.instances_max,
        })
    }

    /// Notes a matched writer's strength, and its change.
    pub(super) fn note_writer(&mut self, writer: Guid, strength: i32) {
        if self.is_exclusive {
            self.strengths.insert(writer, strength);
        }
    }

    /// Notes that a writer, gone or no longer alive, writes no instance; returns the instances that have none left and were not
    /// disposed. Looks at every instance.
    pub(super) fn remove_writer(&mut self, writer: Guid) -> Vec<KeyHash> {
        let strengths = &self.strengths;
        let mut left = Vec::new();
        for (name, instance) in &mut self.known {
            if instance.writers.remove(writer, strengths) && instance.writers.is_empty() {
                left.push((*name, instance.is_ended));
            }
        }
        left.iter().for_each(|(name, _)| self.forget(*name));
        let is_told = |(name, is_ended): &(Name, bool)| name.filter(|_| !is_ended && self.is_keyed);
        left.iter().filter_map(is_told).collect()
    }

    /// Forgets the strength of a writer that is no longer matched.
    pub(super) fn forget_strength(&mut self, writer: Guid) {
        self.strengths.remove(&writer);
    }

    fn forget(&mut self, name: Name) {
        self.stop(name);
        self.known.remove(&name);
        self.ended.remove(&name);
    }

    /// No sample of an instance is due or waits to pass any more.
    fn stop(&mut self, name: Name) {
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.stop(name);
        }
        if let Some(instance) = self.known.get_mut(&name)
            && instance.held.take().is_some()
        {
            self.passing.retain(|(_, passing)| *passing != name);
        }
    }

    /// What to do with a sample. A sample asked about again gets the same answer.
    pub(super) fn judge(&mut self, now: Instant, sample: &RawSample) -> Verdict {
        let (name, writer, status) = (sample.instance, sample.writer, sample.status);
        if status.unregistered && !status.disposed {
            return self.unregister(name, writer);
        }
        if !self.known.contains_key(&name) && !self.make_room() {
            // Without a QoS that needs to know the instance, only the end of its last writer goes unnoticed.
            let is_needed = self.separation.is_some() || self.is_exclusive || self.is_by_source;
            return if is_needed { Verdict::Reject } else { Verdict::Deliver };
        }
        let instance = self.known.entry(name).or_default();
        instance.writers.note(writer);
        let is_owner = !self.is_exclusive || instance.writers.claim(writer, &self.strengths);
        let order = sample.source_order();
        let is_late = self.is_by_source && order.is_some() && order < instance.taken;
        if status.disposed {
            self.dispose(name, writer, status.unregistered, is_owner && !is_late)
        } else if !is_owner || is_late {
            Verdict::Drop
        } else {
            instance.is_ended = false;
            self.ended.remove(&name);
            if let Some(deadlines) = &mut self.deadlines {
                deadlines.restart(name, now);
            }
            self.pass(now, name)
        }
    }

    fn make_room(&mut self) -> bool {
        if self.known.len() >= self.max
            && let Some(ended) = self.ended.pop_first()
        {
            self.forget(ended);
        }
        self.known.len() < self.max
    }

    fn unregister(&mut self, name: Name, writer: Guid) -> Verdict {
        let Some(instance) = self.known.get_mut(&name) else { return Verdict::Deliver };
        instance.writers.remove(writer, &self.strengths);
        if !instance.writers.is_empty() {
            return Verdict::Drop;
        }
        // Told also of a disposed instance: its last writer says itself that it is done with it.
        self.forget(name);
        Verdict::Deliver
    }

    fn dispose(&mut self, name: Name, writer: Guid, is_unregistered: bool, is_valid: bool) -> Verdict {
        if is_valid {
            self.stop(name);
        }
        let Some(instance) = self.known.get_mut(&name) else { return Verdict::Deliver };
        if is_valid {
            instance.is_ended = true;
            self.ended.insert(name);
        }
        if is_unregistered {
            instance.writers.remove(writer, &self.strengths);
            if instance.writers.is_empty() {
                self.forget(name);
            }
        }
        if is_valid { Verdict::Deliver } else { Verdict::Drop }
    }

    /// The time-based filter.
    fn pass(&self, now: Instant, name: Name) -> Verdict {
        let passed_at = self.known.get(&name).and_then(|instance| instance.passed_at);
        match (self.separation, passed_at) {
            (Some(separation), Some(passed_at)) if now < passed_at.saturating_add(separation) => {
                if self.is_reliable { Verdict::Hold } else { Verdict::Drop }
            }
            _ => Verdict::Deliver,
        }
    }

    /// Notes that a value has passed the time-based filter.
    pub(super) fn note_passed(&mut self, now: Instant, name: Name) {
        if self.separation.is_some()
            && let Some(instance) = self.known.get_mut(&name)
        {
            instance.passed_at = Some(now);
            if instance.held.take().is_some() {
                self.passing.retain(|(_, passing)| *passing != name);
            }
        }
    }

    /// Keeps a sample until the time-based filter lets it pass; returns the one that it takes the place of.
    pub(super) fn hold(&mut self, sample: RawSample) -> Option<RawSample> {
        let name = sample.instance;
        let separation = self.separation.unwrap_or_default();
        let Some(instance) = self.known.get_mut(&name) else { return Some(sample) };
        let is_newest = !self.is_by_source
            || instance.held.as_ref().is_none_or(|held| held.source_order() <= sample.source_order());
        if !is_newest {
            return Some(sample);
        }
        let passes_at = instance.passed_at.map_or(Instant::ZERO, |at| at.saturating_add(separation));
        self.passing.insert((passes_at, name));
        instance.held.replace(sample)
    }

    /// The samples that may pass now.
    pub(super) fn take_passing(&mut self, now: Instant) -> Vec<RawSample> {
        let mut passing = Vec::new();
        while let Some((_, name)) = self.passing.first().copied().filter(|(at, _)| *at <= now) {
            self.passing.pop_first();
            passing.extend(self.known.get_mut(&name).and_then(|instance| instance.held.take()));
        }
        passing
    }

    /// The instances that missed their deadline, each with how often. Their owners lose them.
    pub(super) fn missed(&mut self, now: Instant) -> Vec<(Name, u64)> {
        let Some(deadlines) = &mut self.deadlines else { return Vec::new() };
        let missed = deadlines.missed(now);
        if self.is_exclusive {
            for (name, _) in &missed {
                if let Some(instance) = self.known.get_mut(name) {
                    instance.writers.depose(&self.strengths);
                }
            }
        }
        missed
    }

    /// When [`Instances::missed`] or [`Instances::take_passing`] has work.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let missed = self.deadlines.as_ref().and_then(Deadlines::next);
        let passing = self.passing.first().map(|(at, _)| *at);
        [missed, passing].into_iter().flatten().min()
    }

    /// Notes what the application has taken: in source order nothing older follows.
    pub(super) fn note_taken(&mut self, sample: &RawSample) {
        if self.is_by_source
            && let Some(instance) = self.known.get_mut(&sample.instance)
        {
            instance.taken = instance.taken.max(sample.source_order());
        }
    }
}
