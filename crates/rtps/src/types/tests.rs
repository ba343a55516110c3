//! What types are refused, and how values are reached by name.

use super::*;
use crate::cdr::{Extensibility, NESTING_MAX, Representation};
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

fn payload_of(ty: Type, value: Value, representation: Representation) -> Vec<u8> {
    let mut sample = DynamicValue::zero(StructType::new("T", vec![member("m", ty)]).unwrap());
    sample.set("m", value).unwrap();
    let mut payload = Vec::new();
    sample.to_payload_in(representation, &mut payload).unwrap();
    let back = DynamicValue::from_payload(sample.structure(), &payload).unwrap();
    assert_eq!(back, sample);
    payload.split_off(4)
}

/// Wide text is counted in octets and has no zero at its end; a wide character has two octets.
#[test]
fn wide_text_octet_by_octet() {
    let text = Value::WString("aé𝄞".into());
    let octets = payload_of(Type::WString { max: Some(4) }, text, Representation::Xcdr1);
    assert_eq!(octets, [8, 0, 0, 0, 0x61, 0, 0xe9, 0, 0x34, 0xd8, 0x1e, 0xdd]);
    assert_eq!(payload_of(Type::Char16, Value::Char16(0x20ac), Representation::Xcdr1), [0xac, 0x20]);
    let structure = StructType::new("T", vec![member("m", Type::WString { max: None })]).unwrap();
    let read = |octets: &[u8]| DynamicValue::from_payload(&structure, &[&[0, 0, 0, 0], octets].concat());
    assert_eq!(read(&[0, 0, 0, 4, 0, 0x61, 0, 0]).unwrap().get("m"), Some(&Value::WString("a".into())));
    for bad in
        [&[0, 0, 0, 1, 0][..], &[0, 0, 0, 2, 0xd8, 0x34], &[0, 0, 0, 4, 0, 0, 0, 1], &[0, 0, 0, 9, 0, 1]]
    {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}

/// A map is its number of pairs, then key and value in turn; XCDR2 tells its size unless both are primitive.
#[test]
fn maps_octet_by_octet() {
    let map = |key: Type, value: Type| Type::Map { key: Box::new(key), value: Box::new(value), max: Some(2) };
    let pairs = Value::Map(vec![(Value::Int16(1), Value::Uint32(2)), (Value::Int16(-1), Value::Uint32(3))]);
    let plain = [2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 0, 0, 3, 0, 0, 0];
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        assert_eq!(payload_of(map(Type::Int16, Type::Uint32), pairs.clone(), representation), plain);
    }
    let named = Value::Map(vec![(Value::String("a".into()), Value::Bool(true))]);
    let ty = map(Type::String { max: None }, Type::Bool);
    let plain = [1, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 1];
    assert_eq!(payload_of(ty.clone(), named.clone(), Representation::Xcdr1), plain);
    let sized = [[11, 0, 0, 0].as_slice(), &plain, &[0]].concat();
    assert_eq!(payload_of(ty.clone(), named.clone(), Representation::Xcdr2), sized);

    let structure = StructType::new("T", vec![member("m", ty)]).unwrap();
    let mut twice = DynamicValue::zero(Arc::clone(&structure));
    let Value::Map(pair) = named else { panic!("a map") };
    twice.set("m", Value::Map([pair.clone(), pair].concat())).unwrap();
    let error = twice.to_payload(&mut Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "member m: a map of 2 pairs has a key twice");
    let octets = [0, 1, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 1, 0, 2, 0, 0, 0, b'a', 0, 1];
    assert_eq!(DynamicValue::from_payload(&structure, &octets).unwrap_err().to_string(), error);
    let float = StructType::new("T", vec![member("m", map(Type::Float32, Type::Bool))]);
    assert!(float.unwrap_err().to_string().contains("key of map T.m is float"));
}

