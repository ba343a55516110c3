//! Reading a datagram (RTPS 8.3.4 for the rules of a receiver, 9.4.5 for the layout).

use super::{
    AckNack, Cursor, Data, DataFrag, Gap, HEADER_LEN, Header, Heartbeat, HeartbeatFrag, LocatorList,
    NackFrag, Parsed, Payload, Submessage, flag, kind,
};
use crate::parameter::ParameterList;
use crate::{
    Endianness, EntityId, FragmentNumberSet, GuidPrefix, SequenceNumber, SequenceNumberSet, VendorId,
};

/// A datagram that is not an RTPS 2.x message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer octets than a header.
    #[error("datagram shorter than the 20 octets of an RTPS header")]
    Short,
    /// It does not start with `RTPS`.
    #[error("datagram does not start with RTPS")]
    Magic,
    /// Another major protocol version.
    #[error("RTPS major version {0} (only 2 is understood)")]
    Version(u8),
}

/// A submessage that its standard calls invalid. The rest of its message is not read (RTPS 8.3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("submessage of kind {kind:#04x}: {reason}")]
pub struct Malformed {
    /// The submessage's kind as sent.
    pub kind: u8,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Yields the submessages of a datagram in order; after an error it ends.
#[derive(Clone, Debug)]
pub struct MessageReader<'a> {
    rest: &'a [u8],
}

impl<'a> MessageReader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// When the datagram is too short, not RTPS, or of another major version. Every minor version is accepted.
    pub fn new(bytes: &'a [u8]) -> Result<(Header, Self), HeaderError> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(HeaderError::Short)?;
        let [magic @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = header;
        if magic != b"RTPS" {
            return Err(HeaderError::Magic);
        }
        let [_, _, _, _, major, minor, vendor_high, vendor_low, prefix @ ..] = *header;
        if major != 2 {
            return Err(HeaderError::Version(major));
        }
        let vendor = VendorId([vendor_high, vendor_low]);
        Ok((Header { version: [major, minor], vendor, prefix: GuidPrefix(prefix) }, Self { rest }))
    }

    /// Splits off the next submessage's flags and body.
    fn split(&mut self) -> Result<(u8, u8, Cursor<'a>), Malformed> {
        let kind = self.rest.first().copied().unwrap_or_default();
        let malformed = |reason| Malformed { kind, reason };
        let (header, rest) =
            self.rest.split_first_chunk::<4>().ok_or(malformed("shorter than a submessage header"))?;
        let [_, flags, first, second] = *header;
        let order = if flags & flag::LITTLE_ENDIAN == 0 { Endianness::Big } else { Endianness::Little };
        let length = order.u16([first, second]);
        // Zero means "to the end of the message", except where an empty body makes sense (RTPS 9.4.5.1.3).
        let length = match (length, kind) {
            (0, kind::PAD | kind::INFO_TIMESTAMP) => 0,
            (0, _) => rest.len(),
            (length, _) => usize::from(length),
        };
        let (body, rest) =
            rest.split_at_checked(length).ok_or(malformed("length beyond the end of the datagram"))?;
        self.rest = rest;
        Ok((kind, flags, Cursor::new(body, order)))
    }
}

impl<'a> Iterator for MessageReader<'a> {
    type Item = Result<Submessage<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let submessage = self.split().and_then(|(kind, flags, mut body)| {
            read_body(kind, flags, &mut body).map_err(|reason| Malformed { kind, reason })
        });
        if submessage.is_err() {
            self.rest = &[];
        }
        Some(submessage)
    }
}

impl core::iter::FusedIterator for MessageReader<'_> {}

/// The one participant that a datagram is for, when it says so at its beginning and names no other later.
///
/// Reads no more than the submessages' headers, so that a process of many participants gives a datagram to one of them.
pub fn sole_destination(bytes: &[u8]) -> Option<GuidPrefix> {
    let (_, mut messages) = MessageReader::new(bytes).ok()?;
    let mut destination = None;
    while !messages.rest.is_empty() {
        let (kind, _, mut body) = messages.split().ok()?;
        if kind == kind::INFO_DESTINATION {
            let prefix = body.prefix().ok()?;
            if prefix == GuidPrefix::UNKNOWN || destination.is_some_and(|before| before != prefix) {
                return None;
            }
            destination = Some(prefix);
        } else {
            // Something before the first destination is for everyone.
            destination?;
        }
    }
    destination
}

