//! What a member is told about its place: where it is reached, by what it sends, and where it announces itself.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use rtps::{Locator, LocatorKind, Reach};

use super::{Domain, DomainV6, Engine, Member, Source, lock};
use crate::transport::{
    Address, DomainSockets, DomainSocketsV6, GROUP, GROUP_V6, SharedMemory, SharedPlace, Tcp, TcpError,
    TcpTransport, TcpUse, UdpV6, addresses, allowed,
};
use crate::{JoinError, Transports};

/// What a new member is told about its place.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) metatraffic: Vec<Locator>,
    pub(crate) user: Vec<Locator>,
    pub(crate) announce_to: Vec<Locator>,
    pub(crate) reach: Reach,
    pub(crate) has_multicast: bool,
    /// The only interfaces for multicast; `None` for all.
    pub(crate) interfaces: Option<Vec<Ipv4Addr>>,
    /// The same, by number, for IPv6.
    pub(crate) interfaces_v6: Option<Vec<u32>>,
    /// Its use of TCP, for as long as it stays.
    pub(crate) tcp: Option<TcpUse>,
    /// How it shares memory with other processes of the machine, if it does.
    pub(crate) shared_memory: Option<SharedPlace>,
}

impl Engine {
    /// A place in `domain`, whose sockets are made with its first member.
    pub(super) fn place(self: &Arc<Self>, domain: u32, transports: &Transports) -> Result<Place, JoinError> {
        let found = addresses();
        let usable = allowed(&found, &transports.interfaces);
        if usable.is_empty() && !transports.interfaces.is_empty() {
            return Err(JoinError::NoInterface { domain, interfaces: transports.interfaces.clone() });
        }
        if !lock(&self.domains).contains_key(&domain) {
            let (sockets, _) = DomainSockets::open(domain, &self.udp.multicast, false)?;
            self.add_domain(domain, sockets);
        }
        let mut place = Place {
            metatraffic: Vec::new(),
            user: Vec::new(),
            announce_to: Vec::new(),
            reach: Reach {
                kinds: Vec::new(),
                local_addresses: found.iter().map(|address| address.ip).collect(),
                multicast_min: None,
            },
            has_multicast: false,
            interfaces: (!transports.interfaces.is_empty())
                .then(|| usable.iter().filter_map(Address::v4).collect()),
            interfaces_v6: None,
            tcp: None,
            shared_memory: SharedMemory::place(self, transports),
        };
        if transports.udp_v4 {
            self.place_udp_v4(domain, &mut place, &usable, transports.multicast_data);
        }
        if transports.udp_v6 {
            let interfaces = !transports.interfaces.is_empty();
            self.place_udp_v6(domain, &mut place, &found, &usable, interfaces).map_err(|source| {
                JoinError::Socket { domain, what: "binding a port for UDP over IPv6", source }
            })?;
        }
        if let Some(settings) = &transports.tcp {
            self.place_tcp(&mut place, &found, settings)
                .map_err(|source| JoinError::Tcp { domain, source })?;
        }
        if let Some(entry) = lock(&self.domains).get_mut(&domain) {
            entry.members += 1;
        }
        Ok(place)
    }

    fn place_udp_v4(&self, domain: u32, place: &mut Place, usable: &[Address], has_groups: bool) {
        let domains = lock(&self.domains);
        let Some(entry) = domains.get(&domain) else { return };
        let announced = announced(usable.iter().filter_map(|one| Some((one.v4()?, one.is_loopback))));
        let announced = if announced.is_empty() { vec![Ipv4Addr::LOCALHOST] } else { announced };
        let at = |port| announced.iter().map(move |ip| Locator::udp_v4(ip.octets(), port));
        place.metatraffic.extend(at(entry.sockets.meta_port));
        place.user.extend(at(self.user_port));
        // Where only interfaces without multicast may be used, others' groups are of no use.
        let can_multicast = usable.iter().any(|one| one.is_multicast && one.v4().is_some());
        place.has_multicast = can_multicast && entry.sockets.multicast.is_some();
        if place.has_multicast {
            let port = entry.sockets.ports.metatraffic_multicast;
            place.announce_to.push(Locator::udp_v4(GROUP.octets(), port));
        } else {
            let here = Ipv4Addr::LOCALHOST.into();
            place.announce_to.extend(well_known_peers(domain, here, rtps::ports::INDEX_MAX));
        }
        place.reach.kinds.push(LocatorKind::UdpV4);
        let multicast_min = Reach::default().multicast_min;
        place.reach.multicast_min = multicast_min.filter(|_| place.has_multicast && has_groups);
    }

