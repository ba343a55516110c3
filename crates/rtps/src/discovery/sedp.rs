//! The endpoint discovery protocol: which writers and readers there are, and which belong together (RTPS 8.5.4).
//!
//! Endpoints are announced by ordinary reliable, transient-local writers, so discovery is repaired by the same code
//! as user data.

use alloc::string::ToString;
use alloc::vec::Vec;
use units::Instant;

use super::data::{EndpointData, EndpointKind};
use super::endpoints::{OwnAddress, RemoteEndpoint};
use crate::cdr::KeyHash;
use crate::event::Event;
use crate::message::StatusInfo;
use crate::outbox::Context;
use crate::parameter::pid;
use crate::participant::{FRAGMENT_SIZE_MAX, Participant, WriteSample, context};
use crate::partition::is_matched;
use crate::qos::{Durability, LivelinessKind, Qos, Reliability, incompatible};
use crate::reader::{KeyHasher, Reader};
use crate::writer::{ReaderAddress, Writer};
use crate::{EntityId, Guid, GuidPrefix, Locator};

/// Bit in the built-in endpoint set, the remote endpoint it stands for, and our endpoint that matches it.
const PAIRS: [(u32, EntityId, EntityId); 6] = [
    (0x04, EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_PUBLICATIONS_READER),
    (0x08, EntityId::SEDP_PUBLICATIONS_READER, EntityId::SEDP_PUBLICATIONS_WRITER),
    (0x10, EntityId::SEDP_SUBSCRIPTIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_READER),
    (0x20, EntityId::SEDP_SUBSCRIPTIONS_READER, EntityId::SEDP_SUBSCRIPTIONS_WRITER),
    (0x400, EntityId::PARTICIPANT_MESSAGE_WRITER, EntityId::PARTICIPANT_MESSAGE_READER),
    (0x800, EntityId::PARTICIPANT_MESSAGE_READER, EntityId::PARTICIPANT_MESSAGE_WRITER),
];

fn builtin_qos() -> Qos {
    Qos { reliability: Reliability::Reliable, durability: Durability::TransientLocal, ..Qos::default() }
}

/// Built-in endpoints have unicast addresses only.
fn unicast(to: &[Locator]) -> ReaderAddress {
    ReaderAddress { unicast: to.to_vec(), ..ReaderAddress::default() }
}

/// Topic, type and partition agree: does the QoS?
enum Verdict {
    Match,
    Ignore,
    Tell(Event),
}

impl Participant {
    pub(crate) fn create_builtin_endpoints(&mut self) {
        // An endpoint's announcement is keyed by its GUID, given as key hash or in the announcement itself.
        let hasher = KeyHasher(alloc::sync::Arc::new(|payload, _| {
            EndpointData::decode_key(payload).ok().map(|guid| KeyHash(guid.to_bytes()))
        }));
        // A participant's message is keyed by its prefix and the kind of message, its first sixteen octets.
        let message_hasher = KeyHasher(alloc::sync::Arc::new(|payload, _| {
            payload.get(4..20).and_then(|key| key.try_into().ok()).map(KeyHash)
        }));
        for (_, _, ours) in PAIRS {
            let (topic, limits) = ("DCPSEndpoints".to_string(), &self.config.limits);
            let is_message = ours == EntityId::PARTICIPANT_MESSAGE_READER;
            let hasher = if is_message { &message_hasher } else { &hasher };
            if ours.is_writer() {
                let writer =
                    Writer::new(ours, topic, "EndpointData".to_string(), builtin_qos(), limits, None);
                self.writers.insert(ours, writer);
            } else {
                let (type_name, hasher) = ("EndpointData".to_string(), Some(hasher.clone()));
                let reader = Reader::new(ours, topic, type_name, builtin_qos(), hasher, limits);
                self.readers.insert(ours, reader);
            }
        }
    }

