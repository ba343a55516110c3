//! The writer side of the protocol: one writer, its history and its matched readers (RTPS 8.4.7 to 8.4.9).
//!
//! Reliability costs little when nothing is lost: each sample carries a heartbeat that wants no answer (the *final*
//! flag); every 64th sample, and a timer while something is unacknowledged, ask for one.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use crate::cdr::KeyHash;
use crate::fragment::fragment_total;
use crate::history::{Change, Refused, WriterHistory};
use crate::message::{
    AckNack, DataFrag, Gap, Heartbeat, HeartbeatFrag, InlineQos, MessageWriter, NackFrag, Payload, StatusInfo,
};
use crate::outbox::{Context, Datagram};
use crate::qos::{Durability, History, Qos, Reliability};
use crate::{EntityId, FragmentNumber, Guid, Limits, Locator, SequenceNumber, SequenceNumberSet, WireTime};

/// A matched remote reader.
#[derive(Debug)]
pub(crate) struct ReaderProxy {
    pub(crate) guid: Guid,
    locators: Vec<Locator>,
    reliable: bool,
    /// The first change that concerns this reader: later than the past for a volatile one.
    start: SequenceNumber,
    /// Everything up to here has arrived there.
    acknowledged: SequenceNumber,
    acknack_count: Option<u32>,
    nackfrag_count: Option<u32>,
    /// Answers given to bare questions since the reader last made progress, and when the last one went.
    answers: u32,
    answered_at: Instant,
}

/// One local writer.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) entity: EntityId,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) qos: Qos,
    history: WriterHistory,
    last: SequenceNumber,
    readers: Vec<ReaderProxy>,
    destinations: Vec<Locator>,
    heartbeat_count: u32,
    heartbeat_at: Option<Instant>,
    heartbeat_interval: Duration,
    since_question: u32,
}

/// What a reliable writer asks an answer for at the latest.
const SAMPLES_PER_QUESTION: u32 = 64;
/// Bare questions of one reader answered at once; further ones at most once a heartbeat period until it progresses.
const ANSWERS_AT_ONCE: u32 = 8;
/// Small submessages are packed into datagrams of about this size.
const PACK_BYTES: usize = 1400;

impl Writer {
    pub(crate) fn new(entity: EntityId, topic: String, type_name: String, qos: Qos, limits: &Limits) -> Self {
        Self {
            entity,
            topic,
            type_name,
            history: WriterHistory::new(&qos, limits),
            qos,
            last: SequenceNumber::ZERO,
            readers: Vec::new(),
            destinations: Vec::new(),
            heartbeat_count: 0,
            heartbeat_at: None,
            heartbeat_interval: Duration::ZERO,
            since_question: 0,
        }
    }

