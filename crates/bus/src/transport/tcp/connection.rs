//! One TCP connection: connecting, greeting, sending and receiving. May touch: its socket.
//!
//! | phase | waits for | then |
//! | --- | --- | --- |
//! | connecting | the kernel (only the side that dialled) | securing with TLS, otherwise greeting |
//! | securing | the TLS handshake | greeting |
//! | greeting | the peer's hello; who dialled greets first | open |
//! | open | messages | closed |
//!
//! Whoever sends writes to the socket itself, with one system call as long as the peer keeps up; what the socket does
//! not take is queued, and the poll thread writes it. Only the poll thread reads.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use rtps::Locator;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown};
use units::Instant;

use super::frame::{self, FrameFault};
use super::queue::Queue;
use super::tls::{Session, TlsFault};
use super::{QUEUED_BYTES_MAX, Tcp};
use crate::engine::{Engine, Interest, Source, Token, lock};

/// Which side made a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// We did, to this address.
    Dialled(SocketAddr),
    /// The peer did.
    Accepted,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("the peer closed the connection")]
    Ended,
    #[error(
        "the peer closed the connection before it greeted: it must be a Stillwatt process, and both or neither use TLS"
    )]
    Early,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Frame(#[from] FrameFault),
    #[error(transparent)]
    Tls(#[from] TlsFault),
    #[error("it leads to this process itself")]
    Itself,
    #[error("the peer has {0} connections already")]
    Crowded(usize),
    #[error("there are {0} connections, which are the most")]
    Full(usize),
    #[error("the peer took too long to {0}")]
    Slow(&'static str),
}

/// What a connection gives to whoever reads it.
pub(super) enum Input<'a> {
    /// It is open, and this is its peer.
    Opened(Locator),
    /// A message from its peer.
    Message(Locator, &'a [u8]),
}

/// For how long a connection may do what is not yet exchanging messages.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// For how long a message may be on its way once it has begun.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Octets kept for a peer that is not connected yet.
const EARLY_BYTES_MAX: usize = 256 << 10;
/// Octets kept for a peer that does not take them. A message that has begun is always kept whole.
const QUEUE_BYTES_MAX: usize = 8 << 20;
/// Octets that are copied together to be written at once.
const CORK_BYTES_MAX: usize = 32 << 10;
/// Read at once, at most.
pub(super) const READ_BYTES: usize = 384 << 10;
/// The start of a message that is copied to where the rest is read to; a longer one has the rest read to its end, so
/// that a peer that sends octets one by one costs no copy of them all for each. Messages for UDP too are not longer.
const COPY_BYTES_MAX: usize = 80 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Securing,
    Greeting,
    Open,
    Closed,
}

#[derive(Debug)]
struct Sending {
    phase: Phase,
    session: Option<Session>,
    /// Messages for when it is open.
    early: Vec<u8>,
    queue: Queue,
    waits_to_write: bool,
    /// More follows at once.
    is_corked: bool,
}

/// A connection to another process.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) number: u64,
    pub(super) remote: SocketAddr,
    pub(super) origin: Origin,
    pub(super) made_at: Instant,
    is_secured: bool,
    socket: OwnedFd,
    hub: Weak<Tcp>,
    token: OnceLock<Token>,
    peer: OnceLock<[u8; 16]>,
    /// When something is late, in nanoseconds; `u64::MAX` while nothing is awaited.
    deadline: AtomicU64,
    sending: Mutex<Sending>,
    /// The start of a message whose end has not come.
    pending: Mutex<Vec<u8>>,
}

impl Connection {
    pub(super) fn new(
        hub: Weak<Tcp>,
        number: u64,
        socket: OwnedFd,
        remote: SocketAddr,
        origin: Origin,
        session: Option<Session>,
    ) -> Self {
        let made_at = node::clock::monotonic();
        let phase = match (origin, &session) {
            (Origin::Dialled(_), _) => Phase::Connecting,
            (Origin::Accepted, Some(_)) => Phase::Securing,
            (Origin::Accepted, None) => Phase::Greeting,
        };
        let waits_to_write = phase == Phase::Connecting;
        let is_secured = session.is_some();
        Self {
            number,
            remote,
            origin,
            made_at,
            is_secured,
            socket,
            hub,
            token: OnceLock::new(),
            peer: OnceLock::new(),
            deadline: AtomicU64::new((made_at + HANDSHAKE_TIMEOUT).as_nanos()),
            sending: Mutex::new(Sending {
                phase,
                session,
                early: Vec::new(),
                queue: Queue::default(),
                waits_to_write,
                is_corked: false,
            }),
            pending: Mutex::default(),
        }
    }

