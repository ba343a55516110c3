//! The reader side of the protocol: one reader, its matched writers and what the application has not taken yet
//! (RTPS 8.4.10 to 8.4.12).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use units::Instant;

use crate::cdr::KeyHash;
use crate::fragment::Partial;
use crate::history::{RawSample, ReaderHistory, Refused};
use crate::message::{
    AckNack, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, MessageWriter, NackFrag, Payload, StatusInfo,
};
use crate::outbox::Context;
use crate::parameter::ParameterList;
use crate::qos::{Durability, Qos, Reliability};
use crate::writer::is_newer;
use crate::{
    EntityId, FragmentNumber, Guid, Limits, Locator, SequenceNumber, SequenceNumberSet, VENDOR_STILLWATT,
    VendorId, WireTime,
};

/// Computes the instance key of a serialized sample (`false`) or serialized key (`true`).
#[derive(Clone)]
pub struct KeyHasher(pub Arc<HashKey>);

/// The function inside a [`KeyHasher`]: `None` when the bytes are not a sample (or key) of the type.
pub type HashKey = dyn Fn(&[u8], bool) -> Option<KeyHash> + Send + Sync;

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher")
    }
}

/// What is known of one sequence number above the next expected one.
#[derive(Debug)]
enum Pending {
    /// Arrived early.
    Sample(RawSample),
    /// Will never come.
    Irrelevant,
}

/// A matched remote writer.
#[derive(Debug)]
struct WriterProxy {
    locators: Vec<Locator>,
    vendor: VendorId,
    /// Both sides are reliable.
    reliable: bool,
    /// Both sides are at least transient-local: the past is wanted.
    durable: bool,
    /// Whether the start of our data is known; until then a reliable reader holds samples back.
    is_synchronised: bool,
    /// Everything before has been delivered or given up; zero before the first best-effort sample.
    next: SequenceNumber,
    pending: BTreeMap<SequenceNumber, Pending>,
    partial: BTreeMap<SequenceNumber, Partial>,
    heartbeat_count: Option<u32>,
    heartbeat_frag_count: Option<u32>,
    count: u32,
    /// The last request: its lowest missing number and when.
    asked: Option<(SequenceNumber, Instant)>,
    /// When to knock again at a writer that has not said where our data begins, and how often we did.
    knock_at: Option<Instant>,
    knocked_at: Instant,
    knocks: u32,
}

/// One local reader.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) entity: EntityId,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) qos: Qos,
    key_hasher: Option<KeyHasher>,
    history: ReaderHistory,
    writers: BTreeMap<Guid, WriterProxy>,
    partial_bytes: usize,
    /// Samples that will never come, for the application's status.
    pub(crate) lost: u64,
    /// A full keep-all history holds samples back.
    is_stalled: bool,
    /// Set when a sample arrived since the machine last told the application.
    pub(crate) has_news: bool,
}

/// Where a submessage came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) writer: Guid,
    pub(crate) timestamp: Option<WireTime>,
    pub(crate) from: Locator,
}

/// Knocks before giving up until the writer speaks by itself.
const KNOCKS_MAX: u32 = 8;

impl Reader {
    pub(crate) fn new(
        entity: EntityId,
        topic: String,
        type_name: String,
        qos: Qos,
        key_hasher: Option<KeyHasher>,
        limits: &Limits,
    ) -> Self {
        Self {
            entity,
            topic,
            type_name,
            history: ReaderHistory::new(&qos, limits),
            qos,
            key_hasher,
            writers: BTreeMap::new(),
            partial_bytes: 0,
            lost: 0,
            is_stalled: false,
            has_news: false,
        }
    }

