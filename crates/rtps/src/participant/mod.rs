//! One DDS participant as a state machine.
//!
//! Drive it like this, in any thread, with one clock:
//!
//! 1. give it what happened: [`Participant::handle_datagram`], [`Participant::handle_timeout`], or an application
//!    call such as [`Participant::write`];
//! 2. then drain its outputs: [`Participant::poll_transmit`] until `None` (send each datagram to each destination),
//!    [`Participant::poll_event`] until `None`, and [`Participant::poll_timeout`] once for the next wake-up.
//!
//! Nothing blocks, nothing is called back, and every call costs time bounded by what it is given.
//!
//! ```
//! use rtps::{Event, Locator, Participant};
//! use units::Instant;
//!
//! /// One turn of a driver. `send` and `receive` stand for a socket; returns when to come back at the latest.
//! fn turn(
//!     participant: &mut Participant,
//!     now: Instant,
//!     received: &[(Locator, Vec<u8>)],
//!     mut send: impl FnMut(Locator, &[u8]),
//! ) -> Instant {
//!     for (from, bytes) in received {
//!         participant.handle_datagram(now, *from, bytes);
//!     }
//!     participant.handle_timeout(now);
//!     while let Some(event) = participant.poll_event() {
//!         if let Event::SamplesAvailable(reader) = event {
//!             while let Some(sample) = participant.take(now, reader) {
//!                 // ... use the sample, then:
//!                 participant.recycle_sample(reader, sample.payload);
//!             }
//!         }
//!     }
//!     // Last, because everything above may have queued something.
//!     while let Some(datagram) = participant.poll_transmit() {
//!         datagram.to.iter().for_each(|to| send(*to, &datagram.bytes));
//!         participant.recycle_datagram(datagram);
//!     }
//!     participant.poll_timeout()
//! }
//! ```

mod config;
mod deletion;
mod receive;

pub use config::{
    CreateEndpointError, EndpointConfig, FRAGMENT_SIZE_MAX, ParticipantConfig, TYPE_INFORMATION_MAX,
    WriteError, WriteSample,
};

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use units::Instant;

use crate::discovery::endpoints::RemoteEndpoint;
use crate::discovery::relay::Relay;
use crate::discovery::remote::{RemoteParticipant, RemoteTable};
use crate::event::{Event, Events};
use crate::filter::Filter;
use crate::history::{RawSample, Refused};
use crate::liveliness::Liveliness;
use crate::outbox::{Context, Datagram, Outbox};
use crate::reader::{KeyHasher, Reader};
use crate::writer::{KeySerializer, Writer};
use crate::{
    EndpointStatus, EntityId, Guid, GuidPrefix, Lease, Locator, MachineAddress, SequenceNumber, Statistics,
    VENDOR_STILLWATT, VendorId,
};

/// A DDS participant: see the module text for how to drive it.
#[derive(Debug)]
pub struct Participant {
    pub(crate) config: ParticipantConfig,
    pub(crate) writers: BTreeMap<EntityId, Writer>,
    pub(crate) readers: BTreeMap<EntityId, Reader>,
    /// Which of our readers listen to a remote writer.
    pub(crate) routes: BTreeMap<Guid, Vec<EntityId>>,
    pub(crate) remote: RemoteTable,
    /// Only of a relay.
    pub(crate) relay: Option<Relay>,
    /// Our own endpoints by topic.
    pub(crate) topics: BTreeMap<String, OwnEndpoints>,
    pub(crate) liveliness: Liveliness,
    pub(crate) announce_at: Instant,
    pub(crate) announcements: u32,
    next_key: u32,
    /// Has said goodbye.
    pub(crate) is_closed: bool,
    /// Never later than the earliest deadline of any part.
    deadline: Instant,
    pub(crate) outbox: Outbox,
    pub(crate) events: Events,
    pub(crate) statistics: Statistics,
}

/// A participant's own endpoints on one topic.
#[derive(Debug, Default)]
pub(crate) struct OwnEndpoints {
    pub(crate) writers: Vec<EntityId>,
    pub(crate) readers: Vec<EntityId>,
}

/// Borrows of the parts that every endpoint operation needs, apart from the endpoints themselves.
macro_rules! context {
    ($self:ident, $now:expr) => {
        Context {
            now: $now,
            prefix: $self.config.prefix,
            limits: &$self.config.limits,
            timing: &$self.config.timing,
            reach: &$self.config.reach,
            fragment_size: $self.config.fragment_size.clamp(1, FRAGMENT_SIZE_MAX),
            priority: 0,
            outbox: &mut $self.outbox,
            events: &mut $self.events,
            statistics: &mut $self.statistics,
        }
    };
}
pub(crate) use context;

