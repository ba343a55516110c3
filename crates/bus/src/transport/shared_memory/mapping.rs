#![allow(unsafe_code, reason = "maps shared memory")]
//! Memory that processes share: rings, which their writers write and others read, and bells, which everyone rings.
//! May touch: memory files and their mappings.
//!
//! The memory is an anonymous file that can be neither cut nor enlarged (seals, `fcntl(2)`): whoever maps it insists on
//! that, as memory that is never cut never faults. After its writer's own mapping, nobody can map a ring for writing.
//!
//! All access is by atomics of one size, as threads of one process would share memory; readers of rings load relaxed
//! only, which is defined for memory that they cannot write to.

use std::ffi::{CStr, c_void};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use super::ring::{Memory, OwnWord, Word};

/// A word that this process may write.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Writable(AtomicU64);

/// A word of another process.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct ReadOnly(AtomicU64);

impl Word for Writable {
    fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl OwnWord for Writable {
    fn store(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Word for ReadOnly {
    fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters, in a cache line of their own, before the arena.
const HEADER_WORDS: usize = 8;
const HEAD: usize = 0;
const RESERVED: usize = 1;
const LATEST: usize = 2;
const WORD_BYTES: usize = size_of::<u64>();
/// The smallest arena: two of the largest entries.
pub(crate) const ARENA_BYTES_MIN: usize = 1 << 18;
/// The largest arena that we make or map.
pub(crate) const ARENA_BYTES_MAX: usize = 1 << 26;
/// What keeps those safe that map a file of ours.
const FIXED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);
/// What keeps a ring its writer's.
const RING: SealFlags = FIXED.union(SealFlags::FUTURE_WRITE);
const BOTH: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);
/// Of `statfs(2)`, for memory files with pages of the usual size.
const TMPFS_MAGIC: u32 = 0x0102_1994;

/// Mapped words, unmapped when dropped: a ring's, [`Writable`] or [`ReadOnly`], or a bell's, [`AtomicU32`].
#[derive(Debug)]
pub(crate) struct Mapping<W> {
    base: NonNull<c_void>,
    words: usize,
    kind: PhantomData<W>,
}

// SAFETY: the mapping belongs to this value alone and is only accessed by atomics.
unsafe impl<W> Send for Mapping<W> {}
// SAFETY: shared references give out atomics only.
unsafe impl<W> Sync for Mapping<W> {}

impl Mapping<Writable> {
    /// A new ring's memory, all zero, with an arena of at least `bytes`; and the file by which others map it.
    pub(crate) fn create(bytes: usize) -> io::Result<(Self, OwnedFd)> {
        let arena = bytes.clamp(ARENA_BYTES_MIN, ARENA_BYTES_MAX).next_power_of_two();
        Self::make(c"stillwatt-bus-ring", HEADER_WORDS + arena / WORD_BYTES, RING)
    }
}

impl Mapping<ReadOnly> {
    /// Maps a ring that another process made.
    ///
    /// # Errors
    /// When the file is not one that [`Mapping::create`] makes, so that reading it might fault, or cannot be mapped.
    pub(crate) fn open(file: &OwnedFd) -> io::Result<Self> {
        let size = check(file, RING)?;
        let arena = size.checked_sub(HEADER_WORDS * WORD_BYTES).ok_or(io::ErrorKind::InvalidData)?;
        if !arena.is_power_of_two() || !(ARENA_BYTES_MIN..=ARENA_BYTES_MAX).contains(&arena) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(file, size / WORD_BYTES, ProtFlags::READ)
    }
}

impl Mapping<AtomicU32> {
    /// A new bell's memory, zero, and the file by which others map it.
    pub(crate) fn create_bell() -> io::Result<(Self, OwnedFd)> {
        Self::make(c"stillwatt-bus-bell", 1, FIXED)
    }

    /// Maps a bell that another process made; an error as [`Mapping::open`].
    pub(crate) fn open_bell(file: &OwnedFd) -> io::Result<Self> {
        if check(file, FIXED)? != size_of::<AtomicU32>() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(file, 1, BOTH)
    }

    pub(crate) fn bell(&self) -> &AtomicU32 {
        &self.all()[0]
    }
}

/// The size of a memory file that has these seals.
fn check(file: &OwnedFd, needed: SealFlags) -> io::Result<usize> {
    let refused = || io::Error::from(io::ErrorKind::InvalidData);
    let seals = rustix::fs::fcntl_get_seals(file).map_err(|_| refused())?;
    // Files with huge pages have seals, too, and may lack a page when it is needed.
    let is_plain = rustix::fs::fstatfs(file)?.f_type as u32 == TMPFS_MAGIC;
    if !seals.contains(needed) || !is_plain {
        return Err(refused());
    }
    usize::try_from(rustix::fs::fstat(file)?.st_size).map_err(|_| refused())
}

impl<W> Mapping<W> {
    fn make(name: &CStr, words: usize, seals: SealFlags) -> io::Result<(Self, OwnedFd)> {
        let file = memory_file(name)?;
        rustix::fs::ftruncate(&file, (words * size_of::<W>()) as u64)?;
        let mapping = Self::map(&file, words, BOTH)?;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        Ok((mapping, file))
    }

    fn map(file: impl AsFd, words: usize, protection: ProtFlags) -> io::Result<Self> {
        let length = words * size_of::<W>();
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0) }?;
        let base = NonNull::new(base).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { base, words, kind: PhantomData })
    }

    fn all(&self) -> &[W] {
        // SAFETY: so many words are mapped, page-aligned, for the life of `self`. `W` is an atomic or wraps one: every value
        // is one, and other processes may change it at any time.
        unsafe { std::slice::from_raw_parts(self.base.cast::<W>().as_ptr(), self.words) }
    }
}

