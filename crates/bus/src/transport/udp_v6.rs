#![expect(clippy::disallowed_methods, reason = "I/O shell: UDP sockets")]
//! UDP over IPv6: unicast, and the multicast group of discovery. May touch: sockets.
//!
//! Its sockets are apart from those for IPv4 and watched by the poll thread, so that IPv4 has its thread for itself.
//! Ports are the well-known ones of IPv4, free or not of their own. A locator has no scope: to link-local addresses,
//! which are announced only where there are no others, messages leave by the first interface that has one.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use rtps::Locator;
use rtps::ports::{INDEX_MAX, ports};
use socket2::{Domain, Protocol, Socket, Type};

use super::Transport;
use super::interfaces::Address;
use super::udp::{free, grow_buffer};
use crate::engine::{Engine, Source, lock};

/// The discovery group: the one that Fast DDS uses, since the standard names none.
pub(crate) const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff1e, 0, 0, 0, 0, 0xffff, 0xefff, 1);
/// Datagrams taken before other sources get a turn.
const BURST: usize = 64;

/// UDP over IPv6 of a process: its data socket, which sends everything, and one that sends to groups for each
/// interface.
#[derive(Debug)]
pub(crate) struct UdpV6 {
    data: Arc<ReceiverV6>,
    pub(crate) user_port: u16,
    groups: Vec<(UdpSocket, u32)>,
    /// By which interface link-local addresses are reached.
    scope: u32,
}

/// The discovery sockets of one domain.
#[derive(Debug)]
pub(crate) struct DomainSocketsV6 {
    pub(crate) meta: Arc<ReceiverV6>,
    pub(crate) meta_port: u16,
    /// Listens to the discovery group; absent where no interface allows multicast.
    pub(crate) group: Option<Arc<ReceiverV6>>,
}

/// A socket that hears datagrams of one domain or of all.
#[derive(Debug)]
pub(crate) struct ReceiverV6 {
    domain: Option<u32>,
    socket: UdpSocket,
    buffer: Mutex<Vec<u8>>,
}

impl UdpV6 {
    /// Binds the data port, `wanted` when it is free, and tries each interface that says it can do multicast.
    pub(crate) fn new(wanted: u16, addresses: &[Address]) -> io::Result<Self> {
        let socket = match free(bind(wanted, false))? {
            Some(socket) => socket,
            None => bind(0, false)?,
        };
        let user_port = socket.local_addr()?.port();
        let mut groups: Vec<(UdpSocket, u32)> = Vec::new();
        for address in addresses.iter().filter(|one| one.is_multicast && one.v6().is_some()) {
            let is_new = groups.iter().all(|(_, index)| *index != address.index);
            if is_new && let Ok(sender) = group_sender(address.index) {
                groups.push((sender, address.index));
            }
        }
        let scoped = |one: &&Address| one.v6().is_some_and(|ip| ip.is_unicast_link_local());
        let scope = addresses.iter().find(scoped).map_or(0, |one| one.index);
        Ok(Self { data: ReceiverV6::new(None, socket), user_port, groups, scope })
    }

    /// What hears user data.
    pub(crate) fn data(&self) -> Arc<ReceiverV6> {
        Arc::clone(&self.data)
    }

    /// The discovery sockets of `domain`: the lowest free well-known port, or any when there is multicast.
    pub(crate) fn open(&self, domain: u32) -> io::Result<DomainSocketsV6> {
        let first = ports(domain, 0).map_err(io::Error::other)?;
        let group = match self.groups.is_empty() {
            true => None,
            false => Some(ReceiverV6::new(Some(domain), self.join(first.metatraffic_multicast)?)),
        };
        for index in 0..=INDEX_MAX {
            let Ok(well_known) = ports(domain, index) else { break };
            let meta_port = well_known.metatraffic_unicast;
            if let Some(meta) = free(bind(meta_port, false))? {
                return Ok(DomainSocketsV6 { meta: ReceiverV6::new(Some(domain), meta), meta_port, group });
            }
        }
        if group.is_none() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let meta = bind(0, false)?;
        let meta_port = meta.local_addr()?.port();
        Ok(DomainSocketsV6 { meta: ReceiverV6::new(Some(domain), meta), meta_port, group })
    }

