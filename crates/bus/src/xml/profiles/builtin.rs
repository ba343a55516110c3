//! The transports that the REGALE library's names stand for, without any file: ids, and participants of the same name.

use std::net::{Ipv4Addr, SocketAddr};

use super::participant::{BuiltinSet, ParticipantProfile};
use super::transport::{TransportFamily, TransportProfile};
use crate::xml::Place;
use crate::{TcpTransport, Transports};

/// Where the built-in TCP server listens and the built-in client connects to, on the same machine.
const TCP_PORT: u16 = 5100;

const PLACE: &str = "built in";

/// The built-in transport of this id.
pub(super) fn transport(id: &str) -> Option<TransportProfile> {
    let new = |family| TransportProfile::new(family, Place::whole(PLACE));
    match id {
        "udpv4_transport" => Some(new(TransportFamily::UdpV4)),
        "udpm_transport" => Some(TransportProfile { multicast_data: true, ..new(TransportFamily::UdpV4) }),
        "shm_transport" => Some(new(TransportFamily::SharedMemory)),
        "tcpv4_client_transport" => Some(new(TransportFamily::TcpV4)),
        "tcpv4_server_transport" => {
            Some(TransportProfile { listening_ports: vec![TCP_PORT], ..new(TransportFamily::TcpV4) })
        }
        _ => None,
    }
}

/// The built-in participant of this name, which uses the transport of the same id alone.
pub(super) fn participant(name: &str) -> Option<ParticipantProfile> {
    let transports = match name {
        "udpv4_transport" => Transports::udp(),
        "udpm_transport" => Transports::udp_multicast(),
        "shm_transport" => Transports::shared_memory(),
        "tcpv4_client_transport" => Transports::tcp(TcpTransport {
            connect: vec![(Ipv4Addr::LOCALHOST, TCP_PORT).into()],
            ..TcpTransport::default()
        }),
        "tcpv4_server_transport" => Transports::tcp(TcpTransport {
            listen: vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, TCP_PORT))],
            ..TcpTransport::default()
        }),
        _ => return None,
    };
    Some(ParticipantProfile {
        transports,
        transport_ids: vec![name.to_owned()],
        sets: BuiltinSet::None,
        ..ParticipantProfile::new(Place::whole(PLACE))
    })
}
