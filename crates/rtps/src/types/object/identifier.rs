//! Type identifiers: a type in a few octets, described or by the hash of its object (DDS-XTypes 7.3.4). Pure.

use super::dependencies::{Named, References};
use super::{Equivalence, TypeObjectError};
use crate::cdr::{CdrError, Encoder};
use crate::types::Type;
use alloc::vec::Vec;

/// The identifier of no type: that of the base of a struct without one.
pub(super) const NONE: u8 = 0x00;
const STRING_SMALL: u8 = 0x70;
const STRING_LARGE: u8 = 0x71;
const WSTRING_SMALL: u8 = 0x72;
const WSTRING_LARGE: u8 = 0x73;
const SEQUENCE_SMALL: u8 = 0x80;
const SEQUENCE_LARGE: u8 = 0x81;
const ARRAY_SMALL: u8 = 0x90;
const ARRAY_LARGE: u8 = 0x91;
const MAP_SMALL: u8 = 0xa0;
const MAP_LARGE: u8 = 0xa1;
/// A collection whose identifier holds no hash.
const BOTH: u8 = 0xf3;
/// An element that cannot be constructed makes its collection fail.
const TRY_CONSTRUCT_DISCARD: u16 = 1;

/// How the identifier of a type is made. What is new in [`Type`] finds its place here.
enum Shape<'a> {
    Primitive(u8),
    String { max: Option<u32> },
    WString { max: Option<u32> },
    Map { key: &'a Type, value: &'a Type, max: Option<u32> },
    Sequence { element: &'a Type, max: Option<u32> },
    Array { element: &'a Type, dimensions: &'a [u32] },
    Named(Named<'a>),
}

fn shape(ty: &Type) -> Shape<'_> {
    match ty {
        Type::Bool => Shape::Primitive(0x01),
        Type::Byte => Shape::Primitive(0x02),
        Type::Int16 => Shape::Primitive(0x03),
        Type::Int32 => Shape::Primitive(0x04),
        Type::Int64 => Shape::Primitive(0x05),
        Type::Uint16 => Shape::Primitive(0x06),
        Type::Uint32 => Shape::Primitive(0x07),
        Type::Uint64 => Shape::Primitive(0x08),
        Type::Float32 => Shape::Primitive(0x09),
        Type::Float64 => Shape::Primitive(0x0a),
        Type::Float128 => Shape::Primitive(0x0b),
        Type::Int8 => Shape::Primitive(0x0c),
        Type::Uint8 => Shape::Primitive(0x0d),
        Type::Char8 => Shape::Primitive(0x10),
        Type::Char16 | Type::Char32 => Shape::Primitive(0x11),
        Type::String { max } => Shape::String { max: *max },
        Type::WString { max } | Type::WString32 { max } => Shape::WString { max: *max },
        Type::Map { key, value, max } => Shape::Map { key, value, max: *max },
        Type::Sequence { element, max } => Shape::Sequence { element, max: *max },
        Type::Array { element, dimensions } => Shape::Array { element, dimensions },
        Type::Struct(structure) => Shape::Named(Named::Struct(structure)),
        Type::Enum(enumeration) => Shape::Named(Named::Enum(enumeration)),
        Type::Union(union) => Shape::Named(Named::Union(union)),
        Type::Bitmask(bitmask) => Shape::Named(Named::Bitmask(bitmask)),
        Type::Bitset(bitset) => Shape::Named(Named::Bitset(bitset)),
        Type::Alias(alias) => Shape::Named(Named::Alias(alias)),
    }
}

/// Appends the identifier of a type.
pub(super) fn write(
    ty: &Type,
    equivalence: Equivalence,
    known: &References<'_>,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    match shape(ty) {
        Shape::Primitive(kind) => encoder.write_u8(kind),
        Shape::String { max } => {
            write_bound(max.unwrap_or(0), STRING_SMALL, STRING_LARGE, encoder, |_| ());
        }
        Shape::WString { max } => {
            write_bound(max.unwrap_or(0), WSTRING_SMALL, WSTRING_LARGE, encoder, |_| ());
        }
        Shape::Map { key, value, max } => {
            let header = |encoder: &mut Encoder<'_>| write_header(value, equivalence, encoder);
            write_bound(max.unwrap_or(0), MAP_SMALL, MAP_LARGE, encoder, header);
            write(value, equivalence, known, encoder)?;
            encoder.write_u16(TRY_CONSTRUCT_DISCARD);
            write(key, equivalence, known, encoder)?;
        }
        Shape::Sequence { element, max } => {
            let header = |encoder: &mut Encoder<'_>| write_header(element, equivalence, encoder);
            write_bound(max.unwrap_or(0), SEQUENCE_SMALL, SEQUENCE_LARGE, encoder, header);
            write(element, equivalence, known, encoder)?;
        }
        Shape::Array { element, dimensions } => {
            let small: Option<Vec<u8>> = dimensions.iter().map(|count| u8::try_from(*count).ok()).collect();
            encoder.write_u8(if small.is_some() { ARRAY_SMALL } else { ARRAY_LARGE });
            write_header(element, equivalence, encoder);
            encoder.write_length(dimensions.len())?;
            match small {
                Some(small) => encoder.write_bytes(&small),
                None => dimensions.iter().for_each(|count| encoder.write_u32(*count)),
            }
            write(element, equivalence, known, encoder)?;
        }
        Shape::Named(named) => {
            let reference = known.get(named.name(), equivalence);
            write_reference(equivalence, &reference.map(|known| known.hash).unwrap_or_default(), encoder);
        }
    }
    Ok(())
}

/// Appends the hash of an object.
pub(super) fn write_reference(
    equivalence: Equivalence,
    hash: &super::EquivalenceHash,
    encoder: &mut Encoder<'_>,
) {
    encoder.write_u8(equivalence.kind());
    encoder.write_bytes(hash);
}

/// One octet of bound where that does, else four, after the discriminator that says so and `header`.
fn write_bound(
    bound: u32,
    small: u8,
    large: u8,
    encoder: &mut Encoder<'_>,
    header: impl FnOnce(&mut Encoder<'_>),
) {
    match u8::try_from(bound) {
        Ok(bound) => {
            encoder.write_u8(small);
            header(encoder);
            encoder.write_u8(bound);
        }
        Err(_) => {
            encoder.write_u8(large);
            header(encoder);
            encoder.write_u32(bound);
        }
    }
}

fn write_header(element: &Type, equivalence: Equivalence, encoder: &mut Encoder<'_>) {
    // An identifier without a hash says all of the type, whichever object it is in.
    encoder.write_u8(if !named(element).is_empty() { equivalence.kind() } else { BOTH });
    encoder.write_u16(TRY_CONSTRUCT_DISCARD);
}

/// The named types in a type.
pub(super) fn named(ty: &Type) -> Vec<Named<'_>> {
    match shape(ty) {
        Shape::Primitive(_) | Shape::String { .. } | Shape::WString { .. } => Vec::new(),
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => named(element),
        Shape::Map { key, value, .. } => named(key).into_iter().chain(named(value)).collect(),
        Shape::Named(named) => Vec::from([named]),
    }
}

/// The kind of a primitive type, none of another one.
pub(super) fn primitive(ty: &Type) -> u8 {
    if let Shape::Primitive(kind) = shape(ty) { kind } else { NONE }
}

/// A name that fits.
pub(super) fn checked(name: &str) -> Result<&str, TypeObjectError> {
    if name.len() > super::NAME_MAX { Err(TypeObjectError::Name { name: name.into() }) } else { Ok(name) }
}
