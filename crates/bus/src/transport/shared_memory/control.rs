//! Asking for rings and giving them, on the poll thread. May touch: sockets, shared memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock};

use rtps::{EntityId, Guid, GuidPrefix, Locator};
use units::Instant;

use super::connection::{Attached, Connection, Received, user_of};
use super::mapping::Mapping;
use super::message::{Kind, Message};
use super::own::{OwnRing, PeerBell};
use super::reading::{Change, PeerRing};
use super::wants::{Action, Process, Wants};
use super::{Note, SharedMemory};
use crate::engine::{Engine, Member, Source, Token, lock};

/// What the poll thread knows.
#[derive(Debug, Default)]
pub(super) struct Control {
    wants: Wants,
    /// Connections to the processes of writers.
    asking: BTreeMap<Process, (Arc<Asking>, Token)>,
    /// Connections from the processes of readers.
    giving: usize,
    /// How many of them each of our rings was given to.
    given: BTreeMap<Guid, usize>,
    /// Users whose rings may be read, besides our own.
    pub(super) users: BTreeSet<u32>,
    has_told_limit: bool,
}

/// Connections from other processes at most.
const GIVING_MAX: usize = 1024;
/// Connections accepted, or messages handled, before other sources get a turn.
const BURST: usize = 64;
/// Participants of one process that read one ring.
const PARTICIPANTS_MAX: usize = 1024;
/// How the kernel shows users that this process's user namespace does not have.
const UNMAPPED_USER: u32 = 65_534;

/// Whether a user may share memory with this process.
fn is_allowed(user: u32, others: &BTreeSet<u32>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    (user == own && user != UNMAPPED_USER) || others.contains(&user)
}

impl Source for SharedMemory {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        let _ = rustix::io::read(&self.signal, &mut [0_u8; 8]);
        let notes = std::mem::take(&mut *lock(&self.notes));
        for note in notes {
            let mut control = lock(&self.control);
            match note {
                Note::Matched { reader, writer, process } => {
                    control.wants.handle_matched(writer, process, reader);
                }
                Note::Unmatched { reader, writer } => control.wants.handle_unmatched(writer, reader),
                Note::Gone(guid) => {
                    let is_gone = |other: Guid| {
                        other.prefix == guid.prefix
                            && (other.entity == guid.entity || guid.entity == EntityId::PARTICIPANT)
                    };
                    control.wants.handle_gone(is_gone);
                    control.given.retain(|writer, _| !is_gone(*writer));
                    self.own.remove(is_gone);
                }
                Note::Broken(writer) => {
                    tracing::warn!(%writer, "a publisher's shared memory is damaged: its data comes by UDP");
                    control.wants.handle_unusable(writer);
                }
            }
            drop(control);
        }
        self.act(engine);
    }

    fn deadline(&self) -> Instant {
        lock(&self.control).wants.deadline()
    }

    fn handle_timeout(&self, engine: &Arc<Engine>) {
        lock(&self.control).wants.handle_timeout(node::clock::monotonic());
        self.act(engine);
    }
}

impl SharedMemory {
    /// Does what is to be done, and what follows from that.
    fn act(&self, engine: &Arc<Engine>) {
        let mut control = lock(&self.control);
        while let Some(action) = control.wants.poll_action() {
            match action {
                Action::Connect(process) => control.connect(engine, process),
                Action::Disconnect(process) => control.disconnect(engine, process),
                Action::Send(process, message) => {
                    let connection = control.asking.get(&process).map(|(asking, _)| Arc::clone(asking));
                    if connection.is_some_and(|asking| asking.connection.send(message, None).is_err()) {
                        control.hang_up(engine, process);
                    }
                }
                Action::Detach { writer, drains } => {
                    self.change(engine, Change::Detach { writer, drains });
                }
            }
        }
        if control.wants.is_full() && !std::mem::replace(&mut control.has_told_limit, true) {
            tracing::info!(
                rings = super::wants::RINGS_MAX,
                "no more shared memory can be read at once: further publishers' data comes by UDP"
            );
        }
    }

    /// Reads a ring from now on, if it is one.
    fn attach(&self, engine: &Arc<Engine>, writer: Guid, file: Option<OwnedFd>) {
        let mapped =
            file.ok_or_else(|| io::ErrorKind::InvalidData.into()).and_then(|file| Mapping::open(&file));
        let mut control = lock(&self.control);
        match mapped {
            Ok(memory) => {
                self.change(engine, Change::Attach(writer, PeerRing::new(memory)));
                engine.start_local_thread();
                control.wants.handle_attached(writer);
            }
            Err(error) => {
                tracing::info!(%writer, %error, "cannot read a publisher's shared memory: its data comes by UDP");
                control.wants.handle_unusable(writer);
            }
        }
    }
}

