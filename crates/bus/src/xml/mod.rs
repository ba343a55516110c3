//! XML in the Fast DDS dialect: profiles and types. Only [`read`] touches files and the environment.

mod bounds;
pub mod document;
mod element;
mod environment;
mod fault;
pub mod read;

pub use document::{Document, Root};
pub use element::{Attribute, Element, Integer};
pub use environment::expand;
pub use fault::{Finding, Place, Severity, XmlError};
