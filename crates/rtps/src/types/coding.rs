//! CDR of values of types known at run time: the same octets as the derived types (DDS-XTypes 7.4). Pure.

use super::compound::{
    decode_float128, decode_held, decode_map, decode_utf32, decode_wide, encode_float128, encode_held,
    encode_map, encode_utf32, encode_wide,
};
use super::{DynamicValue, Member, StructType, Type, UnionValue, Value, element_count};
use crate::cdr::{Cdr, CdrError, Decoder, Encoder, Extensibility, check_length};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl Value {
    /// Appends the value as one of the type.
    ///
    /// # Errors
    /// When it is not of the type, exceeds a bound, or has no encoding.
    pub fn encode(&self, ty: &Type, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.check(ty)?;
        let ty = ty.resolved();
        match self {
            Self::Bool(value) => value.encode(encoder),
            Self::Int8(value) => value.encode(encoder),
            Self::Int16(value) => value.encode(encoder),
            Self::Int32(value) => value.encode(encoder),
            Self::Int64(value) => value.encode(encoder),
            Self::Uint8(value) => value.encode(encoder),
            Self::Uint16(value) => value.encode(encoder),
            Self::Char16(unit) => encode_held(u64::from(*unit), ty.size_min(), encoder),
            Self::Uint32(value) => value.encode(encoder),
            Self::Uint64(value) => value.encode(encoder),
            Self::Float32(value) => value.encode(encoder),
            Self::Float64(value) => value.encode(encoder),
            Self::Char8(value) => value.encode(encoder),
            Self::String(value) => value.encode(encoder),
            Self::Float128(octets) => {
                encode_float128(*octets, encoder);
                Ok(())
            }
            Self::WString(text) if matches!(ty, Type::WString32 { .. }) => encode_utf32(text, encoder),
            Self::WString(text) => encode_wide(text, encoder),
            Self::Map(pairs) => encode_map(pairs, ty, encoder),
            Self::Enum(value) => encode_held(u64::from(*value), ty.size_min(), encoder),
            Self::Bits(bits) => encode_held(*bits, ty.size_min(), encoder),
            Self::Union(value) => value.encode(encoder),
            Self::Bytes(bytes) => {
                if matches!(ty, Type::Sequence { .. }) {
                    encoder.write_length(bytes.len())?;
                }
                encoder.write_bytes(bytes);
                Ok(())
            }
            Self::List(items) => encode_list(items, ty, encoder),
            Self::Struct(value) => value.encode(encoder),
            Self::Absent => Err(CdrError::Mismatch { expected: format!("{ty}"), found: self.form() }),
        }
    }

    /// Reads a value of the type.
    ///
    /// # Errors
    /// When the octets are no value of the type.
    pub fn decode(ty: &Type, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Ok(match ty.resolved() {
            Type::Bool => Self::Bool(Cdr::decode(decoder)?),
            Type::Byte | Type::Uint8 => Self::Uint8(Cdr::decode(decoder)?),
            Type::Int8 => Self::Int8(Cdr::decode(decoder)?),
            Type::Int16 => Self::Int16(Cdr::decode(decoder)?),
            Type::Int32 => Self::Int32(Cdr::decode(decoder)?),
            Type::Int64 => Self::Int64(Cdr::decode(decoder)?),
            Type::Uint16 => Self::Uint16(Cdr::decode(decoder)?),
            Type::Uint32 => Self::Uint32(Cdr::decode(decoder)?),
            Type::Uint64 => Self::Uint64(Cdr::decode(decoder)?),
            Type::Float32 => Self::Float32(Cdr::decode(decoder)?),
            Type::Float64 => Self::Float64(Cdr::decode(decoder)?),
            Type::Char8 => Self::Char8(Cdr::decode(decoder)?),
            Type::Float128 => Self::Float128(decode_float128(decoder)?),
            Type::Char16 => Self::Char16(Cdr::decode(decoder)?),
            Type::Char32 => {
                let code = decoder.read_u32()?;
                Self::Char16(u16::try_from(code).map_err(|_| CdrError::Char { code })?)
            }
            Type::Enum(named) => {
                let number = decode_held(named.holder().size_min(), decoder)?;
                Self::Enum(u32::try_from(number).unwrap_or(u32::MAX))
            }
            Type::Bitmask(named) => Self::Bits(decode_held(named.holder().size_min(), decoder)?),
            Type::Bitset(named) => Self::Bits(decode_held(named.holder().size_min(), decoder)?),
            Type::WString { max } => Self::WString(decode_wide(*max, decoder)?),
            Type::WString32 { max } => Self::WString(decode_utf32(*max, decoder)?),
            Type::Map { key, value, max } => decode_map(key, value, *max, decoder)?,
            Type::Union(named) => Self::Union(Box::new(UnionValue::decode(named, decoder)?)),
            Type::String { max } => {
                let text = decoder.read_string()?;
                max.map_or(Ok(()), |max| check_length(text.len(), max))?;
                Self::String(String::from(text))
            }
            Type::Sequence { element, max } => decoder.collection(element.is_primitive(), |decoder| {
                let count = decoder.read_length(element.size_min())?;
                max.map_or(Ok(()), |max| check_length(count, max))?;
                decode_list(element, count, decoder)
            })?,
            Type::Array { element, dimensions } => decoder.collection(element.is_primitive(), |decoder| {
                decode_list(element, element_count(dimensions), decoder)
            })?,
            Type::Struct(structure) => Self::Struct(DynamicValue::decode(structure, decoder)?),
            // A resolved type is no alias.
            Type::Alias(_) => Self::Absent,
        })
    }

    /// As [`Cdr::encode_key_part`].
    fn encode_key_part(&self, ty: &Type, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        match (ty.resolved(), self) {
            (Type::Struct(structure), Self::Struct(value)) => {
                self.check(ty)?;
                value.encode_members(encoder, Self::encode_key_part, |member| structure.is_key_part(member))
            }
            _ => self.encode(ty, encoder),
        }
    }

    /// As [`Cdr::decode_key_part`].
    fn decode_key_part(ty: &Type, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        match ty.resolved() {
            Type::Struct(structure) => {
                let is_part = |member: &Member| structure.is_key_part(member);
                decode_members(structure, decoder, Self::decode_key_part, is_part).map(Self::Struct)
            }
            _ => Self::decode(ty, decoder),
        }
    }
}

