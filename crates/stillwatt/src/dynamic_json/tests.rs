//! Samples as JSON and back, and what is said of JSON that is none.

use super::*;
use rtps::types::{
    AliasType, Bitfield, BitmaskType, BitsetType, Case, EnumType, Member, StructType, UnionType,
};
use serde_json::json;
use std::sync::Arc;

fn structure() -> Arc<StructType> {
    let member = |name: &str, ty| Member::new(name, ty);
    let inner = StructType::new("Inner", vec![member("x", Type::Float32)]).unwrap();
    let mode = EnumType::new("Mode", vec![("SLOW".to_owned(), 0), ("FAST".to_owned(), 5)]).unwrap();
    let boxed = |ty| Box::new(ty);
    StructType::new(
        "Outer",
        vec![
            member("zeta", Type::Bool),
            member("big", Type::Uint64),
            member("small", Type::Int8),
            member("real", Type::Float64),
            member("letter", Type::Char8),
            member("text", Type::String { max: Some(8) }),
            member("octets", Type::Sequence { element: boxed(Type::Byte), max: None }),
            member("grid", Type::Array { element: boxed(Type::Int16), dimensions: vec![2, 3] }),
            member("mode", Type::Enum(mode)),
            member("inner", Type::Struct(Arc::clone(&inner))),
            member("inners", Type::Sequence { element: boxed(Type::Struct(inner)), max: Some(2) }),
        ],
    )
    .unwrap()
}

fn sample() -> Json {
    json!({
        "zeta": true, "big": u64::MAX, "small": -128, "real": "-inf", "letter": "a", "text": "µ",
        "octets": [0, 255], "grid": [[1, 2, 3], [4, 5, 6]], "mode": "FAST",
        "inner": {"x": 0.1}, "inners": [{"x": 1.5}, {"x": "NaN"}],
    })
}

/// Every form survives the way in and out, in the order of declaration, also through the octets of the wire.
#[test]
fn round_trip() {
    let value = from_json(&structure(), &sample()).unwrap();
    assert_eq!(to_json(&value).to_string(), sample().to_string());
    let mut payload = Vec::new();
    value.to_payload(&mut payload).unwrap();
    let read = DynamicValue::from_payload(&structure(), &payload).unwrap();
    assert_eq!(to_json(&read).to_string(), sample().to_string());
}

/// What is not named is zero; a number that names no enumerator is kept as it is.
#[test]
fn zeros_and_unnamed_enumerators() {
    let value = from_json(&structure(), &json!({"mode": 77})).unwrap();
    let shown = to_json(&value);
    assert_eq!(shown["mode"], 77);
    assert_eq!(shown["grid"], json!([[0, 0, 0], [0, 0, 0]]));
}

