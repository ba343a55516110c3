//! Types known only at run time, and values of them (DDS-XTypes 7.2). Pure.
//!
//! A [`StructType`] comes from a derived Rust type ([`DdsType::structure`](crate::cdr::DdsType::structure)) or from
//! [`StructType::new`], which checks it. A [`DynamicValue`] is a sample of one, encoded to the same octets as the
//! Rust type.

mod alternative;
mod bits;
mod coding;
mod compound;
mod enumeration;
mod error;
mod number;
pub mod object;
#[cfg(test)]
mod properties;
mod structure;
#[cfg(test)]
mod tests;
mod value;

pub use alternative::{Case, UnionType, UnionValue};
pub use bits::{BITS_MAX, Bitfield, BitmaskType, BitsetType};
pub use enumeration::EnumType;
pub use error::TypeError;
pub use structure::{Member, StructType};
pub use value::{DynamicValue, Value, ValueError};

use crate::cdr::Extent;
use alloc::boxed::Box;
use alloc::string::String;
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
    /// IEEE 754 quadruple precision, as its 16 octets.
    Float128,
    /// 8-bit character; ASCII only.
    Char8,
    /// 16 bits of text in UTF-16.
    Char16,
    /// The same in 32 bits, as Fast DDS 2 sends it.
    Char32,
    /// Text in UTF-8.
    String {
        /// The most octets it may have.
        max: Option<u32>,
    },
    /// Text in UTF-16.
    WString {
        /// The most units of 16 bits that it may have.
        max: Option<u32>,
    },
    /// Text in UTF-32, its characters counted, as Fast DDS 2 sends wide text.
    WString32 {
        /// The most characters that it may have.
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
    /// Values by key.
    Map {
        /// The type of the keys, for which [`Type::is_map_key`] holds.
        key: Box<Type>,
        /// The type of the values.
        value: Box<Type>,
        /// The most pairs it may have.
        max: Option<u32>,
    },
    /// A named number.
    Enum(Arc<EnumType>),
    /// Bits with names.
    Bitmask(Arc<BitmaskType>),
    /// Bits that make up numbers.
    Bitset(Arc<BitsetType>),
    /// One of several members.
    Union(Arc<UnionType>),
    /// A struct.
    Struct(Arc<StructType>),
    /// Another name for a type.
    Alias(Arc<AliasType>),
}

/// Another name for a type, as which it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasType {
    name: String,
    ty: Type,
}

impl AliasType {
    /// A name for a type.
    ///
    /// # Errors
    /// When it has an array without elements or a map whose keys have no order, or is too large or too deep.
    pub fn new(name: impl Into<String>, ty: Type) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        structure::check_parts(&ty, &name, "")?;
        let aliased =
            |ty: &Self| if let Type::Alias(alias) = &ty.ty { Some(Arc::clone(alias)) } else { None };
        let alias = Self { name, ty };
        let aliases = core::iter::successors(aliased(&alias), |alias| aliased(alias)).count();
        let depth = alias.ty.depth().max(u32::try_from(aliases).unwrap_or(u32::MAX));
        structure::check_measure(&alias.name, alias.ty.size_fixed(), depth)?;
        Ok(Arc::new(alias))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

impl Type {
    /// The type without the other names that it has.
    pub fn resolved(&self) -> &Self {
        let mut ty = self;
        while let Self::Alias(alias) = ty {
            ty = &alias.ty;
        }
        ty
    }

    /// The fewest octets that a value takes, without padding; at least 1 in a checked type.
    pub fn size_min(&self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Int8 | Self::Uint8 | Self::Char8 => 1,
            Self::Int16 | Self::Uint16 | Self::Char16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 | Self::Char32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
            Self::Float128 => 16,
            Self::String { .. } | Self::WString { .. } | Self::WString32 { .. } => 4,
            Self::Sequence { .. } | Self::Map { .. } => 4,
            Self::Array { element, dimensions } => {
                element_count(dimensions).saturating_mul(element.size_min())
            }
            Self::Enum(named) => named.holder().size_min(),
            Self::Bitmask(named) => named.holder().size_min(),
            Self::Bitset(named) => named.holder().size_min(),
            Self::Union(named) => named.size_min(),
            Self::Struct(structure) => structure.size_min(),
            Self::Alias(named) => named.ty.size_min(),
        }
    }

    /// The octets that its parts of fixed size take in memory, as a bound for [`Value::zero`].
    pub(crate) fn size_fixed(&self) -> usize {
        match self {
            Self::Array { element, dimensions } => {
                element_count(dimensions).saturating_mul(element.size_fixed())
            }
            Self::Struct(structure) => structure.size_fixed(),
            Self::Union(named) => named.size_fixed(),
            Self::Alias(named) => named.ty.size_fixed(),
            other => other.size_min(),
        }
    }

