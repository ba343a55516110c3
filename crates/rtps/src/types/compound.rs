//! CDR of what derived types do not have: wide text, maps, and numbers whose size the type decides (DDS-XTypes 7.4.3.5).
//! Pure.

use super::{Type, Value};
use crate::cdr::{Cdr, CdrError, Decoder, Encoder, Endianness, check_length};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

/// Appends a number of 1, 2, 4 or 8 octets, which the caller has found large enough.
pub(super) fn encode_held(number: u64, octets: usize, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    match octets {
        1 => a.encode(encoder),
        2 => u16::from_le_bytes([a, b]).encode(encoder),
        4 => u32::from_le_bytes([a, b, c, d]).encode(encoder),
        _ => u64::from_le_bytes([a, b, c, d, e, f, g, h]).encode(encoder),
    }
}

/// Reads a number of 1, 2, 4 or 8 octets.
pub(super) fn decode_held(octets: usize, decoder: &mut Decoder<'_>) -> Result<u64, CdrError> {
    Ok(match octets {
        1 => u64::from(decoder.read_u8()?),
        2 => u64::from(decoder.read_u16()?),
        4 => u64::from(decoder.read_u32()?),
        _ => decoder.read_u64()?,
    })
}

/// Appends 16 octets in the byte order of the sample, aligned to 8 where XCDR1 does.
pub(super) fn encode_float128(mut octets: [u8; 16], encoder: &mut Encoder<'_>) {
    if encoder.endianness() == Endianness::Little {
        octets.reverse();
    }
    encoder.align(octets.len());
    encoder.write_bytes(&octets);
}

/// Reads what [`encode_float128`] wrote.
pub(super) fn decode_float128(decoder: &mut Decoder<'_>) -> Result<[u8; 16], CdrError> {
    let mut octets = [0; 16];
    decoder.align(octets.len())?;
    let found = decoder.read_bytes(octets.len())?;
    octets.copy_from_slice(found);
    if decoder.endianness() == Endianness::Little {
        octets.reverse();
    }
    Ok(octets)
}

/// Appends wide text: its octets in UTF-16 counted, no zero at its end.
pub(super) fn encode_wide(text: &str, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
    if text.contains('\0') {
        return Err(CdrError::StringZero);
    }
    encoder.write_length(text.encode_utf16().count().saturating_mul(2))?;
    text.encode_utf16().for_each(|unit| encoder.write_u16(unit));
    Ok(())
}

/// Reads wide text. A zero at its end, which some senders count in, is left out.
pub(super) fn decode_wide(max: Option<u32>, decoder: &mut Decoder<'_>) -> Result<String, CdrError> {
    let octets = decoder.read_length(1)?;
    let mut units = Vec::with_capacity(octets / 2);
    for _ in 0..octets / 2 {
        units.push(decoder.read_u16()?);
    }
    if octets % 2 != 0 {
        return Err(CdrError::StringEncoding { valid_up_to: octets });
    }
    if units.last() == Some(&0) {
        units.pop();
    }
    max.map_or(Ok(()), |max| check_length(units.len(), max))?;
    let mut text = String::with_capacity(units.len());
    for unit in char::decode_utf16(units) {
        match unit {
            Ok('\0') => return Err(CdrError::StringZero),
            Ok(letter) => text.push(letter),
            Err(_) => return Err(CdrError::StringEncoding { valid_up_to: text.len() }),
        }
    }
    Ok(text)
}

/// Appends wide text as Fast DDS 2 does: its characters counted, each in 32 bits.
pub(super) fn encode_utf32(text: &str, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
    if text.contains('\0') {
        return Err(CdrError::StringZero);
    }
    encoder.write_length(text.chars().count())?;
    text.chars().for_each(|letter| encoder.write_u32(u32::from(letter)));
    Ok(())
}

/// Reads what [`encode_utf32`] wrote.
pub(super) fn decode_utf32(max: Option<u32>, decoder: &mut Decoder<'_>) -> Result<String, CdrError> {
    let count = decoder.read_length(4)?;
    max.map_or(Ok(()), |max| check_length(count, max))?;
    let mut text = String::with_capacity(count);
    for _ in 0..count {
        match char::from_u32(decoder.read_u32()?) {
            Some('\0') => return Err(CdrError::StringZero),
            Some(letter) => text.push(letter),
            None => return Err(CdrError::StringEncoding { valid_up_to: text.len() }),
        }
    }
    Ok(text)
}

/// Appends a map: the number of pairs, then each key and its value.
pub(super) fn encode_map(
    pairs: &[(Value, Value)],
    ty: &Type,
    encoder: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    let Type::Map { key, value, .. } = ty else {
        return Err(CdrError::Mismatch { expected: alloc::format!("{ty}"), found: "a map" });
    };
    encoder.collection(key.is_primitive() && value.is_primitive(), |encoder| {
        encoder.write_length(pairs.len())?;
        for (each_key, each_value) in pairs {
            each_key.encode(key, encoder)?;
            each_value.encode(value, encoder)?;
        }
        check_keys(pairs)
    })
}

/// Reads a map.
pub(super) fn decode_map(
    key: &Type,
    value: &Type,
    max: Option<u32>,
    decoder: &mut Decoder<'_>,
) -> Result<Value, CdrError> {
    decoder.collection(key.is_primitive() && value.is_primitive(), |decoder| {
        let size_min = key.size_min().saturating_add(value.size_min());
        let count = decoder.read_length(size_min)?;
        max.map_or(Ok(()), |max| check_length(count, max))?;
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push((Value::decode(key, decoder)?, Value::decode(value, decoder)?));
        }
        check_keys(&pairs)?;
        Ok(Value::Map(pairs))
    })
}

/// Refuses a key that is there twice.
fn check_keys(pairs: &[(Value, Value)]) -> Result<(), CdrError> {
    let keys: BTreeSet<_> = pairs.iter().filter_map(|(key, _)| key.as_map_key()).collect();
    if keys.len() == pairs.len() { Ok(()) } else { Err(CdrError::MapKeys { pairs: pairs.len() }) }
}
