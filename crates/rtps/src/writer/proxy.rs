//! A remote reader as one writer knows it.

use alloc::vec::Vec;
use units::Instant;

use super::outgoing::Audience;
use crate::outbox::Context;
use crate::{EntityId, Guid, Locator, SequenceNumber};

/// Where a matched reader is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReaderAddress {
    /// Its unicast address; none when it announced none that we can send to.
    pub(crate) unicast: Vec<Locator>,
    /// A group that it and others listen to.
    pub(crate) group: Option<Locator>,
    /// A faster way within the machine, see [`crate::Participant::set_route`].
    pub(crate) route: Option<Locator>,
}

impl ReaderAddress {
    /// Where to send what concerns this reader alone.
    pub(super) fn direct(&self) -> Vec<Locator> {
        self.route.map_or_else(|| self.unicast.clone(), |route| Vec::from([route]))
    }
}

/// A matched remote reader.
#[derive(Debug)]
pub(super) struct ReaderProxy {
    pub(super) guid: Guid,
    pub(super) address: ReaderAddress,
    pub(super) reliable: bool,
    /// The first change that concerns this reader: later than the past for a volatile one.
    pub(super) start: SequenceNumber,
    /// Everything up to here has arrived there.
    acknowledged: SequenceNumber,
    pub(super) acknack_count: Option<u32>,
    /// When an acknowledgement came that was newer than the one before.
    pub(super) acknack_at: Instant,
    pub(super) nackfrag_count: Option<u32>,
    /// Answers given to bare questions since the reader last made progress, and when the last one went.
    answers: u32,
    answered_at: Instant,
    /// Bytes that may still be sent again in the period that began then.
    credit: usize,
    credit_since: Option<Instant>,
}

/// Bare questions of one reader answered at once; further ones at most once a heartbeat period until it progresses.
const ANSWERS_AT_ONCE: u32 = 8;

impl ReaderProxy {
    pub(super) fn new(guid: Guid, address: ReaderAddress, reliable: bool, start: SequenceNumber) -> Self {
        Self {
            guid,
            address,
            reliable,
            start,
            acknowledged: start.previous(),
            acknack_count: None,
            acknack_at: Instant::ZERO,
            nackfrag_count: None,
            answers: 0,
            answered_at: Instant::ZERO,
            credit: 0,
            credit_since: None,
        }
    }

    /// Sending to this reader alone; `to` is its own address.
    pub(super) fn audience<'a>(&self, writer: EntityId, to: &'a [Locator]) -> Audience<'a> {
        Audience { writer, reader: Some(self.guid), to }
    }

    /// Everything up to here has arrived there.
    pub(super) fn acknowledged(&self) -> SequenceNumber {
        self.acknowledged
    }

    /// Notes how far the reader has come; true when that is further than before.
    pub(super) fn note_acknowledged(&mut self, acknowledged: SequenceNumber) -> bool {
        let progress = acknowledged > self.acknowledged;
        if progress {
            self.acknowledged = acknowledged;
            self.answers = 0;
        }
        progress
    }

    /// Whether to answer a question that asks for no sample. Two stacks that answer each other's questions at once
    /// must not do so for ever.
    pub(super) fn may_answer(&mut self, cx: &Context<'_>) -> bool {
        let may = self.answers < ANSWERS_AT_ONCE || cx.now >= self.answered_at + cx.timing.heartbeat_period;
        if may {
            self.answers = self.answers.saturating_add(1);
            self.answered_at = cx.now;
        }
        may
    }

    /// Takes `bytes` from what may be sent again in this period; false when nothing is left. See
    /// [`crate::Limits::repair_bytes_max`].
    pub(super) fn afford(&mut self, cx: &Context<'_>, bytes: usize) -> bool {
        if self.credit_since.is_none_or(|since| cx.now >= since + cx.timing.heartbeat_period) {
            self.credit_since = Some(cx.now);
            self.credit = cx.limits.repair_bytes_max;
        }
        let may = self.credit > 0;
        self.credit = self.credit.saturating_sub(bytes);
        may
    }
}
