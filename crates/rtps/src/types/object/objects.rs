//! Type objects of structs and enums (DDS-XTypes 7.3.4 and Annex B). Pure.

use super::constructed::{write_alias, write_bitmask, write_bitset, write_union};
use super::dependencies::{Named, References};
use super::identifier::{self, NONE, checked};
use super::{Equivalence, TypeObjectError};
use crate::cdr::{CdrError, Encoder, Endianness, Extensibility, Representation};
use crate::types::{EnumType, Member, StructType, Type};
use alloc::sync::Arc;
use alloc::vec::Vec;
use md5::{Digest, Md5};

const STRUCTURE: u8 = 0x51;
const ENUMERATION: u8 = 0x40;

const TYPE_FINAL: u16 = 1;
const TYPE_APPENDABLE: u16 = 2;
const TYPE_MUTABLE: u16 = 4;

pub(super) const MEMBER_TRY_CONSTRUCT_DISCARD: u16 = 1;
const MEMBER_OPTIONAL: u16 = 1 << 3;
pub(super) const MEMBER_MUST_UNDERSTAND: u16 = 1 << 4;
const MEMBER_KEY: u16 = 1 << 5;
pub(super) const MEMBER_DEFAULT: u16 = 1 << 6;

/// Flags of what is no member with a type.
pub(super) const ENUM_MEMBER_NONE: u16 = 0;

/// The object of a type whose members' types are known.
pub(super) fn write(
    named: Named<'_>,
    equivalence: Equivalence,
    known: &References<'_>,
) -> Result<Vec<u8>, TypeObjectError> {
    check_names(named)?;
    let mut object = Vec::new();
    let mut encoder = Encoder::new(&mut object, Endianness::Little, Representation::Xcdr2);
    let result = encoder.structure(Extensibility::Appendable, |encoder| {
        encoder.write_u8(equivalence.kind());
        match named {
            Named::Struct(structure) => write_struct(structure, equivalence, known, encoder),
            Named::Enum(enumeration) => write_enum(enumeration, equivalence, encoder),
            Named::Union(union) => write_union(union, equivalence, known, encoder),
            Named::Bitmask(bitmask) => write_bitmask(bitmask, equivalence, encoder),
            Named::Bitset(bitset) => write_bitset(bitset, equivalence, encoder),
            Named::Alias(alias) => write_alias(alias, equivalence, known, encoder),
        }
    });
    match result {
        Ok(()) => Ok(object),
        Err(source) => Err(TypeObjectError::Encode { name: named.name().into(), source }),
    }
}

fn check_names(named: Named<'_>) -> Result<(), TypeObjectError> {
    checked(named.name())?;
    let mut names: Vec<&str> = match named {
        Named::Struct(structure) => structure.members().iter().map(|member| member.name.as_str()).collect(),
        Named::Enum(enumeration) => enumeration.literals().iter().map(|(name, _)| name.as_str()).collect(),
        Named::Union(union) => union.cases().iter().map(|case| case.name.as_str()).collect(),
        Named::Bitmask(bitmask) => bitmask.flags().iter().map(|(name, _)| name.as_str()).collect(),
        Named::Bitset(bitset) => bitset.fields().filter_map(|(_, field)| field.name.as_deref()).collect(),
        Named::Alias(_) => Vec::new(),
    };
    names.drain(..).try_for_each(|name| checked(name).map(|_| ()))
}

fn write_struct(
    structure: &StructType,
    equivalence: Equivalence,
    known: &References<'_>,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    encoder.write_u8(STRUCTURE);
    encoder.write_u16(type_flags(structure.extensibility()));
    encoder.structure(Extensibility::Appendable, |encoder| {
        match structure.base() {
            Some(base) => identifier::write(&Type::Struct(Arc::clone(base)), equivalence, known, encoder)?,
            None => encoder.write_u8(NONE),
        }
        write_type_detail(structure.name(), equivalence, encoder)
    })?;
    write_list(encoder, structure.own_identified(), |(id, member), encoder| {
        encoder.write_u32(id);
        encoder.write_u16(member_flags(member));
        identifier::write(&member.ty, equivalence, known, encoder)?;
        write_member_detail(&member.name, equivalence, encoder)
    })
}

pub(super) const fn type_flags(extensibility: Extensibility) -> u16 {
    match extensibility {
        Extensibility::Final => TYPE_FINAL,
        Extensibility::Appendable => TYPE_APPENDABLE,
        Extensibility::Mutable => TYPE_MUTABLE,
    }
}

fn member_flags(member: &Member) -> u16 {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    MEMBER_TRY_CONSTRUCT_DISCARD
        | flag(member.is_optional, MEMBER_OPTIONAL)
        | flag(member.must_understand, MEMBER_MUST_UNDERSTAND)
        | flag(member.key, MEMBER_KEY)
}

fn write_enum(
    enumeration: &EnumType,
    equivalence: Equivalence,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    encoder.write_u8(ENUMERATION);
    encoder.write_u16(TYPE_FINAL);
    encoder.structure(Extensibility::Appendable, |encoder| {
        encoder.write_u16(enumeration.bits());
        write_type_detail(enumeration.name(), equivalence, encoder)
    })?;
    let default = enumeration.literals().first().map(|(_, value)| *value);
    let mut literals: Vec<_> = enumeration.literals().iter().collect();
    literals.sort_by_key(|(_, value)| value.cast_signed());
    write_list(encoder, literals.into_iter(), |(name, value), encoder| {
        encoder.structure(Extensibility::Appendable, |encoder| {
            encoder.write_u32(*value);
            encoder.write_u16(if default == Some(*value) { MEMBER_DEFAULT } else { 0 });
            Ok(())
        })?;
        write_member_detail(name, equivalence, encoder)
    })
}

/// A sequence of appendable structs.
pub(super) fn write_list<T>(
    encoder: &mut Encoder<'_>,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(T, &mut Encoder<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    let items: Vec<T> = items.collect();
    encoder.collection(false, |encoder| {
        encoder.write_length(items.len())?;
        let mut items = items.into_iter();
        items
            .try_for_each(|item| encoder.structure(Extensibility::Appendable, |encoder| write(item, encoder)))
    })
}

/// The name of a type, which only complete objects have, after its annotations, of which there are none.
pub(super) fn write_type_detail(
    name: &str,
    equivalence: Equivalence,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    if equivalence == Equivalence::Minimal {
        return Ok(());
    }
    encoder.write_bytes(&[0, 0]);
    encoder.write_string(name)
}

/// The name of a member before its annotations, of which there are none; in minimal objects four octets of its MD5.
pub(super) fn write_member_detail(
    name: &str,
    equivalence: Equivalence,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    if equivalence == Equivalence::Minimal {
        let hash: [u8; 16] = Md5::digest(name.as_bytes()).into();
        encoder.write_bytes(hash.first_chunk::<4>().unwrap_or(&[0; 4]));
        return Ok(());
    }
    encoder.write_string(name)?;
    encoder.write_bytes(&[0, 0]);
    Ok(())
}
