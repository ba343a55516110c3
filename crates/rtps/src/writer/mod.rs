//! The writer side of the protocol: one writer, its history and its matched readers (RTPS 8.4.7 to 8.4.9).
//!
//! # How samples become reliable
//!
//! Reliability costs little when nothing is lost, and repair is driven by readers:
//!
//! 1. A sample goes once to every address that has a matched reader, together with a *heartbeat*: the numbers that the
//!    writer still has. It wants no answer (the *final* flag), but a reader that sees a hole asks for it at once.
//! 2. Every 64th sample, and a timer while a reader is behind ([`crate::Timing::heartbeat_period`], doubling while
//!    nothing changes), the heartbeat does want an answer. Readers then *acknowledge* what they have.
//! 3. An acknowledgement also names what is missing. The writer sends that again to this reader alone, or says by a
//!    *gap* that it does not exist any more. Fragments of large samples are asked for and sent again one by one. How
//!    much one reader can make the writer repeat is bounded by [`crate::Limits::repair_bytes_max`].
//! 4. A reader that has just matched *knocks*: it acknowledges nothing and asks where its data begins. The answer is a
//!    gap up to there, unless that is the first sample, and a heartbeat addressed to this reader.
//!
//! What every reliable reader has acknowledged is dropped, except by a durable writer, which keeps what its QoS says
//! for those that join later.

mod destinations;
mod outgoing;
mod proxy;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use self::destinations::destinations;
use self::outgoing::{Audience, Batch, Outgoing, gap, gaps};
pub(crate) use self::proxy::ReaderAddress;
use self::proxy::ReaderProxy;
use crate::cdr::KeyHash;
use crate::history::{Refused, WriterHistory};
use crate::message::{AckNack, Heartbeat, HeartbeatFrag, NackFrag, StatusInfo, is_newer};
use crate::outbox::Context;
use crate::qos::{Durability, History, Qos, Reliability};
use crate::{
    EntityId, FragmentNumber, Guid, GuidPrefix, Limits, Locator, SequenceNumber, SequenceNumberSet, WireTime,
};

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
    /// Each address that has a matched reader, once.
    destinations: Vec<Locator>,
    multicast_min: Option<usize>,
    /// Other ways to the readers of some participants.
    routes: BTreeMap<GuidPrefix, Locator>,
    heartbeat_count: u32,
    heartbeat_at: Option<Instant>,
    heartbeat_interval: Duration,
    since_question: u32,
}

/// What a reliable writer asks an answer for at the latest.
const SAMPLES_PER_QUESTION: u32 = 64;
/// What sending something again costs of a reader's credit besides its bytes.
const REPAIR_OVERHEAD: usize = 128;

impl Writer {
    pub(crate) fn new(
        entity: EntityId,
        topic: String,
        type_name: String,
        qos: Qos,
        limits: &Limits,
        multicast_min: Option<usize>,
    ) -> Self {
        Self {
            entity,
            topic,
            type_name,
            history: WriterHistory::new(&qos, limits),
            qos,
            last: SequenceNumber::ZERO,
            readers: Vec::new(),
            destinations: Vec::new(),
            multicast_min,
            routes: BTreeMap::new(),
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

    fn has_reliable_reader(&self) -> bool {
        self.readers.iter().any(|reader| reader.reliable)
    }

    /// Whether every change has been acknowledged by every reliable reader.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.readers.iter().filter(|reader| reader.reliable).all(|reader| reader.acknowledged >= self.last)
    }

    /// Samples kept, for introspection.
    pub(crate) fn history_len(&self) -> usize {
        self.history.len()
    }

    /// Whether a write may have to wait for acknowledgements.
    pub(crate) fn may_block(&self) -> bool {
        self.is_reliable() && self.qos.history == History::KeepAll
    }

    /// Whether a change of `instance` would be accepted now.
    pub(crate) fn check(&self, instance: Option<KeyHash>) -> Result<(), Refused> {
        if self.keeps_history() { self.history.check(instance) } else { Ok(()) }
    }

    fn keeps_history(&self) -> bool {
        self.is_durable() || (self.is_reliable() && self.has_reliable_reader())
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
            if !self.has_reliable_reader() {
                self.history.prune_ended(self.last);
            }
        }
        if self.destinations.is_empty() {
            return self.last;
        }
        let question = self.note_question(cx.now, cx.timing.heartbeat_period);
        let heartbeat = question.map(|asks| self.heartbeat(EntityId::UNKNOWN, asks));
        let audience = Audience { writer: self.entity, reader: None, to: &self.destinations };
        let change = Outgoing { sequence: self.last, instance, status, timestamp, payload };
        if change.is_fragmented(cx) {
            (1..=change.total(cx)).for_each(|number| audience.send_fragment(cx, &change, number));
            if let Some(heartbeat) = heartbeat {
                // The fragments may have overrun the receiver: ask at once what is missing.
                let asking = Heartbeat { is_final: false, ..heartbeat };
                audience.send(cx, |message| message.heartbeat(&asking));
            }
        } else {
            audience.send_whole(cx, &change, |message| {
                if let Some(heartbeat) = heartbeat {
                    message.heartbeat(&heartbeat);
                }
            });
        }
        self.last
    }

