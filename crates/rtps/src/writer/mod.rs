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
mod outbound;
mod outgoing;
mod proxy;
mod readers;
mod registered;
mod repair;
mod window;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use units::Instant;

use self::destinations::destinations;
use self::outbound::{Kept, Outbound};
use self::outgoing::{Audience, Outgoing, gap};
pub(crate) use self::proxy::ReaderAddress;
use self::proxy::ReaderProxy;
use self::readers::Readers;
use self::registered::Registered;
pub use self::registered::{KeySerializer, SerializeKey};
use crate::cdr::KeyHash;
use crate::deadline::Deadlines;
use crate::event::Event;
use crate::history::{Refused, WriterHistory};
use crate::message::{Heartbeat, StatusInfo};
use crate::outbox::Context;
use crate::qos::{Durability, History, Qos, Reliability};
use crate::{EndpointStatus, EntityId, Guid, GuidPrefix, Limits, Locator, SequenceNumber, WireTime};

/// One local writer.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) entity: EntityId,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) qos: Qos,
    history: WriterHistory,
    last: SequenceNumber,
    readers: Readers,
    out: Outbound,
    pub(crate) status: EndpointStatus,
    deadlines: Option<Deadlines>,
    /// The instances that it has written and not ended, when it disposes of those that it unregisters.
    registered: Option<Registered>,
    /// When it is removed at the latest, after its application has deleted it.
    pub(crate) closes_at: Option<Instant>,
    multicast_min: Option<usize>,
    /// Whether readers have come, gone or moved since it was collected where to send.
    has_news_of_readers: bool,
    /// Other ways to the readers of some participants.
    routes: BTreeMap<GuidPrefix, Locator>,
}

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
            out: Outbound::new(entity, &qos, limits),
            status: EndpointStatus::default(),
            deadlines: Deadlines::new(qos.deadline, limits.instances_max),
            registered: qos.autodispose_unregistered_instances.then(Registered::default),
            closes_at: None,
            qos,
            last: SequenceNumber::ZERO,
            readers: Readers::default(),
            multicast_min,
            has_news_of_readers: false,
            routes: BTreeMap::new(),
        }
    }

    pub(crate) fn matched(&self) -> impl Iterator<Item = Guid> + '_ {
        self.readers.iter().map(|reader| reader.guid)
    }

    pub(crate) fn is_matched_with(&self, reader: Guid) -> bool {
        self.readers.contains(reader)
    }

    /// When [`Writer::handle_timeout`] has work.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let is_late = (self.out.sent < self.last && self.out.is_open()).then_some(Instant::ZERO);
        let due = self.deadlines.as_ref().and_then(Deadlines::next);
        let closes_at = self.closes_at.map(|at| if self.is_acknowledged() { Instant::ZERO } else { at });
        let sending = [self.out.heartbeat_at, self.out.send_at(), is_late];
        let timers = sending.into_iter().chain([due, self.history.expires_at(), closes_at]);
        timers.flatten().min()
    }

    fn is_reliable(&self) -> bool {
        self.qos.reliability == Reliability::Reliable
    }

    fn is_durable(&self) -> bool {
        self.qos.durability >= Durability::TransientLocal
    }

    /// Whether every change has been acknowledged by every reliable reader.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.readers.lowest().is_none_or(|lowest| lowest >= self.last)
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
    pub(crate) fn check(&mut self, cx: &Context<'_>, instance: Option<KeyHash>) -> Result<(), Refused> {
        self.history.expire(cx.now);
        if self.keeps_history() { self.history.check(instance) } else { Ok(()) }
    }

    fn keeps_history(&self) -> bool {
        self.is_durable() || (self.is_reliable() && self.readers.has_reliable())
    }

    /// Sends a change to every matched reader and keeps it as long as the QoS asks. Call [`Writer::check`] before.
    pub(crate) fn write(
        &mut self,
        cx: &mut Context<'_>,
        instance: Option<KeyHash>,
        mut status: StatusInfo,
        timestamp: Option<WireTime>,
        payload: &[u8],
    ) -> SequenceNumber {
        self.note_instance(cx, instance, &mut status, payload);
        self.last = self.last.next();
        let is_waiting = self.out.sent < self.last.previous();
        if self.keeps_history() {
            self.history.push(cx.now, self.last, instance, status, timestamp, payload);
            if !self.readers.has_reliable() {
                self.history.prune_ended(self.last);
            }
            if is_waiting || !self.out.is_open() {
                self.out.expect_answer(cx);
                return self.last;
            }
        }
        let change = Outgoing { sequence: self.last, instance, status, timestamp, payload };
        let kept = self.kept();
        self.out.send(cx, &change, kept);
        self.last
    }

    /// Keeps the deadline of an instance and the list of those to dispose of; unregistering disposes when it should.
    fn note_instance(
        &mut self,
        cx: &Context<'_>,
        instance: Option<KeyHash>,
        status: &mut StatusInfo,
        payload: &[u8],
    ) {
        let is_end = status.disposed || status.unregistered;
        if let Some(deadlines) = &mut self.deadlines {
            if is_end {
                deadlines.stop(instance);
            } else {
                deadlines.restart(instance, cx.now);
            }
        }
        let (Some(registered), Some(key)) = (&mut self.registered, instance) else { return };
        status.disposed |= status.unregistered;
        registered.note(key, *status, payload, cx.limits.instances_max);
    }

    /// See [`crate::Participant::set_key_serializer`].
    pub(crate) fn set_key_serializer(&mut self, serializer: KeySerializer) {
        if let Some(registered) = &mut self.registered {
            registered.set_serializer(serializer);
        }
    }

    /// The instances to dispose of before the writer is deleted, with their serialized keys.
    pub(crate) fn take_registered(&mut self) -> BTreeMap<KeyHash, Vec<u8>> {
        self.registered.take().map(Registered::into_keys).unwrap_or_default()
    }

    fn kept(&mut self) -> Kept {
        self.collect_destinations();
        let has_reliable_reader = self.is_reliable() && self.readers.has_reliable();
        Kept { first: self.history.first(), has_reliable_reader }
    }

    /// Sends what is held back to be sent with others.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) {
        if self.out.send_at().is_some() {
            let kept = self.kept();
            self.out.flush(cx, kept);
        }
    }

    /// Says that the writer is alive, by a heartbeat that wants no answer.
    pub(crate) fn assert_liveliness(&mut self, cx: &mut Context<'_>) {
        self.flush(cx);
        self.collect_destinations();
        let heartbeat = self.out.heartbeat(EntityId::UNKNOWN, false, self.history.first());
        let heartbeat = Heartbeat { is_liveliness: true, ..heartbeat };
        let audience = Audience { writer: self.entity, reader: None, to: &self.out.destinations };
        audience.send(cx, |message| message.heartbeat(&heartbeat));
    }

    /// Sends what waited for the window, as far as it is open now.
    fn send_waiting(&mut self, cx: &mut Context<'_>) {
        let kept = self.kept();
        while self.out.sent < self.last && self.out.is_open() {
            let next = self.out.sent.next();
            match self.history.get(next) {
                Some(change) => self.out.send(cx, &change.into(), kept),
                // It has given way meanwhile: whoever asks for it is told so.
                None => self.out.sent = next,
            }
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
        self.flush(cx);
        self.history.expire(cx.now);
        let reliable = self.serves_reliably(qos);
        let wants_past = self.is_durable() && qos.durability >= Durability::TransientLocal;
        let start = match self.history.first() {
            Some(first) if wants_past => first,
            _ => self.last.next(),
        };
        let address = ReaderAddress { route: self.routes.get(&guid.prefix).copied(), ..address };
        self.readers.insert(ReaderProxy::new(guid, address, reliable, start));
        self.has_news_of_readers = true;
        // Most participants never speak for a writer: nothing is said of that until one does.
        let has_nothing_to_say =
            self.entity == EntityId::PARTICIPANT_MESSAGE_WRITER && self.last == SequenceNumber::ZERO;
        if reliable && !has_nothing_to_say {
            self.send_state(cx, guid);
            if start <= self.out.sent {
                self.out.expect_answer(cx);
            }
        } else if wants_past && !reliable {
            self.send_past(cx, guid);
        }
    }

    /// Tells one reader where its data begins and what there is, and asks what it lacks.
    fn send_state(&mut self, cx: &mut Context<'_>, guid: Guid) {
        let Some(proxy) = self.readers.get(guid) else { return };
        let heartbeat = self.out.heartbeat(guid.entity, true, self.history.first());
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
    fn send_past(&mut self, cx: &mut Context<'_>, guid: Guid) {
        let Some(proxy) = self.readers.get(guid) else { return };
        let to = proxy.address.direct();
        let audience = proxy.audience(self.entity, &to);
        let past = self.history.iter().take_while(|change| change.sequence <= self.out.sent);
        for change in past.map(Outgoing::from) {
            if change.is_fragmented(cx) {
                (1..=change.total(cx)).for_each(|number| audience.send_fragment(cx, &change, number));
            } else {
                audience.send_whole(cx, &change, |_| {});
            }
        }
    }

    /// Stops sending to a remote reader; true when it was matched.
    pub(crate) fn unmatch_reader(&mut self, guid: Guid) -> bool {
        if !self.readers.remove(guid) {
            return false;
        }
        self.has_news_of_readers = true;
        self.after_acknowledgement();
        true
    }

    /// Takes a matched reader's new address; false when it would now be served in another way, so that it has to be
    /// matched anew.
    pub(crate) fn readdress_reader(&mut self, guid: Guid, address: ReaderAddress, qos: &Qos) -> bool {
        let reliable = self.serves_reliably(qos);
        let Some(proxy) = self.readers.get_mut(guid) else { return false };
        if proxy.reliable != reliable {
            return false;
        }
        let address = ReaderAddress { route: proxy.address.route, ..address };
        if proxy.address != address {
            proxy.address = address;
            self.has_news_of_readers = true;
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
        self.has_news_of_readers = true;
    }

    /// Looks where to send when readers have come, gone or moved since the last time: not before something is sent, since
    /// it costs their number.
    fn collect_destinations(&mut self) {
        if core::mem::take(&mut self.has_news_of_readers) {
            let addresses = self.readers.addresses();
            self.out.destinations = destinations(addresses, self.multicast_min);
        }
    }

    fn serves_reliably(&self, qos: &Qos) -> bool {
        self.is_reliable() && qos.reliability == Reliability::Reliable
    }

    /// Forgets acknowledged changes when nobody joining later may want them, and stops the timer when all is well.
    fn after_acknowledgement(&mut self) {
        let lowest = self.readers.lowest().unwrap_or(self.last);
        if self.is_durable() {
            self.history.prune_ended(lowest);
        } else {
            self.history.prune(lowest);
        }
        self.out.note_acknowledged(lowest);
    }

    /// Counts the instances of which the application owes a sample, and forgets what has expired.
    fn watch(&mut self, cx: &mut Context<'_>) {
        let missed = self.deadlines.as_mut().map(|deadlines| deadlines.missed(cx.now)).unwrap_or_default();
        if let Some((instance, _)) = missed.last().copied() {
            self.status.deadline_missed += missed.iter().map(|(_, periods)| periods).sum::<u64>();
            self.status.deadline_missed_last = instance;
            cx.tell(Event::DeadlineMissed {
                local: self.entity,
                instance,
                total: self.status.deadline_missed,
            });
        }
        if self.history.expires_at().is_some_and(|at| at <= cx.now)
            && self.history.expire(cx.now)
            && self.may_block()
        {
            // There is room again, although nobody has acknowledged anything.
            cx.tell(Event::Acknowledged(self.entity));
        }
    }

    /// Sends the batch when its time has come, and asks the readers that lag for an acknowledgement.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.watch(cx);
        if self.out.send_at().is_some_and(|at| at <= cx.now) {
            self.flush(cx);
        }
        self.send_waiting(cx);
        if self.out.heartbeat_at.is_none_or(|at| at > cx.now) {
            return;
        }
        let is_lagging = |reader: &&ReaderProxy| reader.reliable && reader.acknowledged() < self.out.sent;
        let lagging = self.readers.iter().filter(is_lagging);
        // A single reader is addressed, so that it knows that we know it.
        let mut first_two = lagging.clone().map(|reader| reader.guid);
        let only = first_two.next().filter(|_| first_two.next().is_none());
        let to: BTreeSet<Locator> = lagging.flat_map(|reader| reader.address.direct()).collect();
        if to.is_empty() {
            self.out.heartbeat_at = None;
            return;
        }
        let to: Vec<Locator> = to.into_iter().collect();
        let audience = Audience { writer: self.entity, reader: only, to: &to };
        let heartbeat = self.out.heartbeat(EntityId::UNKNOWN, true, self.history.first());
        audience.send(cx, |message| message.heartbeat(&heartbeat));
        let interval = self.out.heartbeat_interval * 2;
        let interval = interval.clamp(cx.timing.heartbeat_period, cx.timing.heartbeat_period_max);
        self.out.heartbeat_interval = interval;
        self.out.heartbeat_at = Some(cx.now + interval);
    }
}