impl Participant {
    /// A participant that announces itself at once.
    pub fn new(mut config: ParticipantConfig, now: Instant) -> Self {
        config.timing = config.timing.bounded();
        let is_relay = config.is_relay;
        let mut participant = Self {
            config,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            routes: BTreeMap::new(),
            remote: RemoteTable::default(),
            relay: is_relay.then(Relay::default),
            topics: BTreeMap::new(),
            liveliness: Liveliness::default(),
            announce_at: now,
            announcements: 0,
            next_key: 1,
            is_closed: false,
            deadline: now,
            outbox: Outbox::default(),
            events: Events::default(),
            statistics: Statistics::default(),
        };
        participant.create_builtin_endpoints();
        participant
    }

    // Getters.

    /// The participant's own identity.
    pub fn guid(&self) -> Guid {
        Guid::new(self.config.prefix, EntityId::PARTICIPANT)
    }

    /// Its counters.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The remote participants known now.
    pub fn remote_participants(&self) -> impl Iterator<Item = &RemoteParticipant> {
        self.remote.participants.values()
    }

    /// Where on its machine a remote participant is, when it says so.
    pub fn machine_address_of(&self, prefix: GuidPrefix) -> Option<MachineAddress> {
        self.remote.participants.get(&prefix)?.data.machine_address
    }

    /// The remote writers known now, matched or not.
    pub fn remote_writers(&self) -> impl Iterator<Item = (Guid, &RemoteEndpoint)> {
        self.remote.endpoints(true).iter().filter(|(guid, _)| guid.prefix != self.config.prefix)
    }

    /// The remote readers known now, matched or not.
    pub fn remote_readers(&self) -> impl Iterator<Item = (Guid, &RemoteEndpoint)> {
        self.remote.endpoints(false).iter().filter(|(guid, _)| guid.prefix != self.config.prefix)
    }

    /// The remote endpoints that a local writer or reader exchanges data with.
    pub fn matched(&self, local: EntityId) -> Vec<Guid> {
        match (self.writers.get(&local), self.readers.get(&local)) {
            (Some(writer), _) => writer.matched().collect(),
            (None, Some(reader)) => reader.matched().collect(),
            (None, None) => Vec::new(),
        }
    }

    /// Samples that a reader will never get.
    pub fn lost(&self, reader: EntityId) -> u64 {
        self.readers.get(&reader).map_or(0, Reader::lost)
    }

    /// Samples that a reader's filter or QoS did not let pass.
    pub fn filtered(&self, reader: EntityId) -> u64 {
        self.readers.get(&reader).map_or(0, Reader::filtered)
    }

    /// What a local writer or reader has counted; `None` when there is no such endpoint.
    pub fn status(&self, local: EntityId) -> Option<&EndpointStatus> {
        match (self.writers.get(&local), self.readers.get(&local)) {
            (Some(writer), _) => Some(&writer.status),
            (None, reader) => reader.map(Reader::status),
        }
    }

    fn status_mut(&mut self, local: EntityId) -> Option<&mut EndpointStatus> {
        match (self.writers.get_mut(&local), self.readers.get_mut(&local)) {
            (Some(writer), _) => Some(&mut writer.status),
            (None, reader) => reader.map(Reader::status_mut),
        }
    }

    /// Samples in a writer's or reader's history.
    pub fn history_len(&self, local: EntityId) -> usize {
        match (self.writers.get(&local), self.readers.get(&local)) {
            (Some(writer), _) => writer.history_len(),
            (None, Some(reader)) => reader.history_len(),
            (None, None) => 0,
        }
    }

    /// Whether every matched reliable reader has everything that was written.
    pub fn is_acknowledged(&self, writer: EntityId) -> bool {
        self.writers.get(&writer).is_none_or(Writer::is_acknowledged)
    }

    // Application commands.

    /// Makes a writer and announces it.
    ///
    /// # Errors
    /// When a name or the partitions cannot be announced, or no entity key is left.
    pub fn create_writer(
        &mut self,
        now: Instant,
        config: EndpointConfig,
    ) -> Result<EntityId, CreateEndpointError> {
        let entity = EntityId::user_writer(self.next_key(&config)?, config.is_keyed);
        let (limits, multicast_min) = (&self.config.limits, self.config.reach.multicast_min);
        self.liveliness.promise(now, entity, &config.qos.liveliness);
        let writer = Writer::new(entity, config.topic, config.type_name, config.qos, limits, multicast_min);
        self.writers.insert(entity, writer);
        self.announce_writer(now, entity, config.type_information.as_deref());
        self.match_new_writer(now, entity);
        self.note_deadline(Some(self.liveliness.deadline()));
        Ok(entity)
    }

