//! The rings that this process reads, on the thread that reads them. May touch: shared memory, futexes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rtps::{Guid, Locator};
use rustix::thread::{ClockId, futex};

use super::mapping::{Mapping, ReadOnly};
use super::ring::{ENTRY_BYTES_MAX, Next, Reader};
use super::{Note, SharedMemory};
use crate::engine::Engine;
use crate::transport::Bell;

/// A ring of another process's writer, at the place from which it is read.
pub(crate) type PeerRing = Reader<Mapping<ReadOnly>>;

/// What the reading thread is told.
#[derive(Debug)]
pub(crate) enum Change {
    /// Read this ring, too.
    Attach(Guid, PeerRing),
    /// Read it no more; what it still holds is delivered first when `drains`.
    Detach { writer: Guid, drains: bool },
}

/// Entries taken from one ring before the others get a turn.
const BURST: usize = 64;

/// The rings that this process reads.
#[derive(Debug)]
pub(crate) struct Reading {
    rings: Vec<(Guid, PeerRing)>,
    /// One word each, after that of the bell.
    waits: Vec<futex::Wait>,
    buffer: Vec<u8>,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self { rings: Vec::new(), waits: Vec::new(), buffer: Vec::new() }
    }

    /// Does what the poll thread wants done.
    pub(crate) fn take_changes(&mut self, engine: &Arc<Engine>) {
        for change in engine.shared_memory.take_changes() {
            match change {
                Change::Attach(writer, ring) => {
                    self.buffer.resize(ENTRY_BYTES_MAX, 0);
                    self.rings.push((writer, ring));
                }
                Change::Detach { writer, drains } => {
                    let Some(index) = self.rings.iter().position(|(other, _)| *other == writer) else {
                        continue;
                    };
                    let (_, mut ring) = self.rings.remove(index);
                    if drains {
                        // Its writer has ended, and even one that has not fills a ring only so often.
                        (0..ENTRY_BYTES_MAX)
                            .all(|_| matches!(self.take(engine, writer, &mut ring), Next::Entry(_)));
                    }
                }
            }
        }
    }

    /// Delivers what has come; false when there was nothing.
    pub(crate) fn deliver(&mut self, engine: &Arc<Engine>) -> bool {
        let mut any = false;
        let mut rings = std::mem::take(&mut self.rings);
        rings.retain_mut(|(writer, ring)| {
            for _ in 0..BURST {
                match self.take(engine, *writer, ring) {
                    Next::Empty => return true,
                    Next::Entry(_) | Next::Overrun => any = true,
                    Next::Broken => {
                        engine.shared_memory.note(Note::Broken(*writer));
                        return false;
                    }
                }
            }
            true
        });
        self.rings = rings;
        any
    }

    /// Delivers one entry.
    fn take(&mut self, engine: &Arc<Engine>, writer: Guid, ring: &mut PeerRing) -> Next {
        let next = ring.next(&mut self.buffer);
        match next {
            Next::Entry(length) => {
                let bytes = self.buffer.get(..length).unwrap_or_default();
                engine.dispatch(None, Locator::shared_memory(writer), bytes);
            }
            Next::Overrun => {
                engine.counters.shared_memory_overruns.fetch_add(1, Ordering::Relaxed);
            }
            Next::Empty | Next::Broken => {}
        }
        next
    }

    /// Sleeps until there may be something to do: a ring has news, or the bell was rung more often than `rung` times.
    pub(crate) fn wait(&mut self, bell: &Bell, rung: u32, spin: Duration) {
        if !spin.is_zero() && self.spin(bell, rung, spin) {
            return;
        }
        if self.rings.is_empty() {
            return bell.wait(rung);
        }
        bell.sleep(|word| {
            self.waits.clear();
            self.waits.push(wait_for(word, rung, futex::WaitFlags::PRIVATE));
            let rings = self.rings.iter();
            self.waits.extend(rings.map(|(_, ring)| {
                wait_for(ring.memory().awaited_word(), ring.awaited(), futex::WaitFlags::empty())
            }));
            // Woken, interrupted or changed meanwhile: the caller looks anyway.
            let _ = futex::waitv(&self.waits, futex::WaitvFlags::empty(), None, ClockId::Monotonic);
        });
    }

    /// Looks without sleeping, for at most so long; true when there is something.
    fn spin(&self, bell: &Bell, rung: u32, time: Duration) -> bool {
        let end = node::clock::monotonic() + time;
        loop {
            for _ in 0..LOOKS {
                if bell.rung() != rung || self.rings.iter().any(|(_, ring)| ring.has_next()) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if node::clock::monotonic() >= end {
                return false;
            }
        }
    }
}

/// Looks between two looks at the clock.
const LOOKS: u32 = 16;

fn wait_for(word: *mut std::ffi::c_void, value: u32, flags: futex::WaitFlags) -> futex::Wait {
    let mut wait = futex::Wait::new();
    wait.val = value.into();
    wait.uaddr = futex::WaitPtr::new(word);
    wait.flags = futex::WaitFlags::SIZE_U32 | flags;
    wait
}

impl SharedMemory {
    /// Whether the system can wait for several words at once.
    pub(super) fn probe_waiting() -> Result<(), rustix::io::Errno> {
        let word = std::sync::atomic::AtomicU32::new(0);
        let wait = wait_for(word.as_ptr().cast(), 1, futex::WaitFlags::PRIVATE);
        match futex::waitv(&[wait], futex::WaitvFlags::empty(), None, ClockId::Monotonic) {
            // The word is not what was claimed, which only a kernel that knows the call can find out.
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}
