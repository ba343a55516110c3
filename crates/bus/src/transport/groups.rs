//! Multicast data: the groups that the subscribers of one domain listen to. May touch: sockets.
//!
//! A topic's group is one of sixteen, by a hash of its name, at the domain's multicast data port: few enough for the
//! memberships that Linux allows a socket (20), many enough that most topics do not wake each other's subscribers.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use rtps::Locator;

use super::udp::{Multicast, bind};
use crate::engine::{Engine, Source, lock};

/// The socket that hears the groups of one domain.
#[derive(Debug)]
pub(crate) struct Groups {
    domain: u32,
    port: u16,
    socket: UdpSocket,
    interfaces: Vec<Ipv4Addr>,
    /// How many subscribers listen to each group.
    joined: Mutex<BTreeMap<Ipv4Addr, usize>>,
    buffer: Mutex<Vec<u8>>,
}

/// Groups that topics are spread over.
const GROUPS: u32 = 16;
/// Datagrams taken before other sources get a turn.
const BURST: usize = 64;

impl Groups {
    /// A socket at `port`, shared with other processes, that has joined no group.
    pub(crate) fn new(domain: u32, port: u16, multicast: &Multicast) -> io::Result<Self> {
        let socket = bind(port, true)?;
        let reference = socket2::SockRef::from(&socket);
        // Otherwise the kernel hands us the groups that any process of the machine has joined.
        reference.set_multicast_all_v4(false)?;
        reference.set_nonblocking(true)?;
        let interfaces = multicast.data_interfaces().to_vec();
        Ok(Self {
            domain,
            port,
            socket,
            interfaces,
            joined: Mutex::default(),
            buffer: Mutex::new(vec![0; 65_536]),
        })
    }

    /// Listens to the group of `topic`; returns it.
    pub(crate) fn join(&self, topic: &str) -> io::Result<Locator> {
        let group = group_of(topic);
        let mut joined = lock(&self.joined);
        let listeners = joined.entry(group).or_default();
        if *listeners == 0 {
            let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
            for interface in &self.interfaces {
                match self.socket.join_multicast_v4(&group, interface) {
                    Ok(()) => result = Ok(()),
                    Err(error) if result.is_err() => result = Err(error),
                    Err(_) => {}
                }
            }
            result?;
        }
        *listeners += 1;
        Ok(Locator::udp_v4(group.octets(), self.port))
    }

    /// One subscriber less for the group of `topic`.
    pub(crate) fn leave(&self, topic: &str) {
        let group = group_of(topic);
        let mut joined = lock(&self.joined);
        let Some(listeners) = joined.get_mut(&group) else { return };
        *listeners = listeners.saturating_sub(1);
        if *listeners == 0 {
            joined.remove(&group);
            for interface in &self.interfaces {
                let _ = self.socket.leave_multicast_v4(&group, interface);
            }
        }
    }
}

impl Source for Groups {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn handle_ready(&self, engine: &Arc<Engine>) {
        // Only the poll thread comes here, so nobody waits for the lock.
        let mut buffer = lock(&self.buffer);
        for _ in 0..BURST {
            let Ok((length, SocketAddr::V4(from))) = self.socket.recv_from(&mut buffer) else { return };
            if let Some(bytes) = buffer.get(..length) {
                engine.dispatch(Some(self.domain), Locator::udp_v4(from.ip().octets(), from.port()), bytes);
            }
        }
    }
}

/// The group that a topic's data is sent to. 239.255.64.0/28 lies in the site-local scope (RFC 2365) like DDS's own
/// groups.
fn group_of(topic: &str) -> Ipv4Addr {
    // FNV-1a: the same in every process and release.
    let hash =
        topic.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let [.., low] = (hash % GROUPS).to_be_bytes();
    Ipv4Addr::new(239, 255, 64, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every release must agree on a topic's group, and topics must spread over the groups.
    #[test]
    fn topics_spread_over_fixed_groups() {
        assert_eq!(group_of("regale/nm/status"), Ipv4Addr::new(239, 255, 64, 0));
        let groups: std::collections::BTreeSet<Ipv4Addr> =
            (0..100).map(|number| group_of(&format!("topic/{number}"))).collect();
        assert!(groups.len() == 16 && groups.iter().all(|group| group.octets()[..3] == [239, 255, 64]));
    }
}
