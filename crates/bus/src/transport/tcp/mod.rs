//! TCP: connections between processes that may run through firewalls and where there is no multicast. May touch: TCP
//! sockets.
//!
//! A process that uses TCP has an identity of 16 random octets. Two processes with a connection reach each other at
//! [`Locator::connection`] of those identities, whoever made the connection: each announces its own, besides the
//! addresses at which it accepts connections. The stream and its framing are described in [`frame`], the life of a
//! connection in [`connection`].
//!
//! *Who connects.* A participant's `connect` addresses are dialled until they answer, and again when the connection
//! ends, with growing waits. An address that a peer announced is dialled once something is to be sent to it. Both sides
//! announce themselves on each new connection, so clients and a server discover each other at once. Clients of one
//! server do not learn of each other from it, unless it relays discovery; those that have an address of their own then
//! connect directly. Two connections of the same two processes, as when both dial at once, are both served, and the
//! newer one is used for sending.
//!
//! *Bounds.* Connections, connections that have not greeted, addresses dialled, and octets kept for slow peers are all
//! bounded; what does not fit is refused and counted. Nothing is kept for a message before it has come. A peer that
//! sends what is not our framing, greets too late, or starves a message for 30 s is disconnected.
//!
//! *Trust.* Without TLS, whoever reaches the port can take part, as by UDP. With it, both sides show a certificate of a
//! common authority before anything else.

mod backoff;
mod connection;
mod dial;
mod frame;
mod listener;
mod queue;
mod settings;
mod socket;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "tls_absent.rs"]
mod tls;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use rtps::{Locator, LocatorKind};
use rustix::event::EventfdFlags;
use units::Instant;

pub use settings::{TcpError, TcpTransport, TlsError, TlsFiles};

use self::connection::{Connection, Fault, HANDSHAKE_TIMEOUT, Origin, READ_BYTES};
use self::dial::Dial;
use self::listener::Listener;
use self::tls::Tls;
use super::Transport;
use crate::engine::{Engine, Interest, Poller, Source, lock};
use crate::info::TcpInfo;

/// Connections of a process.
const CONNECTIONS_MAX: usize = 512;
/// Accepted connections that have not greeted; the oldest gives way.
const HALF_OPEN_MAX: usize = 64;
/// Connections with the same process.
const SAME_PEER_MAX: usize = 8;
/// Octets kept for all slow peers together.
const QUEUED_BYTES_MAX: usize = 128 << 20;
/// Refusals that are remembered.
const REFUSED_MAX: usize = 16;

/// All TCP of a process.
#[derive(Debug)]
pub(crate) struct Tcp {
    /// Who we are to our peers.
    pub(crate) identity: [u8; 16],
    me: Weak<Self>,
    poller: Arc<Poller>,
    /// For the timers; never readable.
    quiet: OwnedFd,
    /// When the timers run next, in nanoseconds.
    deadline: AtomicU64,
    routes: RwLock<Routes>,
    state: Mutex<State>,
    /// Where the poll thread reads to.
    buffer: Mutex<Vec<u8>>,
    queued: AtomicUsize,
    overflows: AtomicU64,
    refusals: AtomicU64,
}

/// Where messages go.
#[derive(Debug, Default)]
struct Routes {
    /// The newest open connection of each peer.
    processes: BTreeMap<[u8; 16], Arc<Connection>>,
    /// The connections that we dialled, open or not.
    addresses: BTreeMap<SocketAddr, Arc<Connection>>,
}

#[derive(Debug, Default)]
struct State {
    users: usize,
    tls: Option<Arc<Tls>>,
    listeners: BTreeMap<SocketAddr, Listening>,
    dials: BTreeMap<SocketAddr, Dial>,
    connections: BTreeMap<u64, Arc<Connection>>,
    next_number: u64,
    seed: u64,
    refused: VecDeque<(SocketAddr, String)>,
}

#[derive(Debug)]
struct Listening {
    listener: Arc<Listener>,
    users: usize,
    /// When it is looked at again after the system refused a connection.
    resume_at: Option<Instant>,
}

/// A participant's use of TCP; ends with the value.
#[derive(Debug)]
pub(crate) struct TcpUse {
    pub(crate) tcp: Arc<Tcp>,
    listen: Vec<SocketAddr>,
    connect: Vec<SocketAddr>,
    /// Where it accepts connections, with the ports that the system chose.
    pub(crate) bound: Vec<SocketAddr>,
}