impl<W: Word> Memory for Mapping<W> {
    type Word = W;

    fn head(&self) -> &W {
        &self.all()[HEAD]
    }

    fn latest(&self) -> &W {
        &self.all()[LATEST]
    }

    fn reserved(&self) -> &W {
        &self.all()[RESERVED]
    }

    fn arena(&self) -> &[W] {
        &self.all()[HEADER_WORDS..]
    }

    fn fence_acquire(&self) {
        fence(Ordering::Acquire);
    }

    fn fence_release(&self) {
        fence(Ordering::Release);
    }
}

impl<W> Drop for Mapping<W> {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and nobody has a reference into it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr(), self.words * size_of::<W>()) };
        debug_assert!(unmapped.is_ok());
    }
}

fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Systems that forbid executable memory files want to be told; kernels before 6.3 do not know the word.
    let made = rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL);
    Ok(made.or_else(|_| rustix::fs::memfd_create(name, flags))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    /// Once made, a ring's file can neither be written to, cut, enlarged nor mapped for writing, by nobody.
    #[test]
    fn files_are_sealed() {
        let (memory, file) = Mapping::create(0).unwrap();
        assert_eq!(rustix::io::write(&file, b"x"), Err(Errno::PERM));
        assert_eq!(rustix::io::pwrite(&file, b"x", 0), Err(Errno::PERM));
        assert_eq!(rustix::fs::ftruncate(&file, 0), Err(Errno::PERM));
        assert_eq!(rustix::fs::ftruncate(&file, 1 << 30), Err(Errno::PERM));
        let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        assert_eq!(rustix::fs::fallocate(&file, punch, 0, 4096), Err(Errno::PERM));
        assert!(Mapping::<Writable>::map(&file, memory.words, ProtFlags::WRITE).is_err());
        memory.head().store(7);
        assert_eq!(Mapping::open(&file).unwrap().head().load(), 7);
    }

    /// A bell is shared for writing, and nothing but a bell is taken for one.
    #[test]
    fn bells_are_shared() {
        let (bell, file) = Mapping::create_bell().unwrap();
        let other = Mapping::open_bell(&file).unwrap();
        other.bell().store(9, Ordering::Relaxed);
        assert_eq!(bell.bell().load(Ordering::Relaxed), 9);
        assert_eq!(rustix::fs::ftruncate(&file, 0), Err(Errno::PERM));
        assert!(Mapping::open(&file).is_err());
        let (_ring, file) = Mapping::create(0).unwrap();
        assert!(Mapping::open_bell(&file).is_err());
        let loose = memory_file(c"test").unwrap();
        rustix::fs::ftruncate(&loose, 4).unwrap();
        assert!(Mapping::open_bell(&loose).is_err());
    }

    /// Arenas have the size asked for, within the bounds, as a power of two.
    #[test]
    fn arenas_are_sized() {
        let sizes = [(0, 1 << 18), (1 << 18, 1 << 18), ((1 << 18) + 1, 1 << 19), (usize::MAX, 1 << 26)];
        for (asked, given) in sizes {
            let (memory, _file) = Mapping::create(asked).unwrap();
            assert_eq!(memory.arena().len() * 8, given);
        }
    }

    /// Files that could be cut, that another could write to, or that have no ring's size are refused.
    #[test]
    fn foreign_files_are_refused() {
        let size = (HEADER_WORDS * WORD_BYTES + ARENA_BYTES_MIN) as u64;
        let sealed = |size, seals| {
            let file = memory_file(c"test").unwrap();
            rustix::fs::ftruncate(&file, size).unwrap();
            rustix::fs::fcntl_add_seals(&file, seals).unwrap();
            file
        };
        assert!(Mapping::open(&sealed(size, RING)).is_ok());
        for lacking in [SealFlags::SHRINK, SealFlags::GROW, SealFlags::FUTURE_WRITE] {
            assert!(Mapping::open(&sealed(size, RING - lacking)).is_err());
        }
        let header = size - ARENA_BYTES_MIN as u64;
        for size in [0, 8, header, size - 8, size + 8, header + (1 << 17), header + (1 << 27)] {
            assert!(Mapping::open(&sealed(size, RING)).is_err(), "{size}");
        }
        let (pipe, _other) = io::pipe().unwrap();
        assert!(Mapping::open(&pipe.into()).is_err());
        let null =
            rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap();
        assert!(Mapping::open(&null).is_err());
        let huge = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        if let Ok(file) = rustix::fs::memfd_create(c"test", huge) {
            let _ = rustix::fs::fcntl_add_seals(&file, RING);
            assert!(Mapping::open(&file).is_err());
        }
    }
}
