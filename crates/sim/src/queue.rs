//! What happens next: copies that arrive and deadlines of hosts, in one heap.
//!
//! Each step costs the logarithm of what is under way, never the number of hosts.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rtps::Locator;
use units::Instant;

/// A datagram under way; all its copies share it.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) from: Locator,
    pub(crate) bytes: Box<[u8]>,
}

/// Something that happens to a host.
#[derive(Debug)]
pub(crate) enum Happening {
    Arrival(Arc<Packet>),
    /// The host asked to be woken. Outdated when the host's next deadline is another one by now.
    Deadline,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    /// Entries of the same instant happen in the order in which they were made.
    number: u64,
    pub(crate) host: u32,
    pub(crate) what: Happening,
}

/// The heap.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Entry>,
    made: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, at: Instant, host: u32, what: Happening) {
        self.made += 1;
        self.heap.push(Entry { at, number: self.made, host, what });
    }

    /// The next thing, if it happens by `end`.
    pub(crate) fn pop_until(&mut self, end: Instant) -> Option<Entry> {
        self.heap.peek().filter(|entry| entry.at <= end)?;
        self.heap.pop()
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier things come first, things of one instant in the order in which they were made.
    #[test]
    fn order_is_time_then_making() {
        let mut queue = Queue::default();
        for (at, host) in [(5, 0), (3, 1), (5, 2), (1, 3), (3, 4)] {
            queue.push(Instant::from_nanos(at), host, Happening::Deadline);
        }
        let until =
            |queue: &mut Queue, end| queue.pop_until(Instant::from_nanos(end)).map(|entry| entry.host);
        let popped: Vec<_> = std::iter::from_fn(|| until(&mut queue, 4)).collect();
        assert_eq!(popped, [3, 1, 4]);
        assert_eq!((until(&mut queue, 5), until(&mut queue, 5), queue.len()), (Some(0), Some(2), 0));
    }
}
