//! Samples and key hashes that Cyclone DDS 11 sent, read and made again.

use super::*;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use md5::{Digest, Md5};

/// What was captured; the file names its source.
const SAMPLES: &str = include_str!("../../tests/fixtures/cyclone_samples.json");

#[derive(DdsType, Debug, PartialEq)]
struct Padded {
    #[dds(key)]
    a: u8,
    #[dds(key)]
    b: u64,
    #[dds(key)]
    c: u8,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(extensibility = "mutable")]
struct Ordered {
    #[dds(key, id = 2)]
    b: u16,
    #[dds(key, id = 1)]
    a: u32,
    #[dds(id = 3)]
    text: Option<String>,
}

#[derive(Cdr, Debug, PartialEq)]
struct Slot {
    #[dds(key)]
    shelf: u64,
    color: u8,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(extensibility = "appendable")]
struct Nested {
    step: u8,
    #[dds(key, id = 70)]
    id: u32,
    #[dds(key, id = 50)]
    slot: Slot,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(extensibility = "appendable")]
struct Named {
    #[dds(key)]
    node: String,
    #[dds(key)]
    socket: u16,
    watts: f64,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(extensibility = "appendable")]
struct Short {
    #[dds(key, max = 11)]
    node: String,
    watts: f64,
}

#[derive(Cdr, Debug, PartialEq)]
#[dds(extensibility = "appendable")]
struct Pair {
    x: u8,
    y: u64,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(extensibility = "mutable")]
struct WholePair {
    #[dds(key)]
    pair: Pair,
    #[dds(key)]
    list: [u16; 2],
}

struct Captured {
    payload: Vec<u8>,
    representation: Representation,
    key_hash: String,
}

fn captured(name: &str) -> Vec<Captured> {
    let file: serde_json::Value = serde_json::from_str(SAMPLES).unwrap();
    let samples = file["samples"].as_array().unwrap().iter().filter(|sample| sample["type"] == name);
    let text = |sample: &serde_json::Value, field: &str| String::from(sample[field].as_str().unwrap());
    samples
        .map(|sample| {
            let hex = text(sample, "payload");
            let octet = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            Captured {
                payload: (0..hex.len()).step_by(2).map(octet).collect(),
                representation: match sample["representation"].as_str() {
                    Some("xcdr1") => Representation::Xcdr1,
                    _ => Representation::Xcdr2,
                },
                key_hash: text(sample, "key_hash"),
            }
        })
        .collect()
}

/// How Cyclone makes a hash of a key of up to 16 octets that is not the hash itself: it hashes the zeros up to 16 octets
/// as well, against RTPS 9.6.3.8.
fn hash_of_padded_key<T: DdsType>(sample: &T, representation: Representation) -> KeyHash {
    let mut key = Vec::new();
    sample.encode_key(&mut Encoder::of_key_hash(&mut key, representation)).unwrap();
    key.resize(key.len().max(16), 0);
    KeyHash(Md5::digest(&key).into())
}

/// Reads both captured samples, and compares the key hash with ours, or else with the hash of the padded key.
fn agrees<T: DdsType + PartialEq + Debug>(sample: &T, is_exact: [bool; 2]) {
    let samples = captured(T::TYPE_NAME);
    assert_eq!(samples.len(), 2);
    for (Captured { payload, representation, key_hash }, is_exact) in samples.iter().zip(is_exact) {
        assert_eq!(from_payload::<T>(payload).as_ref(), Ok(sample));
        let ours = match is_exact {
            true => sample.key_hash_in(*representation).unwrap(),
            false => hash_of_padded_key(sample, *representation),
        };
        assert_eq!(alloc::format!("{ours}"), *key_hash, "{} {representation:?}", T::TYPE_NAME);
        if T::EXTENSIBILITY != Extensibility::Mutable {
            // Of a mutable type Cyclone writes other, equally valid headers. Padding is not compared.
            let mut again = Vec::new();
            to_payload_in(sample, *representation, &mut again).unwrap();
            let length = again.len().min(payload.len());
            assert_eq!(again[4..length], payload[4..length]);
            let rest = again[length..].iter().chain(&payload[length..]);
            assert!(rest.copied().eq(core::iter::repeat_n(0, again.len().abs_diff(payload.len()))));
        }
    }
}

/// Each captured sample is understood, ours has the same octets, and each key is hashed from the same octets.
#[test]
fn samples_and_key_hashes_agree() {
    agrees(&Padded { a: 1, b: 2, c: 3 }, [true, true]);
    agrees(&Nested { step: 9, id: 7, slot: Slot { shelf: 1 << 40, color: 5 } }, [true, true]);
    agrees(&WholePair { pair: Pair { x: 1, y: 2 }, list: [3, 4] }, [true, false]);
    agrees(&Short { node: "n1".into(), watts: 1.5 }, [true, false]);
    agrees(&Named { node: "n007".into(), socket: 1, watts: 2.0 }, [false, false]);
    agrees(&Ordered { b: 2, a: 1, text: Some("x".into()) }, [false, false]);
}