    pub(crate) fn match_builtin_endpoints(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(remote) = self.remote.participants.get(&prefix) else { return };
        let (set, vendor) = (remote.data.builtin_endpoints, remote.data.vendor);
        let to = &remote.metatraffic.clone();
        for (_, theirs, ours) in PAIRS.into_iter().filter(|(bit, ..)| set & bit != 0) {
            let guid = Guid::new(prefix, theirs);
            let mut cx: Context<'_> = context!(self, now);
            if let Some(writer) = self.writers.get_mut(&ours) {
                writer.match_reader(&mut cx, guid, unicast(to), &builtin_qos());
                let deadline = writer.deadline();
                self.note_deadline(deadline);
            } else if let Some(reader) = self.readers.get_mut(&ours) {
                reader.match_writer(&mut cx, guid, to.to_vec(), vendor, &builtin_qos());
                let deadline = reader.deadline();
                self.routes.entry(guid).or_default().push(ours);
                self.note_deadline(deadline);
            }
        }
    }

    /// Asks a participant's built-in writers what they have, whatever is known of it.
    pub(crate) fn knock_at_builtin_endpoints(&mut self, now: Instant, prefix: GuidPrefix) {
        for (_, theirs, ours) in PAIRS {
            let mut cx: Context<'_> = context!(self, now);
            if let Some(reader) = self.readers.get_mut(&ours) {
                reader.knock(&mut cx, Guid::new(prefix, theirs));
            }
        }
    }

    pub(crate) fn readdress_builtin_endpoints(&mut self, prefix: GuidPrefix, to: &[Locator]) {
        let qos = builtin_qos();
        for (_, theirs, ours) in PAIRS {
            let guid = Guid::new(prefix, theirs);
            if let Some(writer) = self.writers.get_mut(&ours) {
                writer.readdress_reader(guid, unicast(to), &qos);
            } else if let Some(reader) = self.readers.get_mut(&ours) {
                reader.readdress_writer(guid, to, &qos);
            }
        }
    }

    /// What of a participant has no address of its own is reached at its new one from now on.
    pub(crate) fn readdress_endpoints(&mut self, now: Instant, prefix: GuidPrefix) {
        for guid in self.remote.endpoints_of(prefix) {
            let endpoints = self.remote.endpoints(guid.entity.is_writer());
            let has_own = |endpoint: &RemoteEndpoint| {
                endpoint.address.as_ref().is_some_and(|address| address.unicast.is_some())
            };
            if !endpoints.get(guid).is_some_and(has_own) {
                self.match_remote(now, guid);
            }
        }
    }

    pub(crate) fn unmatch_builtin_endpoints(&mut self, prefix: GuidPrefix) {
        for (_, theirs, ours) in PAIRS {
            let guid = Guid::new(prefix, theirs);
            if let Some(writer) = self.writers.get_mut(&ours) {
                writer.unmatch_reader(guid);
            } else if let Some(reader) = self.readers.get_mut(&ours) {
                reader.unmatch_writer(guid);
                self.routes.remove(&guid);
            }
        }
    }

    pub(crate) fn announce_writer(
        &mut self,
        now: Instant,
        entity: EntityId,
        type_information: Option<&[u8]>,
    ) {
        let Some(writer) = self.writers.get(&entity) else { return };
        let data = self.endpoint_data(entity, &writer.topic, &writer.type_name, &writer.qos);
        self.publish_endpoint(now, EndpointKind::Writer, &data, type_information);
        let topic = data.topic.clone();
        self.learn_own(now, data);
        self.topics.entry(topic).or_default().writers.push(entity);
    }

    pub(crate) fn announce_reader(
        &mut self,
        now: Instant,
        entity: EntityId,
        multicast: Vec<Locator>,
        type_information: Option<&[u8]>,
    ) {
        let Some(reader) = self.readers.get(&entity) else { return };
        let data = self.endpoint_data(entity, &reader.topic, &reader.type_name, &reader.qos);
        let data = EndpointData { multicast, ..data };
        self.publish_endpoint(now, EndpointKind::Reader, &data, type_information);
        let topic = data.topic.clone();
        self.learn_own(now, data);
        self.topics.entry(topic).or_default().readers.push(entity);
    }

    /// A participant's own endpoints are peers of each other: they are in the table like those of others, reached at
    /// our own address.
    fn learn_own(&mut self, now: Instant, data: EndpointData) {
        let unicast = self.config.default_unicast.first().copied();
        self.remote.learn(&data, Some(OwnAddress { unicast, group: None }));
        self.match_remote(now, data.guid);
    }

