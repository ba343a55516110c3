//! What the machine tells the application.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use crate::qos::Policy;
use crate::{EntityId, Guid, GuidPrefix};

/// Why a remote participant is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// It said goodbye.
    Left,
    /// Its lease ran out.
    LeaseExpired,
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
    /// A reader has samples to take. Not repeated before it was polled.
    SamplesAvailable(EntityId),
    /// Acknowledgements made room in a writer's history. Not repeated before it was polled.
    SpaceAvailable(EntityId),
}

/// A bounded queue of events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
    /// Endpoints with an availability event in the queue: a second one would say nothing new.
    available: Vec<EntityId>,
}

impl Events {
    /// Adds an event; true when the oldest had to go for it.
    pub(crate) fn push(&mut self, event: Event, max: usize) -> bool {
        if let Event::SamplesAvailable(entity) | Event::SpaceAvailable(entity) = event {
            if self.available.contains(&entity) {
                return false;
            }
            self.available.push(entity);
        }
        let full = self.queue.len() >= max;
        if full {
            self.pop();
        }
        self.queue.push_back(event);
        full
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.queue.pop_front()?;
        if let Event::SamplesAvailable(entity) | Event::SpaceAvailable(entity) = event {
            self.available.retain(|available| *available != entity);
        }
        Some(event)
    }
}
