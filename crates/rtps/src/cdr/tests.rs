//! What CDR looks like octet by octet, and what hostile octets do to the decoder.

use super::*;
use crate::types::{DynamicValue, Type, Value};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// An enum with a gap, the first enumerator not the least.
#[derive(Cdr, Clone, Copy, Debug, PartialEq)]
enum Quality {
    Measured = 5,
    Modelled,
    Absent = 1,
}

/// A struct with a key of its own.
#[derive(Cdr, Clone, Debug, PartialEq)]
#[dds(name = "test::Place")]
struct Place {
    #[dds(key)]
    rack: u16,
    label: String,
    #[dds(key)]
    slot: u8,
}

/// A struct without a key.
#[derive(Cdr, Clone, Debug, PartialEq)]
struct Pair {
    low: f32,
    high: f64,
}

/// Every kind of member.
#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(name = "test::Everything", crate = crate)]
struct Everything {
    flag: bool,
    small: i8,
    #[dds(key)]
    place: Place,
    short: u16,
    #[dds(key, max = 15)]
    node: String,
    signed: i16,
    letter: char,
    wide: u64,
    quality: Quality,
    offset: i64,
    count: u32,
    blob: Vec<u8>,
    delta: i32,
    grid: [[u16; 3]; 2],
    mac: [u8; 6],
    #[dds(max = 4)]
    pairs: Vec<Pair>,
    names: [String; 2],
    levels: Vec<f64>,
    #[dds(key)]
    pair: Pair,
    qualities: Vec<Quality>,
    nested: Vec<Vec<i16>>,
    flags: Vec<bool>,
    r#type: u8,
}

/// Without a key; its layout exercises the padding rules.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Padded {
    a: u8,
    b: f64,
    c: u8,
    d: u32,
    e: u16,
    f: String,
    g: u8,
    h: Vec<u64>,
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Zäöü€0-9 ]{0,5}"
}

fn pair() -> impl Strategy<Value = Pair> {
    (-1e9f32..1e9, -1e9f64..1e9).prop_map(|(low, high)| Pair { low, high })
}

fn quality() -> impl Strategy<Value = Quality> {
    prop_oneof![Just(Quality::Measured), Just(Quality::Modelled), Just(Quality::Absent)]
}

