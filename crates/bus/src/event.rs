//! What happens in a domain, as far as the application may care.

use rtps::cdr::KeyHash;
use rtps::qos::Policy;
use rtps::{EntityId, Event, Guid, GuidPrefix, LostReason, RejectReason};

/// Something that happened in the domain.
#[derive(Clone, Debug, PartialEq)]
pub enum ParticipantEvent {
    /// A participant was discovered.
    Discovered {
        /// Its identity.
        prefix: GuidPrefix,
        /// The name it gave.
        name: Option<String>,
    },
    /// A participant is gone.
    Lost {
        /// Its identity.
        prefix: GuidPrefix,
        /// Whether it said so, fell silent, or began anew.
        reason: LostReason,
    },
    /// One of our endpoints and a remote one exchange data now.
    Matched {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
    },
    /// They no longer do.
    Unmatched {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
    },
    /// Same topic, type and partition, but these QoS policies keep the two apart.
    IncompatibleQos {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
        /// The policies.
        policies: Vec<Policy>,
    },
    /// A matched publisher has not kept its liveliness lease, or is heard again.
    LivelinessChanged {
        /// Our subscriber.
        local: EntityId,
        /// The publisher.
        remote: Guid,
        /// Whether it is alive now.
        is_alive: bool,
    },
    /// One of our publishers, whose liveliness is manual, was not asserted within its lease.
    LivelinessLost {
        /// Ours.
        local: EntityId,
    },
    /// An instance of one of our endpoints missed its deadline: a publisher's own, or one that a subscriber waits for.
    DeadlineMissed {
        /// Ours.
        local: EntityId,
        /// The hash of the instance's key; `None` for a topic without a key.
        instance: Option<KeyHash>,
        /// Periods missed since the endpoint was made, all instances together. Of several events at once only the last
        /// is told.
        total: u64,
    },
    /// One of our subscribers refused a sample.
    SampleRejected {
        /// Ours.
        local: EntityId,
        /// Who wrote it.
        remote: Guid,
        /// Why.
        reason: RejectReason,
        /// Samples refused since it was made. Of several events at once only the last is told.
        total: u64,
    },
    /// One of our subscribers will never get some samples.
    SamplesLost {
        /// Ours.
        local: EntityId,
        /// Samples lost since it was made. Of several events at once only the last is told.
        total: u64,
    },
    /// Same topic and partition, but another type.
    InconsistentType {
        /// Ours.
        local: EntityId,
        /// Theirs.
        remote: Guid,
        /// Their type.
        type_name: String,
    },
}

impl ParticipantEvent {
    /// The event for the application, unless the engine deals with it.
    pub(crate) fn from_protocol(event: Event) -> Option<Self> {
        Some(match event {
            Event::ParticipantDiscovered { prefix, name } => Self::Discovered { prefix, name },
            Event::ParticipantLost { prefix, reason } => Self::Lost { prefix, reason },
            Event::Matched { local, remote } => Self::Matched { local, remote },
            Event::Unmatched { local, remote } => Self::Unmatched { local, remote },
            Event::IncompatibleQos { local, remote, policies } => {
                Self::IncompatibleQos { local, remote, policies }
            }
            Event::InconsistentType { local, remote, type_name } => {
                Self::InconsistentType { local, remote, type_name }
            }
            Event::LivelinessChanged { local, remote, is_alive } => {
                Self::LivelinessChanged { local, remote, is_alive }
            }
            Event::LivelinessLost(local) => Self::LivelinessLost { local },
            Event::DeadlineMissed { local, instance, total } => {
                Self::DeadlineMissed { local, instance, total }
            }
            Event::SampleRejected { local, remote, reason, total } => {
                Self::SampleRejected { local, remote, reason, total }
            }
            Event::SamplesLost { local, total } => Self::SamplesLost { local, total },
            Event::SamplesAvailable(_) | Event::Acknowledged(_) => return None,
        })
    }
}
