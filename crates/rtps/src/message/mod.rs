//! RTPS messages and submessages (RTPS 2.5, 8.3 and 9.4), read in both byte orders and written little-endian.
//!
//! Reading borrows from the datagram and never allocates. A submessage that its standard calls invalid ends the
//! message with a [`Malformed`]; unknown kinds are skipped by their length.

mod cursor;
mod read;
mod write;

pub(crate) use cursor::{Cursor, Parsed};
pub use read::{HeaderError, Malformed, MessageReader, sole_destination};
pub use write::{InlineQos, MessageWriter};

pub use crate::parameter::StatusInfo;

use crate::parameter::ParameterList;
use crate::{
    Endianness, EntityId, FragmentNumber, FragmentNumberSet, GuidPrefix, Locator, SequenceNumber,
    SequenceNumberSet, VendorId, WireTime,
};

/// The protocol version that our messages state. 2.3 is what the peers in the field state as well.
pub const PROTOCOL_VERSION: [u8; 2] = [2, 3];

/// Whether the count of a heartbeat or acknowledgement is later than the last one seen; counts wrap.
pub(crate) fn is_newer(count: u32, seen: Option<u32>) -> bool {
    seen.is_none_or(|seen| count.wrapping_sub(seen).cast_signed() > 0)
}

/// The octets of a message header.
pub const HEADER_LEN: usize = 20;

/// The start of every message: who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Major and minor protocol version. The major one is always 2.
    pub version: [u8; 2],
    /// The implementation that sent the message.
    pub vendor: VendorId,
    /// The participant that sent the message.
    pub prefix: GuidPrefix,
}

/// One submessage, borrowed from its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submessage<'a> {
    /// A change of an instance: a sample, a dispose or an unregister.
    Data(Data<'a>),
    /// Some fragments of a sample.
    DataFrag(DataFrag<'a>),
    /// What a writer still has.
    Heartbeat(Heartbeat),
    /// Which fragments of a sample a writer has.
    HeartbeatFrag(HeartbeatFrag),
    /// What a reader has and what it misses.
    AckNack(AckNack),
    /// Which fragments of a sample a reader misses.
    NackFrag(NackFrag),
    /// Sequence numbers that will not come.
    Gap(Gap),
    /// The source time of the submessages that follow, or none.
    InfoTimestamp(Option<WireTime>),
    /// The participant that the submessages that follow are for; [`GuidPrefix::UNKNOWN`] means all.
    InfoDestination(GuidPrefix),
    /// Who wrote the submessages that follow, when it is not the sender.
    InfoSource {
        /// Protocol version of the source.
        version: [u8; 2],
        /// Implementation of the source.
        vendor: VendorId,
        /// The source participant.
        prefix: GuidPrefix,
    },
    /// Where replies to the submessages that follow should go.
    InfoReply {
        /// Unicast addresses.
        unicast: LocatorList<'a>,
        /// Multicast addresses; empty when none were sent.
        multicast: LocatorList<'a>,
    },
    /// Nothing, for alignment.
    Pad,
    /// A kind that we do not know, skipped.
    Unknown(u8),
}

/// What a DATA submessage carries, each with its 4-octet encapsulation header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Nothing: the inline QoS says it all.
    None,
    /// A serialized sample.
    Data(&'a [u8]),
    /// A serialized key.
    Key(&'a [u8]),
}

/// A change of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// The addressed reader, or [`EntityId::UNKNOWN`] for all that match.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The change's number, at least 1.
    pub sequence: SequenceNumber,
    /// Parameters sent along.
    pub inline_qos: Option<ParameterList<'a>>,
    /// The sample or key, with any padding that followed it.
    pub payload: Payload<'a>,
}

/// Consecutive fragments of a serialized sample.
///
/// What is read has consistent numbers: at least one fragment, none beyond the sample's last, and exactly the octets
/// that these fragments cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFrag<'a> {
    /// The addressed reader, or [`EntityId::UNKNOWN`] for all that match.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The change's number, at least 1.
    pub sequence: SequenceNumber,
    /// The number of the first fragment here, at least 1.
    pub first_fragment: FragmentNumber,
    /// How many fragments are here, at least 1.
    pub fragment_count: u16,
    /// Octets of each fragment but the sample's last, at least 1.
    pub fragment_size: u16,
    /// Octets of the whole serialized sample. A claim of the sender: it must not size an allocation unchecked.
    pub sample_size: u32,
    /// Parameters sent along.
    pub inline_qos: Option<ParameterList<'a>>,
    /// Whether the fragments are of a serialized key.
    pub is_key: bool,
    /// The fragments' octets without padding.
    pub bytes: &'a [u8],
}