    fn place_udp_v6(
        self: &Arc<Self>,
        domain: u32,
        place: &mut Place,
        found: &[Address],
        usable: &[Address],
        is_limited: bool,
    ) -> io::Result<()> {
        let v6 = self.start_udp_v6(found)?;
        let sockets = self.sockets_v6(domain, v6)?;
        let announced = announced(usable.iter().filter_map(|one| Some((one.v6()?, one.is_loopback))));
        let at = |ip, port| Locator::udp(SocketAddr::new(IpAddr::V6(ip), port));
        place.metatraffic.extend(announced.iter().map(|ip| at(*ip, sockets.meta_port)));
        place.user.extend(announced.iter().map(|ip| at(*ip, v6.user_port)));
        if sockets.group.is_some() {
            let port = rtps::ports::ports(domain, 0).map_err(io::Error::other)?.metatraffic_multicast;
            place.announce_to.push(at(GROUP_V6, port));
        } else {
            let here = Ipv6Addr::LOCALHOST.into();
            place.announce_to.extend(well_known_peers(domain, here, rtps::ports::INDEX_MAX));
        }
        place.reach.kinds.push(LocatorKind::UdpV6);
        place.interfaces_v6 =
            is_limited.then(|| usable.iter().filter(|one| one.v6().is_some()).map(|one| one.index).collect());
        Ok(())
    }

    fn start_udp_v6(self: &Arc<Self>, found: &[Address]) -> io::Result<&UdpV6> {
        if let Some(v6) = self.udp_v6.get() {
            return Ok(v6);
        }
        let v6 = UdpV6::new(self.user_port, found)?;
        self.watch(v6.data())?;
        let own = own_v6(found).map(|ip| Locator::udp(SocketAddr::new(ip, v6.user_port)));
        self.in_process.add_own(own);
        Ok(self.udp_v6.get_or_init(|| v6))
    }

    /// The discovery sockets of a domain, made for its first member that uses IPv6.
    fn sockets_v6(self: &Arc<Self>, domain: u32, v6: &UdpV6) -> io::Result<Arc<DomainSocketsV6>> {
        let known = |domains: &BTreeMap<u32, Domain>| {
            domains.get(&domain).and_then(|entry| entry.v6.as_ref()).map(|v6| Arc::clone(&v6.sockets))
        };
        if let Some(sockets) = known(&lock(&self.domains)) {
            return Ok(sockets);
        }
        let sockets = Arc::new(v6.open(domain)?);
        let mut tokens = vec![self.watch(Arc::clone(&sockets.meta) as Arc<dyn Source>)?];
        if let Some(group) = &sockets.group {
            tokens.push(self.watch(Arc::clone(group) as Arc<dyn Source>)?);
        }
        let found = addresses();
        let own = own_v6(&found).map(|ip| Locator::udp(SocketAddr::new(ip, sockets.meta_port)));
        let own: Vec<Locator> = own.collect();
        self.in_process.add_own(own.iter().copied());
        if let Some(entry) = lock(&self.domains).get_mut(&domain) {
            entry.own.extend(own);
            entry.v6 = Some(DomainV6 { sockets: Arc::clone(&sockets), tokens });
        }
        Ok(sockets)
    }

