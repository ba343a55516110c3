//! How much a writer sends before it is acknowledged, so that it does not overrun its readers' sockets.

use alloc::collections::VecDeque;

use crate::SequenceNumber;

/// What a datagram costs of the window besides its bytes: about what the kernel charges a socket buffer for it.
pub(super) const DATAGRAM_COST: usize = 768;

/// Costs of what is on its way. Known at marks only, so what is acknowledged counts a little late.
#[derive(Debug)]
pub(super) struct Window {
    max: u64,
    sent: u64,
    acknowledged: u64,
    asked: u64,
    /// The cost of everything up to a sample.
    marks: VecDeque<(SequenceNumber, u64)>,
}

/// So many parts of the window get a mark each.
const MARKS: u64 = 8;
/// After so large a part of the window an acknowledgement is asked for.
const QUESTIONS: u64 = 4;

impl Window {
    /// A window of `max` octets.
    pub(super) fn new(max: usize) -> Self {
        Self { max: max as u64, sent: 0, acknowledged: 0, asked: 0, marks: VecDeque::new() }
    }

    /// Whether a further sample may be sent. With nothing on its way, always.
    pub(super) fn is_open(&self) -> bool {
        self.sent - self.acknowledged < self.max
    }

    /// Counts a sample that was sent.
    pub(super) fn note_sent(&mut self, sequence: SequenceNumber, cost: usize) {
        self.sent += cost as u64;
        let marked = self.marks.back().map_or(self.acknowledged, |(_, cost)| *cost);
        if self.sent - marked >= self.max / MARKS {
            self.marks.push_back((sequence, self.sent));
        }
    }

    /// Whether so much was sent since the last question that it is time for one.
    pub(super) fn is_question_due(&self) -> bool {
        self.sent - self.asked >= self.max / QUESTIONS
    }

    pub(super) fn note_asked(&mut self) {
        self.asked = self.sent;
    }

    /// Counts everything up to `lowest` as arrived; `sent` is the newest sample sent.
    pub(super) fn note_acknowledged(&mut self, lowest: SequenceNumber, sent: SequenceNumber) {
        if lowest >= sent {
            self.acknowledged = self.sent;
            self.marks.clear();
            return;
        }
        while let Some((_, cost)) = self.marks.front().filter(|(sequence, _)| *sequence <= lowest) {
            self.acknowledged = *cost;
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window closes when it is full, opens as samples are acknowledged, and asks before it is full.
    #[test]
    fn what_is_on_its_way_is_bounded() {
        let mut window = Window::new(800);
        let mut sent = 0;
        while window.is_open() {
            sent += 1;
            window.note_sent(SequenceNumber(sent), 50);
            if sent == 3 {
                assert!(!window.is_question_due());
            }
        }
        assert_eq!(sent, 16);
        assert!(window.is_question_due());
        window.note_asked();
        assert!(!window.is_question_due());
        window.note_acknowledged(SequenceNumber(1), SequenceNumber(sent));
        assert!(!window.is_open());
        window.note_acknowledged(SequenceNumber(5), SequenceNumber(sent));
        assert!(window.is_open());
        window.note_acknowledged(SequenceNumber(sent), SequenceNumber(sent));
        assert_eq!(window.sent, window.acknowledged);
        let mut large = Window::new(10);
        large.note_sent(SequenceNumber(1), 1_000_000);
        large.note_acknowledged(SequenceNumber(1), SequenceNumber(1));
        assert!(large.is_open());
    }
}
