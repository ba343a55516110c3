//! What wakes the thread that delivers data of this machine: a counter to sleep on. May touch: futexes.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::thread::futex;

/// Rung by anybody, heard by one thread.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU32,
    /// Otherwise ringing needs no system call.
    is_asleep: AtomicBool,
}

impl Bell {
    /// How often it was rung. Whoever looks for work after reading this and finds none may sleep until it changes.
    pub(crate) fn rung(&self) -> u32 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Wakes the thread, or keeps it from falling asleep.
    pub(crate) fn ring(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
        if self.is_asleep.load(Ordering::SeqCst) {
            // Cannot fail: the word is there.
            let _ = futex::wake(&self.rung, futex::Flags::PRIVATE, 1);
        }
    }

    /// Runs `sleep`, which returns at the latest when the counter in the kernel is no longer what it was.
    pub(crate) fn sleep(&self, sleep: impl FnOnce(*mut c_void)) {
        // Either ringing sees this, or sleeping sees the counter changed.
        self.is_asleep.store(true, Ordering::SeqCst);
        sleep(self.rung.as_ptr().cast());
        self.is_asleep.store(false, Ordering::SeqCst);
    }

    /// Sleeps until it is rung more often than `rung` times.
    pub(crate) fn wait(&self, rung: u32) {
        self.sleep(|_| {
            // Woken, interrupted or rung meanwhile: the caller looks anyway.
            let _ = futex::wait(&self.rung, futex::Flags::PRIVATE, rung, None);
        });
    }
}
