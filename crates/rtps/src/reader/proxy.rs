//! A remote writer as one reader knows it, and what the reader says to it.

use alloc::vec::Vec;
use units::Instant;

use super::backlog::Backlog;
use crate::message::{AckNack, Heartbeat, MessageWriter, NackFrag, is_newer};
use crate::outbox::Context;
use crate::{EntityId, FragmentNumber, Guid, Lease, Locator, SequenceNumber, SequenceNumberSet, VendorId};

/// A matched remote writer.
#[derive(Debug)]
pub(super) struct WriterProxy {
    guid: Guid,
    /// Our reader.
    reader: EntityId,
    locators: Vec<Locator>,
    pub(super) vendor: VendorId,
    /// Both sides are reliable.
    pub(super) reliable: bool,
    /// Both sides are at least transient-local: the past is wanted.
    pub(super) durable: bool,
    /// Whether it keeps its liveliness lease.
    pub(super) is_alive: bool,
    /// Whether the start of our data is known; until then a reliable reader holds samples back.
    pub(super) is_synchronised: bool,
    /// Everything before has been delivered or given up; zero before the first best-effort sample.
    pub(super) next: SequenceNumber,
    pub(super) backlog: Backlog,
    /// How long its samples are of use.
    pub(super) lifespan: Lease,
    pub(super) heartbeat_count: Option<u32>,
    /// When a heartbeat came that did not count backwards.
    pub(super) heartbeat_at: Instant,
    pub(super) heartbeat_frag_count: Option<u32>,
    count: u32,
    asked: Option<Request>,
    /// When to knock again at a writer that has not said where our data begins, and how often we did.
    pub(super) knock_at: Option<Instant>,
    pub(super) knocked_at: Instant,
    knocks: u32,
}

/// The last request for samples.
#[derive(Debug)]
struct Request {
    /// What it acknowledged.
    base: SequenceNumber,
    /// The highest number it asked for.
    last: SequenceNumber,
    at: Instant,
}

/// Knocks before giving up until the writer speaks by itself.
const KNOCKS_MAX: u32 = 8;

impl WriterProxy {
    pub(super) fn new(
        guid: Guid,
        reader: EntityId,
        locators: Vec<Locator>,
        vendor: VendorId,
        (reliable, durable): (bool, bool),
        (count, now): (u32, Instant),
    ) -> Self {
        Self {
            guid,
            reader,
            locators,
            vendor,
            reliable,
            durable,
            is_alive: true,
            is_synchronised: !reliable,
            next: SequenceNumber::ZERO,
            backlog: Backlog::default(),
            lifespan: Lease::Infinite,
            heartbeat_count: None,
            heartbeat_at: now,
            heartbeat_frag_count: None,
            count,
            asked: None,
            knock_at: None,
            knocked_at: now,
            knocks: 0,
        }
    }

    /// When a sample that arrives now is of no use any more.
    pub(super) fn expires_at(&self, now: Instant) -> Option<Instant> {
        match self.lifespan {
            Lease::Finite(lifespan) => Some(now.saturating_add(lifespan)),
            Lease::Infinite => None,
        }
    }

    /// Answers go there from now on.
    pub(super) fn readdress(&mut self, locators: &[Locator]) {
        if self.locators != locators {
            self.locators = locators.to_vec();
        }
    }

    /// Whether a heartbeat tells of less than earlier ones did.
    pub(super) fn is_backwards(&self, heartbeat: &Heartbeat) -> bool {
        let is_old = self.heartbeat_count.is_some() && !is_newer(heartbeat.count, self.heartbeat_count);
        is_old || (self.is_synchronised && heartbeat.last.next() < self.next)
    }

    /// How many acknowledgements it has sent.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Whether a sample with this number is news.
    pub(super) fn wants(&self, sequence: SequenceNumber, cx: &mut Context<'_>) -> bool {
        let is_known = sequence < self.next || self.backlog.is_known(sequence);
        cx.statistics.duplicates += u64::from(is_known);
        !is_known
    }

    /// Everything below `next` has been delivered or given up. Returns how many incomplete samples that dropped.
    pub(super) fn advance(&mut self, next: SequenceNumber) -> u64 {
        self.next = next;
        self.backlog.drop_partials_below(next)
    }

