//! Datagrams waiting to be sent, and the buffers they came in.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::Instant;

use crate::event::{Event, Events};
use crate::guard::Guard;
use crate::{Limits, Locator, Statistics};

/// Bytes and where to send them.
#[derive(Debug, Default)]
pub struct Datagram {
    /// Every destination, each to be sent one copy.
    pub to: Vec<Locator>,
    /// The datagram.
    pub bytes: Vec<u8>,
    /// How urgent it is, see [`crate::qos::Qos::transport_priority`]; 0 for what no writer wrote.
    pub priority: i32,
}

/// A bounded queue of datagrams that reuses their buffers.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Datagram>,
    pub(crate) guard: Guard,
    /// While something is said to one address, its datagrams join the first of them.
    is_joining: bool,
    joined: Vec<Datagram>,
    spare: Vec<Datagram>,
}

/// The header of an RTPS message.
const HEADER_BYTES: usize = 20;
/// What fits an Ethernet frame.
const JOINED_BYTES_MAX: usize = 1472;
/// Buffers kept for reuse; more are given back to the allocator.
const SPARE_MAX: usize = 64;
/// A buffer larger than this is not kept.
const SPARE_BYTES_MAX: usize = 128 << 10;

impl Outbox {
    /// An empty datagram, reusing a buffer when there is one.
    pub(crate) fn start(&mut self) -> Datagram {
        self.spare.pop().unwrap_or_default()
    }

    /// Begins to join datagrams for the same addresses, as long as they fit an Ethernet frame. They have not been sent
    /// before [`Outbox::join_end`].
    pub(crate) fn join_begin(&mut self) {
        self.is_joining = true;
    }

    /// Ends it, and queues what was joined.
    pub(crate) fn join_end(&mut self, now: Instant, limits: &Limits, statistics: &mut Statistics) {
        self.is_joining = false;
        for datagram in core::mem::take(&mut self.joined) {
            self.send(now, datagram, limits, statistics);
        }
    }

    fn join(&mut self, datagram: Datagram) {
        let body = datagram.bytes.get(HEADER_BYTES..).unwrap_or_default();
        let last = self.joined.last_mut().filter(|last| last.to == datagram.to);
        match last.filter(|last| last.bytes.len() + body.len() <= JOINED_BYTES_MAX) {
            Some(last) => {
                last.bytes.extend_from_slice(body);
                self.recycle(datagram);
            }
            None => self.joined.push(datagram),
        }
    }

    /// Queues a datagram; without a destination it is dropped, and counted when the queue is full, or when it may not go
    /// to an address on probation.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        mut datagram: Datagram,
        limits: &Limits,
        statistics: &mut Statistics,
    ) {
        if self.is_joining {
            return self.join(datagram);
        }
        if !self.guard.is_idle() {
            let octets = datagram.bytes.len();
            let before = datagram.to.len();
            datagram.to.retain(|to| self.guard.may_send(now, to, octets));
            statistics.replies_withheld += (before - datagram.to.len()) as u64;
        }
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
    pub(crate) now: Instant,
    pub(crate) prefix: crate::GuidPrefix,
    pub(crate) limits: &'a Limits,
    pub(crate) timing: &'a crate::Timing,
    pub(crate) reach: &'a crate::Reach,
    pub(crate) fragment_size: u16,
    /// The priority of what is sent.
    pub(crate) priority: i32,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) events: &'a mut Events,
    pub(crate) statistics: &'a mut Statistics,
}

impl Context<'_> {
    /// Queues a datagram.
    pub(crate) fn send(&mut self, mut datagram: Datagram) {
        datagram.priority = self.priority;
        self.outbox.send(self.now, datagram, self.limits, self.statistics);
    }

    /// Tells the application.
    pub(crate) fn tell(&mut self, event: Event) {
        let dropped = self.events.push(event, self.limits.events_max);
        self.statistics.events_dropped += u64::from(dropped);
    }
}
