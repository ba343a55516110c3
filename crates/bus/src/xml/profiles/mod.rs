//! Profiles: what files say about participants, writers, readers, topics and transports.
//!
//! Every element is honoured or named in [`Profiles::findings`] with its line; elements, attributes and values that
//! the dialect does not know are errors.

mod apply;
mod builtin;
mod discovery;
mod endpoint;
mod library;
mod participant;
mod qos;
mod resolve;
mod shapes;
mod tls;
mod transport;
mod whitelist;

use std::collections::BTreeMap;

pub(crate) use discovery::check_servers;
pub(crate) use endpoint::check as check_endpoint;
pub use endpoint::{EndpointProfile, TopicProfile};
pub use participant::ParticipantProfile;
pub use transport::{TransportFamily, TransportProfile};
pub use whitelist::{InterfaceAddress, NoInterface, select_interfaces};

use super::section::Reader;
use super::{Document, Element, Finding, Place, Root, XmlError};

/// The attributes of every profile.
const PROFILE_ATTRIBUTES: &[&str] = &["profile_name", "is_default_profile"];

/// Transports of a participant, interfaces and ports of a transport, addresses to listen at.
const LIST_MAX: usize = 64;

/// Kinds of profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileKind {
    /// `<participant>`
    Participant,
    /// `<data_writer>`, formerly `<publisher>`
    Writer,
    /// `<data_reader>`, formerly `<subscriber>`
    Reader,
    /// `<topic>`
    Topic,
    /// `<transport_descriptor>`
    Transport,
}

impl ProfileKind {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Participant => "participant",
            Self::Writer => "writer",
            Self::Reader => "reader",
            Self::Topic => "topic",
            Self::Transport => "transport",
        }
    }
}

/// A profile was asked for that no file has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {} profile is named {name:?}: {}", kind.name(), choices(known))]
pub struct LookupError {
    /// What it should describe.
    pub kind: ProfileKind,
    /// The name asked for.
    pub name: String,
    /// The names that are there.
    pub known: Vec<String>,
}

fn choices(known: &[String]) -> String {
    match known {
        [] => "there is none; add it to a file, or name that file".into(),
        known => format!("there are {}", known.join(", ")),
    }
}

/// The profiles of some files.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    /// Participants by name.
    pub participants: BTreeMap<String, ParticipantProfile>,
    /// Writers by name.
    pub writers: BTreeMap<String, EndpointProfile>,
    /// Readers by name.
    pub readers: BTreeMap<String, EndpointProfile>,
    /// Topics by name.
    pub topics: BTreeMap<String, TopicProfile>,
    /// Transports by id.
    pub transports: BTreeMap<String, TransportProfile>,
    /// The default profile of each kind that has one.
    pub defaults: BTreeMap<ProfileKind, String>,
    /// What has no effect or is hardly meant as it is written.
    pub findings: Vec<Finding>,
}

impl Profiles {
    /// Reads the profiles of `documents`, whose transports may refer to each other. Types are not looked at.
    ///
    /// # Errors
    /// When an element, attribute or value is not of the dialect, and when a transport is named that no file has.
    pub fn load(documents: &[Document]) -> Result<Self, XmlError> {
        let mut profiles = Self::default();
        let mut reader = Reader::default();
        for document in documents {
            reader.findings.extend(document.findings.iter().cloned());
            profiles.read_root(&mut reader, document)?;
        }
        resolve::transports(&mut profiles, &mut reader)?;
        profiles.findings = reader.findings;
        profiles.findings.sort_by(|left, right| left.place.cmp(&right.place));
        Ok(profiles)
    }

    /// The participant of this name: of a file, or a built-in one named as its transport is.
    ///
    /// # Errors
    /// When there is none.
    pub fn participant(&self, name: &str) -> Result<ParticipantProfile, LookupError> {
        match self.participants.get(name) {
            Some(profile) => Ok(profile.clone()),
            None => builtin::participant(name).ok_or_else(|| LookupError {
                kind: ProfileKind::Participant,
                name: name.into(),
                known: names(&self.participants),
            }),
        }
    }

