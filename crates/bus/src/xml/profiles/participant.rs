//! Participants.

use std::time::Duration;

use rtps::Lease;

use super::LIST_MAX;
use super::discovery::BUILTIN;
use super::shapes::{
    ADDRESS_WHY, ALLOCATION, ALLOCATION_WHY, DATA, DATA_WHY, I32, NETMASK, NETMASK_WHY, PROPERTIES,
    PROPERTIES_WHY, THREAD, THREAD_WHY, THROUGHPUT, THROUGHPUT_WHY, U32,
};
use crate::Transports;
use crate::xml::locator::{EXTERNAL, ProfileLocator};
use crate::xml::section::{Group, Known, Reader, Section, Shape};
use crate::xml::{Element, Place, XmlError, value};

/// A participant as a file describes it. What is `None` is left to the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantProfile {
    /// The domain.
    pub domain: u32,
    /// A name for people.
    pub name: Option<String>,
    /// How long peers believe in it after it fell silent.
    pub lease: Option<Lease>,
    /// Time between its announcements.
    pub announce_period: Option<Duration>,
    /// Announcements at its start.
    pub burst_count: Option<u32>,
    /// Time between those.
    pub burst_period: Option<Duration>,
    /// Whom it announces itself to.
    pub peers: Vec<ProfileLocator>,
    /// The transports it uses.
    pub transports: Transports,
    /// The largest datagram it sends samples in.
    pub message_bytes_max: Option<u32>,
    /// The ids of the transports that it names.
    pub transport_ids: Vec<String>,
    /// Where it stands.
    pub place: Place,
    pub(super) sets: BuiltinSet,
}

/// The transports that a participant has without naming them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuiltinSet {
    /// None.
    None,
    /// What a participant has that says nothing.
    Default,
    /// The same over IPv6.
    DefaultV6,
    /// Shared memory.
    SharedMemory,
    /// UDP over IPv4.
    UdpV4,
    /// UDP over IPv6.
    UdpV6,
}

impl ParticipantProfile {
    pub(super) fn new(place: Place) -> Self {
        Self {
            domain: 0,
            name: None,
            lease: None,
            announce_period: None,
            burst_count: None,
            burst_period: None,
            peers: Vec::new(),
            transports: Transports::default(),
            message_bytes_max: None,
            transport_ids: Vec::new(),
            place,
            sets: BuiltinSet::Default,
        }
    }
}

/// Reads a participant. Its transports are found once all files are read.
pub(super) fn read(reader: &mut Reader, element: &Element) -> Result<ParticipantProfile, XmlError> {
    let mut participant = ParticipantProfile::new(element.place.clone());
    reader.section(&mut participant, element, &PARTICIPANT)?;
    if let (Some(Lease::Finite(lease)), Some(period)) = (participant.lease, participant.announce_period)
        && period >= lease
    {
        let what =
            format!("<leaseAnnouncement> of {period:?} is not shorter than <leaseDuration> of {lease:?}");
        return Err(element.error(what, "announce at least three times in a lease"));
    }
    Ok(participant)
}

/// A domain, also where files of Fast DDS 1 have it.
pub(super) fn domain(
    _: &mut Reader,
    participant: &mut ParticipantProfile,
    element: &Element,
) -> Result<(), XmlError> {
    let domain = element.number_within(0, 232)?;
    participant.domain = u32::try_from(domain).unwrap_or_default();
    Ok(())
}

static PARTICIPANT: Section<ParticipantProfile> = Section {
    attributes: super::PROFILE_ATTRIBUTES,
    children: &[
        ("domainId", Known::Once(domain)),
        ("rtps", Known::Once(|reader, participant, element| reader.section(participant, element, &RTPS))),
    ],
};

const LISTEN_WHY: &str = "all participants of a process listen at the process's sockets";
const BUFFER_WHY: &str = "the bus sizes its sockets itself";