    pub(crate) fn matched(&self) -> impl Iterator<Item = Guid> + '_ {
        self.writers.keys().copied()
    }

    pub(crate) fn is_matched_with(&self, writer: Guid) -> bool {
        self.writers.contains_key(&writer)
    }

    /// When [`Reader::handle_timeout`] has work.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.writers.values().filter_map(|writer| writer.knock_at).min()
    }

    /// Takes the oldest sample; what a full history kept waiting moves up, and its writers are told.
    pub(crate) fn take(&mut self, cx: &mut Context<'_>) -> Option<RawSample> {
        let sample = self.history.pop();
        if self.is_stalled {
            self.resume(cx);
        }
        sample
    }

    fn resume(&mut self, cx: &mut Context<'_>) {
        let entity = self.entity;
        for guid in self.writers.keys().copied().collect::<Vec<_>>() {
            self.drain(cx, guid);
        }
        self.is_stalled = self.history.is_full();
        if !self.is_stalled {
            for (guid, proxy) in self.writers.iter_mut().filter(|(_, proxy)| proxy.reliable) {
                proxy.send_acknack(cx, entity, *guid, SequenceNumberSet::empty(proxy.next), true);
            }
        }
    }

    /// Takes a sample's buffer back.
    pub(crate) fn recycle(&mut self, payload: Vec<u8>) {
        self.history.buffers().give(payload);
    }

    /// Samples waiting, for introspection.
    pub(crate) fn history_len(&self) -> usize {
        self.history.len()
    }

    /// Starts receiving from a remote writer.
    pub(crate) fn match_writer(
        &mut self,
        cx: &mut Context<'_>,
        guid: Guid,
        locators: Vec<Locator>,
        vendor: VendorId,
        qos: &Qos,
    ) {
        let reliable =
            self.qos.reliability == Reliability::Reliable && qos.reliability == Reliability::Reliable;
        let durable =
            self.qos.durability >= Durability::TransientLocal && qos.durability >= Durability::TransientLocal;
        let mut proxy = WriterProxy {
            locators,
            vendor,
            reliable,
            durable,
            is_synchronised: !reliable,
            next: SequenceNumber::ZERO,
            pending: BTreeMap::new(),
            partial: BTreeMap::new(),
            heartbeat_count: None,
            heartbeat_frag_count: None,
            count: 0,
            asked: None,
            knock_at: None,
            knocked_at: cx.now,
            knocks: 0,
        };
        if reliable {
            proxy.knock(cx, self.entity, guid);
        }
        self.unmatch_writer(guid);
        self.writers.insert(guid, proxy);
    }

    /// Stops receiving from a remote writer; true when it was matched.
    pub(crate) fn unmatch_writer(&mut self, guid: Guid) -> bool {
        let Some(proxy) = self.writers.remove(&guid) else { return false };
        self.partial_bytes -= proxy.partial.values().map(Partial::bytes).sum::<usize>();
        true
    }

    /// Knocks again where nobody answered.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let entity = self.entity;
        for (guid, proxy) in &mut self.writers {
            if proxy.knock_at.is_some_and(|at| at <= cx.now) {
                proxy.knock(cx, entity, *guid);
            }
        }
    }

    /// Handles a sample.
    pub(crate) fn handle_data(&mut self, cx: &mut Context<'_>, origin: Origin, data: &Data<'_>) {
        let Some(proxy) = self.writers.get(&origin.writer) else { return };
        if !proxy.wants(data.sequence, cx) {
            return;
        }
        let (bytes, is_key) = match data.payload {
            Payload::Data(bytes) => (bytes, false),
            Payload::Key(bytes) => (bytes, true),
            Payload::None => (&[][..], true),
        };
        let mut payload = self.history.buffers().take();
        payload.extend_from_slice(bytes);
        self.accept(cx, origin, data.sequence, data.inline_qos.as_ref(), is_key, payload);
    }

    /// Handles fragments of a sample.
    pub(crate) fn handle_data_frag(&mut self, cx: &mut Context<'_>, origin: Origin, frag: &DataFrag<'_>) {
        let Some(proxy) = self.writers.get_mut(&origin.writer) else { return };
        if !proxy.wants(frag.sequence, cx) {
            return;
        }
        if frag.sample_size as usize > cx.limits.sample_bytes_max {
            cx.statistics.samples_rejected += 1;
            return;
        }
        if !proxy.partial.contains_key(&frag.sequence) && proxy.partial.len() >= cx.limits.partial_samples_max
        {
            // A reliable writer repairs what is dropped here; the oldest of a best-effort one is hopeless.
            let oldest = proxy.partial.keys().next().copied();
            let victim = if proxy.reliable { proxy.partial.keys().next_back().copied() } else { oldest };
            if let Some(partial) = victim.and_then(|victim| proxy.partial.remove(&victim)) {
                self.partial_bytes -= partial.bytes();
                if !proxy.reliable {
                    self.lost += 1;
                    cx.statistics.samples_lost += 1;
                }
            }
        }
        let partial = proxy.partial.entry(frag.sequence).or_insert_with(|| Partial::new(frag, origin.from));
        partial.note_origin(origin.from);
        let budget = cx.limits.partial_bytes_max.saturating_sub(self.partial_bytes);
        self.partial_bytes += partial.insert(frag, budget);
        if !partial.is_complete() {
            return;
        }
        let Some(partial) = proxy.partial.remove(&frag.sequence) else { return };
        self.partial_bytes -= partial.bytes();
        let is_key = partial.is_key();
        let origin = Origin { from: partial.origin(), ..origin };
        let payload = partial.assemble(self.history.buffers().take());
        self.accept(cx, origin, frag.sequence, frag.inline_qos.as_ref(), is_key, payload);
    }

    /// A complete sample: in order to the application, early ones aside.
    fn accept(
        &mut self,
        cx: &mut Context<'_>,
        origin: Origin,
        sequence: SequenceNumber,
        inline: Option<&ParameterList<'_>>,
        is_key: bool,
        payload: Vec<u8>,
    ) {
        let mut status = inline.map(ParameterList::status_info).unwrap_or_default();
        if is_key && !status.unregistered {
            status.disposed = true;
        }
        if !is_key {
            status = StatusInfo::default();
        }
        let instance = self.key_hasher.as_ref().and_then(|hasher| {
            inline.and_then(ParameterList::key_hash).map(KeyHash).or_else(|| (hasher.0)(&payload, is_key))
        });
        let sample = RawSample {
            writer: origin.writer,
            sequence,
            timestamp: origin.timestamp,
            instance,
            status,
            from: origin.from,
            payload,
        };
        let Some(proxy) = self.writers.get_mut(&origin.writer) else { return };
        if !proxy.reliable {
            self.deliver_best_effort(cx, sample);
            return;
        }
        if proxy.is_synchronised && sequence == proxy.next {
            proxy.next = sequence.next();
            if let Some(refused) = deliver(&mut self.history, &mut self.has_news, cx, sample) {
                self.is_stalled = true;
                proxy.next = sequence;
                proxy.pending.insert(sequence, Pending::Sample(refused));
                return;
            }
        } else if proxy.pending.len() < cx.limits.reorder_max {
            proxy.pending.insert(sequence, Pending::Sample(sample));
        } else {
            // Asked for again by the next heartbeat.
            self.history.buffers().give(sample.payload);
            return;
        }
        self.drain(cx, origin.writer);
    }

    fn deliver_best_effort(&mut self, cx: &mut Context<'_>, sample: RawSample) {
        let Some(proxy) = self.writers.get_mut(&sample.writer) else { return };
        if proxy.next > SequenceNumber::ZERO {
            let skipped = sample.sequence.0 - proxy.next.0;
            self.lost += skipped;
            cx.statistics.samples_lost += skipped;
        }
        proxy.next = sample.sequence.next();
        // Incomplete samples before this one can no longer be delivered in order.
        let rest = proxy.partial.split_off(&proxy.next);
        let dropped = core::mem::replace(&mut proxy.partial, rest);
        self.partial_bytes -= dropped.values().map(Partial::bytes).sum::<usize>();
        if let Some(refused) = deliver(&mut self.history, &mut self.has_news, cx, sample) {
            self.lost += 1;
            cx.statistics.samples_lost += 1;
            self.history.buffers().give(refused.payload);
        }
    }

    /// Delivers what has become deliverable.
    fn drain(&mut self, cx: &mut Context<'_>, writer: Guid) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.is_synchronised {
            return;
        }
        while let Some(pending) = proxy.pending.remove(&proxy.next) {
            if let Pending::Sample(sample) = pending
                && let Some(refused) = deliver(&mut self.history, &mut self.has_news, cx, sample)
            {
                self.is_stalled = true;
                proxy.pending.insert(proxy.next, Pending::Sample(refused));
                break;
            }
            proxy.next = proxy.next.next();
        }
    }

    /// Everything below `first` that has not arrived will not come; counts it as lost unless `irrelevant`.
    fn skip_to(&mut self, cx: &mut Context<'_>, writer: Guid, first: SequenceNumber, irrelevant: bool) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        let rest = proxy.partial.split_off(&first);
        let dropped = core::mem::replace(&mut proxy.partial, rest);
        self.partial_bytes -= dropped.values().map(Partial::bytes).sum::<usize>();
        let rest = proxy.pending.split_off(&first);
        let early = core::mem::replace(&mut proxy.pending, rest);
        let mut missing = first.0.saturating_sub(proxy.next.0).saturating_sub(early.len() as u64);
        for pending in early.into_values() {
            if let Pending::Sample(sample) = pending
                && let Some(refused) = deliver(&mut self.history, &mut self.has_news, cx, sample)
            {
                missing += 1;
                self.history.buffers().give(refused.payload);
            }
        }
        if !irrelevant {
            self.lost += missing;
            cx.statistics.samples_lost += missing;
        }
        proxy.next = proxy.next.max(first);
        self.drain(cx, writer);
    }

    /// Handles a heartbeat: learns what the writer has, and asks for what is missing.
    pub(crate) fn handle_heartbeat(&mut self, cx: &mut Context<'_>, writer: Guid, heartbeat: &Heartbeat) {
        let entity = self.entity;
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable || !is_newer(heartbeat.count, proxy.heartbeat_count) {
            return;
        }
        proxy.heartbeat_count = Some(heartbeat.count);
        if !proxy.is_synchronised {
            let is_ours = proxy.vendor == VENDOR_STILLWATT;
            if !proxy.durable && is_ours && heartbeat.reader != entity {
                // Our own writers say where a reader's data begins, by a gap up to there unless it is the first
                // sample, in a heartbeat for this reader: ask for that.
                if cx.now >= proxy.knocked_at + cx.timing.heartbeat_period {
                    proxy.knock(cx, entity, writer);
                }
                return;
            }
            proxy.is_synchronised = true;
            proxy.knock_at = None;
            let earliest = proxy.pending.keys().next().copied();
            let start = if proxy.durable {
                heartbeat.first
            } else if is_ours {
                SequenceNumber::FIRST
            } else {
                earliest.unwrap_or_else(|| heartbeat.last.next())
            };
            self.skip_to(cx, writer, start, true);
        }
        if self.writers.get(&writer).is_some_and(|proxy| heartbeat.first > proxy.next) {
            self.skip_to(cx, writer, heartbeat.first, false);
        } else {
            self.drain(cx, writer);
        }
        let is_full = self.history.is_full();
        if let Some(proxy) = self.writers.get_mut(&writer) {
            proxy.answer(cx, entity, writer, heartbeat, is_full);
        }
    }

    /// Handles a fragment heartbeat: asks for missing fragments.
    pub(crate) fn handle_heartbeat_frag(
        &mut self,
        cx: &mut Context<'_>,
        writer: Guid,
        heartbeat: &HeartbeatFrag,
    ) {
        let entity = self.entity;
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable || !is_newer(heartbeat.count, proxy.heartbeat_frag_count) {
            return;
        }
        proxy.heartbeat_frag_count = Some(heartbeat.count);
        proxy.ask_fragments(cx, entity, writer, heartbeat.sequence, heartbeat.last_fragment);
    }

    /// Handles a gap: numbers that will never come.
    pub(crate) fn handle_gap(&mut self, cx: &mut Context<'_>, writer: Guid, gap: &Gap) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable {
            return;
        }
        let end = gap.list.base();
        if !proxy.is_synchronised && gap.start <= SequenceNumber::FIRST {
            proxy.is_synchronised = true;
            proxy.knock_at = None;
            proxy.next = SequenceNumber::FIRST;
        }
        if gap.start <= proxy.next && proxy.is_synchronised {
            if end > proxy.next {
                self.skip_to(cx, writer, end, true);
            }
        } else {
            let room = cx.limits.reorder_max.saturating_sub(proxy.pending.len());
            for number in (gap.start.0..end.0).take(room) {
                proxy.pending.entry(SequenceNumber(number)).or_insert(Pending::Irrelevant);
            }
        }
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        let next = proxy.next;
        for number in gap.list.iter().filter(|number| *number >= next) {
            if proxy.pending.len() < cx.limits.reorder_max {
                proxy.pending.entry(number).or_insert(Pending::Irrelevant);
            }
        }
        self.drain(cx, writer);
    }
}

