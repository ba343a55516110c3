#![expect(clippy::disallowed_methods, reason = "I/O shell: sends itself one datagram on each interface")]
//! Whether DDS discovery by multicast works here: joins the discovery group on each interface and sends itself one
//! datagram (RTPS 2.5 section 9.6.2.4 names the group). Touches UDP sockets and the list of interfaces.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::check::{Check, State};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
/// On one machine a datagram arrives at once or never.
const WAIT: Duration = Duration::from_millis(300);

/// One check for each interface with an IPv4 address, or one that says that there is none.
pub(super) fn checks() -> Vec<Check> {
    let addresses = match getifaddrs() {
        Ok(addresses) => addresses,
        Err(errno) => {
            let finding = format!("the interfaces cannot be listed: {errno}");
            return vec![Check::new("multicast", State::NotAvailable, finding)];
        }
    };
    let mut checks = Vec::new();
    for interface in addresses {
        let Some(address) = interface.address.and_then(|address| Some(address.as_sockaddr_in()?.ip())) else {
            continue;
        };
        if !interface.flags.contains(InterfaceFlags::IFF_UP) {
            continue;
        }
        let is_enabled = interface.flags.contains(InterfaceFlags::IFF_MULTICAST);
        checks.push(check(&interface.interface_name, address, is_enabled));
    }
    if checks.is_empty() {
        let check = Check::new("multicast", State::NotAvailable, "no interface has an IPv4 address");
        checks.push(check.with_remedy("bring one up: ip link set dev lo up"));
    }
    checks
}

fn check(name: &str, address: Ipv4Addr, is_enabled: bool) -> Check {
    let subject = format!("multicast {name}");
    match hears_itself(address) {
        Ok(true) => Check::new(subject, State::Ok, format!("{address} hears itself on {GROUP}")),
        Ok(false) => {
            Check::new(subject, State::Degraded, format!("{address} joined {GROUP} and heard nothing"))
                .with_remedy("allow UDP to 239.255.0.1 in the firewall, or name peers")
        }
        Err(error) => {
            let flag = if is_enabled { "" } else { " (the interface has no MULTICAST flag)" };
            Check::new(subject, State::Degraded, format!("{address}: {error}{flag}"))
                .with_remedy(format!("ip link set dev {name} multicast on, or name peers"))
        }
    }
}

fn hears_itself(address: Ipv4Addr) -> io::Result<bool> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind(&SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)).into())?;
    socket.join_multicast_v4(&GROUP, &address)?;
    socket.set_multicast_if_v4(&address)?;
    socket.set_multicast_loop_v4(true)?;
    socket.set_multicast_ttl_v4(0)?;
    socket.set_read_timeout(Some(WAIT))?;
    let socket = UdpSocket::from(socket);
    let port = socket.local_addr()?.port();
    let word = format!("stillwatt doctor {} {port}", std::process::id());
    socket.send_to(word.as_bytes(), (GROUP, port))?;
    let mut buffer = [0; 64];
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((length, _)) if buffer.get(..length) == Some(word.as_bytes()) => return Ok(true),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
}
