//! The rings that this process reads, on the thread that reads them. May touch: shared memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rtps::{Guid, Locator};

use super::Note;
use super::mapping::{Mapping, ReadOnly};
use super::ring::{ENTRY_BYTES_MAX, Next, Reader};
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
    buffer: Vec<u8>,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self { rings: Vec::new(), buffer: Vec::new() }
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

    /// Delivers what has come; false when some is left, because others want a turn.
    pub(crate) fn deliver(&mut self, engine: &Arc<Engine>) -> bool {
        let mut is_done = true;
        let mut rings = std::mem::take(&mut self.rings);
        rings.retain_mut(|(writer, ring)| {
            for _ in 0..BURST {
                match self.take(engine, *writer, ring) {
                    Next::Empty => return true,
                    Next::Entry(_) | Next::Overrun => {}
                    Next::Broken => {
                        engine.shared_memory.note(Note::Broken(*writer));
                        return false;
                    }
                }
            }
            is_done = false;
            true
        });
        self.rings = rings;
        is_done
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

    /// Sleeps until there may be something to do: a ring has news, or the bell was rung since `news`.
    pub(crate) fn wait(&mut self, bell: &Bell, news: u32, spin: Duration) {
        let has_next = || self.rings.iter().any(|(_, ring)| ring.has_next());
        if !spin.is_zero() && look(spin, || bell.news() != news || has_next()) {
            return;
        }
        bell.sleep(news, has_next);
    }
}

/// Looks without sleeping, for at most so long; true when there is something.
fn look(time: Duration, has_news: impl Fn() -> bool) -> bool {
    let end = node::clock::monotonic() + time;
    loop {
        for _ in 0..LOOKS {
            if has_news() {
                return true;
            }
            std::hint::spin_loop();
        }
        if node::clock::monotonic() >= end {
            return false;
        }
    }
}

/// Looks between two looks at the clock.
const LOOKS: u32 = 16;
