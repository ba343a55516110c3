//! Appendable and mutable types and optional members: octet by octet, across versions of a type, and under attack.

use super::*;
use crate::types::{DynamicValue, Value};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

const LAYOUTS: [(Endianness, Representation); 4] = [
    (Endianness::Big, Representation::Xcdr1),
    (Endianness::Little, Representation::Xcdr1),
    (Endianness::Big, Representation::Xcdr2),
    (Endianness::Little, Representation::Xcdr2),
];

/// A member of the others that may gain members itself.
#[derive(Cdr, Clone, Debug, Default, PartialEq)]
#[dds(extensibility = "appendable")]
struct Inner {
    count: u16,
    label: Option<String>,
}

macro_rules! sample_types {
    ($($name:ident $extensibility:literal)*) => {$(
        #[derive(DdsType, Clone, Debug, Default, PartialEq)]
        #[dds(extensibility = $extensibility)]
        struct $name {
            small: u8,
            #[dds(key, id = 70000)]
            name: String,
            #[dds(key, id = 5)]
            wide: u64,
            watts: Option<f64>,
            inner: Inner,
            inners: Vec<Inner>,
            #[dds(must_understand, max = 9)]
            grades: Option<Vec<u16>>,
            maybe: Option<Inner>,
            pairs: [[Inner; 2]; 1],
            last: Option<u8>,
        }
    )*};
}

sample_types!(InFinal "final" InAppendable "appendable" InMutable "mutable");

fn inner() -> impl Strategy<Value = Inner> {
    (any::<u16>(), prop::option::of("[a-z]{0,9}")).prop_map(|(count, label)| Inner { count, label })
}

prop_compose! {
    fn in_final()(
        (small, name, wide, last) in (any::<u8>(), "[a-z]{0,9}", any::<u64>(), any::<Option<u8>>()),
        watts in prop::option::of(-1e9f64..1e9),
        inner in inner(),
        inners in prop::collection::vec(inner(), 0..3),
        grades in prop::option::of(prop::collection::vec(any::<u16>(), 0..9)),
        maybe in prop::option::of(inner()),
        pairs in [[inner(), inner()]],
    ) -> InFinal {
        InFinal { small, name, wide, watts, inner, inners, grades, maybe, pairs, last }
    }
}

macro_rules! convert {
    ($from:ident $into:ident) => {{
        let InFinal { small, name, wide, watts, inner, inners, grades, maybe, pairs, last } = $from.clone();
        $into { small, name, wide, watts, inner, inners, grades, maybe, pairs, last }
    }};
}

fn encoded<T: Cdr>(value: &T, endianness: Endianness, representation: Representation) -> Vec<u8> {
    let mut octets = Vec::new();
    value.encode(&mut Encoder::new(&mut octets, endianness, representation)).unwrap();
    octets
}

/// The sample comes back in every layout, as one of its Rust type and as one known at run time.
fn survives<T: DdsType + PartialEq + core::fmt::Debug>(sample: &T) -> Result<(), TestCaseError> {
    let structure = T::structure();
    for (endianness, representation) in LAYOUTS {
        let octets = encoded(sample, endianness, representation);
        let decoder = Decoder::new(&octets, endianness, representation);
        prop_assert_eq!(&T::decode(&mut decoder.clone()).unwrap(), sample);
        let dynamic = DynamicValue::decode(&structure, &mut decoder.clone()).unwrap();
        let mut again = Vec::new();
        dynamic.encode(&mut Encoder::new(&mut again, endianness, representation)).unwrap();
        prop_assert_eq!(&again, &octets);
        for length in 0..octets.len() {
            // Cut off, it is another sample at most where an appendable type lost its last members.
            let mut cut = Decoder::new(&octets[..length], endianness, representation);
            if T::EXTENSIBILITY != Extensibility::Appendable || representation == Representation::Xcdr2 {
                prop_assert!(T::decode(&mut cut.clone()).is_err());
                prop_assert!(DynamicValue::decode(&structure, &mut cut).is_err());
            }
        }
    }
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let (mut payload, mut key) = (Vec::new(), Vec::new());
        to_payload_in(sample, representation, &mut payload).unwrap();
        key_to_payload_in(sample, representation, &mut key).unwrap();
        prop_assert_eq!(&from_payload::<T>(&payload).unwrap(), sample);
        let hash = sample.key_hash_in(representation).unwrap();
        prop_assert_eq!(key_hash_of_payload::<T>(&payload, false).unwrap(), hash);
        prop_assert_eq!(key_hash_of_payload::<T>(&key, true).unwrap(), hash);
        let dynamic =
            |payload, is_key| DynamicValue::key_hash_of_payload(&structure, payload, is_key).unwrap();
        prop_assert_eq!((dynamic(&payload, false), dynamic(&key, true)), (hash, hash));
        let mut again = Vec::new();
        let value = DynamicValue::key_from_payload(&structure, &key).unwrap();
        value.key_to_payload_in(representation, &mut again).unwrap();
        prop_assert_eq!(again, key);
    }
    Ok(())
}