    /// Counts a sample; returns whether a heartbeat goes with it and whether it wants an answer.
    fn note_question(&mut self, now: Instant, period: Duration) -> Option<bool> {
        if !self.is_reliable() || !self.has_reliable_reader() {
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

    /// Starts sending to a remote reader.
    pub(crate) fn match_reader(
        &mut self,
        cx: &mut Context<'_>,
        guid: Guid,
        address: ReaderAddress,
        qos: &Qos,
    ) {
        self.unmatch_reader(guid);
        let reliable = self.serves_reliably(qos);
        let wants_past = self.is_durable() && qos.durability >= Durability::TransientLocal;
        let start = match self.history.first() {
            Some(first) if wants_past => first,
            _ => self.last.next(),
        };
        let index = self.readers.len();
        let address = ReaderAddress { route: self.routes.get(&guid.prefix).copied(), ..address };
        self.readers.push(ReaderProxy::new(guid, address, reliable, start));
        self.destinations = destinations(&self.readers, self.multicast_min);
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
        let Some(guid) = self.readers.get(index).map(|proxy| proxy.guid) else { return };
        let heartbeat = self.heartbeat(guid.entity, true);
        let Some(proxy) = self.readers.get(index) else { return };
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        audience.send(cx, |message| {
            if proxy.start > SequenceNumber::FIRST {
                message.gap(&gap(guid.entity, self.entity, SequenceNumber::FIRST, proxy.start));
            }
            message.heartbeat(&heartbeat);
        });
    }

    /// Sends what a best-effort reader of a durable writer missed, once.
    fn send_past(&mut self, cx: &mut Context<'_>, index: usize) {
        let Some(proxy) = self.readers.get(index) else { return };
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        for change in self.history.iter().map(Outgoing::from) {
            if change.is_fragmented(cx) {
                (1..=change.total(cx)).for_each(|number| audience.send_fragment(cx, &change, number));
            } else {
                audience.send_whole(cx, &change, |_| {});
            }
        }
    }

    /// Stops sending to a remote reader; true when it was matched.
    pub(crate) fn unmatch_reader(&mut self, guid: Guid) -> bool {
        let Some(index) = self.readers.iter().position(|reader| reader.guid == guid) else { return false };
        self.readers.remove(index);
        self.destinations = destinations(&self.readers, self.multicast_min);
        self.after_acknowledgement();
        true
    }

    /// Takes a matched reader's new address; false when it would now be served in another way, so that it has to be
    /// matched anew.
    pub(crate) fn readdress_reader(&mut self, guid: Guid, address: ReaderAddress, qos: &Qos) -> bool {
        let reliable = self.serves_reliably(qos);
        let Some(proxy) = self.readers.iter_mut().find(|proxy| proxy.guid == guid) else { return false };
        if proxy.reliable != reliable {
            return false;
        }
        let address = ReaderAddress { route: proxy.address.route, ..address };
        if proxy.address != address {
            proxy.address = address;
            self.destinations = destinations(&self.readers, self.multicast_min);
        }
        true
    }

    /// Sends to the readers of one participant by another way from now on, or by their own address again.
    pub(crate) fn set_route(&mut self, peer: GuidPrefix, route: Option<Locator>) {
        match route {
            Some(route) => self.routes.insert(peer, route),
            None => self.routes.remove(&peer),
        };
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.guid.prefix == peer) {
            proxy.address.route = route;
        }
        self.destinations = destinations(&self.readers, self.multicast_min);
    }

    fn serves_reliably(&self, qos: &Qos) -> bool {
        self.is_reliable() && qos.reliability == Reliability::Reliable
    }

    /// Forgets acknowledged changes when nobody joining later may want them, and stops the timer when all is well.
    fn after_acknowledgement(&mut self) {
        let reliable = self.readers.iter().filter(|reader| reader.reliable);
        let lowest = reliable.map(|reader| reader.acknowledged).min().unwrap_or(self.last);
        if self.is_durable() {
            self.history.prune_ended(lowest);
        } else {
            self.history.prune(lowest);
        }
        if lowest >= self.last {
            self.heartbeat_at = None;
            self.since_question = 0;
        }
    }

    /// Handles an acknowledgement. `None` when it is not from a matched reliable reader, else whether room may have
    /// become free.
    pub(crate) fn handle_acknack(
        &mut self,
        cx: &mut Context<'_>,
        from: Guid,
        acknack: &AckNack,
    ) -> Option<bool> {
        let last = self.last;
        let index = self.readers.iter().position(|reader| reader.guid == from)?;
        let proxy = self.readers.get_mut(index).filter(|proxy| proxy.reliable)?;
        if !is_newer(acknack.count, proxy.acknack_count) {
            return Some(false);
        }
        proxy.acknack_count = Some(acknack.count);
        let base = acknack.missing.base();
        let progress = proxy.note_acknowledged(base.previous().min(last));
        let is_bare = acknack.missing.bit_count() == 0;
        // Base zero is a reader's first call, whatever its flag says. Answering a final one that merely has nothing yet
        // would be answered in turn.
        let is_first_call = base == SequenceNumber::ZERO;
        let is_question = !acknack.is_final && base <= last.max(SequenceNumber::FIRST);
        if is_bare && (is_first_call || is_question) {
            if proxy.may_answer(cx) {
                self.send_state(cx, index);
            }
        } else if !acknack.missing.is_empty() {
            self.repair(cx, index, acknack.missing);
        }
        if progress {
            self.heartbeat_interval = cx.timing.heartbeat_period;
            if self.heartbeat_at.is_some() {
                self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
            }
        }
        self.after_acknowledgement();
        Some(progress)
    }

    /// Sends again what a reader asks for, or says that it does not exist any more.
    fn repair(&mut self, cx: &mut Context<'_>, index: usize, missing: SequenceNumberSet) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
        // Every answer has its price, but the first sample of a period is always sent: otherwise a credit below the
        // price of a sample would repair nothing, ever.
        if !proxy.afford(cx, 0) {
            return;
        }
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        let (mut gone, mut batch, mut sent_any) = (Vec::new(), Batch::new(audience), false);
        for sequence in missing.iter().take_while(|sequence| *sequence <= self.last) {
            let change = if sequence < proxy.start { None } else { self.history.get(sequence) };
            let Some(change) = change.map(Outgoing::from) else {
                gone.push(sequence);
                continue;
            };
            if Batch::fits(&change, cx) {
                if !proxy.afford(cx, change.payload.len() + REPAIR_OVERHEAD) {
                    break;
                }
                batch.add(cx, &change);
            } else {
                batch.flush(cx);
                if !send_affordable(cx, proxy, audience, &change) {
                    break;
                }
            }
            cx.statistics.repairs += 1;
            sent_any = true;
        }
        batch.flush(cx);
        let gaps = gaps(audience.entity(), self.entity, &gone);
        if let Some(proxy) = self.readers.get_mut(index) {
            proxy.afford(cx, REPAIR_OVERHEAD);
        }
        if sent_any || !gaps.is_empty() {
            let heartbeat = self.heartbeat(audience.entity(), true);
            audience.send(cx, |message| {
                gaps.iter().for_each(|gap| message.gap(gap));
                message.heartbeat(&heartbeat);
            });
        }
    }

    /// Sends fragments again. `None` when it is not asked by a matched reliable reader.
    pub(crate) fn handle_nackfrag(
        &mut self,
        cx: &mut Context<'_>,
        from: Guid,
        nack: &NackFrag,
    ) -> Option<()> {
        let index = self.readers.iter().position(|reader| reader.guid == from)?;
        let proxy = self.readers.get_mut(index).filter(|proxy| proxy.reliable)?;
        if !is_newer(nack.count, proxy.nackfrag_count) {
            return Some(());
        }
        proxy.nackfrag_count = Some(nack.count);
        let change = self.history.get(nack.sequence).map(Outgoing::from);
        let Some(change) = change.filter(|change| change.is_fragmented(cx)) else {
            let mut set = SequenceNumberSet::empty(nack.sequence);
            set.insert(nack.sequence);
            self.repair(cx, index, set);
            return Some(());
        };
        let total = change.total(cx);
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        let wanted = nack.missing.iter().map(|number| number.0).take_while(|number| *number <= total);
        let mut sent_any = false;
        for number in wanted {
            if !proxy.afford(cx, usize::from(cx.fragment_size) + REPAIR_OVERHEAD) {
                break;
            }
            audience.send_fragment(cx, &change, number);
            sent_any = true;
        }
        if sent_any {
            cx.statistics.repairs += 1;
            self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
            let heartbeat = HeartbeatFrag {
                reader: from.entity,
                writer: self.entity,
                sequence: nack.sequence,
                last_fragment: FragmentNumber(total),
                count: self.heartbeat_count,
            };
            audience.send(cx, |message| message.heartbeat_frag(&heartbeat));
        }
        Some(())
    }

    /// Asks the readers that lag for an acknowledgement.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if self.heartbeat_at.is_none_or(|at| at > cx.now) {
            return;
        }
        let lagging = self.readers.iter().filter(|reader| reader.reliable && reader.acknowledged < self.last);
        let to: BTreeSet<Locator> = lagging.flat_map(|reader| reader.address.direct()).collect();
        if to.is_empty() {
            self.heartbeat_at = None;
            return;
        }
        let to: Vec<Locator> = to.into_iter().collect();
        let heartbeat = self.heartbeat(EntityId::UNKNOWN, true);
        let audience = Audience { writer: self.entity, reader: None, to: &to };
        audience.send(cx, |message| message.heartbeat(&heartbeat));
        self.heartbeat_interval =
            (self.heartbeat_interval * 2).clamp(cx.timing.heartbeat_period, cx.timing.heartbeat_period_max);
        self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
    }
}

/// Sends a large change again, of a fragmented one as many fragments as the reader's credit allows: it asks for the
/// others by number. False when nothing was sent.
fn send_affordable(
    cx: &mut Context<'_>,
    proxy: &mut ReaderProxy,
    audience: Audience<'_>,
    change: &Outgoing<'_>,
) -> bool {
    if !change.is_fragmented(cx) {
        let may = proxy.afford(cx, change.payload.len() + REPAIR_OVERHEAD);
        if may {
            audience.send_whole(cx, change, |_| {});
        }
        return may;
    }
    let cost = usize::from(cx.fragment_size) + REPAIR_OVERHEAD;
    let affordable = (1..=change.total(cx)).take_while(|_| proxy.afford(cx, cost));
    let numbers: Vec<u32> = affordable.collect();
    numbers.iter().for_each(|number| audience.send_fragment(cx, change, *number));
    !numbers.is_empty()
}
