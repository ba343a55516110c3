//! Type objects of unions, bitmasks, bitsets and aliases (DDS-XTypes 7.3.4 and Annex B). Pure.

use super::Equivalence;
use super::dependencies::References;
use super::identifier;
use super::objects::{
    ENUM_MEMBER_NONE, MEMBER_DEFAULT, MEMBER_MUST_UNDERSTAND, MEMBER_TRY_CONSTRUCT_DISCARD, type_flags,
    write_list, write_member_detail, write_type_detail,
};
use crate::cdr::{CdrError, Encoder, Extensibility};
use crate::types::{AliasType, BitmaskType, BitsetType, UnionType};

pub(super) const ALIAS: u8 = 0x30;
pub(super) const BITMASK: u8 = 0x41;
pub(super) const UNION: u8 = 0x52;
pub(super) const BITSET: u8 = 0x53;

/// The header of a type of which only the name is told.
fn write_header(name: &str, equivalence: Equivalence, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
    encoder.structure(Extensibility::Appendable, |encoder| write_type_detail(name, equivalence, encoder))
}

/// The annotations of a complete object, of which there are none.
fn write_no_annotations(equivalence: Equivalence, encoder: &mut Encoder<'_>) {
    if equivalence == Equivalence::Complete {
        encoder.write_bytes(&[0, 0]);
    }
}

pub(super) fn write_union(
    union: &UnionType,
    equivalence: Equivalence,
    known: &References<'_>,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    encoder.write_u8(UNION);
    encoder.write_u16(type_flags(union.extensibility()));
    write_header(union.name(), equivalence, encoder)?;
    encoder.structure(Extensibility::Appendable, |encoder| {
        encoder.write_u16(MEMBER_TRY_CONSTRUCT_DISCARD | MEMBER_MUST_UNDERSTAND);
        identifier::write(union.discriminator(), equivalence, known, encoder)?;
        write_no_annotations(equivalence, encoder);
        Ok(())
    })?;
    write_list(encoder, (0_u32..).zip(union.cases()), |(id, case), encoder| {
        encoder.write_u32(id);
        let default = if case.is_default { MEMBER_DEFAULT } else { 0 };
        encoder.write_u16(MEMBER_TRY_CONSTRUCT_DISCARD | default);
        identifier::write(&case.ty, equivalence, known, encoder)?;
        encoder.write_length(case.labels.len())?;
        for label in &case.labels {
            // A label beyond 32 bits cannot be told; its low bits are.
            let [a, b, c, d, ..] = label.to_le_bytes();
            encoder.write_u32(u32::from_le_bytes([a, b, c, d]));
        }
        write_member_detail(&case.name, equivalence, encoder)
    })
}

pub(super) fn write_bitmask(
    bitmask: &BitmaskType,
    equivalence: Equivalence,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    encoder.write_u8(BITMASK);
    encoder.structure(Extensibility::Appendable, |encoder| {
        encoder.write_u16(type_flags(Extensibility::Final));
        encoder.structure(Extensibility::Appendable, |encoder| {
            encoder.write_u16(bitmask.bits());
            write_type_detail(bitmask.name(), equivalence, encoder)
        })?;
        write_list(encoder, bitmask.flags().iter(), |(name, position), encoder| {
            encoder.write_u16(*position);
            encoder.write_u16(ENUM_MEMBER_NONE);
            write_member_detail(name, equivalence, encoder)
        })
    })
}

pub(super) fn write_bitset(
    bitset: &BitsetType,
    equivalence: Equivalence,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    encoder.write_u8(BITSET);
    encoder.structure(Extensibility::Appendable, |encoder| {
        encoder.write_u16(type_flags(Extensibility::Final));
        write_header(bitset.name(), equivalence, encoder)?;
        let named =
            bitset.fields().filter_map(|(position, field)| Some((position, field, field.name.as_ref()?)));
        write_list(encoder, named, |(position, field, name), encoder| {
            encoder.write_u16(position);
            encoder.write_u16(ENUM_MEMBER_NONE);
            encoder.write_u8(u8::try_from(field.bits).unwrap_or(u8::MAX));
            encoder.write_u8(identifier::primitive(&field.ty));
            write_member_detail(name, equivalence, encoder)
        })
    })
}

pub(super) fn write_alias(
    alias: &AliasType,
    equivalence: Equivalence,
    known: &References<'_>,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    encoder.write_u8(ALIAS);
    encoder.write_u16(0);
    write_header(alias.name(), equivalence, encoder)?;
    encoder.structure(Extensibility::Appendable, |encoder| {
        encoder.write_u16(0);
        identifier::write(alias.ty(), equivalence, known, encoder)?;
        write_no_annotations(equivalence, encoder);
        Ok(())
    })
}
