//! Locators: where something listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::section::{Group, Known, Reader, Section, Shape, check_attributes, check_no_text};
use super::{Element, Place, XmlError, value};

/// A transport's address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocatorFamily {
    /// UDP over IPv4.
    UdpV4,
    /// UDP over IPv6.
    UdpV6,
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
}

/// A host as it is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name to be looked up.
    Name(String),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A locator of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileLocator {
    /// Transport and address family.
    pub family: LocatorFamily,
    /// The host; `None` leaves it open.
    pub host: Option<Host>,
    /// The port: for TCP the physical one. `None` leaves it open.
    pub port: Option<u16>,
    /// Where it stands.
    pub place: Place,
}

/// The locators of a list. `<locator/>`, which stands for none at all, gives none.
pub(crate) fn list(reader: &mut Reader, element: &Element) -> Result<Vec<ProfileLocator>, XmlError> {
    let mut locators = Vec::new();
    reader.section(&mut locators, element, &LIST)?;
    Ok(locators)
}

/// Locators of a list.
const LOCATORS_MAX: usize = 1024;

/// Refuses a list that is malformed.
pub(crate) fn check(element: &Element) -> Result<(), XmlError> {
    list(&mut Reader::default(), element).map(drop)
}

/// A host: an address, a name for this machine, or a name to look up.
pub(crate) fn host(element: &Element) -> Result<Host, XmlError> {
    let text = value::text(element)?;
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(Host::Address(Ipv4Addr::LOCALHOST.into()));
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Host::Address(address));
    }
    let is_name = text.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-._".contains(&octet));
    // What looks like an address and is none was meant as one.
    let looks_like_address = text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    if is_name && !looks_like_address {
        return Ok(Host::Name(text));
    }
    Err(element.error(
        format!("<{}> is {text:?}, which is neither an address nor a name", element.name),
        "correct it",
    ))
}

static LIST: Section<Vec<ProfileLocator>> = Section {
    attributes: &[],
    children: &[("locator", Known::Each(|reader, list, element| reader.section(list, element, &LOCATOR)))],
};

static LOCATOR: Section<Vec<ProfileLocator>> = Section {
    attributes: &[],
    children: &[
        ("udpv4", Known::Each(|reader, list, element| read(reader, list, element, LocatorFamily::UdpV4))),
        ("udpv6", Known::Each(|reader, list, element| read(reader, list, element, LocatorFamily::UdpV6))),
        ("tcpv4", Known::Each(|reader, list, element| read(reader, list, element, LocatorFamily::TcpV4))),
        ("tcpv6", Known::Each(|reader, list, element| read(reader, list, element, LocatorFamily::TcpV6))),
    ],
};

fn read(
    reader: &mut Reader,
    list: &mut Vec<ProfileLocator>,
    element: &Element,
    family: LocatorFamily,
) -> Result<(), XmlError> {
    check_attributes(element, std::iter::empty())?;
    check_no_text(element)?;
    let mut locator = ProfileLocator { family, host: None, port: None, place: element.place.clone() };
    let is_tcp = matches!(family, LocatorFamily::TcpV4 | LocatorFamily::TcpV6);
    reader.section(&mut locator, element, if is_tcp { &TCP } else { &UDP })?;
    let fits = match (&locator.host, family) {
        (Some(Host::Address(address)), LocatorFamily::UdpV4 | LocatorFamily::TcpV4) => address.is_ipv4(),
        // `localhost` is as good for the other family.
        (Some(Host::Address(IpAddr::V4(Ipv4Addr::LOCALHOST))), _) => {
            locator.host = Some(Host::Address(Ipv6Addr::LOCALHOST.into()));
            true
        }
        (Some(Host::Address(address)), _) => address.is_ipv6(),
        _ => true,
    };
    if !fits {
        let what = format!("an address of <{}> is of another family", element.name);
        return Err(element.error(what, "use the locator for that family"));
    }
    value::append(list, locator, element, LOCATORS_MAX)
}

const LOGICAL: &str = "peers of this bus have one port for each connection";

static UDP: Section<ProfileLocator> = Section {
    attributes: &[],
    children: &[
        (
            "address",
            Known::Once(|_, locator, element| {
                locator.host = Some(host(element)?);
                Ok(())
            }),
        ),
        (
            "port",
            Known::Once(|_, locator, element| {
                locator.port = Some(element.number()?);
                Ok(())
            }),
        ),
    ],
};

static TCP: Section<ProfileLocator> = Section {
    attributes: &[],
    children: &[
        (
            "address",
            Known::Once(|_, locator, element| {
                locator.host = Some(host(element)?);
                Ok(())
            }),
        ),
        (
            "physical_port",
            Known::Once(|_, locator, element| {
                locator.port = Some(element.number()?);
                Ok(())
            }),
        ),
        ("port", Known::Unsupported(Shape::Number(0, 65535), LOGICAL)),
        ("unique_lan_id", Known::Unsupported(Shape::Text, LOGICAL)),
        ("wan_address", Known::Unsupported(Shape::Text, LOGICAL)),
    ],
};

/// Addresses that others see from outside.
pub(crate) static EXTERNAL: Group = Group {
    attributes: &[],
    children: &[("udpv4", Shape::Group(&EXTERNAL_LOCATOR)), ("udpv6", Shape::Group(&EXTERNAL_LOCATOR))],
};

static EXTERNAL_LOCATOR: Group = Group {
    attributes: &[
        ("externality", Shape::Number(1, 255)),
        ("cost", Shape::Number(0, 255)),
        ("mask", Shape::Number(1, 127)),
    ],
    children: &[("address", Shape::Text), ("port", Shape::Number(0, 65535))],
};
