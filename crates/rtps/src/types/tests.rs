//! What types are refused, and how values are reached by name.

use super::*;
use crate::cdr::NESTING_MAX;
use alloc::string::{String, ToString};
use alloc::vec;

fn member(name: &str, ty: Type) -> Member {
    Member::new(name, ty)
}

/// Types that cannot travel, or would cost too much to hold, are refused with the reason.
#[test]
fn impossible_types_are_refused() {
    let refusal = |members| StructType::new("T", members).unwrap_err().to_string();
    assert_eq!(refusal(vec![]), "type T has no members: add one, plain CDR cannot carry it");
    assert!(refusal(vec![member("a", Type::Bool), member("a", Type::Byte)]).contains("\"a\""));
    assert!(refusal(vec![member("", Type::Bool)]).contains("without a name"));
    let array = |element: Type, dimensions: &[u32]| Type::Array {
        element: Box::new(element),
        dimensions: dimensions.to_vec(),
    };
    for dimensions in [&[][..], &[0], &[3, 0, 2]] {
        assert!(refusal(vec![member("a", array(Type::Bool, dimensions))]).contains("T.a is an array"));
        let inner = Type::Sequence { element: Box::new(array(Type::Bool, dimensions)), max: None };
        assert!(refusal(vec![member("a", inner)]).contains("T.a is an array"));
    }
    let huge = array(Type::Float64, &[u32::MAX, u32::MAX, u32::MAX]);
    assert!(refusal(vec![member("a", huge)]).contains("67108864 octets"));
    let deep = (0..NESTING_MAX)
        .fold(Type::Bool, |element, _| Type::Sequence { element: Box::new(element), max: None });
    assert!(refusal(vec![member("a", deep)]).contains("deeper than 32"));
}

/// Sharing structs cannot make a type whose default value is large beyond measure.
#[test]
fn doubling_types_are_refused() {
    let mut ty = Type::Uint64;
    for level in 0..NESTING_MAX {
        let doubled = StructType::new("T", vec![member("a", ty.clone()), member("b", ty)]);
        match doubled {
            Ok(structure) => ty = Type::Struct(structure),
            Err(error) => {
                assert_eq!(error, TypeError::TooLarge { name: "T".into() });
                assert!(level > 10);
                return;
            }
        }
    }
    panic!("2^32 numbers were accepted");
}

/// Enums with doubled names or numbers, or without enumerators, are refused.
#[test]
fn impossible_enums_are_refused() {
    let refusal = |literals: &[(&str, u32)]| {
        let literals = literals.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        EnumType::new("E", literals).unwrap_err()
    };
    assert!(matches!(refusal(&[]), TypeError::Empty { .. }));
    assert!(matches!(refusal(&[("a", 1), ("a", 2)]), TypeError::MemberName { .. }));
    assert!(matches!(refusal(&[("a", 1), ("b", 1)]), TypeError::EnumeratorValue { value: 1, .. }));
}

/// Members are read by path and set by name; a wrong name or type is told with what would be right.
#[test]
fn members_are_reached_by_name() {
    let inner = StructType::new("Inner", vec![member("x", Type::Int16)]).unwrap();
    let quality = EnumType::new("Quality", vec![("measured".into(), 3), ("absent".into(), 9)]).unwrap();
    let outer = StructType::new(
        "Outer",
        vec![
            member("inner", Type::Struct(inner)),
            member("quality", Type::Enum(quality)),
            member("name", Type::String { max: Some(3) }),
            member("mac", Type::Array { element: Box::new(Type::Byte), dimensions: vec![2, 3] }),
        ],
    )
    .unwrap();
    let mut value = DynamicValue::zero(outer);
    assert_eq!(value.get("inner.x"), Some(&Value::Int16(0)));
    assert_eq!(value.get("quality"), Some(&Value::Enum(3)));
    assert_eq!(value.get("mac"), Some(&Value::Bytes(vec![0; 6])));
    assert_eq!((value.get("inner.y"), value.get("name.x"), value.get("")), (None, None, None));
    value.set("name", Value::String("abc".into())).unwrap();
    assert_eq!(value.get("name").and_then(Value::as_str), Some("abc"));

    let error = value.set("nam", Value::Bool(true)).unwrap_err().to_string();
    assert!(error.ends_with("its members are inner, quality, name, mac"));
    let error = value.set("name", Value::Bool(true)).unwrap_err().to_string();
    assert_eq!(error, "cannot set Outer.name: the value is a boolean, but its type is string<3>");
    let error = value.set("name", Value::String("abcd".into())).unwrap_err().to_string();
    assert_eq!(error, "cannot set Outer.name: length 4 exceeds the bound of 3");
    assert!(value.set("mac", Value::Bytes(vec![0; 5])).is_err());
    assert!(value.set("inner", Value::Struct(value.clone())).is_err());
}

/// A number that names no enumerator is kept and sent on unchanged.
#[test]
fn unknown_enumerators_are_kept() {
    let quality = EnumType::new("Quality", vec![("measured".into(), 3)]).unwrap();
    let structure = StructType::new("T", vec![member("quality", Type::Enum(quality))]).unwrap();
    let payload = [0, 1, 0, 0, 77, 0, 0, 0];
    let value = DynamicValue::from_payload(&structure, &payload).unwrap();
    assert_eq!(value.get("quality"), Some(&Value::Enum(77)));
    let mut again = Vec::new();
    value.to_payload(&mut again).unwrap();
    assert_eq!(again, payload);
}

/// A list element of the wrong type is caught when encoding, with the member's name.
#[test]
fn wrong_list_elements_are_refused() {
    let list = Type::Sequence { element: Box::new(Type::Int32), max: None };
    let mut value = DynamicValue::zero(StructType::new("T", vec![member("list", list)]).unwrap());
    value.set("list", Value::List(vec![Value::Int32(1), Value::String(String::new())])).unwrap();
    let error = value.to_payload(&mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "member list: the value is a string, but its type is int32");
}

/// Numbers of every kind are read as one.
#[test]
fn numbers_widen() {
    assert_eq!(Value::Uint8(200).as_f64(), Some(200.0));
    assert_eq!(Value::Int64(-5).as_f64(), Some(-5.0));
    assert_eq!(Value::Float32(0.5).as_f64(), Some(0.5));
    assert_eq!(Value::Uint64(u64::MAX).as_i64(), None);
    assert_eq!(Value::Bool(true).as_f64(), None);
}
