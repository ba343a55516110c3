//! Cases of instance keys, through derived types and through types built from the case's own description (A59).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the whole file is test code")]

use rtps::cdr::{DdsType, Encoder, Endianness, KeyHash, Representation, key_hash_of_payload, to_payload};
use rtps::types::{DynamicValue, Member, StructType, Type, Value};
use serde_json::Value as Json;
use std::sync::Arc;

const A59: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/A59/keys.json"));

#[derive(DdsType)]
struct SocketPower {
    #[dds(key)]
    socket: i32,
    w: f64,
}

#[derive(DdsType)]
struct NodePower {
    #[dds(key)]
    node: String,
    w: f64,
}

/// What a derived type makes of a dynamic value of the same members: its key hash and that of its payload.
type Derived = fn(&DynamicValue) -> [KeyHash; 2];

fn derived<T: DdsType>(value: &DynamicValue) -> [KeyHash; 2] {
    let mut payload = Vec::new();
    value.to_payload(&mut payload).unwrap();
    let sample: T = rtps::cdr::from_payload(&payload).unwrap();
    payload.clear();
    to_payload(&sample, &mut payload).unwrap();
    [sample.key_hash().unwrap(), key_hash_of_payload::<T>(&payload, false).unwrap()]
}

/// The type in the words of the cases: `struct{@key int32 socket; float64 w;}`.
fn parse_type(text: &str) -> Arc<StructType> {
    let members = text.strip_prefix("struct{").and_then(|text| text.strip_suffix('}')).unwrap();
    let members = members.split_terminator(';').map(|member| {
        let member = member.trim();
        let (key, member) = member.strip_prefix("@key ").map_or((false, member), |member| (true, member));
        let (ty, name) = member.split_once(' ').unwrap();
        let ty = match ty {
            "int32" => Type::Int32,
            "float64" => Type::Float64,
            "string" => Type::String { max: None },
            other => panic!("the cases have no type {other}"),
        };
        Member { name: name.into(), ty, key }
    });
    StructType::new("case", members.collect()).unwrap()
}

fn parse_value(ty: &Type, json: &Json) -> Value {
    match ty {
        Type::Int32 => Value::Int32(i32::try_from(json.as_i64().unwrap()).unwrap()),
        Type::String { .. } => Value::String(json.as_str().unwrap().into()),
        other => panic!("the cases have no key of type {other}"),
    }
}

fn sample(structure: &Arc<StructType>, key: &Json) -> DynamicValue {
    let mut sample = DynamicValue::zero(Arc::clone(structure));
    for (name, json) in key.as_object().unwrap() {
        let ty = &structure.members()[structure.position(name).unwrap()].ty;
        sample.set(name, parse_value(ty, json)).unwrap();
    }
    sample
}

fn derived_for(structure: &StructType) -> Derived {
    let known: [(Arc<StructType>, Derived); 2] =
        [(SocketPower::structure(), derived::<SocketPower>), (NodePower::structure(), derived::<NodePower>)];
    known.iter().find(|(known, _)| known.members() == structure.members()).expect("a derived twin").1
}

/// Key hashes of the case come out of both kinds of type, whatever the other members hold.
#[test]
fn keys_hash_as_the_case_says() {
    let cases: Vec<Json> = serde_json::from_str(A59).unwrap();
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let structure = parse_type(case["type"].as_str().unwrap());
        let expected = case["key_hash"].as_str().unwrap();
        let mut sample = sample(&structure, &case["key"]);
        if let Some(key) = case.get("key_cdr_be") {
            let mut octets = Vec::new();
            sample
                .encode_key(&mut Encoder::new(&mut octets, Endianness::Big, Representation::Xcdr1))
                .unwrap();
            let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            assert_eq!(hex, key.as_str().unwrap());
        }
        for watts in [0.0, 212.5] {
            sample.set("w", Value::Float64(watts)).unwrap();
            assert_eq!(sample.key_hash().unwrap().to_string(), expected);
            for hash in derived_for(&structure)(&sample) {
                assert_eq!(hash.to_string(), expected);
            }
        }
    }
}

/// Other keys than the case's are other instances: an answer written down instead of computed would fail.
#[test]
fn changed_keys_hash_differently() {
    for (ty, key, expected) in [
        ("struct{@key int32 socket; float64 w;}", r#"{"socket": -2}"#, "fffffffe000000000000000000000000"),
        // MD5 of 00 00 00 05 "n008" 00.
        ("struct{@key string node; float64 w;}", r#"{"node": "n008"}"#, "0be877248860ccd332f8e1a17e51f0c9"),
    ] {
        let structure = parse_type(ty);
        let sample = sample(&structure, &serde_json::from_str(key).unwrap());
        assert_eq!(sample.key_hash().unwrap().to_string(), expected);
        for hash in derived_for(&structure)(&sample) {
            assert_eq!(hash.to_string(), expected);
        }
    }
}
