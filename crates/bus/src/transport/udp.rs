#![expect(clippy::disallowed_methods, reason = "I/O shell: UDP sockets")]
//! UDP over IPv4: unicast, and the multicast group of discovery. May touch: sockets.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, sendmsg};
use rtps::Locator;
use rtps::ports::{INDEX_MAX, PortError, Ports, ports};
use socket2::{Domain, Protocol, Socket, Type};

use super::Transport;
use super::interfaces::Address;
use crate::JoinError;

/// The discovery group of every DDS (RTPS 9.6.1.4).
pub(crate) const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
/// What we ask the kernel for.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Datagrams that the system cuts out of one call at most.
pub(crate) const SEGMENTS_MAX: usize = 64;
/// The largest of them: what an Ethernet frame takes.
const SEGMENT_BYTES_MAX: usize = 1472;
/// What UDP over IPv4 carries at once.
const DATAGRAM_BYTES_MAX: usize = 65_507;

/// The sockets of one domain.
#[derive(Debug)]
pub(crate) struct DomainSockets {
    pub(crate) domain: u32,
    /// Listens to the discovery group; absent where no interface allows multicast.
    pub(crate) multicast: Option<UdpSocket>,
    /// Discovery traffic addressed to this process.
    pub(crate) meta: UdpSocket,
    pub(crate) meta_port: u16,
    pub(crate) ports: Ports,
}

/// Sends to groups, one socket an interface.
#[derive(Debug, Default)]
pub(crate) struct Multicast {
    senders: Vec<UdpSocket>,
    interfaces: Vec<Ipv4Addr>,
    /// The first so many are used for data: loopback, which comes last, only when there is no other.
    data: usize,
}

impl Multicast {
    /// Tries each interface that says it can do multicast, by sending nothing but setting everything up.
    pub(crate) fn new(addresses: &[Address]) -> Self {
        let mut multicast = Self::default();
        for address in addresses.iter().filter(|address| address.is_multicast) {
            let Some(ip) = address.v4() else { continue };
            if let Ok(sender) = multicast_sender(ip) {
                multicast.senders.push(sender);
                multicast.interfaces.push(ip);
            }
        }
        let routable = multicast.interfaces.iter().filter(|ip| !ip.is_loopback()).count();
        multicast.data = if routable == 0 { multicast.interfaces.len() } else { routable };
        multicast
    }

    /// The interfaces on which data is sent to groups and heard from them.
    pub(crate) fn data_interfaces(&self) -> &[Ipv4Addr] {
        self.interfaces.get(..self.data).unwrap_or_default()
    }

    pub(crate) fn is_available(&self) -> bool {
        !self.senders.is_empty()
    }

