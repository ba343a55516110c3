//! XML in the Fast DDS dialect: profiles and types. Only [`read`] touches files and the environment.

pub mod document;
mod element;
mod environment;
mod fault;
mod locator;
pub mod profiles;
pub mod read;
mod scan;
mod section;
pub mod type_library;
mod value;

pub use document::{Document, Root};
pub use element::{Attribute, Element, Integer};
pub use environment::expand;
pub use fault::{Finding, Place, Severity, XmlError};
pub use locator::{Host, LocatorFamily, ProfileLocator};
pub use profiles::{
    EndpointProfile, LookupError, ParticipantProfile, ProfileKind, Profiles, TopicProfile, TransportProfile,
};
pub use type_library::{Layout, TypeLookupError, Types};
