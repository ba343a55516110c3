//! A reader's samples for the application, what its QoS does with them, and what it counts about them.

use alloc::vec::Vec;
use units::Instant;

use super::instances::{Instances, Verdict};
use crate::event::Event;
use crate::filter::Filter;
use crate::history::{RawSample, ReaderHistory, Refused};
use crate::message::StatusInfo;
use crate::outbox::Context;
use crate::qos::Qos;
use crate::{EndpointStatus, EntityId, Guid, Limits, Locator, RejectReason, SequenceNumber};

/// The history with the reader's own counters.
#[derive(Debug)]
pub(super) struct Inbox {
    reader: EntityId,
    history: ReaderHistory,
    /// What the QoS needs to know of each instance.
    instances: Option<Instances>,
    pub(super) status: EndpointStatus,
    /// Which values the application wants.
    filter: Option<Filter>,
    /// A full keep-all history holds samples back.
    pub(super) is_stalled: bool,
    pub(super) has_news: bool,
}

impl Inbox {
    pub(super) fn new(reader: EntityId, qos: &Qos, is_keyed: bool, limits: &Limits) -> Self {
        // Discovery tells itself who is there: its endpoints' announcements are all of one writer.
        let instances = if reader.is_builtin() { None } else { Instances::new(qos, is_keyed, limits) };
        Self {
            reader,
            history: ReaderHistory::new(qos, limits),
            instances,
            filter: None,
            status: EndpointStatus::default(),
            is_stalled: false,
            has_news: false,
        }
    }