impl Control {
    fn connect(&mut self, engine: &Arc<Engine>, process: Process) {
        let now = node::clock::monotonic();
        match Connection::connect(&process) {
            Ok(connection) => {
                let is_theirs =
                    user_of(&connection.descriptor()).is_ok_and(|user| is_allowed(user, &self.users));
                if !is_theirs {
                    return self.wants.handle_not_connected(now, process, true);
                }
                let bell = engine.bell.file().try_clone_to_owned().map(Attached::Bell);
                if bell.and_then(|bell| connection.send(Message::bell(), Some(bell))).is_err() {
                    return self.wants.handle_not_connected(now, process, false);
                }
                let asking = Arc::new(Asking { connection, process });
                match engine.watch(Arc::clone(&asking) as Arc<dyn Source>) {
                    Ok(token) => {
                        self.asking.insert(process, (asking, token));
                        self.wants.handle_connected(process);
                    }
                    Err(_) => self.wants.handle_not_connected(now, process, false),
                }
            }
            Err(error) => {
                tracing::debug!(%error, "cannot connect to another process for shared memory");
                self.wants.handle_not_connected(now, process, false);
            }
        }
    }

    fn disconnect(&mut self, engine: &Engine, process: Process) {
        if let Some((_, token)) = self.asking.remove(&process) {
            engine.poller.remove(token);
        }
    }

    fn hang_up(&mut self, engine: &Engine, process: Process) {
        self.disconnect(engine, process);
        self.wants.handle_hang_up(node::clock::monotonic(), process);
    }
}

/// A connection on which we ask for rings.
#[derive(Debug)]
struct Asking {
    connection: Connection,
    process: Process,
}

impl Source for Asking {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.connection.descriptor()
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        let shared = &engine.shared_memory;
        for _ in 0..BURST {
            match self.connection.receive() {
                Received::Message(message, file) if message.kind == Kind::Ring => {
                    let is_wanted = lock(&shared.control).wants.handle_ring(self.process, &message);
                    if is_wanted {
                        shared.attach(engine, message.writer, file);
                    }
                }
                Received::Message(message, _) if message.kind == Kind::Refused => {
                    lock(&shared.control).wants.handle_refused(self.process, message.writer);
                }
                Received::Nothing => break,
                Received::Message(..) | Received::End => {
                    lock(&shared.control).hang_up(engine, self.process);
                    break;
                }
            }
        }
        shared.act(engine);
    }

    fn deadline(&self) -> Instant {
        self.connection.deadline()
    }

    fn handle_timeout(&self, engine: &Arc<Engine>) {
        if self.connection.flush().is_err() {
            lock(&engine.shared_memory.control).hang_up(engine, self.process);
            engine.shared_memory.act(engine);
        }
    }
}

/// The socket that other processes connect to.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
}

impl Listener {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }
}

impl Source for Listener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        use rustix::net::SocketFlags;
        for _ in 0..BURST {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let Ok(socket) = rustix::net::accept_with(&self.socket, flags) else { return };
            // Whom no participant here allows is hung up on at once.
            let Ok(user) = user_of(&socket) else { continue };
            let mut control = lock(&engine.shared_memory.control);
            if control.giving >= GIVING_MAX || !is_allowed(user, &control.users) {
                continue;
            }
            let connection = Connection::new(socket);
            let giving = Arc::new(Giving {
                connection,
                user,
                token: OnceLock::new(),
                bell: OnceLock::new(),
                read: Mutex::default(),
            });
            if engine.watch(giving).is_ok() {
                control.giving += 1;
            }
        }
    }
}

/// A connection on which we are asked for rings.
#[derive(Debug)]
struct Giving {
    connection: Connection,
    user: u32,
    token: OnceLock<Token>,
    /// What wakes that process.
    bell: OnceLock<Arc<PeerBell>>,
    /// The rings given here, with the participants that read them.
    read: Mutex<BTreeMap<Guid, BTreeSet<GuidPrefix>>>,
}

impl Source for Giving {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.connection.descriptor()
    }

    fn watched(&self, token: Token) {
        let _ = self.token.set(token);
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        for _ in 0..BURST {
            let is_well = match self.connection.receive() {
                Received::Message(message, file) => self.handle(engine, &message, file),
                Received::Nothing => return,
                Received::End => false,
            };
            if !is_well {
                return self.close(engine);
            }
        }
    }

    fn deadline(&self) -> Instant {
        self.connection.deadline()
    }

    fn handle_timeout(&self, engine: &Arc<Engine>) {
        if self.connection.flush().is_err() {
            self.close(engine);
        }
    }
}

