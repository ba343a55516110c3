//! Submessages that are only read, and those that contradict themselves.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod encoder;

use encoder::{Encoder, PREFIX, Sent, encode};
use rtps::Locator;
use rtps::message::{MessageReader, Submessage};

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

/// Bits after the count stand for nothing, also when the set is widened later.
#[test]
fn bits_after_the_count_are_cleared() {
    let mut encoder = Encoder { out: encode(&[], false), big: false };
    encoder.submessage(0x06, 0, |out| {
        [0, 0, 0, 5, 33, u32::MAX, u32::MAX, 1].into_iter().for_each(|word| out.u32(word));
    });
    let (_, mut reader) = MessageReader::new(&encoder.out).unwrap();
    let Some(Ok(Submessage::AckNack(ack))) = reader.next() else { panic!("no acknowledgement") };
    assert_eq!(ack.missing.words().collect::<Vec<_>>(), [u32::MAX, 1 << 31]);
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