impl Drop for TcpUse {
    fn drop(&mut self) {
        self.tcp.leave(&self.listen, &self.connect);
    }
}

impl Tcp {
    /// A process with this identity, no connections and no listeners.
    pub(crate) fn new(identity: [u8; 16], poller: Arc<Poller>) -> io::Result<Arc<Self>> {
        let quiet = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let [a, b, c, d, e, f, g, h, ..] = identity;
        let state = State { seed: u64::from_le_bytes([a, b, c, d, e, f, g, h]), ..State::default() };
        Ok(Arc::new_cyclic(|me| Self {
            identity,
            me: Weak::clone(me),
            poller,
            quiet,
            deadline: AtomicU64::new(u64::MAX),
            routes: RwLock::default(),
            state: Mutex::new(state),
            buffer: Mutex::new(Vec::with_capacity(READ_BYTES)),
            queued: AtomicUsize::new(0),
            overflows: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
        }))
    }

    /// Listens and dials as a participant wants.
    pub(crate) fn enter(self: &Arc<Self>, settings: &TcpTransport) -> Result<TcpUse, TcpError> {
        let tls = {
            let mut state = lock(&self.state);
            let tls = state.tls_for(settings.tls.as_ref())?;
            state.tls.clone_from(&tls);
            state.users += 1;
            tls
        };
        // From here on, giving up means dropping this.
        let mut entered =
            TcpUse { tcp: Arc::clone(self), listen: Vec::new(), connect: Vec::new(), bound: Vec::new() };
        for address in &settings.listen {
            let bound =
                self.listen(*address).map_err(|source| TcpError::Listen { address: *address, source })?;
            entered.listen.push(*address);
            entered.bound.push(bound);
        }
        if tls.is_none() && !settings.listen.is_empty() {
            tracing::info!("TCP without TLS: whoever reaches the port can take part");
        }
        let mut state = lock(&self.state);
        for address in &settings.connect {
            state.dials.entry(*address).or_default().users += 1;
            entered.connect.push(*address);
            self.dial(&mut state, *address);
        }
        drop(state);
        Ok(entered)
    }

    fn listen(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let mut state = lock(&self.state);
        if let Some(listening) = state.listeners.get_mut(&address) {
            listening.users += 1;
            return Ok(listening.listener.bound);
        }
        let listener = Arc::new(Listener::new(Weak::clone(&self.me), address)?);
        self.poller.add(Arc::clone(&listener) as Arc<dyn Source>, Interest::Read)?;
        let bound = listener.bound;
        state.listeners.insert(address, Listening { listener, users: 1, resume_at: None });
        Ok(bound)
    }

    fn leave(&self, listen: &[SocketAddr], connect: &[SocketAddr]) {
        let mut state = lock(&self.state);
        for address in listen {
            let Some(listening) = state.listeners.get_mut(address) else { continue };
            listening.users = listening.users.saturating_sub(1);
            if listening.users == 0
                && let Some(listening) = state.listeners.remove(address)
                && let Some(token) = listening.listener.token()
            {
                self.poller.remove(token);
            }
        }
        for address in connect {
            if let Some(dial) = state.dials.get_mut(address) {
                dial.users = dial.users.saturating_sub(1);
            }
        }
        state.users = state.users.saturating_sub(1);
        if state.users > 0 {
            return;
        }
        state.dials.clear();
        state.tls = None;
        let connections = std::mem::take(&mut state.connections);
        drop(state);
        *self.routes.write().unwrap_or_else(PoisonError::into_inner) = Routes::default();
        for connection in connections.values() {
            connection.close(self);
            if let Some(token) = connection.token() {
                self.poller.remove(token);
            }
        }
    }

    // Connections.

    /// A peer has connected.
    fn accepted(&self, socket: OwnedFd, from: SocketAddr) {
        let mut state = lock(&self.state);
        let session = match state.tls.as_ref().map(|tls| tls.server()).transpose() {
            Ok(session) => session,
            Err(fault) => return self.refuse(state, from, &fault.into()),
        };
        if state.users == 0 || state.connections.len() >= CONNECTIONS_MAX {
            let count = state.connections.len();
            return self.refuse(state, from, &Fault::Full(count));
        }
        let is_half_open = |one: &&Arc<Connection>| one.origin == Origin::Accepted && one.peer().is_none();
        let half_open = state.connections.values().filter(is_half_open).count();
        let oldest = state.connections.values().find(is_half_open).cloned();
        self.add(&mut state, socket, from, Origin::Accepted, session);
        drop(state);
        if let Some(oldest) = oldest.filter(|_| half_open >= HALF_OPEN_MAX) {
            self.close(&oldest, &Fault::Slow("greet while many others came"));
        }
    }

