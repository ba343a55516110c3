//! What wakes the thread that delivers data of this machine. May touch: shared memory, futexes.
//!
//! The word says whether the thread is asleep. It lies in shared memory, so that the writers whose rings the thread reads
//! can wake it; while it is awake, nobody needs a system call. Whoever has news makes them visible first and then looks
//! at the word; the thread marks itself asleep first and then looks for news ([`announce`], [`settle_down`]): one of the
//! two sees the other. Whoever may write to the word could keep the thread asleep. These are processes of the same user,
//! who could as well stop the process.

use std::io;
use std::os::fd::AsFd;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use rustix::thread::futex;

use super::shared_memory::Mapping;

/// What the protocol needs of a word and the kernel. All accesses are relaxed.
pub(crate) trait Sleeper {
    fn load(&self) -> u32;
    fn swap(&self, value: u32) -> u32;
    /// Nothing before it is reordered with anything after it, among all that call it.
    fn fence_full(&self);
    /// Sleeps until woken, unless the word is not `value`; may wake without a reason.
    fn wait(&self, value: u32);
    fn wake(&self);
}

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Wakes the thread if it sleeps. What it is to find is visible already.
pub(crate) fn announce(sleeper: &impl Sleeper) {
    sleeper.fence_full();
    // Of several, one wakes it.
    if sleeper.load() == ASLEEP && sleeper.swap(AWAKE) == ASLEEP {
        sleeper.wake();
    }
}

/// Sleeps until woken, unless there are news.
pub(crate) fn settle_down(sleeper: &impl Sleeper, has_news: impl FnOnce() -> bool) {
    sleeper.swap(ASLEEP);
    sleeper.fence_full();
    if !has_news() {
        sleeper.wait(ASLEEP);
    }
    sleeper.swap(AWAKE);
}

impl Sleeper for Mapping<AtomicU32> {
    fn load(&self) -> u32 {
        self.bell().load(Ordering::Relaxed)
    }

    fn swap(&self, value: u32) -> u32 {
        self.bell().swap(value, Ordering::Relaxed)
    }

    fn fence_full(&self) {
        fence(Ordering::SeqCst);
    }

    fn wait(&self, value: u32) {
        // Woken, interrupted or changed meanwhile: the caller looks anyway.
        let _ = futex::wait(self.bell(), futex::Flags::empty(), value, None);
    }

    fn wake(&self) {
        // Cannot fail: the word is there.
        let _ = futex::wake(self.bell(), futex::Flags::empty(), 1);
    }
}

/// The bell of this process's thread.
#[derive(Debug)]
pub(crate) struct Bell {
    word: Mapping<AtomicU32>,
    file: OwnedFd,
    /// Counts what this process itself has to tell the thread.
    news: AtomicU32,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let (word, file) = Mapping::create_bell()?;
        Ok(Self { word, file, news: AtomicU32::new(0) })
    }

    /// The file by which other processes map it.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// How often this process has rung it. What was rung for is visible to who reads this.
    pub(crate) fn news(&self) -> u32 {
        self.news.load(Ordering::Acquire)
    }

    /// Wakes the thread, or keeps it from falling asleep.
    pub(crate) fn ring(&self) {
        self.news.fetch_add(1, Ordering::Release);
        announce(&self.word);
    }

    /// Sleeps until rung by anybody, unless it was since `news`, or `has_more` says so.
    pub(crate) fn sleep(&self, news: u32, has_more: impl FnOnce() -> bool) {
        settle_down(&self.word, || self.news() != news || has_more());
    }
}
