//! The ring's algorithm under every interleaving and memory order that loom can find: two threads, or three.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::ring::{ENTRY_BYTES_MAX, Memory, Next, OwnWord, Reader, Word, Writer};
use crate::transport::bell::{Sleeper, announce, settle_down};

/// A ring's memory as loom sees it.
#[derive(Debug)]
struct Modelled {
    head: AtomicU64,
    reserved: AtomicU64,
    latest: AtomicU64,
    arena: Vec<AtomicU64>,
}

/// A bell, with the kernel's part of sleeping.
#[derive(Debug)]
struct ModelledBell {
    word: AtomicU32,
    /// The kernel compares and goes to sleep under a lock that waking takes, too.
    kernel: Mutex<()>,
    woken: Condvar,
}

impl Word for AtomicU64 {
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
}

impl OwnWord for AtomicU64 {
    fn store(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }
}

impl Memory for Modelled {
    type Word = AtomicU64;

    fn head(&self) -> &AtomicU64 {
        &self.head
    }

    fn latest(&self) -> &AtomicU64 {
        &self.latest
    }

    fn reserved(&self) -> &AtomicU64 {
        &self.reserved
    }

    fn arena(&self) -> &[AtomicU64] {
        &self.arena
    }

    fn fence_acquire(&self) {
        fence(Ordering::Acquire);
    }

    fn fence_release(&self) {
        fence(Ordering::Release);
    }
}

impl Modelled {
    fn new(words: usize) -> Arc<Self> {
        Arc::new(Self {
            head: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            latest: AtomicU64::new(0),
            arena: (0..words).map(|_| AtomicU64::new(0)).collect(),
        })
    }
}

impl ModelledBell {
    fn new() -> Arc<Self> {
        Arc::new(Self { word: AtomicU32::new(0), kernel: Mutex::new(()), woken: Condvar::new() })
    }
}

impl Sleeper for ModelledBell {
    fn load(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    fn swap(&self, value: u32) -> u32 {
        self.word.swap(value, Ordering::Relaxed)
    }

    fn fence_full(&self) {
        fence(Ordering::SeqCst);
    }

    fn wait(&self, value: u32) {
        let guard = self.kernel.lock().unwrap();
        // The kernel reads what is there, as only an atomic change does in this model.
        if self.word.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            drop(self.woken.wait(guard).unwrap());
        }
    }

    fn wake(&self) {
        drop(self.kernel.lock().unwrap());
        self.woken.notify_one();
    }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Entries of one word each; a torn one would have the wrong stamp in its bytes.
fn push(writer: &mut Writer<Arc<Modelled>>, number: u64) {
    writer.push(&number.to_ne_bytes()).unwrap();
}

/// What a reader gets is whole and in order, however often it is overrun: the arena holds two entries, and four are
/// written.
#[test]
fn nothing_torn_is_read() {
    check(|| {
        let memory = Modelled::new(4);
        let mut reader = Reader::new(Arc::clone(&memory));
        let mut writer = Writer::new(memory);
        let writing = thread::spawn(move || (1..=4).for_each(|number| push(&mut writer, number)));
        let mut buffer = vec![0; ENTRY_BYTES_MAX];
        let mut last = 0;
        for _ in 0..3 {
            match reader.next(&mut buffer) {
                Next::Entry(length) => {
                    let number = u64::from_ne_bytes(buffer[..length].try_into().unwrap());
                    assert!((last + 1..=4).contains(&number), "{number} after {last}");
                    last = number;
                }
                Next::Empty | Next::Overrun => {}
                Next::Broken => panic!("a whole ring was taken for a broken one"),
            }
        }
        writing.join().unwrap();
    });
}

/// A reader that sleeps when it finds nothing gets everything: no wake-up is lost.
#[test]
fn no_wake_up_is_lost() {
    check(|| {
        let memory = Modelled::new(8);
        let mut reader = Reader::new(Arc::clone(&memory));
        let mut writer = Writer::new(memory);
        let bell = ModelledBell::new();
        let rung = Arc::clone(&bell);
        let writing = thread::spawn(move || {
            for number in 1..=2 {
                push(&mut writer, number);
                announce(&*rung);
            }
        });
        let mut buffer = vec![0; ENTRY_BYTES_MAX];
        let mut read = 0;
        while read < 2 {
            match reader.next(&mut buffer) {
                Next::Entry(_) => read += 1,
                Next::Empty => settle_down(&*bell, || reader.has_next()),
                other => panic!("{other:?}"),
            }
        }
        writing.join().unwrap();
    });
}

/// Readers do not disturb each other.
#[test]
fn readers_are_independent() {
    check(|| {
        let memory = Modelled::new(8);
        let read = |memory: &Arc<Modelled>| {
            let mut reader = Reader::new(Arc::clone(memory));
            move || {
                let mut buffer = vec![0; ENTRY_BYTES_MAX];
                let entries = (0..2).filter(|_| matches!(reader.next(&mut buffer), Next::Entry(8))).count();
                (reader, entries)
            }
        };
        let (first, second) = (read(&memory), read(&memory));
        let mut writer = Writer::new(Arc::clone(&memory));
        let (first, second) = (thread::spawn(first), thread::spawn(second));
        push(&mut writer, 1);
        push(&mut writer, 2);
        for (mut reader, entries) in [first.join().unwrap(), second.join().unwrap()] {
            let mut buffer = vec![0; ENTRY_BYTES_MAX];
            let rest = (0..3).filter(|_| matches!(reader.next(&mut buffer), Next::Entry(8))).count();
            assert_eq!(entries + rest, 2);
        }
    });
}
