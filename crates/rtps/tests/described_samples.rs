//! Samples of types that only descriptions at run time have: the octets that Cyclone DDS makes of them.
#![allow(clippy::unwrap_used, reason = "the whole file is test code")]

use rtps::cdr::{Extensibility, Representation};
use rtps::types::{
    BitmaskType, Case, DynamicValue, EnumType, Member, StructType, Type, UnionType, UnionValue, Value,
};
use std::sync::Arc;

/// From the Python wheel cyclonedds 11.0.1: `IdlStruct.serialize()` of the sample below.
const XCDR1: &str = "000100000300000002000000000000000000f83f07000000030000006162000063000000c800000005000000feff\
                     000005000000030000000500000004000200020000000406000002000000050000000000000009";
/// From the same by `serialize(use_version_2=True)`.
const XCDR2: &str = "00070000210000000300000002000000000000000000f83f07000000030000006162000063000000c800000006\
                     00000005000000feff0000160000000600000005000000030000000600000005000000040002000600000002\
                     000000040600000c00000002000000050000000000000009";

fn sequence(element: Type) -> Type {
    Type::Sequence { element: Box::new(element), max: None }
}

/// A struct of unions, bitmasks and enums, alone and in collections, and a sample of it.
fn sample() -> DynamicValue {
    let case = |name: &str, ty, labels: &[i64], is_default| Case {
        name: name.into(),
        ty,
        labels: labels.to_vec(),
        is_default,
    };
    let cases = vec![
        case("n", Type::Float64, &[1, 2], false),
        case("s", Type::String { max: None }, &[7], false),
        case("d", Type::Uint8, &[], true),
    ];
    let choice = UnionType::new("demo::Choice", Type::Int32, cases).unwrap();
    let kind = Type::Enum(EnumType::new("demo::Kind", vec![("X".into(), 0), ("Y".into(), 5)]).unwrap());
    let cases = vec![case("n", Type::Int16, &[5], false)];
    let by_kind =
        UnionType::extensible("demo::ByKind", Extensibility::Appendable, kind.clone(), cases).unwrap();
    let flags = BitmaskType::new("demo::Flags", 8, vec![("a".into(), 1), ("b".into(), 2)]).unwrap();
    let flags = Type::Bitmask(flags);
    let members = vec![
        Member::new("us", sequence(Type::Union(Arc::clone(&choice)))),
        Member::new("k", Type::Union(Arc::clone(&by_kind))),
        Member::new(
            "ks",
            Type::Array { element: Box::new(Type::Union(Arc::clone(&by_kind))), dimensions: vec![2] },
        ),
        Member::new("f", flags.clone()),
        Member::new("fs", sequence(flags)),
        Member::new("kinds", sequence(kind)),
        Member::new("last", Type::Uint8),
    ];
    let union = |of: &Arc<UnionType>, number, member| {
        Value::Union(Box::new(UnionValue::new(Arc::clone(of), number, Some(member)).unwrap()))
    };
    let by_kind = |number| union(&by_kind, 5, Value::Int16(number));
    let mut sample = DynamicValue::zero(StructType::new("demo::All", members).unwrap());
    for (name, value) in [
        (
            "us",
            Value::List(vec![
                union(&choice, 2, Value::Float64(1.5)),
                union(&choice, 7, Value::String("ab".into())),
                union(&choice, 99, Value::Uint8(200)),
            ]),
        ),
        ("k", by_kind(-2)),
        ("ks", Value::List(vec![by_kind(3), by_kind(4)])),
        ("f", Value::Bits(2)),
        ("fs", Value::List(vec![Value::Bits(4), Value::Bits(6)])),
        ("kinds", Value::List(vec![Value::Enum(5), Value::Enum(0)])),
        ("last", Value::Uint8(9)),
    ] {
        sample.set(name, value).unwrap();
    }
    sample
}

/// The sample is octet for octet that of Cyclone DDS in both representations, but for the padding at the end that we
/// announce, and is read back.
#[test]
fn samples_are_those_of_cyclone() {
    let sample = sample();
    for (representation, expected) in [(Representation::Xcdr1, XCDR1), (Representation::Xcdr2, XCDR2)] {
        let mut payload = Vec::new();
        sample.to_payload_in(representation, &mut payload).unwrap();
        let padding = usize::from(payload[3]);
        let body = &payload[4..payload.len() - padding];
        let hex: String = body.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(hex, expected[8..]);
        let octets: Vec<u8> = (0..expected.len() / 2)
            .map(|at| u8::from_str_radix(&expected[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        assert_eq!(DynamicValue::from_payload(sample.structure(), &octets).as_ref(), Ok(&sample));
    }
}
