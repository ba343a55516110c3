//! The reader side of the protocol: one reader, its matched writers and what the application has not taken yet
//! (RTPS 8.4.10 to 8.4.12).
//!
//! A best-effort reader hands over what arrives in ascending order and counts what it skipped. A reliable one hands
//! over every number in turn: what arrives early waits in the [`Backlog`](backlog::Backlog) until what is missing has
//! been repaired ([`crate::writer`] tells how), or its writer says that it will never come.

mod backlog;
mod inbox;
mod instances;
mod ownership;
mod proxy;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use units::Instant;

use self::backlog::{Backlog, Early};
use self::inbox::Inbox;
use self::proxy::WriterProxy;
use crate::cdr::KeyHash;
use crate::discovery::restart::OVERTAKEN_MAX;
use crate::filter::Filter;
use crate::fragment::Partial;
use crate::history::RawSample;
use crate::message::{Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, Payload, StatusInfo, is_newer};
use crate::outbox::Context;
use crate::parameter::ParameterList;
use crate::qos::{Durability, Qos, Reliability};
use crate::{
    EndpointStatus, EntityId, Guid, Limits, Locator, RejectReason, SequenceNumber, VENDOR_STILLWATT,
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

/// One local reader.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) entity: EntityId,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) qos: Qos,
    key_hasher: Option<KeyHasher>,
    inbox: Inbox,
    writers: BTreeMap<Guid, WriterProxy>,
    /// The most acknowledgements that a writer got which is no longer matched: when it is matched again, they go on from
    /// here, so that it does not take them for old ones.
    acknacks: u32,
    /// Not later than the next knock at a writer that has not answered.
    knock_at: Option<Instant>,
}

/// Where a submessage came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) writer: Guid,
    pub(crate) timestamp: Option<WireTime>,
    pub(crate) from: Locator,
}

