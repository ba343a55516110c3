//! Rounds of one master: who has answered, how long it took. Pure.

/// What an answer means for the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not of this round, or seen already.
    Ignored,
    /// Others have not answered yet.
    Waiting,
    /// All have answered: send the next one.
    Next,
    /// All rounds are over.
    Done,
}

/// The rounds so far. Allocates only when made.
#[derive(Debug)]
pub(super) struct Rounds {
    samples: usize,
    /// Of each process that answers, the number after that of the last round it answered.
    answered: Vec<u32>,
    missing: usize,
    number: u32,
    started_ns: u64,
    answers: Vec<u64>,
    rounds: Vec<u64>,
}

impl Rounds {
    /// `samples` rounds with `subscribers` answers each.
    pub(super) fn new(samples: u32, subscribers: u32) -> Self {
        let (samples, subscribers) = (samples as usize, subscribers as usize);
        Self {
            samples,
            answered: vec![0; subscribers],
            missing: subscribers,
            number: 0,
            started_ns: 0,
            answers: Vec::with_capacity(samples * subscribers),
            rounds: Vec::with_capacity(samples),
        }
    }

    /// The round's number, which the samples carry.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Rounds that are over.
    pub(super) fn finished(&self) -> usize {
        self.rounds.len()
    }

    /// The round's sample is sent now, perhaps again.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.started_ns = now_ns;
    }

    /// Process `id` answered round `number`.
    pub(super) fn handle_answer(&mut self, id: u32, number: u32, now_ns: u64) -> Progress {
        let Some(answered) = self.answered.get_mut(id as usize) else { return Progress::Ignored };
        if number != self.number || *answered > number || self.rounds.len() == self.samples {
            return Progress::Ignored;
        }
        *answered = number + 1;
        let time = now_ns.saturating_sub(self.started_ns);
        self.answers.push(time);
        self.missing -= 1;
        if self.missing > 0 {
            return Progress::Waiting;
        }
        self.missing = self.answered.len();
        self.rounds.push(time);
        self.number += 1;
        if self.rounds.len() == self.samples { Progress::Done } else { Progress::Next }
    }

    /// Round-trip time of each answer, in ns.
    pub(super) fn answers(&self) -> &[u64] {
        &self.answers
    }

    /// Time until all had answered, of each round, in ns.
    pub(super) fn rounds(&self) -> &[u64] {
        &self.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round ends with the last of its answers; late, repeated and unknown ones do not count.
    #[test]
    fn rounds_end_with_the_last_answer() {
        let mut rounds = Rounds::new(2, 2);
        rounds.start(100);
        assert_eq!(rounds.handle_answer(1, 0, 110), Progress::Waiting);
        assert_eq!(rounds.handle_answer(1, 0, 111), Progress::Ignored);
        assert_eq!(rounds.handle_answer(2, 0, 111), Progress::Ignored);
        assert_eq!(rounds.handle_answer(0, 0, 130), Progress::Next);
        rounds.start(200);
        assert_eq!(rounds.handle_answer(0, 0, 201), Progress::Ignored);
        assert_eq!(rounds.handle_answer(0, 1, 205), Progress::Waiting);
        rounds.start(300);
        assert_eq!(rounds.handle_answer(1, 1, 307), Progress::Done);
        assert_eq!(rounds.handle_answer(1, 1, 308), Progress::Ignored);
        assert_eq!(rounds.answers(), [10, 30, 5, 7]);
        assert_eq!(rounds.rounds(), [30, 7]);
    }
}