    pub(crate) fn endpoint_data(
        &self,
        entity: EntityId,
        topic: &str,
        type_name: &str,
        qos: &Qos,
    ) -> EndpointData {
        EndpointData {
            guid: Guid::new(self.config.prefix, entity),
            topic: topic.to_string(),
            type_name: type_name.to_string(),
            qos: qos.clone(),
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
        }
    }

    fn publish_endpoint(
        &mut self,
        now: Instant,
        kind: EndpointKind,
        data: &EndpointData,
        type_information: Option<&[u8]>,
    ) {
        let writer = match kind {
            EndpointKind::Writer => EntityId::SEDP_PUBLICATIONS_WRITER,
            EndpointKind::Reader => EntityId::SEDP_SUBSCRIPTIONS_WRITER,
        };
        let mut payload = Vec::new();
        data.encode_with(kind, type_information, &mut payload);
        let instance = Some(KeyHash(data.guid.to_bytes()));
        self.write_builtin(
            now,
            writer,
            &WriteSample { instance, payload: &payload, ..WriteSample::default() },
        );
    }

    pub(crate) fn retract_writer(&mut self, now: Instant, entity: EntityId) {
        self.forget_remote(Guid::new(self.config.prefix, entity));
        self.retract(now, EntityId::SEDP_PUBLICATIONS_WRITER, entity);
    }

    pub(crate) fn retract_reader(&mut self, now: Instant, entity: EntityId) {
        self.forget_remote(Guid::new(self.config.prefix, entity));
        self.retract(now, EntityId::SEDP_SUBSCRIPTIONS_WRITER, entity);
    }

    fn retract(&mut self, now: Instant, writer: EntityId, entity: EntityId) {
        let guid = Guid::new(self.config.prefix, entity);
        let payload = super::key_payload(pid::ENDPOINT_GUID, guid);
        let status = StatusInfo { disposed: true, unregistered: true };
        let instance = Some(KeyHash(guid.to_bytes()));
        self.write_builtin(
            now,
            writer,
            &WriteSample { instance, status, payload: &payload, timestamp: None },
        );
    }

    fn write_builtin(&mut self, now: Instant, writer: EntityId, sample: &WriteSample<'_>) {
        if self.write(now, writer, *sample).is_err() {
            // Only reachable with more endpoints than `instances_max`; peers then do not learn of this one.
            self.statistics.discovery_refused += 1;
        }
    }

    /// Takes what the built-in readers have received from one participant's announcements.
    pub(crate) fn handle_discovered_endpoints(&mut self, now: Instant) {
        for reader in [EntityId::SEDP_PUBLICATIONS_READER, EntityId::SEDP_SUBSCRIPTIONS_READER] {
            let is_writer = reader == EntityId::SEDP_PUBLICATIONS_READER;
            while let Some(sample) = self.take(now, reader) {
                if sample.status.disposed || sample.status.unregistered {
                    let guid = sample.instance.map(|key| Guid::from_bytes(key.0));
                    if let Some(guid) = guid.filter(|guid| guid.prefix == sample.writer.prefix) {
                        self.forget_remote(guid);
                    }
                } else {
                    self.learn_endpoint(now, sample.writer.prefix, is_writer, &sample.payload);
                }
                self.recycle_sample(reader, sample.payload);
            }
        }
        self.relay_introductions(now);
    }