    /// The writer of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn writer(&self, name: &str) -> Result<&EndpointProfile, LookupError> {
        find(&self.writers, ProfileKind::Writer, name)
    }

    /// The reader of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn reader(&self, name: &str) -> Result<&EndpointProfile, LookupError> {
        find(&self.readers, ProfileKind::Reader, name)
    }

    /// The topic of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn topic(&self, name: &str) -> Result<&TopicProfile, LookupError> {
        find(&self.topics, ProfileKind::Topic, name)
    }

    /// The transport of this id: of a file, or a built-in one.
    ///
    /// # Errors
    /// When there is none.
    pub fn transport(&self, id: &str) -> Result<TransportProfile, LookupError> {
        match self.transports.get(id) {
            Some(profile) => Ok(profile.clone()),
            None => builtin::transport(id).ok_or_else(|| LookupError {
                kind: ProfileKind::Transport,
                name: id.into(),
                known: names(&self.transports),
            }),
        }
    }

    /// The default participant, if a file has one.
    pub fn default_participant(&self) -> Option<&ParticipantProfile> {
        self.defaults.get(&ProfileKind::Participant).and_then(|name| self.participants.get(name))
    }

    /// The default writer, if a file has one.
    pub fn default_writer(&self) -> Option<&EndpointProfile> {
        self.defaults.get(&ProfileKind::Writer).and_then(|name| self.writers.get(name))
    }

    /// The default reader, if a file has one.
    pub fn default_reader(&self) -> Option<&EndpointProfile> {
        self.defaults.get(&ProfileKind::Reader).and_then(|name| self.readers.get(name))
    }

    /// The default topic, if a file has one.
    pub fn default_topic(&self) -> Option<&TopicProfile> {
        self.defaults.get(&ProfileKind::Topic).and_then(|name| self.topics.get(name))
    }

    fn read_root(&mut self, reader: &mut Reader, document: &Document) -> Result<(), XmlError> {
        let root = &document.root;
        match document.kind {
            Root::Dds => self.read_sections(reader, root),
            Root::Profiles => self.read_profiles(reader, root),
            Root::Log => library::log(reader, root),
            Root::LibrarySettings => library::settings(reader, root),
            Root::Types => Ok(()),
        }
    }

    fn read_sections(&mut self, reader: &mut Reader, root: &Element) -> Result<(), XmlError> {
        super::section::check_attributes(root, std::iter::empty())?;
        super::section::check_no_text(root)?;
        for child in &root.children {
            match child.name.as_str() {
                "profiles" => self.read_profiles(reader, child)?,
                "log" => library::log(reader, child)?,
                "library_settings" => library::settings(reader, child)?,
                "types" => {}
                _ => return Err(super::section::unknown(root, child, SECTIONS.iter().copied())),
            }
        }
        Ok(())
    }

    fn read_profiles(&mut self, reader: &mut Reader, element: &Element) -> Result<(), XmlError> {
        super::section::check_attributes(element, std::iter::empty())?;
        super::section::check_no_text(element)?;
        for child in &element.children {
            let defaults = &mut self.defaults;
            match child.name.as_str() {
                "participant" => {
                    let profile = participant::read(reader, child)?;
                    keep(reader, child, ProfileKind::Participant, &mut self.participants, defaults, profile)?;
                }
                "data_writer" | "publisher" => {
                    let profile = endpoint::read(reader, child, true, qos::writer_default())?;
                    keep(reader, child, ProfileKind::Writer, &mut self.writers, defaults, profile)?;
                }
                "data_reader" | "subscriber" => {
                    let profile = endpoint::read(reader, child, false, qos::reader_default())?;
                    keep(reader, child, ProfileKind::Reader, &mut self.readers, defaults, profile)?;
                }
                "topic" => {
                    let profile = endpoint::read_topic(reader, child)?;
                    keep(reader, child, ProfileKind::Topic, &mut self.topics, defaults, profile)?;
                }
                "transport_descriptors" => self.read_transports(reader, child)?,
                "types" => {}
                "library_settings" => library::settings(reader, child)?,
                "domainparticipant_factory" => library::factory(reader, child)?,
                "replier" | "requester" => {
                    endpoint::SERVICE_SHAPE.check(child)?;
                    reader.unsupported(child, "services are built from writers and readers");
                }
                _ => return Err(super::section::unknown(element, child, PROFILES.iter().copied())),
            }
        }
        Ok(())
    }

    fn read_transports(&mut self, reader: &mut Reader, element: &Element) -> Result<(), XmlError> {
        super::section::check_attributes(element, std::iter::empty())?;
        super::section::check_no_text(element)?;
        for child in &element.children {
            if child.name != "transport_descriptor" {
                return Err(super::section::unknown(element, child, ["transport_descriptor"].into_iter()));
            }
            let (id, transport) = transport::read(reader, child)?;
            insert(reader, ProfileKind::Transport, &mut self.transports, &id, transport, &child.place);
        }
        Ok(())
    }
}

