//! One participant of this process: its protocol machine, and what connects it to the application.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use rtps::{Datagram, EntityId, Event, Guid, GuidPrefix, Locator, LocatorKind, MachineAddress, RawSample};
use units::Instant;

use super::{Engine, is_bus_thread, lock};
use crate::event::ParticipantEvent;
use crate::sample::Matched;
use crate::transport::{Note, SharedPlace, TcpUse};

/// What is called with each sample of a reader.
pub(crate) type Callback = Box<dyn FnMut(&RawSample) + Send>;

/// What connects one endpoint to the application.
#[derive(Default)]
pub(crate) struct Hooks {
    /// Signalled when samples, room or matches changed.
    pub(crate) changed: Condvar,
    callback: Mutex<Option<Callback>>,
    has_callback: bool,
}

impl Hooks {
    pub(crate) fn new(callback: Option<Callback>) -> Arc<Self> {
        let has_callback = callback.is_some();
        Arc::new(Self { changed: Condvar::new(), callback: Mutex::new(callback), has_callback })
    }

    /// Runs the callback. One that panics is dropped: a fault in it must not end the bus thread, nor repeat.
    fn call(&self, sample: &RawSample) {
        let mut callback = lock(&self.callback);
        let Some(run) = callback.as_mut() else { return };
        if catch_unwind(AssertUnwindSafe(|| run(sample))).is_err() {
            tracing::error!(publisher = %sample.writer, "a subscriber's callback panicked and is called no more");
            let broken = callback.take();
            drop(callback);
            drop(broken);
        }
    }

    /// Makes sure that the callback is not running and will not run again. On a bus thread it does nothing: that one
    /// may be in this very callback, which then ends by itself.
    pub(crate) fn silence(&self) {
        if self.has_callback && !is_bus_thread() {
            // What the callback owns may use the bus when it is dropped, so no lock is held then.
            let callback = lock(&self.callback).take();
            drop(callback);
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("has_callback", &self.has_callback).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) matched: Matched,
    is_delivering: bool,
}

/// Under the member's lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) machine: rtps::Participant,
    pub(crate) endpoints: BTreeMap<EntityId, Entry>,
    pub(crate) events: VecDeque<ParticipantEvent>,
    /// How many of them gave way to newer ones.
    pub(crate) events_dropped: u64,
    /// Readers with samples for their callback, each once. The bus thread that adds one delivers before it rests.
    ready: VecDeque<EntityId>,
    /// Where this process is, when the participant shares memory with others of the machine.
    machine_address: Option<MachineAddress>,
    /// Matches with writers of such processes, for the poll thread.
    notes: Vec<Note>,
    is_sending: bool,
    /// Datagrams that are about to be sent.
    burst: Vec<Datagram>,
}

/// Events kept for [`crate::Participant::take_events`]; older ones are dropped.
const EVENTS_MAX: usize = 1024;

/// How a member uses the engine's transports.
#[derive(Debug)]
pub(crate) struct MemberPlace {
    /// Whether its readers listen to multicast groups.
    pub(crate) listens_to_groups: bool,
    /// The only interfaces that it sends multicast on; `None` for all.
    pub(crate) interfaces: Option<Vec<Ipv4Addr>>,
    /// The same, by number, for IPv6.
    pub(crate) interfaces_v6: Option<Vec<u32>>,
    /// The transports that it uses beyond this process.
    pub(crate) kinds: Vec<LocatorKind>,
    /// Its TCP addresses are listened at and dialled as long as it lives.
    pub(crate) tcp: Option<TcpUse>,
    /// How it shares memory with other processes of the machine, if it does.
    pub(crate) shared_memory: Option<SharedPlace>,
}

impl MemberPlace {
    /// Whether what comes from there is for the member. What stays on this machine is no transport of its own: it comes
    /// from whom the member has found by one.
    pub(super) fn hears(&self, from: Locator) -> bool {
        match from.kind {
            LocatorKind::InProcess | LocatorKind::SharedMemory => true,
            kind => self.kinds.contains(&kind),
        }
    }
}

/// Datagrams sent in one go before others may use the machine.
const BURST_MAX: usize = 64;

/// One participant of this process.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) prefix: GuidPrefix,
    pub(crate) domain: u32,
    pub(crate) place: MemberPlace,
    deadline: AtomicU64,
    state: Mutex<State>,
}