    /// Sends to the discovery group on every interface, to others on those for data; an error only when it works on
    /// none.
    fn send(&self, only: Option<&[Ipv4Addr]>, to: SocketAddrV4, bytes: &[u8]) -> io::Result<()> {
        let mut result = Err(io::ErrorKind::NetworkUnreachable.into());
        let count = if *to.ip() == GROUP { self.senders.len() } else { self.data };
        for (sender, interface) in self.senders.iter().zip(&self.interfaces).take(count) {
            if only.is_some_and(|only| !only.contains(interface)) {
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

fn multicast_sender(interface: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0).into())?;
    // The system may have given it the port at which everyone of some domain listens for the discovery group: it is not
    // in their way, nor does it get what they get.
    socket.set_reuse_address(true)?;
    socket.set_multicast_all_v4(false)?;
    socket.set_multicast_if_v4(&interface)?;
    socket.set_multicast_loop_v4(true)?;
    socket.set_multicast_ttl_v4(1)?;
    // A group without a route or an interface that refuses shows here, before anybody relies on it. The probe is an
    // empty datagram to the discard port of the group.
    socket.send_to(&[], &SocketAddrV4::new(GROUP, 9).into())?;
    Ok(socket.into())
}

pub(super) fn bind(port: u16, shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    if shared {
        socket.set_reuse_address(true)?;
    }
    grow_buffer(&socket);
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
    Ok(socket.into())
}

/// Asks for room for what comes while we do something else.
pub(super) fn grow_buffer(socket: &Socket) {
    // A smaller buffer is no failure: overflow is loss, and loss is repaired or counted. Who may administer the network
    // gets what he asks for, everybody else at most what the system allows.
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER_BYTES).is_err() {
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
    }
}

fn local_port(socket: &UdpSocket) -> io::Result<u16> {
    socket.local_addr().map(|address| address.port())
}

impl DomainSockets {
    /// Binds the lowest free pair of well-known unicast ports, and the user socket with it when `with_user`.
    pub(crate) fn open(
        domain: u32,
        multicast: &Multicast,
        with_user: bool,
    ) -> Result<(Self, Option<UdpSocket>), JoinError> {
        let fault = |what| move |source| JoinError::Socket { domain, what, source };
        let of_domain = |source: PortError| JoinError::Domain { domain, source };
        let first = ports(domain, 0).map_err(of_domain)?;
        let group =
            multicast.is_available().then(|| join(first.metatraffic_multicast, multicast)).transpose();
        let group = group.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => JoinError::GroupPort { domain, port: first.metatraffic_multicast },
            _ => fault("binding the discovery group's port")(source),
        })?;
        for index in 0..=INDEX_MAX {
            let Ok(well_known) = ports(domain, index) else { break };
            let meta = free(bind(well_known.metatraffic_unicast, false));
            let Some(meta) = meta.map_err(fault("binding a discovery port"))? else { continue };
            let user = if with_user {
                let user = free(bind(well_known.user_unicast, false));
                let Some(user) = user.map_err(fault("binding a data port"))? else { continue };
                Some(user)
            } else {
                None
            };
            let meta_port = well_known.metatraffic_unicast;
            return Ok((Self { domain, multicast: group, meta, meta_port, ports: well_known }, user));
        }
        if group.is_none() {
            return Err(JoinError::NoPort { domain, taken: INDEX_MAX + 1 });
        }
        // Found by multicast, any port will do.
        let meta = bind(0, false).map_err(fault("binding a discovery port"))?;
        let meta_port = local_port(&meta).map_err(fault("reading a port number"))?;
        let user = with_user.then(|| bind(0, false)).transpose().map_err(fault("binding a data port"))?;
        Ok((Self { domain, multicast: group, meta, meta_port, ports: first }, user))
    }
}

