//! Descriptions of transports.

use std::net::IpAddr;

use super::shapes::{NETMASK, NETMASK_WHY, THREAD, THREAD_WHY, THREADS, U16, U32};
use super::{LIST_MAX, tls};
use crate::TlsFiles;
use crate::xml::locator::{Host, host};
use crate::xml::section::{Group, Known, Reader, Section, Shape, check_attributes};
use crate::xml::{Element, Place, XmlError, value};

/// Kinds of transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransportFamily {
    /// UDP over IPv4.
    UdpV4,
    /// UDP over IPv6.
    UdpV6,
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// Shared memory.
    SharedMemory,
}

impl TransportFamily {
    const NAMES: [(&'static str, Self); 5] = [
        ("UDPv4", Self::UdpV4),
        ("UDPv6", Self::UdpV6),
        ("TCPv4", Self::TcpV4),
        ("TCPv6", Self::TcpV6),
        ("SHM", Self::SharedMemory),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, family)| *family == self).map_or("", |(name, _)| name)
    }

    fn is_tcp(self) -> bool {
        matches!(self, Self::TcpV4 | Self::TcpV6)
    }

    fn is_udp(self) -> bool {
        matches!(self, Self::UdpV4 | Self::UdpV6)
    }
}

/// A transport as a file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportProfile {
    /// Its kind.
    pub family: TransportFamily,
    /// The only interfaces to use, by name or address; empty for all.
    pub interfaces: Vec<String>,
    /// The largest datagram, to which samples are cut; `None` leaves it to the bus.
    pub message_bytes_max: Option<u32>,
    /// Octets of a publisher's shared memory; `None` leaves it to the bus.
    pub segment_bytes: Option<u32>,
    /// TCP ports to accept connections on.
    pub listening_ports: Vec<u16>,
    /// How TCP connections are encrypted; `None` if they are not.
    pub tls: Option<TlsFiles>,
    /// Whether data also goes by multicast; not in the dialect, but in a built-in transport.
    pub multicast_data: bool,
    /// Where it stands.
    pub place: Place,
}

impl TransportProfile {
    pub(super) fn new(family: TransportFamily, place: Place) -> Self {
        Self {
            family,
            interfaces: Vec::new(),
            message_bytes_max: None,
            segment_bytes: None,
            listening_ports: Vec::new(),
            tls: None,
            multicast_data: false,
            place,
        }
    }
}

/// Reads a descriptor; returns its id too.
pub(super) fn read(reader: &mut Reader, element: &Element) -> Result<(String, TransportProfile), XmlError> {
    let id = match element.child("transport_id") {
        Some(id) => value::text(id)?,
        None => return Err(element.error("<transport_descriptor> has no <transport_id>", "add it")),
    };
    let family = match element.child("type") {
        Some(kind) => {
            let word = value::word(kind, &TransportFamily::NAMES.map(|(name, _)| name))?;
            TransportFamily::NAMES.iter().find(|(name, _)| *name == word).map(|(_, family)| *family)
        }
        None => None,
    };
    // The vendor's default.
    let family = family.unwrap_or(TransportFamily::UdpV4);
    let mut transport = TransportProfile::new(family, element.place.clone());
    for child in &element.children {
        let of = match child.name.as_str() {
            name if TCP_ONLY.contains(&name) => (family.is_tcp(), "TCP"),
            name if UDP_ONLY.contains(&name) => (family.is_udp(), "UDP"),
            name if SHM_ONLY.contains(&name) => (family == TransportFamily::SharedMemory, "SHM"),
            _ => (true, ""),
        };
        if let (false, kind) = of {
            let what =
                format!("<{}> is for transports of type {kind}, but {id:?} is {}", child.name, family.name());
            return Err(child.error(what, "remove it, or correct the type"));
        }
    }
    reader.section(&mut transport, element, &TRANSPORT)?;
    Ok((id, transport))
}

const TCP_ONLY: &[&str] = &[
    "wan_addr",
    "keep_alive_frequency_ms",
    "keep_alive_timeout_ms",
    "max_logical_port",
    "logical_port_range",
    "logical_port_increment",
    "listening_ports",
    "tls",
    "calculate_crc",
    "check_crc",
    "enable_tcp_nodelay",
    "tcp_negotiation_timeout",
    "keep_alive_thread",
    "accept_thread",
];
const UDP_ONLY: &[&str] = &["TTL", "output_port"];
const SHM_ONLY: &[&str] =
    &["segment_size", "port_queue_capacity", "healthy_check_timeout_ms", "rtps_dump_file", "dump_thread"];

const BUFFER_WHY: &str = "the bus sizes its sockets itself";
const CONNECTION_WHY: &str = "connections of this bus look after themselves";
const SEGMENT_WHY: &str = "the shared memory of this bus looks after itself";

