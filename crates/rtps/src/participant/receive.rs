//! What a participant does with a datagram (RTPS 8.3.4 for the rules of a receiver).

use units::Instant;

use super::{FRAGMENT_SIZE_MAX, Participant, context};
use crate::event::Event;
use crate::message::{HeaderError, MessageReader, Submessage};
use crate::outbox::Context;
use crate::reader::Origin;
use crate::{EntityId, Guid, GuidPrefix, Locator, WireTime};

/// What the submessages of one datagram share.
struct Receiver {
    source: GuidPrefix,
    from: Locator,
    /// Octets of the datagram.
    length: usize,
    timestamp: Option<WireTime>,
    is_for_us: bool,
    /// Addressed to this very participant, which takes knowing its prefix.
    is_directed: bool,
}

impl Receiver {
    /// Whether what is said to or by this built-in endpoint may show that its participant has begun anew.
    fn may_tell_of_restart(&self, entity: EntityId) -> bool {
        self.is_directed && entity.is_builtin()
    }
}

impl Participant {
    /// Handles one datagram that arrived from `from`.
    pub fn handle_datagram(&mut self, now: Instant, from: Locator, bytes: &[u8]) {
        self.statistics.datagrams_received += 1;
        if self.is_closed {
            return;
        }
        if !self.is_allowed(from) {
            self.statistics.network_refused += 1;
            return;
        }
        let (header, messages) = match MessageReader::new(bytes) {
            Ok(parts) => parts,
            Err(HeaderError::Short | HeaderError::Magic | HeaderError::Version(_)) => {
                self.statistics.malformed += 1;
                return;
            }
        };
        let mut receiver = Receiver {
            source: header.prefix,
            from,
            length: bytes.len(),
            timestamp: None,
            is_for_us: true,
            is_directed: false,
        };
        self.allow_replies(header.prefix, bytes.len());
        for submessage in messages {
            match submessage {
                Ok(submessage) => self.handle_submessage(now, &mut receiver, submessage),
                Err(_) => {
                    self.statistics.malformed += 1;
                    break;
                }
            }
        }
        self.remote.touch(receiver.source, now);
    }

    fn is_allowed(&self, from: Locator) -> bool {
        let allowed = &self.config.allowed_networks;
        allowed.is_empty() || from.ip().is_none_or(|ip| allowed.iter().any(|network| network.contains(ip)))
    }

    /// Whoever answers one of our endpoints, by a message to this very participant, hears us. That a built-in endpoint has
    /// such a peer is clear without having it in its list.
    fn confirm(&mut self, now: Instant, receiver: &Receiver, ours: EntityId, is_matched: bool) {
        if receiver.is_directed && (is_matched || ours.is_builtin()) {
            self.confirm_participant(now, receiver.source);
        }
    }

    fn handle_submessage(&mut self, now: Instant, receiver: &mut Receiver, submessage: Submessage<'_>) {
        match submessage {
            Submessage::InfoDestination(prefix) => {
                receiver.is_directed = prefix == self.config.prefix;
                receiver.is_for_us = prefix == GuidPrefix::UNKNOWN || receiver.is_directed;
            }
            Submessage::InfoTimestamp(time) => {
                receiver.timestamp = time.filter(|time| *time != WireTime::INVALID);
            }
            Submessage::InfoSource { prefix, .. } => {
                receiver.source = prefix;
                receiver.timestamp = None;
            }
            _ if !receiver.is_for_us => {}
            Submessage::Data(data) if data.writer == EntityId::SPDP_WRITER => {
                // Our own announcements come back by multicast.
                if receiver.source == self.config.prefix {
                    return;
                }
                let origin = (receiver.from, receiver.length);
                self.handle_announcement(now, receiver.source, origin, &data, receiver.is_directed);
            }
            Submessage::AckNack(acknack) => {
                let from = Guid::new(receiver.source, acknack.reader);
                // Before it is answered: the answer must not be withheld.
                let writer = self.writers.get(&acknack.writer);
                let is_matched = writer.is_some_and(|writer| writer.is_matched_with(from));
                self.confirm(now, receiver, acknack.writer, is_matched);
                if receiver.may_tell_of_restart(acknack.writer)
                    && self
                        .writers
                        .get(&acknack.writer)
                        .is_some_and(|writer| writer.is_anew(now, from, &acknack))
                {
                    self.start_anew(now, receiver.source);
                }
                let mut cx = context!(self, now);
                let Some(writer) = self.writers.get_mut(&acknack.writer) else { return };
                let Some(progress) = writer.handle_acknack(&mut cx, from, &acknack) else { return };
                let is_news = progress && (writer.may_block() || writer.is_acknowledged());
                let deadline = writer.deadline();
                if is_news && !acknack.writer.is_builtin() {
                    self.tell(Event::Acknowledged(acknack.writer));
                }
                self.note_deadline(deadline);
            }
            Submessage::NackFrag(nack) => {
                let from = Guid::new(receiver.source, nack.reader);
                let writer = self.writers.get(&nack.writer);
                let is_matched = writer.is_some_and(|writer| writer.is_matched_with(from));
                self.confirm(now, receiver, nack.writer, is_matched);
                let mut cx = context!(self, now);
                if let Some(writer) = self.writers.get_mut(&nack.writer) {
                    writer.handle_nackfrag(&mut cx, from, &nack);
                }
            }
            other => self.handle_from_writer(now, receiver, &other),
        }
    }