    fn learn_endpoint(&mut self, now: Instant, from: GuidPrefix, is_writer: bool, payload: &[u8]) {
        let Ok(data) = EndpointData::decode(payload) else {
            self.statistics.malformed += 1;
            return;
        };
        let guid = data.guid;
        let Some(remote) = self.remote.participants.get(&from) else { return };
        if guid.prefix != from || guid.entity.is_builtin() || guid.entity.is_writer() != is_writer {
            self.statistics.malformed += 1;
            return;
        }
        let reach = &self.config.reach;
        let unicast = reach.choose(&data.unicast, remote.metatraffic.first().copied()).first().copied();
        let unicast = unicast.filter(|own| remote.default.first() != Some(own));
        let groups = if data.multicast.is_empty() { &remote.data.default_multicast } else { &data.multicast };
        let group = reach.choose_group(groups).filter(|_| !is_writer);
        if !self.remote.has_room_for(guid, &self.config.limits) {
            self.statistics.discovery_refused += 1;
            return;
        }
        let has_moved =
            self.remote.endpoints(is_writer).get(guid).is_some_and(|known| known.topic() != data.topic);
        if has_moved {
            // It may be matched on its old topic.
            self.forget_remote(guid);
        }
        let address = Some(OwnAddress { unicast, group }).filter(|_| unicast.is_some() || group.is_some());
        self.remote.learn(&data, address);
        self.match_remote(now, guid);
        self.relay_endpoint(guid);
    }

    /// Matches a remote endpoint with ours of its topic.
    fn match_remote(&mut self, now: Instant, guid: Guid) {
        let is_writer = guid.entity.is_writer();
        let Some(endpoint) = self.remote.endpoints(is_writer).get(guid) else { return };
        let Some(ours) = self.topics.get(endpoint.topic()) else { return };
        let ours = if is_writer { &ours.readers } else { &ours.writers };
        for entity in ours.clone() {
            match is_writer {
                true => self.consider_writer(now, entity, guid),
                false => self.consider_reader(now, entity, guid),
            }
        }
    }

    pub(crate) fn match_new_reader(&mut self, now: Instant, entity: EntityId) {
        let Some(reader) = self.readers.get(&entity) else { return };
        let writers: Vec<Guid> = self.remote.endpoints(true).of_topic(&reader.topic).collect();
        for guid in writers {
            self.consider_writer(now, entity, guid);
        }
    }

    pub(crate) fn match_new_writer(&mut self, now: Instant, entity: EntityId) {
        let Some(writer) = self.writers.get(&entity) else { return };
        let readers: Vec<Guid> = self.remote.endpoints(false).of_topic(&writer.topic).collect();
        for guid in readers {
            self.consider_reader(now, entity, guid);
        }
    }

    /// Where a remote endpoint is reached: its own address, else its participant's.
    fn address_of(&self, guid: Guid, endpoint: &RemoteEndpoint) -> ReaderAddress {
        let own = endpoint.address.as_deref();
        let default = || self.remote.participants.get(&guid.prefix).map(|remote| remote.default.clone());
        let unicast = match own.and_then(|own| own.unicast) {
            Some(unicast) => Vec::from([unicast]),
            None => default().unwrap_or_default(),
        };
        ReaderAddress { unicast, group: own.and_then(|own| own.group), route: None }
    }

    /// Matches one of our readers with a remote writer, unmatches them, or takes the writer's new address.
    fn consider_writer(&mut self, now: Instant, entity: EntityId, guid: Guid) {
        let remote = self.remote.endpoints(true).get(guid);
        let (Some(reader), Some(data)) = (self.readers.get(&entity), remote) else { return };
        let was_matched = reader.is_matched_with(guid);
        let verdict = self.judge((entity, &reader.type_name), (guid, data), data.qos(), &reader.qos);
        match verdict {
            Verdict::Match => {
                let to = self.address_of(guid, data).unicast;
                let (qos, vendor) = (data.shared_qos(), self.vendor_of(guid.prefix));
                let mut cx: Context<'_> = context!(self, now);
                let Some(reader) = self.readers.get_mut(&entity) else { return };
                // That our own automatic writers are alive needs no proof.
                let is_sure =
                    guid.prefix == self.config.prefix && qos.liveliness.kind == LivelinessKind::Automatic;
                if !is_sure {
                    self.liveliness.watch(now, guid, entity, &qos.liveliness);
                }
                let watching = self.liveliness.deadline();
                if was_matched && reader.readdress_writer(guid, &to, &qos) {
                    self.note_deadline(Some(watching));
                    return;
                }
                reader.match_writer(&mut cx, guid, to, vendor, &qos);
                let deadline = reader.deadline();
                self.note_deadline(deadline);
                self.note_deadline(Some(watching));
                if !was_matched {
                    self.routes.entry(guid).or_default().push(entity);
                    self.tell(Event::Matched { local: entity, remote: guid });
                }
            }
            Verdict::Ignore | Verdict::Tell(_) if was_matched => self.unmatch_writer(entity, guid),
            Verdict::Ignore => {}
            Verdict::Tell(event) => self.tell(event),
        }
    }

