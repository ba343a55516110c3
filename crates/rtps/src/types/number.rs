//! Values that are numbers, whatever their type: discriminators, fields of bitsets, keys of maps. Pure.

use super::{Type, Value};
use alloc::string::String;

impl Value {
    /// A number as a value of a type that [`Type::is_discrete`]; `None` when it is no value of it.
    pub fn from_number(ty: &Type, number: i128) -> Option<Self> {
        Some(match ty.resolved() {
            Type::Bool => Self::Bool(match number {
                0 => false,
                1 => true,
                _ => return None,
            }),
            Type::Byte | Type::Uint8 => Self::Uint8(number.try_into().ok()?),
            Type::Int8 => Self::Int8(number.try_into().ok()?),
            Type::Int16 => Self::Int16(number.try_into().ok()?),
            Type::Int32 => Self::Int32(number.try_into().ok()?),
            Type::Int64 => Self::Int64(number.try_into().ok()?),
            Type::Uint16 => Self::Uint16(number.try_into().ok()?),
            Type::Uint32 => Self::Uint32(number.try_into().ok()?),
            Type::Uint64 => Self::Uint64(number.try_into().ok()?),
            Type::Char8 => Self::Char8(u8::try_from(number).ok().filter(u8::is_ascii)?.into()),
            Type::Char16 | Type::Char32 => Self::Char16(number.try_into().ok()?),
            Type::Enum(named) => {
                Self::from_number(&named.holder(), number)?;
                Self::Enum(number.try_into().ok()?)
            }
            _ => return None,
        })
    }

    /// A number of 64 bits as one of 128 bits, of which it is exactly one.
    pub fn float128(value: f64) -> Self {
        let bits = value.to_bits();
        let sign = u128::from(bits >> 63) << 127;
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & FRACTION);
        // The exponents are counted from 1023 and from 16383.
        let number = match (exponent, fraction) {
            (0, 0) => 0,
            (0x7ff, _) => 0x7fff << 112 | u128::from(fraction) << 60,
            // Below the least number of full precision; the leading one becomes implicit.
            (0, _) => {
                let shift = fraction.leading_zeros() - 11;
                let fraction = (fraction << shift) & FRACTION;
                u128::from(16383 - 1022 - u64::from(shift)) << 112 | u128::from(fraction) << 60
            }
            _ => u128::from(exponent + 16383 - 1023) << 112 | u128::from(fraction) << 60,
        };
        Self::Float128((sign | number).to_be_bytes())
    }

    /// The number of a boolean, whole number, character, enumerator or of bits.
    pub fn as_number(&self) -> Option<i128> {
        Some(match *self {
            Self::Bool(value) => i128::from(value),
            Self::Int8(value) => i128::from(value),
            Self::Int16(value) => i128::from(value),
            Self::Int32(value) => i128::from(value),
            Self::Int64(value) => i128::from(value),
            Self::Uint8(value) => i128::from(value),
            Self::Uint16(value) | Self::Char16(value) => i128::from(value),
            Self::Uint32(value) | Self::Enum(value) => i128::from(value),
            Self::Uint64(value) | Self::Bits(value) => i128::from(value),
            Self::Char8(value) => i128::from(u32::from(value)),
            _ => return None,
        })
    }

    /// What orders a key of a map.
    pub(super) fn as_map_key(&self) -> Option<MapKey<'_>> {
        match self {
            Self::String(text) | Self::WString(text) => Some(MapKey::Text(text)),
            other => other.as_number().map(MapKey::Number),
        }
    }
}

/// A key of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MapKey<'a> {
    Number(i128),
    Text(&'a String),
}

/// The bits of the fraction of a number of 64 bits.
const FRACTION: u64 = (1 << 52) - 1;

impl Type {
    /// Whether its values are countable: booleans, whole numbers, characters and enums.
    pub fn is_discrete(&self) -> bool {
        let is_signed = matches!(self.resolved(), Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64);
        is_signed
            || matches!(self.resolved(), Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64)
            || matches!(self.resolved(), Self::Bool | Self::Byte | Self::Char8 | Self::Char16)
            || matches!(self.resolved(), Self::Char32 | Self::Enum(_))
    }

    /// Whether a map can have it as key.
    pub fn is_map_key(&self) -> bool {
        self.is_discrete()
            || matches!(self.resolved(), Self::String { .. } | Self::WString { .. } | Self::WString32 { .. })
    }
}