    /// Submessages that a writer sends to readers.
    fn handle_from_writer(&mut self, now: Instant, receiver: &mut Receiver, submessage: &Submessage<'_>) {
        let (writer, reader) = match submessage {
            Submessage::Data(data) => (data.writer, data.reader),
            Submessage::DataFrag(frag) => (frag.writer, frag.reader),
            Submessage::Heartbeat(heartbeat) => (heartbeat.writer, heartbeat.reader),
            Submessage::HeartbeatFrag(heartbeat) => (heartbeat.writer, heartbeat.reader),
            Submessage::Gap(gap) => (gap.writer, gap.reader),
            _ => return,
        };
        let writer = Guid::new(receiver.source, writer);
        let is_matched = self.routes.contains_key(&writer);
        self.confirm(now, receiver, writer.entity, is_matched);
        if let Submessage::Heartbeat(heartbeat) = submessage
            && receiver.may_tell_of_restart(writer.entity)
        {
            let ours = self.routes.get(&writer).into_iter().flatten();
            let mut ours = ours.filter_map(|entity| self.readers.get(entity));
            if ours.any(|reader| reader.is_anew(now, writer, heartbeat)) {
                self.start_anew(now, receiver.source);
            }
        }
        let Some(route) = self.routes.get(&writer) else { return };
        let origin = Origin { writer, timestamp: receiver.timestamp, from: receiver.from };
        let mut cx = context!(self, now);
        let (mut discovered, mut is_message) = (false, false);
        for entity in route {
            if reader != EntityId::UNKNOWN && reader != *entity {
                continue;
            }
            let Some(endpoint) = self.readers.get_mut(entity) else { continue };
            match submessage {
                Submessage::Data(data) => endpoint.handle_data(&mut cx, origin, data),
                Submessage::DataFrag(frag) => endpoint.handle_data_frag(&mut cx, origin, frag),
                Submessage::Heartbeat(heartbeat) => endpoint.handle_heartbeat(&mut cx, writer, heartbeat),
                Submessage::HeartbeatFrag(heartbeat) => {
                    endpoint.handle_heartbeat_frag(&mut cx, writer, heartbeat)
                }
                Submessage::Gap(gap) => endpoint.handle_gap(&mut cx, writer, gap),
                _ => {}
            }
            if let Some(at) = endpoint.policy_deadline() {
                self.deadline = self.deadline.min(at);
            }
            if endpoint.take_news() {
                if *entity == EntityId::PARTICIPANT_MESSAGE_READER {
                    is_message = true;
                } else if entity.is_builtin() {
                    discovered = true;
                } else {
                    cx.tell(Event::SamplesAvailable(*entity));
                }
            }
        }
        if discovered {
            self.handle_discovered_endpoints(now);
        }
        if is_message {
            self.handle_participant_messages(now);
        }
        self.hear_writer(now, writer);
    }
}
