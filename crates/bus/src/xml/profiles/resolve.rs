//! Puts together the transports of each participant, once all files are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::participant::{BuiltinSet, ParticipantProfile};
use super::transport::{TransportFamily, TransportProfile};
use super::{LIST_MAX, Profiles, builtin};
use crate::xml::locator::{Host, LocatorFamily};
use crate::xml::section::Reader;
use crate::xml::{Finding, Place, XmlError};
use crate::{TcpTransport, Transports};

/// Fills in the transports of every participant.
pub(super) fn transports(profiles: &mut Profiles, reader: &mut Reader) -> Result<(), XmlError> {
    let known = &profiles.transports;
    for participant in profiles.participants.values_mut() {
        let named = named(known, participant)?;
        if named.is_empty() && participant.sets == BuiltinSet::None {
            let what = "a participant uses no built-in transport and names no other";
            return Err(XmlError::new(participant.place.clone(), what, "add <userTransports>"));
        }
        let mut all = of_set(participant.sets);
        let has_own_udp = all.udp_v4 || all.udp_v6;
        for transport in &named {
            add(&mut all, transport, &mut reader.findings)?;
        }
        let udp: Vec<_> = named.iter().filter(|it| is_udp(it.family)).collect();
        // One transport without a list uses every interface, whatever the others do.
        if !has_own_udp && udp.iter().all(|transport| !transport.interfaces.is_empty()) {
            for entry in udp.iter().flat_map(|transport| &transport.interfaces) {
                if all.interfaces.contains(entry) {
                    continue;
                }
                if all.interfaces.len() == LIST_MAX {
                    let what = format!("a participant uses more than {LIST_MAX} interfaces");
                    return Err(XmlError::new(participant.place.clone(), what, "leave some out"));
                }
                all.interfaces.push(entry.clone());
            }
        }
        connect(participant, &mut all, &mut reader.findings);
        if all.shared_memory && !all.udp_v4 && !all.udp_v6 && all.tcp.is_none() {
            all.udp_v4 = true;
            let what = "shared memory carries data only: discovery and acknowledgements use UDP over IPv4";
            reader.findings.push(Finding::warning(participant.place.clone(), what));
        }
        participant.message_bytes_max = udp.iter().filter_map(|transport| transport.message_bytes_max).min();
        participant.transports = all;
    }
    Ok(())
}

fn is_udp(family: TransportFamily) -> bool {
    matches!(family, TransportFamily::UdpV4 | TransportFamily::UdpV6)
}

/// The transports that a participant names.
fn named<'a>(
    known: &'a BTreeMap<String, TransportProfile>,
    participant: &ParticipantProfile,
) -> Result<Vec<Cow<'a, TransportProfile>>, XmlError> {
    let find = |id: &String| {
        let of_file = known.get(id).map(Cow::Borrowed);
        of_file.or_else(|| builtin::transport(id).map(Cow::Owned)).ok_or_else(|| {
            let what = format!("a participant uses the transport {id:?}, which no file describes");
            XmlError::new(participant.place.clone(), what, "add a <transport_descriptor> with this id")
        })
    };
    participant.transport_ids.iter().map(find).collect()
}

fn none() -> Transports {
    Transports { udp_v4: false, ..Transports::udp() }
}

fn of_set(set: BuiltinSet) -> Transports {
    match set {
        BuiltinSet::None => none(),
        BuiltinSet::Default => Transports::default(),
        BuiltinSet::DefaultV6 => Transports { udp_v4: false, udp_v6: true, ..Transports::default() },
        BuiltinSet::SharedMemory => Transports { shared_memory: true, ..none() },
        BuiltinSet::UdpV4 => Transports::udp(),
        BuiltinSet::UdpV6 => Transports { udp_v6: true, ..none() },
    }
}