/// The discriminator comes first, then the member that it chooses, if it chooses one.
#[test]
fn unions_octet_by_octet() {
    let case = |name: &str, ty, labels: &[i64], is_default| Case {
        name: name.into(),
        ty,
        labels: labels.to_vec(),
        is_default,
    };
    let cases = || vec![case("a", Type::Uint8, &[1, 2], false), case("b", Type::Float64, &[5], false)];
    let union = UnionType::new("U", Type::Int16, cases()).unwrap();
    let value = |number, member| UnionValue::new(Arc::clone(&union), number, member);
    let ty = || Type::Union(Arc::clone(&union));
    let octets = |value| payload_of(ty(), Value::Union(Box::new(value)), Representation::Xcdr1);
    assert_eq!(octets(value(2, Some(Value::Uint8(7))).unwrap()), [2, 0, 7]);
    let wide = [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
    assert_eq!(octets(value(5, Some(Value::Float64(1.0))).unwrap()), wide);
    assert_eq!(octets(value(9, None).unwrap()), [9, 0]);
    assert_eq!(value(9, None).unwrap().member(), None);
    for (number, member) in
        [(9, Some(Value::Uint8(7))), (1, None), (1, Some(Value::Bool(true))), (40000, None)]
    {
        assert!(value(number, member).is_err(), "{number}");
    }
    assert_eq!((union.label("a"), union.label("b"), union.label("c")), (Some(1), Some(5), None));
    let with_default = [cases(), vec![case("c", Type::Bool, &[], true)]].concat();
    let union = UnionType::new("U", Type::Int16, with_default).unwrap();
    assert_eq!(union.label("c"), Some(0));
    assert_eq!(union.case(77).map(|case| case.name.as_str()), Some("c"));

    let refusal = |discriminator, cases| UnionType::new("U", discriminator, cases).unwrap_err();
    assert!(matches!(refusal(Type::Int16, vec![]), TypeError::Empty { .. }));
    assert!(matches!(refusal(Type::Float32, cases()), TypeError::Discriminator { .. }));
    assert!(matches!(refusal(Type::Bool, cases()), TypeError::Label { label: 2, .. }));
    let twice = vec![case("a", Type::Bool, &[1], false), case("b", Type::Bool, &[1], false)];
    assert!(matches!(refusal(Type::Int16, twice), TypeError::Label { label: 1, .. }));
    assert!(matches!(
        refusal(Type::Int16, vec![case("a", Type::Bool, &[], false)]),
        TypeError::CaseLabels { .. }
    ));
}

/// Bits and enumerators take as many octets as their bound asks for; what does not fit them is refused.
#[test]
fn bounds_of_bits_decide_octets() {
    let mask = |bits| Type::Bitmask(BitmaskType::new("M", bits, vec![("F".into(), 0)]).unwrap());
    for (bits, octets) in [(1, 1), (8, 1), (9, 2), (16, 2), (17, 4), (32, 4), (33, 8), (64, 8)] {
        assert_eq!(
            payload_of(mask(bits), Value::Bits(1), Representation::Xcdr2).len(),
            octets.max(4),
            "{bits}"
        );
        assert_eq!(payload_of(mask(bits), Value::Bits(1), Representation::Xcdr1).len(), octets, "{bits}");
    }
    let mut sample = DynamicValue::zero(StructType::new("T", vec![member("m", mask(8))]).unwrap());
    assert!(sample.set("m", Value::Bits(256)).is_err());
    let level = EnumType::bounded("E", 8, vec![("a".into(), 200)]).unwrap();
    assert_eq!(payload_of(Type::Enum(level), Value::Enum(201), Representation::Xcdr1), [201]);
    assert!(matches!(EnumType::bounded("E", 8, vec![("a".into(), 256)]), Err(TypeError::BitPosition { .. })));
    assert!(matches!(BitmaskType::new("M", 65, vec![("F".into(), 0)]), Err(TypeError::BitBound { .. })));
    assert!(matches!(BitmaskType::new("M", 8, vec![("F".into(), 8)]), Err(TypeError::BitPosition { .. })));
}

/// A quadruple precision number made of a double is the same number; its octets go in the byte order of the sample.
#[test]
fn quadruple_precision() {
    for (double, expected) in [
        (1.0, 0x3fff << 112),
        (-2.5, 0xc000_4000 << 96),
        (0.0, 0),
        (f64::INFINITY, 0x7fff << 112),
        (f64::from_bits(1), (16383 - 1074) << 112),
        (f64::from_bits(3), (16383 - 1073) << 112 | 1 << 111),
    ] {
        assert_eq!(Value::float128(double), Value::Float128(u128::to_be_bytes(expected)), "{double}");
    }
    let one = Value::float128(1.0);
    let octets = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x3f];
    assert_eq!(payload_of(Type::Float128, one, Representation::Xcdr1), octets);
}