    /// Makes a reader and announces it. `key_hasher` is needed for a keyed topic.
    ///
    /// # Errors
    /// When a name or the partitions cannot be announced, the QoS contradicts itself, or no entity key is left.
    pub fn create_reader(
        &mut self,
        now: Instant,
        config: EndpointConfig,
        key_hasher: Option<KeyHasher>,
    ) -> Result<EntityId, CreateEndpointError> {
        if let Lease::Finite(deadline) = config.qos.deadline
            && config.qos.time_based_filter > deadline
        {
            let (topic, separation) = (config.topic, config.qos.time_based_filter);
            return Err(CreateEndpointError::Inconsistent { topic, separation, deadline });
        }
        let entity = EntityId::user_reader(self.next_key(&config)?, config.is_keyed);
        let hasher = key_hasher.filter(|_| config.is_keyed);
        let limits = &self.config.limits;
        let reader = Reader::new(entity, config.topic, config.type_name, config.qos, hasher, limits);
        self.readers.insert(entity, reader);
        self.announce_reader(now, entity, config.multicast, config.type_information.as_deref());
        self.match_new_reader(now, entity);
        Ok(entity)
    }

    fn next_key(&mut self, config: &EndpointConfig) -> Result<u32, CreateEndpointError> {
        for (what, name) in [("topic", &config.topic), ("type", &config.type_name)] {
            if name.is_empty() || name.len() > 255 {
                return Err(CreateEndpointError::Name { what, name: name.clone() });
            }
        }
        let data = self.endpoint_data(EntityId::UNKNOWN, &config.topic, &config.type_name, &config.qos);
        if let Err(reason) = data.check() {
            return Err(CreateEndpointError::Announcement { topic: config.topic.clone(), reason });
        }
        if let Some(octets) =
            config.type_information.as_ref().map(Vec::len).filter(|octets| *octets > TYPE_INFORMATION_MAX)
        {
            return Err(CreateEndpointError::TypeInformation { topic: config.topic.clone(), octets });
        }
        let key = self.next_key;
        if key > 0x00ff_ffff {
            return Err(CreateEndpointError::Exhausted);
        }
        self.next_key += 1;
        Ok(key)
    }

    /// Writes a sample: sends it to every matched reader and keeps it as long as the writer's QoS asks.
    ///
    /// # Errors
    /// When the writer does not exist or a bound is reached; nothing has happened then.
    pub fn write(
        &mut self,
        now: Instant,
        writer: EntityId,
        sample: WriteSample<'_>,
    ) -> Result<SequenceNumber, WriteError> {
        let max = self.config.limits.sample_bytes_max;
        if sample.payload.len() > max {
            return Err(WriteError::TooLarge { bytes: sample.payload.len(), max });
        }
        let mut cx = context!(self, now);
        let endpoint = self.writers.get_mut(&writer).filter(|endpoint| endpoint.closes_at.is_none());
        let endpoint = endpoint.ok_or(WriteError::NoWriter(writer))?;
        cx.priority = endpoint.qos.transport_priority;
        endpoint.check(&cx, sample.instance).map_err(|refused| match refused {
            Refused::Full => WriteError::Full,
            Refused::Instances => WriteError::Instances,
        })?;
        let sequence =
            endpoint.write(&mut cx, sample.instance, sample.status, sample.timestamp, sample.payload);
        let deadline = endpoint.deadline();
        self.statistics.samples_written += u64::from(!writer.is_builtin());
        self.note_deadline(deadline);
        self.note_written(now, writer);
        Ok(sequence)
    }

    /// Lets a writer that disposes of its instances when it is deleted name them by their keys. To be called before it
    /// writes; without, only hashes of the keys travel, by which Cyclone DDS, for one, knows no instance.
    pub fn set_key_serializer(&mut self, writer: EntityId, serializer: KeySerializer) {
        if let Some(writer) = self.writers.get_mut(&writer) {
            writer.set_key_serializer(serializer);
        }
    }