fn add(
    all: &mut Transports,
    transport: &TransportProfile,
    findings: &mut Vec<Finding>,
) -> Result<(), XmlError> {
    match transport.family {
        TransportFamily::UdpV4 => all.udp_v4 = true,
        TransportFamily::UdpV6 => all.udp_v6 = true,
        TransportFamily::SharedMemory => {
            all.shared_memory = true;
            if let Some(bytes) = transport.segment_bytes {
                all.shared_memory_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            }
        }
        TransportFamily::TcpV4 => listen(all, transport, Ipv4Addr::UNSPECIFIED.into(), findings)?,
        TransportFamily::TcpV6 => listen(all, transport, Ipv6Addr::UNSPECIFIED.into(), findings)?,
    }
    all.multicast_data |= transport.multicast_data;
    Ok(())
}

fn listen(
    all: &mut Transports,
    transport: &TransportProfile,
    any: IpAddr,
    findings: &mut Vec<Finding>,
) -> Result<(), XmlError> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for entry in &transport.interfaces {
        match entry.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => {
                let what = format!(
                    "interface {entry:?} is not supported for TCP and has no effect: give its address"
                );
                findings.push(Finding::warning(transport.place.clone(), what));
            }
        }
    }
    if addresses.is_empty() && transport.interfaces.is_empty() {
        addresses.push(any);
    }
    let tcp = all.tcp.get_or_insert_with(TcpTransport::default);
    if let Some(files) = &transport.tls {
        if tcp.tls.as_ref().is_some_and(|before| before != files) {
            let what = "a participant has one set of TLS files: those of its last transport count";
            findings.push(Finding::warning(transport.place.clone(), what));
        }
        tcp.tls = Some(files.clone());
    }
    for port in &transport.listening_ports {
        tcp.listen.extend(addresses.iter().map(|address| SocketAddr::new(*address, *port)));
        if tcp.listen.len() > LIST_MAX {
            let what = format!("a participant listens at more than {LIST_MAX} addresses and ports");
            return Err(XmlError::new(transport.place.clone(), what, "leave some out"));
        }
    }
    Ok(())
}

/// Takes the peers to connect to by TCP, and tells about peers that no transport reaches.
fn connect(participant: &ParticipantProfile, all: &mut Transports, findings: &mut Vec<Finding>) {
    let mut tell = |place: &Place, what: &str| findings.push(Finding::warning(place.clone(), what));
    for peer in &participant.peers {
        match (peer.family, &peer.host, peer.port) {
            (LocatorFamily::TcpV4 | LocatorFamily::TcpV6, host, port) => match (&mut all.tcp, host, port) {
                (None, ..) => {
                    tell(&peer.place, "a peer by TCP has no effect: the participant has no TCP transport")
                }
                (Some(tcp), Some(Host::Address(address)), Some(port)) => {
                    tcp.connect.push(SocketAddr::new(*address, port));
                }
                (Some(_), Some(Host::Name(_)), _) => tell(&peer.place, NAME_WHY),
                (Some(_), ..) => {
                    tell(&peer.place, "a peer by TCP without <address> and <physical_port> has no effect");
                }
            },
            (LocatorFamily::UdpV4 | LocatorFamily::UdpV6, Some(Host::Name(_)), _) => {
                tell(&peer.place, NAME_WHY)
            }
            (LocatorFamily::UdpV4 | LocatorFamily::UdpV6, None, _) => {
                tell(&peer.place, "a peer without <address> has no effect");
            }
            (LocatorFamily::UdpV4, ..) if !all.udp_v4 => {
                tell(&peer.place, "a peer by IPv4 has no effect: the participant has no such transport")
            }
            (LocatorFamily::UdpV6, ..) if !all.udp_v6 => {
                tell(&peer.place, "a peer by IPv6 has no effect: the participant has no such transport")
            }
            (LocatorFamily::UdpV4 | LocatorFamily::UdpV6, ..) => {}
        }
    }
}

const NAME_WHY: &str = "a peer's name is not supported and has no effect: give its address";