    pub(crate) fn matched(&self) -> impl Iterator<Item = Guid> + '_ {
        self.readers.iter().map(|reader| reader.guid)
    }

    pub(crate) fn is_matched_with(&self, reader: Guid) -> bool {
        self.readers.iter().any(|proxy| proxy.guid == reader)
    }

    /// When [`Writer::handle_timeout`] has work.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.heartbeat_at
    }

    fn is_reliable(&self) -> bool {
        self.qos.reliability == Reliability::Reliable
    }

    fn is_durable(&self) -> bool {
        self.qos.durability >= Durability::TransientLocal
    }

    /// Whether every change has been acknowledged by every reliable reader.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.readers.iter().filter(|reader| reader.reliable).all(|reader| reader.acknowledged >= self.last)
    }

    /// Whether a change of `instance` would be accepted now.
    pub(crate) fn check(&self, instance: Option<KeyHash>) -> Result<(), Refused> {
        if self.keeps_history() { self.history.check(instance) } else { Ok(()) }
    }

    fn keeps_history(&self) -> bool {
        self.is_durable() || (self.is_reliable() && self.readers.iter().any(|reader| reader.reliable))
    }

    /// Sends a change to every matched reader and keeps it as long as the QoS asks. Call [`Writer::check`] before.
    pub(crate) fn write(
        &mut self,
        cx: &mut Context<'_>,
        instance: Option<KeyHash>,
        status: StatusInfo,
        timestamp: Option<WireTime>,
        payload: &[u8],
    ) -> SequenceNumber {
        self.last = self.last.next();
        if self.keeps_history() {
            self.history.push(self.last, instance, status, timestamp, payload);
        }
        if self.destinations.is_empty() {
            return self.last;
        }
        let to = core::mem::take(&mut self.destinations);
        let question = self.note_question(cx.now, cx.timing.heartbeat_period);
        let change = Outgoing { sequence: self.last, instance, status, timestamp, payload };
        self.send_change(cx, &change, EntityId::UNKNOWN, None, &to, question);
        self.destinations = to;
        self.last
    }

    /// Counts a sample; returns whether a heartbeat goes with it and whether it wants an answer.
    fn note_question(&mut self, now: Instant, period: Duration) -> Option<bool> {
        if !self.is_reliable() || !self.readers.iter().any(|reader| reader.reliable) {
            return None;
        }
        self.since_question += 1;
        let asks = self.since_question >= SAMPLES_PER_QUESTION;
        if asks {
            self.since_question = 0;
        }
        if self.heartbeat_at.is_none() {
            self.heartbeat_interval = period;
            self.heartbeat_at = Some(now + period);
        }
        Some(asks)
    }

    fn heartbeat(&mut self, reader: EntityId, asks: bool) -> Heartbeat {
        self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
        let last = self.last;
        let first = self.history.first().unwrap_or_else(|| last.next());
        Heartbeat {
            reader,
            writer: self.entity,
            first,
            last,
            count: self.heartbeat_count,
            is_final: !asks,
            is_liveliness: false,
        }
    }

    /// One datagram, or one for each fragment, followed by a heartbeat when `question` says so.
    fn send_change(
        &mut self,
        cx: &mut Context<'_>,
        change: &Outgoing<'_>,
        reader: EntityId,
        destination: Option<Guid>,
        to: &[Locator],
        question: Option<bool>,
    ) {
        let heartbeat = question.map(|asks| self.heartbeat(reader, asks));
        if change.payload.len() > usize::from(cx.fragment_size) {
            let total = fragment_total(change.payload.len(), cx.fragment_size);
            send_fragments(cx, self.entity, change, reader, destination, to, 1..=total);
            if let Some(heartbeat) = heartbeat {
                // The fragments may have overrun the receiver: ask at once what is missing.
                let asking = Heartbeat { is_final: false, ..heartbeat };
                send_message(cx, destination, to, |message| message.heartbeat(&asking));
            }
            return;
        }
        let entity = self.entity;
        send_message(cx, destination, to, |message| {
            if let Some(time) = change.timestamp {
                message.info_timestamp(time);
            }
            message.data(reader, entity, change.sequence, &change.inline(), change.body());
            if let Some(heartbeat) = heartbeat {
                message.heartbeat(&heartbeat);
            }
        });
    }

    /// Starts sending to a remote reader.
    pub(crate) fn match_reader(
        &mut self,
        cx: &mut Context<'_>,
        guid: Guid,
        locators: Vec<Locator>,
        qos: &Qos,
    ) {
        self.unmatch_reader(guid);
        let reliable = self.is_reliable() && qos.reliability == Reliability::Reliable;
        let wants_past = self.is_durable() && qos.durability >= Durability::TransientLocal;
        let start = match self.history.first() {
            Some(first) if wants_past => first,
            _ => self.last.next(),
        };
        self.readers.push(ReaderProxy {
            guid,
            locators,
            reliable,
            start,
            acknowledged: start.previous(),
            acknack_count: None,
            nackfrag_count: None,
            answers: 0,
            answered_at: Instant::ZERO,
        });
        self.update_destinations();
        let Some(index) = self.readers.len().checked_sub(1) else { return };
        if reliable {
            self.send_state(cx, index);
            if start <= self.last && self.heartbeat_at.is_none() {
                self.heartbeat_interval = cx.timing.heartbeat_period;
                self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
            }
        } else if wants_past {
            self.send_past(cx, index);
        }
    }

    /// Tells one reader where its data begins and what there is, and asks what it lacks.
    fn send_state(&mut self, cx: &mut Context<'_>, index: usize) {
        let Some(proxy) = self.readers.get(index) else { return };
        let (guid, start) = (proxy.guid, proxy.start);
        let to = proxy.locators.clone();
        let heartbeat = self.heartbeat(guid.entity, true);
        let entity = self.entity;
        send_message(cx, Some(guid), &to, |message| {
            if start > SequenceNumber::FIRST {
                message.gap(&gap(guid.entity, entity, SequenceNumber::FIRST, start));
            }
            message.heartbeat(&heartbeat);
        });
    }

    /// Sends what a best-effort reader of a durable writer missed, once.
    fn send_past(&mut self, cx: &mut Context<'_>, index: usize) {
        let Some(proxy) = self.readers.get(index) else { return };
        let (guid, to) = (proxy.guid, proxy.locators.clone());
        for change in self.history.iter() {
            let change = Outgoing::from(change);
            send_one(cx, self.entity, &change, guid, &to);
        }
    }

    /// Stops sending to a remote reader; true when it was matched.
    pub(crate) fn unmatch_reader(&mut self, guid: Guid) -> bool {
        let before = self.readers.len();
        self.readers.retain(|reader| reader.guid != guid);
        self.update_destinations();
        self.after_acknowledgement();
        self.readers.len() != before
    }

    fn update_destinations(&mut self) {
        self.destinations.clear();
        for locator in self.readers.iter().flat_map(|reader| &reader.locators) {
            if !self.destinations.contains(locator) {
                self.destinations.push(*locator);
            }
        }
    }

    /// Forgets acknowledged changes when nobody joining later may want them, and stops the timer when all is well.
    fn after_acknowledgement(&mut self) {
        let reliable = || self.readers.iter().filter(|reader| reader.reliable);
        if !self.is_durable() {
            let lowest = reliable().map(|reader| reader.acknowledged).min().unwrap_or(self.last);
            self.history.prune(lowest);
        }
        if self.is_acknowledged() {
            self.heartbeat_at = None;
            self.since_question = 0;
        }
    }

    /// Handles an acknowledgement; true when room may have become free.
    pub(crate) fn handle_acknack(&mut self, cx: &mut Context<'_>, from: Guid, acknack: &AckNack) -> bool {
        let last = self.last;
        let Some(index) = self.readers.iter().position(|reader| reader.guid == from) else { return false };
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        if !proxy.reliable || !is_newer(acknack.count, proxy.acknack_count) {
            return false;
        }
        proxy.acknack_count = Some(acknack.count);
        let base = acknack.missing.base();
        let acknowledged = base.previous().min(last);
        let progress = acknowledged > proxy.acknowledged;
        if progress {
            proxy.acknowledged = acknowledged;
            proxy.answers = 0;
        }
        let is_question = acknack.missing.bit_count() == 0 && !acknack.is_final && base <= last;
        let is_first_contact = base <= SequenceNumber::FIRST && acknack.missing.bit_count() == 0;
        if is_question || is_first_contact {
            // Two stacks that answer each other's questions at once must not do so for ever.
            let may_answer =
                proxy.answers < ANSWERS_AT_ONCE || cx.now >= proxy.answered_at + cx.timing.heartbeat_period;
            if may_answer {
                proxy.answers = proxy.answers.saturating_add(1);
                proxy.answered_at = cx.now;
                self.send_state(cx, index);
            }
        } else {
            self.repair(cx, index, acknack.missing);
        }
        if progress {
            self.heartbeat_interval = cx.timing.heartbeat_period;
            if self.heartbeat_at.is_some() {
                self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
            }
        }
        self.after_acknowledgement();
        progress
    }

    /// Sends again what a reader asks for, or says that it does not exist any more.
    fn repair(&mut self, cx: &mut Context<'_>, index: usize, missing: SequenceNumberSet) {
        let Some(proxy) = self.readers.get(index) else { return };
        let (guid, start, to) = (proxy.guid, proxy.start, proxy.locators.clone());
        let mut gone = Vec::new();
        let mut batch = Batch::new(guid);
        let mut sent_any = false;
        for sequence in missing.iter().filter(|sequence| *sequence <= self.last) {
            let change = if sequence < start { None } else { self.history.get(sequence) };
            let Some(change) = change else {
                gone.push(sequence);
                continue;
            };
            cx.statistics.repairs += 1;
            sent_any = true;
            let change = Outgoing::from(change);
            if change.payload.len() > PACK_BYTES {
                batch.flush(cx, &to);
                send_one(cx, self.entity, &change, guid, &to);
            } else {
                batch.add(cx, &to, self.entity, &change);
            }
        }
        batch.flush(cx, &to);
        if !sent_any && gone.is_empty() {
            return;
        }
        let heartbeat = self.heartbeat(guid.entity, true);
        let gaps = gaps(guid.entity, self.entity, &gone);
        send_message(cx, Some(guid), &to, |message| {
            for gap in &gaps {
                message.gap(gap);
            }
            message.heartbeat(&heartbeat);
        });
    }

    /// Sends fragments again.
    pub(crate) fn handle_nackfrag(&mut self, cx: &mut Context<'_>, from: Guid, nack: &NackFrag) {
        let Some(proxy) = self.readers.iter_mut().find(|reader| reader.guid == from) else { return };
        if !proxy.reliable || !is_newer(nack.count, proxy.nackfrag_count) {
            return;
        }
        proxy.nackfrag_count = Some(nack.count);
        let to = proxy.locators.clone();
        let Some(change) = self.history.get(nack.sequence) else {
            let mut set = SequenceNumberSet::empty(nack.sequence);
            set.insert(nack.sequence);
            if let Some(index) = self.readers.iter().position(|reader| reader.guid == from) {
                self.repair(cx, index, set);
            }
            return;
        };
        let change = Outgoing::from(change);
        let total = fragment_total(change.payload.len(), cx.fragment_size);
        if change.payload.len() <= usize::from(cx.fragment_size) {
            return;
        }
        let wanted = nack.missing.iter().map(|number| number.0).filter(|number| (1..=total).contains(number));
        cx.statistics.repairs += 1;
        send_fragments(cx, self.entity, &change, from.entity, Some(from), &to, wanted);
        self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
        let heartbeat = HeartbeatFrag {
            reader: from.entity,
            writer: self.entity,
            sequence: nack.sequence,
            last_fragment: FragmentNumber(total),
            count: self.heartbeat_count,
        };
        send_message(cx, Some(from), &to, |message| message.heartbeat_frag(&heartbeat));
    }

    /// Asks the readers that lag for an acknowledgement.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if self.heartbeat_at.is_none_or(|at| at > cx.now) {
            return;
        }
        let mut to = Vec::new();
        let lagging = self.readers.iter().filter(|reader| reader.reliable && reader.acknowledged < self.last);
        for locator in lagging.flat_map(|reader| &reader.locators) {
            if !to.contains(locator) {
                to.push(*locator);
            }
        }
        if to.is_empty() {
            self.heartbeat_at = None;
            return;
        }
        let heartbeat = self.heartbeat(EntityId::UNKNOWN, true);
        send_message(cx, None, &to, |message| message.heartbeat(&heartbeat));
        self.heartbeat_interval =
            (self.heartbeat_interval * 2).clamp(cx.timing.heartbeat_period, cx.timing.heartbeat_period_max);
        self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
    }

    /// Samples kept, for introspection.
    pub(crate) fn history_len(&self) -> usize {
        self.history.len()
    }

    /// Whether a write may have to wait for acknowledgements.
    pub(crate) fn may_block(&self) -> bool {
        self.is_reliable() && self.qos.history == History::KeepAll
    }
}

