//! Whose rings this process wants to read, and how far it is with each. Pure: what happened in, what to do out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rtps::{Guid, GuidPrefix};
use units::Instant;

use super::message::{Kind, Message};

/// The name that a process gave itself.
pub(crate) type Process = [u8; 16];

/// What the shell is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Connect, and tell the outcome.
    Connect(Process),
    /// Nothing more is wanted from there.
    Disconnect(Process),
    /// Send a message on the connection.
    Send(Process, Message),
    /// Read a ring no more; what it still holds is delivered first when `drains`.
    Detach { writer: Guid, drains: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// To be asked for once there is a connection and room.
    Waiting,
    Asked,
    Attached,
    /// Not to be had: its data comes by the other transports.
    Refused,
}

#[derive(Debug)]
struct Want {
    process: Process,
    readers: BTreeSet<Guid>,
    stage: Stage,
}

#[derive(Debug, Default)]
struct Link {
    is_connected: bool,
    /// Wants of this process.
    wants: BTreeSet<Guid>,
    /// Rings asked for and not answered.
    asked: usize,
    failures: u32,
    retry_at: Option<Instant>,
}

/// Rings read at once: each look for news looks at all of them.
pub(crate) const RINGS_MAX: usize = 256;
/// Questions to one process that are open at once: what a socket's buffer surely takes.
const ASKED_MAX: usize = 64;
/// A process that cannot be reached is tried so often, at first after [`RETRY_FIRST`], then after twice as long each.
const TRIES_MAX: u32 = 8;
const RETRY_FIRST: Duration = Duration::from_millis(20);

/// Whose rings this process wants to read.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    by_writer: BTreeMap<Guid, Want>,
    links: BTreeMap<Process, Link>,
    /// Asked for or attached.
    in_use: usize,
    /// Some wait for room or for answers.
    is_short: bool,
    actions: VecDeque<Action>,
}

impl Wants {
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether some rings are not read because there is no room.
    pub(crate) fn is_full(&self) -> bool {
        self.is_short && self.in_use >= RINGS_MAX
    }

    /// A reader of ours has matched a writer of another process.
    pub(crate) fn handle_matched(&mut self, writer: Guid, process: Process, reader: Guid) {
        let want = self.by_writer.entry(writer).or_insert_with(|| Want {
            process,
            readers: BTreeSet::new(),
            stage: Stage::Waiting,
        });
        let is_new_participant = !want.readers.iter().any(|other| other.prefix == reader.prefix);
        want.readers.insert(reader);
        let (process, stage) = (want.process, want.stage);
        if stage == Stage::Attached && is_new_participant {
            self.send(process, Kind::Ready, writer, reader.prefix);
        }
        let link = self.links.entry(process).or_default();
        link.wants.insert(writer);
        if link.is_connected {
            self.ask(writer);
        } else if link.retry_at.is_none() && link.failures == 0 {
            // Until the outcome is known, nobody else connects.
            link.retry_at = Some(Instant::MAX);
            self.actions.push_back(Action::Connect(process));
        }
    }

    /// They no longer match.
    pub(crate) fn handle_unmatched(&mut self, writer: Guid, reader: Guid) {
        let Some(want) = self.by_writer.get_mut(&writer) else { return };
        if !want.readers.remove(&reader) {
            return;
        }
        let (process, stage) = (want.process, want.stage);
        let is_last_of_participant = !want.readers.iter().any(|other| other.prefix == reader.prefix);
        let is_last = want.readers.is_empty();
        if stage == Stage::Attached && is_last_of_participant {
            self.send(process, Kind::Leave, writer, reader.prefix);
        }
        if is_last {
            self.forget(writer, process, stage);
        }
    }

    /// Readers are gone: one, or all of a participant.
    pub(crate) fn handle_gone(&mut self, is_gone: impl Fn(Guid) -> bool) {
        let pairs = self.by_writer.iter().flat_map(|(writer, want)| {
            want.readers.iter().filter(|reader| is_gone(**reader)).map(|reader| (*writer, *reader))
        });
        let pairs: Vec<(Guid, Guid)> = pairs.collect();
        for (writer, reader) in pairs {
            self.handle_unmatched(writer, reader);
        }
    }

    pub(crate) fn handle_connected(&mut self, process: Process) {
        let Some(link) = self.links.get_mut(&process) else { return };
        link.is_connected = true;
        link.retry_at = None;
        self.ask_all(process);
    }

