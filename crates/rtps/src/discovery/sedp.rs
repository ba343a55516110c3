//! The endpoint discovery protocol: which writers and readers there are, and which belong together (RTPS 8.5.4).
//!
//! Endpoints are announced by ordinary reliable, transient-local writers, so discovery is repaired by the same code
//! as user data.

use alloc::string::ToString;
use alloc::vec::Vec;
use units::Instant;

use super::data::{EndpointData, EndpointKind};
use crate::cdr::KeyHash;
use crate::event::Event;
use crate::message::StatusInfo;
use crate::outbox::Context;
use crate::parameter::pid;
use crate::participant::{FRAGMENT_SIZE_MAX, Participant, WriteSample, context};
use crate::partition::is_matched;
use crate::qos::{Durability, Qos, Reliability, incompatible};
use crate::reader::{KeyHasher, Reader};
use crate::writer::{ReaderAddress, Writer};
use crate::{EntityId, Guid, GuidPrefix, Locator, VendorId};

/// Bit in the built-in endpoint set, the remote endpoint it stands for, and our endpoint that matches it.
const PAIRS: [(u32, EntityId, EntityId); 4] = [
    (0x04, EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_PUBLICATIONS_READER),
    (0x08, EntityId::SEDP_PUBLICATIONS_READER, EntityId::SEDP_PUBLICATIONS_WRITER),
    (0x10, EntityId::SEDP_SUBSCRIPTIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_READER),
    (0x20, EntityId::SEDP_SUBSCRIPTIONS_READER, EntityId::SEDP_SUBSCRIPTIONS_WRITER),
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
        for (_, _, ours) in PAIRS {
            let (topic, limits) = ("DCPSEndpoints".to_string(), &self.config.limits);
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

    pub(crate) fn match_builtin_endpoints(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        set: u32,
        vendor: VendorId,
        to: &[Locator],
    ) {
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

    /// What of a participant was reached at `old`, its default address, is reached at `new` from now on.
    pub(crate) fn readdress_endpoints(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        old: &[Locator],
        new: &[Locator],
    ) {
        let (writers, readers) = self.remote.endpoints_of(prefix);
        for guid in writers {
            if let Some(data) = self.remote.writers.get_mut(&guid).filter(|data| data.unicast == old) {
                data.unicast = new.to_vec();
                self.match_remote_writer(now, guid);
            }
        }
        for guid in readers {
            if let Some(data) = self.remote.readers.get_mut(&guid).filter(|data| data.unicast == old) {
                data.unicast = new.to_vec();
                self.match_remote_reader(now, guid);
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
        self.remote.writers.insert(data.guid, self.as_own(data));
        self.match_remote_writer(now, Guid::new(self.config.prefix, entity));
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
        self.remote.readers.insert(data.guid, self.as_own(data));
        self.match_remote_reader(now, Guid::new(self.config.prefix, entity));
    }

    /// A participant's own endpoints are peers of each other: they are in the table like those of others, reached at
    /// our own address.
    fn as_own(&self, mut data: EndpointData) -> EndpointData {
        data.unicast = self.config.default_unicast.iter().take(1).copied().collect();
        data.multicast.clear();
        data
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
        self.forget_remote_writer(Guid::new(self.config.prefix, entity));
        self.retract(now, EntityId::SEDP_PUBLICATIONS_WRITER, entity);
    }

    pub(crate) fn retract_reader(&mut self, now: Instant, entity: EntityId) {
        self.forget_remote_reader(Guid::new(self.config.prefix, entity));
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
                        if is_writer {
                            self.forget_remote_writer(guid)
                        } else {
                            self.forget_remote_reader(guid)
                        }
                    }
                } else {
                    self.learn_endpoint(now, sample.writer.prefix, is_writer, &sample.payload);
                }
                self.recycle_sample(reader, sample.payload);
            }
        }
    }

    fn learn_endpoint(&mut self, now: Instant, from: GuidPrefix, is_writer: bool, payload: &[u8]) {
        let Ok(mut data) = EndpointData::decode(payload) else {
            self.statistics.malformed += 1;
            return;
        };
        let guid = data.guid;
        let Some(remote) = self.remote.participants.get(&from) else { return };
        if guid.prefix != from || guid.entity.is_builtin() || guid.entity.is_writer() != is_writer {
            self.statistics.malformed += 1;
            return;
        }
        // From here on `unicast` and `multicast` are where we send to: the endpoint's own address, else its
        // participant's.
        data.unicast = match self.config.reach.choose(&data.unicast, remote.metatraffic.first().copied()) {
            chosen if chosen.is_empty() => remote.default.clone(),
            chosen => chosen,
        };
        let groups = if data.multicast.is_empty() { &remote.data.default_multicast } else { &data.multicast };
        data.multicast = self.config.reach.choose_group(groups).into_iter().collect();
        if !self.remote.has_room_for(guid, &self.config.limits) {
            self.statistics.discovery_refused += 1;
            return;
        }
        if is_writer {
            self.remote.writers.insert(guid, data);
            self.match_remote_writer(now, guid);
        } else {
            self.remote.readers.insert(guid, data);
            self.match_remote_reader(now, guid);
        }
    }

    fn match_remote_writer(&mut self, now: Instant, guid: Guid) {
        let ours: Vec<_> = self.readers.keys().filter(|entity| !entity.is_builtin()).copied().collect();
        for entity in ours {
            self.consider_writer(now, entity, guid);
        }
    }

    fn match_remote_reader(&mut self, now: Instant, guid: Guid) {
        let ours: Vec<_> = self.writers.keys().filter(|entity| !entity.is_builtin()).copied().collect();
        for entity in ours {
            self.consider_reader(now, entity, guid);
        }
    }

    pub(crate) fn match_new_reader(&mut self, now: Instant, entity: EntityId) {
        for guid in self.remote.writers.keys().copied().collect::<Vec<_>>() {
            self.consider_writer(now, entity, guid);
        }
    }

    pub(crate) fn match_new_writer(&mut self, now: Instant, entity: EntityId) {
        for guid in self.remote.readers.keys().copied().collect::<Vec<_>>() {
            self.consider_reader(now, entity, guid);
        }
    }

    /// Matches one of our readers with a remote writer, unmatches them, or takes the writer's new address.
    fn consider_writer(&mut self, now: Instant, entity: EntityId, guid: Guid) {
        let (Some(reader), Some(data)) = (self.readers.get(&entity), self.remote.writers.get(&guid)) else {
            return;
        };
        let was_matched = reader.is_matched_with(guid);
        let verdict = if reader.topic == data.topic {
            self.judge(entity, data, &reader.type_name, &data.qos, &reader.qos)
        } else {
            Verdict::Ignore
        };
        match verdict {
            Verdict::Match => {
                let (to, qos, vendor) = (data.unicast.clone(), data.qos.clone(), self.vendor_of(guid.prefix));
                let mut cx: Context<'_> = context!(self, now);
                let Some(reader) = self.readers.get_mut(&entity) else { return };
                if was_matched && reader.readdress_writer(guid, &to, &qos) {
                    return;
                }
                reader.match_writer(&mut cx, guid, to, vendor, &qos);
                let deadline = reader.deadline();
                self.note_deadline(deadline);
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
        let (Some(writer), Some(data)) = (self.writers.get(&entity), self.remote.readers.get(&guid)) else {
            return;
        };
        let was_matched = writer.is_matched_with(guid);
        let verdict = if writer.topic == data.topic {
            self.judge(entity, data, &writer.type_name, &writer.qos, &data.qos)
        } else {
            Verdict::Ignore
        };
        match verdict {
            Verdict::Match => {
                let group = data.multicast.first().copied();
                let to = ReaderAddress { unicast: data.unicast.clone(), group, route: None };
                let qos = data.qos.clone();
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
        local: EntityId,
        data: &EndpointData,
        type_name: &str,
        offered: &Qos,
        requested: &Qos,
    ) -> Verdict {
        if !is_matched(self.config.partition_rule, &offered.partitions, &requested.partitions) {
            return Verdict::Ignore;
        }
        if data.type_name != type_name {
            let type_name = data.type_name.clone();
            return Verdict::Tell(Event::InconsistentType { local, remote: data.guid, type_name });
        }
        let policies = incompatible(offered, requested);
        if policies.is_empty() {
            return Verdict::Match;
        }
        Verdict::Tell(Event::IncompatibleQos { local, remote: data.guid, policies })
    }

    fn unmatch_writer(&mut self, entity: EntityId, guid: Guid) {
        if let Some(route) = self.routes.get_mut(&guid) {
            route.retain(|ours| *ours != entity);
            if route.is_empty() {
                self.routes.remove(&guid);
            }
        }
        if self.readers.get_mut(&entity).is_some_and(|reader| reader.unmatch_writer(guid)) {
            self.tell(Event::Unmatched { local: entity, remote: guid });
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

    pub(crate) fn forget_remote_writer(&mut self, guid: Guid) {
        self.remote.writers.remove(&guid);
        for entity in self.routes.get(&guid).cloned().unwrap_or_default() {
            self.unmatch_writer(entity, guid);
        }
    }

    pub(crate) fn forget_remote_reader(&mut self, guid: Guid) {
        self.remote.readers.remove(&guid);
        for entity in self.writers.keys().copied().filter(|entity| !entity.is_builtin()).collect::<Vec<_>>() {
            self.unmatch_reader(entity, guid);
        }
    }
}
