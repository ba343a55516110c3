//! Datagrams waiting to be sent, and the buffers they came in.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::{Limits, Locator, Statistics};

/// Bytes and where to send them.
#[derive(Debug, Default)]
pub struct Datagram {
    /// Every destination, each to be sent one copy.
    pub to: Vec<Locator>,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// A bounded queue of datagrams that reuses their buffers.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Datagram>,
    spare: Vec<Datagram>,
}

/// Buffers kept for reuse; more are given back to the allocator.
const SPARE_MAX: usize = 64;
/// A buffer larger than this is not kept.
const SPARE_BYTES_MAX: usize = 128 << 10;

impl Outbox {
    /// An empty datagram, reusing a buffer when there is one.
    pub(crate) fn start(&mut self) -> Datagram {
        self.spare.pop().unwrap_or_default()
    }

    /// Queues a datagram; without a destination it is dropped, and counted when the queue is full.
    pub(crate) fn send(&mut self, datagram: Datagram, limits: &Limits, statistics: &mut Statistics) {
        if datagram.to.is_empty() {
            self.recycle(datagram);
        } else if self.queue.len() >= limits.outbox_max {
            statistics.outbox_dropped += 1;
            self.recycle(datagram);
        } else {
            statistics.datagrams_sent += datagram.to.len() as u64;
            self.queue.push_back(datagram);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Datagram> {
        self.queue.pop_front()
    }

    /// Takes a buffer back.
    pub(crate) fn recycle(&mut self, mut datagram: Datagram) {
        if self.spare.len() < SPARE_MAX && datagram.bytes.capacity() <= SPARE_BYTES_MAX {
            datagram.to.clear();
            datagram.bytes.clear();
            self.spare.push(datagram);
        }
    }
}

/// What every part of the machine needs while it decides: the time, the bounds, and where results go.
pub(crate) struct Context<'a> {
    pub(crate) now: units::Instant,
    pub(crate) prefix: crate::GuidPrefix,
    pub(crate) limits: &'a Limits,
    pub(crate) timing: &'a crate::Timing,
    pub(crate) reach: &'a crate::Reach,
    pub(crate) fragment_size: u16,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) statistics: &'a mut Statistics,
}

impl Context<'_> {
    /// Queues a datagram.
    pub(crate) fn send(&mut self, datagram: Datagram) {
        self.outbox.send(datagram, self.limits, self.statistics);
    }
}
