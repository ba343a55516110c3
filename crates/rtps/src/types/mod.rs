//! Types known only at run time, and values of them (the part of DDS-XTypes 7.2 that plain CDR carries). Pure.
//!
//! A [`StructType`] comes from a derived Rust type ([`DdsType::structure`](crate::cdr::DdsType::structure)) or from
//! [`StructType::new`], which checks it. A [`DynamicValue`] is a sample of one, encoded to the same octets as the
//! Rust type.

mod coding;
pub mod object;
mod structure;
#[cfg(test)]
mod tests;
mod value;

pub use structure::{EnumType, Member, StructType, TypeError};
pub use value::{DynamicValue, Value, ValueError};

use crate::cdr::Extent;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// The type of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `boolean`.
    Bool,
    /// `octet`: 8 bits without meaning. Its values are [`Value::Uint8`].
    Byte,
    /// 8-bit number with sign.
    Int8,
    /// 16-bit number with sign.
    Int16,
    /// 32-bit number with sign.
    Int32,
    /// 64-bit number with sign.
    Int64,
    /// 8-bit number.
    Uint8,
    /// 16-bit number.
    Uint16,
    /// 32-bit number.
    Uint32,
    /// 64-bit number.
    Uint64,
    /// IEEE 754 single precision.
    Float32,
    /// IEEE 754 double precision.
    Float64,
    /// 8-bit character; ASCII only.
    Char8,
    /// Text in UTF-8.
    String {
        /// The most octets it may have.
        max: Option<u32>,
    },
    /// Elements of variable number.
    Sequence {
        /// The type of each.
        element: Box<Type>,
        /// The most elements it may have.
        max: Option<u32>,
    },
    /// Elements of fixed number.
    Array {
        /// The type of each.
        element: Box<Type>,
        /// Element counts, outermost dimension first; none is zero.
        dimensions: Vec<u32>,
    },
    /// A named number.
    Enum(Arc<EnumType>),
    /// A struct.
    Struct(Arc<StructType>),
}

impl Type {
    /// The fewest octets that a value takes, without padding; at least 1 in a checked type.
    pub fn size_min(&self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Int8 | Self::Uint8 | Self::Char8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 | Self::Enum(_) => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
            Self::String { .. } | Self::Sequence { .. } => 4,
            Self::Array { element, dimensions } => {
                element_count(dimensions).saturating_mul(element.size_min())
            }
            Self::Struct(structure) => structure.size_min(),
        }
    }

    /// The octets that its parts of fixed size take in memory, as a bound for [`Value::zero`].
    pub(crate) fn size_fixed(&self) -> usize {
        match self {
            Self::Array { element, dimensions } => {
                element_count(dimensions).saturating_mul(element.size_fixed())
            }
            Self::Struct(structure) => structure.size_fixed(),
            other => other.size_min(),
        }
    }

    /// Whether XCDR2 counts it among the primitive types; an array counts as its element.
    pub(crate) fn is_primitive(&self) -> bool {
        match self {
            Self::String { .. } | Self::Sequence { .. } | Self::Enum(_) | Self::Struct(_) => false,
            Self::Array { element, .. } => element.is_primitive(),
            _ => true,
        }
    }

    /// Whether a collection of it is held as [`Value::Bytes`].
    pub(crate) fn is_octet(&self) -> bool {
        matches!(self, Self::Byte | Self::Uint8)
    }

    /// As [`Cdr::end_max`](crate::cdr::Cdr::end_max).
    pub(crate) fn end_max(&self, start: Extent) -> Option<Extent> {
        match self {
            Self::String { max } => start.number(4)?.plus(usize::try_from((*max)?).ok()?.checked_add(1)?),
            Self::Sequence { element, max } => {
                let elements = start.collection(element.is_primitive())?.number(4)?;
                elements.repeated((*max)?, |start| element.end_max(start))
            }
            Self::Array { element, dimensions } => {
                let count = u32::try_from(element_count(dimensions)).ok()?;
                start.collection(element.is_primitive())?.repeated(count, |start| element.end_max(start))
            }
            Self::Struct(structure) => structure.end_max(start),
            number => start.number(number.size_min()),
        }
    }

    /// As [`Cdr::key_part_end_max`](crate::cdr::Cdr::key_part_end_max).
    pub(crate) fn key_part_end_max(&self, start: Extent) -> Option<Extent> {
        match self {
            Self::Struct(structure) => structure.key_part_end_max(start),
            whole => whole.end_max(start),
        }
    }

    /// Levels of sequences, arrays and structs.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Sequence { element, .. } | Self::Array { element, .. } => element.depth().saturating_add(1),
            Self::Struct(structure) => structure.depth(),
            _ => 0,
        }
    }
}

/// In the words of IDL 4.2, with the bit-sized names.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("boolean"),
            Self::Byte => f.write_str("octet"),
            Self::Int8 => f.write_str("int8"),
            Self::Int16 => f.write_str("int16"),
            Self::Int32 => f.write_str("int32"),
            Self::Int64 => f.write_str("int64"),
            Self::Uint8 => f.write_str("uint8"),
            Self::Uint16 => f.write_str("uint16"),
            Self::Uint32 => f.write_str("uint32"),
            Self::Uint64 => f.write_str("uint64"),
            Self::Float32 => f.write_str("float"),
            Self::Float64 => f.write_str("double"),
            Self::Char8 => f.write_str("char"),
            Self::String { max: None } => f.write_str("string"),
            Self::String { max: Some(max) } => write!(f, "string<{max}>"),
            Self::Sequence { element, max: None } => write!(f, "sequence<{element}>"),
            Self::Sequence { element, max: Some(max) } => write!(f, "sequence<{element}, {max}>"),
            Self::Array { element, dimensions } => {
                write!(f, "{element}")?;
                dimensions.iter().try_for_each(|count| write!(f, "[{count}]"))
            }
            Self::Enum(named) => f.write_str(named.name()),
            Self::Struct(named) => f.write_str(named.name()),
        }
    }
}

/// Elements of an array of these dimensions.
pub(crate) fn element_count(dimensions: &[u32]) -> usize {
    dimensions.iter().fold(1, |product: usize, count| {
        product.saturating_mul(usize::try_from(*count).unwrap_or(usize::MAX))
    })
}