    fn join(&self, port: u16) -> io::Result<UdpSocket> {
        let socket = bind(port, true)?;
        let mut joined = Err(io::ErrorKind::AddrNotAvailable.into());
        for (_, index) in &self.groups {
            match socket.join_multicast_v6(&GROUP_V6, *index) {
                Ok(()) => joined = Ok(()),
                Err(error) if joined.is_err() => joined = Err(error),
                Err(_) => {}
            }
        }
        joined.map(|()| socket)
    }

    /// Sends to a multicast group on these interfaces only, or on all.
    pub(crate) fn send_on(&self, only: Option<&[u32]>, to: &Locator, bytes: &[u8]) -> io::Result<()> {
        let Some(SocketAddr::V6(to)) = to.as_udp() else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        let mut result = Err(io::ErrorKind::NetworkUnreachable.into());
        for (sender, index) in &self.groups {
            if only.is_some_and(|only| !only.contains(index)) {
                continue;
            }
            match sender.send_to(bytes, to) {
                Ok(_) => result = Ok(()),
                Err(error) if result.is_err() => result = Err(error),
                Err(_) => {}
            }
        }
        result
    }
}

fn bind(port: u16, shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP))?;
    // IPv4 has sockets of its own at the same ports.
    socket.set_only_v6(true)?;
    if shared {
        socket.set_reuse_address(true)?;
    }
    grow_buffer(&socket);
    socket.bind(&SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0).into())?;
    Ok(socket.into())
}

fn group_sender(index: u32) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_only_v6(true)?;
    socket.set_multicast_if_v6(index)?;
    socket.set_multicast_loop_v6(true)?;
    socket.set_multicast_hops_v6(1)?;
    // As for IPv4: what does not work shows here. An interface that has just come up, though, may not use its address
    // for a second or two, until it knows that nobody else has it (RFC 4862 section 5.4); announcements come again.
    match socket.send_to(&[], &SocketAddrV6::new(GROUP_V6, 9, 0, 0).into()) {
        Err(error) if error.kind() != io::ErrorKind::AddrNotAvailable => return Err(error),
        _ => {}
    }
    // It has a port now, and as for IPv4 is in nobody's way there.
    socket.set_reuse_address(true)?;
    socket.set_multicast_all_v6(false)?;
    Ok(socket.into())
}

impl Transport for UdpV6 {
    fn reaches(&self, to: &Locator) -> bool {
        matches!(to.as_udp(), Some(SocketAddr::V6(_)))
    }

    fn send(&self, to: &Locator, bytes: &[u8]) -> io::Result<()> {
        let Some(SocketAddr::V6(mut address)) = to.as_udp() else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        if to.is_multicast() {
            return self.send_on(None, to, bytes);
        }
        if address.ip().is_unicast_link_local() {
            address.set_scope_id(self.scope);
        }
        self.data.socket.send_to(bytes, address).map(|_| ())
    }
}

impl ReceiverV6 {
    fn new(domain: Option<u32>, socket: UdpSocket) -> Arc<Self> {
        Arc::new(Self { domain, socket, buffer: Mutex::new(vec![0; 65_536]) })
    }
}

impl Source for ReceiverV6 {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        // Only the poll thread comes here, so nobody waits for the lock.
        let mut buffer = lock(&self.buffer);
        for _ in 0..BURST {
            let received =
                rustix::net::recvfrom(&self.socket, buffer.as_mut_slice(), rustix::net::RecvFlags::DONTWAIT);
            let Ok((_, length, from)) = received else { return };
            let from = from.and_then(|from| SocketAddr::try_from(from).ok());
            if let (Some(bytes), Some(from)) = (buffer.get(..length), from) {
                engine.dispatch(self.domain, Locator::udp(from), bytes);
            }
        }
    }
}