    /// The process at the other end, once it has greeted.
    pub(super) fn peer(&self) -> Option<[u8; 16]> {
        self.peer.get().copied()
    }

    /// When it will have taken too long, and for what.
    pub(super) fn late(&self) -> (Instant, Fault) {
        let what = if self.peer().is_some() { "send the rest of a message" } else { "greet" };
        (Instant::from_nanos(self.deadline.load(Ordering::Relaxed)), Fault::Slow(what))
    }

    /// What the poll thread waits for at first.
    pub(super) fn first_interest(&self) -> Interest {
        if self.origin == Origin::Accepted { Interest::Read } else { Interest::ReadWrite }
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.token.get().copied()
    }

    // Sending.

    /// Sends messages, or keeps them until the connection is open or the peer takes more. An error when it could do
    /// neither with one of them.
    pub(super) fn send<'a>(
        &self,
        hub: &Tcp,
        messages: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        let mut sending = lock(&self.sending);
        let mut result = Ok(());
        // Many small messages cost one system call.
        sending.is_corked = messages.len() > 1;
        for message in messages {
            result = result.and(sending.send(self, hub, message));
        }
        if std::mem::take(&mut sending.is_corked) && !sending.waits_to_write {
            result = result.and(sending.flush(self, hub));
        }
        result
    }

    /// Ends it; false when it had ended already.
    pub(super) fn close(&self, hub: &Tcp) -> bool {
        let mut sending = lock(&self.sending);
        if sending.phase == Phase::Closed {
            return false;
        }
        sending.phase = Phase::Closed;
        hub.queued.fetch_sub(sending.queue.len(), Ordering::Relaxed);
        sending.queue.clear();
        sending.early = Vec::new();
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        true
    }

    // Receiving.

    /// Does what the socket is ready for.
    pub(super) fn advance(&self, hub: &Tcp, take: &mut dyn FnMut(Input<'_>)) -> Result<(), Fault> {
        let mut sending = lock(&self.sending);
        match sending.phase {
            Phase::Closed => return Ok(()),
            Phase::Connecting => {
                rustix::net::sockopt::socket_error(&self.socket)
                    .map_err(io::Error::from)?
                    .map_err(io::Error::from)?;
                if rustix::net::getpeername(&self.socket).is_err() {
                    return Ok(());
                }
                sending.begin(self, hub)?;
            }
            Phase::Securing | Phase::Greeting | Phase::Open => {}
        }
        if sending.waits_to_write {
            sending.flush(self, hub)?;
        }
        drop(sending);
        self.receive(hub, take).map_err(|fault| match fault {
            Fault::Ended if self.peer.get().is_none() => Fault::Early,
            other => other,
        })
    }

    fn receive(&self, hub: &Tcp, take: &mut dyn FnMut(Input<'_>)) -> Result<(), Fault> {
        // Only the poll thread comes here, so nobody waits for these locks.
        let mut buffer = lock(&hub.buffer);
        let mut pending = lock(&self.pending);
        buffer.clear();
        let is_through_buffer = !self.is_secured && pending.len() <= COPY_BYTES_MAX;
        let consumed = if is_through_buffer {
            // What was left over is less to copy than what is read after it would be.
            buffer.extend_from_slice(&pending);
            if read(&self.socket, &mut buffer)? == 0 {
                return Ok(());
            }
            let consumed = self.take_messages(hub, &mut buffer, take)?;
            pending.clear();
            pending.extend_from_slice(buffer.get(consumed..).unwrap_or_default());
            consumed
        } else {
            if self.is_secured {
                if read(&self.socket, &mut buffer)? == 0 {
                    return Ok(());
                }
                self.decrypt(hub, &buffer, &mut pending)?;
            } else {
                pending.reserve(COPY_BYTES_MAX);
                if read(&self.socket, &mut pending)? == 0 {
                    return Ok(());
                }
            }
            let consumed = self.take_messages(hub, &mut pending, take)?;
            pending.drain(..consumed);
            consumed
        };
        if pending.is_empty() && pending.capacity() > COPY_BYTES_MAX {
            *pending = Vec::new();
        }
        self.watch_progress(hub, consumed > 0, !pending.is_empty());
        Ok(())
    }

    fn decrypt(&self, hub: &Tcp, raw: &[u8], plain: &mut Vec<u8>) -> Result<(), Fault> {
        let mut sending = lock(&self.sending);
        let Sending { session: Some(session), queue, .. } = &mut *sending else { return Ok(()) };
        let before = queue.len();
        let decrypted = session.decrypt(raw, plain, queue.tail());
        let is_ready = !session.is_handshaking();
        hub.queued.fetch_add(queue.len() - before, Ordering::Relaxed);
        // What TLS has to say goes out first, above all why it refuses the peer.
        let flushed = sending.flush(self, hub);
        decrypted?;
        flushed?;
        if is_ready && sending.phase == Phase::Securing {
            sending.greet(self, hub)?;
        }
        Ok(())
    }

    /// Takes the whole messages at the start of `bytes`; returns how many octets they were.
    fn take_messages(
        &self,
        hub: &Tcp,
        bytes: &mut [u8],
        take: &mut dyn FnMut(Input<'_>),
    ) -> Result<usize, Fault> {
        let mut start = 0;
        while let Some(rest) = bytes.get_mut(start..)
            && let Some(length) = frame::scan(rest)?
            && let Some(frame) = rest.get_mut(..length)
        {
            let message = frame::message(frame);
            match self.peer.get() {
                Some(peer) => take(Input::Message(Locator::connection(*peer), message)),
                None => self.greeted(hub, frame::read_hello(message)?, take)?,
            }
            start += length;
        }
        Ok(start)
    }

    fn greeted(&self, hub: &Tcp, peer: [u8; 16], take: &mut dyn FnMut(Input<'_>)) -> Result<(), Fault> {
        if peer == hub.identity {
            // So that the end that dialled knows too, and does not try again.
            if self.origin == Origin::Accepted {
                lock(&self.sending).put_hello(self, hub)?;
            }
            return Err(Fault::Itself);
        }
        // Set first: whoever closes it from here on finds out whom it belonged to.
        let _ = self.peer.set(peer);
        hub.opened(self, peer)?;
        let mut sending = lock(&self.sending);
        if self.origin == Origin::Accepted {
            sending.put_hello(self, hub)?;
        }
        sending.phase = Phase::Open;
        let early = std::mem::take(&mut sending.early);
        if !early.is_empty() {
            sending.put(self, hub, &early, &[])?;
        }
        drop(sending);
        self.deadline.store(u64::MAX, Ordering::Relaxed);
        take(Input::Opened(Locator::connection(peer)));
        Ok(())
    }

    /// A message that has begun must end in time. Until the peer has greeted, the time for that holds.
    fn watch_progress(&self, hub: &Tcp, has_progress: bool, is_partial: bool) {
        if self.peer.get().is_none() {
            return;
        }
        let is_watched = self.deadline.load(Ordering::Relaxed) != u64::MAX;
        if !is_partial {
            if is_watched {
                self.deadline.store(u64::MAX, Ordering::Relaxed);
            }
        } else if has_progress || !is_watched {
            let deadline = node::clock::monotonic() + MESSAGE_TIMEOUT;
            self.deadline.store(deadline.as_nanos(), Ordering::Relaxed);
            hub.arm(deadline);
        }
    }
}

impl Source for Connection {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn watched(&self, token: Token) {
        let _ = self.token.set(token);
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        let Some(hub) = self.hub.upgrade() else { return };
        let result = self.advance(&hub, &mut |input| match input {
            Input::Opened(peer) => engine.announce_to(peer),
            Input::Message(from, message) => engine.dispatch(None, from, message),
        });
        if let Err(fault) = result {
            hub.close(self, &fault);
        }
    }
}

impl Sending {
    fn send(&mut self, connection: &Connection, hub: &Tcp, message: &[u8]) -> io::Result<()> {
        let (head, rest) = frame::head(message).ok_or(io::ErrorKind::InvalidInput)?;
        match self.phase {
            Phase::Open => self.put(connection, hub, &head, rest),
            Phase::Closed => Err(io::ErrorKind::NotConnected.into()),
            Phase::Connecting | Phase::Securing | Phase::Greeting => {
                if self.early.len() + head.len() + rest.len() > EARLY_BYTES_MAX {
                    return Err(hub.overflow());
                }
                self.early.extend_from_slice(&head);
                self.early.extend_from_slice(rest);
                Ok(())
            }
        }
    }

    /// The kernel has connected.
    fn begin(&mut self, connection: &Connection, hub: &Tcp) -> Result<(), Fault> {
        let Some(session) = &mut self.session else { return self.greet(connection, hub) };
        self.phase = Phase::Securing;
        let before = self.queue.len();
        session.start(self.queue.tail())?;
        hub.queued.fetch_add(self.queue.len() - before, Ordering::Relaxed);
        Ok(self.flush(connection, hub)?)
    }

    /// Who dialled greets first: a listener tells nothing to whom it does not know.
    fn greet(&mut self, connection: &Connection, hub: &Tcp) -> Result<(), Fault> {
        self.phase = Phase::Greeting;
        match connection.origin {
            Origin::Dialled(_) => self.put_hello(connection, hub),
            Origin::Accepted => Ok(()),
        }
    }

    fn put_hello(&mut self, connection: &Connection, hub: &Tcp) -> Result<(), Fault> {
        let hello = frame::hello(hub.identity);
        let (head, rest) = frame::head(&hello).ok_or(FrameFault::NoHello)?;
        Ok(self.put(connection, hub, &head, rest)?)
    }

    /// Sends one piece of the stream, or all of it later; never a part only.
    fn put(&mut self, connection: &Connection, hub: &Tcp, head: &[u8], rest: &[u8]) -> io::Result<()> {
        let length = head.len() + rest.len();
        let before = self.queue.len();
        if before > 0
            && (before + length > QUEUE_BYTES_MAX
                || hub.queued.load(Ordering::Relaxed) + length > QUEUED_BYTES_MAX)
        {
            return Err(hub.overflow());
        }
        if let Some(session) = &mut self.session {
            session.encrypt(head, rest, self.queue.tail()).map_err(io::Error::other)?;
        } else if before == 0 && (!self.is_corked || length >= CORK_BYTES_MAX) {
            let written = write(&connection.socket, head, rest)?;
            if written == length {
                return Ok(());
            }
            let (head, rest) = (head.get(written..), rest.get(written.saturating_sub(head.len())..));
            let tail = self.queue.tail();
            tail.extend_from_slice(head.unwrap_or_default());
            tail.extend_from_slice(rest.unwrap_or_default());
        } else {
            let tail = self.queue.tail();
            tail.extend_from_slice(head);
            tail.extend_from_slice(rest);
        }
        hub.queued.fetch_add(self.queue.len() - before, Ordering::Relaxed);
        let is_due = !self.is_corked || self.queue.len() >= CORK_BYTES_MAX;
        if is_due && !self.waits_to_write { self.flush(connection, hub) } else { Ok(()) }
    }

    /// Writes what is queued as far as the socket takes it, and asks for a call when it takes more.
    fn flush(&mut self, connection: &Connection, hub: &Tcp) -> io::Result<()> {
        while !self.queue.is_empty() {
            let written = write(&connection.socket, self.queue.pending(), &[])?;
            if written == 0 {
                break;
            }
            self.queue.advance(written);
            hub.queued.fetch_sub(written, Ordering::Relaxed);
        }
        let waits_to_write = !self.queue.is_empty();
        if waits_to_write != self.waits_to_write
            && let Some(token) = connection.token()
        {
            self.waits_to_write = waits_to_write;
            let interest = if waits_to_write { Interest::ReadWrite } else { Interest::Read };
            hub.poller.set_interest(token, connection, interest);
        }
        Ok(())
    }
}

/// How many octets the socket took; 0 when it takes none now.
fn write(socket: &OwnedFd, head: &[u8], rest: &[u8]) -> io::Result<usize> {
    let parts = [IoSlice::new(head), IoSlice::new(rest)];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match rustix::net::sendmsg(socket, &parts, &mut SendAncillaryBuffer::default(), flags) {
        Ok(written) => Ok(written),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}

/// Appends what has come, as far as the buffer has room; returns how many octets, 0 when nothing has come.
fn read(socket: &OwnedFd, buffer: &mut Vec<u8>) -> Result<usize, Fault> {
    match rustix::io::read(socket, spare_capacity(buffer)) {
        Ok(0) => Err(Fault::Ended),
        Ok(count) => Ok(count),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(errno) => Err(io::Error::from(errno).into()),
    }
}
