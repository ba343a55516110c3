//! Data by shared memory, between processes of one machine.
//!
//! # Who shares what
//!
//! Each writer with readers in other processes of its machine has one *ring* ([`ring`]) in memory of its own
//! ([`mapping`]): it writes every datagram once, however many processes read it. Readers map the ring for reading only
//! and keep their place in their own memory, so they can neither disturb the writer nor each other; one that is too slow
//! is overrun, and reliable protocols repair what it lost. Discovery, acknowledgements and everything else that readers
//! say stay with the other transports.
//!
//! Each process that reads has one *bell* ([`super::bell`]), a word in memory that its writers may write. Its one
//! reading thread sleeps on that, whatever the number of rings, and a writer wakes it by a system call only if it sleeps.
//!
//! # How two processes come together
//!
//! Participants announce where they are: a hash of machine and network namespace, and a name of the process. When a
//! reader matches a writer at the same place in another process, its process connects to that name ([`connection`]),
//! hands over its bell, asks for the ring and gets its memory file ([`message`], [`wants`]). It reads from then on, and says so; only now the
//! writer's process sends its data there instead of to the reader's address. When the reader leaves, or its process
//! ends in whatever way, the connection tells, and data goes to the address again. Nothing is ever in the file system,
//! and what the kernel keeps goes with the last process that uses it: a killed process leaves nothing behind.
//!
//! # Who may
//!
//! Both ends ask the kernel for the other's user. It must be the same user, or one that the participant names in
//! [`crate::Transports::shared_memory_users`]. The kernel shows users that do not exist in this process's user namespace
//! as 65534, so that one is nobody's own and has to be named. The sockets' names are random, so nobody takes them first.

pub(super) mod connection;
mod control;
mod identity;
mod mapping;
mod message;
#[cfg(test)]
mod model;
mod own;
mod reading;
mod ring;
mod wants;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rtps::{Guid, MachineAddress};

use crate::Transports;
use crate::engine::{Engine, Source, lock};

use control::{Control, Listener};
pub(super) use mapping::Mapping;
use own::OwnRings;
use reading::Change;
pub(crate) use reading::Reading;
#[cfg(test)]
pub(super) use ring::Next;

/// What the engine's threads tell the poll thread, which has the connections.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// A reader of ours has matched a writer of another process of this machine.
    Matched { reader: Guid, writer: Guid, process: [u8; 16] },
    /// A reader of ours no longer matches a writer.
    Unmatched { reader: Guid, writer: Guid },
    /// An endpoint or participant of ours is gone.
    Gone(Guid),
    /// A ring is not one.
    Broken(Guid),
}

/// How a participant uses shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedPlace {
    pub(crate) address: MachineAddress,
    /// The arena of each of its writers' rings.
    ring_bytes: usize,
    /// Whom its writers give their rings, besides its own user.
    users: BTreeSet<u32>,
}

/// What the process shares with others of its machine.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// Where it is, or why it has no shared memory; decided by the first participant that wants it.
    address: OnceLock<Result<MachineAddress, String>>,
    pub(crate) own: OwnRings,
    /// Signalled when there are notes.
    signal: OwnedFd,
    notes: Mutex<Vec<Note>>,
    changes: Mutex<Vec<Change>>,
    control: Mutex<Control>,
    /// How long the reading thread looks before it sleeps, in nanoseconds.
    spin: AtomicU64,
}

impl SharedMemory {
    pub(crate) fn new() -> io::Result<Self> {
        use rustix::event::EventfdFlags;
        Ok(Self {
            address: OnceLock::new(),
            own: OwnRings::default(),
            signal: rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            notes: Mutex::default(),
            changes: Mutex::default(),
            control: Mutex::default(),
            spin: AtomicU64::new(0),
        })
    }

    /// A participant's place in shared memory; `None` when it does not want it or the system does not have it.
    pub(crate) fn place(engine: &Arc<Engine>, transports: &Transports) -> Option<SharedPlace> {
        if !transports.shared_memory {
            return None;
        }
        let this = &engine.shared_memory;
        let address = this.address.get_or_init(|| {
            Self::open(engine)
                .inspect_err(|reason| tracing::info!(reason, "no shared memory: data goes by UDP"))
        });
        let address = *address.as_ref().ok()?;
        let spin = transports.shared_memory_spin.as_nanos().try_into().unwrap_or(u64::MAX);
        this.spin.fetch_max(spin, Ordering::Relaxed);
        let users: BTreeSet<u32> = transports.shared_memory_users.iter().copied().collect();
        lock(&this.control).users.extend(&users);
        Some(SharedPlace { address, ring_bytes: transports.shared_memory_bytes, users })
    }

    /// Why this process has no shared memory, once a participant wanted it.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.address.get()?.as_ref().err().map(String::as_str)
    }

    fn open(engine: &Arc<Engine>) -> Result<MachineAddress, String> {
        let fault = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        // Kernels without the seals, or without memory files, show here.
        Mapping::create(0).map_err(fault("making a sealed memory file"))?;
        let address = identity::machine_address().map_err(fault("asking which machine this is"))?;
        let socket = connection::listen(&address.process).map_err(fault("listening to other processes"))?;
        let listener = Arc::new(Listener::new(socket));
        let watched = Arc::clone(&engine.shared_memory) as Arc<dyn Source>;
        engine.watch(watched).map_err(fault("watching for work"))?;
        engine.watch(listener as Arc<dyn Source>).map_err(fault("watching for other processes"))?;
        Ok(address)
    }

    /// Tells the poll thread. What one thread notes under a participant's lock keeps its order.
    pub(crate) fn note(&self, note: Note) {
        if !matches!(self.address.get(), Some(Ok(_))) {
            return;
        }
        lock(&self.notes).push(note);
        // Fails only when the counter is full, and then the thread wakes anyway.
        let _ = rustix::io::write(&self.signal, &1_u64.to_ne_bytes());
    }

    fn change(&self, engine: &Engine, change: Change) {
        lock(&self.changes).push(change);
        engine.bell.ring();
    }

    fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut *lock(&self.changes))
    }

    /// How long the reading thread looks before it sleeps.
    pub(crate) fn spin(&self) -> Duration {
        Duration::from_nanos(self.spin.load(Ordering::Relaxed))
    }
}

/// A ring of `writer` in this process, and a reading end as another process would have it.
#[cfg(test)]
pub(super) fn pair(writer: Guid, bytes: usize) -> (OwnRings, reading::PeerRing) {
    use std::os::fd::AsFd;
    let own = OwnRings::default();
    let ring = own.get_or_create(writer, bytes).unwrap();
    let file = ring.file().as_fd().try_clone_to_owned().unwrap();
    (own, reading::PeerRing::new(Mapping::open(&file).unwrap()))
}
