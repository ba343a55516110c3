#![expect(clippy::disallowed_methods, reason = "I/O shell: TCP sockets")]
//! TCP sockets as the transport wants them. May touch: sockets.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel keeps for a listener that is busy.
const BACKLOG: i32 = 256;
/// A silent peer is asked whether it lives after this time, and again as often.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// A peer that has not confirmed what was sent for this time is gone.
const USER_TIMEOUT: Duration = Duration::from_secs(20);

fn stream(address: SocketAddr) -> io::Result<Socket> {
    // Non-blocking and not inherited by children from the start.
    Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))
}

/// A socket that accepts connections at `address`, and the address with the port that it got.
pub(super) fn listen(address: SocketAddr) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = stream(address)?;
    // Otherwise a restarted server waits a minute for its own old connections.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // A port of both families is asked for with two addresses.
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let bound = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((socket.into(), bound))
}

/// A socket that connects to `address`; writable once it is decided whether that worked.
pub(super) fn connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket: OwnedFd = stream(address)?.into();
    tune(&socket);
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno.into()),
    }
}

/// No delays for the sake of fewer packets, and dead peers are noticed. A kernel without one of these options serves
/// all the same, later.
pub(super) fn tune(socket: impl AsFd) {
    let socket = socket.as_fd();
    let _ = sockopt::set_tcp_nodelay(socket, true);
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, KEEPALIVE);
    let _ = sockopt::set_tcp_keepintvl(socket, KEEPALIVE);
    let _ = sockopt::set_tcp_keepcnt(socket, 3);
    let _ = sockopt::set_tcp_user_timeout(socket, USER_TIMEOUT.as_millis() as u32);
}
