//! Why a sample could not be encoded or decoded. Pure.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// A sample that cannot be written as CDR, or octets that are not CDR of the expected type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdrError {
    /// The octets end before the value does.
    #[error(
        "the sample ends after {available} octets, but {needed} are needed: truncated, or of another type"
    )]
    Truncated {
        /// Octets counted from the encapsulation header's end, up to and with the value.
        needed: usize,
        /// Octets present after the encapsulation header.
        available: usize,
    },
    /// A length on the wire claims more elements than octets are left for.
    #[error("a length of {claimed} elements was claimed with only {left} octets left")]
    LengthClaim {
        /// The claimed element count.
        claimed: u32,
        /// Octets left in the sample.
        left: usize,
    },
    /// The four-octet encapsulation header is missing.
    #[error("a payload of {length} octets has no room for the 4-octet encapsulation header")]
    NoEncapsulation {
        /// Octets in the payload.
        length: usize,
    },
    /// The encapsulation is one that we do not decode.
    #[error("encapsulation 0x{identifier:04x} is not supported: have the writer use XCDR1 or XCDR2")]
    Encapsulation {
        /// The representation identifier on the wire.
        identifier: u16,
    },
    /// The encapsulation is that of a type of another extensibility.
    #[error(
        "encapsulation 0x{identifier:04x} carries no {extensibility:?} type: \
         give the type the same extensibility on both sides"
    )]
    Form {
        /// The representation identifier on the wire.
        identifier: u16,
        /// That of the reader's type.
        extensibility: super::Extensibility,
    },
    /// A member that must be understood is none of the reader's type.
    #[error(
        "the sample has a member {id:#x} that must be understood, and the type has none: update the type"
    )]
    NotUnderstood {
        /// The member's identifier.
        id: u32,
    },
    /// The header before an optional member is that of another member.
    #[error(
        "expected the header of optional member {expected:#x}, found {found:x?}: is the type the sender's?"
    )]
    MemberId {
        /// The member's identifier in the type.
        expected: u32,
        /// The one found; none at the end of a parameter list.
        found: Option<u32>,
    },
    /// A sample of a mutable type without a member of its key.
    #[error("the sample has no value of this key member")]
    KeyMissing,
    /// A boolean that is neither 0 nor 1.
    #[error("{value} is not a boolean: 0 or 1 expected")]
    Bool {
        /// The octet found.
        value: u8,
    },
    /// A character outside ASCII in an 8-bit character.
    #[error("character code {code} does not fit an 8-bit ASCII character")]
    Char {
        /// The code point to write, or the octet found.
        code: u32,
    },
    /// A string that is not UTF-8, or a wide one that is not UTF-16.
    #[error("a string is not UTF-8, or a wide string not UTF-16, from its octet {valid_up_to} on")]
    StringEncoding {
        /// How many of its first octets are valid.
        valid_up_to: usize,
    },
    /// A sample leaves out too much that a reader would have to make up.
    #[error("the sample leaves out members of more than {} octets", super::FILLED_MAX)]
    TooMuchLeftOut,
    /// A map with a key twice.
    #[error("a map of {pairs} pairs has a key twice")]
    MapKeys {
        /// How many pairs it has.
        pairs: usize,
    },
    /// A string with a zero octet inside, or without one at its end.
    #[error("a string must end with a zero octet and have none inside")]
    StringZero,
    /// A number that names no enumerator.
    #[error("{value} is no enumerator of {type_name}")]
    Enumerator {
        /// The enum type.
        type_name: &'static str,
        /// The number found.
        value: u32,
    },
    /// A bounded string or sequence is longer than its type allows.
    #[error("length {length} exceeds the bound of {max}")]
    TooLong {
        /// Octets of the string or elements of the sequence.
        length: usize,
        /// The most that the type allows.
        max: u32,
    },
    /// A string or sequence is longer than the 32-bit length on the wire can say.
    #[error("length {length} does not fit the 32-bit length of CDR")]
    LengthRange {
        /// Octets of the string or elements of the sequence.
        length: usize,
    },
    /// Values are nested deeper than [`NESTING_MAX`](super::NESTING_MAX).
    #[error("values are nested deeper than {} levels", super::NESTING_MAX)]
    TooDeep,
    /// A dynamic value does not have the form that its type asks for.
    #[error("the value is {found}, but its type is {expected}")]
    Mismatch {
        /// The type, in words.
        expected: String,
        /// The value's form, in words.
        found: &'static str,
    },
    /// The error happened in a member.
    #[error("member {path}: {source}")]
    Member {
        /// Names of members from the outermost to the innermost, joined by dots.
        path: String,
        /// What went wrong there.
        source: Box<CdrError>,
    },
}

impl CdrError {
    /// The same error, said to have happened in the member `name`.
    #[cold]
    #[must_use]
    pub fn in_member(self, name: &str) -> Self {
        match self {
            Self::Member { path, source } => Self::Member { path: format!("{name}.{path}"), source },
            other => Self::Member { path: name.to_owned(), source: Box::new(other) },
        }
    }
}