/// A change on its way out, borrowed from the application or the history.
struct Outgoing<'a> {
    sequence: SequenceNumber,
    instance: Option<KeyHash>,
    status: StatusInfo,
    timestamp: Option<WireTime>,
    payload: &'a [u8],
}

impl<'a> From<&'a Change> for Outgoing<'a> {
    fn from(change: &'a Change) -> Self {
        Self {
            sequence: change.sequence,
            instance: change.instance,
            status: change.status,
            timestamp: change.timestamp,
            payload: &change.payload,
        }
    }
}

impl Outgoing<'_> {
    fn is_key(&self) -> bool {
        self.status.disposed || self.status.unregistered
    }

    fn inline(&self) -> InlineQos {
        InlineQos { key_hash: self.instance.map(|key| key.0), status: self.status }
    }

    fn body(&self) -> Payload<'_> {
        if self.is_key() { Payload::Key(self.payload) } else { Payload::Data(self.payload) }
    }
}

/// Small repairs for one reader, packed together.
struct Batch {
    guid: Guid,
    datagram: Option<Datagram>,
}

impl Batch {
    fn new(guid: Guid) -> Self {
        Self { guid, datagram: None }
    }

    fn add(&mut self, cx: &mut Context<'_>, to: &[Locator], writer: EntityId, change: &Outgoing<'_>) {
        let full = |datagram: &Datagram| datagram.bytes.len() + change.payload.len() > PACK_BYTES;
        if self.datagram.as_ref().is_some_and(full) {
            self.flush(cx, to);
        }
        let mut datagram = match self.datagram.take() {
            Some(datagram) => datagram,
            None => {
                let mut datagram = cx.outbox.start();
                MessageWriter::new(&mut datagram.bytes, cx.prefix).info_destination(self.guid.prefix);
                datagram
            }
        };
        let mut message = MessageWriter::append(&mut datagram.bytes);
        // Without a time stamp the previous one in this datagram must not apply.
        message.info_timestamp(change.timestamp.unwrap_or(WireTime::INVALID));
        message.data(self.guid.entity, writer, change.sequence, &change.inline(), change.body());
        self.datagram = Some(datagram);
    }

