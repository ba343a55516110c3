//! Building publishers and subscribers: topic, partitions, quality of service.

use std::marker::PhantomData;
use std::time::Duration;

use rtps::Lease;
use rtps::cdr::Representation;
use rtps::qos::{Durability, History, Liveliness, LivelinessKind, Qos, Reliability, ResourceLimits};

use crate::filter::FilterRequest;
use crate::{CreateError, Participant};

/// What every endpoint is asked to be.
#[derive(Clone, Debug, Default)]
pub struct EndpointRequest {
    /// Its topic.
    pub topic: String,
    /// Its quality of service.
    pub qos: Qos,
    /// Whether peers are told of its type more than the name.
    pub announces_type: bool,
    /// Which samples a subscriber wants.
    pub filter: Option<FilterRequest>,
}

/// What an [`EndpointBuilder`] makes in the end. Implemented by publishers and subscribers.
pub trait Target: Sized {
    /// What it needs besides.
    type Needs;

    /// Makes it.
    ///
    /// # Errors
    /// When a name or partition breaks a bound of the wire, or the type cannot be announced.
    fn create(
        participant: &Participant,
        request: EndpointRequest,
        needs: Self::Needs,
    ) -> Result<Self, CreateError>;
}

/// Collects topic, partitions and QoS. The default is best effort, volatile, keep-last 1, partition `""`.
#[derive(Debug)]
#[must_use = "nothing happens until build()"]
pub struct EndpointBuilder<'a, E: Target> {
    pub(crate) participant: &'a Participant,
    pub(crate) topic: String,
    pub(crate) qos: Qos,
    pub(crate) announces_type: bool,
    pub(crate) filter: Option<FilterRequest>,
    pub(crate) needs: E::Needs,
    target: PhantomData<fn() -> E>,
}

impl<'a, E: Target> EndpointBuilder<'a, E> {
    pub(crate) fn new(participant: &'a Participant, topic: &str, needs: E::Needs) -> Self {
        Self {
            participant,
            topic: topic.to_string(),
            qos: Qos::default(),
            announces_type: false,
            filter: None,
            needs,
            target: PhantomData,
        }
    }

    /// The partitions to join, replacing earlier ones. Names may have the wildcards `*`, `?`, `[a-c]`.
    pub fn partitions<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.qos.partitions = names.into_iter().map(Into::into).collect();
        self
    }

    /// Every sample arrives, in order; a matched peer must be reliable too.
    pub fn reliable(mut self) -> Self {
        self.qos.reliability = Reliability::Reliable;
        self
    }

    /// Samples may be lost, and losses are counted. The default.
    pub fn best_effort(mut self) -> Self {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    /// A publisher keeps its history for late joiners; a subscriber asks for it.
    pub fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    /// Late joiners get only what is written after they joined. The default.
    pub fn volatile(mut self) -> Self {
        self.qos.durability = Durability::Volatile;
        self
    }

    /// Keep the newest `depth` samples of each instance (at least 1).
    pub fn keep_last(mut self, depth: u32) -> Self {
        self.qos.history = History::KeepLast(depth.max(1));
        self
    }

    /// Keep every sample until it is acknowledged (publisher) or taken (subscriber), up to the resource limit; then a
    /// reliable publisher waits.
    pub fn keep_all(mut self) -> Self {
        self.qos.history = History::KeepAll;
        self
    }

    /// How a publisher's death is noticed: who says that it is alive, and after how much silence it counts as dead. A
    /// subscriber asks for at least that. A finite lease costs a datagram three times a lease and participant.
    pub fn liveliness(mut self, kind: LivelinessKind, lease: Duration) -> Self {
        self.qos.liveliness = Liveliness { kind, lease: Lease::Finite(lease) };
        self
    }

    /// Bounds of the history.
    pub fn resource_limits(mut self, limits: ResourceLimits) -> Self {
        self.qos.resource_limits = limits;
        self
    }

    /// How long a write may wait while a keep-all history is full. Default 100 ms.
    pub fn max_blocking(mut self, time: Duration) -> Self {
        self.qos.max_blocking = time;
        self
    }

    /// A publisher writes in this representation, by default XCDR1; a subscriber accepts no other, by default both.
    pub fn representation(mut self, representation: Representation) -> Self {
        self.qos.representations = vec![representation.id()];
        self
    }

    /// Whether to tell peers the type's hashes besides its name (DDS-XTypes 7.6.3.2); by default not. Peers that do so
    /// themselves then compare the types. Some refuse what they cannot compare: with types that differ from theirs, or
    /// whose description they would have to ask us for, it may cost a match.
    pub fn announce_type(mut self, announces_type: bool) -> Self {
        self.announces_type = announces_type;
        self
    }

    /// Replaces the whole QoS, the representation included.
    pub fn qos(mut self, qos: Qos) -> Self {
        self.qos = qos;
        self
    }

    /// Makes the endpoint.
    ///
    /// # Errors
    /// When a name or partition breaks a bound of the wire, or the type cannot be announced.
    pub fn build(self) -> Result<E, CreateError> {
        let Self { participant, topic, qos, announces_type, filter, needs, .. } = self;
        E::create(participant, EndpointRequest { topic, qos, announces_type, filter }, needs)
    }
}