impl DynamicValue {
    /// Appends the value.
    ///
    /// # Errors
    /// When a string or sequence exceeds its bound, or a value has no encoding.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.encode_members(encoder, Value::encode, |_| true)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// When the octets are no value of the type.
    pub fn decode(structure: &Arc<StructType>, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decode_members(structure, decoder, Value::decode, |_| true)
    }

    /// Appends the key members; nothing when there are none.
    ///
    /// # Errors
    /// As [`DynamicValue::encode`].
    pub fn encode_key(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.encode_members(encoder, Value::encode_key_part, |member| member.key)
    }

    /// Reads what [`DynamicValue::encode_key`] wrote; the other members are [`Value::missing`].
    ///
    /// # Errors
    /// As [`DynamicValue::decode`].
    pub fn decode_key(structure: &Arc<StructType>, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decode_members(structure, decoder, Value::decode_key_part, |member| member.key)
    }

    fn encode_members(
        &self,
        encoder: &mut Encoder<'_>,
        encode: fn(&Value, &Type, &mut Encoder<'_>) -> Result<(), CdrError>,
        is_wanted: impl Fn(&Member) -> bool,
    ) -> Result<(), CdrError> {
        let structure = self.structure();
        let extensibility = structure.extensibility();
        let wanted = structure.identified().zip(self.values()).filter(|((_, member), _)| is_wanted(member));
        let is_sorted = encoder.is_key_hash() && !structure.has_ascending_ids();
        encoder.structure(extensibility, |encoder| {
            let mut append = |id, member: &Member, value: &Value| {
                let header = StructType::header(id, member);
                let appended = if member.is_optional {
                    let value = Some(value).filter(|value| **value != Value::Absent);
                    encoder.optional_member(extensibility, header, value, |value, encoder| {
                        encode(value, &member.ty, encoder)
                    })
                } else {
                    encoder.member(extensibility, header, |encoder| encode(value, &member.ty, encoder))
                };
                appended.map_err(|error| error.in_member(&member.name))
            };
            if !is_sorted {
                let mut wanted = wanted;
                return wanted.try_for_each(|((id, member), value)| append(id, member, value));
            }
            let mut wanted: Vec<_> = wanted.collect();
            wanted.sort_by_key(|((id, _), _)| *id);
            wanted.into_iter().try_for_each(|((id, member), value)| append(id, member, value))
        })
    }
}

fn decode_members(
    structure: &Arc<StructType>,
    decoder: &mut Decoder<'_>,
    decode: fn(&Type, &mut Decoder<'_>) -> Result<Value, CdrError>,
    is_wanted: impl Fn(&Member) -> bool,
) -> Result<DynamicValue, CdrError> {
    let extensibility = structure.extensibility();
    let values = decoder.structure(extensibility, |decoder| match extensibility {
        Extensibility::Mutable => decode_headed(structure, decoder, decode, is_wanted),
        _ => decode_in_order(structure, decoder, decode, is_wanted),
    })?;
    Ok(DynamicValue::from_values(Arc::clone(structure), values))
}

fn decode_in_order(
    structure: &StructType,
    decoder: &mut Decoder<'_>,
    decode: fn(&Type, &mut Decoder<'_>) -> Result<Value, CdrError>,
    is_wanted: impl Fn(&Member) -> bool,
) -> Result<Vec<Value>, CdrError> {
    let may_end = structure.extensibility() == Extensibility::Appendable;
    let value_of = |(id, member): (u32, &Member)| {
        if !is_wanted(member) || may_end && decoder.is_at_end() {
            return missing(member, decoder);
        }
        let value = if member.is_optional {
            let value = decoder.optional_member(id, |decoder| decode(&member.ty, decoder));
            value.map(|value| value.unwrap_or(Value::Absent))
        } else {
            decode(&member.ty, decoder)
        };
        value.map_err(|error| error.in_member(&member.name))
    };
    structure.identified().map(value_of).collect()
}

fn decode_headed(
    structure: &StructType,
    decoder: &mut Decoder<'_>,
    decode: fn(&Type, &mut Decoder<'_>) -> Result<Value, CdrError>,
    is_wanted: impl Fn(&Member) -> bool,
) -> Result<Vec<Value>, CdrError> {
    let mut slots: Vec<(u32, &Member, Option<Value>)> =
        structure.identified().map(|(id, member)| (id, member, None)).collect();
    decoder.members(|header, decoder| {
        let Some((_, member, slot)) = slots.iter_mut().find(|(id, _, _)| *id == header.id) else {
            return header.skip();
        };
        if is_wanted(member) {
            *slot = Some(decode(&member.ty, decoder).map_err(|error| error.in_member(&member.name))?);
        }
        Ok(())
    })?;
    let value_of = |(_, member, slot): (u32, &Member, Option<Value>)| match slot {
        Some(value) => Ok(value),
        None if member.key => Err(CdrError::KeyMissing.in_member(&member.name)),
        None => missing(member, decoder),
    };
    slots.into_iter().map(value_of).collect()
}

/// A member that the sample leaves out.
fn missing(member: &Member, decoder: &mut Decoder<'_>) -> Result<Value, CdrError> {
    if !member.is_optional {
        decoder.fill(member.ty.size_fixed()).map_err(|error| error.in_member(&member.name))?;
    }
    Ok(Value::missing(member))
}

fn encode_list(items: &[Value], ty: &Type, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
    match ty {
        Type::Sequence { element, .. } => encoder.collection(element.is_primitive(), |encoder| {
            encoder.write_length(items.len())?;
            items.iter().try_for_each(|item| item.encode(element, encoder))
        }),
        Type::Array { element, .. } => encoder.collection(element.is_primitive(), |encoder| {
            items.iter().try_for_each(|item| item.encode(element, encoder))
        }),
        _ => Err(CdrError::Mismatch { expected: format!("{ty}"), found: "a list" }),
    }
}

fn decode_list(element: &Type, count: usize, decoder: &mut Decoder<'_>) -> Result<Value, CdrError> {
    if element.is_octet() {
        return decoder.read_bytes(count).map(|bytes| Value::Bytes(bytes.to_vec()));
    }
    let mut items = Vec::with_capacity(count.min(decoder.remaining() / element.size_min().max(1)));
    for _ in 0..count {
        items.push(Value::decode(element, decoder)?);
    }
    Ok(Value::List(items))
}