pub(super) static TRANSPORT: Section<TransportProfile> = Section {
    attributes: &[],
    children: &[
        // Both were read first.
        ("transport_id", Known::Once(|_, _, _| Ok(()))),
        ("type", Known::Once(|_, _, _| Ok(()))),
        (
            "interfaceWhiteList",
            Known::Each(|reader, transport, element| {
                reader.section(&mut transport.interfaces, element, &WHITELIST)?;
                no_interfaces(reader, transport, element);
                Ok(())
            }),
        ),
        (
            "interfaces",
            Known::Once(|reader, transport, element| {
                reader.section(&mut transport.interfaces, element, &INTERFACES)?;
                no_interfaces(reader, transport, element);
                Ok(())
            }),
        ),
        (
            "maxMessageSize",
            Known::Once(|reader, transport, element| {
                let bytes = element.number::<u32>()?;
                if transport.family.is_udp() {
                    transport.message_bytes_max = Some(bytes).filter(|bytes| *bytes > 0);
                } else {
                    reader.unsupported(element, "samples are only cut to fit UDP");
                }
                Ok(())
            }),
        ),
        (
            "listening_ports",
            Known::Each(|reader, transport, element| {
                reader.section(&mut transport.listening_ports, element, &PORTS)
            }),
        ),
        (
            "tls",
            Known::Once(|reader, transport, element| {
                transport.tls = Some(tls::read(reader, element)?);
                Ok(())
            }),
        ),
        ("sendBufferSize", Known::Unsupported(U32, BUFFER_WHY)),
        ("receiveBufferSize", Known::Unsupported(U32, BUFFER_WHY)),
        (
            "maxInitialPeersRange",
            Known::Unsupported(U32, "the ports of the first ten processes of a peer without port are tried"),
        ),
        ("netmask_filter", Known::Unsupported(NETMASK, NETMASK_WHY)),
        ("TTL", Known::Unsupported(Shape::Number(0, 255), "multicast stays in this network")),
        ("non_blocking_send", Known::Unsupported(Shape::Boolean, BUFFER_WHY)),
        ("output_port", Known::Unsupported(U16, "the system chooses the ports that it sends from")),
        ("wan_addr", Known::Unsupported(Shape::Text, super::shapes::ADDRESS_WHY)),
        ("keep_alive_frequency_ms", Known::Unsupported(U32, CONNECTION_WHY)),
        ("keep_alive_timeout_ms", Known::Unsupported(U32, CONNECTION_WHY)),
        ("max_logical_port", Known::Unsupported(U16, CONNECTION_WHY)),
        ("logical_port_range", Known::Unsupported(U16, CONNECTION_WHY)),
        ("logical_port_increment", Known::Unsupported(U16, CONNECTION_WHY)),
        ("calculate_crc", Known::Unsupported(Shape::Boolean, CONNECTION_WHY)),
        ("check_crc", Known::Unsupported(Shape::Boolean, CONNECTION_WHY)),
        ("enable_tcp_nodelay", Known::Unsupported(Shape::Boolean, CONNECTION_WHY)),
        ("tcp_negotiation_timeout", Known::Unsupported(U32, CONNECTION_WHY)),
        ("keep_alive_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        ("accept_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        (
            "segment_size",
            Known::Once(|reader, transport, element| {
                let bytes = element.number::<u32>()?;
                if !SEGMENT_BYTES.contains(&bytes) {
                    let why = "a publisher's shared memory has 256 KiB to 64 MiB, and takes the nearest";
                    reader.unsupported_value(element, &element.text.clone(), why);
                }
                transport.segment_bytes = Some(bytes.clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end()));
                Ok(())
            }),
        ),
        ("port_queue_capacity", Known::Unsupported(U32, SEGMENT_WHY)),
        ("healthy_check_timeout_ms", Known::Unsupported(U32, SEGMENT_WHY)),
        ("rtps_dump_file", Known::Unsupported(Shape::Text, "capture packets with tcpdump instead")),
        ("dump_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        ("default_reception_threads", Known::Unsupported(THREAD, THREAD_WHY)),
        ("reception_threads", Known::Unsupported(Shape::Group(&THREADS), THREAD_WHY)),
    ],
};

/// Bounds of [`crate::Transports::shared_memory_bytes`].
const SEGMENT_BYTES: std::ops::RangeInclusive<u32> = (256 << 10)..=(64 << 20);

/// Shared memory has no interfaces.
fn no_interfaces(reader: &mut Reader, transport: &mut TransportProfile, element: &Element) {
    if transport.family == TransportFamily::SharedMemory {
        transport.interfaces.clear();
        reader.unsupported(element, "shared memory uses no interface");
    }
}

/// Entries by address, by name, or under either element.
static WHITELIST: Section<Vec<String>> = Section {
    attributes: &[],
    children: &[("address", Known::Each(entry)), ("interface", Known::Each(entry))],
};

fn entry(_: &mut Reader, interfaces: &mut Vec<String>, element: &Element) -> Result<(), XmlError> {
    check_attributes(element, std::iter::empty())?;
    let entry = match (element.name.as_str(), host(element)) {
        ("address", Ok(host)) => host.to_string(),
        ("address", Err(error)) => return Err(error),
        // `localhost` is no interface's name.
        (_, Ok(Host::Address(address @ IpAddr::V4(_)))) => address.to_string(),
        _ => value::text(element)?,
    };
    value::append(interfaces, entry, element, LIST_MAX)
}

static INTERFACES: Section<Vec<String>> = Section {
    attributes: &[],
    children: &[
        (
            "allowlist",
            Known::Once(|reader, interfaces, element| reader.section(interfaces, element, &ALLOWLIST)),
        ),
        (
            "blocklist",
            Known::Unsupported(
                Shape::Group(&Group { attributes: &[], children: &[("interface", Shape::Group(&NAMED))] }),
                "list the interfaces to use instead",
            ),
        ),
    ],
};

static NAMED: Group = Group { attributes: &[("name", Shape::Text)], children: &[] };

static ALLOWLIST: Section<Vec<String>> = Section {
    attributes: &[],
    children: &[(
        "interface",
        Known::Each(|reader, interfaces, element| {
            check_attributes(element, ["name", "netmask_filter"].into_iter())?;
            let name = element.required("name")?;
            if element.attribute("netmask_filter").is_some() {
                reader.unsupported_value(element, "netmask_filter", NETMASK_WHY);
            }
            value::append(interfaces, name.to_owned(), element, LIST_MAX)
        }),
    )],
};

static PORTS: Section<Vec<u16>> = Section {
    attributes: &[],
    children: &[(
        "port",
        Known::Each(|_, ports, element| value::append(ports, element.number()?, element, LIST_MAX)),
    )],
};
