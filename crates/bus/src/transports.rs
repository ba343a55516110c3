//! Which transports a participant uses.

use std::net::IpAddr;
use std::time::Duration;

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
    /// Octets that the shared memory of each publisher holds before it overwrites the oldest, from 256 KiB to 64 MiB,
    /// rounded up to a power of two. Used as data comes. Default 1 MiB.
    pub shared_memory_bytes: usize,
    /// How long the thread that reads shared memory looks for news before it sleeps; the longest wish of the process's
    /// participants counts. It occupies a CPU meanwhile: only for processes with CPUs of their own. Default zero.
    pub shared_memory_spin: Duration,
    /// Other users, by number, whose processes may share memory with this participant: they can then read what it
    /// publishes, and it reads what they publish. Default none.
    pub shared_memory_users: Vec<u32>,
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
            shared_memory_bytes: 1 << 20,
            shared_memory_spin: Duration::ZERO,
            shared_memory_users: Vec::new(),
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