    /// Matches one of our writers with a remote reader, unmatches them, or takes the reader's new address.
    fn consider_reader(&mut self, now: Instant, entity: EntityId, guid: Guid) {
        let remote = self.remote.endpoints(false).get(guid);
        let (Some(writer), Some(data)) = (self.writers.get(&entity), remote) else { return };
        let was_matched = writer.is_matched_with(guid);
        let verdict = self.judge((entity, &writer.type_name), (guid, data), &writer.qos, data.qos());
        match verdict {
            Verdict::Match => {
                let (to, qos) = (self.address_of(guid, data), data.shared_qos());
                let mut cx: Context<'_> = context!(self, now);
                let Some(writer) = self.writers.get_mut(&entity) else { return };
                if was_matched && writer.readdress_reader(guid, to.clone(), &qos) {
                    return;
                }
                writer.match_reader(&mut cx, guid, to, &qos);
                let deadline = writer.deadline();
                self.note_deadline(deadline);
                self.tell(match was_matched {
                    false => Event::Matched { local: entity, remote: guid },
                    // What the old match lacked is no longer waited for.
                    true => Event::Acknowledged(entity),
                });
            }
            Verdict::Ignore | Verdict::Tell(_) if was_matched => self.unmatch_reader(entity, guid),
            Verdict::Ignore => {}
            Verdict::Tell(event) => self.tell(event),
        }
    }

    /// Whether two endpoints of one topic belong together.
    fn judge(
        &self,
        (local, type_name): (EntityId, &str),
        (remote, data): (Guid, &RemoteEndpoint),
        offered: &Qos,
        requested: &Qos,
    ) -> Verdict {
        if !is_matched(self.config.partition_rule, &offered.partitions, &requested.partitions) {
            return Verdict::Ignore;
        }
        if data.type_name() != type_name {
            let type_name = data.type_name().to_string();
            return Verdict::Tell(Event::InconsistentType { local, remote, type_name });
        }
        let policies = incompatible(offered, requested);
        if policies.is_empty() {
            return Verdict::Match;
        }
        Verdict::Tell(Event::IncompatibleQos { local, remote, policies })
    }

    fn unmatch_writer(&mut self, entity: EntityId, guid: Guid) {
        if let Some(route) = self.routes.get_mut(&guid) {
            route.retain(|ours| *ours != entity);
            if route.is_empty() {
                self.routes.remove(&guid);
            }
        }
        self.liveliness.unwatch(guid, entity);
        let Some(reader) = self.readers.get_mut(&entity) else { return };
        let was_matched = reader.unmatch_writer(guid);
        let has_news = reader.take_news();
        if was_matched {
            self.tell(Event::Unmatched { local: entity, remote: guid });
        }
        if has_news {
            self.tell(Event::SamplesAvailable(entity));
        }
    }

    fn unmatch_reader(&mut self, entity: EntityId, guid: Guid) {
        let Some(writer) = self.writers.get_mut(&entity) else { return };
        if writer.unmatch_reader(guid) {
            let is_news = writer.may_block() || writer.is_acknowledged();
            let deadline = writer.deadline();
            self.note_deadline(deadline);
            self.tell(Event::Unmatched { local: entity, remote: guid });
            if is_news {
                self.tell(Event::Acknowledged(entity));
            }
        }
    }

    /// Forgets a remote endpoint, or one of ours, and unmatches it.
    pub(crate) fn forget_remote(&mut self, guid: Guid) {
        let Some(endpoint) = self.remote.forget(guid) else { return };
        if guid.entity.is_writer() {
            for entity in self.routes.get(&guid).cloned().unwrap_or_default() {
                self.unmatch_writer(entity, guid);
            }
            return;
        }
        let ours = self.topics.get(endpoint.topic()).map(|ours| ours.writers.clone());
        for entity in ours.unwrap_or_default() {
            self.unmatch_reader(entity, guid);
        }
    }
}