    /// There is no connection; `is_final` when there never will be.
    pub(crate) fn handle_not_connected(&mut self, now: Instant, process: Process, is_final: bool) {
        let Some(link) = self.links.get_mut(&process) else { return };
        link.failures += 1;
        let delay = RETRY_FIRST * 2_u32.saturating_pow(link.failures.min(16) - 1);
        link.retry_at = (!is_final && link.failures < TRIES_MAX).then(|| now + delay);
    }

    /// A connection has ended.
    pub(crate) fn handle_hang_up(&mut self, now: Instant, process: Process) {
        let Some(link) = self.links.get_mut(&process) else { return };
        link.is_connected = false;
        link.asked = 0;
        for writer in link.wants.clone() {
            let Some(want) = self.by_writer.get_mut(&writer) else { continue };
            if matches!(want.stage, Stage::Asked | Stage::Attached) {
                self.in_use -= 1;
            }
            if want.stage == Stage::Attached {
                self.actions.push_back(Action::Detach { writer, drains: true });
            }
            if want.stage != Stage::Refused {
                want.stage = Stage::Waiting;
            }
        }
        self.handle_not_connected(now, process, false);
        self.ask_waiting();
    }

    /// A ring came. True when it is to be read; [`Wants::handle_attached`] or [`Wants::handle_unusable`] follows then.
    pub(crate) fn handle_ring(&mut self, process: Process, message: &Message) -> bool {
        let is_answer = self.take_answer(process, message.writer);
        // An answer that was given up and asked for again may come twice, and the ring be in use.
        if !is_answer && !self.by_writer.contains_key(&message.writer) {
            self.send(process, Kind::Leave, message.writer, message.reader);
        }
        is_answer
    }

    /// The ring is being read.
    pub(crate) fn handle_attached(&mut self, writer: Guid) {
        let Some(want) = self.by_writer.get_mut(&writer) else { return };
        want.stage = Stage::Attached;
        self.in_use += 1;
        let process = want.process;
        let prefixes: BTreeSet<GuidPrefix> = want.readers.iter().map(|reader| reader.prefix).collect();
        for prefix in prefixes {
            self.send(process, Kind::Ready, writer, prefix);
        }
        self.ask_waiting();
    }

    /// The ring that came, or that is being read, is not one.
    pub(crate) fn handle_unusable(&mut self, writer: Guid) {
        let Some(want) = self.by_writer.get_mut(&writer) else { return };
        let process = want.process;
        let prefixes: BTreeSet<GuidPrefix> = want.readers.iter().map(|reader| reader.prefix).collect();
        let was_attached = want.stage == Stage::Attached;
        want.stage = Stage::Refused;
        for prefix in prefixes {
            self.send(process, Kind::Leave, writer, prefix);
        }
        if was_attached {
            self.in_use -= 1;
            self.actions.push_back(Action::Detach { writer, drains: false });
        }
        self.ask_waiting();
    }

    /// The writer's process will not give it.
    pub(crate) fn handle_refused(&mut self, process: Process, writer: Guid) {
        if self.take_answer(process, writer)
            && let Some(want) = self.by_writer.get_mut(&writer)
        {
            want.stage = Stage::Refused;
        }
        self.ask_waiting();
    }

    /// When [`Wants::handle_timeout`] has work.
    pub(crate) fn deadline(&self) -> Instant {
        self.links.values().filter_map(|link| link.retry_at).min().unwrap_or(Instant::MAX)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for (process, link) in &mut self.links {
            if link.retry_at.is_some_and(|at| at <= now) {
                link.retry_at = Some(Instant::MAX);
                self.actions.push_back(Action::Connect(*process));
            }
        }
    }

    /// Takes the answer to a question; false when nobody asks any more.
    fn take_answer(&mut self, process: Process, writer: Guid) -> bool {
        if let Some(link) = self.links.get_mut(&process) {
            link.asked = link.asked.saturating_sub(1);
        }
        let asked = self.by_writer.get_mut(&writer);
        let asked = asked.filter(|want| want.process == process && want.stage == Stage::Asked);
        let Some(want) = asked else { return false };
        want.stage = Stage::Waiting;
        self.in_use -= 1;
        true
    }