/// `None` when another process has the port; every other failure is one.
pub(super) fn free(bound: io::Result<UdpSocket>) -> io::Result<Option<UdpSocket>> {
    match bound {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

fn join(port: u16, multicast: &Multicast) -> io::Result<UdpSocket> {
    let socket = bind(port, true)?;
    let mut joined = Err(io::ErrorKind::AddrNotAvailable.into());
    for interface in &multicast.interfaces {
        match socket.join_multicast_v4(&GROUP, interface) {
            Ok(()) => joined = Ok(()),
            Err(error) if joined.is_err() => joined = Err(error),
            Err(_) => {}
        }
    }
    joined.map(|()| socket)
}

/// The port of a bound user socket, and the socket that sends everything.
pub(crate) fn bind_user(socket: UdpSocket, multicast: Multicast) -> io::Result<(u16, UdpSender)> {
    let port = local_port(&socket)?;
    Ok((port, UdpSender { socket, multicast }))
}

/// The UDP transport's sending half.
#[derive(Debug)]
pub(crate) struct UdpSender {
    pub(crate) socket: UdpSocket,
    pub(crate) multicast: Multicast,
}

impl UdpSender {
    /// Whether a locator is one that [`UdpSender::send_segments`] can send to.
    pub(crate) fn takes_segments(to: &Locator) -> bool {
        matches!(to.as_udp(), Some(SocketAddr::V4(_))) && !to.is_multicast()
    }

    /// How many datagrams of this size the system takes at once: it cuts only such as no network has to cut again.
    pub(crate) fn segments_of(bytes: usize) -> usize {
        if (1..=SEGMENT_BYTES_MAX).contains(&bytes) {
            SEGMENTS_MAX.min(DATAGRAM_BYTES_MAX / bytes)
        } else {
            1
        }
    }

    /// Sends datagrams of the same size to one address by one system call (generic segmentation offload). An error
    /// where the system or the network device cannot do that; nothing has been sent then.
    pub(crate) fn send_segments<'a>(
        &self,
        to: &Locator,
        datagrams: impl Iterator<Item = &'a [u8]>,
        priority: i32,
    ) -> io::Result<()> {
        let Some(SocketAddr::V4(address)) = to.as_udp() else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        let content: Vec<IoSlice<'_>> = datagrams.map(IoSlice::new).collect();
        let size = content.first().map_or(0, |first| first.len());
        let size = u16::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let class = traffic_class(priority);
        let mark = class.as_ref().map(ControlMessage::Ipv4Tos);
        let control: Vec<_> = mark.into_iter().chain([ControlMessage::UdpGsoSegments(&size)]).collect();
        let address = SockaddrIn::from(address);
        sendmsg(self.socket.as_raw_fd(), &content, &control, MsgFlags::empty(), Some(&address))?;
        Ok(())
    }

    /// Sends to one address, marked with a differentiated services code point when `priority` is one besides 0.
    pub(crate) fn send_marked(&self, to: &Locator, bytes: &[u8], priority: i32) -> io::Result<()> {
        let (Some(class), Some(SocketAddr::V4(address))) = (traffic_class(priority), to.as_udp()) else {
            return self.send(to, bytes);
        };
        let (content, control) = ([IoSlice::new(bytes)], [ControlMessage::Ipv4Tos(&class)]);
        let address = SockaddrIn::from(address);
        sendmsg(self.socket.as_raw_fd(), &content, &control, MsgFlags::empty(), Some(&address))?;
        Ok(())
    }

    /// Sends to a multicast group on these interfaces only.
    pub(crate) fn send_on(&self, interfaces: &[Ipv4Addr], to: &Locator, bytes: &[u8]) -> io::Result<()> {
        match to.as_udp() {
            Some(SocketAddr::V4(address)) => self.multicast.send(Some(interfaces), address, bytes),
            _ => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}

/// The octet of the IP header that stands for a priority: a code point in its upper six bits. None for best effort, and
/// for what is no code point.
fn traffic_class(priority: i32) -> Option<u8> {
    u8::try_from(priority).ok().filter(|point| (1..64).contains(point)).map(|point| point << 2)
}

impl Transport for UdpSender {
    fn reaches(&self, to: &Locator) -> bool {
        matches!(to.as_udp(), Some(SocketAddr::V4(_)))
    }

    fn send(&self, to: &Locator, bytes: &[u8]) -> io::Result<()> {
        let Some(SocketAddr::V4(address)) = to.as_udp() else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        if to.is_multicast() {
            return self.multicast.send(None, address, bytes);
        }
        self.socket.send_to(bytes, address).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> Multicast {
        let interface = Ipv4Addr::LOCALHOST;
        Multicast {
            senders: vec![multicast_sender(interface).unwrap()],
            interfaces: vec![interface],
            data: 1,
        }
    }

    /// Whatever port the system gives a sender, everyone in the domain that has it can join and is alone to hear.
    #[test]
    fn senders_are_in_nobodys_way() {
        let multicast = loopback();
        let sender = &multicast.senders[0];
        let port = local_port(sender).unwrap();
        let listener = join(port, &multicast).unwrap();
        multicast.send(None, SocketAddrV4::new(GROUP, port), b"x").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(listener.recv(&mut buffer).unwrap(), 1);
        sender.set_nonblocking(true).unwrap();
        assert_eq!(sender.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    /// A program that has the discovery group's port for itself is said to be what is in the way.
    #[test]
    fn a_taken_group_port_is_named() {
        let domain = 97;
        let port = ports(domain, 0).unwrap().metatraffic_multicast;
        let _taken = bind(port, false).unwrap();
        let error = DomainSockets::open(domain, &loopback(), true).unwrap_err().to_string();
        assert!(error.contains(&format!("domain {domain}: another program uses UDP port {port}")), "{error}");
    }
}
