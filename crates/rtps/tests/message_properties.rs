//! Properties of messages: hostile bytes never panic, what is written is read again, and both byte orders read alike.
//!
//! What is read comes from an encoder that shares nothing with the crate, so it checks the crate's writer as well.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod encoder;

use encoder::{Content, Fragments, PREFIX, Sent, encode};
use proptest::collection::vec;
use proptest::prelude::*;
use rtps::message::{
    AckNack, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, InlineQos, MessageReader, MessageWriter,
    NackFrag, Payload, StatusInfo, Submessage,
};
use rtps::parameter::ParameterList;
use rtps::{
    EntityId, FragmentNumber, FragmentNumberSet, GuidPrefix, SequenceNumber, SequenceNumberSet, WireTime,
};

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
