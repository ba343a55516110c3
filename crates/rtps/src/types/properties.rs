//! Any type and any value of it, in every layout: there and back, within its largest size, and under attack.
#![allow(clippy::cast_possible_truncation, reason = "seeds may lose their high bits")]

use super::*;
use crate::cdr::{Decoder, Encoder, Endianness, Extensibility, Representation};
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const LAYOUTS: [(Endianness, Representation); 4] = [
    (Endianness::Big, Representation::Xcdr1),
    (Endianness::Little, Representation::Xcdr1),
    (Endianness::Big, Representation::Xcdr2),
    (Endianness::Little, Representation::Xcdr2),
];

/// Names are made from a count, so that no two types of a tree share one.
fn enumeration() -> impl Strategy<Value = Type> {
    (1..=32_u16).prop_map(|bits| {
        let literals = (0..2).map(|value| (format!("L{value}"), value)).collect();
        Type::Enum(EnumType::bounded(format!("E{bits}"), bits, literals).unwrap())
    })
}

fn bits() -> impl Strategy<Value = Type> {
    let mask = (1..=64_u16).prop_map(|bits| {
        Type::Bitmask(BitmaskType::new(format!("M{bits}"), bits, vec![("F".into(), bits - 1)]).unwrap())
    });
    let set = prop::collection::vec(1..=16_u16, 1..=4).prop_map(|bits| {
        let name = |at| if at == 1 { None } else { Some(format!("f{at}")) };
        let fields = bits.iter().enumerate().map(|(at, bits)| Bitfield::new(name(at), *bits)).collect();
        Type::Bitset(BitsetType::new(format!("B{bits:?}"), None, fields).unwrap())
    });
    prop_oneof![mask, set]
}

fn discrete() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::Bool),
        Just(Type::Byte),
        Just(Type::Int16),
        Just(Type::Uint32),
        Just(Type::Int64),
        Just(Type::Char8),
        Just(Type::Char16),
        Just(Type::Char32),
        enumeration(),
    ]
}

fn leaf() -> impl Strategy<Value = Type> {
    let max = || prop::option::of(1..9_u32);
    prop_oneof![
        discrete(),
        bits(),
        prop::sample::select(vec![
            Type::Int8,
            Type::Uint8,
            Type::Uint16,
            Type::Int32,
            Type::Uint64,
            Type::Float32,
            Type::Float64,
            Type::Float128,
        ]),
        max().prop_map(|max| Type::String { max }),
        max().prop_map(|max| Type::WString { max }),
        max().prop_map(|max| Type::WString32 { max }),
    ]
}

fn extensibility() -> impl Strategy<Value = Extensibility> {
    prop::sample::select(vec![Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable])
}

fn structure_of(ty: impl Strategy<Value = Type>) -> impl Strategy<Value = Arc<StructType>> {
    let member = (ty, any::<bool>());
    (extensibility(), prop::collection::vec(member, 1..4), 0..3_usize).prop_map(
        |(extensibility, members, inherited)| {
            let member = |(at, (ty, is_optional)): (usize, (Type, bool))| Member {
                is_optional,
                ..Member::new(format!("m{at}"), ty)
            };
            let mut members: Vec<Member> = members.into_iter().enumerate().map(member).collect();
            if inherited == 0 || inherited >= members.len() {
                return StructType::extensible("S", extensibility, members).unwrap();
            }
            let own = members.split_off(inherited);
            let base = StructType::extensible("Base", extensibility, members).unwrap();
            StructType::derived("S", &base, own).unwrap()
        },
    )
}

fn union_of(ty: impl Strategy<Value = Type>) -> impl Strategy<Value = Type> {
    let extensibility = prop::sample::select(vec![Extensibility::Final, Extensibility::Appendable]);
    (extensibility, discrete(), prop::collection::vec(ty, 1..4), any::<bool>()).prop_map(
        |(extensibility, discriminator, types, has_default)| {
            let count = if discriminator == Type::Bool { types.len().min(2) } else { types.len() };
            let case = |(label, ty): (i64, Type)| Case {
                name: format!("c{label}"),
                ty,
                labels: vec![label],
                is_default: has_default && label == 0,
            };
            let cases = (0..).zip(types).take(count).map(case).collect();
            Type::Union(UnionType::extensible("U", extensibility, discriminator, cases).unwrap())
        },
    )
}

