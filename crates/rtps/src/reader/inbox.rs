//! A reader's samples for the application, and what it counts about them.

use alloc::vec::Vec;

use crate::Limits;
use crate::filter::Filter;
use crate::history::{RawSample, ReaderHistory, Refused};
use crate::outbox::Context;
use crate::qos::Qos;

/// The history with the reader's own counters.
#[derive(Debug)]
pub(super) struct Inbox {
    history: ReaderHistory,
    /// Built-in readers are not part of the statistics of user topics.
    is_user: bool,
    pub(super) lost: u64,
    filter: Option<Filter>,
    /// Samples that the filter did not let pass.
    pub(super) filtered: u64,
    /// A full keep-all history holds samples back.
    pub(super) is_stalled: bool,
    pub(super) has_news: bool,
}

impl Inbox {
    pub(super) fn new(qos: &Qos, limits: &Limits, is_user: bool) -> Self {
        let history = ReaderHistory::new(qos, limits);
        Self { history, is_user, lost: 0, filter: None, filtered: 0, is_stalled: false, has_news: false }
    }

    /// Only samples that pass are handed over from now on.
    pub(super) fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
    }

    /// Whether a sample passes the filter. The ends of instances do, and what is no sample of the type: whoever takes
    /// it finds out.
    fn is_wanted(&self, sample: &RawSample) -> bool {
        let is_end = sample.status.disposed || sample.status.unregistered;
        let filter = self.filter.as_ref().filter(|_| !is_end);
        filter.is_none_or(|filter| filter.is_met_by(&sample.payload).unwrap_or(true))
    }

    /// Hands a sample over; gives it back, and notes that the reader is stalled, when there is no room.
    pub(super) fn deliver(&mut self, cx: &mut Context<'_>, sample: RawSample) -> Result<(), RawSample> {
        if !self.is_wanted(&sample) {
            self.filtered += 1;
            cx.statistics.samples_filtered += 1;
            self.give(sample.payload);
            return Ok(());
        }
        match self.history.push(sample) {
            Ok(overwritten) => {
                cx.statistics.samples_overwritten += u64::from(overwritten);
                cx.statistics.samples_received += u64::from(self.is_user);
                self.has_news = true;
                Ok(())
            }
            Err((Refused::Full, sample)) => {
                self.is_stalled = true;
                Err(sample)
            }
            Err((Refused::Instances, sample)) => {
                cx.statistics.samples_rejected += 1;
                self.give(sample.payload);
                Ok(())
            }
        }
    }

    /// Counts samples that will never come.
    pub(super) fn lose(&mut self, cx: &mut Context<'_>, count: u64) {
        // A forged number far ahead must not overflow the count.
        self.lost = self.lost.saturating_add(count);
        cx.statistics.samples_lost = cx.statistics.samples_lost.saturating_add(count);
    }

    pub(super) fn take(&mut self) -> Option<RawSample> {
        self.history.pop()
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