    /// The start of our data is known.
    pub(super) fn synchronise(&mut self) {
        self.is_synchronised = true;
        self.knock_at = None;
    }

    /// Asks a writer to say what it has: an acknowledgement of nothing that wants an answer.
    pub(super) fn knock(&mut self, cx: &mut Context<'_>) {
        self.knocks = self.knocks.saturating_add(1);
        self.knocked_at = cx.now;
        self.knock_at = (self.knocks < KNOCKS_MAX)
            .then(|| cx.now + cx.timing.heartbeat_period * 2_u32.saturating_pow(self.knocks.min(7)));
        self.send_acknack(cx, SequenceNumberSet::empty(SequenceNumber::FIRST), false);
    }

    /// Acknowledges what has been delivered.
    pub(super) fn acknowledge(&mut self, cx: &mut Context<'_>) {
        self.send_acknack(cx, SequenceNumberSet::empty(self.next), true);
    }

    fn send_acknack(&mut self, cx: &mut Context<'_>, missing: SequenceNumberSet, is_final: bool) {
        self.count = self.count.wrapping_add(1);
        let (reader, writer) = (self.reader, self.guid.entity);
        let acknack = AckNack { reader, writer, missing, count: self.count, is_final };
        self.send(cx, |message| message.ack_nack(&acknack));
    }

    fn send(&self, cx: &mut Context<'_>, build: impl FnOnce(&mut MessageWriter<'_>)) {
        let mut datagram = cx.outbox.start();
        datagram.to.extend_from_slice(&self.locators);
        let mut message = MessageWriter::new(&mut datagram.bytes, cx.prefix);
        message.info_destination(self.guid.prefix);
        build(&mut message);
        cx.send(datagram);
    }

    /// Answers a heartbeat when it asks, or when something is missing that was not just asked for.
    ///
    /// A full history asks for nothing: the writer keeps what it has, which is the flow control of keep-all.
    pub(super) fn answer(&mut self, cx: &mut Context<'_>, heartbeat: &Heartbeat, is_full: bool) {
        let mut missing = SequenceNumberSet::empty(self.next);
        let mut partial = None;
        if !is_full {
            let end = heartbeat.last.0.min(self.next.0.saturating_add(SequenceNumberSet::SPAN_MAX - 1));
            for number in (self.next.0..=end).map(SequenceNumber) {
                if self.backlog.is_partial(number) {
                    partial = partial.or(Some(number));
                } else if !self.backlog.is_known(number) {
                    missing.insert(number);
                }
            }
        }
        let is_missing = !missing.is_empty() || partial.is_some();
        let lowest = missing.iter().next().or(partial);
        let recent = self.asked.as_ref().filter(|asked| {
            lowest.is_some_and(|lowest| lowest <= asked.last)
                && cx.now < asked.at + cx.timing.nack_suppression
        });
        if is_missing && recent.is_none() {
            let last = missing.iter().last().or(partial);
            self.asked = last.map(|last| Request { base: self.next, last, at: cx.now });
        } else if heartbeat.is_final || recent.is_some_and(|asked| asked.base == self.next) {
            // The request on its way says it all; a newer acknowledgement that overtook it would make it void.
            return;
        } else if is_missing {
            missing = SequenceNumberSet::empty(self.next);
            partial = None;
        }
        self.send_acknack(cx, missing, true);
        if let Some(sequence) = partial {
            self.ask_fragments(cx, sequence, FragmentNumber(u32::MAX));
        }
    }

    /// Asks for the missing fragments, up to `last`, of a sample of which some have arrived.
    pub(super) fn ask_fragments(
        &mut self,
        cx: &mut Context<'_>,
        sequence: SequenceNumber,
        last: FragmentNumber,
    ) {
        let Some(missing) = self.backlog.missing_fragments(sequence, last) else { return };
        self.count = self.count.wrapping_add(1);
        let (reader, writer) = (self.reader, self.guid.entity);
        let nack = NackFrag { reader, writer, sequence, missing, count: self.count };
        self.send(cx, |message| message.nack_frag(&nack));
    }
}