    /// Lets a reader have only samples that pass the filter, or all again; holds for what is handed over from now on.
    /// What does not pass counts as received by its writer, takes no room in the history and is counted. Ends of
    /// instances pass.
    pub fn set_filter(&mut self, reader: EntityId, filter: Option<Filter>) {
        if let Some(reader) = self.readers.get_mut(&reader) {
            reader.set_filter(filter);
        }
    }

    /// Sends what `writer` writes to the readers of `peer` by another way from now on, such as shared memory, or by
    /// their own address again. Holds for those that match later, too.
    pub fn set_route(&mut self, writer: EntityId, peer: GuidPrefix, route: Option<Locator>) {
        if let Some(writer) = self.writers.get_mut(&writer) {
            writer.set_route(peer, route);
        }
    }

    /// Sends what a writer holds back to send it with others, see [`crate::qos::Qos::latency_budget`].
    pub fn flush(&mut self, now: Instant, writer: EntityId) {
        let mut cx = context!(self, now);
        if let Some(writer) = self.writers.get_mut(&writer) {
            cx.priority = writer.qos.transport_priority;
            writer.flush(&mut cx);
        }
    }

    /// Takes the oldest sample that a reader has. Give its buffer back with [`Participant::recycle_sample`].
    pub fn take(&mut self, now: Instant, reader: EntityId) -> Option<RawSample> {
        let mut cx = context!(self, now);
        let reader = self.readers.get_mut(&reader)?;
        let sample = reader.take(&mut cx);
        let deadline = reader.policy_deadline();
        self.note_deadline(deadline);
        sample
    }

    /// Takes a sample's buffer back, so that steady traffic allocates nothing.
    pub fn recycle_sample(&mut self, reader: EntityId, payload: Vec<u8>) {
        if let Some(reader) = self.readers.get_mut(&reader) {
            reader.recycle(payload);
        }
    }

    // Inputs; datagrams are handled in `receive`.

    /// Handles the passing of time: announcements, leases, questions to readers that have not answered.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_closed || now < self.deadline {
            return;
        }
        self.announce_when_due(now);
        self.expire_participants(now);
        self.handle_liveliness_timeout(now);
        self.finish_deletions(now);
        let mut cx = context!(self, now);
        for writer in self.writers.values_mut() {
            cx.priority = writer.qos.transport_priority;
            writer.handle_timeout(&mut cx);
        }
        cx.priority = 0;
        for reader in self.readers.values_mut() {
            reader.handle_timeout(&mut cx);
            if reader.take_news() && !reader.entity.is_builtin() {
                cx.tell(Event::SamplesAvailable(reader.entity));
            }
        }
        self.deadline = self.earliest_deadline();
    }

    fn earliest_deadline(&self) -> Instant {
        let writers = self.writers.values().filter_map(Writer::deadline);
        let readers = self.readers.values().filter_map(Reader::deadline);
        writers
            .chain(readers)
            .chain([self.remote.next_expiry(), self.liveliness.deadline()])
            .min()
            .unwrap_or(Instant::MAX)
            .min(self.announce_at)
    }

    // Outputs.

    /// The next datagram to send. Give it back with [`Participant::recycle_datagram`].
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        self.outbox.pop()
    }

    /// Takes a datagram's buffers back, so that steady traffic allocates nothing.
    pub fn recycle_datagram(&mut self, datagram: Datagram) {
        self.outbox.recycle(datagram);
    }

    /// The next thing the application may want to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// When [`Participant::handle_timeout`] wants to be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        if self.is_closed { Instant::MAX } else { self.deadline }
    }

    // Shared by the discovery modules.

    pub(crate) fn tell(&mut self, event: Event) {
        match &event {
            Event::IncompatibleQos { local, policies, .. } => {
                if let Some(status) = self.status_mut(*local) {
                    status.note_incompatible(policies);
                }
            }
            Event::InconsistentType { local, .. } => {
                if let Some(status) = self.status_mut(*local) {
                    status.inconsistent_type += 1;
                }
            }
            _ => {}
        }
        let dropped = self.events.push(event, self.config.limits.events_max);
        self.statistics.events_dropped += u64::from(dropped);
    }

    pub(crate) fn note_deadline(&mut self, deadline: Option<Instant>) {
        if let Some(deadline) = deadline {
            self.deadline = self.deadline.min(deadline);
        }
    }

    /// The vendor of a participant.
    pub(crate) fn vendor_of(&self, prefix: GuidPrefix) -> VendorId {
        if prefix == self.config.prefix {
            return VENDOR_STILLWATT;
        }
        self.remote.participants.get(&prefix).map_or_else(VendorId::default, |remote| remote.data.vendor)
    }
}
