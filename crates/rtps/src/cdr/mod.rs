//! Common Data Representation: encoding of typed samples (DDS-XTypes 1.3, 7.4).
//!
//! [`to_payload`] and [`from_payload`] turn a value of a type with [`Cdr`] into octets and back. We write least
//! significant octet first, in XCDR1 or ([`to_payload_in`]) XCDR2; both byte orders of both are read, for final,
//! appendable and mutable types ([`Extensibility`]). Pure: nothing but the given buffers is touched. Octets are not
//! trusted: a claimed length is checked against the octets left before anything is allocated, and nesting is bounded.
//!
//! Types known at run time need nothing beyond what derived ones use: [`write_payload`] and [`open_payload`] with the
//! type's extensibility, [`Encoder::structure`] around [`Encoder::member`] and [`Encoder::optional_member`] for
//! structs, [`Encoder::collection`] around sequences, arrays and maps, and the same on [`Decoder`], where
//! [`Decoder::members`] reads mutable structs and [`Decoder::is_at_end`] says that an older sender's appendable struct
//! has no more members. Where [`Encoder::is_key_hash`], key members go in the order of their identifiers.
//!
//! ```
//! use rtps::cdr::{self, DdsType};
//!
//! #[derive(DdsType, Debug, PartialEq)]
//! #[dds(name = "demo::Reading")]
//! struct Reading {
//!     #[dds(key, max = 64)]
//!     node: String,
//!     power_watts: f64,
//! }
//!
//! let reading = Reading { node: "n007".into(), power_watts: 212.5 };
//! let mut payload = Vec::new();
//! cdr::to_payload(&reading, &mut payload)?;
//! assert_eq!(cdr::from_payload::<Reading>(&payload)?, reading);
//! assert_eq!(cdr::key_hash_of_payload::<Reading>(&payload, false)?, reading.key_hash()?);
//! # Ok::<(), rtps::cdr::CdrError>(())
//! ```

mod collection;
#[cfg(test)]
mod cyclone;
mod decoder;
mod encapsulation;
mod encoder;
mod error;
#[cfg(test)]
mod evolution;
mod primitive;
mod structure;
#[cfg(test)]
mod tests;
mod topic;
mod value;

pub use crate::Endianness;
pub use collection::Bounded;
pub use decoder::{Decoder, FILLED_MAX};
pub use encapsulation::{Encapsulation, PayloadForm, Representation};
pub use encoder::Encoder;
pub use error::CdrError;
pub use rtps_derive::{Cdr, DdsType};
pub use structure::{Extensibility, MEMBER_ID_MAX, MemberHeader};
pub use topic::{
    DdsType, KEY_SIZE_COUNTED_MAX, KeyHash, from_payload, key_from_payload, key_hash_of_payload,
    key_to_payload, key_to_payload_in, open_payload, to_payload, to_payload_in, write_payload,
    write_payload_in_order,
};
pub use value::{Cdr, Extent};

pub(crate) use collection::check_length;

/// How deep sequences and arrays may be nested in a sample, and types in a type known at run time.
pub const NESTING_MAX: u32 = 32;

/// What derived code calls; no part of the interface.
#[doc(hidden)]
pub mod derived {
    pub use crate::types::{EnumType, Member, StructType, Type};
    pub use alloc::string::String;
    pub use alloc::sync::Arc;
    pub use alloc::vec;

    /// The fewest octets of an appendable struct of which `whole` are the fewest of all its members: an older sender
    /// may have none of them but the size.
    pub const fn size_min_appendable(whole: usize) -> usize {
        if whole < 4 { whole } else { 4 }
    }

    /// Names the member in an error.
    #[inline]
    pub fn member<T>(name: &'static str, result: Result<T, super::CdrError>) -> Result<T, super::CdrError> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(error.in_member(name)),
        }
    }
}
