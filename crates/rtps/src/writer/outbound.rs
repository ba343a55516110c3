//! What leaves a writer for all its readers: samples alone or in batches, and the heartbeats that go with them.

use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use super::outgoing::{Audience, Outgoing, PACK_BYTES, append};
use super::window::{DATAGRAM_COST, Window};
use crate::message::{Heartbeat, MessageWriter};
use crate::outbox::{Context, Datagram};
use crate::qos::{History, Qos, Reliability};
use crate::{EntityId, Lease, Limits, Locator, LocatorKind, SequenceNumber};

/// The sending state of one writer.
#[derive(Debug)]
pub(super) struct Outbound {
    entity: EntityId,
    /// Each address that has a matched reader, once.
    pub(super) destinations: Vec<Locator>,
    /// The newest sample that was sent; later ones wait for the window.
    pub(super) sent: SequenceNumber,
    heartbeat_count: u32,
    pub(super) heartbeat_at: Option<Instant>,
    pub(super) heartbeat_interval: Duration,
    since_question: u32,
    /// How long a sample may wait for others to share a datagram; `None` to send each at once.
    budget: Option<Duration>,
    batch: Option<Batch>,
    /// Only a reliable keep-all writer, whose samples nobody may miss, has one.
    window: Option<Window>,
}

/// A datagram that is being filled.
#[derive(Debug)]
struct Batch {
    datagram: Datagram,
    send_at: Instant,
    bytes_max: usize,
}

/// What the heartbeat of a moment says besides the newest sample: the oldest one that is kept, and whether a reader
/// wants to know at all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) first: Option<SequenceNumber>,
    pub(super) has_reliable_reader: bool,
}

/// What a reliable writer asks an answer for at the latest.
const SAMPLES_PER_QUESTION: u32 = 64;
/// The size of a batch that does not leave the machine; others fit an Ethernet frame.
const LOCAL_BATCH_BYTES: usize = 16 << 10;
/// What a sample in a batch costs of the window besides its bytes.
const SAMPLE_COST: usize = 40;
/// The longest time that a sample is held back.
const BUDGET_MAX: Duration = Duration::from_secs(1);

impl Outbound {
    pub(super) fn new(entity: EntityId, qos: &Qos, limits: &Limits) -> Self {
        let budget = match qos.latency_budget {
            Lease::Finite(budget) => Some(budget.min(BUDGET_MAX)).filter(|budget| !budget.is_zero()),
            Lease::Infinite => Some(BUDGET_MAX),
        };
        let is_windowed = qos.reliability == Reliability::Reliable && qos.history == History::KeepAll;
        Self {
            entity,
            destinations: Vec::new(),
            sent: SequenceNumber::ZERO,
            heartbeat_count: 0,
            heartbeat_at: None,
            heartbeat_interval: Duration::ZERO,
            since_question: 0,
            budget,
            batch: None,
            window: is_windowed.then(|| Window::new(limits.flight_bytes_max)),
        }
    }

    /// Whether a further sample may be sent now.
    pub(super) fn is_open(&self) -> bool {
        self.window.as_ref().is_none_or(Window::is_open)
    }

    /// When the batch has to leave.
    pub(super) fn send_at(&self) -> Option<Instant> {
        self.batch.as_ref().map(|batch| batch.send_at)
    }

