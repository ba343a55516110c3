//! Writing a datagram, always little-endian.

use super::{
    AckNack, DataFrag, Gap, HEADER_LEN, Heartbeat, HeartbeatFrag, NackFrag, PROTOCOL_VERSION, Payload, flag,
    kind,
};
use crate::parameter::{ParameterListWriter, StatusInfo, pid};
use crate::{EntityId, GuidPrefix, SequenceNumber, VENDOR_STILLWATT, VendorId, WireTime};
use alloc::vec::Vec;

/// The parameters that we send with a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlineQos {
    /// Which instance the change belongs to.
    pub key_hash: Option<[u8; 16]>,
    /// What happened to the instance, when the change is not a sample.
    pub status: StatusInfo,
}

impl InlineQos {
    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.key_hash.is_none() && self.status == StatusInfo::default()
    }

    fn flag(&self) -> u8 {
        if self.is_empty() { 0 } else { flag::INLINE_QOS }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        let mut list = ParameterListWriter::new(out);
        if let Some(hash) = &self.key_hash {
            list.bytes(pid::KEY_HASH, hash);
        }
        if self.status != StatusInfo::default() {
            list.bytes(pid::STATUS_INFO, &self.status.to_bytes());
        }
        list.finish();
    }
}

/// Appends submessages to a datagram. Reusing the buffer means that writing does not allocate.
#[derive(Debug)]
pub struct MessageWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> MessageWriter<'a> {
    /// Clears the buffer and writes the header: protocol version 2.3, our vendor id, the sending participant.
    pub fn new(out: &'a mut Vec<u8>, prefix: GuidPrefix) -> Self {
        Self::of_vendor(out, VENDOR_STILLWATT, prefix)
    }

    /// The same with the vendor id of another implementation, for what is sent on in its name.
    pub fn of_vendor(out: &'a mut Vec<u8>, vendor: VendorId, prefix: GuidPrefix) -> Self {
        out.clear();
        out.extend_from_slice(b"RTPS");
        out.extend_from_slice(&PROTOCOL_VERSION);
        out.extend_from_slice(&vendor.0);
        out.extend_from_slice(&prefix.0);
        Self { out }
    }

    /// Continues a message that was begun before: further submessages go after those already in `out`.
    pub fn append(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// The octets written so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether no submessage was written yet.
    pub fn is_empty(&self) -> bool {
        self.out.len() <= HEADER_LEN
    }

    /// Addresses what follows to one participant, or to all with [`GuidPrefix::UNKNOWN`].
    pub fn info_destination(&mut self, prefix: GuidPrefix) {
        self.submessage(kind::INFO_DESTINATION, 0, |out| out.extend_from_slice(&prefix.0));
    }

    /// Gives what follows a source time.
    pub fn info_timestamp(&mut self, time: WireTime) {
        self.submessage(kind::INFO_TIMESTAMP, 0, |out| {
            put_u32(out, time.seconds.cast_unsigned());
            put_u32(out, time.fraction);
        });
    }

    /// Writes a change.
    ///
    /// A payload holds its encapsulation header and is padded to a multiple of 4. A submessage longer than 65,535
    /// octets gets the length 0, "to the end of the message": it must then be the last one of its message.
    pub fn data(
        &mut self,
        reader: EntityId,
        writer: EntityId,
        sequence: SequenceNumber,
        inline: &InlineQos,
        payload: Payload<'_>,
    ) {
        let (payload_flag, bytes): (u8, &[u8]) = match payload {
            Payload::None => (0, &[]),
            Payload::Data(bytes) => (flag::DATA, bytes),
            Payload::Key(bytes) => (flag::KEY, bytes),
        };
        self.submessage(kind::DATA, payload_flag | inline.flag(), |out| {
            // No extra flags, then the offset of the inline QoS: past two entity ids and the sequence number.
            out.extend_from_slice(&[0, 0, 16, 0]);
            put_addressed(out, reader, writer, sequence);
            inline.write(out);
            out.extend_from_slice(bytes);
        });
    }

    /// Writes fragments of a sample. `frag.inline_qos` is not used: `inline` is written in its place.
    pub fn data_frag(&mut self, frag: &DataFrag<'_>, inline: &InlineQos) {
        let key_flag = if frag.is_key { flag::FRAGMENTED_KEY } else { 0 };
        self.submessage(kind::DATA_FRAG, key_flag | inline.flag(), |out| {
            out.extend_from_slice(&[0, 0, 28, 0]);
            put_addressed(out, frag.reader, frag.writer, frag.sequence);
            put_u32(out, frag.first_fragment.0);
            out.extend_from_slice(&frag.fragment_count.to_le_bytes());
            out.extend_from_slice(&frag.fragment_size.to_le_bytes());
            put_u32(out, frag.sample_size);
            inline.write(out);
            out.extend_from_slice(frag.bytes);
        });
    }

    /// Writes what a writer still has.
    pub fn heartbeat(&mut self, heartbeat: &Heartbeat) {
        let mut flags = if heartbeat.is_final { flag::FINAL } else { 0 };
        if heartbeat.is_liveliness {
            flags |= flag::LIVELINESS;
        }
        self.submessage(kind::HEARTBEAT, flags, |out| {
            put_addressed(out, heartbeat.reader, heartbeat.writer, heartbeat.first);
            put_sequence(out, heartbeat.last);
            put_u32(out, heartbeat.count);
        });
    }

    /// Writes which fragments a writer has.
    pub fn heartbeat_frag(&mut self, heartbeat: &HeartbeatFrag) {
        self.submessage(kind::HEARTBEAT_FRAG, 0, |out| {
            put_addressed(out, heartbeat.reader, heartbeat.writer, heartbeat.sequence);
            put_u32(out, heartbeat.last_fragment.0);
            put_u32(out, heartbeat.count);
        });
    }

    /// Writes what a reader has and misses.
    pub fn ack_nack(&mut self, ack: &AckNack) {
        self.submessage(kind::ACKNACK, if ack.is_final { flag::FINAL } else { 0 }, |out| {
            put_addressed(out, ack.reader, ack.writer, ack.missing.base());
            put_set(out, ack.missing.bit_count(), ack.missing.words());
            put_u32(out, ack.count);
        });
    }

    /// Writes which fragments a reader misses.
    pub fn nack_frag(&mut self, nack: &NackFrag) {
        self.submessage(kind::NACK_FRAG, 0, |out| {
            put_addressed(out, nack.reader, nack.writer, nack.sequence);
            put_u32(out, nack.missing.base().0);
            put_set(out, nack.missing.bit_count(), nack.missing.words());
            put_u32(out, nack.count);
        });
    }

    /// Writes which numbers will not come.
    pub fn gap(&mut self, gap: &Gap) {
        self.submessage(kind::GAP, 0, |out| {
            put_addressed(out, gap.reader, gap.writer, gap.start);
            put_sequence(out, gap.list.base());
            put_set(out, gap.list.bit_count(), gap.list.words());
        });
    }

    fn submessage(&mut self, kind: u8, flags: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(&[kind, flags | flag::LITTLE_ENDIAN, 0, 0]);
        let start = self.out.len();
        body(self.out);
        self.out.resize(self.out.len().next_multiple_of(4), 0);
        // Header and submessage headers are multiples of 4, so the end of the datagram is one too.
        let length = u16::try_from(self.out.len() - start).unwrap_or(0);
        if let Some(field) = self.out.get_mut(start - 2..start) {
            field.copy_from_slice(&length.to_le_bytes());
        }
    }
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_sequence(out: &mut Vec<u8>, number: SequenceNumber) {
    let [a, b, c, d, high @ ..] = number.0.to_le_bytes();
    out.extend_from_slice(&high);
    out.extend_from_slice(&[a, b, c, d]);
}

fn put_addressed(out: &mut Vec<u8>, reader: EntityId, writer: EntityId, number: SequenceNumber) {
    out.extend_from_slice(&reader.0);
    out.extend_from_slice(&writer.0);
    put_sequence(out, number);
}

fn put_set(out: &mut Vec<u8>, count: u32, words: impl Iterator<Item = u32>) {
    put_u32(out, count);
    words.for_each(|word| put_u32(out, word));
}
