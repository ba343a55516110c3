#![expect(clippy::disallowed_methods, reason = "I/O shell: memory shared between the bench's processes")]
//! Shared memory and a futex: copy in, one wake for everyone, copy out. Answers go to a place of each process's own and
//! ring one bell.
//!
//! The memory is words that are only read and written atomically, so that no process can make another's access
//! undefined.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;

use super::super::line;
use super::{PeerOptions, drive, sample};
use crate::bench::program::failed;
use crate::report::{Exit, Failure};

/// Words of a channel before its payload: number of the round, and how many wait for it. On lines of their own, as the
/// payload.
const LINE: usize = 32;
const NUMBER: usize = 0;
const WAITING: usize = LINE;
const PAYLOAD: usize = 2 * LINE;
/// The number that ends the answering processes.
const END: u32 = u32::MAX;

/// One direction: a number that counts up and the payload that belongs to it.
#[derive(Clone, Copy)]
struct Channel {
    words: &'static [AtomicU32],
}

static NOTHING: AtomicU32 = AtomicU32::new(0);

impl Channel {
    fn words_for(size: u32) -> usize {
        (PAYLOAD + sample(size).len().div_ceil(4)).next_multiple_of(LINE)
    }

    fn word(&self, at: usize) -> &'static AtomicU32 {
        self.words.get(at).unwrap_or(&NOTHING)
    }

    fn write(&self, payload: &[u32]) {
        for (word, value) in self.words.iter().skip(PAYLOAD).zip(payload) {
            word.store(*value, Ordering::Relaxed);
        }
    }

    fn read(&self, payload: &mut [u32]) {
        for (word, value) in self.words.iter().skip(PAYLOAD).zip(payload) {
            *value = word.load(Ordering::Relaxed);
        }
    }

    fn number(&self) -> u32 {
        self.word(NUMBER).load(Ordering::Acquire)
    }

    /// Publishes `number` and wakes whoever waits.
    fn publish(&self, number: u32) {
        self.word(NUMBER).store(number, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if self.word(WAITING).load(Ordering::SeqCst) > 0 {
            // Only a bad address can fail it, which a mapped word is not.
            let _ = futex::wake(self.word(NUMBER), futex::Flags::empty(), i32::MAX.unsigned_abs());
        }
    }

    /// Blocks until the number is no longer `seen`.
    fn wait_beyond(&self, seen: u32) {
        while self.number() == seen {
            self.word(WAITING).fetch_add(1, Ordering::SeqCst);
            // Interrupted or changed already: the loop looks again.
            let _ = futex::wait(self.word(NUMBER), futex::Flags::empty(), seen, None);
            self.word(WAITING).fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The channel to everyone, the bell, and the channel from each process.
struct Shared {
    out: Channel,
    bell: Channel,
    back: Vec<Channel>,
}

impl Shared {
    fn open(options: &PeerOptions) -> Result<Self, Failure> {
        let path: PathBuf = options
            .memory
            .clone()
            .ok_or_else(|| Failure::new(Exit::Usage, "the floor's shared memory needs --memory"))?;
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let each = Channel::words_for(options.size);
        let channels = options.subscribers as usize + 2;
        let bytes = each * channels * size_of::<AtomicU32>();
        // Whoever comes first makes it large enough; a file only grows.
        if file.metadata().map_err(failed)?.len() < bytes as u64 {
            file.set_len(bytes as u64).map_err(failed)?;
        }
        let words = map(&file, each * channels)?;
        let mut all = words.chunks_exact(each).map(|words| Channel { words });
        let (Some(out), Some(bell)) = (all.next(), all.next()) else {
            return Err(Failure::new(Exit::Failed, "the shared memory is too small"));
        };
        Ok(Self { out, bell, back: all.collect() })
    }
}

/// Maps `count` words of `file` for the rest of the process.
#[expect(unsafe_code, reason = "a shared mapping is what this measures")]
fn map(file: &std::fs::File, count: usize) -> Result<&'static [AtomicU32], Failure> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    let length = count * size_of::<AtomicU32>();
    // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
    let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, protection, flags, file, 0) };
    let start = start.map_err(|errno| failed(std::io::Error::from(errno)))?.cast::<AtomicU32>();
    // SAFETY: `start` is page-aligned and valid for `length` bytes until the process ends, since nothing unmaps it and
    // the file, of at least that length, is not truncated. All accesses are atomic, and every bit pattern is a u32.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// Answers every round.
pub(super) fn pong(options: &PeerOptions) -> Result<Exit, Failure> {
    let shared = Shared::open(options)?;
    let back = shared.back.get(options.id as usize);
    let back = *back.ok_or_else(|| Failure::new(Exit::Usage, "--id is not below --subscribers"))?;
    line::say(&line::Ready::new(None));
    let mut payload = vec![0; sample(options.size).len().div_ceil(4)];
    let mut seen = 0;
    loop {
        shared.out.wait_beyond(seen);
        seen = shared.out.number();
        if seen == END {
            return Ok(Exit::Done);
        }
        shared.out.read(&mut payload);
        back.write(&payload);
        back.word(NUMBER).store(seen, Ordering::Release);
        shared.bell.word(NUMBER).fetch_add(1, Ordering::SeqCst);
        shared.bell.wake();
    }
}

/// Sends rounds to everyone at once. Numbers in memory are one higher than the rounds', since memory begins as zero.
pub(super) fn ping(options: &PeerOptions) -> Result<Exit, Failure> {
    let shared = Shared::open(options)?;
    let mut payload = vec![1; sample(options.size).len().div_ceil(4)];
    let mut copy = payload.clone();
    let mut answered = vec![0; shared.back.len()];
    let exit = drive(
        options,
        |number| {
            payload.fill(number);
            shared.out.write(&payload);
            shared.out.publish(number + 1);
            Ok(())
        },
        || loop {
            let rung = shared.bell.number();
            let ready =
                shared.back.iter().zip(&mut answered).enumerate().find_map(|(id, (back, answered))| {
                    let number = back.number();
                    let is_new = number != *answered;
                    *answered = number;
                    is_new.then_some((id, back, number))
                });
            if let Some((id, back, number)) = ready {
                back.read(&mut copy);
                let id = u32::try_from(id).unwrap_or(u32::MAX);
                return Ok(Some((id, number.wrapping_sub(1))));
            }
            shared.bell.wait_beyond(rung);
        },
    );
    shared.out.publish(END);
    exit
}