/// A struct has the members of its base first, with the identifiers that go on after them, and is as extensible.
#[test]
fn bases_come_first() {
    let base = vec![Member { key: true, id: Some(7), ..Member::new("a", Type::Uint8) }];
    let base = StructType::extensible("Base", Extensibility::Mutable, base).unwrap();
    let derived = StructType::derived("Derived", &base, vec![member("b", Type::Uint16)]).unwrap();
    let ids: Vec<_> = derived.identified().map(|(id, member)| (id, member.name.as_str())).collect();
    assert_eq!(ids, [(7, "a"), (8, "b")]);
    assert_eq!(derived.own_identified().map(|(id, _)| id).collect::<Vec<_>>(), [8]);
    assert_eq!((derived.extensibility(), derived.is_keyed()), (Extensibility::Mutable, true));
    assert!(StructType::derived("Derived", &base, vec![member("a", Type::Bool)]).is_err());
    assert_eq!(StructType::derived("Same", &base, vec![]).unwrap().members(), base.members());
    let deep = (0..NESTING_MAX).try_fold(base, |base, _| StructType::derived("D", &base, vec![]));
    assert!(deep.is_ok());
    assert!(matches!(StructType::derived("D", &deep.unwrap(), vec![]), Err(TypeError::TooDeep { .. })));
}

/// Another name travels as its type, chains of names included, and a chain without measure is refused.
#[test]
fn aliases_travel_as_their_type() {
    let alias = |ty| AliasType::new("A", ty).map(Type::Alias);
    let ty = alias(alias(Type::Uint16).unwrap()).unwrap();
    assert_eq!(payload_of(ty, Value::Uint16(5), Representation::Xcdr1), [5, 0]);
    let octets = Type::Sequence { element: Box::new(alias(Type::Byte).unwrap()), max: None };
    let sized = payload_of(octets, Value::Bytes(vec![1, 2]), Representation::Xcdr2);
    assert_eq!(sized, [2, 0, 0, 0, 1, 2, 0, 0]);
    let chain = (0..=NESTING_MAX).try_fold(Type::Bool, |ty, _| alias(ty)).unwrap();
    assert!(matches!(alias(chain), Err(TypeError::TooDeep { .. })));
}

/// A few octets cannot make a reader fill in large arrays without end.
#[test]
fn what_is_left_out_is_bounded() {
    let array = |count| Type::Array { element: Box::new(Type::Float64), dimensions: vec![count] };
    let inner =
        StructType::extensible("Inner", Extensibility::Mutable, vec![member("a", array(1 << 16))]).unwrap();
    let list = Type::Sequence { element: Box::new(Type::Struct(inner)), max: None };
    let outer = StructType::new("Outer", vec![member("list", list)]).unwrap();
    let sample = |count: u32, representation: &[u8], each: &[u8]| {
        let mut octets = representation.to_vec();
        octets.extend(count.to_le_bytes());
        (0..count).for_each(|_| octets.extend(each));
        octets
    };
    for count in [3, 1000] {
        let xcdr1 = sample(count, &[0, 1, 0, 0], &[2, 0x7f, 0, 0]);
        let size = (4 + 4 * count).to_le_bytes();
        let xcdr2 = sample(count, &[&[0, 7, 0, 0], size.as_slice()].concat(), &[0, 0, 0, 0]);
        for octets in [xcdr1, xcdr2] {
            match DynamicValue::from_payload(&outer, &octets) {
                Ok(value) => assert!(
                    count == 3 && matches!(value.get("list"), Some(Value::List(items)) if items.len() == 3)
                ),
                Err(error) => assert!(count == 1000 && error.to_string().contains("leaves out"), "{error}"),
            }
        }
    }
}
