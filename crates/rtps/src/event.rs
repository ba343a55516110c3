//! What the machine tells the application.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use crate::cdr::KeyHash;
use crate::qos::Policy;
use crate::status::RejectReason;
use crate::{EntityId, Guid, GuidPrefix};

/// Why a remote participant is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// It said goodbye.
    Left,
    /// Its lease ran out.
    LeaseExpired,
    /// It began anew with the same identity, so that its former life is over.
    Restarted,
}

/// Something the application may want to know. Events are bounded: see [`crate::Limits::events_max`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A remote participant announced itself.
    ParticipantDiscovered {
        /// Its prefix.
        prefix: GuidPrefix,
        /// The name it gave.
        name: Option<String>,
    },
    /// A remote participant is gone.
    ParticipantLost {
        /// Its prefix.
        prefix: GuidPrefix,
        /// Why.
        reason: LostReason,
    },
    /// A local endpoint and a remote one exchange data from now on.
    Matched {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
    },
    /// A local endpoint and a remote one no longer exchange data.
    Unmatched {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
    },
    /// Topic, type and partition agree, but the QoS does not.
    IncompatibleQos {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
        /// The policies that keep them apart.
        policies: Vec<Policy>,
    },
    /// Topic and partition agree, but the type names differ.
    InconsistentType {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
        /// The type name they announced.
        type_name: String,
    },
    /// A matched writer has not kept its liveliness lease, or is heard again.
    LivelinessChanged {
        /// Our reader.
        local: EntityId,
        /// The writer.
        remote: Guid,
        /// Whether it is alive now.
        is_alive: bool,
    },
    /// One of our writers, whose liveliness is manual, was not asserted within its lease. Not repeated before it was.
    LivelinessLost(EntityId),
    /// Samples of an instance did not come in time: a writer's own, or those that a reader waits for. Of several such
    /// events of an endpoint the last is kept; `total` counts them all.
    DeadlineMissed {
        /// Our writer or reader.
        local: EntityId,
        /// The instance; `None` for a topic without a key.
        instance: Option<KeyHash>,
        /// Periods missed since the endpoint was made, all instances together.
        total: u64,
    },
    /// A reader refused a sample. Of several such events of a reader the last is kept.
    SampleRejected {
        /// Our reader.
        local: EntityId,
        /// Who wrote it.
        remote: Guid,
        /// Why.
        reason: RejectReason,
        /// Samples refused since the reader was made.
        total: u64,
    },
    /// A reader will never get some samples. Of several such events of a reader the last is kept.
    SamplesLost {
        /// Our reader.
        local: EntityId,
        /// Samples lost since the reader was made.
        total: u64,
    },
    /// A reader has samples to take. Not repeated before it was polled.
    SamplesAvailable(EntityId),
    /// Acknowledgements made room in a writer's keep-all history, or were the last that it lacked. Not repeated before
    /// it was polled.
    Acknowledged(EntityId),
}

impl Event {
    /// The endpoint whose count this tells, and which of its counts.
    fn count_of(&self) -> Option<(EntityId, u8)> {
        match self {
            Self::DeadlineMissed { local, .. } => Some((*local, 0)),
            Self::SampleRejected { local, .. } => Some((*local, 1)),
            Self::SamplesLost { local, .. } => Some((*local, 2)),
            _ => None,
        }
    }
}

/// A bounded queue of events. Those that somebody may be waiting for, one an endpoint at most, are never dropped.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
    /// The newest of each count, three an endpoint at most: a flood of bad samples must not drive out other news.
    counts: BTreeMap<(EntityId, u8), Event>,
    /// Endpoints with samples or acknowledgements to tell of: a second event would say nothing new.
    awaited: VecDeque<Event>,
}

impl Events {
    /// Adds an event; true when the oldest had to go for it.
    pub(crate) fn push(&mut self, event: Event, max: usize) -> bool {
        if matches!(event, Event::SamplesAvailable(_) | Event::Acknowledged(_)) {
            if !self.awaited.contains(&event) {
                self.awaited.push_back(event);
            }
            return false;
        }
        if let Some(count) = event.count_of() {
            self.counts.insert(count, event);
            return false;
        }
        let is_full = self.queue.len() >= max;
        if is_full {
            self.queue.pop_front();
        }
        self.queue.push_back(event);
        is_full
    }

    /// The oldest event; counts after it, samples and acknowledgements after everything else.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let count = || self.counts.pop_first().map(|(_, event)| event);
        self.queue.pop_front().or_else(count).or_else(|| self.awaited.pop_front())
    }

    /// Forgets what there was to tell of a deleted endpoint.
    pub(crate) fn forget(&mut self, entity: EntityId) {
        self.counts.retain(|(of, _), _| *of != entity);
        self.awaited.retain(
            |event| !matches!(event, Event::SamplesAvailable(of) | Event::Acknowledged(of) if *of == entity),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// A queue that nobody polls drops the oldest news, but nothing that somebody may be waiting for.
    #[test]
    fn awaited_events_are_never_dropped() {
        let mut events = Events::default();
        let (reader, writer) = (EntityId::user_reader(1, false), EntityId::user_writer(2, false));
        assert!(!events.push(Event::SamplesAvailable(reader), 3));
        let news = |local| Event::Matched { local, remote: Guid::default() };
        let dropped = (0..100).filter(|key| events.push(news(EntityId::user_reader(*key, false)), 3)).count();
        for _ in 0..2 {
            assert!(!events.push(Event::SamplesAvailable(reader), 3));
            assert!(!events.push(Event::Acknowledged(writer), 3));
        }
        let left: Vec<Event> = std::iter::from_fn(|| events.pop()).collect();
        assert_eq!((dropped, left.len()), (97, 5));
        assert_eq!(left[3..], [Event::SamplesAvailable(reader), Event::Acknowledged(writer)]);
        events.push(Event::Acknowledged(writer), 3);
        events.forget(writer);
        assert_eq!(events.pop(), None);
    }

    /// However often a count changes, one event tells its newest value, and it drives nothing else out.
    #[test]
    fn counts_do_not_flood() {
        let mut events = Events::default();
        let local = EntityId::user_reader(1, false);
        let matched = Event::Matched { local, remote: Guid::default() };
        events.push(matched.clone(), 1);
        assert!((1..=100).all(|total| !events.push(Event::SamplesLost { local, total }, 1)));
        let left: Vec<Event> = std::iter::from_fn(|| events.pop()).collect();
        assert_eq!(left, [matched, Event::SamplesLost { local, total: 100 }]);
    }
}