fn any_type() -> impl Strategy<Value = Type> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let max = || prop::option::of(1..4_u32);
        let boxed = || inner.clone().prop_map(Box::new);
        let key =
            prop_oneof![discrete(), Just(Type::String { max: None }), Just(Type::WString { max: Some(3) })];
        prop_oneof![
            (boxed(), max()).prop_map(|(element, max)| Type::Sequence { element, max }),
            (boxed(), prop::collection::vec(1..3_u32, 1..3))
                .prop_map(|(element, dimensions)| Type::Array { element, dimensions }),
            (key.prop_map(Box::new), boxed(), max()).prop_map(|(key, value, max)| Type::Map {
                key,
                value,
                max
            }),
            structure_of(inner.clone()).prop_map(Type::Struct),
            union_of(inner.clone()),
            inner.clone().prop_map(|ty| Type::Alias(AliasType::new("A", ty).unwrap())),
        ]
    })
}

/// A value of the type that the seeds choose.
fn value(ty: &Type, seeds: &mut dyn Iterator<Item = u64>) -> Value {
    let seed = seeds.next().unwrap_or(0);
    let length = |max: &Option<u32>| (seed % 4).min(max.map_or(3, u64::from));
    let text = |count: u64| {
        (0..count).map(|at| char::from(b'a' + ((seed >> 8) + at) as u8 % 26)).collect::<String>()
    };
    match ty.resolved() {
        Type::Float32 => Value::Float32(seed as f32),
        Type::Float64 => Value::Float64(seed as f64),
        Type::Float128 => Value::float128(seed as f64),
        Type::String { max } => Value::String(text(length(max))),
        Type::WString { max } | Type::WString32 { max } => {
            Value::WString(text(length(max)).replace('a', "ä"))
        }
        Type::Bitmask(named) => Value::Bits(seed & (u64::MAX >> (64 - 8 * named.holder().size_min()))),
        Type::Bitset(named) => Value::Bits(seed & (u64::MAX >> (64 - 8 * named.holder().size_min()))),
        Type::Sequence { element, max } => list(element, length(max) as usize, seeds),
        Type::Array { element, dimensions } => list(element, element_count(dimensions), seeds),
        Type::Map { key, value: each, max } => {
            let mut pairs: Vec<(Value, Value)> = Vec::new();
            for _ in 0..length(max) {
                let new = value(key, seeds);
                if pairs.iter().all(|(key, _)| *key != new) {
                    pairs.push((new, value(each, seeds)));
                }
            }
            Value::Map(pairs)
        }
        Type::Union(named) => {
            let number = (0..3)
                .map(|at| i128::from(seed >> at & 3))
                .find(|number| Value::from_number(named.discriminator(), *number).is_some());
            let number = number.unwrap_or(0);
            let member = named.case(number).map(|case| value(&case.ty, seeds));
            Value::Union(Box::new(UnionValue::new(Arc::clone(named), number, member).unwrap()))
        }
        Type::Struct(structure) => Value::Struct(sample(structure, seeds)),
        number => {
            let numbers = [i128::from(seed as i64), i128::from(seed as u8), i128::from(seed & 1)];
            numbers.into_iter().find_map(|seed| Value::from_number(number, seed)).unwrap()
        }
    }
}

fn list(element: &Type, count: usize, seeds: &mut dyn Iterator<Item = u64>) -> Value {
    if element.is_octet() {
        return Value::Bytes((0..count).map(|at| at as u8).collect());
    }
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(value(element, seeds));
    }
    Value::List(items)
}

fn sample(structure: &Arc<StructType>, seeds: &mut dyn Iterator<Item = u64>) -> DynamicValue {
    let mut sample = DynamicValue::zero(Arc::clone(structure));
    for member in structure.members() {
        let is_absent = member.is_optional && seeds.next().is_some_and(|seed| seed % 2 == 0);
        if !is_absent {
            sample.set(&member.name, value(&member.ty, seeds)).unwrap();
        }
    }
    sample
}

fn seeds() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 0..40)
}

/// Values in memory, with those within.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::List(items) => items.iter().map(count).sum(),
        Value::Map(pairs) => pairs.iter().map(|(key, value)| count(key) + count(value)).sum(),
        Value::Struct(value) => value.values().iter().map(count).sum(),
        Value::Union(value) => value.member().map_or(0, |(_, member)| count(member)),
        _ => 0,
    }
}