    /// Sends the next sample to every reader, or adds it to the batch.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, change: &Outgoing<'_>, kept: Kept) {
        if change.is_fragmented(cx) || self.budget.is_none() {
            self.flush(cx, kept);
        }
        self.sent = change.sequence;
        if self.destinations.is_empty() {
            return;
        }
        match self.budget {
            _ if change.is_fragmented(cx) => self.send_fragments(cx, change, kept),
            Some(budget) => self.add(cx, change, budget, kept),
            None => {
                let heartbeat = self.note_question(cx, 1, kept, change.payload.len() + DATAGRAM_COST);
                let audience = Audience { writer: self.entity, reader: None, to: &self.destinations };
                audience.send_whole(cx, change, |message| {
                    if let Some(heartbeat) = heartbeat {
                        message.heartbeat(&heartbeat);
                    }
                });
            }
        }
    }

    fn send_fragments(&mut self, cx: &mut Context<'_>, change: &Outgoing<'_>, kept: Kept) {
        let total = change.total(cx);
        let cost = change.payload.len() + total as usize * DATAGRAM_COST;
        let heartbeat = self.note_question(cx, SAMPLES_PER_QUESTION, kept, cost);
        let audience = Audience { writer: self.entity, reader: None, to: &self.destinations };
        (1..=total).for_each(|number| audience.send_fragment(cx, change, number));
        if let Some(heartbeat) = heartbeat {
            // The fragments may have overrun the receiver: it is asked at once what is missing.
            audience.send(cx, |message| message.heartbeat(&heartbeat));
        }
    }

    fn add(&mut self, cx: &mut Context<'_>, change: &Outgoing<'_>, budget: Duration, kept: Kept) {
        let is_full = |batch: &Batch| batch.datagram.bytes.len() + change.payload.len() > batch.bytes_max;
        if self.batch.as_ref().is_some_and(is_full) {
            // What it says of itself must not count the sample that is not in it.
            let newest = core::mem::replace(&mut self.sent, change.sequence.previous());
            self.flush(cx, kept);
            self.sent = newest;
        }
        let is_local = || self.destinations.iter().all(|to| is_local(cx, to));
        let mut batch = match self.batch.take() {
            Some(batch) => batch,
            None => {
                let bytes_max = if is_local() { LOCAL_BATCH_BYTES } else { PACK_BYTES };
                let mut datagram = cx.outbox.start();
                MessageWriter::new(&mut datagram.bytes, cx.prefix);
                Batch { datagram, send_at: cx.now + budget, bytes_max }
            }
        };
        append(&mut batch.datagram, self.entity, EntityId::UNKNOWN, change);
        self.batch = Some(batch);
        self.since_question = self.since_question.saturating_add(1);
        if let Some(window) = self.window.as_mut().filter(|_| kept.has_reliable_reader) {
            window.note_sent(change.sequence, change.payload.len() + SAMPLE_COST);
            if !window.is_open() {
                self.flush(cx, kept);
            }
        }
    }

    /// Sends the batch.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>, kept: Kept) {
        let Some(batch) = self.batch.take() else { return };
        let mut datagram = batch.datagram;
        datagram.to.extend_from_slice(&self.destinations);
        if let Some(heartbeat) = self.note_question(cx, 0, kept, 0) {
            MessageWriter::append(&mut datagram.bytes).heartbeat(&heartbeat);
        }
        cx.send(datagram);
    }

    /// Counts samples; returns the heartbeat that goes with them, when a reader wants one.
    fn note_question(
        &mut self,
        cx: &Context<'_>,
        samples: u32,
        kept: Kept,
        cost: usize,
    ) -> Option<Heartbeat> {
        if !kept.has_reliable_reader {
            return None;
        }
        self.since_question = self.since_question.saturating_add(samples);
        let mut asks = self.since_question >= SAMPLES_PER_QUESTION;
        if let Some(window) = &mut self.window {
            if cost > 0 {
                window.note_sent(self.sent, cost);
            }
            asks |= window.is_question_due();
            if asks {
                window.note_asked();
            }
        }
        if asks {
            self.since_question = 0;
        }
        self.expect_answer(cx);
        Some(self.heartbeat(EntityId::UNKNOWN, asks, kept.first))
    }

    /// Starts the timer that asks readers that lag, unless it runs.
    pub(super) fn expect_answer(&mut self, cx: &Context<'_>) {
        if self.heartbeat_at.is_none() {
            self.heartbeat_interval = cx.timing.heartbeat_period;
            self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
        }
    }

    pub(super) fn heartbeat(
        &mut self,
        reader: EntityId,
        asks: bool,
        first: Option<SequenceNumber>,
    ) -> Heartbeat {
        let end = self.sent.next();
        Heartbeat {
            reader,
            writer: self.entity,
            first: first.unwrap_or(end).min(end),
            last: self.sent,
            count: self.next_count(),
            is_final: !asks,
            is_liveliness: false,
        }
    }

    pub(super) fn next_count(&mut self) -> u32 {
        self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
        self.heartbeat_count
    }

    /// Notes what every reliable reader has.
    pub(super) fn note_acknowledged(&mut self, lowest: SequenceNumber) {
        if let Some(window) = &mut self.window {
            window.note_acknowledged(lowest, self.sent);
        }
        if lowest >= self.sent {
            self.heartbeat_at = None;
            self.since_question = 0;
        }
    }

    /// Notes that an acknowledgement came: the next question has time.
    pub(super) fn restart_timer(&mut self, cx: &Context<'_>) {
        self.heartbeat_interval = cx.timing.heartbeat_period;
        if self.heartbeat_at.is_some() {
            self.heartbeat_at = Some(cx.now + self.heartbeat_interval);
        }
    }
}

/// Whether an address is on this machine.
fn is_local(cx: &Context<'_>, to: &Locator) -> bool {
    match to.kind {
        LocatorKind::InProcess | LocatorKind::SharedMemory | LocatorKind::TcpV4 | LocatorKind::TcpV6 => true,
        _ => to.ip().is_some_and(|ip| ip.is_loopback() || cx.reach.local_addresses.contains(&ip)),
    }
}