    /// Whether XCDR2 counts it among the primitive types; an array counts as its element.
    pub(crate) fn is_primitive(&self) -> bool {
        match self {
            Self::String { .. } | Self::WString { .. } | Self::WString32 { .. } => false,
            Self::Sequence { .. } | Self::Map { .. } => false,
            Self::Enum(_) | Self::Bitmask(_) | Self::Bitset(_) | Self::Union(_) | Self::Struct(_) => false,
            Self::Array { element, .. } => element.is_primitive(),
            Self::Alias(named) => named.ty.is_primitive(),
            _ => true,
        }
    }

    /// Whether a collection of it is held as [`Value::Bytes`].
    pub(crate) fn is_octet(&self) -> bool {
        matches!(self.resolved(), Self::Byte | Self::Uint8)
    }

    /// As [`Cdr::end_max`](crate::cdr::Cdr::end_max).
    pub(crate) fn end_max(&self, start: Extent) -> Option<Extent> {
        match self {
            Self::String { max } => start.number(4)?.plus(usize::try_from((*max)?).ok()?.checked_add(1)?),
            Self::WString { max } => start.number(4)?.plus(usize::try_from((*max)?).ok()?.checked_mul(2)?),
            Self::WString32 { max } => start.number(4)?.plus(usize::try_from((*max)?).ok()?.checked_mul(4)?),
            Self::Sequence { element, max } => {
                let elements = start.collection(element.is_primitive())?.number(4)?;
                elements.repeated((*max)?, |start| element.end_max(start))
            }
            Self::Map { key, value, max } => {
                let pairs = start.collection(key.is_primitive() && value.is_primitive())?.number(4)?;
                pairs.repeated((*max)?, |start| value.end_max(key.end_max(start)?))
            }
            Self::Array { element, dimensions } => {
                let count = u32::try_from(element_count(dimensions)).ok()?;
                start.collection(element.is_primitive())?.repeated(count, |start| element.end_max(start))
            }
            Self::Struct(structure) => structure.end_max(start),
            Self::Union(named) => {
                let after = named.discriminator().end_max(start)?;
                let mut ends = named.cases().iter().map(|case| case.ty.end_max(after));
                ends.try_fold(after, |most, end| {
                    end.map(|end| if end.octets() > most.octets() { end } else { most })
                })
            }
            Self::Alias(named) => named.ty.end_max(start),
            number => start.number(number.size_min()),
        }
    }

    /// As [`Cdr::key_part_end_max`](crate::cdr::Cdr::key_part_end_max).
    pub(crate) fn key_part_end_max(&self, start: Extent) -> Option<Extent> {
        match self.resolved() {
            Self::Struct(structure) => structure.key_part_end_max(start),
            whole => whole.end_max(start),
        }
    }

    /// Levels of collections, unions and structs.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Sequence { element, .. } | Self::Array { element, .. } => element.depth().saturating_add(1),
            Self::Map { value, .. } => value.depth().saturating_add(1),
            Self::Union(named) => named.depth(),
            Self::Struct(structure) => structure.depth(),
            Self::Alias(named) => named.ty.depth(),
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
            Self::Float128 => f.write_str("long double"),
            Self::Char8 => f.write_str("char"),
            Self::Char16 | Self::Char32 => f.write_str("wchar"),
            Self::String { max: None } => f.write_str("string"),
            Self::String { max: Some(max) } => write!(f, "string<{max}>"),
            Self::WString { max: None } | Self::WString32 { max: None } => f.write_str("wstring"),
            Self::WString { max: Some(max) } | Self::WString32 { max: Some(max) } => {
                write!(f, "wstring<{max}>")
            }
            Self::Map { key, value, max: None } => write!(f, "map<{key}, {value}>"),
            Self::Map { key, value, max: Some(max) } => write!(f, "map<{key}, {value}, {max}>"),
            Self::Sequence { element, max: None } => write!(f, "sequence<{element}>"),
            Self::Sequence { element, max: Some(max) } => write!(f, "sequence<{element}, {max}>"),
            Self::Array { element, dimensions } => {
                write!(f, "{element}")?;
                dimensions.iter().try_for_each(|count| write!(f, "[{count}]"))
            }
            Self::Enum(named) => f.write_str(named.name()),
            Self::Bitmask(named) => f.write_str(named.name()),
            Self::Bitset(named) => f.write_str(named.name()),
            Self::Union(named) => f.write_str(named.name()),
            Self::Struct(named) => f.write_str(named.name()),
            Self::Alias(named) => f.write_str(named.name()),
        }
    }
}

/// Elements of an array of these dimensions.
pub(crate) fn element_count(dimensions: &[u32]) -> usize {
    dimensions.iter().fold(1, |product: usize, count| {
        product.saturating_mul(usize::try_from(*count).unwrap_or(usize::MAX))
    })
}
