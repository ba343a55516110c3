//! The broadcast ring: one writer, any number of readers that it does not know. Pure: works on any [`Memory`].
//!
//! The memory holds three counters and an arena of 64-bit words, a power of two of them. Counters and cursors count words
//! since the ring was made and never wrap; where they lie in the arena is their remainder.
//!
//! * `head`: everything before it has been written.
//! * `latest`: where the last entry before `head` begins.
//! * `reserved`: everything before it has been written or is being written. What lies more than an arena before it is
//!   gone.
//!
//! An entry is one word (length in the low half, the low half of its own position in the high half as a stamp) and the
//! bytes, filled up to whole words; it may go over the arena's end. The writer never waits: it raises `reserved`, writes
//! the entry, raises `head`. A reader copies the entry at its cursor, and only then looks whether `reserved` has come so
//! far that the copy may be torn (a sequence lock for the whole ring). It then has been overrun, and goes on at `latest`:
//! the newest entry is the one that matters most, and after it there is the most time until that happens again.
//!
//! Readers believe nothing: whatever the memory says, they read inside the arena, copy at most
//! [`ENTRY_BYTES_MAX`] bytes a call, and return.

use std::sync::Arc;

/// The largest entry that any ring takes, in bytes: more than a datagram.
pub(crate) const ENTRY_BYTES_MAX: usize = 1 << 16;
const WORD_BYTES: usize = size_of::<u64>();

/// A word that readers and the writer share. Both accesses are relaxed.
pub(crate) trait Word {
    fn load(&self) -> u64;
}

/// A word of the writer.
pub(crate) trait OwnWord: Word {
    fn store(&self, value: u64);
}

/// What a ring lies in.
pub(crate) trait Memory {
    type Word: Word;

    fn head(&self) -> &Self::Word;
    fn latest(&self) -> &Self::Word;
    fn reserved(&self) -> &Self::Word;
    /// A power of two of words, at least four.
    fn arena(&self) -> &[Self::Word];
    /// What was loaded before is loaded before whatever is loaded later.
    fn fence_acquire(&self);
    /// What was stored before is seen before whatever is stored later.
    fn fence_release(&self);
}

impl<M: Memory> Memory for Arc<M> {
    type Word = M::Word;

    fn head(&self) -> &M::Word {
        (**self).head()
    }

    fn latest(&self) -> &M::Word {
        (**self).latest()
    }

    fn reserved(&self) -> &M::Word {
        (**self).reserved()
    }

    fn arena(&self) -> &[M::Word] {
        (**self).arena()
    }

    fn fence_acquire(&self) {
        (**self).fence_acquire();
    }

    fn fence_release(&self) {
        (**self).fence_release();
    }
}

/// An entry larger than the ring takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The writing end.
#[derive(Debug)]
pub(crate) struct Writer<M> {
    memory: M,
    /// What `head` says; kept apart, as the memory is only written.
    position: u64,
}

impl<M: Memory<Word: OwnWord>> Writer<M> {
    /// A ring in memory that is all zero.
    pub(crate) fn new(memory: M) -> Self {
        Self { memory, position: 0 }
    }

    /// Appends an entry. Never waits for a reader.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        let memory = &self.memory;
        let arena = memory.arena();
        if bytes.len() > entry_bytes_max(arena) {
            return Err(TooLarge);
        }
        let end = self.position + entry_words(bytes.len());
        // Whoever sees the reservation sees the head before it, too.
        memory.fence_release();
        memory.reserved().store(end);
        // Whoever sees a word of the new entry sees the reservation, too.
        memory.fence_release();
        if let Some(header) = split(arena, self.position).0.first() {
            header.store(header_of(self.position, bytes.len()));
        }
        write(arena, self.position + 1, bytes);
        // Whoever sees the new head sees the entry, too.
        memory.fence_release();
        memory.latest().store(self.position);
        memory.head().store(end);
        self.position = end;
        Ok(())
    }
}

/// What a reader found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing new.
    Empty,
    /// An entry of so many bytes, at the beginning of the buffer.
    Entry(usize),
    /// The writer was faster: entries are lost, and reading goes on with the newest.
    Overrun,
    /// Not a ring, or not any more: do not read on.
    Broken,
}

/// A reading end.
#[derive(Debug)]
pub(crate) struct Reader<M> {
    memory: M,
    cursor: u64,
}

impl<M: Memory> Reader<M> {
    /// Reads what is written from now on.
    pub(crate) fn new(memory: M) -> Self {
        let cursor = memory.head().load();
        Self { memory, cursor }
    }

    /// Whether [`Reader::next`] would find something.
    pub(crate) fn has_next(&self) -> bool {
        self.memory.head().load() != self.cursor
    }