impl WriterProxy {
    /// Whether a sample with this number is news.
    fn wants(&self, sequence: SequenceNumber, cx: &mut Context<'_>) -> bool {
        let is_old = sequence < self.next;
        let is_known = is_old || self.pending.contains_key(&sequence);
        if is_known {
            cx.statistics.duplicates += 1;
        }
        !is_known
    }

    /// Asks a writer to say what it has: an acknowledgement of nothing that wants an answer.
    fn knock(&mut self, cx: &mut Context<'_>, reader: EntityId, writer: Guid) {
        self.knocks += 1;
        self.knocked_at = cx.now;
        self.knock_at = (self.knocks < KNOCKS_MAX)
            .then(|| cx.now + cx.timing.heartbeat_period * 2_u32.saturating_pow(self.knocks.min(7)));
        self.send_acknack(cx, reader, writer, SequenceNumberSet::empty(SequenceNumber::FIRST), false);
    }

    fn send_acknack(
        &mut self,
        cx: &mut Context<'_>,
        reader: EntityId,
        writer: Guid,
        missing: SequenceNumberSet,
        is_final: bool,
    ) {
        self.count = self.count.wrapping_add(1);
        let acknack = AckNack { reader, writer: writer.entity, missing, count: self.count, is_final };
        self.send(cx, writer, |message| message.ack_nack(&acknack));
    }

