//! CDR of numbers, booleans and characters (DDS-XTypes 7.4.1). Pure.

use super::{Cdr, CdrError, Decoder, Encoder, Endianness, Extent};
use crate::types::Type;
use alloc::vec::Vec;

/// A number of `$size` octets that is read and written through the unsigned `$read`, `$write`.
macro_rules! number {
    ($number:ty, $size:literal, $kind:ident, |$value:ident| $to:expr, $write:ident, |$raw:ident| $from:expr, $read:ident) => {
        impl Cdr for $number {
            const SIZE_MIN: usize = $size;
            const PRIMITIVE: bool = true;

            #[inline]
            fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
                let $value = *self;
                encoder.$write($to);
                Ok(())
            }

            #[inline]
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
                decoder.$read().map(|$raw| $from)
            }

            fn described() -> Type {
                Type::$kind
            }

            #[inline]
            fn zero() -> Self {
                <$number>::default()
            }

            #[inline]
            fn end_max(start: Extent) -> Option<Extent> {
                start.number($size)
            }

            #[inline]
            fn encode_elements(items: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
                match encoder.endianness() {
                    Endianness::Little => encoder.write_numbers(items, <$number>::to_le_bytes),
                    Endianness::Big => encoder.write_numbers(items, <$number>::to_be_bytes),
                }
                Ok(())
            }

            #[inline]
            fn decode_elements(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, CdrError> {
                let order = decoder.endianness();
                let chunks = decoder.read_chunks::<$size>(count)?.iter();
                // One loop for each order, so that the compiler turns the common one into a copy.
                Ok(match order {
                    Endianness::Little => chunks.map(|chunk| <$number>::from_le_bytes(*chunk)).collect(),
                    Endianness::Big => chunks.map(|chunk| <$number>::from_be_bytes(*chunk)).collect(),
                })
            }

            #[inline]
            fn decode_flat<const N: usize>(decoder: &mut Decoder<'_>) -> Result<[Self; N], CdrError> {
                let mut items = [Self::zero(); N];
                let order = decoder.endianness();
                for (item, chunk) in items.iter_mut().zip(decoder.read_chunks::<$size>(N)?) {
                    *item = match order {
                        Endianness::Little => <$number>::from_le_bytes(*chunk),
                        Endianness::Big => <$number>::from_be_bytes(*chunk),
                    };
                }
                Ok(items)
            }
        }
    };
}

number!(i8, 1, Int8, |value| value.cast_unsigned(), write_u8, |raw| raw.cast_signed(), read_u8);
number!(u16, 2, Uint16, |value| value, write_u16, |raw| raw, read_u16);
number!(i16, 2, Int16, |value| value.cast_unsigned(), write_u16, |raw| raw.cast_signed(), read_u16);
number!(u32, 4, Uint32, |value| value, write_u32, |raw| raw, read_u32);
number!(i32, 4, Int32, |value| value.cast_unsigned(), write_u32, |raw| raw.cast_signed(), read_u32);
number!(u64, 8, Uint64, |value| value, write_u64, |raw| raw, read_u64);
number!(i64, 8, Int64, |value| value.cast_unsigned(), write_u64, |raw| raw.cast_signed(), read_u64);
number!(f32, 4, Float32, |value| value.to_bits(), write_u32, |raw| f32::from_bits(raw), read_u32);
number!(f64, 8, Float64, |value| value.to_bits(), write_u64, |raw| f64::from_bits(raw), read_u64);

impl Cdr for u8 {
    const SIZE_MIN: usize = 1;
    const PRIMITIVE: bool = true;

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.write_u8(*self);
        Ok(())
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.read_u8()
    }

    fn described() -> Type {
        Type::Uint8
    }

    #[inline]
    fn zero() -> Self {
        0
    }

    #[inline]
    fn end_max(start: Extent) -> Option<Extent> {
        start.number(1)
    }

    #[inline]
    fn encode_elements(items: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.write_bytes(items);
        Ok(())
    }

    #[inline]
    fn decode_elements(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, CdrError> {
        decoder.read_bytes(count).map(<[u8]>::to_vec)
    }

    #[inline]
    fn decode_flat<const N: usize>(decoder: &mut Decoder<'_>) -> Result<[Self; N], CdrError> {
        let mut items = [0; N];
        items.copy_from_slice(decoder.read_bytes(N)?);
        Ok(items)
    }
}

impl Cdr for bool {
    const SIZE_MIN: usize = 1;
    const PRIMITIVE: bool = true;

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.write_u8(u8::from(*self));
        Ok(())
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        match decoder.read_u8()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(CdrError::Bool { value }),
        }
    }

    fn described() -> Type {
        Type::Bool
    }

    #[inline]
    fn zero() -> Self {
        false
    }

    #[inline]
    fn end_max(start: Extent) -> Option<Extent> {
        start.number(1)
    }
}

impl Cdr for char {
    const SIZE_MIN: usize = 1;
    const PRIMITIVE: bool = true;

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        match u8::try_from(*self) {
            Ok(octet) if octet.is_ascii() => {
                encoder.write_u8(octet);
                Ok(())
            }
            _ => Err(CdrError::Char { code: u32::from(*self) }),
        }
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        match decoder.read_u8()? {
            octet if octet.is_ascii() => Ok(Self::from(octet)),
            octet => Err(CdrError::Char { code: u32::from(octet) }),
        }
    }

    fn described() -> Type {
        Type::Char8
    }

    #[inline]
    fn zero() -> Self {
        '\0'
    }

    #[inline]
    fn end_max(start: Extent) -> Option<Extent> {
        start.number(1)
    }
}