    fn flush(&mut self, cx: &mut Context<'_>, to: &[Locator]) {
        if let Some(mut datagram) = self.datagram.take() {
            datagram.to.extend_from_slice(to);
            cx.send(datagram);
        }
    }
}

/// Builds one message and queues it.
fn send_message(
    cx: &mut Context<'_>,
    destination: Option<Guid>,
    to: &[Locator],
    build: impl FnOnce(&mut MessageWriter<'_>),
) {
    let mut datagram = cx.outbox.start();
    datagram.to.extend_from_slice(to);
    let mut message = MessageWriter::new(&mut datagram.bytes, cx.prefix);
    if let Some(guid) = destination {
        message.info_destination(guid.prefix);
    }
    build(&mut message);
    cx.send(datagram);
}

/// Sends a change to one reader, whole or in fragments.
fn send_one(cx: &mut Context<'_>, writer: EntityId, change: &Outgoing<'_>, guid: Guid, to: &[Locator]) {
    if change.payload.len() > usize::from(cx.fragment_size) {
        let total = fragment_total(change.payload.len(), cx.fragment_size);
        send_fragments(cx, writer, change, guid.entity, Some(guid), to, 1..=total);
        return;
    }
    send_message(cx, Some(guid), to, |message| {
        if let Some(time) = change.timestamp {
            message.info_timestamp(time);
        }
        message.data(guid.entity, writer, change.sequence, &change.inline(), change.body());
    });
}

/// One datagram a fragment.
fn send_fragments(
    cx: &mut Context<'_>,
    writer: EntityId,
    change: &Outgoing<'_>,
    reader: EntityId,
    destination: Option<Guid>,
    to: &[Locator],
    numbers: impl Iterator<Item = u32>,
) {
    let size = usize::from(cx.fragment_size);
    let Ok(sample_size) = u32::try_from(change.payload.len()) else { return };
    for number in numbers {
        let start = (number as usize - 1) * size;
        let end = (start + size).min(change.payload.len());
        let Some(bytes) = change.payload.get(start..end) else { continue };
        let fragment = DataFrag {
            reader,
            writer,
            sequence: change.sequence,
            first_fragment: FragmentNumber(number),
            fragment_count: 1,
            fragment_size: cx.fragment_size,
            sample_size,
            inline_qos: None,
            is_key: change.is_key(),
            bytes,
        };
        send_message(cx, destination, to, |message| {
            if let Some(time) = change.timestamp {
                message.info_timestamp(time);
            }
            message.data_frag(&fragment, &change.inline());
        });
    }
}

/// Says that `[start, end)` will never come.
fn gap(reader: EntityId, writer: EntityId, start: SequenceNumber, end: SequenceNumber) -> Gap {
    Gap { reader, writer, start, list: SequenceNumberSet::empty(end) }
}

/// As few gaps as name exactly the numbers in `gone` (ascending).
fn gaps(reader: EntityId, writer: EntityId, gone: &[SequenceNumber]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    for sequence in gone {
        match gaps.last_mut() {
            Some(last) if last.list.bit_count() == 0 && last.list.base() == *sequence => {
                last.list = SequenceNumberSet::empty(sequence.next());
            }
            Some(last) => {
                if !last.list.insert(*sequence) {
                    gaps.push(gap(reader, writer, *sequence, sequence.next()));
                }
            }
            None => gaps.push(gap(reader, writer, *sequence, sequence.next())),
        }
    }
    gaps
}

/// Whether a count is later than the last one seen, on a counter that wraps.
pub(crate) fn is_newer(count: u32, seen: Option<u32>) -> bool {
    seen.is_none_or(|seen| count.wrapping_sub(seen).cast_signed() > 0)
}
