//! Transport addresses (RTPS 9.3.2).

use core::fmt;

/// The transport a locator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LocatorKind {
    /// UDP over IPv4, kind 1.
    UdpV4,
    /// Between participants of one process, kind 0x0100_7e01 (ours; never announced).
    InProcess,
    /// Any other kind, kept as its number: not reachable by our transports.
    Other(i32),
}

impl LocatorKind {
    /// The number of our in-process kind, should it ever be written.
    pub(crate) const IN_PROCESS: i32 = 0x0100_7e01;
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

    /// A UDPv4 address and port.
    pub const fn udp_v4(address: [u8; 4], port: u16) -> Self {
        let [a, b, c, d] = address;
        Self {
            kind: LocatorKind::UdpV4,
            port: port as u32,
            address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d],
        }
    }

    /// The IPv4 address and port, when this is a UDPv4 locator with a valid port.
    pub fn as_udp_v4(&self) -> Option<([u8; 4], u16)> {
        let [.., a, b, c, d] = self.address;
        match (self.kind, u16::try_from(self.port)) {
            (LocatorKind::UdpV4, Ok(port)) if port != 0 => Some(([a, b, c, d], port)),
            _ => None,
        }
    }

    /// Whether this is a UDPv4 multicast address.
    pub fn is_multicast(&self) -> bool {
        self.as_udp_v4().is_some_and(|([first, ..], _)| (224..240).contains(&first))
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.address) {
            (LocatorKind::UdpV4, [.., a, b, c, d]) => write!(f, "udpv4://{a}.{b}.{c}.{d}:{}", self.port),
            (LocatorKind::InProcess, _) => f.write_str("in process"),
            (LocatorKind::Other(kind), _) => write!(f, "kind {kind} port {}", self.port),
        }
    }
}