    /// Nobody wants a ring any more.
    fn forget(&mut self, writer: Guid, process: Process, stage: Stage) {
        self.by_writer.remove(&writer);
        if stage == Stage::Attached {
            self.actions.push_back(Action::Detach { writer, drains: false });
        }
        if matches!(stage, Stage::Asked | Stage::Attached) {
            self.in_use -= 1;
        }
        if let Some(link) = self.links.get_mut(&process) {
            link.wants.remove(&writer);
            if link.wants.is_empty() {
                if link.is_connected {
                    self.actions.push_back(Action::Disconnect(process));
                }
                self.links.remove(&process);
            }
        }
        self.ask_waiting();
    }

    /// Asks for what waits for room.
    fn ask_waiting(&mut self) {
        if !std::mem::take(&mut self.is_short) {
            return;
        }
        let connected = self.links.iter().filter(|(_, link)| link.is_connected);
        let processes: Vec<Process> = connected.map(|(process, _)| *process).collect();
        for process in processes {
            self.ask_all(process);
        }
    }

    fn ask_all(&mut self, process: Process) {
        let Some(link) = self.links.get(&process) else { return };
        for writer in link.wants.clone() {
            self.ask(writer);
        }
    }

    fn ask(&mut self, writer: Guid) {
        let Some(want) = self.by_writer.get_mut(&writer).filter(|want| want.stage == Stage::Waiting) else {
            return;
        };
        let Some(link) = self.links.get_mut(&want.process).filter(|link| link.is_connected) else { return };
        let Some(reader) = want.readers.first().map(|reader| reader.prefix) else { return };
        if self.in_use >= RINGS_MAX || link.asked >= ASKED_MAX {
            self.is_short = true;
            return;
        }
        want.stage = Stage::Asked;
        link.asked += 1;
        self.in_use += 1;
        let process = want.process;
        self.send(process, Kind::Ask, writer, reader);
    }

