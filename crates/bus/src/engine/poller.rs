//! The thread that watches many descriptors: TCP connections, multicast groups, control sockets.
//! May touch: epoll, an eventfd.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use units::Instant;

use super::{Engine, lock};

/// Something with a descriptor that the poll thread watches.
pub(crate) trait Source: Send + Sync + fmt::Debug {
    /// The descriptor; the same for the life of the source.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Called on the poll thread when the descriptor is ready. Must not block, and must take what is there: the
    /// descriptor is watched level-triggered.
    fn handle_ready(&self, engine: &Arc<Engine>);

    /// Told its token, before it is called for the first time.
    fn watched(&self, _token: Token) {}

    /// When [`Source::handle_timeout`] wants to be called.
    fn deadline(&self) -> Instant {
        Instant::MAX
    }

    /// Called on the poll thread once the deadline has passed.
    fn handle_timeout(&self, _engine: &Arc<Engine>) {}
}

/// What a source waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Nothing, for now.
    Nothing,
    /// To be read.
    Read,
    /// To be read or written.
    ReadWrite,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Self::Nothing => EventFlags::empty(),
            Self::Read => EventFlags::IN,
            Self::ReadWrite => EventFlags::IN | EventFlags::OUT,
        }
    }
}

/// Names a watched source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token(u64);

#[derive(Debug, Default)]
struct Sources {
    next: u64,
    by_token: BTreeMap<Token, Arc<dyn Source>>,
}

/// The watched sources.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
    sources: Mutex<Sources>,
    pub(super) has_thread: AtomicBool,
}

/// Descriptors reported by one wait.
const EVENTS_MAX: usize = 64;
const WAKE: u64 = u64::MAX;

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Self { epoll, wake, sources: Mutex::default(), has_thread: AtomicBool::new(false) })
    }

    /// Watches a source.
    pub(crate) fn add(&self, source: Arc<dyn Source>, interest: Interest) -> io::Result<Token> {
        let mut sources = lock(&self.sources);
        let token = Token(sources.next);
        epoll::add(&self.epoll, source.descriptor(), EventData::new_u64(token.0), interest.flags())?;
        sources.next += 1;
        source.watched(token);
        sources.by_token.insert(token, source);
        drop(sources);
        self.wake();
        Ok(token)
    }

    /// Changes what a source waits for.
    pub(crate) fn set_interest(&self, token: Token, source: &dyn Source, interest: Interest) {
        // Fails only for a source that is watched no more.
        let _ =
            epoll::modify(&self.epoll, source.descriptor(), EventData::new_u64(token.0), interest.flags());
    }

    /// Watches a source no more. It may be in a call on the poll thread still.
    pub(crate) fn remove(&self, token: Token) {
        if let Some(source) = lock(&self.sources).by_token.remove(&token) {
            let _ = epoll::delete(&self.epoll, source.descriptor());
        }
    }

    /// Makes the thread look at deadlines and at whether it should end.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// The body of the thread.
    pub(super) fn run(&self, engine: &Arc<Engine>) {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while !engine.is_stopping() {
            let timeout = self.run_timeouts(engine);
            events.clear();
            if epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref())
                .is_err()
            {
                continue;
            }
            for event in &events {
                let data = event.data.u64();
                if data == WAKE {
                    let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
                    continue;
                }
                let source = lock(&self.sources).by_token.get(&Token(data)).cloned();
                let Some(source) = source else { continue };
                source.handle_ready(engine);
            }
        }
        lock(&self.sources).by_token.clear();
    }

    /// Runs what is due; returns how long to wait for the next.
    fn run_timeouts(&self, engine: &Arc<Engine>) -> Option<Timespec> {
        let now = node::clock::monotonic();
        let mut next = self.next_deadline();
        if next <= now {
            let due = |source: &&Arc<dyn Source>| source.deadline() <= now;
            let due: Vec<Arc<dyn Source>> =
                lock(&self.sources).by_token.values().filter(due).cloned().collect();
            for source in due {
                source.handle_timeout(engine);
            }
            next = self.next_deadline();
        }
        (next < Instant::MAX).then(|| {
            let left = next.saturating_since(node::clock::monotonic());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        })
    }

    fn next_deadline(&self) -> Instant {
        lock(&self.sources).by_token.values().map(|source| source.deadline()).min().unwrap_or(Instant::MAX)
    }
}