    /// Copies the next entry to `buffer`, which has [`ENTRY_BYTES_MAX`] bytes.
    pub(crate) fn next(&mut self, buffer: &mut [u8]) -> Next {
        let memory = &self.memory;
        let arena = memory.arena();
        let capacity = arena.len() as u64;
        let available = memory.head().load().wrapping_sub(self.cursor);
        if available == 0 {
            return Next::Empty;
        }
        if available > capacity {
            return self.skip();
        }
        // The entry was complete before `head` said so.
        memory.fence_acquire();
        let copied = self.copy(arena, available, buffer);
        // The reservation that the copy may have met is seen now.
        memory.fence_acquire();
        if memory.reserved().load().wrapping_sub(self.cursor) > capacity {
            return self.skip();
        }
        let Some(length) = copied else { return Next::Broken };
        self.cursor = self.cursor.wrapping_add(entry_words(length));
        Next::Entry(length)
    }

    /// Goes on with the newest entry, or after it when it is just becoming the second newest.
    fn skip(&mut self) -> Next {
        let (memory, capacity) = (&self.memory, self.memory.arena().len() as u64);
        // What was known of the reservation or the head goes for this look at them as well.
        memory.fence_acquire();
        let (head, latest) = (memory.head().load(), memory.latest().load());
        let next = if head.wrapping_sub(latest) <= capacity { latest } else { head };
        // Ahead by less than half of all numbers: whoever is overrun always gets ahead.
        if next.wrapping_sub(self.cursor).wrapping_sub(1) >= u64::MAX / 2 {
            return Next::Broken;
        }
        self.cursor = next;
        Next::Overrun
    }

    /// The length of the entry at the cursor, copied unless it cannot be one.
    fn copy(&self, arena: &[M::Word], available: u64, buffer: &mut [u8]) -> Option<usize> {
        let header = split(arena, self.cursor).0.first()?.load();
        let length = usize::try_from(header & LOW_HALF).ok()?;
        let is_entry = header == header_of(self.cursor, length)
            && length <= entry_bytes_max(arena)
            && entry_words(length) <= available;
        if !is_entry {
            return None;
        }
        let mut chunks = buffer.get_mut(..length.next_multiple_of(WORD_BYTES))?.chunks_exact_mut(WORD_BYTES);
        let (first, second) = split(arena, self.cursor.wrapping_add(1));
        for part in [first, second] {
            for (word, chunk) in part.iter().zip(chunks.by_ref()) {
                chunk.copy_from_slice(&word.load().to_ne_bytes());
            }
        }
        Some(length)
    }
}

fn write<W: OwnWord>(arena: &[W], position: u64, bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
    let mut last = [0; WORD_BYTES];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let (first, second) = split(arena, position);
    let mut chunks = whole.iter();
    for part in [first, second] {
        for (word, chunk) in part.iter().zip(chunks.by_ref()) {
            word.store(u64::from_ne_bytes(*chunk));
        }
    }
    if !rest.is_empty()
        && let Some(word) = split(arena, position + whole.len() as u64).0.first()
    {
        word.store(u64::from_ne_bytes(last));
    }
}

/// The arena's words from `position` on: to its end, then from its beginning.
fn split<W>(arena: &[W], position: u64) -> (&[W], &[W]) {
    // The length is a power of two, so this is the remainder, and below the length.
    let at = position & (arena.len() as u64).wrapping_sub(1);
    let (second, first) = arena.split_at_checked(usize::try_from(at).unwrap_or(0)).unwrap_or_default();
    (first, second)
}

/// Words that an entry of so many bytes takes.
fn entry_words(bytes: usize) -> u64 {
    1 + bytes.div_ceil(WORD_BYTES) as u64
}

/// Half the arena, so that no entry meets itself, and at most a datagram.
fn entry_bytes_max<W>(arena: &[W]) -> usize {
    ((arena.len() / 2).saturating_sub(1) * WORD_BYTES).min(ENTRY_BYTES_MAX)
}

fn header_of(position: u64, bytes: usize) -> u64 {
    (position << 32) | (bytes as u64 & LOW_HALF)
}