impl Reader {
    pub(crate) fn new(
        entity: EntityId,
        topic: String,
        type_name: String,
        qos: Qos,
        key_hasher: Option<KeyHasher>,
        limits: &Limits,
    ) -> Self {
        let inbox = Inbox::new(entity, &qos, key_hasher.is_some(), limits);
        Self {
            entity,
            topic,
            type_name,
            qos,
            key_hasher,
            inbox,
            writers: BTreeMap::new(),
            acknacks: 0,
            knock_at: None,
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
        [self.knock_at, self.inbox.deadline()].into_iter().flatten().min()
    }

    /// When its QoS has work, which every sample may change; costs no more than a look.
    pub(crate) fn policy_deadline(&self) -> Option<Instant> {
        self.inbox.deadline()
    }

    /// What it has counted.
    pub(crate) fn status(&self) -> &EndpointStatus {
        &self.inbox.status
    }

    pub(crate) fn status_mut(&mut self) -> &mut EndpointStatus {
        &mut self.inbox.status
    }

    /// Samples waiting, for introspection.
    pub(crate) fn history_len(&self) -> usize {
        self.inbox.len()
    }

    /// Samples that will never come, for the application's status.
    pub(crate) fn lost(&self) -> u64 {
        self.inbox.status.samples_lost
    }

    /// Samples that its filter did not let pass.
    pub(crate) fn filtered(&self) -> u64 {
        self.inbox.status.samples_filtered
    }

    /// See [`crate::Participant::set_filter`].
    pub(crate) fn set_filter(&mut self, filter: Option<Filter>) {
        self.inbox.set_filter(filter);
    }

    /// Whether a sample arrived since the last time this was asked.
    pub(crate) fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.inbox.has_news)
    }

    /// Takes a sample's buffer back.
    pub(crate) fn recycle(&mut self, payload: Vec<u8>) {
        self.inbox.give(payload);
    }

    /// Takes the oldest sample; what a full history kept waiting moves up, and its writers are told.
    pub(crate) fn take(&mut self, cx: &mut Context<'_>) -> Option<RawSample> {
        let sample = self.inbox.take(cx);
        if self.inbox.is_stalled {
            self.resume(cx);
        }
        sample
    }

    fn resume(&mut self, cx: &mut Context<'_>) {
        self.inbox.is_stalled = false;
        for proxy in self.writers.values_mut() {
            drain(proxy, &mut self.inbox, cx);
        }
        self.inbox.is_stalled |= self.inbox.is_full();
        if !self.inbox.is_stalled {
            self.writers.values_mut().filter(|proxy| proxy.reliable).for_each(|proxy| proxy.acknowledge(cx));
        }
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
        let service = self.service(qos);
        let start = (self.acknacks, cx.now);
        let mut proxy = WriterProxy::new(guid, self.entity, locators, vendor, service, start);
        // Most participants never speak for a writer: whoever does will say so.
        if proxy.reliable && self.entity != EntityId::PARTICIPANT_MESSAGE_READER {
            proxy.knock(cx);
        }
        self.note_knock(proxy.knock_at);
        proxy.lifespan = qos.lifespan;
        self.inbox.note_writer(guid, qos.ownership_strength);
        self.writers.insert(guid, proxy);
    }

    /// What both sides can do: whether losses are repaired, and whether the past is wanted.
    fn service(&self, qos: &Qos) -> (bool, bool) {
        let is_reliable = |qos: &Qos| qos.reliability == Reliability::Reliable;
        let is_durable = |qos: &Qos| qos.durability >= Durability::TransientLocal;
        (is_reliable(&self.qos) && is_reliable(qos), is_durable(&self.qos) && is_durable(qos))
    }

    /// Takes a matched writer's new address; false when it now offers another service, so that it has to be matched
    /// anew.
    pub(crate) fn readdress_writer(&mut self, guid: Guid, locators: &[Locator], qos: &Qos) -> bool {
        let service = self.service(qos);
        let Some(proxy) = self.writers.get_mut(&guid) else { return false };
        if (proxy.reliable, proxy.durable) != service {
            return false;
        }
        proxy.readdress(locators);
        proxy.lifespan = qos.lifespan;
        self.inbox.note_writer(guid, qos.ownership_strength);
        true
    }

    /// Notes whether a matched writer keeps its liveliness lease. One that does not owns nothing, and
    /// instances without another writer end; what it writes next makes it their writer again.
    pub(crate) fn note_alive(&mut self, guid: Guid, is_alive: bool) {
        if let Some(proxy) = self.writers.get_mut(&guid) {
            proxy.is_alive = is_alive;
            if !is_alive {
                self.inbox.release_writer(guid);
            }
        }
    }

    /// Stops receiving from a remote writer; true when it was matched. Instances without another writer end.
    pub(crate) fn unmatch_writer(&mut self, guid: Guid) -> bool {
        self.inbox.forget_writer(guid);
        let Some(proxy) = self.writers.remove(&guid) else { return false };
        self.acknacks = self.acknacks.max(proxy.count());
        true
    }

    /// Whether a heartbeat shows that its writer has begun anew: see [`crate::discovery::restart`].
    pub(crate) fn is_anew(&self, now: Instant, writer: Guid, heartbeat: &Heartbeat) -> bool {
        let proxy = self.writers.get(&writer).filter(|proxy| proxy.reliable);
        proxy.is_some_and(|proxy| proxy.is_backwards(heartbeat) && now >= proxy.heartbeat_at + OVERTAKEN_MAX)
    }

    /// Asks one writer what it has.
    pub(crate) fn knock(&mut self, cx: &mut Context<'_>, writer: Guid) {
        if let Some(proxy) = self.writers.get_mut(&writer).filter(|proxy| proxy.reliable) {
            proxy.knock(cx);
            let at = proxy.knock_at;
            self.note_knock(at);
        }
    }

    /// Knocks again where nobody answered, and does what the QoS asks for at this time.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if self.inbox.deadline().is_some_and(|at| at <= cx.now) {
            self.inbox.handle_timeout(cx);
            if self.inbox.is_stalled {
                self.resume(cx);
            }
        }
        if self.knock_at.is_some_and(|at| at <= cx.now) {
            for proxy in self.writers.values_mut() {
                if proxy.knock_at.is_some_and(|at| at <= cx.now) {
                    proxy.knock(cx);
                }
            }
            self.knock_at = self.writers.values().filter_map(|writer| writer.knock_at).min();
        }
    }

    /// Notes when a writer is to be knocked at again.
    fn note_knock(&mut self, at: Option<Instant>) {
        self.knock_at = [self.knock_at, at].into_iter().flatten().min();
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
        let mut payload = self.inbox.buffer();
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
            self.inbox.reject(cx, origin.writer, RejectReason::TooLarge);
            return;
        }
        if !admit_partial(proxy, &mut self.inbox, cx, frag.sequence)
            || !self.make_room(cx, origin.writer, frag.sequence, Partial::cost_of(frag))
        {
            return;
        }
        let Some(proxy) = self.writers.get_mut(&origin.writer) else { return };
        let Some(partial) = proxy.backlog.add_fragments(frag, origin.from) else { return };
        let is_key = partial.is_key();
        let origin = Origin { from: partial.origin(), ..origin };
        let payload = partial.assemble(self.inbox.buffer());
        self.accept(cx, origin, frag.sequence, frag.inline_qos.as_ref(), is_key, payload);
    }

    /// Makes room for `cost` more of what cannot be handed over yet; false when there is none.
    ///
    /// The writer of which most is held gives way, its highest number first, so that one writer cannot crowd out the
    /// others; of the asking writer only numbers above `sequence` do. What a reliable writer loses here it repairs.
    fn make_room(&mut self, cx: &Context<'_>, writer: Guid, sequence: SequenceNumber, cost: usize) -> bool {
        loop {
            let held: usize = self.writers.values().map(|proxy| proxy.backlog.cost()).sum();
            if held.saturating_add(cost) <= cx.limits.partial_bytes_max {
                return true;
            }
            let largest = self.writers.iter_mut().max_by_key(|(_, proxy)| proxy.backlog.cost());
            let Some((guid, proxy)) = largest else { return false };
            let keep = if *guid == writer { sequence } else { SequenceNumber::ZERO };
            if !proxy.backlog.drop_last(keep) {
                return false;
            }
        }
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
        // A value that ends its instance is handed over first.
        let then = if is_key { StatusInfo::default() } else { core::mem::take(&mut status) };
        let instance = self.key_hasher.as_ref().and_then(|hasher| {
            inline.and_then(ParameterList::key_hash).map(KeyHash).or_else(|| (hasher.0)(&payload, is_key))
        });
        if self.key_hasher.is_some() && instance.is_none() {
            // Neither a sample nor a key of our type: it belongs to no instance and may not displace one.
            self.inbox.reject(cx, origin.writer, RejectReason::NoKey);
            self.inbox.give(payload);
            self.reject(cx, origin.writer, sequence);
            return;
        }
        let (Origin { writer, timestamp, from }, early_max) = (origin, cx.limits.reorder_max);
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        let expires_at = proxy.expires_at(cx.now).filter(|_| !is_key);
        let sample =
            RawSample { writer, sequence, timestamp, instance, status, from, payload, expires_at, then };
        if !proxy.reliable {
            deliver_best_effort(proxy, &mut self.inbox, cx, sample);
        } else if proxy.is_synchronised && sequence == proxy.next {
            match self.inbox.deliver(cx, sample) {
                Ok(()) => {
                    proxy.advance(sequence.next());
                    drain(proxy, &mut self.inbox, cx);
                }
                Err(refused) => hold(proxy, refused),
            }
        } else if proxy.backlog.early_len() < early_max
            && self.make_room(cx, writer, sequence, Backlog::cost_of(sample.payload.capacity()))
        {
            if let Some(proxy) = self.writers.get_mut(&writer) {
                hold(proxy, sample);
            }
        } else {
            // Asked for again by the next heartbeat.
            self.inbox.give(sample.payload);
        }
    }

    /// A sample that is of no use has arrived nevertheless: it is not asked for again.
    fn reject(&mut self, cx: &mut Context<'_>, writer: Guid, sequence: SequenceNumber) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable {
            give_up_below(proxy, &mut self.inbox, cx, sequence);
            proxy.advance(sequence.next());
        } else if sequence == proxy.next || proxy.backlog.early_len() < cx.limits.reorder_max {
            proxy.backlog.drop_partial(sequence);
            proxy.backlog.mark_irrelevant(sequence);
            drain(proxy, &mut self.inbox, cx);
        }
    }

    /// Handles a heartbeat: learns what the writer has, and asks for what is missing.
    pub(crate) fn handle_heartbeat(&mut self, cx: &mut Context<'_>, writer: Guid, heartbeat: &Heartbeat) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable || !is_newer(heartbeat.count, proxy.heartbeat_count) {
            return;
        }
        if !proxy.is_backwards(heartbeat) {
            proxy.heartbeat_at = cx.now;
        }
        proxy.heartbeat_count = Some(heartbeat.count);
        if !proxy.is_synchronised {
            let is_ours = proxy.vendor == VENDOR_STILLWATT;
            if !proxy.durable && is_ours && heartbeat.reader != self.entity {
                // Our own writers say where a reader's data begins, by a gap up to there unless it is the first
                // sample, in a heartbeat for this reader: ask for that.
                if cx.now >= proxy.knocked_at + cx.timing.heartbeat_period {
                    proxy.knock(cx);
                    let at = proxy.knock_at;
                    self.note_knock(at);
                }
                return;
            }
            proxy.synchronise();
            let start = if proxy.durable {
                heartbeat.first
            } else if is_ours {
                SequenceNumber::FIRST
            } else {
                // Asking from the writer's first number would be exact with Fast DDS, which answers with gaps, but
                // Cyclone DDS then sends a volatile reader all that its history still has. The price: a sample that is
                // written right after matching, and lost before the first heartbeat, is taken for the past.
                proxy.backlog.first_early().unwrap_or_else(|| heartbeat.last.next())
            };
            skip_to(proxy, &mut self.inbox, cx, start, true);
        }
        if heartbeat.first > proxy.next {
            skip_to(proxy, &mut self.inbox, cx, heartbeat.first, false);
        } else {
            drain(proxy, &mut self.inbox, cx);
        }
        proxy.answer(cx, heartbeat, self.inbox.is_full());
    }

    /// Handles a fragment heartbeat: asks for missing fragments.
    pub(crate) fn handle_heartbeat_frag(
        &mut self,
        cx: &mut Context<'_>,
        writer: Guid,
        heartbeat: &HeartbeatFrag,
    ) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable || !is_newer(heartbeat.count, proxy.heartbeat_frag_count) {
            return;
        }
        proxy.heartbeat_frag_count = Some(heartbeat.count);
        proxy.ask_fragments(cx, heartbeat.sequence, heartbeat.last_fragment);
    }

    /// Handles a gap: numbers that will never come.
    pub(crate) fn handle_gap(&mut self, cx: &mut Context<'_>, writer: Guid, gap: &Gap) {
        let Some(proxy) = self.writers.get_mut(&writer) else { return };
        if !proxy.reliable {
            return;
        }
        let end = gap.list.base();
        if !proxy.is_synchronised && gap.start <= SequenceNumber::FIRST {
            proxy.synchronise();
            proxy.next = SequenceNumber::FIRST;
        }
        // However wide the gap, no more numbers are kept than may be early.
        let room = |proxy: &WriterProxy| cx.limits.reorder_max.saturating_sub(proxy.backlog.early_len());
        if gap.start <= proxy.next && proxy.is_synchronised {
            if end > proxy.next {
                skip_to(proxy, &mut self.inbox, cx, end, true);
            }
        } else {
            for number in (gap.start.0..end.0).take(room(proxy)) {
                proxy.backlog.mark_irrelevant(SequenceNumber(number));
            }
        }
        let (next, room) = (proxy.next, cx.limits.reorder_max.saturating_sub(proxy.backlog.early_len()));
        for number in gap.list.iter().filter(|number| *number >= next).take(room) {
            proxy.backlog.mark_irrelevant(number);
        }
        drain(proxy, &mut self.inbox, cx);
    }
}

