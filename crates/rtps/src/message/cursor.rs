//! A forward reader over untrusted bytes in either byte order. Every read is checked; nothing allocates.

use crate::{
    Endianness, EntityId, FragmentNumber, Guid, GuidPrefix, Locator, LocatorKind, SequenceNumber, WireTime,
};

/// What a read gives: the value, or why the bytes cannot hold one.
pub(crate) type Parsed<T> = Result<T, &'static str>;

/// The unread part of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    order: Endianness,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], order: Endianness) -> Self {
        Self { rest: bytes, order }
    }

    /// Everything not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn order(&self) -> Endianness {
        self.order
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Parsed<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// After an item of `read` octets, skips what pads it to a multiple of 4; padding may be missing at the end.
    pub(crate) fn skip_padding(&mut self, read: usize) {
        let padding = read.next_multiple_of(4) - read;
        self.rest = self.rest.get(padding..).unwrap_or_default();
    }

    pub(crate) fn u16(&mut self) -> Parsed<u16> {
        self.array().map(|octets| self.order.u16(octets))
    }

    pub(crate) fn u32(&mut self) -> Parsed<u32> {
        self.array().map(|octets| self.order.u32(octets))
    }

    pub(crate) fn i32(&mut self) -> Parsed<i32> {
        self.u32().map(u32::cast_signed)
    }

    pub(crate) fn bool(&mut self) -> Parsed<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err("boolean that is neither 0 nor 1"),
        }
    }

    pub(crate) fn prefix(&mut self) -> Parsed<GuidPrefix> {
        self.array().map(GuidPrefix)
    }

    pub(crate) fn entity(&mut self) -> Parsed<EntityId> {
        self.array().map(EntityId)
    }

    pub(crate) fn guid(&mut self) -> Parsed<Guid> {
        self.array().map(Guid::from_bytes)
    }

    /// A sequence number that is zero or more.
    pub(crate) fn sequence_or_zero(&mut self) -> Parsed<SequenceNumber> {
        let (high, low) = (self.i32()?, self.u32()?);
        let high = u32::try_from(high).map_err(|_| "negative sequence number")?;
        Ok(SequenceNumber(u64::from(high) << 32 | u64::from(low)))
    }

    /// The number of a change: one or more.
    pub(crate) fn sequence(&mut self) -> Parsed<SequenceNumber> {
        let number = self.sequence_or_zero()?;
        if number == SequenceNumber::ZERO { Err("sequence number zero") } else { Ok(number) }
    }

    /// The number of a fragment: one or more.
    pub(crate) fn fragment(&mut self) -> Parsed<FragmentNumber> {
        match self.u32()? {
            0 => Err("fragment number zero"),
            number => Ok(FragmentNumber(number)),
        }
    }

    pub(crate) fn time(&mut self) -> Parsed<WireTime> {
        Ok(WireTime { seconds: self.i32()?, fraction: self.u32()? })
    }

    pub(crate) fn locator(&mut self) -> Parsed<Locator> {
        let kind = LocatorKind::from_number(self.i32()?);
        Ok(Locator { kind, port: self.u32()?, address: self.array()? })
    }

    /// A string: its length with the closing zero, its octets, the zero, and padding to a multiple of 4. A length of
    /// zero, which some vendors send, is the empty string.
    pub(crate) fn string(&mut self) -> Parsed<&'a str> {
        let length = usize::try_from(self.u32()?).map_err(|_| LONG_STRING)?;
        let bytes = self.bytes(length).map_err(|_| LONG_STRING)?;
        self.skip_padding(length);
        let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        if text.contains(&0) {
            return Err("string with a zero inside");
        }
        core::str::from_utf8(text).map_err(|_| "string that is not UTF-8")
    }
}

const SHORT: &str = "shorter than its fields";
const LONG_STRING: &str = "string longer than its parameter";