impl DataFrag<'_> {
    /// How many fragments the whole sample has.
    pub fn total(&self) -> u32 {
        self.sample_size.div_ceil(u32::from(self.fragment_size).max(1))
    }

    /// Where in the sample [`DataFrag::bytes`] starts.
    pub fn offset(&self) -> u64 {
        u64::from(self.first_fragment.0.saturating_sub(1)) * u64::from(self.fragment_size)
    }
}

/// What a writer still has: every number from `first` to `last`; none when `last` is `first` - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The addressed reader, or [`EntityId::UNKNOWN`] for all that match.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The lowest number available, at least 1.
    pub first: SequenceNumber,
    /// The highest number written, at least `first` - 1.
    pub last: SequenceNumber,
    /// Grows with each new heartbeat of this writer; a repeated count is a duplicate.
    pub count: u32,
    /// Whether the reader need not answer when it misses nothing.
    pub is_final: bool,
    /// Whether it asserts the writer's liveliness by hand.
    pub is_liveliness: bool,
}

/// Which fragments of a sample a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatFrag {
    /// The addressed reader, or [`EntityId::UNKNOWN`] for all that match.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The change's number, at least 1.
    pub sequence: SequenceNumber,
    /// The highest fragment available, at least 1.
    pub last_fragment: FragmentNumber,
    /// Grows with each new one of this writer.
    pub count: u32,
}

/// What a reader has (everything below the set's base) and what it asks for (the set).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckNack {
    /// The reader.
    pub reader: EntityId,
    /// The addressed writer.
    pub writer: EntityId,
    /// The missing numbers. A base of 0 with no numbers is a reader's first call, sent before it knows the writer.
    pub missing: SequenceNumberSet,
    /// Grows with each new one of this reader.
    pub count: u32,
    /// Whether the writer need not answer when the set is empty.
    pub is_final: bool,
}

/// Which fragments of a sample a reader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NackFrag {
    /// The reader.
    pub reader: EntityId,
    /// The addressed writer.
    pub writer: EntityId,
    /// The change's number, at least 1.
    pub sequence: SequenceNumber,
    /// The missing fragments.
    pub missing: FragmentNumberSet,
    /// Grows with each new one of this reader.
    pub count: u32,
}

/// Sequence numbers that will not come: from `start` to the one before the list's base, and the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The addressed reader, or [`EntityId::UNKNOWN`] for all that match.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The first number of the gap, at least 1.
    pub start: SequenceNumber,
    /// The base ends the contiguous part; the set holds further numbers.
    pub list: SequenceNumberSet,
}

/// A list of locators as it travels; its length was checked against the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatorList<'a> {
    bytes: Cursor<'a>,
}

impl<'a> LocatorList<'a> {
    /// The octets of one locator on the wire.
    const LOCATOR_LEN: usize = 24;

    fn empty() -> Self {
        Self { bytes: Cursor::new(&[], Endianness::Little) }
    }

    fn read(cursor: &mut Cursor<'a>) -> Parsed<Self> {
        let count = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
        let bytes = cursor.bytes(count.saturating_mul(Self::LOCATOR_LEN))?;
        Ok(Self { bytes: Cursor::new(bytes, cursor.order()) })
    }

    /// The locators in the order they were sent.
    pub fn iter(&self) -> impl Iterator<Item = Locator> + 'a {
        let mut bytes = self.bytes;
        core::iter::from_fn(move || bytes.locator().ok())
    }
}

mod kind {
    //! Submessage kinds (RTPS 9.4.5.1.1).

    pub(super) const PAD: u8 = 0x01;
    pub(super) const ACKNACK: u8 = 0x06;
    pub(super) const HEARTBEAT: u8 = 0x07;
    pub(super) const GAP: u8 = 0x08;
    pub(super) const INFO_TIMESTAMP: u8 = 0x09;
    pub(super) const INFO_SOURCE: u8 = 0x0c;
    pub(super) const INFO_DESTINATION: u8 = 0x0e;
    pub(super) const INFO_REPLY: u8 = 0x0f;
    pub(super) const NACK_FRAG: u8 = 0x12;
    pub(super) const HEARTBEAT_FRAG: u8 = 0x13;
    pub(super) const DATA: u8 = 0x15;
    pub(super) const DATA_FRAG: u8 = 0x16;
}

mod flag {
    //! Submessage flags (RTPS 9.4.5): the same bit means different things in different kinds.

    pub(super) const LITTLE_ENDIAN: u8 = 0x01;
    pub(super) const FINAL: u8 = 0x02;
    pub(super) const LIVELINESS: u8 = 0x04;
    pub(super) const INVALIDATE: u8 = 0x02;
    pub(super) const MULTICAST: u8 = 0x02;
    pub(super) const INLINE_QOS: u8 = 0x02;
    pub(super) const DATA: u8 = 0x04;
    pub(super) const KEY: u8 = 0x08;
    pub(super) const FRAGMENTED_KEY: u8 = 0x04;
}
