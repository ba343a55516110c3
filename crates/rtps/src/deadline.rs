//! Which instances of a writer or reader have gone longer without a sample than their deadline allows (DDS 2.2.3.7).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use crate::cdr::KeyHash;
use crate::{Lease, Timing};

/// An instance; `None` is the only one of a topic without a key.
pub(crate) type Instance = Option<KeyHash>;

/// The deadlines of an endpoint's instances.
///
/// A sample only moves its instance's due time. The queue holds one entry an instance, which is put right when its
/// old time comes, so that steady traffic costs one look-up a sample.
#[derive(Debug)]
pub(crate) struct Deadlines {
    period: Duration,
    due: BTreeMap<Instance, Due>,
    queue: BTreeSet<(Instant, Instance)>,
    /// Instances watched at most; further ones are not.
    max: usize,
}

/// When a sample is due, and under which time the queue has it.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    queued_at: Instant,
}

impl Deadlines {
    /// `None` for an endpoint without a deadline, which costs nothing then. A period below
    /// [`Timing::PERIOD_MIN`] becomes that.
    pub(crate) fn new(period: Lease, max: usize) -> Option<Self> {
        match period {
            Lease::Infinite => None,
            Lease::Finite(period) => {
                let period = period.max(Timing::PERIOD_MIN);
                Some(Self { period, due: BTreeMap::new(), queue: BTreeSet::new(), max })
            }
        }
    }

    /// A sample of this instance came.
    pub(crate) fn restart(&mut self, instance: Instance, now: Instant) {
        let next = now.saturating_add(self.period);
        if let Some(due) = self.due.get_mut(&instance) {
            due.at = next;
        } else if self.due.len() < self.max {
            self.due.insert(instance, Due { at: next, queued_at: next });
            self.queue.insert((next, instance));
        }
    }

    /// The instance has ended: no further sample is due.
    pub(crate) fn stop(&mut self, instance: Instance) {
        if let Some(due) = self.due.remove(&instance) {
            self.queue.remove(&(due.queued_at, instance));
        }
    }

    /// When [`Deadlines::missed`] has work; may be early.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// The instances of which a sample was due by now, each with the number of periods that passed without one.
    pub(crate) fn missed(&mut self, now: Instant) -> Vec<(Instance, u64)> {
        let mut missed = Vec::new();
        while let Some((_, instance)) = self.queue.first().copied().filter(|(at, _)| *at <= now) {
            self.queue.pop_first();
            let Some(due) = self.due.get_mut(&instance) else { continue };
            if due.at <= now {
                let period = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX);
                let periods = 1 + (now.as_nanos() - due.at.as_nanos()) / period;
                due.at = due.at.saturating_add(Duration::from_nanos(periods.saturating_mul(period)));
                missed.push((instance, periods));
            }
            due.queued_at = due.at;
            self.queue.insert((due.at, instance));
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Each instance has a deadline of its own, which samples move on, and every period missed counts once, however late
    /// somebody looks.
    #[test]
    fn every_missed_period_counts_once() {
        let mut deadlines = Deadlines::new(Lease::Finite(PERIOD), 2).unwrap();
        let (first, second) = (Some(KeyHash([1; 16])), Some(KeyHash([2; 16])));
        deadlines.restart(first, at(0));
        deadlines.restart(second, at(5));
        deadlines.restart(Some(KeyHash([3; 16])), at(5));
        deadlines.restart(first, at(9));
        assert_eq!(deadlines.next(), Some(at(10)));
        assert_eq!(deadlines.missed(at(10)), []);
        assert_eq!(deadlines.next(), Some(at(15)));
        assert_eq!(deadlines.missed(at(20)), [(second, 1), (first, 1)]);
        deadlines.stop(first);
        assert_eq!(deadlines.missed(at(47)), [(second, 3)]);
        assert_eq!(deadlines.next(), Some(at(55)));
    }

    /// An endpoint that asks for no deadline has nothing to watch; a period of zero does not make it spin.
    #[test]
    fn no_deadline_costs_nothing() {
        assert!(Deadlines::new(Lease::Infinite, 9).is_none());
        let mut deadlines = Deadlines::new(Lease::Finite(Duration::ZERO), 9).unwrap();
        deadlines.restart(None, at(0));
        assert_eq!(deadlines.missed(at(3)), [(None, 3)]);
    }
}
