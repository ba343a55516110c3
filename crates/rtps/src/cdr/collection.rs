//! CDR of strings, sequences and arrays, bounded or not (DDS-XTypes 7.4.1, 7.4.3). Pure.

use super::value::decode_array;
use super::{Cdr, CdrError, Decoder, Encoder, Extent};
use crate::types::Type;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A collection whose length a member may bound, by `#[dds(max = N)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no #[dds(max = N)]",
    label = "not a `String` or `Vec`"
)]
pub trait Bounded: Cdr {
    /// Octets of a string, elements of a sequence.
    fn length(&self) -> usize;

    /// How many more than [`Bounded::length`] the length on the wire counts.
    #[doc(hidden)]
    const LENGTH_EXTRA: u32;

    /// [`Cdr::described`] under a bound.
    #[doc(hidden)]
    fn bounded_described(max: u32) -> Type;

    /// [`Cdr::end_max`] under a bound.
    #[doc(hidden)]
    fn bounded_end_max(start: Extent, max: u32) -> Option<Extent>;

    /// [`Cdr::encode`] under a bound.
    ///
    /// # Errors
    /// When the value is longer than `max`, or as [`Cdr::encode`].
    #[inline]
    fn encode_bounded(&self, max: u32, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        check_length(self.length(), max)?;
        self.encode(encoder)
    }

    /// [`Cdr::decode`] under a bound; what is too long is refused before it is read.
    ///
    /// # Errors
    /// When the value is longer than `max`, or as [`Cdr::decode`].
    #[inline]
    fn decode_bounded(max: u32, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        // XCDR2 may put a size before the length; there the bound is checked after reading.
        if decoder.representation() == super::Representation::Xcdr1 {
            let length = decoder.peek_u32()?.saturating_sub(Self::LENGTH_EXTRA);
            check_length(usize::try_from(length).unwrap_or(usize::MAX), max)?;
        }
        let value = Self::decode(decoder)?;
        check_length(value.length(), max)?;
        Ok(value)
    }
}

/// Refuses a length above its bound.
#[inline]
pub(crate) fn check_length(length: usize, max: u32) -> Result<(), CdrError> {
    match u32::try_from(length) {
        Ok(length) if length <= max => Ok(()),
        _ => Err(CdrError::TooLong { length, max }),
    }
}

impl Cdr for String {
    const SIZE_MIN: usize = 4;

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.write_string(self)
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.read_string().map(Self::from)
    }

    fn described() -> Type {
        Type::String { max: None }
    }

    #[inline]
    fn zero() -> Self {
        Self::new()
    }

    #[inline]
    fn end_max(_start: Extent) -> Option<Extent> {
        None
    }
}

impl Bounded for String {
    const LENGTH_EXTRA: u32 = 1;

    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    fn bounded_described(max: u32) -> Type {
        Type::String { max: Some(max) }
    }

    #[inline]
    fn bounded_end_max(start: Extent, max: u32) -> Option<Extent> {
        let octets = usize::try_from(max).ok()?.checked_add(1)?;
        start.number(4)?.plus(octets)
    }
}

impl<T: Cdr> Cdr for Vec<T> {
    const SIZE_MIN: usize = 4;

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.collection(T::PRIMITIVE, |encoder| {
            encoder.write_length(self.len())?;
            T::encode_elements(self, encoder)
        })
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.collection(T::PRIMITIVE, |decoder| {
            let count = decoder.read_length(T::SIZE_MIN)?;
            T::decode_elements(decoder, count)
        })
    }

    fn described() -> Type {
        Type::Sequence { element: Box::new(T::described()), max: None }
    }

    #[inline]
    fn zero() -> Self {
        Self::new()
    }

    #[inline]
    fn end_max(_start: Extent) -> Option<Extent> {
        None
    }
}

impl<T: Cdr> Bounded for Vec<T> {
    const LENGTH_EXTRA: u32 = 0;

    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    fn bounded_described(max: u32) -> Type {
        Type::Sequence { element: Box::new(T::described()), max: Some(max) }
    }

    fn bounded_end_max(start: Extent, max: u32) -> Option<Extent> {
        start.collection(T::PRIMITIVE)?.number(4)?.repeated(max, T::end_max)
    }
}

impl<T: Cdr, const N: usize> Cdr for [T; N] {
    const SIZE_MIN: usize = {
        assert!(N > 0, "a CDR array has at least one element");
        T::SIZE_MIN * N
    };
    const PRIMITIVE: bool = T::PRIMITIVE;

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.collection(T::PRIMITIVE, |encoder| T::encode_flat(self, encoder))
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.collection(T::PRIMITIVE, T::decode_flat)
    }

    fn described() -> Type {
        let count = u32::try_from(N).unwrap_or(u32::MAX);
        match T::described() {
            Type::Array { element, dimensions } => {
                let dimensions = core::iter::once(count).chain(dimensions).collect();
                Type::Array { element, dimensions }
            }
            element => Type::Array { element: Box::new(element), dimensions: vec![count] },
        }
    }

    #[inline]
    fn zero() -> Self {
        core::array::from_fn(|_| T::zero())
    }

    fn end_max(start: Extent) -> Option<Extent> {
        Self::flat_end_max(start.collection(T::PRIMITIVE)?)
    }

    fn flat_end_max(start: Extent) -> Option<Extent> {
        start.repeated(u32::try_from(N).ok()?, T::flat_end_max)
    }

    #[inline]
    fn encode_flat(items: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        items.iter().try_for_each(|item| T::encode_flat(item, encoder))
    }

    #[inline]
    fn decode_flat<const M: usize>(decoder: &mut Decoder<'_>) -> Result<[Self; M], CdrError> {
        decode_array(|| T::decode_flat(decoder))
    }
}