/// Keeps a complete sample for later.
fn hold(proxy: &mut WriterProxy, sample: RawSample) {
    proxy.backlog.drop_partial(sample.sequence);
    proxy.backlog.hold(sample);
}

/// Whether fragments of this sample may be kept: it is one of the [`Limits::partial_samples_max`] that are.
///
/// With too many, the highest number of a reliable writer gives way, for it is repaired later, and the lowest of a
/// best-effort writer, for it is hopeless.
fn admit_partial(
    proxy: &mut WriterProxy,
    inbox: &mut Inbox,
    cx: &mut Context<'_>,
    sequence: SequenceNumber,
) -> bool {
    let is_full = proxy.backlog.partial_len() >= cx.limits.partial_samples_max;
    if proxy.backlog.is_partial(sequence) || !is_full {
        return true;
    }
    let Some((lowest, highest)) = proxy.backlog.partial_ends() else { return false };
    if proxy.reliable && sequence < highest {
        proxy.backlog.drop_partial(highest);
        true
    } else if !proxy.reliable && sequence > lowest {
        give_up_below(proxy, inbox, cx, lowest.next());
        true
    } else {
        false
    }
}

/// What a best-effort writer has not delivered below `end` will not come any more: in order or not at all.
fn give_up_below(proxy: &mut WriterProxy, inbox: &mut Inbox, cx: &mut Context<'_>, end: SequenceNumber) {
    let next = proxy.next;
    let incomplete = proxy.advance(end);
    // Before the first sample nothing is known to be missing but what arrived in part.
    let lost = if next == SequenceNumber::ZERO { incomplete } else { end.0.saturating_sub(next.0) };
    inbox.lose(cx, lost);
}

