//! How a participant finds others.

use super::participant::{ParticipantProfile, domain};
use super::shapes::{ADDRESS_WHY, ALLOCATION_WHY, MEMORY, THROUGHPUT_WHY, U32};
use crate::xml::locator::{self, EXTERNAL};
use crate::xml::section::{Group, Known, Reader, Section, Shape};
use crate::xml::{Element, XmlError, value};

const LISTEN_WHY: &str = "discovery is received at the ports of the standard";

/// `<builtin>`
pub(super) static BUILTIN: Section<ParticipantProfile> = Section {
    attributes: &[],
    children: &[
        (
            "discovery_config",
            Known::Once(|reader, participant, element| reader.section(participant, element, &DISCOVERY)),
        ),
        (
            "initialPeersList",
            Known::Once(|reader, participant, element| {
                participant.peers = locator::list(reader, element)?;
                Ok(())
            }),
        ),
        ("domainId", Known::Once(domain)),
        (
            "avoid_builtin_multicast",
            Known::Once(|reader, _, element| {
                // True, as it is by default, keeps endpoint discovery to unicast: so does this bus.
                if !element.boolean()? {
                    reader.unsupported(element, "endpoints are announced by unicast");
                }
                Ok(())
            }),
        ),
        (
            "use_WriterLivelinessProtocol",
            Known::Once(|reader, _, element| {
                if !element.boolean()? {
                    reader.unsupported(element, "liveliness is always announced");
                }
                Ok(())
            }),
        ),
        ("metatrafficUnicastLocatorList", Known::Unsupported(Shape::Locators, LISTEN_WHY)),
        ("metatrafficMulticastLocatorList", Known::Unsupported(Shape::Locators, LISTEN_WHY)),
        ("metatraffic_external_unicast_locators", Known::Unsupported(Shape::Group(&EXTERNAL), ADDRESS_WHY)),
        ("readerHistoryMemoryPolicy", Known::Unsupported(MEMORY, ALLOCATION_WHY)),
        ("writerHistoryMemoryPolicy", Known::Unsupported(MEMORY, ALLOCATION_WHY)),
        ("readerPayloadSize", Known::Unsupported(U32, ALLOCATION_WHY)),
        ("writerPayloadSize", Known::Unsupported(U32, ALLOCATION_WHY)),
        ("mutation_tries", Known::Unsupported(U32, "the bus tries every port of the domain")),
        ("flow_controller_name", Known::Unsupported(Shape::Text, THROUGHPUT_WHY)),
        // Fast DDS 1 had these here.
        ("use_SIMPLE_RTPS_PDP", Known::Once(simple_only)),
        ("use_SIMPLE_EndpointDiscoveryProtocol", Known::Once(simple_only)),
        ("use_STATIC_EndpointDiscoveryProtocol", Known::Unsupported(Shape::Boolean, STATIC_WHY)),
        ("staticEndpointXMLFilename", Known::Unsupported(Shape::Text, STATIC_WHY)),
        ("EDP", Known::Once(endpoint_discovery)),
        ("leaseDuration", Known::Once(lease)),
        ("leaseAnnouncement", Known::Once(announcement)),
        (
            "initialAnnouncements",
            Known::Once(|reader, participant, element| reader.section(participant, element, &INITIAL)),
        ),
        ("simpleEDP", Known::Unsupported(Shape::Group(&SIMPLE_EDP), SIMPLE_WHY)),
    ],
};

const STATIC_WHY: &str = "endpoints are always announced";
const SIMPLE_WHY: &str = "endpoints of both kinds are announced and looked for";
const SERVER_WHY: &str = "participants find each other without a server, as with SIMPLE";

fn simple_only(reader: &mut Reader, _: &mut ParticipantProfile, element: &Element) -> Result<(), XmlError> {
    if !element.boolean()? {
        reader.unsupported(element, "participants always announce themselves");
    }
    Ok(())
}

fn endpoint_discovery(
    reader: &mut Reader,
    _: &mut ParticipantProfile,
    element: &Element,
) -> Result<(), XmlError> {
    let kind = value::word(element, &["SIMPLE", "STATIC"])?;
    if kind == "STATIC" {
        reader.unsupported_value(element, kind, STATIC_WHY);
    }
    Ok(())
}