prop_compose! {
    fn everything()(
        (flag, small, short, signed, wide, offset, count) in
            any::<(bool, i8, u16, i16, u64, i64, u32)>(),
        (rack, label, slot, node, letter) in (any::<u16>(), text(), any::<u8>(), text(), "[ -~]"),
        (quality, blob, delta, grid, mac, r#type) in
            (quality(), prop::collection::vec(any::<u8>(), 0..9), any::<i32>(), any::<[[u16; 3]; 2]>(), any::<[u8; 6]>(), any::<u8>()),
        (pairs, names, levels, pair) in (
            prop::collection::vec(pair(), 0..=4),
            [text(), text()],
            prop::collection::vec(-1e9f64..1e9, 0..9),
            pair(),
        ),
        (qualities, nested, flags) in (
            prop::collection::vec(quality(), 0..4),
            prop::collection::vec(prop::collection::vec(any::<i16>(), 0..4), 0..4),
            prop::collection::vec(any::<bool>(), 0..4),
        ),
    ) -> Everything {
        Everything {
            flag, small, place: Place { rack, label, slot }, short, node, signed,
            letter: letter.chars().next().unwrap(), wide, quality, offset, count, blob, delta, grid, mac,
            pairs, names, levels, pair, qualities, nested, flags, r#type,
        }
    }
}

const LAYOUTS: [(Endianness, Representation); 4] = [
    (Endianness::Big, Representation::Xcdr1),
    (Endianness::Little, Representation::Xcdr1),
    (Endianness::Big, Representation::Xcdr2),
    (Endianness::Little, Representation::Xcdr2),
];

proptest! {
    /// Every sample comes back from every layout, wherever in a buffer it starts, and the dynamic type of the same
    /// struct reads it and writes the same octets.
    #[test]
    fn samples_survive_and_both_kinds_of_type_agree(sample in everything(), offset in 0usize..9) {
        let structure = Everything::structure();
        for (endianness, representation) in LAYOUTS {
            let mut octets = vec![0xaa; offset];
            sample.encode(&mut Encoder::new(&mut octets, endianness, representation)).unwrap();
            let body = &octets[offset..];
            let mut decoder = Decoder::new(body, endianness, representation);
            prop_assert_eq!(&Everything::decode(&mut decoder).unwrap(), &sample);
            prop_assert_eq!(decoder.remaining(), 0);

            let mut decoder = Decoder::new(body, endianness, representation);
            let dynamic = DynamicValue::decode(&structure, &mut decoder).unwrap();
            prop_assert_eq!(decoder.remaining(), 0);
            let mut again = Vec::new();
            dynamic.encode(&mut Encoder::new(&mut again, endianness, representation)).unwrap();
            prop_assert_eq!(again.as_slice(), body);
            prop_assert_eq!(dynamic.key_hash().unwrap(), sample.key_hash().unwrap());
        }
    }

    /// The payload of a dispose names the same instance as the sample, by both kinds of type.
    #[test]
    fn keys_travel_alone(sample in everything()) {
        let (mut payload, mut key) = (Vec::new(), Vec::new());
        to_payload(&sample, &mut payload).unwrap();
        key_to_payload(&sample, &mut key).unwrap();
        let hash = sample.key_hash().unwrap();
        prop_assert_eq!(key_hash_of_payload::<Everything>(&payload, false).unwrap(), hash);
        prop_assert_eq!(key_hash_of_payload::<Everything>(&key, true).unwrap(), hash);

        let alone: Everything = key_from_payload(&key).unwrap();
        prop_assert_eq!((alone.place.rack, alone.place.slot), (sample.place.rack, sample.place.slot));
        prop_assert_eq!((&alone.node, &alone.pair), (&sample.node, &sample.pair));
        let dropped = Everything { node: sample.node, pair: sample.pair, place: alone.place.clone(), ..Everything::zero() };
        prop_assert_eq!(alone, dropped);

        let dynamic = DynamicValue::key_from_payload(&Everything::structure(), &key).unwrap();
        prop_assert_eq!(dynamic.key_hash().unwrap(), hash);
        let mut again = Vec::new();
        dynamic.key_to_payload(&mut again).unwrap();
        prop_assert_eq!(again, key);
    }

    /// A sample cut off anywhere is an error, never a panic or a different sample.
    #[test]
    fn every_truncation_is_an_error(sample in everything()) {
        let structure = Everything::structure();
        for (endianness, representation) in LAYOUTS {
            let mut octets = Vec::new();
            sample.encode(&mut Encoder::new(&mut octets, endianness, representation)).unwrap();
            for length in 0..octets.len() {
                let mut decoder = Decoder::new(&octets[..length], endianness, representation);
                prop_assert!(Everything::decode(&mut decoder).is_err());
                let mut decoder = Decoder::new(&octets[..length], endianness, representation);
                prop_assert!(DynamicValue::decode(&structure, &mut decoder).is_err());
            }
        }
    }

    /// Random octets, and samples with random octets in them, do not panic; what is decoded has no more capacity
    /// than the octets can hold.
    #[test]
    fn hostile_octets_neither_panic_nor_allocate(
        sample in everything(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
    ) {
        let mut spoiled = Vec::new();
        to_payload(&sample, &mut spoiled).unwrap();
        let start = at.index(spoiled.len());
        for (octet, noise) in spoiled[start..].iter_mut().zip(noise.iter().take(6)) {
            *octet = *noise;
        }
        for payload in [&spoiled, &noise] {
            if let Ok(sample) = from_payload::<Everything>(payload) {
                prop_assert!(sample.blob.capacity() <= payload.len());
                prop_assert!(sample.pairs.capacity() * Pair::SIZE_MIN <= payload.len());
                prop_assert!(sample.levels.capacity() * 8 <= payload.len());
            }
            let _ = key_from_payload::<Everything>(payload);
            let _ = DynamicValue::from_payload(&Everything::structure(), payload);
            let _ = DynamicValue::key_from_payload(&Everything::structure(), payload);
        }
        for (endianness, representation) in LAYOUTS {
            let mut decoder = Decoder::new(&noise, endianness, representation);
            let _ = <Vec<Vec<Vec<String>>>>::decode(&mut decoder);
            if let Ok(numbers) = <Vec<u64>>::decode(&mut Decoder::new(&noise, endianness, representation)) {
                prop_assert!(numbers.capacity() * 8 <= noise.len());
            }
        }
    }
}

fn padded() -> Padded {
    Padded { a: 1, b: 2.0, c: 3, d: 4, e: 5, f: "hé".into(), g: 6, h: vec![7] }
}

/// Plain CDR pads to the value's own size, up to 8, counted from after the encapsulation header.
#[test]
fn plain_cdr_octet_by_octet() {
    let mut payload = Vec::new();
    to_payload(&padded(), &mut payload).unwrap();
    let expected: &[&[u8]] = &[
        &[0, 1, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0x40],
        &[3, 0, 0, 0, 4, 0, 0, 0],
        &[5, 0, 0, 0, 4, 0, 0, 0],
        &[b'h', 0xc3, 0xa9, 0, 6, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[7, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(payload, expected.concat());
    assert_eq!(from_payload::<Padded>(&payload), Ok(padded()));

    let mut big = Vec::new();
    padded().encode(&mut Encoder::new(&mut big, Endianness::Big, Representation::Xcdr1)).unwrap();
    assert_eq!(big[8..16], [0x40, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(big[16..24], [3, 0, 0, 0, 0, 0, 0, 4]);
}

/// XCDR2 pads up to 4 only, and puts the size before a sequence of structs but not before one of numbers.
#[test]
fn xcdr2_octet_by_octet() {
    let mut octets = Vec::new();
    let pairs = vec![Pair { low: 1.0, high: 2.0 }];
    let mut encoder = Encoder::new(&mut octets, Endianness::Little, Representation::Xcdr2);
    pairs.encode(&mut encoder).unwrap();
    vec![9u64].encode(&mut encoder).unwrap();
    let expected: &[&[u8]] = &[
        &[16, 0, 0, 0],
        &[1, 0, 0, 0],
        &[0, 0, 0x80, 0x3f],
        &[0, 0, 0, 0, 0, 0, 0, 0x40],
        &[1, 0, 0, 0],
        &[9, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(octets, expected.concat());
    let payload = [&[0, 7, 0, 0], octets.as_slice()].concat();
    assert_eq!(from_payload::<Vec<Pair>>(&payload), Ok(pairs));
}

/// An empty sequence is its length alone: no padding to where its elements would have been.
#[test]
fn an_empty_sequence_has_no_padding() {
    let mut payload = Vec::new();
    to_payload(&Vec::<u64>::new(), &mut payload).unwrap();
    assert_eq!(payload, [0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(from_payload::<Vec<u64>>(&payload), Ok(vec![]));
}

/// A claimed length that the octets cannot hold is refused before any element is read.
#[test]
fn a_claimed_length_allocates_nothing() {
    let payload = [0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
    let claim = CdrError::LengthClaim { claimed: u32::MAX, left: 4 };
    assert_eq!(from_payload::<Vec<u8>>(&payload), Err(claim.clone()));
    assert_eq!(from_payload::<Vec<Everything>>(&payload), Err(claim.clone()));
    assert_eq!(from_payload::<String>(&payload), Err(claim.clone()));
    let ty = Type::Sequence { element: Type::Bool.into(), max: None };
    assert_eq!(Value::decode(&ty, &mut open_payload(Extensibility::Final, &payload).unwrap()), Err(claim));
}

/// A bound is checked both ways, and the error names the member and both numbers.
#[test]
fn bounds_hold_both_ways_and_name_the_member() {
    let long = Everything { node: "exactly-16-chars".into(), ..Everything::zero() };
    let error = to_payload(&long, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "member node: length 16 exceeds the bound of 15");
    let many = Everything { pairs: vec![Pair::zero(); 5], ..Everything::zero() };
    let error = to_payload(&many, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "member pairs: length 5 exceeds the bound of 4");

    #[derive(DdsType)]
    struct Tight {
        #[dds(max = 2)]
        text: String,
        #[dds(max = 1)]
        list: Vec<u8>,
    }
    #[derive(Cdr)]
    struct Loose {
        text: String,
        list: Vec<u8>,
    }
    for (text, list, ok) in [("ab", vec![1], true), ("abc", vec![], false), ("", vec![1, 2], false)] {
        let loose = Loose { text: text.into(), list };
        for (endianness, representation) in LAYOUTS {
            let mut octets = Vec::new();
            loose.encode(&mut Encoder::new(&mut octets, endianness, representation)).unwrap();
            let decoder = Decoder::new(&octets, endianness, representation);
            assert_eq!(Tight::decode(&mut decoder.clone()).is_ok(), ok);
            assert_eq!(DynamicValue::decode(&Tight::structure(), &mut decoder.clone()).is_ok(), ok);
        }
    }
}

/// Errors in nested members say the whole path; an unknown enumerator says its number.
#[test]
fn errors_name_the_path_and_the_number() {
    let mut payload = Vec::new();
    to_payload(&7u32, &mut payload).unwrap();
    let error = from_payload::<Quality>(&payload).unwrap_err();
    assert_eq!(error.to_string(), "7 is no enumerator of Quality");
    let zero = Everything { place: Place { label: "a\0b".into(), ..Place::zero() }, ..Everything::zero() };
    let error = to_payload(&zero, &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "member place.label: a string must end with a zero octet and have none inside"
    );
}

/// Octets that are no value of the type are refused, each with its reason.
#[test]
fn impossible_values_are_refused() {
    let le = |body: &[u8]| [&[0, 1, 0, 0], body].concat();
    assert_eq!(from_payload::<bool>(&le(&[2])), Err(CdrError::Bool { value: 2 }));
    assert_eq!(from_payload::<char>(&le(&[0x80])), Err(CdrError::Char { code: 0x80 }));
    assert_eq!(to_payload(&'€', &mut Vec::new()), Err(CdrError::Char { code: 0x20ac }));
    assert_eq!(from_payload::<String>(&le(&[1, 0, 0, 0, b'a'])), Err(CdrError::StringZero));
    assert_eq!(from_payload::<String>(&le(&[3, 0, 0, 0, b'a', 0, 0])), Err(CdrError::StringZero));
    assert_eq!(
        from_payload::<String>(&le(&[3, 0, 0, 0, b'a', 0xff, 0])),
        Err(CdrError::StringEncoding { valid_up_to: 1 })
    );
    assert_eq!(from_payload::<String>(&le(&[0, 0, 0, 0])), Ok(String::new()));
    assert_eq!(from_payload::<u32>(&le(&[1, 0, 0])), Err(CdrError::Truncated { needed: 4, available: 3 }));
    let form = |identifier| Err(CdrError::Form { identifier, extensibility: Extensibility::Final });
    assert_eq!(from_payload::<u8>(&[0, 3, 0, 0, 1]), form(3));
    assert_eq!(from_payload::<u8>(&[0, 9, 0, 0, 1]), form(9));
    assert_eq!(from_payload::<u8>(&[0, 13, 0, 0, 1]), Err(CdrError::Encapsulation { identifier: 13 }));
    assert_eq!(from_payload::<u8>(&le(&[1, 0, 0, 0])), Ok(1));
}

/// The derives describe exactly what was declared.
#[test]
fn derived_types_describe_themselves() {
    assert_eq!(Everything::TYPE_NAME, "test::Everything");
    assert_eq!(Padded::TYPE_NAME, "Padded");
    const { assert!(Everything::KEYED && !Padded::KEYED) };
    let structure = Everything::structure();
    let of = |name: &str| structure.members()[structure.position(name).unwrap()].clone();
    assert_eq!(of("grid").ty.to_string(), "uint16[2][3]");
    assert_eq!(of("pairs").ty.to_string(), "sequence<Pair, 4>");
    assert_eq!(of("node").ty, Type::String { max: Some(15) });
    assert_eq!(of("place").ty.to_string(), "test::Place");
    assert!(of("place").key && !of("flag").key);
    assert_eq!(of("type").ty, Type::Uint8);
    let Type::Enum(quality) = of("quality").ty else { panic!("not an enum") };
    assert_eq!(quality.literal(6), Some("Modelled"));
    assert_eq!(quality.value("Absent"), Some(1));
    assert_eq!(Quality::zero(), Quality::Measured);
}

/// A key is hashed exactly when a key of its type may exceed 16 octets; padding counts.
#[test]
fn keys_are_hashed_by_their_maximum_size() {
    #[derive(DdsType)]
    struct Fits {
        #[dds(key, max = 11)]
        node: String,
    }
    #[derive(DdsType)]
    struct Exceeds {
        #[dds(key, max = 12)]
        node: String,
    }
    #[derive(DdsType)]
    struct PaddingExceeds {
        #[dds(key)]
        a: u8,
        #[dds(key)]
        b: u64,
        #[dds(key)]
        c: u8,
    }
    let end =
        |end: fn(Extent) -> Option<Extent>| end(Extent::start(Representation::Xcdr1)).map(Extent::octets);
    assert_eq!(end(Fits::key_end_max), Some(16));
    assert_eq!(end(|start| Fits::structure().key_end_max(start)), Some(16));
    let plain = Fits { node: "n1".into() }.key_hash().unwrap();
    assert_eq!(plain.to_string(), "000000036e3100000000000000000000");
    assert_eq!(end(Exceeds::key_end_max), Some(17));
    assert_ne!(Exceeds { node: "n1".into() }.key_hash().unwrap(), plain);
    assert_eq!(end(PaddingExceeds::key_end_max), Some(17));
    let padded_key = PaddingExceeds { a: 1, b: 2, c: 3 };
    assert_eq!(padded_key.key_hash(), {
        let key = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3];
        KeyHash::compute(Representation::Xcdr1, None, |encoder| {
            encoder.write_bytes(&key);
            Ok(())
        })
    });
    // XCDR2 aligns to 4 only, so that the same key fits.
    let hash = padded_key.key_hash_in(Representation::Xcdr2).unwrap();
    assert_eq!(hash.0, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0]);
    assert_eq!(end(Padded::key_end_max), Some(0));
    assert_eq!(padded().key_hash(), Ok(KeyHash::default()));
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let start = Extent::start(representation);
        assert_eq!(Everything::key_end_max(start), Everything::structure().key_end_max(start));
    }
}

/// Sequences within sequences end at the nesting bound instead of at the end of the stack.
#[test]
fn nesting_is_bounded() {
    let nested = |levels: u32| {
        (0..levels).fold(Type::String { max: None }, |element, _| Type::Sequence {
            element: element.into(),
            max: None,
        })
    };
    let payload = [&[0, 1, 0, 0][..], &[1, 0, 0, 0].repeat(40)].concat();
    let decode =
        |levels| Value::decode(&nested(levels), &mut open_payload(Extensibility::Final, &payload).unwrap());
    assert_eq!(decode(NESTING_MAX), Err(CdrError::StringZero));
    assert_eq!(decode(NESTING_MAX + 1), Err(CdrError::TooDeep));
}