    fn add(
        &self,
        state: &mut State,
        socket: OwnedFd,
        remote: SocketAddr,
        origin: Origin,
        session: Option<tls::Session>,
    ) {
        let number = state.next_number;
        state.next_number += 1;
        let connection =
            Arc::new(Connection::new(Weak::clone(&self.me), number, socket, remote, origin, session));
        // Before the poll thread may find it.
        if let Origin::Dialled(address) = origin {
            let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
            routes.addresses.insert(address, Arc::clone(&connection));
        }
        state.connections.insert(number, Arc::clone(&connection));
        let interest = connection.first_interest();
        // Without being watched it times out like one whose peer is silent.
        let _ = self.poller.add(connection, interest);
        self.arm(node::clock::monotonic() + HANDSHAKE_TIMEOUT);
    }

    /// A connection's peer has greeted: messages for it go this way from now on.
    fn opened(&self, connection: &Connection, peer: [u8; 16]) -> Result<(), Fault> {
        let mut state = lock(&self.state);
        if let Origin::Dialled(address) = connection.origin {
            Self::dial_succeeded(&mut state, address);
        }
        let Some(found) = state.connections.get(&connection.number) else { return Err(Fault::Ended) };
        let same = state.connections.values().filter(|one| one.peer() == Some(peer)).count();
        if same > SAME_PEER_MAX {
            return Err(Fault::Crowded(SAME_PEER_MAX));
        }
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.processes.insert(peer, Arc::clone(found));
        tracing::info!(address = %connection.remote, "a TCP connection is open");
        Ok(())
    }

    /// Ends a connection; one that we dialled for somebody is dialled again.
    fn close(&self, connection: &Connection, fault: &Fault) {
        if !connection.close(self) {
            return;
        }
        if let Some(token) = connection.token() {
            self.poller.remove(token);
        }
        let mut state = lock(&self.state);
        state.connections.remove(&connection.number);
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(peer) = connection.peer()
            && routes.processes.get(&peer).is_some_and(|one| one.number == connection.number)
        {
            routes.processes.remove(&peer);
            if let Some(other) = state.connections.values().rfind(|one| one.peer() == Some(peer)) {
                routes.processes.insert(peer, Arc::clone(other));
            }
        }
        if let Origin::Dialled(address) = connection.origin
            && routes.addresses.get(&address).is_some_and(|one| one.number == connection.number)
        {
            routes.addresses.remove(&address);
        }
        drop(routes);
        match (connection.origin, connection.peer()) {
            (Origin::Dialled(address), _) => self.dial_failed(&mut state, address, connection, fault),
            (Origin::Accepted, Some(_)) if matches!(fault, Fault::Ended | Fault::Io(_)) => {
                tracing::info!(address = %connection.remote, %fault, "a TCP connection ended");
            }
            // Whoever looks whether the port is open is no peer that was refused.
            (Origin::Accepted, None) if matches!(fault, Fault::Early | Fault::Io(_)) => {
                tracing::debug!(address = %connection.remote, %fault, "a TCP connection ended before it greeted");
            }
            (Origin::Accepted, _) if matches!(fault, Fault::Itself) => {}
            (Origin::Accepted, _) => self.refuse(state, connection.remote, fault),
        }
    }

    /// Counts and remembers whom we do not serve, and why.
    fn refuse(&self, mut state: std::sync::MutexGuard<'_, State>, from: SocketAddr, fault: &Fault) {
        let count = self.refusals.fetch_add(1, Ordering::Relaxed) + 1;
        if state.refused.len() >= REFUSED_MAX {
            state.refused.pop_front();
        }
        state.refused.push_back((from, fault.to_string()));
        drop(state);
        // Whoever floods the port does not flood the log.
        if count <= 16 || count.is_power_of_two() {
            tracing::warn!(address = %from, reason = %fault, count, "a TCP connection was refused");
        }
    }

    /// Counts a message that a slow peer did not get; it is the error for that.
    fn overflow(&self) -> io::Error {
        self.overflows.fetch_add(1, Ordering::Relaxed);
        io::ErrorKind::WouldBlock.into()
    }

    // Time.

    /// Makes the timers run at `deadline` at the latest.
    fn arm(&self, deadline: Instant) {
        let before = self.deadline.fetch_min(deadline.as_nanos(), Ordering::SeqCst);
        if deadline.as_nanos() < before {
            self.poller.wake();
        }
    }

