//! Types as they are announced: type objects, their hashes, and type information (DDS-XTypes 7.3 and 7.6.3.2). Pure.
//!
//! A type object describes a type for machines: *complete* with its names, *minimal* with what decides whether types
//! are compatible. Its hash stands for it. [`TypeInformation`] names a topic's type and the types in it by their
//! hashes, so that peers can compare types without sending them. What we make is octet for octet what Cyclone DDS 11
//! makes of the same type. Answering questions for the objects themselves (the TypeLookup service) is not part of this.

mod constructed;
mod dependencies;
mod identifier;
mod information;
mod objects;

pub use information::{TypeDependencies, TypeInformation, TypeReference};

use super::StructType;
use crate::cdr::CdrError;
use alloc::string::String;
use alloc::vec::Vec;

/// Why a type cannot be announced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeObjectError {
    /// A name is too long for a type object.
    #[error("the name {name:?} is longer than {NAME_MAX} octets, the most in a type object: shorten it")]
    Name {
        /// The name of a type or member.
        name: String,
    },
    /// Two types have the same name.
    #[error("two different types within the type are called {name:?}: rename one")]
    Ambiguous {
        /// The name.
        name: String,
    },
    /// The object could not be encoded.
    #[error("type {name:?}: {source}")]
    Encode {
        /// The type.
        name: String,
        /// Why not.
        source: CdrError,
    },
}

/// The hash of a type object: the first octets of its MD5.
pub type EquivalenceHash = [u8; 14];

/// Which of the two objects of a type is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equivalence {
    /// Without the names of types; of members only a hash of the name.
    Minimal,
    /// With all names.
    Complete,
}

impl Equivalence {
    const fn kind(self) -> u8 {
        match self {
            Self::Minimal => 0xf1,
            Self::Complete => 0xf2,
        }
    }
}

/// Octets of a name in a type object.
pub const NAME_MAX: usize = 256;

/// The type object of a struct in XCDR2, least significant octet first: what its hash is made of.
///
/// # Errors
/// When a name is too long or stands for two types.
pub fn type_object(structure: &StructType, equivalence: Equivalence) -> Result<Vec<u8>, TypeObjectError> {
    let named = dependencies::Named::Struct(structure);
    dependencies::References::of(structure)?.object(named, equivalence)
}
