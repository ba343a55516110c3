//! An encoder of the tests' own, after the layouts of RTPS 9.4.5, in either byte order.
#![allow(dead_code, clippy::panic, reason = "each test file uses a part of it; all of it is test code")]

use rtps::message::{
    AckNack, DataFrag, Gap, Heartbeat, HeartbeatFrag, InlineQos, NackFrag, Payload, StatusInfo,
};
use rtps::{EntityId, FragmentNumber, GuidPrefix, SequenceNumber, WireTime};

/// Who sends the messages.
pub(crate) const PREFIX: GuidPrefix = GuidPrefix([1, 126, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

/// A submessage that can be sent, owning its octets.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Data { reader: EntityId, writer: EntityId, sequence: SequenceNumber, inline: InlineQos, payload: Content },
    Frag(Fragments),
    Heartbeat(Heartbeat),
    HeartbeatFrag(HeartbeatFrag),
    AckNack(AckNack),
    NackFrag(NackFrag),
    Gap(Gap),
    Timestamp(WireTime),
    Destination(GuidPrefix),
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    None,
    Data(Vec<u8>),
    Key(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(crate) struct Fragments {
    pub(crate) reader: EntityId,
    pub(crate) writer: EntityId,
    pub(crate) sequence: SequenceNumber,
    pub(crate) first: u32,
    pub(crate) count: u16,
    pub(crate) size: u16,
    pub(crate) sample_size: u32,
    pub(crate) is_key: bool,
    pub(crate) inline: InlineQos,
    pub(crate) bytes: Vec<u8>,
}

impl Fragments {
    pub(crate) fn borrow(&self) -> DataFrag<'_> {
        DataFrag {
            reader: self.reader,
            writer: self.writer,
            sequence: self.sequence,
            first_fragment: FragmentNumber(self.first),
            fragment_count: self.count,
            fragment_size: self.size,
            sample_size: self.sample_size,
            inline_qos: None,
            is_key: self.is_key,
            bytes: &self.bytes,
        }
    }
}

impl Content {
    pub(crate) fn borrow(&self) -> Payload<'_> {
        match self {
            Self::None => Payload::None,
            Self::Data(bytes) => Payload::Data(bytes),
            Self::Key(bytes) => Payload::Key(bytes),
        }
    }
}

/// Encodes in one byte order.
pub(crate) struct Encoder {
    pub(crate) out: Vec<u8>,
    pub(crate) big: bool,
}

impl Encoder {
    pub(crate) fn u16(&mut self, number: u16) {
        self.out.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.out.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    pub(crate) fn sequence(&mut self, number: SequenceNumber) {
        self.u32((number.0 >> 32) as u32);
        self.u32(number.0 as u32);
    }

    pub(crate) fn ids(&mut self, reader: EntityId, writer: EntityId) {
        self.out.extend(reader.0);
        self.out.extend(writer.0);
    }

    pub(crate) fn set(&mut self, count: u32, words: impl Iterator<Item = u32>) {
        self.u32(count);
        words.for_each(|word| self.u32(word));
    }

    pub(crate) fn inline(&mut self, inline: &InlineQos) {
        if inline.is_empty() {
            return;
        }
        if let Some(hash) = inline.key_hash {
            self.u16(0x70);
            self.u16(16);
            self.out.extend(hash);
        }
        if inline.status != StatusInfo::default() {
            self.u16(0x71);
            self.u16(4);
            let (disposed, unregistered) =
                (u8::from(inline.status.disposed), u8::from(inline.status.unregistered));
            self.out.extend([0, 0, 0, disposed + 2 * unregistered]);
        }
        self.u16(1);
        self.u16(0);
    }

    pub(crate) fn submessage(&mut self, kind: u8, flags: u8, body: impl FnOnce(&mut Self)) {
        self.out.extend([kind, flags | u8::from(!self.big)]);
        let mut inner = Self { out: Vec::new(), big: self.big };
        body(&mut inner);
        while !inner.out.len().is_multiple_of(4) {
            inner.out.push(0);
        }
        self.u16(u16::try_from(inner.out.len()).unwrap_or(0));
        self.out.append(&mut inner.out);
    }

    pub(crate) fn sent(&mut self, sent: &Sent) {
        match sent {
            Sent::Data { reader, writer, sequence, inline, payload } => {
                let q = if inline.is_empty() { 0 } else { 2 };
                let (flag, bytes): (u8, &[u8]) = match payload {
                    Content::None => (0, &[]),
                    Content::Data(bytes) => (4, bytes),
                    Content::Key(bytes) => (8, bytes),
                };
                self.submessage(0x15, q | flag, |out| {
                    out.u16(0);
                    out.u16(16);
                    out.ids(*reader, *writer);
                    out.sequence(*sequence);
                    out.inline(inline);
                    out.out.extend(bytes);
                });
            }
            Sent::Frag(frag) => {
                let flags = if frag.inline.is_empty() { 0 } else { 2 } | if frag.is_key { 4 } else { 0 };
                self.submessage(0x16, flags, |out| {
                    out.u16(0);
                    out.u16(28);
                    out.ids(frag.reader, frag.writer);
                    out.sequence(frag.sequence);
                    out.u32(frag.first);
                    out.u16(frag.count);
                    out.u16(frag.size);
                    out.u32(frag.sample_size);
                    out.inline(&frag.inline);
                    out.out.extend(&frag.bytes);
                });
            }
            other => self.control(other),
        }
    }

    pub(crate) fn control(&mut self, sent: &Sent) {
        match sent {
            Sent::Data { .. } | Sent::Frag(_) => panic!("not a control submessage"),
            Sent::Heartbeat(h) => {
                self.submessage(0x07, 2 * u8::from(h.is_final) + 4 * u8::from(h.is_liveliness), |out| {
                    out.ids(h.reader, h.writer);
                    out.sequence(h.first);
                    out.sequence(h.last);
                    out.u32(h.count);
                });
            }
            Sent::HeartbeatFrag(h) => self.submessage(0x13, 0, |out| {
                out.ids(h.reader, h.writer);
                out.sequence(h.sequence);
                out.u32(h.last_fragment.0);
                out.u32(h.count);
            }),
            Sent::AckNack(a) => self.submessage(0x06, 2 * u8::from(a.is_final), |out| {
                out.ids(a.reader, a.writer);
                out.sequence(a.missing.base());
                out.set(a.missing.bit_count(), a.missing.words());
                out.u32(a.count);
            }),
            Sent::NackFrag(n) => self.submessage(0x12, 0, |out| {
                out.ids(n.reader, n.writer);
                out.sequence(n.sequence);
                out.u32(n.missing.base().0);
                out.set(n.missing.bit_count(), n.missing.words());
                out.u32(n.count);
            }),
            Sent::Gap(g) => self.submessage(0x08, 0, |out| {
                out.ids(g.reader, g.writer);
                out.sequence(g.start);
                out.sequence(g.list.base());
                out.set(g.list.bit_count(), g.list.words());
            }),
            Sent::Timestamp(time) => self.submessage(0x09, 0, |out| {
                out.u32(time.seconds as u32);
                out.u32(time.fraction);
            }),
            Sent::Destination(prefix) => self.submessage(0x0e, 0, |out| out.out.extend(prefix.0)),
        }
    }
}

/// A message of these submessages.
pub(crate) fn encode(sent: &[Sent], big: bool) -> Vec<u8> {
    let mut encoder = Encoder { out: b"RTPS\x02\x03\x01\x7e".to_vec(), big };
    encoder.out.extend(PREFIX.0);
    sent.iter().for_each(|sent| encoder.sent(sent));
    encoder.out
}