proptest! {
    /// Every value of every type comes back in every layout, and is never longer than its type says.
    #[test]
    fn values_come_back(structure in structure_of(any_type()), seeds in seeds()) {
        let sample = sample(&structure, &mut seeds.into_iter());
        for (endianness, representation) in LAYOUTS {
            let mut octets = Vec::new();
            sample.encode(&mut Encoder::new(&mut octets, endianness, representation)).unwrap();
            let mut decoder = Decoder::new(&octets, endianness, representation);
            let back = DynamicValue::decode(&structure, &mut decoder);
            prop_assert_eq!(back.as_ref(), Ok(&sample), "{:?} {:02x?}", representation, octets);
            prop_assert_eq!(decoder.remaining(), 0);
            prop_assert!(octets.len() >= structure.size_min());
        }
    }

    /// The key of a sample comes back, and its hash does not depend on how it came.
    #[test]
    fn keys_come_back(types in prop::collection::vec(any_type(), 1..3), seeds in seeds()) {
        let member = |(at, ty): (usize, Type)| Member { key: true, ..Member::new(format!("k{at}"), ty) };
        let members = types.into_iter().enumerate().map(member).chain([Member::new("rest", Type::Bool)]).collect();
        let structure = StructType::new("S", members).unwrap();
        let sample = sample(&structure, &mut seeds.into_iter());
        for representation in [Representation::Xcdr1, Representation::Xcdr2] {
            let (mut payload, mut key) = (Vec::new(), Vec::new());
            sample.to_payload_in(representation, &mut payload).unwrap();
            sample.key_to_payload_in(representation, &mut key).unwrap();
            let hash = sample.key_hash_in(representation).unwrap();
            let of = |payload: &[u8], is_key| DynamicValue::key_hash_of_payload(&structure, payload, is_key);
            prop_assert_eq!((of(&payload, false), of(&key, true)), (Ok(hash), Ok(hash)));
        }
    }

    /// Octets of any kind neither panic nor make more values than they have octets, but for what is left out of
    /// appendable and mutable types.
    #[test]
    fn hostile_octets_make_few_values(
        structure in structure_of(any_type()),
        seeds in seeds(),
        at in any::<Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
        width in 0..6_usize,
    ) {
        let sample = sample(&structure, &mut seeds.into_iter());
        let zero = count(&Value::Struct(DynamicValue::zero(Arc::clone(&structure))));
        for (endianness, representation) in LAYOUTS {
            let mut octets = Vec::new();
            sample.encode(&mut Encoder::new(&mut octets, endianness, representation)).unwrap();
            let start = at.index(octets.len() + 1);
            octets.iter_mut().skip(start).zip(&noise).take(width).for_each(|(octet, noise)| *octet = *noise);
            for octets in [&octets, &noise] {
                let decoder = Decoder::new(octets, endianness, representation);
                if let Ok(value) = DynamicValue::decode(&structure, &mut decoder.clone()) {
                    let values = count(&Value::Struct(value));
                    prop_assert!(values <= (octets.len() + 1) * (zero + 1) * 4, "{} {}", values, octets.len());
                }
                let _ = DynamicValue::decode_key(&structure, &mut decoder.clone());
            }
        }
    }

    /// A bitset gives back every field that was set, and no other changes.
    #[test]
    fn fields_do_not_touch_each_other(sizes in prop::collection::vec(1..=16_u16, 1..=4), start in any::<u64>(), at in any::<Index>(), number in any::<i16>()) {
        let types = [Type::Int16, Type::Uint16];
        let fields = sizes.iter().enumerate().map(|(at, bits)| Bitfield {
            name: Some(at.to_string()),
            bits: *bits,
            ty: types[at % 2].clone(),
        });
        let bitset = BitsetType::new("B", None, fields.collect()).unwrap();
        let at = at.index(sizes.len());
        let set = bitset.with(start, &at.to_string(), i128::from(number));
        for other in 0..sizes.len() {
            let read = |bits| bitset.get(bits, &other.to_string()).and_then(|value| value.as_number());
            if let Some(set) = set {
                prop_assert_eq!(read(set), if other == at { Some(i128::from(number)) } else { read(start) });
            }
        }
    }
}
