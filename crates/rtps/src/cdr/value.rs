//! What every encodable Rust type provides. Pure.

use super::decoder::align_up;
use super::{CdrError, Decoder, Encoder, Extensibility, KEY_SIZE_COUNTED_MAX, Representation};
use crate::types::Type;
use alloc::vec::Vec;

/// A Rust type with a CDR encoding (DDS-XTypes 7.4), usually by `#[derive(Cdr)]` or `#[derive(DdsType)]`.
///
/// Implemented for `bool`, the sized integers, `f32`, `f64`, `char` (8-bit ASCII on the wire), `String`, `Vec<T>`
/// and `[T; N]`. A type must not contain itself, not even through a `Vec` or another type: [`Cdr::described`] would
/// not end.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no CDR encoding",
    label = "not a type of the wire",
    note = "use bool, a sized integer, f32, f64, char, String, Vec<T>, [T; N], or a type with #[derive(Cdr)]"
)]
pub trait Cdr: Sized {
    /// The fewest octets that a value takes, without padding; at least 1.
    const SIZE_MIN: usize;

    /// Whether XCDR2 counts it among the primitive types.
    #[doc(hidden)]
    const PRIMITIVE: bool = false;

    /// How a struct may change.
    const EXTENSIBILITY: Extensibility = Extensibility::Final;

    /// Appends the value.
    ///
    /// # Errors
    /// When the value has no encoding: a bound exceeded, a character outside ASCII, a zero inside a string.
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError>;

    /// Reads a value.
    ///
    /// # Errors
    /// When the octets are no value of this type. The decoder is then of no further use.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, CdrError>;

    /// The type in the form known at run time.
    fn described() -> Type;

    /// The value of members that a message leaves out: zero, empty, the first enumerator.
    fn zero() -> Self;

    /// Where a value ends at most when encoded from `start` on, in the form that a key hash is made from. `None` when
    /// that is unbounded or beyond [`KEY_SIZE_COUNTED_MAX`].
    fn end_max(start: Extent) -> Option<Extent>;

    /// [`Cdr::encode`] of what the value contributes to a key: of a struct with key members, only those.
    ///
    /// # Errors
    /// As [`Cdr::encode`].
    #[inline]
    fn encode_key_part(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.encode(encoder)
    }

    /// [`Cdr::decode`] of what [`Cdr::encode_key_part`] wrote; the rest is [`Cdr::zero`].
    ///
    /// # Errors
    /// As [`Cdr::decode`].
    #[inline]
    fn decode_key_part(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Self::decode(decoder)
    }

    /// [`Cdr::end_max`] of what [`Cdr::encode_key_part`] writes.
    #[inline]
    fn key_part_end_max(start: Extent) -> Option<Extent> {
        Self::end_max(start)
    }

    /// [`Cdr::end_max`] of an element of an array; an array of arrays is one array of more dimensions.
    #[doc(hidden)]
    fn flat_end_max(start: Extent) -> Option<Extent> {
        Self::end_max(start)
    }

    /// Appends the elements of a sequence.
    #[doc(hidden)]
    #[inline]
    fn encode_elements(items: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        items.iter().try_for_each(|item| item.encode(encoder))
    }

    /// Reads the elements of a sequence, whose count [`Decoder::read_length`] has found possible.
    #[doc(hidden)]
    #[inline]
    fn decode_elements(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, CdrError> {
        let mut items = Vec::with_capacity(count.min(decoder.remaining() / Self::SIZE_MIN.max(1)));
        for _ in 0..count {
            items.push(Self::decode(decoder)?);
        }
        Ok(items)
    }

    /// Appends the elements of an array; an array of arrays is one array of more dimensions.
    #[doc(hidden)]
    #[inline]
    fn encode_flat(items: &[Self], encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        Self::encode_elements(items, encoder)
    }

    /// Reads the elements of an array.
    #[doc(hidden)]
    #[inline]
    fn decode_flat<const N: usize>(decoder: &mut Decoder<'_>) -> Result<[Self; N], CdrError> {
        decode_array(|| Self::decode(decoder))
    }
}

/// Fills an array, until the first error.
#[inline]
pub(super) fn decode_array<T: Cdr, const N: usize>(
    mut decode: impl FnMut() -> Result<T, CdrError>,
) -> Result<[T; N], CdrError> {
    let mut failure = None;
    let items = core::array::from_fn(|_| {
        if failure.is_some() {
            return T::zero();
        }
        decode().unwrap_or_else(|error| {
            failure = Some(error);
            T::zero()
        })
    });
    failure.map_or(Ok(items), Err)
}

/// A position that is the most that values before it can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    octets: usize,
    representation: Representation,
}

impl Extent {
    /// Before all values.
    pub fn start(representation: Representation) -> Self {
        Self { octets: 0, representation }
    }

    /// Octets up to it.
    pub fn octets(self) -> usize {
        self.octets
    }

    /// After `size` octets more. `None` beyond [`KEY_SIZE_COUNTED_MAX`].
    pub(crate) fn plus(self, size: usize) -> Option<Self> {
        let octets = self.octets.saturating_add(size);
        (octets <= KEY_SIZE_COUNTED_MAX).then_some(Self { octets, ..self })
    }

    /// After a number of `size` octets, which is aligned.
    pub(crate) fn number(self, size: usize) -> Option<Self> {
        let octets = align_up(self.octets, size.min(self.representation.align_max()));
        Self { octets, ..self }.plus(size)
    }

    /// After what comes before the elements of a collection, which XCDR2 tells the size of unless they are primitive.
    pub(crate) fn collection(self, primitive: bool) -> Option<Self> {
        if primitive || self.representation == Representation::Xcdr1 { Some(self) } else { self.number(4) }
    }

    /// After `count` values, each of which ends where `end_max` says.
    pub(crate) fn repeated(self, count: u32, end_max: impl Fn(Self) -> Option<Self>) -> Option<Self> {
        let mut end = self;
        for _ in 0..count {
            let next = end_max(end)?;
            if next == end {
                break;
            }
            end = next;
        }
        Some(end)
    }
}