    fn place_tcp(
        self: &Arc<Self>,
        place: &mut Place,
        found: &[Address],
        settings: &TcpTransport,
    ) -> Result<(), TcpError> {
        let tcp = self.start_tcp()?;
        let entered = tcp.enter(settings)?;
        let connection = Locator::connection(tcp.identity);
        let listening: Vec<Locator> =
            entered.bound.iter().flat_map(|bound| reached_at(*bound, found)).map(Locator::tcp).collect();
        for locators in [&mut place.metatraffic, &mut place.user] {
            locators.push(connection);
            locators.extend(&listening);
        }
        // Who connects later is announced to then.
        place.announce_to.push(Locator::EVERY_CONNECTION);
        place.reach.kinds.extend([LocatorKind::TcpV4, LocatorKind::TcpV6]);
        self.in_process.add_own([connection].into_iter().chain(listening));
        place.tcp = Some(entered);
        Ok(())
    }

    fn start_tcp(self: &Arc<Self>) -> Result<Arc<Tcp>, TcpError> {
        let fault = |what| move |source| TcpError::System { what, source };
        if let Some(tcp) = self.tcp.get() {
            return Ok(Arc::clone(tcp));
        }
        let mut identity = [0; 16];
        getrandom::fill(&mut identity)
            .map_err(|error| fault("drawing an identity")(io::Error::other(error.to_string())))?;
        let tcp = Tcp::new(identity, Arc::clone(&self.poller)).map_err(fault("making an eventfd"))?;
        self.watch(Arc::clone(&tcp) as Arc<dyn Source>).map_err(fault("starting the poll thread"))?;
        Ok(Arc::clone(self.tcp.get_or_init(|| tcp)))
    }

    /// This process is not reached any more where only a member that leaves has listened.
    pub(super) fn forget_tcp(&self, member: &Member) {
        let Some(entered) = &member.place.tcp else { return };
        let members = self.members();
        let others = members.iter().filter(|one| one.prefix != member.prefix);
        let still: Vec<SocketAddr> =
            others.filter_map(|one| one.place.tcp.as_ref()).flat_map(|one| one.bound.clone()).collect();
        let found = addresses();
        let gone = entered.bound.iter().filter(|bound| !still.contains(bound));
        let gone: Vec<Locator> =
            gone.flat_map(|bound| reached_at(*bound, &found)).map(Locator::tcp).collect();
        self.in_process.remove_own(&gone);
    }
}

/// The IPv6 addresses of this machine.
fn own_v6(found: &[Address]) -> impl Iterator<Item = IpAddr> {
    found.iter().map(|one| one.ip).filter(IpAddr::is_ipv6).chain([Ipv6Addr::LOCALHOST.into()])
}

/// The addresses that others reach, or those of loopback when there are none.
fn announced<A: Copy>(addresses: impl Iterator<Item = (A, bool)> + Clone) -> Vec<A> {
    let routable: Vec<A> =
        addresses.clone().filter(|(_, is_loopback)| !is_loopback).map(|(ip, _)| ip).collect();
    if routable.is_empty() { addresses.map(|(ip, _)| ip).collect() } else { routable }
}

/// At which addresses a socket bound to one, or to all of its family, is reached.
fn reached_at(bound: SocketAddr, found: &[Address]) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let of_family = found.iter().filter(|one| one.ip.is_ipv4() == bound.is_ipv4());
    let ips: Vec<IpAddr> = announced(of_family.map(|one| (one.ip, one.is_loopback)));
    ips.into_iter().map(|ip| SocketAddr::new(ip, bound.port())).collect()
}

/// The discovery ports of the first processes on a machine, for where there is no multicast.
pub(crate) fn well_known_peers(domain: u32, ip: IpAddr, last: u32) -> Vec<Locator> {
    let port = |index| rtps::ports::ports(domain, index).ok().map(|ports| ports.metatraffic_unicast);
    (0..=last).filter_map(port).map(|port| Locator::udp(SocketAddr::new(ip, port))).collect()
}