/// Each wrong value is refused with the place and what belongs there.
#[test]
fn wrong_values_are_named() {
    for (json, parts) in [
        (json!([]), ["Outer: []", "an object"]),
        (json!({"colour": 1}), ["Outer.colour", "zeta, big"]),
        (json!({"small": 128}), ["Outer.small: 128", "int8"]),
        (json!({"small": 1.5}), ["Outer.small: 1.5", "whole number"]),
        (json!({"big": -1}), ["Outer.big: -1", "uint64"]),
        (json!({"letter": "ab"}), ["Outer.letter", "one ASCII"]),
        (json!({"text": "123456789"}), ["Outer.text", "string<8>"]),
        (json!({"octets": [1, 256]}), ["Outer.octets[1]: 256", "range"]),
        (json!({"grid": [[1, 2, 3]]}), ["Outer.grid", "a list of 2 elements"]),
        (json!({"grid": [[1, 2, 3], [1, 2]]}), ["Outer.grid[1]", "a list of 3 elements"]),
        (json!({"mode": "MEDIUM"}), ["Outer.mode: \"MEDIUM\"", "SLOW, FAST"]),
        (json!({"inners": [{"y": 1}]}), ["Outer.inners[0].y", "there are x"]),
        (json!({"inners": [{}, {}, {}]}), ["Outer.inners", "of type"]),
    ] {
        let error = from_json(&structure(), &json).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
}

/// A long value is cut short in the message, at a character's border.
#[test]
fn long_values_are_cut() {
    let error = from_json(&structure(), &json!({"small": "µ".repeat(500)})).unwrap_err().to_string();
    assert!(error.len() < 200, "{error}");
}

/// A struct of everything that XML types have beyond derived ones.
fn everything() -> Arc<StructType> {
    let level = EnumType::bounded("Level", 8, vec![("LOW".to_owned(), 1), ("HIGH".to_owned(), 9)]).unwrap();
    let case = |name: &str, ty, labels: &[i64], is_default| Case {
        name: name.to_owned(),
        ty,
        labels: labels.to_vec(),
        is_default,
    };
    let choice = UnionType::new(
        "Choice",
        Type::Enum(Arc::clone(&level)),
        vec![case("low", Type::Int64, &[1], false), case("other", Type::String { max: None }, &[], true)],
    )
    .unwrap();
    let strict = UnionType::new("Strict", Type::Bool, vec![case("yes", Type::Byte, &[1], false)]).unwrap();
    let flags = vec![("A".to_owned(), 0), ("F".to_owned(), 5)];
    let field = |name: Option<&str>, bits, ty| Bitfield { name: name.map(str::to_owned), bits, ty };
    let fields = vec![
        field(Some("a"), 3, Type::Uint8),
        field(None, 4, Type::Uint8),
        field(Some("d"), 12, Type::Int16),
    ];
    let map = |key, value| Type::Map { key: Box::new(key), value: Box::new(value), max: Some(3) };
    StructType::new(
        "Everything",
        vec![
            Member::new("quad", Type::Float128),
            Member::new("wide", Type::Char16),
            Member::new("text", Type::WString { max: Some(4) }),
            Member::new("by_name", map(Type::String { max: None }, Type::Float64)),
            Member::new("by_level", map(Type::Enum(level), Type::Byte)),
            Member::new("by_number", map(Type::Int8, Type::Bool)),
            Member::new("choice", Type::Union(choice)),
            Member::new("strict", Type::Union(strict)),
            Member::new("mask", Type::Bitmask(BitmaskType::new("Mask", 8, flags).unwrap())),
            Member::new("set", Type::Bitset(BitsetType::new("Set", None, fields).unwrap())),
            Member::new("watts", Type::Alias(AliasType::new("Watts", Type::Float64).unwrap())),
        ],
    )
    .unwrap()
}

/// Maps, unions, bits, wide text and aliases survive the way in and out, also through the octets of the wire.
#[test]
fn everything_round_trips() {
    let json = json!({
        "quad": "0x3fff8000000000000000000000000000", "wide": "é", "text": "aé𝄞",
        "by_name": {"x": 1.5, "5": 2.0}, "by_level": {"LOW": 1, "7": 2}, "by_number": {"-3": true, "4": false},
        "choice": {"_d": "HIGH", "other": "o"}, "strict": {"_d": false},
        "mask": ["A", 3, "F"], "set": {"a": 5, "d": -1}, "watts": 7.25,
    });
    let value = from_json(&everything(), &json).unwrap();
    assert_eq!(to_json(&value), json);
    let mut payload = Vec::new();
    value.to_payload(&mut payload).unwrap();
    assert_eq!(to_json(&DynamicValue::from_payload(&everything(), &payload).unwrap()), json);
}

/// What can be left out, and the other forms that are taken.
#[test]
fn short_forms_are_taken() {
    let json = json!({"quad": -1.5, "wide": 0xd834, "choice": {"low": 3}, "strict": {"yes": 1}, "mask": 33, "set": 5});
    let shown = to_json(&from_json(&everything(), &json).unwrap());
    assert_eq!(shown["quad"], "0xbfff8000000000000000000000000000");
    assert_eq!(shown["wide"], 0xd834);
    assert_eq!(shown["choice"], json!({"_d": "LOW", "low": 3}));
    assert_eq!(shown["strict"], json!({"_d": true, "yes": 1}));
    assert_eq!(shown["mask"], json!(["A", "F"]));
    assert_eq!(shown["set"], json!({"a": 5, "d": 0}));
    let other = from_json(&everything(), &json!({"choice": {"other": "x"}})).unwrap();
    assert_eq!(to_json(&other)["choice"], json!({"_d": "HIGH", "other": "x"}));
}

/// Each wrong value of these types is refused with the place and what belongs there.
#[test]
fn wrong_values_of_everything_are_named() {
    for (json, parts) in [
        (json!({"quad": "0x3f"}), ["Everything.quad", "32 digits"]),
        (json!({"wide": "𝄞"}), ["Everything.wide", "16 bits"]),
        (json!({"text": "12345"}), ["Everything.text", "wstring<4>"]),
        (json!({"by_level": {"MEDIUM": 1}}), ["Everything.by_level[\"MEDIUM\"]", "LOW, HIGH"]),
        (json!({"by_number": {"200": true}}), ["Everything.by_number[\"200\"]", "int8"]),
        (json!({"by_name": {"a": 1, "b": 1, "c": 1, "d": 1}}), ["Everything.by_name", "bound of 3"]),
        (json!({"choice": {}}), ["Everything.choice", "low, other"]),
        (json!({"choice": {"_d": "HIGH", "low": 1}}), ["Everything.choice.low", "_d 9"]),
        (json!({"choice": {"third": 1}}), ["Everything.choice.third", "low, other"]),
        (json!({"strict": {"_d": 2}}), ["Everything.strict._d", "true or false"]),
        (json!({"mask": ["B"]}), ["Everything.mask", "A, F"]),
        (json!({"mask": 256}), ["Everything.mask", "Mask"]),
        (json!({"set": {"a": 8}}), ["Everything.set.a: 8", "3 bits"]),
        (json!({"set": {"b": 1}}), ["Everything.set.b", "there are a, d"]),
    ] {
        let error = from_json(&everything(), &json).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
}