proptest! {
    /// Every extensibility, representation and byte order brings a sample and its key back, through both kinds of
    /// type; the key hash does not depend on the extensibility.
    #[test]
    fn samples_survive(sample in in_final()) {
        survives(&sample)?;
        survives(&convert!(sample InAppendable))?;
        survives(&convert!(sample InMutable))?;
        for representation in [Representation::Xcdr1, Representation::Xcdr2] {
            let hash = sample.key_hash_in(representation).unwrap();
            prop_assert_eq!(convert!(sample InAppendable).key_hash_in(representation).unwrap(), hash);
            prop_assert_eq!(convert!(sample InMutable).key_hash_in(representation).unwrap(), hash);
        }
    }

    /// Octets of any other kind neither panic nor make more memory than they are long.
    #[test]
    fn hostile_octets_neither_panic_nor_allocate(
        sample in in_final(),
        noise in prop::collection::vec(any::<u8>(), 0..100),
        at in any::<prop::sample::Index>(),
        short in 0usize..9,
    ) {
        for (endianness, representation) in LAYOUTS {
            let mut octets = encoded(&convert!(sample InMutable), endianness, representation);
            let start = at.index(octets.len());
            octets[start..].iter_mut().zip(noise.iter().take(short)).for_each(|(octet, noise)| *octet = *noise);
            for octets in [&octets, &noise] {
                let decoder = Decoder::new(octets, endianness, representation);
                for value in [
                    InMutable::decode(&mut decoder.clone()).map(|value| value.inners.capacity()),
                    InAppendable::decode(&mut decoder.clone()).map(|value| value.inners.capacity()),
                    InFinal::decode(&mut decoder.clone()).map(|value| value.inners.capacity()),
                ] {
                    // An element takes at least two octets.
                    prop_assert!(value.unwrap_or(0) * 2 <= octets.len());
                }
                let _ = InMutable::decode_key(&mut decoder.clone());
                for structure in [InMutable::structure(), InAppendable::structure(), InFinal::structure()] {
                    let _ = DynamicValue::decode(&structure, &mut decoder.clone());
                    let _ = DynamicValue::decode_key(&structure, &mut decoder.clone());
                }
            }
        }
    }
}

/// Each member once, of a mutable type.
#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(extensibility = "mutable")]
struct Headed {
    #[dds(key, id = 5)]
    a: u8,
    #[dds(id = 9, must_understand)]
    b: u32,
    #[dds(id = 3)]
    c: Option<String>,
    d: f64,
}

fn headed() -> Headed {
    Headed { a: 1, b: 2, c: Some("abcd".into()), d: 1.0 }
}