    /// Listens again a moment after the system refused a connection.
    fn pause(&self, bound: SocketAddr, errno: rustix::io::Errno) {
        tracing::warn!(address = %bound, error = %errno, "cannot accept TCP connections for a moment");
        let resume_at = node::clock::monotonic() + HANDSHAKE_TIMEOUT / 50;
        for listening in lock(&self.state).listeners.values_mut() {
            if listening.listener.bound == bound {
                listening.resume_at = Some(resume_at);
            }
        }
        self.arm(resume_at);
    }

    fn run_timers(&self) {
        // What is set from here on is not missed.
        self.deadline.store(u64::MAX, Ordering::SeqCst);
        let now = node::clock::monotonic();
        let mut state = lock(&self.state);
        let connections: Vec<Arc<Connection>> = state.connections.values().cloned().collect();
        let mut next = self.dial_due(&mut state, now);
        for listening in state.listeners.values_mut() {
            match listening.resume_at {
                Some(at) if at <= now => {
                    listening.resume_at = None;
                    listening.listener.set_interest(self, Interest::Read);
                }
                Some(at) => next = next.min(at),
                None => {}
            }
        }
        drop(state);
        for connection in connections {
            match connection.late() {
                (late, fault) if late <= now => self.close(&connection, &fault),
                (late, _) => next = next.min(late),
            }
        }
        // The poll thread looks at it before it waits.
        self.deadline.fetch_min(next.as_nanos(), Ordering::SeqCst);
    }

    // Sending.

    /// Sends messages to one locator, by one system call where they are small.
    pub(crate) fn send_all<'a>(
        &self,
        to: &Locator,
        messages: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> io::Result<()> {
        let routes = || self.routes.read().unwrap_or_else(PoisonError::into_inner);
        if *to == Locator::EVERY_CONNECTION {
            let all: Vec<Arc<Connection>> = routes().processes.values().cloned().collect();
            let send = |connection: Arc<Connection>| connection.send(self, messages.clone());
            return all.into_iter().map(send).fold(Ok(()), Result::and);
        }
        let known = match (to.as_connection(), to.as_tcp()) {
            (Some(process), _) => routes().processes.get(&process).cloned(),
            (None, Some(address)) => {
                let known = routes().addresses.get(&address).cloned();
                known.or_else(|| self.dial_on_demand(address))
            }
            (None, None) => None,
        };
        known.ok_or(io::ErrorKind::NotConnected)?.send(self, messages)
    }

    // What people are told.

    /// Messages for peers that were too slow to take them.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// Connections that were refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// How it stands with all connections.
    pub(crate) fn info(&self) -> TcpInfo {
        let state = lock(&self.state);
        let open = |one: &&Arc<Connection>| one.peer().is_some();
        TcpInfo {
            listening: state.listeners.values().map(|one| one.listener.bound).collect(),
            connected: state.connections.values().filter(open).map(|one| one.remote).collect(),
            failing: state
                .dials
                .iter()
                .filter_map(|(address, dial)| Some((*address, dial.error.clone()?)))
                .collect(),
            refused: state.refused.iter().cloned().collect(),
        }
    }
}

impl State {
    /// The TLS that all participants of the process use.
    fn tls_for(&self, files: Option<&TlsFiles>) -> Result<Option<Arc<Tls>>, TlsError> {
        match (files, &self.tls) {
            (None, None) => Ok(None),
            (Some(files), None) if self.users == 0 => Ok(Some(Arc::new(Tls::new(files)?))),
            (Some(files), Some(tls)) if tls.is_of(files) => Ok(Some(Arc::clone(tls))),
            _ => Err(TlsError::Differs),
        }
    }
}

impl Transport for Tcp {
    fn reaches(&self, to: &Locator) -> bool {
        matches!(to.kind, LocatorKind::TcpV4 | LocatorKind::TcpV6)
    }

    fn send(&self, to: &Locator, bytes: &[u8]) -> io::Result<()> {
        self.send_all(to, std::iter::once(bytes))
    }
}

impl Source for Tcp {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.quiet.as_fd()
    }

    fn handle_ready(&self, _engine: &Arc<Engine>) {}

    fn deadline(&self) -> Instant {
        Instant::from_nanos(self.deadline.load(Ordering::SeqCst))
    }

    fn handle_timeout(&self, _engine: &Arc<Engine>) {
        self.run_timers();
    }
}