fn read_body<'a>(kind: u8, flags: u8, body: &mut Cursor<'a>) -> Parsed<Submessage<'a>> {
    Ok(match kind {
        kind::DATA => Submessage::Data(data(flags, body)?),
        kind::DATA_FRAG => Submessage::DataFrag(data_frag(flags, body)?),
        kind::HEARTBEAT => Submessage::Heartbeat(heartbeat(flags, body)?),
        kind::HEARTBEAT_FRAG => Submessage::HeartbeatFrag(HeartbeatFrag {
            reader: body.entity()?,
            writer: body.entity()?,
            sequence: body.sequence()?,
            last_fragment: body.fragment()?,
            count: body.u32()?,
        }),
        kind::ACKNACK => Submessage::AckNack(acknack(flags, body)?),
        kind::NACK_FRAG => Submessage::NackFrag(NackFrag {
            reader: body.entity()?,
            writer: body.entity()?,
            sequence: body.sequence()?,
            missing: fragment_set(body)?,
            count: body.u32()?,
        }),
        kind::GAP => Submessage::Gap(gap(body)?),
        kind::INFO_TIMESTAMP if flags & flag::INVALIDATE != 0 => Submessage::InfoTimestamp(None),
        kind::INFO_TIMESTAMP => Submessage::InfoTimestamp(Some(body.time()?)),
        kind::INFO_DESTINATION => Submessage::InfoDestination(body.prefix()?),
        kind::INFO_SOURCE => {
            let _unused = body.u32()?;
            let (version, vendor) = (body.array()?, VendorId(body.array()?));
            Submessage::InfoSource { version, vendor, prefix: body.prefix()? }
        }
        kind::INFO_REPLY => {
            let unicast = LocatorList::read(body)?;
            let has_multicast = flags & flag::MULTICAST != 0;
            let multicast = if has_multicast { LocatorList::read(body)? } else { LocatorList::empty() };
            Submessage::InfoReply { unicast, multicast }
        }
        kind::PAD => Submessage::Pad,
        unknown => Submessage::Unknown(unknown),
    })
}

/// The fields that DATA and DATA_FRAG begin with, and the octets that follow them up to the inline QoS.
fn addressed<'a>(body: &mut Cursor<'a>) -> Parsed<(EntityId, EntityId, SequenceNumber, Cursor<'a>)> {
    let _extra_flags = body.u16()?;
    let to_inline_qos = usize::from(body.u16()?);
    let mut fixed = Cursor::new(body.bytes(to_inline_qos)?, body.order());
    Ok((fixed.entity()?, fixed.entity()?, fixed.sequence()?, fixed))
}

fn inline_qos<'a>(flags: u8, body: &mut Cursor<'a>) -> Parsed<Option<ParameterList<'a>>> {
    if flags & flag::INLINE_QOS == 0 {
        return Ok(None);
    }
    ParameterList::read(body).map(Some)
}

fn data<'a>(flags: u8, body: &mut Cursor<'a>) -> Parsed<Data<'a>> {
    let (reader, writer, sequence, _) = addressed(body)?;
    let inline_qos = inline_qos(flags, body)?;
    let payload = match (flags & flag::DATA != 0, flags & flag::KEY != 0) {
        (false, false) => Payload::None,
        (true, true) => return Err("sample and key flags both set"),
        _ if body.rest().len() < ENCAPSULATION_LEN => return Err("payload shorter than its encapsulation"),
        (true, false) => Payload::Data(body.rest()),
        (false, true) => Payload::Key(body.rest()),
    };
    Ok(Data { reader, writer, sequence, inline_qos, payload })
}

fn data_frag<'a>(flags: u8, body: &mut Cursor<'a>) -> Parsed<DataFrag<'a>> {
    let (reader, writer, sequence, mut fixed) = addressed(body)?;
    let (first_fragment, fragment_count) = (fixed.fragment()?, fixed.u16()?);
    let (fragment_size, sample_size) = (fixed.u16()?, fixed.u32()?);
    let inline_qos = inline_qos(flags, body)?;
    if fragment_count == 0 || fragment_size == 0 {
        return Err("no fragments, or fragments of no octets");
    }
    if u32::from(fragment_size) > sample_size {
        return Err("fragments larger than their sample");
    }
    let is_key = flags & flag::FRAGMENTED_KEY != 0;
    let mut frag = DataFrag {
        reader,
        writer,
        sequence,
        first_fragment,
        fragment_count,
        fragment_size,
        sample_size,
        inline_qos,
        is_key,
        bytes: &[],
    };
    let end = u64::from(first_fragment.0) - 1 + u64::from(fragment_count);
    if end > u64::from(frag.total()) {
        return Err("fragments beyond the end of their sample");
    }
    // The last fragment of a sample may be short, and padding to a multiple of 4 may follow.
    let full = u64::from(fragment_count) * u64::from(fragment_size);
    let covered = full.min(u64::from(sample_size) - frag.offset());
    let sent = body.rest();
    if u64::try_from(sent.len()).map_or(true, |sent| sent > full.next_multiple_of(4)) {
        return Err("more octets than its fragments");
    }
    frag.bytes = usize::try_from(covered).ok().and_then(|covered| sent.get(..covered)).ok_or(FEW_OCTETS)?;
    Ok(frag)
}

