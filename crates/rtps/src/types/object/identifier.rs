//! Type identifiers: a type in a few octets, described or by the hash of its object (DDS-XTypes 7.3.4). Pure.

use super::dependencies::{Named, References};
use super::{Equivalence, TypeObjectError};
use crate::cdr::{CdrError, Encoder};
use crate::types::Type;

/// The identifier of no type: that of the base of a struct without one.
pub(super) const NONE: u8 = 0x00;
const STRING_SMALL: u8 = 0x70;
const STRING_LARGE: u8 = 0x71;
const SEQUENCE_SMALL: u8 = 0x80;
const SEQUENCE_LARGE: u8 = 0x81;
const ARRAY_SMALL: u8 = 0x90;
const ARRAY_LARGE: u8 = 0x91;
/// A collection whose identifier holds no hash.
const BOTH: u8 = 0xf3;
/// An element that cannot be constructed makes its collection fail.
const TRY_CONSTRUCT_DISCARD: u16 = 1;

/// Appends the identifier of a type.
pub(super) fn write(
    ty: &Type,
    equivalence: Equivalence,
    known: &References<'_>,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    match ty {
        Type::String { max } => {
            write_bound(max.unwrap_or(0), STRING_SMALL, STRING_LARGE, encoder, |_| ());
            Ok(())
        }
        Type::Sequence { element, max } => {
            let header = |encoder: &mut Encoder<'_>| write_header(element, equivalence, encoder);
            write_bound(max.unwrap_or(0), SEQUENCE_SMALL, SEQUENCE_LARGE, encoder, header);
            write(element, equivalence, known, encoder)
        }
        Type::Array { element, dimensions } => {
            let small: Option<alloc::vec::Vec<u8>> =
                dimensions.iter().map(|count| u8::try_from(*count).ok()).collect();
            encoder.write_u8(if small.is_some() { ARRAY_SMALL } else { ARRAY_LARGE });
            write_header(element, equivalence, encoder);
            encoder.write_length(dimensions.len())?;
            match small {
                Some(small) => encoder.write_bytes(&small),
                None => dimensions.iter().for_each(|count| encoder.write_u32(*count)),
            }
            write(element, equivalence, known, encoder)
        }
        Type::Struct(structure) => write_hash(Named::Struct(structure), equivalence, known, encoder),
        Type::Enum(named) => write_hash(Named::Enum(named), equivalence, known, encoder),
        Type::Bool => write_primitive(0x01, encoder),
        Type::Byte => write_primitive(0x02, encoder),
        Type::Int16 => write_primitive(0x03, encoder),
        Type::Int32 => write_primitive(0x04, encoder),
        Type::Int64 => write_primitive(0x05, encoder),
        Type::Uint16 => write_primitive(0x06, encoder),
        Type::Uint32 => write_primitive(0x07, encoder),
        Type::Uint64 => write_primitive(0x08, encoder),
        Type::Float32 => write_primitive(0x09, encoder),
        Type::Float64 => write_primitive(0x0a, encoder),
        Type::Int8 => write_primitive(0x0c, encoder),
        Type::Uint8 => write_primitive(0x0d, encoder),
        Type::Char8 => write_primitive(0x10, encoder),
    }
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

fn write_hash(
    named: Named<'_>,
    equivalence: Equivalence,
    known: &References<'_>,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    let reference = known.get(named.name(), equivalence);
    write_reference(equivalence, &reference.map(|known| known.hash).unwrap_or_default(), encoder);
    Ok(())
}

fn write_primitive(kind: u8, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
    encoder.write_u8(kind);
    Ok(())
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
    encoder.write_u8(if is_described(element) { BOTH } else { equivalence.kind() });
    encoder.write_u16(TRY_CONSTRUCT_DISCARD);
}

/// Whether an identifier says all of the type, without a hash.
fn is_described(ty: &Type) -> bool {
    match ty {
        Type::Sequence { element, .. } | Type::Array { element, .. } => is_described(element),
        Type::Struct(_) | Type::Enum(_) => false,
        _ => true,
    }
}

/// The named type in a type, if it has one.
pub(super) fn named(ty: &Type) -> Option<Named<'_>> {
    match ty {
        Type::Sequence { element, .. } | Type::Array { element, .. } => named(element),
        Type::Struct(structure) => Some(Named::Struct(structure)),
        Type::Enum(named) => Some(Named::Enum(named)),
        _ => None,
    }
}

/// A name that fits.
pub(super) fn checked(name: &str) -> Result<&str, TypeObjectError> {
    if name.len() > super::NAME_MAX { Err(TypeObjectError::Name { name: name.into() }) } else { Ok(name) }
}