const SECTIONS: &[&str] = &["profiles", "types", "log", "library_settings"];
const PROFILES: &[&str] = &[
    "participant",
    "data_writer",
    "publisher",
    "data_reader",
    "subscriber",
    "topic",
    "transport_descriptors",
    "types",
    "library_settings",
    "domainparticipant_factory",
    "replier",
    "requester",
];

/// The elements that a misplaced one may stand in. Names that are all over the place, such as `name`, have none.
pub(crate) fn homes(name: &str) -> Vec<&'static str> {
    let known = [
        ("qos", qos::QOS.knows(name)),
        ("topic", endpoint::TOPIC.knows(name)),
        ("data_writer", endpoint::WRITER.knows(name)),
        ("data_reader", endpoint::READER.knows(name)),
        ("rtps", participant::RTPS.knows(name)),
        ("builtin", discovery::BUILTIN.knows(name)),
        ("discovery_config", discovery::DISCOVERY.knows(name)),
        ("transport_descriptor", transport::TRANSPORT.knows(name)),
    ];
    let homes: Vec<_> = known.into_iter().filter(|(_, is_known)| *is_known).map(|(home, _)| home).collect();
    if matches!(name, "name" | "kind" | "type" | "port" | "topic") { Vec::new() } else { homes }
}

/// Something that a file describes at a place.
trait Placed {
    fn place(&self) -> &Place;
}

macro_rules! placed {
    ($($profile:ty),*) => {
        $(impl Placed for $profile {
            fn place(&self) -> &Place {
                &self.place
            }
        })*
    };
}
placed!(ParticipantProfile, EndpointProfile, TopicProfile, TransportProfile);

/// Keeps a profile under its name, and the name if it is the default.
fn keep<T: Placed>(
    reader: &mut Reader,
    element: &Element,
    kind: ProfileKind,
    profiles: &mut BTreeMap<String, T>,
    defaults: &mut BTreeMap<ProfileKind, String>,
    profile: T,
) -> Result<(), XmlError> {
    let name = element.required("profile_name")?.to_owned();
    let is_default = element.attribute_boolean("is_default_profile")?.unwrap_or(false);
    let is_kept = insert(reader, kind, profiles, &name, profile, &element.place);
    if is_default
        && is_kept
        && let Some(before) = defaults.insert(kind, name.clone())
    {
        let what =
            format!("{before:?} and {name:?} are both the default {}: the last one counts", kind.name());
        reader.findings.push(Finding::warning(element.place.clone(), what));
    }
    Ok(())
}

/// Keeps the first profile of a name; tells about a second one. Whether it was kept.
fn insert<T: Placed>(
    reader: &mut Reader,
    kind: ProfileKind,
    profiles: &mut BTreeMap<String, T>,
    name: &str,
    profile: T,
    place: &Place,
) -> bool {
    if let Some(first) = profiles.get(name) {
        let kind = kind.name();
        let what = format!(
            "a second {kind} is named {name:?} and has no effect: the one at {} counts",
            first.place()
        );
        reader.findings.push(Finding::error(place.clone(), what));
        return false;
    }
    profiles.insert(name.to_owned(), profile);
    true
}

fn names<T>(profiles: &BTreeMap<String, T>) -> Vec<String> {
    profiles.keys().cloned().collect()
}

fn find<'a, T>(
    profiles: &'a BTreeMap<String, T>,
    kind: ProfileKind,
    name: &str,
) -> Result<&'a T, LookupError> {
    profiles.get(name).ok_or_else(|| LookupError { kind, name: name.into(), known: names(profiles) })
}