    /// Only samples that pass are handed over from now on.
    pub(super) fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
    }

    /// Whether a sample passes the filter. The ends of instances do, and what is no sample of the type: whoever takes
    /// it finds out.
    fn is_wanted(&self, sample: &RawSample) -> bool {
        let is_end = sample.is_end();
        let filter = self.filter.as_ref().filter(|_| !is_end);
        filter.is_none_or(|filter| filter.is_met_by(&sample.payload).unwrap_or(true))
    }

    /// Built-in readers are not part of the statistics of user topics.
    fn is_user(&self) -> bool {
        !self.reader.is_builtin()
    }

    /// Hands a sample over, or does with it what the QoS says; gives it back, and notes that the reader is stalled, when
    /// there is no room.
    #[expect(
        clippy::result_large_err,
        reason = "a refused sample moves on, it is rare and no error to report"
    )]
    pub(super) fn deliver(&mut self, cx: &mut Context<'_>, mut sample: RawSample) -> Result<(), RawSample> {
        self.expire(cx);
        let (numbered, then) = ((sample.writer, sample.sequence), core::mem::take(&mut sample.then));
        let end = RawSample::ending(numbered, sample.timestamp, sample.instance, then, sample.from);
        self.place(cx, sample).map_err(|refused| RawSample { then, ..refused })?;
        // A value that ends its instance does so whether or not it is handed over itself.
        if end.is_end() {
            let judge = |instances: &mut Instances| instances.judge(cx.now, &end);
            if self.instances.as_mut().is_none_or(|instances| judge(instances) == Verdict::Deliver) {
                self.history.push_end(end);
                self.has_news = true;
            }
        }
        Ok(())
    }

    #[expect(
        clippy::result_large_err,
        reason = "a refused sample moves on, it is rare and no error to report"
    )]
    fn place(&mut self, cx: &mut Context<'_>, sample: RawSample) -> Result<(), RawSample> {
        if sample.expires_at.is_some_and(|at| at <= cx.now) {
            self.filter_out(cx, sample);
            return Ok(());
        }
        let judge = |instances: &mut Instances| instances.judge(cx.now, &sample);
        let verdict = self.instances.as_mut().map_or(Verdict::Deliver, judge);
        match verdict {
            Verdict::Deliver | Verdict::Hold if !self.is_wanted(&sample) => self.filter_out(cx, sample),
            Verdict::Deliver => return self.hand_over(cx, sample),
            Verdict::Hold => {
                let replaced = self.instances.as_mut().and_then(|instances| instances.hold(sample));
                replaced.into_iter().for_each(|sample| self.filter_out(cx, sample));
            }
            Verdict::Drop => self.filter_out(cx, sample),
            Verdict::Reject => {
                self.reject(cx, sample.writer, RejectReason::Instances);
                self.give(sample.payload);
            }
        }
        Ok(())
    }

    #[expect(
        clippy::result_large_err,
        reason = "a refused sample moves on, it is rare and no error to report"
    )]
    fn hand_over(&mut self, cx: &mut Context<'_>, sample: RawSample) -> Result<(), RawSample> {
        let (instance, is_end) = (sample.instance, sample.is_end());
        match self.history.push(sample) {
            Ok(overwritten) => {
                cx.statistics.samples_overwritten += u64::from(overwritten);
                cx.statistics.samples_received += u64::from(self.is_user());
                self.has_news = true;
                if let Some(instances) = self.instances.as_mut().filter(|_| !is_end) {
                    instances.note_passed(cx.now, instance);
                }
            }
            Err((Refused::Full, sample)) => {
                self.is_stalled = true;
                return Err(sample);
            }
            Err((Refused::Instances, sample)) => {
                self.reject(cx, sample.writer, RejectReason::Instances);
                self.give(sample.payload);
            }
        }
        Ok(())
    }

    /// The filter or the QoS says that a sample is nothing for the application.
    fn filter_out(&mut self, cx: &mut Context<'_>, sample: RawSample) {
        self.count_filtered(cx, 1);
        self.give(sample.payload);
    }

    fn count_filtered(&mut self, cx: &mut Context<'_>, count: u64) {
        self.status.samples_filtered += count;
        cx.statistics.samples_filtered += count;
    }

    /// Counts samples that will never come.
    pub(super) fn lose(&mut self, cx: &mut Context<'_>, count: u64) {
        if count == 0 {
            return;
        }
        // A forged number far ahead must not overflow the count.
        self.status.samples_lost = self.status.samples_lost.saturating_add(count);
        cx.statistics.samples_lost = cx.statistics.samples_lost.saturating_add(count);
        if self.is_user() {
            cx.tell(Event::SamplesLost { local: self.reader, total: self.status.samples_lost });
        }
    }

    /// Counts a sample that is refused.
    pub(super) fn reject(&mut self, cx: &mut Context<'_>, writer: Guid, reason: RejectReason) {
        cx.statistics.samples_rejected += 1;
        self.status.samples_rejected += 1;
        self.status.rejected_last = Some(reason);
        if self.is_user() {
            let total = self.status.samples_rejected;
            cx.tell(Event::SampleRejected { local: self.reader, remote: writer, reason, total });
        }
    }

    pub(super) fn take(&mut self, cx: &mut Context<'_>) -> Option<RawSample> {
        self.expire(cx);
        let sample = self.history.pop()?;
        if let Some(instances) = &mut self.instances {
            instances.note_taken(&sample);
        }
        Some(sample)
    }

    fn expire(&mut self, cx: &mut Context<'_>) {
        let expired = self.history.expire(cx.now);
        self.count_filtered(cx, expired);
    }

    // Writers come and go.

    /// Notes a matched writer's strength.
    pub(super) fn note_writer(&mut self, writer: Guid, strength: i32) {
        if let Some(instances) = &mut self.instances {
            instances.note_writer(writer, strength);
        }
    }

    /// A writer no longer writes anything: tells of the instances that have no writer left.
    pub(super) fn release_writer(&mut self, writer: Guid) {
        let Some(instances) = &mut self.instances else { return };
        let status = StatusInfo { disposed: false, unregistered: true };
        for instance in instances.remove_writer(writer) {
            let numbered = (writer, SequenceNumber::ZERO);
            let end = RawSample::ending(numbered, None, Some(instance), status, Locator::IN_PROCESS);
            self.history.push_end(end);
            self.has_news = true;
        }
    }

    /// A writer is no longer matched.
    pub(super) fn forget_writer(&mut self, writer: Guid) {
        self.release_writer(writer);
        if let Some(instances) = &mut self.instances {
            instances.forget_strength(writer);
        }
    }

    // Timers.

    /// When [`Inbox::handle_timeout`] has work; costs no more than a look.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let instances = self.instances.as_ref().and_then(Instances::deadline);
        [instances, self.history.expires_at()].into_iter().flatten().min()
    }

    /// Counts missed deadlines, drops what has expired, and hands over what the time-based filter held back.
    pub(super) fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.expire(cx);
        let Some(instances) = &mut self.instances else { return };
        let missed = instances.missed(cx.now);
        if let Some((instance, _)) = missed.last() {
            self.status.deadline_missed += missed.iter().map(|(_, periods)| periods).sum::<u64>();
            self.status.deadline_missed_last = *instance;
            let total = self.status.deadline_missed;
            cx.tell(Event::DeadlineMissed { local: self.reader, instance: *instance, total });
        }
        for sample in instances.take_passing(cx.now) {
            if let Err(refused) = self.deliver(cx, sample) {
                // A full keep-all history: the filter drops samples anyway, and the next one may fit.
                self.reject(cx, refused.writer, RejectReason::Samples);
                self.give(refused.payload);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.history.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.history.is_full()
    }

    /// A payload buffer, reused when there is one.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.history.buffers().take()
    }

    /// Takes a buffer back.
    pub(super) fn give(&mut self, payload: Vec<u8>) {
        self.history.buffers().give(payload);
    }
}
