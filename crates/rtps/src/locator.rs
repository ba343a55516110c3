//! Transport addresses (RTPS 9.3.2).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::Guid;

/// The transport a locator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LocatorKind {
    /// UDP over IPv4, kind 1.
    UdpV4,
    /// UDP over IPv6, kind 2.
    UdpV6,
    /// TCP over IPv4, kind 4. With port 0: an open connection, see [`Locator::connection`].
    TcpV4,
    /// TCP over IPv6, kind 8.
    TcpV6,
    /// Shared memory between processes of one machine. Ours: never announced, and [`LocatorKind::Other`] when read.
    SharedMemory,
    /// Between participants of one process. Ours: never announced, and [`LocatorKind::Other`] when read.
    InProcess,
    /// Any other kind, kept as its number: not reachable by our transports.
    Other(i32),
}

impl LocatorKind {
    /// The kind with this number on the wire.
    pub(crate) fn from_number(number: i32) -> Self {
        match number {
            1 => Self::UdpV4,
            2 => Self::UdpV6,
            4 => Self::TcpV4,
            8 => Self::TcpV6,
            other => Self::Other(other),
        }
    }

    /// Its number on the wire.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::UdpV4 => 1,
            Self::UdpV6 => 2,
            Self::TcpV4 => 4,
            Self::TcpV6 => 8,
            Self::InProcess => 0x0100_7e01,
            Self::SharedMemory => 0x0100_7e02,
            Self::Other(number) => number,
        }
    }
}

/// A transport address: kind, port and 16 address octets (IPv4 in the last four).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator {
    /// Transport kind.
    pub kind: LocatorKind,
    /// Port number.
    pub port: u32,
    /// Address octets.
    pub address: [u8; 16],
}

impl Locator {
    /// The origin of datagrams that never left the process.
    pub const IN_PROCESS: Self = Self { kind: LocatorKind::InProcess, port: 0, address: [0; 16] };

    /// Every process with a TCP connection to ours. Only for sending announcements; never announced, and not chosen
    /// when somebody announces it.
    pub const EVERY_CONNECTION: Self = Self::connection([0xff; 16]);

    /// A UDPv4 address and port.
    pub const fn udp_v4(address: [u8; 4], port: u16) -> Self {
        Self { kind: LocatorKind::UdpV4, port: port as u32, address: v4_octets(address) }
    }

    /// A UDP address and port. An IPv4 address within IPv6 counts as IPv4.
    pub fn udp(address: SocketAddr) -> Self {
        Self::of(address, LocatorKind::UdpV4, LocatorKind::UdpV6)
    }

    /// A TCP address and port, where connections are accepted. An IPv4 address within IPv6 counts as IPv4.
    pub fn tcp(address: SocketAddr) -> Self {
        Self::of(address, LocatorKind::TcpV4, LocatorKind::TcpV6)
    }

    fn of(address: SocketAddr, v4: LocatorKind, v6: LocatorKind) -> Self {
        let port = address.port().into();
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => Self { kind: v4, port, address: v4_octets(ip.octets()) },
            IpAddr::V6(ip) => Self { kind: v6, port, address: ip.octets() },
        }
    }

    /// A process with a TCP connection to ours, whoever made it; `process` is the identity that it gave there.
    pub const fn connection(process: [u8; 16]) -> Self {
        Self { kind: LocatorKind::TcpV4, port: 0, address: process }
    }

    /// The shared memory that `writer` writes to and its readers of this machine read.
    pub fn shared_memory(writer: Guid) -> Self {
        Self { kind: LocatorKind::SharedMemory, port: 0, address: writer.to_bytes() }
    }

    /// The process at the other end of a connection; `None` for other locators.
    pub fn as_connection(&self) -> Option<[u8; 16]> {
        (self.kind == LocatorKind::TcpV4 && self.port == 0 && *self != Self::EVERY_CONNECTION)
            .then_some(self.address)
    }

    /// The writer whose shared memory this is; `None` for other locators.
    pub fn as_shared_memory(&self) -> Option<Guid> {
        (self.kind == LocatorKind::SharedMemory).then(|| Guid::from_bytes(self.address))
    }

    /// The IP address and port, when this is a UDP locator with a valid port.
    pub fn as_udp(&self) -> Option<SocketAddr> {
        matches!(self.kind, LocatorKind::UdpV4 | LocatorKind::UdpV6).then(|| self.socket_address())?
    }

    /// The IP address and port, when this is a TCP locator with a valid port.
    pub fn as_tcp(&self) -> Option<SocketAddr> {
        matches!(self.kind, LocatorKind::TcpV4 | LocatorKind::TcpV6).then(|| self.socket_address())?
    }

    fn socket_address(&self) -> Option<SocketAddr> {
        let port = u16::try_from(self.port).ok().filter(|port| *port != 0)?;
        Some(SocketAddr::new(self.ip()?, port))
    }

    /// The IP address, when the kind has one.
    pub fn ip(&self) -> Option<IpAddr> {
        let [.., a, b, c, d] = self.address;
        match self.kind {
            LocatorKind::TcpV4 if self.port == 0 => None,
            LocatorKind::UdpV4 | LocatorKind::TcpV4 => Some(Ipv4Addr::new(a, b, c, d).into()),
            LocatorKind::UdpV6 | LocatorKind::TcpV6 => Some(Ipv6Addr::from(self.address).into()),
            LocatorKind::SharedMemory | LocatorKind::InProcess | LocatorKind::Other(_) => None,
        }
    }

    /// Whether this is a multicast group.
    pub fn is_multicast(&self) -> bool {
        self.as_udp().is_some_and(|address| address.ip().is_multicast())
    }
}

const fn v4_octets([a, b, c, d]: [u8; 4]) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ip = self.ip();
        match (self.kind, ip) {
            (LocatorKind::UdpV4, Some(ip)) => write!(f, "udpv4://{ip}:{}", self.port),
            (LocatorKind::UdpV6, Some(ip)) => write!(f, "udpv6://[{ip}]:{}", self.port),
            (LocatorKind::TcpV4, Some(ip)) => write!(f, "tcpv4://{ip}:{}", self.port),
            (LocatorKind::TcpV6, Some(ip)) => write!(f, "tcpv6://[{ip}]:{}", self.port),
            (LocatorKind::TcpV4, None) => f.write_str("an open TCP connection"),
            (LocatorKind::SharedMemory, _) => f.write_str("shared memory"),
            (LocatorKind::InProcess, _) => f.write_str("in process"),
            (kind, _) => write!(f, "kind {} port {}", kind.number(), self.port),
        }
    }
}
