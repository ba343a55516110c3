//! One engine per process: the sockets and threads that all its participants share.
//!
//! Threads, started with the first participant and ended with the last:
//!
//! | name | blocks in | does |
//! | --- | --- | --- |
//! | `stw-bus-meta` | `ppoll` over the discovery sockets, until the next deadline | discovery and every timer |
//! | `stw-bus-data` | `recvfrom` on the data socket | user data, delivered right there |
//! | `stw-bus-local` | a futex | data within the process and by shared memory |
//! | `stw-bus-poll` | `epoll_wait` over everything else | multicast data, IPv6, connections, delivered right there |
//!
//! The last two only run once they are needed.

mod member;
mod place;
mod poller;
mod sending;
mod threads;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use node::thread::{JoinHandle, Role};
use rtps::{EntityId, Guid, GuidPrefix, Locator};

pub(crate) use member::{Callback, Hooks, Member, MemberPlace, State};
pub(crate) use place::{Place, well_known_peers};
pub(crate) use poller::{Interest, Poller, Source, Token};

use crate::transport::{
    Address, Bell, DomainSockets, DomainSocketsV6, Groups, InProcess, Multicast, Note, SharedMemory, Tcp,
    UdpSender, UdpV6, addresses, bind_user,
};
use crate::{JoinError, Transports};

const META: Role = Role::new("stw-bus-meta", "bus discovery and timers");
const DATA: Role = Role::new("stw-bus-data", "bus user data");
const LOCAL: Role = Role::new("stw-bus-local", "bus data within the machine");
const POLL: Role = Role::new("stw-bus-poll", "bus data by multicast and connections");

/// The threads that the bus may start.
pub const THREAD_ROLES: [Role; 4] = [META, DATA, LOCAL, POLL];

