//! Accepting connections. May touch: the listening socket.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock, Weak};

use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::{Tcp, socket};
use crate::engine::{Engine, Interest, Source, Token};

/// Connections accepted before other sources get a turn.
const BURST: usize = 16;

/// A socket that accepts connections.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    /// Its address with the port that it got.
    pub(super) bound: SocketAddr,
    hub: Weak<Tcp>,
    token: OnceLock<Token>,
}

impl Listener {
    pub(super) fn new(hub: Weak<Tcp>, address: SocketAddr) -> std::io::Result<Self> {
        let (socket, bound) = socket::listen(address)?;
        Ok(Self { socket, bound, hub, token: OnceLock::new() })
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.token.get().copied()
    }

    /// Accepts what has come.
    pub(super) fn accept(&self, hub: &Tcp) {
        for _ in 0..BURST {
            let accepted =
                rustix::net::acceptfrom_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC);
            match accepted {
                Ok((socket, from)) => {
                    let Some(from) = from.and_then(|from| SocketAddr::try_from(from).ok()) else { continue };
                    socket::tune(&socket);
                    hub.accepted(socket, from);
                }
                Err(Errno::AGAIN) => return,
                // The peer is gone already, or a signal came.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(errno) => {
                    // Most likely no descriptor is left. The socket stays readable, so asking at once would only turn.
                    self.set_interest(hub, Interest::Nothing);
                    hub.pause(self.bound, errno);
                    return;
                }
            }
        }
    }

    pub(super) fn set_interest(&self, hub: &Tcp, interest: Interest) {
        if let Some(token) = self.token() {
            hub.poller.set_interest(token, self, interest);
        }
    }
}

impl Source for Listener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn watched(&self, token: Token) {
        let _ = self.token.set(token);
    }

    fn handle_ready(&self, _engine: &Arc<Engine>) {
        if let Some(hub) = self.hub.upgrade() {
            self.accept(&hub);
        }
    }
}