fn deliver_best_effort(proxy: &mut WriterProxy, inbox: &mut Inbox, cx: &mut Context<'_>, sample: RawSample) {
    give_up_below(proxy, inbox, cx, sample.sequence);
    proxy.advance(sample.sequence.next());
    if let Err(refused) = inbox.deliver(cx, sample) {
        inbox.reject(cx, refused.writer, RejectReason::Samples);
        inbox.lose(cx, 1);
        inbox.give(refused.payload);
        // Nothing waits for room.
        inbox.is_stalled = false;
    }
}

/// Delivers what has become deliverable.
fn drain(proxy: &mut WriterProxy, inbox: &mut Inbox, cx: &mut Context<'_>) {
    if !proxy.is_synchronised {
        return;
    }
    let mut next = proxy.next;
    while let Some(early) = proxy.backlog.take(next) {
        if let Early::Sample(sample) = early
            && let Err(refused) = inbox.deliver(cx, sample)
        {
            proxy.backlog.hold(refused);
            break;
        }
        next = next.next();
    }
    proxy.advance(next);
}

/// Everything below `end` that has not arrived will not come; counts it as lost unless `irrelevant`.
///
/// Stops at a sample that a full history refuses: the rest is skipped when the writer says so again.
fn skip_to(
    proxy: &mut WriterProxy,
    inbox: &mut Inbox,
    cx: &mut Context<'_>,
    end: SequenceNumber,
    irrelevant: bool,
) {
    let (mut next, mut missing, mut is_refused) = (proxy.next, 0, false);
    while !is_refused && let Some((number, early)) = proxy.backlog.take_first_below(end) {
        missing += number.0.saturating_sub(next.0);
        next = number.next();
        if let Early::Sample(sample) = early
            && let Err(refused) = inbox.deliver(cx, sample)
        {
            proxy.backlog.hold(refused);
            (next, is_refused) = (number, true);
        }
    }
    if !is_refused {
        missing += end.0.saturating_sub(next.0);
        next = next.max(end);
    }
    proxy.advance(next);
    if !irrelevant {
        inbox.lose(cx, missing);
    }
    drain(proxy, inbox, cx);
}
