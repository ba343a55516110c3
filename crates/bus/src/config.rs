//! Building publishers and subscribers: topic, partitions, quality of service.

use std::marker::PhantomData;
use std::time::Duration;

use rtps::Lease;
use rtps::cdr::Representation;
use rtps::qos::{
    DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership, Qos, Reliability,
    ResourceLimits,
};

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

    /// The longest time between two samples of an instance, from 1 ms; by default none. A subscriber only matches
    /// publishers that promise as much. What is late is counted ([`crate::EndpointStatus::deadline_missed`]), told by
    /// [`crate::ParticipantEvent::DeadlineMissed`], and costs an exclusive owner the instance. Costs a look-up a sample
    /// and, when samples are late, a wake-up a period.
    pub fn deadline(mut self, period: Duration) -> Self {
        self.qos.deadline = Lease::Finite(period);
        self
    }

    /// How long a sample is of use; by default for ever. A publisher forgets older ones, and late subscribers do not get
    /// them; its subscribers hand out none that arrived longer ago. Both count by their own monotonic clock, so that no
    /// step of a wall clock matters; the time under way is not counted. Of publishers only. Costs a wake-up for each
    /// sixteenth of it while the publisher keeps samples, and one when a sample expires that nobody has taken.
    pub fn lifespan(mut self, time: Duration) -> Self {
        self.qos.lifespan = Lease::Finite(time);
        self
    }

    /// The shortest time between two samples of an instance that a subscriber hands out, at most its deadline; by
    /// default zero, which hands out all. A reliable subscriber hands out the newest of those in between when the time is
    /// over. The ends of instances pass at once. Of subscribers only. Costs a look-up a sample; every sample still
    /// arrives.
    pub fn time_based_filter(mut self, separation: Duration) -> Self {
        self.qos.time_based_filter = separation;
        self
    }

    /// Only the strongest publisher of each instance is heard; both sides must ask for it. A publisher's `strength` is
    /// any number, by default 0, and a subscriber's has no meaning. Of equally strong publishers the one with the lowest
    /// GUID is heard. An instance falls to the next publisher when its owner unregisters it, is gone, loses its
    /// liveliness or misses its deadline. Costs a look-up a sample.
    pub fn exclusive_ownership(mut self, strength: i32) -> Self {
        self.qos.ownership = Ownership::Exclusive;
        self.qos.ownership_strength = strength;
        self
    }

    /// Whether samples of an instance come as they arrive, the default, or in the order of their source times, which
    /// needs wall clocks that agree. A sample that is older than what was taken already is dropped then. A publisher
    /// offers the order, a subscriber wants it.
    pub fn destination_order(mut self, order: DestinationOrder) -> Self {
        self.qos.destination_order = order;
        self
    }

    /// How long a sample may be held back to share a datagram with others, up to 1 s; by default zero. Costs the time,
    /// saves a system call a sample. A subscriber only matches publishers that promise as much.
    pub fn latency_budget(mut self, budget: Duration) -> Self {
        self.qos.latency_budget = Lease::Finite(budget);
        self
    }

    /// How urgent a publisher's samples are, as a differentiated services code point from 0, the default, to 63. Announced
    /// to peers; datagrams to one address by UDP over IPv4 carry it. Those to groups, over IPv6, by TCP and within the
    /// machine do not.
    pub fn transport_priority(mut self, priority: i32) -> Self {
        self.qos.transport_priority = priority;
        self
    }

    /// Whether a publisher disposes of the instances that it unregisters, and of all that it has written when it is
    /// deleted; by default not, so that a successor may take them over. Its deletion is then told to others up to 2 s
    /// later, when reliable subscribers have acknowledged;
    /// leaving the domain waits for that. Costs the memory of the
    /// serialized key of each instance, which is made when its first sample is written.
    pub fn autodispose(mut self, is_wanted: bool) -> Self {
        self.qos.autodispose_unregistered_instances = is_wanted;
        self
    }

    /// Makes the endpoint.
    ///
    /// # Errors
    /// When a name or partition breaks a bound of the wire, the QoS contradicts itself, or the type cannot be announced.
    pub fn build(self) -> Result<E, CreateError> {
        let Self { participant, topic, qos, announces_type, filter, needs, .. } = self;
        E::create(participant, EndpointRequest { topic, qos, announces_type, filter }, needs)
    }
}
