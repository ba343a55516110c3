//! Octets that a connection's socket has not taken yet. Pure.

/// A bounded queue of octets, of which the first are sent first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bytes: Vec<u8>,
    start: usize,
}

/// A buffer larger than this is not kept when it is empty.
const KEEP_BYTES_MAX: usize = 128 << 10;

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// What to send next.
    pub(super) fn pending(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Where to append. The caller keeps the bound: only it knows what may be left away.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        &mut self.bytes
    }

    /// The first `count` octets were sent.
    pub(super) fn advance(&mut self, count: usize) {
        self.start = self.bytes.len().min(self.start + count);
        if self.is_empty() {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.start = 0;
        self.bytes.clear();
        if self.bytes.capacity() > KEEP_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets leave in the order in which they came, whatever pieces are taken, and an emptied queue keeps no memory.
    #[test]
    fn octets_leave_in_order() {
        let mut queue = Queue::default();
        let (mut sent, mut put) = (Vec::new(), 0_u32);
        for round in 0..200_usize {
            for _ in 0..round % 7 {
                queue.tail().extend(put.to_le_bytes());
                put += 1;
            }
            let count = (round * 5 % 11).min(queue.len());
            sent.extend_from_slice(&queue.pending()[..count]);
            queue.advance(count);
        }
        sent.extend_from_slice(queue.pending());
        queue.advance(queue.len());
        let expected: Vec<u8> = (0..put).flat_map(u32::to_le_bytes).collect();
        assert!(sent == expected && queue.is_empty());
        queue.tail().resize(1 << 20, 0);
        queue.advance(1 << 20);
        assert_eq!(queue.bytes.capacity(), 0);
    }
}
