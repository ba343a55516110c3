//! Properties of messages: hostile bytes never panic, what is written is read again, and both byte orders read alike.
//!
//! The encoder here follows the layouts of RTPS 9.4.5 on its own, in either byte order, so it checks the crate's
//! writer as well.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

use proptest::collection::vec;
use proptest::prelude::*;
use rtps::message::{
    AckNack, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, InlineQos, MessageReader, MessageWriter,
    NackFrag, Payload, StatusInfo, Submessage,
};
use rtps::parameter::ParameterList;
use rtps::{
    EntityId, FragmentNumber, FragmentNumberSet, GuidPrefix, Locator, SequenceNumber, SequenceNumberSet,
    WireTime,
};

/// A submessage that can be sent, owning its octets.
#[derive(Clone, Debug)]
enum Sent {
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
enum Content {
    None,
    Data(Vec<u8>),
    Key(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Fragments {
    reader: EntityId,
    writer: EntityId,
    sequence: SequenceNumber,
    first: u32,
    count: u16,
    size: u16,
    sample_size: u32,
    is_key: bool,
    inline: InlineQos,
    bytes: Vec<u8>,
}

impl Fragments {
    fn borrow(&self) -> DataFrag<'_> {
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
    fn borrow(&self) -> Payload<'_> {
        match self {
            Self::None => Payload::None,
            Self::Data(bytes) => Payload::Data(bytes),
            Self::Key(bytes) => Payload::Key(bytes),
        }
    }
}

/// Encodes in one byte order.
struct Encoder {
    out: Vec<u8>,
    big: bool,
}

impl Encoder {
    fn u16(&mut self, number: u16) {
        self.out.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    fn u32(&mut self, number: u32) {
        self.out.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    fn sequence(&mut self, number: SequenceNumber) {
        self.u32((number.0 >> 32) as u32);
        self.u32(number.0 as u32);
    }

    fn ids(&mut self, reader: EntityId, writer: EntityId) {
        self.out.extend(reader.0);
        self.out.extend(writer.0);
    }

    fn set(&mut self, count: u32, words: impl Iterator<Item = u32>) {
        self.u32(count);
        words.for_each(|word| self.u32(word));
    }

    fn inline(&mut self, inline: &InlineQos) {
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

    fn submessage(&mut self, kind: u8, flags: u8, body: impl FnOnce(&mut Self)) {
        self.out.extend([kind, flags | u8::from(!self.big)]);
        let mut inner = Self { out: Vec::new(), big: self.big };
        body(&mut inner);
        while !inner.out.len().is_multiple_of(4) {
            inner.out.push(0);
        }
        self.u16(u16::try_from(inner.out.len()).unwrap_or(0));
        self.out.append(&mut inner.out);
    }

    fn sent(&mut self, sent: &Sent) {
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

    fn control(&mut self, sent: &Sent) {
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

fn encode(sent: &[Sent], big: bool) -> Vec<u8> {
    let mut encoder = Encoder { out: b"RTPS\x02\x03\x01\x7e".to_vec(), big };
    encoder.out.extend(PREFIX.0);
    sent.iter().for_each(|sent| encoder.sent(sent));
    encoder.out
}

fn write(sent: &[Sent]) -> Vec<u8> {
    let mut out = vec![1, 2, 3];
    let mut writer = MessageWriter::new(&mut out, PREFIX);
    assert!(writer.is_empty());
    for sent in sent {
        match sent {
            Sent::Data { reader, writer: from, sequence, inline, payload } => {
                writer.data(*reader, *from, *sequence, inline, payload.borrow());
            }
            Sent::Frag(frag) => writer.data_frag(&frag.borrow(), &frag.inline),
            Sent::Heartbeat(heartbeat) => writer.heartbeat(heartbeat),
            Sent::HeartbeatFrag(heartbeat) => writer.heartbeat_frag(heartbeat),
            Sent::AckNack(ack) => writer.ack_nack(ack),
            Sent::NackFrag(nack) => writer.nack_frag(nack),
            Sent::Gap(gap) => writer.gap(gap),
            Sent::Timestamp(time) => writer.info_timestamp(*time),
            Sent::Destination(prefix) => writer.info_destination(*prefix),
        }
    }
    let length = writer.len();
    assert_eq!(length, out.len());
    out
}

/// Whether what was read is what was sent; payloads may be padded with zeros.
fn check(sent: &Sent, read: &Submessage<'_>) {
    match (sent, read) {
        (Sent::Data { reader, writer, sequence, inline, payload }, Submessage::Data(data)) => {
            let expected = Data {
                reader: *reader,
                writer: *writer,
                sequence: *sequence,
                inline_qos: data.inline_qos,
                payload: data.payload,
            };
            assert_eq!(&expected, data);
            check_inline(inline, data.inline_qos);
            match (payload, data.payload) {
                (Content::None, Payload::None) => {}
                (Content::Data(sent), Payload::Data(read)) | (Content::Key(sent), Payload::Key(read)) => {
                    assert_eq!(&read[..sent.len()], sent);
                    assert!(
                        read.len() < sent.len() + 4 && read[sent.len()..].iter().all(|octet| *octet == 0)
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        (Sent::Frag(sent), Submessage::DataFrag(read)) => {
            assert_eq!(DataFrag { inline_qos: read.inline_qos, ..sent.borrow() }, *read);
            check_inline(&sent.inline, read.inline_qos);
        }
        (Sent::Heartbeat(sent), Submessage::Heartbeat(read)) => assert_eq!(sent, read),
        (Sent::HeartbeatFrag(sent), Submessage::HeartbeatFrag(read)) => assert_eq!(sent, read),
        (Sent::AckNack(sent), Submessage::AckNack(read)) => assert_eq!(sent, read),
        (Sent::NackFrag(sent), Submessage::NackFrag(read)) => assert_eq!(sent, read),
        (Sent::Gap(sent), Submessage::Gap(read)) => assert_eq!(sent, read),
        (Sent::Timestamp(sent), Submessage::InfoTimestamp(read)) => assert_eq!(Some(*sent), *read),
        (Sent::Destination(sent), Submessage::InfoDestination(read)) => assert_eq!(sent, read),
        other => panic!("{other:?}"),
    }
}

fn check_inline(sent: &InlineQos, read: Option<ParameterList<'_>>) {
    assert_eq!(sent.is_empty(), read.is_none());
    assert_eq!(sent.key_hash, read.and_then(|list| list.key_hash()));
    assert_eq!(sent.status, read.map(|list| list.status_info()).unwrap_or_default());
}

fn check_all(sent: &[Sent], datagram: &[u8]) {
    let (header, reader) = MessageReader::new(datagram).unwrap();
    assert_eq!((header.version, header.prefix), ([2, 3], PREFIX));
    let read: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    assert_eq!(read.len(), sent.len());
    sent.iter().zip(&read).for_each(|(sent, read)| check(sent, read));
}

fn entity() -> impl Strategy<Value = EntityId> {
    any::<[u8; 4]>().prop_map(EntityId)
}

fn sequence() -> impl Strategy<Value = SequenceNumber> {
    (1..=i64::MAX as u64).prop_map(SequenceNumber)
}

fn inline() -> impl Strategy<Value = InlineQos> {
    (any::<Option<[u8; 16]>>(), any::<bool>(), any::<bool>()).prop_map(
        |(key_hash, disposed, unregistered)| InlineQos {
            key_hash,
            status: StatusInfo { disposed, unregistered },
        },
    )
}

fn content() -> impl Strategy<Value = Content> {
    let bytes = || vec(any::<u8>(), 4..300);
    prop_oneof![Just(Content::None), bytes().prop_map(Content::Data), bytes().prop_map(Content::Key)]
}

fn sequence_set() -> impl Strategy<Value = SequenceNumberSet> {
    (sequence(), vec(0u64..256, 0..20)).prop_map(|(base, numbers)| {
        let mut set = SequenceNumberSet::empty(base);
        for number in numbers {
            set.insert(SequenceNumber(base.0.saturating_add(number)));
        }
        set
    })
}

fn fragment_set() -> impl Strategy<Value = FragmentNumberSet> {
    (1..=u32::MAX, vec(0u32..256, 0..20)).prop_map(|(base, numbers)| {
        let mut set = FragmentNumberSet::empty(FragmentNumber(base));
        for number in numbers {
            set.insert(FragmentNumber(base.saturating_add(number)));
        }
        set
    })
}

fn fragments() -> impl Strategy<Value = Fragments> {
    (
        entity(),
        entity(),
        sequence(),
        inline(),
        any::<bool>(),
        1u16..50,
        1u32..20,
        0u32..50,
        any::<(u32, u16)>(),
    )
        .prop_map(|(reader, writer, sequence, inline, is_key, size, whole, tail, (first, count))| {
            let sample_size = u32::from(size) * whole + tail % u32::from(size);
            let total = sample_size.div_ceil(u32::from(size));
            let first = 1 + first % total;
            let count = 1 + count % u16::try_from(total - first + 1).unwrap();
            let start = (first - 1) * u32::from(size);
            let length = (u32::from(size) * u32::from(count)).min(sample_size - start);
            let bytes = (start..start + length).map(|octet| octet as u8).collect();
            Fragments { reader, writer, sequence, first, count, size, sample_size, is_key, inline, bytes }
        })
}

fn heartbeat() -> impl Strategy<Value = Heartbeat> {
    (entity(), entity(), sequence(), any::<(u32, u32, bool, bool)>()).prop_map(
        |(reader, writer, first, (more, count, is_final, is_liveliness))| {
            let last = first.previous().0.saturating_add(u64::from(more)).min(i64::MAX as u64);
            Heartbeat { reader, writer, first, last: SequenceNumber(last), count, is_final, is_liveliness }
        },
    )
}

fn sent() -> impl Strategy<Value = Sent> {
    let ids = || (entity(), entity());
    prop_oneof![
        (ids(), sequence(), inline(), content()).prop_map(|((reader, writer), sequence, inline, payload)| {
            Sent::Data { reader, writer, sequence, inline, payload }
        }),
        fragments().prop_map(Sent::Frag),
        heartbeat().prop_map(Sent::Heartbeat),
        (ids(), sequence(), 1..=u32::MAX, any::<u32>()).prop_map(
            |((reader, writer), sequence, last, count)| {
                let last_fragment = FragmentNumber(last);
                Sent::HeartbeatFrag(HeartbeatFrag { reader, writer, sequence, last_fragment, count })
            }
        ),
        (ids(), sequence_set(), any::<u32>(), any::<bool>()).prop_map(
            |((reader, writer), missing, count, is_final)| {
                Sent::AckNack(AckNack { reader, writer, missing, count, is_final })
            }
        ),
        (ids(), sequence(), fragment_set(), any::<u32>()).prop_map(
            |((reader, writer), sequence, missing, count)| {
                Sent::NackFrag(NackFrag { reader, writer, sequence, missing, count })
            }
        ),
        (ids(), sequence(), sequence_set()).prop_map(|((reader, writer), start, list)| Sent::Gap(Gap {
            reader,
            writer,
            start,
            list
        })),
        any::<(i32, u32)>().prop_map(|(seconds, fraction)| Sent::Timestamp(WireTime { seconds, fraction })),
        any::<[u8; 12]>().prop_map(|prefix| Sent::Destination(GuidPrefix(prefix))),
    ]
}

/// Reads everything that can be read.
fn drain(datagram: &[u8]) {
    let Ok((_, reader)) = MessageReader::new(datagram) else { return };
    for submessage in reader {
        match submessage {
            Ok(Submessage::Data(data)) => drain_list(data.inline_qos),
            Ok(Submessage::DataFrag(frag)) => {
                drain_list(frag.inline_qos);
                assert!(frag.offset() + frag.bytes.len() as u64 <= u64::from(frag.sample_size));
            }
            Ok(Submessage::AckNack(ack)) => assert!(ack.missing.iter().count() <= 256),
            Ok(Submessage::NackFrag(nack)) => assert!(nack.missing.iter().count() <= 256),
            Ok(Submessage::Gap(gap)) => assert!(gap.list.iter().count() <= 256),
            Ok(Submessage::InfoReply { unicast, multicast }) => {
                assert!(unicast.iter().chain(multicast.iter()).count() * 24 <= datagram.len());
            }
            _ => {}
        }
    }
}

fn drain_list(list: Option<ParameterList<'_>>) {
    if let Some(list) = list {
        let _ = (list.iter().count(), list.key_hash(), list.status_info());
    }
}

proptest! {
    /// Any octets after a header are read to an end without a panic.
    #[test]
    fn any_octets_are_survived(body in vec(any::<u8>(), 0..400)) {
        drain(&body);
        drain(&[&encode(&[], false)[..], &body].concat());
    }

    /// Valid submessages with some octets changed, and cut anywhere, are survived.
    #[test]
    fn damaged_messages_are_survived(
        sent in vec(sent(), 1..4),
        big: bool,
        changes in vec(any::<(prop::sample::Index, u8)>(), 0..8),
        cut: prop::sample::Index,
    ) {
        let mut datagram = encode(&sent, big);
        for (place, octet) in changes {
            let place = place.index(datagram.len());
            datagram[place] = octet;
        }
        drain(&datagram);
        drain(&datagram[..cut.index(datagram.len())]);
    }

    /// What is written is read again, and is what the layout of the standard says.
    #[test]
    fn written_submessages_are_read(sent in vec(sent(), 0..6)) {
        let datagram = write(&sent);
        check_all(&sent, &datagram);
        prop_assert_eq!(datagram, encode(&sent, false));
    }

    /// Big-endian submessages are read as well as little-endian ones.
    #[test]
    fn big_endian_submessages_are_read(sent in vec(sent(), 0..6)) {
        check_all(&sent, &encode(&sent, true));
    }
}

/// A submessage that is too long for its length field ends the message, and reads back whole.
#[test]
fn long_samples_take_the_rest_of_the_message() {
    let sent = [
        Sent::Timestamp(WireTime { seconds: 1, fraction: 2 }),
        Sent::Data {
            reader: EntityId::UNKNOWN,
            writer: EntityId([0, 0, 1, 2]),
            sequence: SequenceNumber(7),
            inline: InlineQos::default(),
            payload: Content::Data(vec![5; 70_001]),
        },
    ];
    let datagram = write(&sent);
    assert_eq!(datagram[32..36], [0x15, 0x05, 0, 0]);
    check_all(&sent, &datagram);
}

/// The bodies of the read-only submessages.
#[test]
fn source_and_reply_are_read() {
    let mut encoder = Encoder { out: encode(&[], true), big: true };
    encoder.submessage(0x0c, 0, |out| {
        out.u32(0);
        out.out.extend([2, 1, 1, 3]);
        out.out.extend([9; 12]);
    });
    encoder.submessage(0x0f, 2, |out| {
        for port in [7410u32, 7400] {
            out.u32(1);
            out.u32(1);
            out.u32(port);
            out.out.extend([0; 12]);
            out.out.extend([10, 0, 0, 1]);
        }
    });
    encoder.submessage(0x09, 2, |_| {});
    encoder.submessage(0x01, 0, |_| {});
    let (_, reader) = MessageReader::new(&encoder.out).unwrap();
    let read: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    let [
        Submessage::InfoSource { version, vendor, prefix },
        Submessage::InfoReply { unicast, multicast },
        rest @ ..,
    ] = &read[..]
    else {
        panic!("{read:?}")
    };
    assert_eq!((*version, vendor.0, prefix.0), ([2, 1], [1, 3], [9; 12]));
    assert_eq!(unicast.iter().collect::<Vec<_>>(), [Locator::udp_v4([10, 0, 0, 1], 7410)]);
    assert_eq!(multicast.iter().collect::<Vec<_>>(), [Locator::udp_v4([10, 0, 0, 1], 7400)]);
    assert_eq!(rest, [Submessage::InfoTimestamp(None), Submessage::Pad]);
}

/// Reads the only submessage, given as kind, flags and little-endian words.
fn read_words(kind: u8, flags: u8, words: &[u32]) -> Result<(), &'static str> {
    let mut encoder = Encoder { out: encode(&[], false), big: false };
    encoder.submessage(kind, flags, |out| words.iter().for_each(|word| out.u32(*word)));
    let (_, mut reader) = MessageReader::new(&encoder.out).unwrap();
    reader.next().unwrap().map(|_| ()).map_err(|malformed| malformed.reason)
}

/// Sets: the reader's first call (base 0, no bits) is accepted, bits on base 0, negative bases and more than 256 bits
/// are not, and a set must be there in full.
#[test]
fn number_sets_are_bounded() {
    assert_eq!(read_words(0x06, 1, &[0, 0, 0, 0, 0, 1]), Ok(()));
    assert!(read_words(0x06, 1, &[0, 0, 0, 0, 1, 1 << 31, 1]).is_err());
    assert!(read_words(0x06, 1, &[0, 0, u32::MAX, 5, 0, 1]).is_err());
    let wide: Vec<u32> = [0, 0, 0, 5, 257].into_iter().chain([0; 10]).collect();
    assert_eq!(read_words(0x06, 1, &wide), Err("number set of more than 256 bits"));
    assert_eq!(read_words(0x06, 1, &[0, 0, 0, 5, u32::MAX, 0, 0]), Err("number set of more than 256 bits"));
    assert!(read_words(0x06, 1, &[0, 0, 0, 5, 64, 0, 1]).is_err());
    assert!(read_words(0x08, 1, &[0, 0, 0, 0, 0, 5, 0]).is_err(), "gap from zero");
    assert!(read_words(0x08, 1, &[0, 0, 0, 1, 0, 0, 0]).is_err(), "gap list from zero");
    assert_eq!(read_words(0x08, 1, &[0, 0, 0, 1, 0, 5, 0]), Ok(()));
    assert!(read_words(0x12, 1, &[0, 0, 0, 1, 0, 0, 1]).is_err(), "fragments from zero");
}

/// Fragment fields must fit each other and the octets.
#[test]
fn fragment_fields_must_fit() {
    // Extra flags and offset, ids, sequence 1, first, count and size, sample size, two words of octets.
    let read = |first: u32, count: u32, size: u32, sample: u32| {
        read_words(0x16, 1, &[28 << 16, 0, 0, 0, 1, first, count | size << 16, sample, 0, 0])
    };
    assert_eq!(read(1, 1, 8, 100), Ok(()));
    assert_eq!(read(1, 2, 4, 8), Ok(()));
    assert_eq!(read(3, 2, 4, 16), Ok(()));
    for (first, count, size, sample) in [
        (0, 1, 8, 100),
        (1, 0, 8, 100),
        (1, 1, 0, 100),
        (1, 1, 8, 0),
        (1, 1, 8, 7),
        (4, 2, 4, 16),
        (u32::MAX, u32::from(u16::MAX), 8, u32::MAX),
        (1, 2, 8, 100),
        (1, 1, 4, 100),
    ] {
        assert!(read(first, count, size, sample).is_err(), "{first} {count} {size} {sample}");
    }
}

/// Both payload flags at once, a payload without encapsulation, and a length beyond the end are malformed.
#[test]
fn contradicting_data_is_malformed() {
    assert_eq!(read_words(0x15, 0x04, &[16 << 16, 0, 0, 0, 1, 0x0300]), Ok(()));
    assert!(read_words(0x15, 0x0c, &[16 << 16, 0, 0, 0, 1, 0x0300]).is_err());
    assert!(read_words(0x15, 0x04, &[16 << 16, 0, 0, 0, 1]).is_err());
    let mut datagram = encode(&[Sent::Destination(PREFIX)], false);
    datagram.pop();
    let (_, mut reader) = MessageReader::new(&datagram).unwrap();
    assert!(reader.next().unwrap().is_err() && reader.next().is_none());
}

const PREFIX: GuidPrefix = GuidPrefix([1, 126, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