/// XCDR2 of a mutable type: size, then each member with must-understand flag, length code and identifier; a length of
/// its own only where the code has none.
#[test]
fn mutable_xcdr2_octet_by_octet() {
    let mut payload = Vec::new();
    to_payload_in(&headed(), Representation::Xcdr2, &mut payload).unwrap();
    let expected: &[&[u8]] = &[
        &[0, 0x0b, 0, 0],
        &[48, 0, 0, 0],
        &[5, 0, 0, 0, 1, 0, 0, 0],
        &[9, 0, 0, 0xa0, 2, 0, 0, 0],
        &[3, 0, 0, 0x40, 9, 0, 0, 0],
        &[5, 0, 0, 0, b'a', b'b', b'c', b'd', 0, 0, 0, 0],
        &[4, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
    ];
    assert_eq!(payload, expected.concat());
    assert_eq!(from_payload::<Headed>(&payload), Ok(headed()));
}

/// XCDR1 of a mutable type: parameters with short headers, padded to 4, and the end of the list.
#[test]
fn mutable_xcdr1_octet_by_octet() {
    let mut payload = Vec::new();
    to_payload(&headed(), &mut payload).unwrap();
    let expected: &[&[u8]] = &[
        &[0, 3, 0, 0],
        &[5, 0, 4, 0, 1, 0, 0, 0],
        &[9, 0x40, 4, 0, 2, 0, 0, 0],
        &[3, 0, 12, 0],
        &[5, 0, 0, 0, b'a', b'b', b'c', b'd', 0, 0, 0, 0],
        &[4, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
        &[2, 0x7f, 0, 0],
    ];
    assert_eq!(payload, expected.concat());
    assert_eq!(from_payload::<Headed>(&payload), Ok(headed()));
}

/// XCDR2 of an appendable type begins with its size; the padding at the end is told in the options.
#[test]
fn appendable_octet_by_octet() {
    let inner = Inner { count: 7, label: Some("x".into()) };
    let mut payload = Vec::new();
    to_payload_in(&inner, Representation::Xcdr2, &mut payload).unwrap();
    let expected = [[0, 9, 0, 2], [10, 0, 0, 0], [7, 0, 1, 0], [2, 0, 0, 0], [b'x', 0, 0, 0]].concat();
    assert_eq!(payload, expected);
    assert_eq!(from_payload::<Inner>(&payload), Ok(inner.clone()));
    payload.clear();
    to_payload(&inner, &mut payload).unwrap();
    let expected = [[0, 1, 0, 2], [7, 0, 0, 0], [1, 0, 6, 0], [2, 0, 0, 0], [b'x', 0, 0, 0]].concat();
    assert_eq!(payload, expected);
    assert_eq!(from_payload::<Inner>(&payload), Ok(inner));
}

/// An optional number of 8 octets: XCDR1 gives it a header, after which alignment starts anew; XCDR2 a boolean.
#[test]
fn optional_members_octet_by_octet() {
    #[derive(Cdr, Debug, PartialEq)]
    struct Optional {
        a: u8,
        b: Option<u64>,
    }
    let (some, none) = (Optional { a: 1, b: Some(2) }, Optional { a: 1, b: None });
    let little = |value, representation| encoded(value, Endianness::Little, representation);
    let xcdr1 = [1, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(little(&some, Representation::Xcdr1), xcdr1);
    assert_eq!(little(&none, Representation::Xcdr1), [1, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(little(&some, Representation::Xcdr2), [1, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(little(&none, Representation::Xcdr2), [1, 0]);
    let other = [1, 0, 0, 0, 2, 0, 0, 0];
    assert_eq!(
        Optional::decode(&mut Decoder::new(&other, Endianness::Little, Representation::Xcdr1)),
        Err(CdrError::MemberId { expected: 1, found: Some(2) }.in_member("b"))
    );
}

/// Identifiers and sizes too large for the short header of XCDR1 get the long one.
#[test]
fn long_headers_where_short_ones_do_not_do() {
    #[derive(DdsType, Debug, PartialEq)]
    #[dds(extensibility = "mutable")]
    struct Long {
        #[dds(id = 0x3eff)]
        short: u8,
        long: u8,
        #[dds(id = 1, must_understand)]
        blob: Vec<u8>,
    }
    let value = Long { short: 1, long: 2, blob: vec![3; 65_532] };
    let octets = encoded(&value, Endianness::Big, Representation::Xcdr1);
    assert_eq!(octets[..8], [0x3e, 0xff, 0, 4, 1, 0, 0, 0]);
    assert_eq!(octets[8..24], [0x7f, 1, 0, 8, 0, 0, 0x3f, 0, 0, 0, 0, 4, 2, 0, 0, 0]);
    assert_eq!(octets[24..36], [0x7f, 1, 0, 8, 0x40, 0, 0, 1, 0, 1, 0, 0]);
    for (endianness, representation) in LAYOUTS {
        let octets = encoded(&value, endianness, representation);
        assert_eq!(Long::decode(&mut Decoder::new(&octets, endianness, representation)).as_ref(), Ok(&value));
    }
}

/// Length codes that we do not write ourselves are read: those where the value's own first number is its length.
#[test]
fn foreign_headers_are_read() {
    #[derive(DdsType, Debug, Default, PartialEq)]
    #[dds(extensibility = "mutable")]
    struct Lists {
        text: String,
        words: Vec<u32>,
        wide: Vec<u64>,
        z: u8,
    }
    let expected = Lists { text: "abc".into(), words: vec![7], wide: vec![8], z: 9 };
    let members: &[&[u8]] = &[
        &[0, 0, 0, 0x50, 4, 0, 0, 0, b'a', b'b', b'c', 0],
        &[1, 0, 0, 0x60, 1, 0, 0, 0, 7, 0, 0, 0],
        &[2, 0, 0, 0x70, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0],
        &[3, 0, 0, 0x40, 1, 0, 0, 0, 9],
    ];
    let members = members.concat();
    let payload = [&[0, 0x0b, 0, 0, 49, 0, 0, 0], members.as_slice()].concat();
    assert_eq!(from_payload::<Lists>(&payload).as_ref(), Ok(&expected));
    // XCDR1, with an ignored parameter, one of a vendor's own, the list's end without its flag, unpadded sizes.
    let parameters: &[&[u8]] = &[
        &[0, 3, 0, 0],
        &[3, 0x3f, 4, 0, 1, 2, 3, 4],
        &[3, 0x80, 1, 0, 7, 0, 0, 0],
        &[3, 0, 1, 0, 9, 0, 0, 0],
        &[2, 0x3f, 0, 0],
    ];
    let expected = Lists { z: 9, ..Lists::default() };
    assert_eq!(from_payload::<Lists>(&parameters.concat()), Ok(expected));
}

/// Old and new versions of the same types read each other: appended members are skipped or get their default, and of a
/// mutable type members may come and go anywhere.
#[test]
fn versions_of_a_type_read_each_other() {
    #[derive(Cdr, Clone, Debug, PartialEq)]
    #[dds(extensibility = "appendable")]
    struct Old {
        a: u16,
    }
    #[derive(Cdr, Clone, Debug, PartialEq)]
    #[dds(extensibility = "appendable")]
    struct New {
        a: u16,
        b: f64,
        c: Option<u8>,
        d: String,
    }
    #[derive(Cdr, Debug, PartialEq)]
    #[dds(extensibility = "mutable")]
    struct MutableOld {
        a: Vec<Old>,
        #[dds(id = 7)]
        gone: String,
        b: Option<u32>,
    }
    #[derive(Cdr, Debug, PartialEq)]
    #[dds(extensibility = "mutable")]
    struct MutableNew {
        #[dds(id = 8)]
        b: Option<u32>,
        #[dds(id = 20)]
        fresh: [u8; 3],
        #[dds(id = 0)]
        a: Vec<New>,
    }
    let new = New { a: 1, b: 2.0, c: Some(3), d: "4".into() };
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let payload = |value: &dyn Fn(&mut Vec<u8>) -> Result<(), CdrError>| {
            let mut payload = Vec::new();
            value(&mut payload).unwrap();
            payload
        };
        let from_new = payload(&|out| to_payload_in(&new, representation, out));
        assert_eq!(from_payload::<Old>(&from_new), Ok(Old { a: 1 }));
        let from_old = payload(&|out| to_payload_in(&Old { a: 1 }, representation, out));
        let expected = New { a: 1, b: 0.0, c: None, d: String::new() };
        assert_eq!(from_payload::<New>(&from_old), Ok(expected.clone()));
        if representation == Representation::Xcdr1 {
            // Within a collection XCDR1 cannot tell where a struct ends.
            continue;
        }
        let old = MutableOld { a: vec![Old { a: 1 }], gone: "x".into(), b: Some(2) };
        let from_old = payload(&|out| to_payload_in(&old, representation, out));
        let read = MutableNew { a: vec![expected.clone()], b: Some(2), fresh: [0; 3] };
        assert_eq!(from_payload::<MutableNew>(&from_old).as_ref(), Ok(&read));
        let back =
            payload(&|out| to_payload_in(&MutableNew { a: vec![new.clone()], ..read }, representation, out));
        assert_eq!(from_payload(&back), Ok(MutableOld { gone: String::new(), ..old }));
    }
}

/// A member that must be understood and is not, and a key that is not there, are errors with a name.
#[test]
fn what_cannot_be_left_out_is_missed() {
    #[derive(DdsType, Debug, PartialEq)]
    #[dds(extensibility = "mutable")]
    struct Without {
        #[dds(key, id = 5)]
        a: u8,
    }
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let mut payload = Vec::new();
        to_payload_in(&headed(), representation, &mut payload).unwrap();
        let error = from_payload::<Without>(&payload).unwrap_err();
        assert_eq!(error, CdrError::NotUnderstood { id: 9 });
        let dynamic = DynamicValue::from_payload(&Without::structure(), &payload).unwrap_err();
        assert_eq!(dynamic, error);
        payload.clear();
        write_payload(Extensibility::Mutable, representation, &mut payload, |encoder| {
            encoder.structure(Extensibility::Mutable, |_| Ok(()))
        })
        .unwrap();
        let error = from_payload::<Without>(&payload).unwrap_err();
        assert_eq!(error.to_string(), "member a: the sample has no value of this key member");
        assert_eq!(DynamicValue::from_payload(&Without::structure(), &payload).unwrap_err(), error);
    }
}

/// A sample of another extensibility is refused by the name of its encapsulation, not misread.
#[test]
fn another_extensibility_is_refused() {
    for (representation, accepted) in [(Representation::Xcdr1, 2), (Representation::Xcdr2, 1)] {
        let mut accepts = 0;
        let sample = InFinal::default();
        let mut payload = Vec::new();
        to_payload_in(&convert!(sample InAppendable), representation, &mut payload).unwrap();
        accepts += usize::from(from_payload::<InFinal>(&payload).is_ok());
        accepts += usize::from(from_payload::<InAppendable>(&payload).is_ok());
        accepts += usize::from(from_payload::<InMutable>(&payload).is_ok());
        // Plain XCDR1 is the same for final and appendable types.
        assert_eq!(accepts, accepted);
    }
}

/// Key members go in the order of their identifiers into a key hash, in that of declaration into a key.
#[test]
fn key_hashes_are_ordered_by_identifier() {
    #[derive(DdsType)]
    #[dds(extensibility = "mutable")]
    struct Ordered {
        #[dds(key, id = 2)]
        b: u16,
        #[dds(key, id = 1)]
        a: u32,
    }
    let value = Ordered { b: 2, a: 1 };
    let expected = [0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(value.key_hash_in(Representation::Xcdr2), Ok(KeyHash(expected)));
    let mut dynamic = DynamicValue::zero(Ordered::structure());
    dynamic.set("b", Value::Uint16(2)).unwrap();
    dynamic.set("a", Value::Uint32(1)).unwrap();
    assert_eq!(dynamic.key_hash_in(Representation::Xcdr2), Ok(KeyHash(expected)));
    let mut key = Vec::new();
    key_to_payload_in(&value, Representation::Xcdr2, &mut key).unwrap();
    assert_eq!(key[8..], [2, 0, 0, 0x10, 2, 0, 0, 0, 1, 0, 0, 0x20, 1, 0, 0, 0]);
}

/// An optional member can be set, left out and told apart from its default, in types known at run time too.
#[test]
fn absence_is_a_value() {
    let mut value = DynamicValue::zero(InMutable::structure());
    assert_eq!(value.get("watts"), Some(&Value::Absent));
    value.set("watts", Value::Float64(0.0)).unwrap();
    assert!(value.set("small", Value::Absent).is_err());
    let mut payload = Vec::new();
    value.to_payload_in(Representation::Xcdr2, &mut payload).unwrap();
    assert_eq!(from_payload::<InMutable>(&payload).unwrap().watts, Some(0.0));
}