pub(super) static RTPS: Section<ParticipantProfile> = Section {
    attributes: &[],
    children: &[
        (
            "name",
            Known::Once(|_, participant, element| {
                participant.name = Some(value::text(element)?);
                Ok(())
            }),
        ),
        (
            "builtin",
            Known::Once(|reader, participant, element| reader.section(participant, element, &BUILTIN)),
        ),
        (
            "userTransports",
            Known::Each(|reader, participant, element| {
                reader.section(participant, element, &USER_TRANSPORTS)
            }),
        ),
        (
            "useBuiltinTransports",
            Known::Once(|_, participant, element| {
                participant.sets = if element.boolean()? { BuiltinSet::Default } else { BuiltinSet::None };
                Ok(())
            }),
        ),
        ("builtinTransports", Known::Once(builtin_transports)),
        ("domainId", Known::Once(domain)),
        ("port", Known::Once(|reader, participant, element| reader.section(participant, element, &PORTS))),
        (
            "participantID",
            Known::Once(|reader, _, element| {
                if element.number::<i32>()? != -1 {
                    reader.unsupported(element, "the bus takes the first number whose ports are free");
                }
                Ok(())
            }),
        ),
        ("defaultUnicastLocatorList", Known::Unsupported(Shape::Locators, LISTEN_WHY)),
        (
            "defaultMulticastLocatorList",
            Known::Unsupported(
                Shape::Locators,
                "the bus gives each topic a multicast group and uses it where it pays",
            ),
        ),
        ("default_external_unicast_locators", Known::Unsupported(Shape::Group(&EXTERNAL), ADDRESS_WHY)),
        ("ignore_non_matching_locators", Known::Unsupported(Shape::Boolean, ADDRESS_WHY)),
        ("sendSocketBufferSize", Known::Unsupported(U32, BUFFER_WHY)),
        ("listenSocketBufferSize", Known::Unsupported(U32, BUFFER_WHY)),
        ("netmask_filter", Known::Unsupported(NETMASK, NETMASK_WHY)),
        ("easy_mode_ip", Known::Unsupported(Shape::Text, "there is no discovery server")),
        ("propertiesPolicy", Known::Unsupported(PROPERTIES, PROPERTIES_WHY)),
        ("allocation", Known::Unsupported(Shape::Group(&PARTICIPANT_ALLOCATION), ALLOCATION_WHY)),
        ("userData", Known::Unsupported(DATA, DATA_WHY)),
        ("prefix", Known::Unsupported(Shape::Octets, "every participant takes a random identity")),
        ("throughputController", Known::Unsupported(THROUGHPUT, THROUGHPUT_WHY)),
        (
            "flow_controller_descriptor_list",
            Known::Unsupported(Shape::Group(&FLOW_CONTROLLERS), THROUGHPUT_WHY),
        ),
        ("builtin_controllers_sender_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        ("timed_events_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        ("discovery_server_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        ("typelookup_service_thread", Known::Unsupported(THREAD, THREAD_WHY)),
        ("builtin_transports_reception_threads", Known::Unsupported(THREAD, THREAD_WHY)),
        ("security_log_thread", Known::Unsupported(THREAD, THREAD_WHY)),
    ],
};

static USER_TRANSPORTS: Section<ParticipantProfile> = Section {
    attributes: &[],
    children: &[(
        "transport_id",
        Known::Each(|_, participant, element| {
            value::append(&mut participant.transport_ids, value::text(element)?, element, LIST_MAX)
        }),
    )],
};

fn builtin_transports(
    reader: &mut Reader,
    participant: &mut ParticipantProfile,
    element: &Element,
) -> Result<(), XmlError> {
    Shape::WordWith(SETS, &SET_ATTRIBUTES).check(element)?;
    for attribute in &element.attributes {
        reader.unsupported_value(element, &format!("attribute {:?}", attribute.name), BUFFER_WHY);
    }
    participant.sets = match element.text.as_str() {
        "NONE" => BuiltinSet::None,
        "DEFAULTv6" | "LARGE_DATAv6" => BuiltinSet::DefaultV6,
        "SHM" => BuiltinSet::SharedMemory,
        "UDPv4" => BuiltinSet::UdpV4,
        "UDPv6" => BuiltinSet::UdpV6,
        _ => BuiltinSet::Default,
    };
    if matches!(element.text.as_str(), "LARGE_DATA" | "LARGE_DATAv6" | "P2P") {
        let why = "large samples go by shared memory within a machine and by reliable UDP beyond it";
        reader.unsupported_value(element, &element.text, why);
    }
    Ok(())
}

const SETS: &[&str] =
    &["NONE", "DEFAULT", "DEFAULTv6", "SHM", "UDPv4", "UDPv6", "LARGE_DATA", "LARGE_DATAv6", "P2P"];

static SET_ATTRIBUTES: Group = Group {
    attributes: &[
        ("max_msg_size", Shape::Bytes),
        ("sockets_size", Shape::Bytes),
        ("non_blocking", Shape::Boolean),
        ("tcp_negotiation_timeout", U32),
    ],
    children: &[],
};

/// A number of the port formula, which may only be the standard's.
fn standard(reader: &mut Reader, element: &Element, standard: u16) -> Result<(), XmlError> {
    if element.number::<u16>()? != standard {
        reader.unsupported(element, &format!("ports follow the standard, in which it is {standard}"));
    }
    Ok(())
}

static PORTS: Section<ParticipantProfile> = Section {
    attributes: &[],
    children: &[
        ("portBase", Known::Once(|reader, _, element| standard(reader, element, 7400))),
        ("domainIDGain", Known::Once(|reader, _, element| standard(reader, element, 250))),
        ("participantIDGain", Known::Once(|reader, _, element| standard(reader, element, 2))),
        ("offsetd0", Known::Once(|reader, _, element| standard(reader, element, 0))),
        ("offsetd1", Known::Once(|reader, _, element| standard(reader, element, 10))),
        ("offsetd2", Known::Once(|reader, _, element| standard(reader, element, 1))),
        ("offsetd3", Known::Once(|reader, _, element| standard(reader, element, 11))),
        ("offsetd4", Known::Once(|reader, _, element| standard(reader, element, 2))),
    ],
};

static PARTICIPANT_ALLOCATION: Group = Group {
    attributes: &[],
    children: &[
        (
            "remote_locators",
            Shape::Group(&Group {
                attributes: &[],
                children: &[("max_unicast_locators", U32), ("max_multicast_locators", U32)],
            }),
        ),
        ("total_participants", ALLOCATION),
        ("total_readers", ALLOCATION),
        ("total_writers", ALLOCATION),
        (
            "send_buffers",
            Shape::Group(&Group {
                attributes: &[],
                children: &[
                    ("preallocated_number", U32),
                    ("dynamic", Shape::Boolean),
                    ("network_buffers_config", ALLOCATION),
                ],
            }),
        ),
        ("max_properties", U32),
        ("max_user_data", U32),
        ("max_partitions", U32),
    ],
};

static FLOW_CONTROLLERS: Group =
    Group { attributes: &[], children: &[("flow_controller_descriptor", Shape::Group(&FLOW_CONTROLLER))] };

static FLOW_CONTROLLER: Group = Group {
    attributes: &[],
    children: &[
        ("name", Shape::Text),
        ("scheduler", Shape::Word(&["FIFO", "ROUND_ROBIN", "HIGH_PRIORITY", "PRIORITY_WITH_RESERVATION"])),
        ("max_bytes_per_period", I32),
        ("period_ms", Shape::Unsigned64),
        ("sender_thread", THREAD),
    ],
};