fn heartbeat(flags: u8, body: &mut Cursor<'_>) -> Parsed<Heartbeat> {
    let heartbeat = Heartbeat {
        reader: body.entity()?,
        writer: body.entity()?,
        first: body.sequence()?,
        last: body.sequence_or_zero()?,
        count: body.u32()?,
        is_final: flags & flag::FINAL != 0,
        is_liveliness: flags & flag::LIVELINESS != 0,
    };
    if heartbeat.last < heartbeat.first.previous() {
        return Err("last number below the first");
    }
    Ok(heartbeat)
}

fn acknack(flags: u8, body: &mut Cursor<'_>) -> Parsed<AckNack> {
    let (reader, writer) = (body.entity()?, body.entity()?);
    let missing = sequence_set(body)?;
    if missing.base() == SequenceNumber::ZERO && !missing.is_empty() {
        return Err("number set based on zero");
    }
    Ok(AckNack { reader, writer, missing, count: body.u32()?, is_final: flags & flag::FINAL != 0 })
}

fn gap(body: &mut Cursor<'_>) -> Parsed<Gap> {
    let gap = Gap {
        reader: body.entity()?,
        writer: body.entity()?,
        start: body.sequence()?,
        list: sequence_set(body)?,
    };
    if gap.list.base() == SequenceNumber::ZERO {
        return Err("number set based on zero");
    }
    Ok(gap)
}

fn sequence_set(body: &mut Cursor<'_>) -> Parsed<SequenceNumberSet> {
    let base = body.sequence_or_zero()?;
    let (count, words) = set_words(body)?;
    SequenceNumberSet::from_words(base, count, words.into_iter()).map_err(|_| WIDE_SET)
}

fn fragment_set(body: &mut Cursor<'_>) -> Parsed<FragmentNumberSet> {
    let base = body.fragment()?;
    let (count, words) = set_words(body)?;
    FragmentNumberSet::from_words(base, count, words.into_iter()).map_err(|_| WIDE_SET)
}

/// The bits of a number set. Bits after `count` in the last word are cleared: they stand for nothing.
fn set_words(body: &mut Cursor<'_>) -> Parsed<(u32, [u32; 8])> {
    let count = body.u32()?;
    if count > 256 {
        return Err(WIDE_SET);
    }
    let mut words = [0; 8];
    let mut left = count;
    for word in words.iter_mut().take(count.div_ceil(32) as usize) {
        let used = left.min(32);
        *word = body.u32()? & u32::MAX << (32 - used);
        left -= used;
    }
    Ok((count, words))
}

/// The octets of an encapsulation header.
const ENCAPSULATION_LEN: usize = 4;
const WIDE_SET: &str = "number set of more than 256 bits";
const FEW_OCTETS: &str = "fewer octets than its fragments";

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn message(submessages: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = b"RTPS\x02\x03\x01\x0f".to_vec();
        bytes.extend_from_slice(&[9; 12]);
        for (kind, body) in submessages {
            bytes.extend_from_slice(&[*kind, 1, u8::try_from(body.len()).unwrap(), 0]);
            bytes.extend_from_slice(body);
        }
        bytes
    }

    /// Only a datagram addressed to one participant from its first submessage on has a sole destination.
    #[test]
    fn sole_destination_is_exact() {
        let (a, b) = ([1; 12], [2; 12]);
        let data: (u8, &[u8]) = (kind::DATA, &[0; 24]);
        let to = |prefix: &'static [u8]| (kind::INFO_DESTINATION, prefix);
        let (to_a, to_b) = (to(&[1; 12]), to(&[2; 12]));
        assert_eq!(sole_destination(&message(&[to_a, data])), Some(GuidPrefix(a)));
        assert_eq!(sole_destination(&message(&[to_b, data, to_b, data])), Some(GuidPrefix(b)));
        assert_eq!(sole_destination(&message(&[data, to_a])), None);
        assert_eq!(sole_destination(&message(&[to_a, data, to_b, data])), None);
        assert_eq!(sole_destination(&message(&[to(&[0; 12]), data])), None);
        assert_eq!(sole_destination(&message(&[to(&[1; 8])])), None);
        assert_eq!(sole_destination(&[]), None);
    }

    /// A submessage without a body ends the datagram only where its kind cannot be empty.
    #[test]
    fn empty_submessages_do_not_hide_a_second_destination() {
        let to = |prefix: &'static [u8]| (kind::INFO_DESTINATION, prefix);
        let (to_a, to_b) = (to(&[1; 12]), to(&[2; 12]));
        for kind in [kind::PAD, kind::INFO_TIMESTAMP] {
            assert_eq!(sole_destination(&message(&[to_a, (kind, &[]), to_b])), None);
        }
        let last = message(&[to_a, (kind::DATA, &[]), to_b]);
        assert_eq!(sole_destination(&last), Some(GuidPrefix([1; 12])));
    }
}
