//! Which transports a participant uses.

use std::net::IpAddr;

use crate::TcpTransport;

/// The transports of a participant. All participants of a process share the process's sockets and threads; what one of
/// them does not use it neither announces nor sends by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transports {
    /// UDP over IPv4: discovery and data. Default on.
    pub udp_v4: bool,
    /// UDP over IPv6: discovery and data. Default off.
    pub udp_v6: bool,
    /// Data by shared memory to Stillwatt processes of this machine that run as the same user. Discovery and
    /// acknowledgements stay with the other transports. Default on.
    pub shared_memory: bool,
    /// Data by UDP multicast: subscribers listen to their topic's group, publishers send to it once instead of to three
    /// or more unicast addresses. Default on.
    pub multicast_data: bool,
    /// TCP. Default none.
    pub tcp: Option<TcpTransport>,
    /// The interfaces to use for UDP, by name or address; empty, the default, for all. When none of them exists here,
    /// joining is an error.
    pub interfaces: Vec<String>,
}

impl Default for Transports {
    fn default() -> Self {
        Self {
            udp_v4: true,
            udp_v6: false,
            shared_memory: true,
            multicast_data: true,
            tcp: None,
            interfaces: Vec::new(),
        }
    }
}

impl Transports {
    /// UDP over IPv4, data by unicast.
    pub fn udp() -> Self {
        Self { shared_memory: false, multicast_data: false, ..Self::default() }
    }

    /// UDP over IPv4, data by multicast where it pays.
    pub fn udp_multicast() -> Self {
        Self { shared_memory: false, ..Self::default() }
    }

    /// Shared memory for data; discovery and acknowledgements by UDP over IPv4.
    pub fn shared_memory() -> Self {
        Self { multicast_data: false, ..Self::default() }
    }

    /// UDP over IPv6, data by unicast.
    pub fn udp_v6() -> Self {
        Self { udp_v4: false, udp_v6: true, ..Self::udp() }
    }

    /// TCP alone.
    pub fn tcp(tcp: TcpTransport) -> Self {
        Self { udp_v4: false, tcp: Some(tcp), ..Self::udp() }
    }

    /// Whether it uses UDP to this host.
    pub(crate) fn has_udp(&self, host: &IpAddr) -> bool {
        if host.is_ipv4() { self.udp_v4 } else { self.udp_v6 }
    }
}