    fn send(&mut self, process: Process, kind: Kind, writer: Guid, reader: GuidPrefix) {
        self.actions.push_back(Action::Send(process, Message { kind, writer, reader }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtps::EntityId;

    const THERE: Process = [9; 16];

    fn writer(number: u32) -> Guid {
        Guid::new(GuidPrefix([9; 12]), EntityId::user_writer(number, false))
    }

    fn reader(participant: u8, number: u32) -> Guid {
        Guid::new(GuidPrefix([participant; 12]), EntityId::user_reader(number, false))
    }

    fn actions(wants: &mut Wants) -> Vec<Action> {
        std::iter::from_fn(|| wants.poll_action()).collect()
    }

    fn message(kind: Kind, writer: Guid, participant: u8) -> Message {
        Message { kind, writer, reader: GuidPrefix([participant; 12]) }
    }

    fn send(kind: Kind, writer: Guid, participant: u8) -> Action {
        Action::Send(THERE, message(kind, writer, participant))
    }

    /// Wants with one attached ring, of writer 1 for reader 1 of participant 1.
    fn attached() -> Wants {
        let mut wants = Wants::default();
        wants.handle_matched(writer(1), THERE, reader(1, 1));
        assert_eq!(actions(&mut wants), [Action::Connect(THERE)]);
        wants.handle_connected(THERE);
        assert_eq!(actions(&mut wants), [send(Kind::Ask, writer(1), 1)]);
        assert!(wants.handle_ring(THERE, &message(Kind::Ring, writer(1), 1)));
        wants.handle_attached(writer(1));
        assert_eq!(actions(&mut wants), [send(Kind::Ready, writer(1), 1)]);
        wants
    }

    /// One connection and one ring serve all readers of a process; each participant says when it reads and when it no
    /// longer does.
    #[test]
    fn a_ring_serves_all_readers() {
        let mut wants = attached();
        wants.handle_matched(writer(1), THERE, reader(1, 2));
        assert_eq!(actions(&mut wants), []);
        wants.handle_matched(writer(1), THERE, reader(2, 1));
        assert_eq!(actions(&mut wants), [send(Kind::Ready, writer(1), 2)]);
        wants.handle_matched(writer(2), THERE, reader(2, 1));
        assert_eq!(actions(&mut wants), [send(Kind::Ask, writer(2), 2)]);
        wants.handle_refused(THERE, writer(2));
        wants.handle_unmatched(writer(1), reader(1, 1));
        assert_eq!(actions(&mut wants), []);
        wants.handle_gone(|reader| reader.prefix == GuidPrefix([1; 12]));
        assert_eq!(actions(&mut wants), [send(Kind::Leave, writer(1), 1)]);
        wants.handle_gone(|reader| reader.prefix == GuidPrefix([2; 12]));
        let detach = Action::Detach { writer: writer(1), drains: false };
        assert_eq!(actions(&mut wants), [send(Kind::Leave, writer(1), 2), detach, Action::Disconnect(THERE)]);
        assert_eq!(wants.in_use, 0);
    }

    /// What a dead process's ring still holds is read, and its name is tried again a bounded number of times.
    #[test]
    fn hang_ups_are_noticed() {
        let mut wants = attached();
        let mut now = Instant::from_nanos(1);
        wants.handle_hang_up(now, THERE);
        assert_eq!(actions(&mut wants), [Action::Detach { writer: writer(1), drains: true }]);
        let mut tries = 0;
        while wants.deadline() < Instant::MAX {
            now = wants.deadline();
            wants.handle_timeout(now);
            assert_eq!(actions(&mut wants), [Action::Connect(THERE)]);
            wants.handle_not_connected(now, THERE, false);
            tries += 1;
        }
        assert_eq!(tries, TRIES_MAX - 1);
        wants.handle_matched(writer(1), THERE, reader(1, 2));
        assert_eq!(actions(&mut wants), []);
        wants.handle_gone(|_| true);
        assert_eq!((actions(&mut wants), wants.links.len()), (vec![], 0));
    }

    /// A ring that was asked for twice, because its reader left and came again meanwhile, is attached once.
    #[test]
    fn late_answers_do_no_harm() {
        let mut wants = attached();
        wants.handle_matched(writer(2), THERE, reader(1, 1));
        wants.handle_unmatched(writer(2), reader(1, 1));
        wants.handle_matched(writer(2), THERE, reader(1, 1));
        assert_eq!(actions(&mut wants), [send(Kind::Ask, writer(2), 1), send(Kind::Ask, writer(2), 1)]);
        assert!(wants.handle_ring(THERE, &message(Kind::Ring, writer(2), 1)));
        wants.handle_attached(writer(2));
        assert!(!wants.handle_ring(THERE, &message(Kind::Ring, writer(2), 1)));
        assert_eq!(actions(&mut wants), [send(Kind::Ready, writer(2), 1)]);
        assert_eq!((wants.in_use, wants.links[&THERE].asked), (2, 0));
        // Nobody wants this one any more, so its process need not keep it.
        assert!(!wants.handle_ring(THERE, &message(Kind::Ring, writer(3), 1)));
        assert_eq!(actions(&mut wants), [send(Kind::Leave, writer(3), 1)]);
    }

    /// No more rings are read than one thread can wait for; when one goes, one that waits takes its place. Broken rings
    /// are not asked for again.
    #[test]
    fn rings_are_bounded() {
        let mut wants = Wants::default();
        let numbers = 1..=RINGS_MAX as u32 + 20;
        for number in numbers.clone() {
            wants.handle_matched(writer(number), THERE, reader(1, 1));
        }
        wants.handle_connected(THERE);
        let mut attached = 0;
        loop {
            let asked: Vec<Guid> = actions(&mut wants)
                .into_iter()
                .filter_map(|action| match action {
                    Action::Send(_, Message { kind: Kind::Ask, writer, .. }) => Some(writer),
                    _ => None,
                })
                .collect();
            assert!(asked.len() <= ASKED_MAX);
            for writer in &asked {
                assert!(wants.handle_ring(THERE, &message(Kind::Ring, *writer, 1)));
                wants.handle_attached(*writer);
                attached += 1;
            }
            if asked.is_empty() {
                break;
            }
        }
        assert_eq!(attached, RINGS_MAX);
        assert!(wants.is_full());
        wants.handle_unusable(writer(1));
        let last = actions(&mut wants).pop();
        assert!(matches!(last, Some(Action::Send(_, Message { kind: Kind::Ask, .. }))), "{last:?}");
        for number in numbers {
            wants.handle_unmatched(writer(number), reader(1, 1));
        }
        assert_eq!((wants.in_use, wants.links.len(), wants.by_writer.len()), (0, 0, 0));
    }
}
