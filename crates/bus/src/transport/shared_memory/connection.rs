//! A connection between two processes of the machine, and the socket that accepts them. May touch: sockets.
//!
//! The socket has a name in the network namespace, not in the file system: it is gone with its process.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::socket::sockopt::PeerCredentials;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use units::Instant;

use super::message::{MESSAGE_BYTES, Message};
use super::own::OwnRing;
use super::wants::Process;
use crate::engine::lock;

/// Messages that wait for room in the socket; with more, the connection is given up.
const OUTGOING_MAX: usize = 8192;
/// After so long they are tried again.
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

fn name(process: &Process) -> io::Result<SocketAddrUnix> {
    let digits: String = process.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(SocketAddrUnix::new_abstract_name(format!("stillwatt-bus-{digits}").as_bytes())?)
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// The socket that others connect to.
pub(crate) fn listen(process: &Process) -> io::Result<OwnedFd> {
    let socket = socket()?;
    rustix::net::bind(&socket, &name(process)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// The user at the other end: who connected, or who listens.
pub(crate) fn user_of(socket: &impl AsFd) -> io::Result<u32> {
    // Not by rustix, which has no word for a process that this one cannot see, such as a container's: number 0.
    Ok(nix::sys::socket::getsockopt(socket, PeerCredentials)?.uid())
}

/// What has the file that goes with a message.
#[derive(Debug)]
pub(crate) enum Attached {
    Ring(Arc<OwnRing>),
    Bell(OwnedFd),
}

impl Attached {
    fn file(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ring(ring) => ring.file(),
            Self::Bell(file) => file.as_fd(),
        }
    }
}

/// A connection that sends whole messages and never blocks.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    outgoing: Mutex<Outgoing>,
}

#[derive(Debug, Default)]
struct Outgoing {
    queue: VecDeque<(Message, Option<Attached>)>,
    /// When to try again, while something waits.
    retry_at: Instant,
}

/// What came on a connection.
#[derive(Debug)]
pub(crate) enum Received {
    /// A message, with the file that was attached.
    Message(Message, Option<OwnedFd>),
    /// Nothing now.
    Nothing,
    /// The other side has gone or does not speak our language.
    End,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, outgoing: Mutex::default() }
    }

    /// Connects to a process of this machine; at once, or not.
    pub(crate) fn connect(process: &Process) -> io::Result<Self> {
        let socket = socket()?;
        rustix::net::connect(&socket, &name(process)?)?;
        Ok(Self::new(socket))
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a message, now or with [`Connection::flush`].
    ///
    /// # Errors
    /// When the connection has ended, or too much waits.
    pub(crate) fn send(&self, message: Message, attached: Option<Attached>) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        if outgoing.queue.len() >= OUTGOING_MAX {
            return Err(io::ErrorKind::StorageFull.into());
        }
        outgoing.queue.push_back((message, attached));
        drop(outgoing);
        self.flush()
    }

    /// When [`Connection::flush`] has work.
    pub(crate) fn deadline(&self) -> Instant {
        let outgoing = lock(&self.outgoing);
        if outgoing.queue.is_empty() { Instant::MAX } else { outgoing.retry_at }
    }

    /// Sends what waits, as far as there is room.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        while let Some((message, attached)) = outgoing.queue.front() {
            let file = attached.as_ref().map(|attached| [attached.file()]);
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if let Some(file) = &file {
                control.push(SendAncillaryMessage::ScmRights(file));
            }
            let bytes = message.encode();
            match rustix::net::sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut control, FLAGS) {
                Ok(_) => drop(outgoing.queue.pop_front()),
                Err(rustix::io::Errno::AGAIN) => {
                    outgoing.retry_at = node::clock::monotonic() + RETRY_DELAY;
                    return Ok(());
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    pub(crate) fn receive(&self) -> Received {
        // One octet more than a message, so that a longer one shows.
        let mut bytes = [0; MESSAGE_BYTES + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let buffers = &mut [IoSliceMut::new(&mut bytes)];
        let length = match rustix::net::recvmsg(&self.socket, buffers, &mut control, flags) {
            Ok(received) => received.bytes,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Received::Nothing,
            Err(_) => return Received::End,
        };
        let files = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        // Whatever else was attached is closed here.
        let file = files.flatten().next();
        match bytes.get(..length).and_then(Message::decode) {
            Some(message) => Received::Message(message, file),
            None => Received::End,
        }
    }
}

const FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
