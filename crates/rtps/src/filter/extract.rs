//! The members that a filter needs, read from a serialized sample.

use alloc::vec::Vec;

use crate::cdr::{CdrError, Decoder, Extensibility, open_payload};
use crate::types::{Member, StructType, Type, Value};

/// The members up to the last one needed; those between that are not are [`Value::Absent`].
pub(super) fn members(
    structure: &StructType,
    needed: &[bool],
    payload: &[u8],
) -> Result<Vec<Value>, CdrError> {
    let extensibility = structure.extensibility();
    let mut decoder = open_payload(extensibility, payload)?;
    decoder.structure(extensibility, |decoder| match extensibility {
        Extensibility::Mutable => headed(structure, needed, decoder),
        _ => in_order(structure, needed, decoder),
    })
}

fn in_order(
    structure: &StructType,
    needed: &[bool],
    decoder: &mut Decoder<'_>,
) -> Result<Vec<Value>, CdrError> {
    let may_end = structure.extensibility() == Extensibility::Appendable;
    let mut values = Vec::with_capacity(needed.len());
    for ((id, member), is_needed) in structure.identified().zip(needed) {
        let read = |decoder: &mut Decoder<'_>| match is_needed {
            true => Value::decode(&member.ty, decoder),
            false => skip(&member.ty, decoder).map(|()| Value::Absent),
        };
        let value = if may_end && decoder.is_at_end() {
            Ok(Value::missing(member))
        } else if member.is_optional {
            decoder.optional_member(id, read).map(|value| value.unwrap_or(Value::Absent))
        } else {
            read(decoder)
        };
        values.push(value.map_err(|error| error.in_member(&member.name))?);
    }
    Ok(values)
}

fn headed(
    structure: &StructType,
    needed: &[bool],
    decoder: &mut Decoder<'_>,
) -> Result<Vec<Value>, CdrError> {
    let mut slots: Vec<(u32, &Member, Option<Value>)> =
        structure.identified().zip(needed).map(|((id, member), _)| (id, member, None)).collect();
    let is_known = |id| structure.identified().any(|(known, _)| known == id);
    decoder.members(|header, decoder| {
        let Some(index) = slots.iter().position(|(id, _, _)| *id == header.id) else {
            return if is_known(header.id) { Ok(()) } else { header.skip() };
        };
        if needed.get(index) == Some(&true)
            && let Some((_, member, slot)) = slots.get_mut(index)
        {
            let value = Value::decode(&member.ty, decoder);
            *slot = Some(value.map_err(|error| error.in_member(&member.name))?);
        }
        Ok(())
    })?;
    Ok(slots.into_iter().map(|(_, member, value)| value.unwrap_or_else(|| Value::missing(member))).collect())
}

/// Passes over a value; without making it where that is easy.
fn skip(ty: &Type, decoder: &mut Decoder<'_>) -> Result<(), CdrError> {
    match ty.resolved() {
        Type::String { .. } => decoder.read_string().map(|_| ()),
        Type::Sequence { element, .. } if number_size(element).is_some() => {
            let size = number_size(element).unwrap_or(1);
            let count = decoder.read_length(size)?;
            if count > 0 {
                decoder.align(size)?;
            }
            decoder.read_bytes(count.saturating_mul(size)).map(|_| ())
        }
        other => Value::decode(other, decoder).map(|_| ()),
    }
}

/// The octets of a number that stands at a multiple of them.
fn number_size(ty: &Type) -> Option<usize> {
    match ty.resolved() {
        Type::Byte | Type::Int8 | Type::Uint8 => Some(1),
        Type::Int16 | Type::Uint16 => Some(2),
        Type::Int32 | Type::Uint32 | Type::Float32 => Some(4),
        Type::Int64 | Type::Uint64 | Type::Float64 => Some(8),
        _ => None,
    }
}