impl Giving {
    /// False when the connection is of no use any more.
    fn handle(&self, engine: &Arc<Engine>, message: &Message, file: Option<OwnedFd>) -> bool {
        let Message { kind, writer, reader } = *message;
        match kind {
            Kind::Bell => {
                let bell = file.and_then(|file| Mapping::open_bell(&file).ok());
                bell.is_some_and(|bell| self.bell.set(Arc::new(bell)).is_ok())
            }
            Kind::Ask => {
                let Some(bell) = self.bell.get() else { return false };
                let ring = self.ring_for(engine, writer, bell);
                let kind = if ring.is_some() { Kind::Ring } else { Kind::Refused };
                self.connection.send(Message { kind, ..*message }, ring.map(Attached::Ring)).is_ok()
            }
            Kind::Ready => {
                let is_given = match lock(&self.read).get_mut(&writer) {
                    Some(readers) if readers.len() < PARTICIPANTS_MAX => {
                        readers.insert(reader);
                        true
                    }
                    _ => false,
                };
                if is_given {
                    set_route(engine, writer, reader, Some(Locator::shared_memory(writer)));
                }
                is_given
            }
            Kind::Leave => {
                let mut read = lock(&self.read);
                let is_last = read.get_mut(&writer).map(|readers| {
                    readers.remove(&reader);
                    readers.is_empty()
                });
                if is_last == Some(true) {
                    read.remove(&writer);
                }
                drop(read);
                set_route(engine, writer, reader, None);
                if is_last == Some(true) {
                    self.release(engine, writer);
                }
                true
            }
            Kind::Ring | Kind::Refused => false,
        }
    }

    /// The ring of a writer that this process has and that this user may read.
    fn ring_for(&self, engine: &Engine, writer: Guid, bell: &Arc<PeerBell>) -> Option<Arc<OwnRing>> {
        let member = member_of(engine, writer)?;
        let place = member.place.shared_memory.as_ref()?;
        let is_ours = is_allowed(self.user, &place.users)
            && writer.entity.is_writer()
            && member.lock().endpoints.contains_key(&writer.entity);
        if !is_ours {
            return None;
        }
        match engine.shared_memory.own.get_or_create(writer, place.ring_bytes) {
            Ok(ring) => {
                let is_new = !lock(&self.read).contains_key(&writer);
                if is_new {
                    // Before the reader looks where the ring's head is: what comes after that rings.
                    ring.add_bell(bell);
                    lock(&self.read).insert(writer, BTreeSet::new());
                    *lock(&engine.shared_memory.control).given.entry(writer).or_default() += 1;
                }
                Some(ring)
            }
            Err(error) => {
                tracing::info!(%writer, %error, "no shared memory for a publisher: its data goes by UDP");
                None
            }
        }
    }

    /// The other process reads a ring no more; the last one takes it along.
    fn release(&self, engine: &Engine, writer: Guid) {
        let shared = &engine.shared_memory;
        if let (Some(ring), Some(bell)) = (shared.own.get(writer), self.bell.get()) {
            ring.remove_bell(bell);
        }
        let mut control = lock(&shared.control);
        let Some(count) = control.given.get_mut(&writer) else { return };
        *count -= 1;
        if *count == 0 {
            control.given.remove(&writer);
            drop(control);
            shared.own.remove(|other| other == writer);
        }
    }

    fn close(&self, engine: &Arc<Engine>) {
        let Some(token) = self.token.get() else { return };
        engine.poller.remove(*token);
        for (writer, readers) in std::mem::take(&mut *lock(&self.read)) {
            for reader in readers {
                set_route(engine, writer, reader, None);
            }
            self.release(engine, writer);
        }
        lock(&engine.shared_memory.control).giving -= 1;
    }
}

fn member_of(engine: &Engine, writer: Guid) -> Option<Arc<Member>> {
    engine.members().iter().find(|member| member.prefix == writer.prefix).cloned()
}

fn set_route(engine: &Arc<Engine>, writer: Guid, reader: GuidPrefix, route: Option<Locator>) {
    let Some(member) = member_of(engine, writer) else { return };
    let mut state = member.lock();
    state.machine.set_route(writer.entity, reader, route);
    member.settle(engine, state);
}
