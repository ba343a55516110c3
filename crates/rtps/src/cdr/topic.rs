//! Types of topics: instance keys, key hashes (RTPS 9.6.3.8) and whole payloads. Pure.

use super::{Cdr, CdrError, Decoder, Encapsulation, Encoder, Endianness, PayloadForm, Representation};
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

    /// The most octets of plain CDR that a key can take. `None` when that is unbounded or more than
    /// [`KEY_SIZE_COUNTED_MAX`].
    fn key_max_size() -> Option<usize>;

    /// The type in the form known at run time.
    fn structure() -> Arc<StructType>;

    /// The 16 octets that stand for the instance of this sample.
    ///
    /// # Errors
    /// As [`DdsType::encode_key`].
    #[inline]
    fn key_hash(&self) -> Result<KeyHash, CdrError> {
        KeyHash::compute(Self::key_max_size(), |encoder| self.encode_key(encoder))
    }
}

/// Stands for an instance: its key, or the MD5 of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 16]);

impl KeyHash {
    /// From the key that `encode_key` writes, of a type whose keys take at most `size_max` octets.
    ///
    /// The key is written in plain CDR, most significant octet first. It is the hash itself, filled with zeros,
    /// when no key of the type can exceed 16 octets, and is hashed with MD5 otherwise.
    ///
    /// # Errors
    /// As `encode_key`.
    pub fn compute(
        size_max: Option<usize>,
        encode_key: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
    ) -> Result<Self, CdrError> {
        let mut key = Vec::with_capacity(16);
        encode_key(&mut Encoder::new(&mut key, Endianness::Big, Representation::Xcdr1))?;
        if size_max.is_some_and(|size| size <= 16) {
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

/// Appends a sample as a payload: encapsulation header (plain CDR, least significant octet first) and value.
///
/// # Errors
/// When the value has no encoding; `out` then ends with a part of it.
#[inline]
pub fn to_payload<T: Cdr>(value: &T, out: &mut Vec<u8>) -> Result<(), CdrError> {
    out.reserve(Encapsulation::SIZE + T::SIZE_MIN);
    value.encode(&mut start_payload(out))
}

/// Reads a sample from a payload. Octets after the value are ignored: senders pad.
///
/// # Errors
/// When the encapsulation is none of a plain sample, or the octets are no value of this type.
#[inline]
pub fn from_payload<T: Cdr>(payload: &[u8]) -> Result<T, CdrError> {
    T::decode(&mut open_payload(payload)?)
}

/// Appends the key of a sample as a payload, as it travels with dispose and unregister.
///
/// # Errors
/// As [`to_payload`].
#[inline]
pub fn key_to_payload<T: DdsType>(value: &T, out: &mut Vec<u8>) -> Result<(), CdrError> {
    value.encode_key(&mut start_payload(out))
}

/// Reads the payload of a dispose or unregister: the key members of a sample, the others zero.
///
/// # Errors
/// As [`from_payload`].
#[inline]
pub fn key_from_payload<T: DdsType>(payload: &[u8]) -> Result<T, CdrError> {
    T::decode_key(&mut open_payload(payload)?)
}

/// The instance that a payload belongs to, which holds a whole sample or (`key_only`) a key.
///
/// # Errors
/// As [`from_payload`].
pub fn key_hash_of_payload<T: DdsType>(payload: &[u8], key_only: bool) -> Result<KeyHash, CdrError> {
    if !T::KEYED {
        return Ok(KeyHash::default());
    }
    let sample: T = if key_only { key_from_payload(payload)? } else { from_payload(payload)? };
    sample.key_hash()
}

/// Appends the header that we write and returns the encoder for what follows.
#[inline]
pub fn start_payload(out: &mut Vec<u8>) -> Encoder<'_> {
    out.extend_from_slice(&Encapsulation::CDR_LE.to_bytes());
    Encoder::new(out, Endianness::Little, Representation::Xcdr1)
}

/// Reads the header of a plain sample and returns the decoder for what follows.
///
/// # Errors
/// When the encapsulation is cut off, unknown or that of a parameter list.
#[inline]
pub fn open_payload(payload: &[u8]) -> Result<Decoder<'_>, CdrError> {
    let (header, body) = Encapsulation::split(payload)?;
    match header.form {
        PayloadForm::Plain(representation) => Ok(Decoder::new(body, header.endianness, representation)),
        PayloadForm::ParameterList => Err(CdrError::ParameterList { identifier: header.identifier() }),
    }
}