fn lease(_: &mut Reader, participant: &mut ParticipantProfile, element: &Element) -> Result<(), XmlError> {
    participant.lease = Some(value::duration(element)?);
    Ok(())
}

fn announcement(
    _: &mut Reader,
    participant: &mut ParticipantProfile,
    element: &Element,
) -> Result<(), XmlError> {
    participant.announce_period = Some(value::finite(element)?);
    Ok(())
}

/// `<discovery_config>`
pub(super) static DISCOVERY: Section<ParticipantProfile> = Section {
    attributes: &[],
    children: &[
        (
            "discoveryProtocol",
            Known::Once(|reader, _, element| {
                let word =
                    value::word(element, &["SIMPLE", "CLIENT", "SERVER", "SUPER_CLIENT", "BACKUP", "NONE"])?;
                if word != "SIMPLE" {
                    reader.unsupported_value(element, word, SERVER_WHY);
                }
                Ok(())
            }),
        ),
        ("leaseDuration", Known::Once(lease)),
        ("leaseAnnouncement", Known::Once(announcement)),
        (
            "initialAnnouncements",
            Known::Once(|reader, participant, element| reader.section(participant, element, &INITIAL)),
        ),
        ("EDP", Known::Once(endpoint_discovery)),
        ("simpleEDP", Known::Unsupported(Shape::Group(&SIMPLE_EDP), SIMPLE_WHY)),
        ("ignoreParticipantFlags", Known::Once(participant_flags)),
        ("discoveryServersList", Known::Unsupported(Shape::Servers, SERVER_WHY)),
        ("clientAnnouncementPeriod", Known::Unsupported(Shape::Duration, SERVER_WHY)),
        ("static_edp_xml_config", Known::Unsupported(Shape::Text, STATIC_WHY)),
        ("staticEndpointXMLFilename", Known::Unsupported(Shape::Text, STATIC_WHY)),
    ],
};

static SIMPLE_EDP: Group = Group {
    attributes: &[],
    children: &[("PUBWRITER_SUBREADER", Shape::Boolean), ("PUBREADER_SUBWRITER", Shape::Boolean)],
};

/// Words with bars between them.
fn participant_flags(
    reader: &mut Reader,
    _: &mut ParticipantProfile,
    element: &Element,
) -> Result<(), XmlError> {
    let known = ["NO_FILTER", "FILTER_DIFFERENT_HOST", "FILTER_DIFFERENT_PROCESS", "FILTER_SAME_PROCESS"];
    for word in element.text.split('|').map(str::trim) {
        if !known.contains(&word) {
            let what = format!("<{}> holds {word:?}", element.name);
            return Err(
                element.error(what, format!("write some of {}, with | between them", known.join(", ")))
            );
        }
        if word != "NO_FILTER" {
            reader.unsupported_value(element, word, "all participants of a domain see each other");
        }
    }
    Ok(())
}

static INITIAL: Section<ParticipantProfile> = Section {
    attributes: &[],
    children: &[
        (
            "count",
            Known::Once(|_, participant, element| {
                participant.burst_count = Some(element.number()?);
                Ok(())
            }),
        ),
        (
            "period",
            Known::Once(|_, participant, element| {
                participant.burst_period = Some(value::finite(element)?);
                Ok(())
            }),
        ),
    ],
};

/// Servers with or without a prefix and lists of their own.
pub(crate) fn check_servers(element: &Element) -> Result<(), XmlError> {
    if element.children.iter().all(|child| child.name == "locator") {
        return Shape::Locators.check(element);
    }
    SERVERS.check(element)
}

static SERVERS: Shape = Shape::Group(&Group {
    attributes: &[],
    children: &[(
        "RemoteServer",
        Shape::Group(&Group {
            attributes: &[("prefix", Shape::Text)],
            children: &[
                ("metatrafficUnicastLocatorList", Shape::Locators),
                ("metatrafficMulticastLocatorList", Shape::Locators),
            ],
        }),
    )],
});
