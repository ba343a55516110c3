//! What a member is told about its place: where it is reached, by what it sends, and where it announces itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rtps::{Locator, LocatorKind, Reach};

use super::{Engine, Member, Source, lock};
use crate::transport::{
    Address, DomainSockets, GROUP, Tcp, TcpError, TcpTransport, TcpUse, addresses, allowed,
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
    /// Its use of TCP, for as long as it stays.
    pub(crate) tcp: Option<TcpUse>,
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
            tcp: None,
        };
        if transports.udp_v4 {
            self.place_udp_v4(domain, &mut place, &usable, transports.multicast_data);
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
        place.has_multicast = entry.sockets.multicast.is_some();
        if place.has_multicast {
            let port = entry.sockets.ports.metatraffic_multicast;
            place.announce_to.push(Locator::udp_v4(GROUP.octets(), port));
        } else {
            place.announce_to.extend(well_known_peers(domain, [127, 0, 0, 1], rtps::ports::INDEX_MAX));
        }
        place.reach.kinds.push(LocatorKind::UdpV4);
        let multicast_min = Reach::default().multicast_min;
        place.reach.multicast_min = multicast_min.filter(|_| place.has_multicast && has_groups);
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
        // Within this process, and whoever is connected. Who connects later is announced to then.
        place.announce_to.extend([connection, Locator::EVERY_CONNECTION]);
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
            .map_err(|error| fault("drawing an identity")(std::io::Error::other(error.to_string())))?;
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
pub(crate) fn well_known_peers(domain: u32, ip: [u8; 4], last: u32) -> Vec<Locator> {
    let port = |index| rtps::ports::ports(domain, index).ok().map(|ports| ports.metatraffic_unicast);
    (0..=last).filter_map(port).map(|port| Locator::udp_v4(ip, port)).collect()
}