    fn send(&self, cx: &mut Context<'_>, writer: Guid, build: impl FnOnce(&mut MessageWriter<'_>)) {
        let mut datagram = cx.outbox.start();
        datagram.to.extend_from_slice(&self.locators);
        let mut message = MessageWriter::new(&mut datagram.bytes, cx.prefix);
        message.info_destination(writer.prefix);
        build(&mut message);
        cx.send(datagram);
    }

    /// Answers a heartbeat when it asks, or when something is missing that was not just asked for.
    ///
    /// A full history asks for nothing: the writer keeps what it has, which is the flow control of keep-all.
    fn answer(
        &mut self,
        cx: &mut Context<'_>,
        reader: EntityId,
        writer: Guid,
        heartbeat: &Heartbeat,
        is_full: bool,
    ) {
        let mut missing = SequenceNumberSet::empty(self.next);
        let mut partial = None;
        if !is_full {
            let end = heartbeat.last.0.min(self.next.0.saturating_add(SequenceNumberSet::SPAN_MAX - 1));
            for number in (self.next.0..=end).map(SequenceNumber) {
                if self.partial.contains_key(&number) {
                    partial = partial.or(Some(number));
                } else if !self.pending.contains_key(&number) {
                    missing.insert(number);
                }
            }
        }
        let is_missing = !missing.is_empty() || partial.is_some();
        let lowest = missing.iter().next().or(partial);
        let was_just_asked = self.asked.is_some_and(|(number, at)| {
            lowest.is_some_and(|lowest| lowest <= number) && cx.now < at + cx.timing.nack_suppression
        });
        if is_missing && !was_just_asked {
            self.asked = missing.iter().last().or(partial).map(|number| (number, cx.now));
        } else if heartbeat.is_final {
            return;
        } else if is_missing {
            missing = SequenceNumberSet::empty(self.next);
            partial = None;
        }
        self.send_acknack(cx, reader, writer, missing, true);
        if let Some(sequence) = partial {
            self.ask_fragments(cx, reader, writer, sequence, FragmentNumber(u32::MAX));
        }
    }

    fn ask_fragments(
        &mut self,
        cx: &mut Context<'_>,
        reader: EntityId,
        writer: Guid,
        sequence: SequenceNumber,
        last: FragmentNumber,
    ) {
        let Some(missing) = self.partial.get(&sequence).and_then(|partial| partial.missing(last)) else {
            return;
        };
        self.count = self.count.wrapping_add(1);
        let nack = NackFrag { reader, writer: writer.entity, sequence, missing, count: self.count };
        self.send(cx, writer, |message| message.nack_frag(&nack));
    }
}

/// Hands a sample to the history; gives it back when there is no room.
fn deliver(
    history: &mut ReaderHistory,
    has_news: &mut bool,
    cx: &mut Context<'_>,
    sample: RawSample,
) -> Option<RawSample> {
    match history.push(sample) {
        Ok(overwritten) => {
            cx.statistics.samples_overwritten += u64::from(overwritten);
            *has_news = true;
            None
        }
        Err((Refused::Full, sample)) => Some(sample),
        Err((Refused::Instances, sample)) => {
            cx.statistics.samples_rejected += 1;
            history.buffers().give(sample.payload);
            None
        }
    }
}