impl Member {
    pub(crate) fn new(
        prefix: GuidPrefix,
        domain: u32,
        place: MemberPlace,
        machine: rtps::Participant,
    ) -> Self {
        let machine_address = place.shared_memory.as_ref().map(|shared| shared.address);
        Self {
            prefix,
            domain,
            place,
            deadline: AtomicU64::new(machine.poll_timeout().as_nanos()),
            state: Mutex::new(State {
                machine,
                endpoints: BTreeMap::new(),
                events: VecDeque::new(),
                events_dropped: 0,
                ready: VecDeque::new(),
                is_sending: false,
                machine_address,
                notes: Vec::new(),
                burst: Vec::new(),
            }),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// When this member's timers want to run.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::from_nanos(self.deadline.load(Ordering::SeqCst))
    }

    pub(crate) fn handle_datagram(&self, engine: &Arc<Engine>, from: Locator, bytes: &[u8]) {
        let mut state = self.lock();
        let now = node::clock::monotonic();
        state.machine.handle_datagram(now, from, bytes);
        let state = self.deliver(state, now);
        self.settle(engine, state);
    }

    /// Announces the member to whoever has just connected.
    pub(crate) fn announce(&self, engine: &Arc<Engine>, to: Locator) {
        let mut state = self.lock();
        state.machine.announce(node::clock::monotonic(), to);
        self.settle(engine, state);
    }

    pub(crate) fn handle_timeout(&self, engine: &Arc<Engine>) {
        let mut state = self.lock();
        state.machine.handle_timeout(node::clock::monotonic());
        self.settle(engine, state);
    }

    /// Does what the machine now wants done: tell, send, wait. Called after every use of the machine.
    ///
    /// Datagrams leave in the order in which they were made, and no lock is held while one is sent: the first thread
    /// to come sends for all that come meanwhile.
    pub(crate) fn settle<'a>(&'a self, engine: &Arc<Engine>, mut state: MutexGuard<'a, State>) {
        state.take_events();
        state.notes.drain(..).for_each(|note| engine.shared_memory.note(note));
        if !state.is_sending {
            state.is_sending = true;
            while state.take_burst() {
                let mut burst = std::mem::take(&mut state.burst);
                drop(state);
                engine.send(self, &burst);
                state = self.lock();
                burst.drain(..).for_each(|datagram| state.machine.recycle_datagram(datagram));
                state.burst = burst;
            }
            state.is_sending = false;
        }
        let deadline = state.machine.poll_timeout();
        self.deadline.store(deadline.as_nanos(), Ordering::SeqCst);
        drop(state);
        engine.arm(deadline);
    }

    /// Runs the callbacks of the readers that have samples, with no lock held. Only for bus threads, right after they
    /// gave the machine a datagram: nobody else makes samples available, so no callback ever runs elsewhere.
    fn deliver<'a>(&'a self, mut state: MutexGuard<'a, State>, mut now: Instant) -> MutexGuard<'a, State> {
        state.take_events();
        while let Some(reader) = state.ready.pop_front() {
            let Some(entry) = state.endpoints.get_mut(&reader).filter(|entry| !entry.is_delivering) else {
                // Whoever delivers to this reader takes what has come meanwhile.
                continue;
            };
            entry.is_delivering = true;
            let hooks = Arc::clone(&entry.hooks);
            while let Some(sample) = state.machine.take(now, reader) {
                drop(state);
                hooks.call(&sample);
                state = self.lock();
                state.machine.recycle_sample(reader, sample.payload);
                if state.machine.history_len(reader) == 0 {
                    break;
                }
                // The callback took its time. Usually there is no further sample, and no clock to be read.
                now = node::clock::monotonic();
            }
            if let Some(entry) = state.endpoints.get_mut(&reader) {
                entry.is_delivering = false;
            } else {
                // The subscriber is gone, and what its callback owned goes here: that may use the bus.
                drop(state);
                drop(hooks);
                state = self.lock();
            }
        }
        state
    }
}

impl State {
    pub(crate) fn add_endpoint(&mut self, entity: EntityId, hooks: Arc<Hooks>) {
        self.endpoints.insert(entity, Entry { hooks, matched: Matched::default(), is_delivering: false });
    }

    /// Takes what the machine tells: wakes whoever waits for it, and keeps what the application may ask for.
    fn take_events(&mut self) {
        while let Some(event) = self.machine.poll_event() {
            self.take_event(event);
        }
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::SamplesAvailable(reader) => match self.endpoints.get(&reader) {
                Some(entry) if entry.hooks.has_callback => {
                    if !self.ready.contains(&reader) {
                        self.ready.push_back(reader);
                    }
                }
                _ => self.notify(reader),
            },
            Event::Acknowledged(writer) => self.notify(writer),
            Event::Matched { local, remote } => {
                self.note_match(local, remote, true);
                if let Some(entry) = self.endpoints.get_mut(&local) {
                    entry.matched.current += 1;
                    entry.matched.total += 1;
                }
                self.notify(local);
            }
            Event::Unmatched { local, remote } => {
                self.note_match(local, remote, false);
                if let Some(entry) = self.endpoints.get_mut(&local) {
                    entry.matched.current = entry.matched.current.saturating_sub(1);
                }
                self.notify(local);
            }
            _ => {}
        }
        if let Some(event) = ParticipantEvent::from_protocol(event) {
            if self.events.len() >= EVENTS_MAX {
                self.events.pop_front();
                self.events_dropped += 1;
            }
            self.events.push_back(event);
        }
    }

    /// Notes that a reader and a writer of another process of this machine have matched, or no longer match.
    fn note_match(&mut self, local: EntityId, writer: Guid, is_matched: bool) {
        let Some(here) = self.machine_address.filter(|_| writer.entity.is_writer()) else { return };
        let reader = Guid::new(self.machine.guid().prefix, local);
        if !is_matched {
            self.notes.push(Note::Unmatched { reader, writer });
            return;
        }
        let there = self.machine.machine_address_of(writer.prefix);
        let shares = there.filter(|there| there.machine == here.machine && there.process != here.process);
        if let Some(there) = shares {
            self.notes.push(Note::Matched { reader, writer, process: there.process });
        }
    }

    /// Takes the next datagrams to send; false when there are none.
    fn take_burst(&mut self) -> bool {
        while self.burst.len() < BURST_MAX
            && let Some(datagram) = self.machine.poll_transmit()
        {
            self.burst.push(datagram);
        }
        !self.burst.is_empty()
    }

    fn notify(&self, entity: EntityId) {
        if let Some(entry) = self.endpoints.get(&entity) {
            entry.hooks.changed.notify_all();
        }
    }
}
