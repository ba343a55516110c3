//! Types of topics: instance keys, key hashes (RTPS 9.6.3.8) and whole payloads. Pure.

use super::{
    Cdr, CdrError, Decoder, Encapsulation, Encoder, Endianness, Extensibility, Extent, PayloadForm,
    Representation,
};
use crate::types::StructType;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use md5::{Digest, Md5};

/// A struct that a topic can carry, by `#[derive(DdsType)]`.
pub trait DdsType: Cdr {
    /// The name that readers and writers match by.
    const TYPE_NAME: &'static str;
    /// Whether samples are told apart into instances by a key.
    const KEYED: bool;

    /// Appends the key members in order of declaration; nothing when there are none.
    ///
    /// # Errors
    /// As [`Cdr::encode`].
    fn encode_key(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError>;

    /// Reads what [`DdsType::encode_key`] wrote; the other members are [`Cdr::zero`].
    ///
    /// # Errors
    /// As [`Cdr::decode`].
    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, CdrError>;

    /// Where the key of a sample ends at most, in the form that a key hash is made from. `None` when that is unbounded
    /// or more than [`KEY_SIZE_COUNTED_MAX`] octets.
    fn key_end_max(start: Extent) -> Option<Extent>;

    /// The type in the form known at run time.
    fn structure() -> Arc<StructType>;

    /// The 16 octets that stand for the instance of this sample, for writers of XCDR1.
    ///
    /// # Errors
    /// As [`DdsType::encode_key`].
    #[inline]
    fn key_hash(&self) -> Result<KeyHash, CdrError> {
        self.key_hash_in(Representation::Xcdr1)
    }

    /// The 16 octets that stand for the instance of this sample, for writers of this representation. They differ where
    /// a key has 8-octet members that XCDR1 aligns otherwise.
    ///
    /// # Errors
    /// As [`DdsType::encode_key`].
    #[inline]
    fn key_hash_in(&self, representation: Representation) -> Result<KeyHash, CdrError> {
        let end_max = Self::key_end_max(Extent::start(representation));
        KeyHash::compute(representation, end_max, |encoder| self.encode_key(encoder))
    }
}

/// Stands for an instance: its key, or the MD5 of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 16]);

impl KeyHash {
    /// From the key that `encode_key` writes, of a type whose keys end at `end_max`.
    ///
    /// The key is written most significant octet first, its structs as if they were final and, in any, the members in
    /// the order of their identifiers (DDS-XTypes 7.6.8). It is the hash itself, filled with zeros, when no key of the
    /// type can exceed 16 octets, and is hashed with MD5 otherwise.
    ///
    /// # Errors
    /// As `encode_key`.
    pub fn compute(
        representation: Representation,
        end_max: Option<Extent>,
        encode_key: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
    ) -> Result<Self, CdrError> {
        let mut key = Vec::with_capacity(16);
        encode_key(&mut Encoder::of_key_hash(&mut key, representation))?;
        if end_max.is_some_and(|extent| extent.octets() <= 16) {
            key.resize(16, 0);
            if let Ok(bytes) = <[u8; 16]>::try_from(key.as_slice()) {
                return Ok(Self(bytes));
            }
        }
        Ok(Self(Md5::digest(&key).into()))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Beyond this many octets the maximum size of a key counts as unbounded; only "above 16" matters.
pub const KEY_SIZE_COUNTED_MAX: usize = 4096;

/// Appends a sample as a payload in XCDR1, least significant octet first: encapsulation header and value.
///
/// # Errors
/// When the value has no encoding; `out` then ends with a part of it.
#[inline]
pub fn to_payload<T: Cdr>(value: &T, out: &mut Vec<u8>) -> Result<(), CdrError> {
    to_payload_in(value, Representation::Xcdr1, out)
}

/// [`to_payload`] in a representation.
///
/// # Errors
/// As [`to_payload`].
#[inline]
pub fn to_payload_in<T: Cdr>(
    value: &T,
    representation: Representation,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    out.reserve(Encapsulation::SIZE + T::SIZE_MIN);
    write_payload(T::EXTENSIBILITY, representation, out, |encoder| value.encode(encoder))
}

/// Reads a sample from a payload in any representation. Octets after the value are ignored: senders pad.
///
/// # Errors
/// When the encapsulation is none of a sample of this type, or the octets are no value of it.
#[inline]
pub fn from_payload<T: Cdr>(payload: &[u8]) -> Result<T, CdrError> {
    T::decode(&mut open_payload(T::EXTENSIBILITY, payload)?)
}

/// Appends the key of a sample as a payload in XCDR1, as it travels with dispose and unregister.
///
/// # Errors
/// As [`to_payload`].
#[inline]
pub fn key_to_payload<T: DdsType>(value: &T, out: &mut Vec<u8>) -> Result<(), CdrError> {
    key_to_payload_in(value, Representation::Xcdr1, out)
}

/// [`key_to_payload`] in a representation.
///
/// # Errors
/// As [`to_payload`].
#[inline]
pub fn key_to_payload_in<T: DdsType>(
    value: &T,
    representation: Representation,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_payload(T::EXTENSIBILITY, representation, out, |encoder| value.encode_key(encoder))
}

/// Reads the payload of a dispose or unregister: the key members of a sample, the others zero.
///
/// # Errors
/// As [`from_payload`].
#[inline]
pub fn key_from_payload<T: DdsType>(payload: &[u8]) -> Result<T, CdrError> {
    T::decode_key(&mut open_payload(T::EXTENSIBILITY, payload)?)
}

/// The instance that a payload belongs to, which holds a whole sample or (`key_only`) a key; as its writer, whose
/// representation it is, computes it.
///
/// # Errors
/// As [`from_payload`].
pub fn key_hash_of_payload<T: DdsType>(payload: &[u8], key_only: bool) -> Result<KeyHash, CdrError> {
    if !T::KEYED {
        return Ok(KeyHash::default());
    }
    let representation = Encapsulation::split(payload)?.0.form.representation();
    let sample: T = if key_only { key_from_payload(payload)? } else { from_payload(payload)? };
    sample.key_hash_in(representation)
}

/// Appends a payload of a type of this extensibility, least significant octet first: the encapsulation header, what
/// `write` appends, and padding. A plain XCDR1 sample of a final type is not padded.
///
/// # Errors
/// As `write`.
#[inline]
pub fn write_payload(
    extensibility: Extensibility,
    representation: Representation,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    write_payload_in_order(extensibility, representation, Endianness::Little, out, write)
}

/// [`write_payload`] in a byte order.
///
/// # Errors
/// As `write`.
#[inline]
pub fn write_payload_in_order(
    extensibility: Extensibility,
    representation: Representation,
    endianness: Endianness,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    let form = PayloadForm::of(extensibility, representation);
    out.extend_from_slice(&Encapsulation { form, endianness }.to_bytes());
    let start = out.len();
    write(&mut Encoder::new(out, endianness, representation))?;
    if extensibility != Extensibility::Final || representation != Representation::Xcdr1 {
        pad_payload(start, out);
    }
    Ok(())
}

/// Fills the payload, whose header ends at `start`, up to a multiple of 4, and says so in its header.
fn pad_payload(start: usize, out: &mut Vec<u8>) {
    let padding = (out.len() - start).wrapping_neg() & 3;
    out.resize(out.len() + padding, 0);
    if let (Some(options), Ok(padding)) = (out.get_mut(start.wrapping_sub(1)), u8::try_from(padding)) {
        *options = padding;
    }
}

/// Reads the header of a sample of a type of this extensibility and returns the decoder for what follows.
///
/// # Errors
/// When the encapsulation is cut off, unknown or that of another extensibility.
#[inline]
pub fn open_payload(extensibility: Extensibility, payload: &[u8]) -> Result<Decoder<'_>, CdrError> {
    let (header, body) = Encapsulation::split(payload)?;
    let representation = header.form.representation();
    if header.form != PayloadForm::of(extensibility, representation) {
        return Err(CdrError::Form { identifier: header.identifier(), extensibility });
    }
    Ok(Decoder::new(body, header.endianness, representation))
}