thread_local! {
    static IS_BUS_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller runs on a thread of the bus, where waiting for the bus would wait for ever.
pub(crate) fn is_bus_thread() -> bool {
    IS_BUS_THREAD.get()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in a callback must not silence the bus for everyone else; the state is consistent between calls.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the members of a process have in common.
#[derive(Debug)]
pub(crate) struct Engine {
    members: RwLock<Arc<[Arc<Member>]>>,
    domains: Mutex<BTreeMap<u32, Domain>>,
    udp: UdpSender,
    user_port: u16,
    in_process: InProcess,
    pub(crate) shared_memory: Arc<SharedMemory>,
    /// Wakes the local thread.
    pub(crate) bell: Bell,
    pub(crate) poller: Arc<Poller>,
    tcp: OnceLock<Arc<Tcp>>,
    udp_v6: OnceLock<UdpV6>,
    wake: OwnedFd,
    /// When the meta thread will look at deadlines next, in nanoseconds; `u64::MAX` while it looks.
    armed: AtomicU64,
    is_stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    has_local_thread: AtomicBool,
    pub(crate) counters: Counters,
}

/// Traffic that the protocol does not see.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) send_failures: AtomicU64,
    pub(crate) local_overflows: AtomicU64,
    pub(crate) shared_memory_overruns: AtomicU64,
}

#[derive(Debug)]
struct Domain {
    sockets: Arc<DomainSockets>,
    members: usize,
    own: Vec<Locator>,
    groups: Option<(Arc<Groups>, Token)>,
    v6: Option<DomainV6>,
}

/// The discovery sockets for IPv6 of a domain in which a member uses them.
#[derive(Clone, Debug)]
struct DomainV6 {
    sockets: Arc<DomainSocketsV6>,
    tokens: Vec<Token>,
}

static CURRENT: Mutex<Weak<Engine>> = Mutex::new(Weak::new());

impl Engine {
    /// The process's engine and a place in `domain`, starting it with the first participant.
    pub(crate) fn enter(domain: u32, transports: &Transports) -> Result<(Arc<Self>, Place), JoinError> {
        let mut current = lock(&CURRENT);
        let running = current.upgrade().filter(|engine| !engine.is_stopping.load(Ordering::SeqCst));
        let engine = match running {
            Some(engine) => engine,
            None => {
                let engine = Self::start(domain)?;
                *current = Arc::downgrade(&engine);
                engine
            }
        };
        match engine.place(domain, transports) {
            Ok(place) => Ok((engine, place)),
            Err(error) => {
                if engine.members().is_empty() && lock(&engine.domains).values().all(|one| one.members == 0) {
                    // Nobody has entered: its threads would stay for ever.
                    engine.is_stopping.store(true, Ordering::SeqCst);
                    engine.stop();
                }
                Err(error)
            }
        }
    }

    fn start(domain: u32) -> Result<Arc<Self>, JoinError> {
        let fault = |what| move |source| JoinError::Socket { domain, what, source };
        let multicast = Multicast::new(&addresses());
        let (sockets, user) = DomainSockets::open(domain, &multicast, true)?;
        let Some(user) = user else {
            return Err(fault("binding a data port")(io::ErrorKind::AddrInUse.into()));
        };
        let (user_port, udp) = bind_user(user, multicast).map_err(fault("reading a port number"))?;
        let wake = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK)
            .map_err(|errno| fault("making an eventfd")(errno.into()))?;
        let poller = Poller::new().map_err(fault("making an epoll descriptor"))?;
        let bell = Bell::new().map_err(fault("making a memory file"))?;
        let shared_memory = SharedMemory::new().map_err(fault("making an eventfd"))?;
        let receiver = udp.socket.try_clone().map_err(fault("sharing the data socket"))?;
        let engine = Arc::new(Self {
            members: RwLock::new(Arc::new([])),
            domains: Mutex::new(BTreeMap::new()),
            udp,
            user_port,
            in_process: InProcess::default(),
            shared_memory: Arc::new(shared_memory),
            bell,
            poller: Arc::new(poller),
            tcp: OnceLock::new(),
            udp_v6: OnceLock::new(),
            wake,
            armed: AtomicU64::new(u64::MAX),
            is_stopping: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            has_local_thread: AtomicBool::new(false),
            counters: Counters::default(),
        });
        engine.add_domain(domain, sockets);
        if let Err(error) = engine.start_threads(receiver) {
            // Nobody has entered: one thread without the other would stay for ever.
            engine.is_stopping.store(true, Ordering::SeqCst);
            engine.stop();
            return Err(error);
        }
        Ok(engine)
    }

    fn start_threads(self: &Arc<Self>, receiver: UdpSocket) -> Result<(), JoinError> {
        let meta = Arc::clone(self);
        self.spawn(META, move || threads::meta(&meta))?;
        let data = Arc::clone(self);
        self.spawn(DATA, move || threads::data(&data, &receiver))
    }

    fn spawn(&self, role: Role, run: impl FnOnce() + Send + 'static) -> Result<(), JoinError> {
        let body = move || {
            IS_BUS_THREAD.set(true);
            run();
        };
        let thread = node::thread::spawn(role, node::thread::Placement::Inherit, body)
            .map_err(|source| JoinError::Thread { name: role.name(), source })?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    fn add_domain(&self, domain: u32, sockets: DomainSockets) {
        let mut own = Vec::new();
        for ip in addresses().iter().filter_map(Address::v4).chain([Ipv4Addr::LOCALHOST]) {
            own.push(Locator::udp_v4(ip.octets(), sockets.meta_port));
            own.push(Locator::udp_v4(ip.octets(), self.user_port));
        }
        self.in_process.add_own(own.iter().copied());
        lock(&self.domains)
            .insert(domain, Domain { sockets: Arc::new(sockets), members: 0, own, groups: None, v6: None });
        self.wake();
    }

    /// Gives a member's place back; the last one ends the engine. Blocks until its threads have ended, except on one of
    /// them.
    pub(crate) fn leave(&self, member: &Member) {
        self.forget_tcp(member);
        if self.give_back(member.domain) {
            self.stop();
        } else {
            self.wake();
        }
    }

    /// True when that was the last place: nobody enters this engine any more.
    fn give_back(&self, domain: u32) -> bool {
        // Against a participant that enters at this moment.
        let _current = lock(&CURRENT);
        let mut domains = lock(&self.domains);
        let is_last_here = domains.get_mut(&domain).is_some_and(|entry| {
            entry.members = entry.members.saturating_sub(1);
            entry.members == 0
        });
        // The data socket lives as long as the engine, and its locators with it.
        let gone = if is_last_here && domains.len() > 1 { domains.remove(&domain) } else { None };
        if let Some(entry) = gone {
            let of_groups = entry.groups.map(|(_, token)| token);
            for token in of_groups.into_iter().chain(entry.v6.into_iter().flat_map(|v6| v6.tokens)) {
                self.poller.remove(token);
            }
            let still: Vec<Locator> = domains.values().flat_map(|other| other.own.clone()).collect();
            let own: Vec<Locator> = entry.own.into_iter().filter(|own| !still.contains(own)).collect();
            self.in_process.remove_own(&own);
        }
        let is_last = domains.values().all(|entry| entry.members == 0);
        if is_last {
            self.is_stopping.store(true, Ordering::SeqCst);
        }
        is_last
    }

    fn stop(&self) {
        self.bell.ring();
        self.poller.wake();
        self.wake();
        // The data thread blocks in recvfrom, and this ends that: an unconnected socket answers ENOTCONN, but wakes.
        let _ = rustix::net::shutdown(&self.udp.socket, rustix::net::Shutdown::Read);
        // Its callback may hold the last participant: a thread cannot wait for itself.
        if is_bus_thread() {
            return;
        }
        // Not while the list is locked: a thread that is about to end may start another.
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                return;
            }
            threads.into_iter().for_each(|thread| {
                let _ = thread.join();
            });
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    // Members.

    pub(crate) fn members(&self) -> Arc<[Arc<Member>]> {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add_member(&self, member: Arc<Member>) {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        *members = members.iter().cloned().chain([member]).collect();
    }

    pub(crate) fn remove_member(&self, prefix: GuidPrefix) {
        self.shared_memory.note(Note::Gone(Guid::new(prefix, EntityId::PARTICIPANT)));
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        *members = members.iter().filter(|member| member.prefix != prefix).cloned().collect();
    }

    // Traffic.

    /// Gives a datagram to the participants that it concerns.
    pub(crate) fn dispatch(self: &Arc<Self>, domain: Option<u32>, from: Locator, bytes: &[u8]) {
        let members = self.members();
        let only = if members.len() > 1 { rtps::message::sole_destination(bytes) } else { None };
        for member in members.iter() {
            let is_meant = only.is_none_or(|prefix| member.prefix == prefix) && member.place.hears(from);
            if is_meant && domain.is_none_or(|domain| member.domain == domain) {
                member.handle_datagram(self, from, bytes);
            }
        }
    }

    /// Announces every member that uses the transport to a peer that has just connected.
    pub(crate) fn announce_to(self: &Arc<Self>, peer: Locator) {
        for member in self.members().iter().filter(|member| member.place.hears(peer)) {
            member.announce(self, peer);
        }
    }

    // Multicast data.

    /// Listens to the multicast group of a topic; `None` when the member does not use any, or it cannot be had.
    pub(crate) fn join_group(self: &Arc<Self>, member: &Member, topic: &str) -> Option<Locator> {
        if !member.place.listens_to_groups {
            return None;
        }
        match self.groups(member.domain).and_then(|groups| groups.join(topic)) {
            Ok(group) => Some(group),
            Err(error) => {
                tracing::info!(topic, %error, "no multicast data for this topic: publishers send by unicast");
                None
            }
        }
    }

    fn groups(self: &Arc<Self>, domain: u32) -> io::Result<Arc<Groups>> {
        let mut domains = lock(&self.domains);
        let Some(entry) = domains.get_mut(&domain) else { return Err(io::ErrorKind::NotConnected.into()) };
        if let Some((groups, _)) = &entry.groups {
            return Ok(Arc::clone(groups));
        }
        let port = entry.sockets.ports.user_multicast;
        let groups = Arc::new(Groups::new(domain, port, &self.udp.multicast)?);
        let token = self.watch(Arc::clone(&groups) as Arc<dyn Source>)?;
        entry.groups = Some((Arc::clone(&groups), token));
        Ok(groups)
    }

    /// Undoes one [`Engine::join_group`] that had a group.
    pub(crate) fn leave_group(&self, domain: u32, topic: &str) {
        let groups = lock(&self.domains)
            .get(&domain)
            .and_then(|entry| entry.groups.as_ref().map(|it| Arc::clone(&it.0)));
        if let Some(groups) = groups {
            groups.leave(topic);
        }
    }

    /// Watches a source on the poll thread, which is started for the first one.
    pub(crate) fn watch(self: &Arc<Self>, source: Arc<dyn Source>) -> io::Result<Token> {
        let token = self.poller.add(source, Interest::Read)?;
        if !self.poller.has_thread.swap(true, Ordering::SeqCst) {
            let engine = Arc::clone(self);
            if let Err(error) = self.spawn(POLL, move || engine.poller.run(&engine)) {
                self.poller.has_thread.store(false, Ordering::SeqCst);
                self.poller.remove(token);
                return Err(io::Error::other(error));
            }
        }
        Ok(token)
    }

    // Deadlines.

    /// Makes the meta thread look at the deadlines if it would look too late.
    pub(crate) fn arm(&self, deadline: units::Instant) {
        if deadline.as_nanos() < self.armed.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    fn wake(&self) {
        // Fails only when the counter is full, and then the thread wakes anyway.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn sockets(&self) -> Vec<Arc<DomainSockets>> {
        lock(&self.domains).values().map(|entry| Arc::clone(&entry.sockets)).collect()
    }

    pub(crate) fn tcp(&self) -> Option<&Arc<Tcp>> {
        self.tcp.get()
    }

    pub(crate) fn user_port(&self) -> u16 {
        self.user_port
    }
}
