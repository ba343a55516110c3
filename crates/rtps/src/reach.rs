//! Which addresses of a peer we send to.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use crate::{Locator, LocatorKind};

/// Where on its machine a participant is, for transports that do not leave the machine. Announced, by a parameter of
/// ours, to Stillwatt participants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineAddress {
    /// Equal for processes that can share memory.
    pub machine: [u8; 16],
    /// The process, for its life.
    pub process: [u8; 16],
}

/// What a participant can send to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Transports that it sends by, the preferred ones first.
    pub kinds: Vec<LocatorKind>,
    /// Addresses of this machine, to recognise peers on it.
    pub local_addresses: Vec<IpAddr>,
    /// A writer sends once to a multicast group instead of to this many unicast addresses or more; `None` for never.
    pub multicast_min: Option<usize>,
}

impl Default for Reach {
    /// UDP over IPv4, no known addresses, multicast data for three readers and more.
    fn default() -> Self {
        Self { kinds: [LocatorKind::UdpV4].into(), local_addresses: Vec::new(), multicast_min: Some(3) }
    }
}

impl Reach {
    /// Which of the announced addresses to send to: none or one.
    ///
    /// Machines announce every address they have, and only some lead there. The transport by which the announcement
    /// came is known to work; then the preferred ones. Of one transport, in order of trust: the address (or open
    /// connection) that the announcement came from, an address of this very machine, then any address that is not
    /// loopback, then loopback, then any connection.
    pub(crate) fn choose(&self, announced: &[Locator], from: Option<Locator>) -> Vec<Locator> {
        let proven = from.map(|from| from.kind).filter(|kind| self.kinds.contains(kind));
        let kinds = proven.into_iter().chain(self.kinds.iter().copied());
        kinds.into_iter().find_map(|kind| self.choose_of(kind, announced, from)).into_iter().collect()
    }

    fn choose_of(&self, kind: LocatorKind, announced: &[Locator], from: Option<Locator>) -> Option<Locator> {
        let usable = || {
            let addressed = announced.iter().filter(move |locator| locator.kind == kind);
            let addressed = addressed.filter_map(|locator| {
                let socket = locator.as_udp().or_else(|| locator.as_tcp())?;
                Some((socket.ip(), *locator))
            });
            addressed.filter(|(ip, _)| is_host(*ip))
        };
        let source = from.and_then(|from| from.ip());
        let connections =
            || announced.iter().filter(|one| one.kind == kind && one.as_connection().is_some()).copied();
        connections()
            .find(|locator| Some(*locator) == from)
            .or_else(|| usable().find(|(ip, _)| Some(*ip) == source).map(|(_, locator)| locator))
            .or_else(|| {
                let is_ours = |ip: &IpAddr| self.local_addresses.contains(ip) && !ip.is_loopback();
                usable().find(|(ip, _)| is_ours(ip)).map(|(_, locator)| locator)
            })
            .or_else(|| usable().find(|(ip, _)| !ip.is_loopback()).map(|(_, locator)| locator))
            .or_else(|| usable().next().map(|(_, locator)| locator))
            .or_else(|| connections().next())
    }

    /// The group among the announced addresses, if we would send to it.
    pub(crate) fn choose_group(&self, announced: &[Locator]) -> Option<Locator> {
        self.multicast_min?;
        announced.iter().find(|one| one.is_multicast() && self.kinds.contains(&one.kind)).copied()
    }
}

/// Whether an address can be one machine's: no group, not everyone, not nobody.
fn is_host(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !matches!(ip.octets(), [0, ..] | [224..=255, ..]) && ip != Ipv4Addr::BROADCAST,
        IpAddr::V6(ip) => !ip.is_multicast() && !ip.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: Locator = Locator::udp_v4([127, 0, 0, 1], 7411);
    const FABRIC: Locator = Locator::udp_v4([10, 0, 0, 5], 7411);
    const OTHER: Locator = Locator::udp_v4([192, 0, 2, 9], 7411);

    fn choose(announced: &[Locator], from: Option<Locator>, local: &[[u8; 4]]) -> Vec<Locator> {
        let local_addresses = local.iter().map(|ip| IpAddr::from(*ip)).collect();
        Reach { local_addresses, ..Reach::default() }.choose(announced, from)
    }

    /// The address that works is found among those announced.
    #[test]
    fn the_most_trusted_address_is_chosen() {
        let announced = [LOOPBACK, OTHER, FABRIC];
        let from = Locator::udp_v4([10, 0, 0, 5], 40_000);
        assert_eq!(choose(&announced, Some(from), &[]), [FABRIC]);
        assert_eq!(choose(&announced, None, &[[10, 0, 0, 5]]), [FABRIC]);
        assert_eq!(choose(&announced, None, &[]), [OTHER]);
        assert_eq!(choose(&[LOOPBACK], None, &[]), [LOOPBACK]);
        assert!(choose(&[Locator::udp_v4([10, 0, 0, 5], 0)], None, &[]).is_empty());
    }

    /// Nobody makes us send to a group, to everyone or to nobody by announcing that as its own address.
    #[test]
    fn only_unicast_addresses_are_sent_to() {
        for ip in [[239, 255, 0, 1], [255, 255, 255, 255], [240, 0, 0, 1], [0, 0, 0, 0]] {
            assert!(choose(&[Locator::udp_v4(ip, 7411)], None, &[]).is_empty());
            assert_eq!(choose(&[Locator::udp_v4(ip, 7411), FABRIC], None, &[]), [FABRIC]);
        }
    }

    /// The transport that an announcement came by is known to work, then the preferred one; others are not used.
    #[test]
    fn the_transport_that_works_is_chosen() {
        let tcp = Locator::tcp("10.0.0.5:7500".parse().unwrap());
        let open = Locator::connection([7; 16]);
        let udp_v6 = Locator::udp("[2001:db8::5]:7411".parse().unwrap());
        let reach = |kinds: &[LocatorKind]| Reach { kinds: kinds.to_vec(), ..Reach::default() };
        let both = reach(&[LocatorKind::UdpV4, LocatorKind::TcpV4]);
        let announced = [tcp, open, udp_v6, FABRIC];
        assert_eq!(both.choose(&announced, None), [FABRIC]);
        assert_eq!(both.choose(&announced, Some(open)), [open]);
        assert_eq!(both.choose(&announced, Some(Locator::connection([8; 16]))), [tcp]);
        assert_eq!(both.choose(&[open, udp_v6], None), [open]);
        // Nobody makes us send to all our peers by announcing that as its own address.
        assert!(both.choose(&[Locator::EVERY_CONNECTION], Some(Locator::EVERY_CONNECTION)).is_empty());
        assert_eq!(reach(&[LocatorKind::UdpV6]).choose(&announced, None), [udp_v6]);
        assert!(reach(&[LocatorKind::TcpV6]).choose(&announced, None).is_empty());
    }
}
