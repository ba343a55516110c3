//! Why a type cannot be. Pure.

use super::{BITS_MAX, StructType};
use crate::cdr::{MEMBER_ID_MAX, NESTING_MAX};
use alloc::string::String;

/// A type that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A struct without members, an enum without enumerators, or the like.
    #[error("type {name} has no members: add one, plain CDR cannot carry it")]
    Empty {
        /// The type.
        name: String,
    },
    /// A name is used twice, or is empty.
    #[error("type {name} has more than one member \"{member}\", or one without a name: rename it")]
    MemberName {
        /// The type.
        name: String,
        /// The name in question.
        member: String,
    },
    /// A member's identifier is used twice or too large.
    #[error(
        "{name}.{member} has the identifier {id:#x}, which is above {MEMBER_ID_MAX:#x} or another's: change it"
    )]
    MemberId {
        /// The type.
        name: String,
        /// The member.
        member: String,
        /// Its identifier.
        id: u32,
    },
    /// A member of a key that may be absent.
    #[error("{name}.{member} is a key member and optional: make it one of the two")]
    KeyOptional {
        /// The type.
        name: String,
        /// The member.
        member: String,
    },
    /// Two enumerators have the same number.
    #[error("enum {name} gives the number {value} twice: change one")]
    EnumeratorValue {
        /// The type.
        name: String,
        /// The number.
        value: u32,
    },
    /// An array with no dimension, or a dimension of zero.
    #[error("{name}.{member} is an array of no elements: every dimension must be 1 or more")]
    ArrayEmpty {
        /// The type.
        name: String,
        /// The member.
        member: String,
    },
    /// The part of fixed size is too large.
    #[error(
        "type {name} has a fixed part above {} octets: use sequences instead of large arrays",
        StructType::SIZE_FIXED_MAX
    )]
    TooLarge {
        /// The type.
        name: String,
    },
    /// Nested too deep.
    #[error("type {name} is nested deeper than {NESTING_MAX} levels")]
    TooDeep {
        /// The type.
        name: String,
    },
    /// A number of bits that cannot be.
    #[error("type {name} has {bits} bits: 1 to {max} are possible")]
    BitBound {
        /// The type.
        name: String,
        /// Its bits.
        bits: u16,
        /// The most that are possible.
        max: u16,
    },
    /// A flag or enumerator outside the bits of its type, or a flag where another one is.
    #[error("{name}.{member} is not within the {bits} bits of its type, or its bit is another's: move it")]
    BitPosition {
        /// The type.
        name: String,
        /// The flag or enumerator.
        member: String,
        /// Bits of the type.
        bits: u16,
    },
    /// A field of a bitset whose type does not hold its bits.
    #[error(
        "field \"{field}\" of {name} has {bits} bits, which its type does not hold: at least 1, at most {BITS_MAX}"
    )]
    Bitfield {
        /// The bitset.
        name: String,
        /// The field; empty if it has no name.
        field: String,
        /// Its bits.
        bits: u16,
    },
    /// The key of a map must have an order.
    #[error(
        "the key of map {name}.{member} is {ty}: use a boolean, a whole number, a character, text or an enum"
    )]
    MapKey {
        /// The type.
        name: String,
        /// The member.
        member: String,
        /// The type of the key.
        ty: String,
    },
    /// The discriminator of a union must be countable.
    #[error("the discriminator of {name} is {ty}: use a boolean, a whole number, a character or an enum")]
    Discriminator {
        /// The union.
        name: String,
        /// The type of the discriminator.
        ty: String,
    },
    /// A case without labels, or the second default.
    #[error("case \"{case}\" of {name} has no label, or is the second default")]
    CaseLabels {
        /// The union.
        name: String,
        /// The name of the member.
        case: String,
    },
    /// A label that is used twice, or is no value of the discriminator.
    #[error("label {label} of case \"{case}\" of {name} is another case's, or no value of the discriminator")]
    Label {
        /// The union.
        name: String,
        /// The name of the member.
        case: String,
        /// The label.
        label: i64,
    },
    /// A mutable union.
    #[error("union {name} is mutable, which is not supported: make it final or appendable")]
    MutableUnion {
        /// The union.
        name: String,
    },
}