const LOW_HALF: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    //! One thread, and every lie that memory can tell. Two threads are in `model`.

    use std::cell::Cell;

    use super::*;

    /// A ring's memory for one thread.
    #[derive(Debug)]
    struct Plain {
        counters: [Cell<u64>; 3],
        arena: Vec<Cell<u64>>,
    }

    impl Word for Cell<u64> {
        fn load(&self) -> u64 {
            self.get()
        }
    }

    impl OwnWord for Cell<u64> {
        fn store(&self, value: u64) {
            self.set(value);
        }
    }

    impl Memory for Plain {
        type Word = Cell<u64>;

        fn head(&self) -> &Cell<u64> {
            &self.counters[0]
        }

        fn reserved(&self) -> &Cell<u64> {
            &self.counters[1]
        }

        fn latest(&self) -> &Cell<u64> {
            &self.counters[2]
        }

        fn arena(&self) -> &[Cell<u64>] {
            &self.arena
        }

        fn fence_acquire(&self) {}

        fn fence_release(&self) {}
    }

    fn plain(words: usize) -> Arc<Plain> {
        let arena = (0..words).map(|_| Cell::new(0)).collect();
        #[expect(clippy::arc_with_non_send_sync, reason = "one thread; the ring is shared as in production")]
        Arc::new(Plain { counters: Default::default(), arena })
    }

    fn take(reader: &mut Reader<Arc<Plain>>) -> Option<Vec<u8>> {
        let mut buffer = vec![0xee; ENTRY_BYTES_MAX];
        match reader.next(&mut buffer) {
            Next::Empty => None,
            Next::Entry(length) => Some(buffer[..length].to_vec()),
            other => panic!("{other:?}"),
        }
    }

    /// Entries of every size come out whole, in order, wherever they lie in the arena.
    #[test]
    fn entries_survive() {
        let memory = plain(64);
        let mut writer = Writer::new(Arc::clone(&memory));
        let mut reader = Reader::new(memory);
        assert_eq!(take(&mut reader), None);
        for round in 0..50_u8 {
            for length in [0, 1, 7, 8, 9, 63, 64, 100, 248] {
                let bytes: Vec<u8> = (0..length).map(|index| index ^ round).collect();
                writer.push(&bytes).unwrap();
                assert!(reader.has_next());
                assert_eq!(take(&mut reader), Some(bytes));
                assert_eq!(take(&mut reader), None);
            }
        }
        assert_eq!(writer.push(&[0; 249]), Err(TooLarge));
        assert_eq!(take(&mut reader), None);
    }

    /// A reader that begins late reads what is written next, one that was overrun the newest entry, and an arena that is
    /// exactly full overruns nobody.
    #[test]
    fn overrun_readers_go_on() {
        let memory = plain(64);
        let mut writer = Writer::new(Arc::clone(&memory));
        writer.push(b"before").unwrap();
        let mut reader = Reader::new(Arc::clone(&memory));
        for number in 0..32 {
            writer.push(&[number]).unwrap();
        }
        for number in 0..32 {
            assert_eq!(take(&mut reader), Some(vec![number]));
        }
        for number in 0..33 {
            writer.push(&[number]).unwrap();
        }
        assert_eq!(reader.next(&mut vec![0; ENTRY_BYTES_MAX]), Next::Overrun);
        assert_eq!(take(&mut reader), Some(vec![32]));
        assert_eq!(take(&mut reader), None);
        writer.push(b"after").unwrap();
        assert_eq!(take(&mut reader), Some(b"after".to_vec()));
    }

    /// Whatever another process writes to the ring, reading it ends, stays within bounds and gives at most one entry of
    /// bounded size a call.
    #[test]
    fn lies_do_no_harm() {
        let edges = [0, 1, 7, 63, 64, 65, 1 << 16, u64::from(u32::MAX), 1 << 32, u64::MAX - 1, u64::MAX];
        let mut buffer = vec![0; ENTRY_BYTES_MAX];
        for head in edges {
            for reserved in edges {
                for header in edges {
                    for start in edges {
                        let memory = plain(64);
                        memory.head().set(start);
                        let mut reader = Reader::new(Arc::clone(&memory));
                        memory.head().set(head);
                        memory.reserved().set(reserved);
                        memory.latest().set(reserved ^ head);
                        for (index, word) in memory.arena().iter().enumerate() {
                            word.set(header ^ ((index as u64) << 32));
                        }
                        let ends = (0..100).any(|_| match reader.next(&mut buffer) {
                            Next::Entry(length) => {
                                assert!(length <= entry_bytes_max(&memory.arena));
                                false
                            }
                            Next::Empty | Next::Broken => true,
                            Next::Overrun => false,
                        });
                        assert!(
                            ends,
                            "head {head:x} reserved {reserved:x} header {header:x} start {start:x}"
                        );
                    }
                }
            }
        }
    }

    /// Lengths and stamps that do not fit are found out.
    #[test]
    fn damage_is_found_out() {
        for damage in [header_of(0, 9), header_of(0, 1 << 20), header_of(1, 8), u64::MAX] {
            let memory = plain(64);
            let mut writer = Writer::new(Arc::clone(&memory));
            let mut reader = Reader::new(Arc::clone(&memory));
            writer.push(&[1; 8]).unwrap();
            memory.arena[0].set(damage);
            assert_eq!(reader.next(&mut vec![0; ENTRY_BYTES_MAX]), Next::Broken, "{damage:x}");
        }
    }
}
