//! Type information: the octets that Cyclone DDS makes of the same types, and what a peer may send instead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the whole file is test code")]

use proptest::prelude::*;
use rtps::Endianness;
use rtps::cdr::{Cdr, DdsType, Extensibility};
use rtps::types::object::{Equivalence, TypeInformation, TypeObjectError, type_object};
use rtps::types::{AliasType, BitmaskType, Case, EnumType, Member, StructType, Type, UnionType};
use std::sync::Arc;

/// What Cyclone DDS makes of the types below; the file names its source.
const CYCLONE: &str = include_str!("fixtures/cyclone_type_information.json");

#[derive(DdsType)]
#[dds(name = "bench::Item")]
struct Item {
    #[dds(key)]
    id: u32,
    value: f64,
    name: String,
    arr: Vec<u32>,
}

#[derive(Cdr, Clone, Copy)]
#[dds(name = "demo::Quality")]
enum Quality {
    Measured = 5,
    Modelled,
    Absent = 1,
}

#[derive(DdsType)]
#[dds(name = "demo::Place", extensibility = "appendable")]
struct Place {
    #[dds(key)]
    rack: u16,
    label: Option<String>,
}

#[derive(DdsType)]
#[dds(name = "demo::Pair")]
struct Pair {
    place: Place,
    quality: Quality,
}

#[derive(DdsType)]
#[dds(name = "demo::Mutable", extensibility = "mutable")]
struct Mutable {
    #[dds(id = 70000)]
    power: Option<f64>,
    #[dds(key, id = 3)]
    id: u32,
    #[dds(must_understand)]
    urgent: bool,
    place: Place,
}

#[derive(DdsType)]
#[dds(extensibility = "appendable")]
struct Everything {
    flag: bool,
    i8: i8,
    u8: u8,
    i16: i16,
    u16: u16,
    i32: i32,
    u32: u32,
    i64: i64,
    u64: u64,
    f32: f32,
    f64: f64,
    letter: char,
    text: String,
    #[dds(max = 255)]
    short_text: String,
    #[dds(max = 256)]
    long_text: String,
    list: Vec<u8>,
    #[dds(max = 255)]
    short_list: Vec<f64>,
    #[dds(max = 256)]
    long_list: Vec<i16>,
    nested_list: Vec<Vec<String>>,
    small_array: [[u16; 3]; 2],
    large_array: [u8; 256],
    quality: Quality,
    qualities: Vec<Quality>,
    pair: Pair,
    pairs: [Pair; 2],
    #[dds(max = 4)]
    mutables: Vec<Mutable>,
    places: Vec<Place>,
}

fn structures() -> [Arc<StructType>; 5] {
    [Item::structure(), Place::structure(), Pair::structure(), Mutable::structure(), Everything::structure()]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Our type information is octet for octet that of Cyclone DDS, and is read back.
#[test]
fn type_information_is_that_of_cyclone() {
    let cyclone: serde_json::Value = serde_json::from_str(CYCLONE).unwrap();
    let types = cyclone["types"].as_object().unwrap();
    assert_eq!(types.len(), structures().len());
    for structure in structures() {
        let information = TypeInformation::of(&structure).unwrap();
        let bytes = information.to_bytes().unwrap();
        assert_eq!(hex(&bytes), types[structure.name()].as_str().unwrap(), "{}", structure.name());
        assert_eq!(TypeInformation::decode(&bytes, Endianness::Little), Ok(information));
    }
}

/// Types that only descriptions at run time have.
fn described() -> [Arc<StructType>; 4] {
    let case = |name: &str, ty, labels: &[i64], is_default| Case {
        name: name.into(),
        ty,
        labels: labels.to_vec(),
        is_default,
    };
    let choice = UnionType::new(
        "demo::Choice",
        Type::Int32,
        vec![
            case("n", Type::Float64, &[1, 2], false),
            case("s", Type::String { max: None }, &[7], false),
            case("d", Type::Uint8, &[], true),
        ],
    );
    let kind = EnumType::new("demo::Kind", vec![("X".into(), 0), ("Y".into(), 5)]).unwrap();
    let cases = vec![case("n", Type::Int16, &[5], false)];
    let by_kind = UnionType::extensible("demo::ByKind", Extensibility::Appendable, Type::Enum(kind), cases);
    let flags = BitmaskType::new("demo::Flags", 8, vec![("a".into(), 1), ("b".into(), 2)]);
    let watts = AliasType::new("demo::Watts", Type::Float64).map(Type::Alias).unwrap();
    let limit = AliasType::new("demo::Limit", watts.clone()).map(Type::Alias).unwrap();
    let limits = Type::Sequence { element: Box::new(limit), max: None };
    let base = StructType::new("demo::Base", vec![Member::new("a", Type::Uint16)]).unwrap();
    let structure = |name: &str, members: Vec<(&str, Type)>| {
        let members = members.into_iter().map(|(name, ty)| Member::new(name, ty)).collect();
        StructType::new(name, members).unwrap()
    };
    [
        structure(
            "demo::UsesUnion",
            vec![("c", Type::Union(choice.unwrap())), ("k", Type::Union(by_kind.unwrap()))],
        ),
        structure("demo::UsesBits", vec![("f", Type::Bitmask(flags.unwrap()))]),
        structure("demo::UsesAlias", vec![("w", watts), ("l", limits)]),
        StructType::derived("demo::Derived", &base, vec![Member::new("b", Type::Uint32)]).unwrap(),
    ]
}

/// Unions, bitmasks, other names for types and bases are announced as Cyclone DDS does.
#[test]
fn described_types_are_those_of_cyclone() {
    let cyclone: serde_json::Value = serde_json::from_str(CYCLONE).unwrap();
    let types = cyclone["described"].as_object().unwrap();
    assert_eq!(types.len(), described().len());
    for structure in described() {
        let information = TypeInformation::of(&structure).unwrap();
        let bytes = information.to_bytes().unwrap();
        assert_eq!(hex(&bytes), types[structure.name()].as_str().unwrap(), "{}", structure.name());
        assert_eq!(TypeInformation::decode(&bytes, Endianness::Little), Ok(information));
    }
}

/// Every detail of a type changes its hash; the name of the type only that of its complete object.
#[test]
fn every_detail_changes_the_hash() {
    let of = |name: &str, edit: &dyn Fn(&mut Member)| {
        let mut members = vec![Member::new("a", Type::Uint32), Member::new("b", Type::Float64)];
        edit(&mut members[1]);
        let information = TypeInformation::of(&StructType::new(name, members).unwrap()).unwrap();
        (information.minimal.root.unwrap().hash, information.complete.root.unwrap().hash)
    };
    let plain = of("T", &|_| ());
    let edits: [&dyn Fn(&mut Member); 6] = [
        &|member| member.name = "c".into(),
        &|member| member.ty = Type::Uint64,
        &|member| member.id = Some(7),
        &|member| member.key = true,
        &|member| member.is_optional = true,
        &|member| member.must_understand = true,
    ];
    for edit in edits {
        let edited = of("T", edit);
        assert!(edited.0 != plain.0 && edited.1 != plain.1);
    }
    let renamed = of("U", &|_| ());
    assert!(renamed.0 == plain.0 && renamed.1 != plain.1);
}

/// Names that do not fit a type object, and one name for two types, are refused.
#[test]
fn what_cannot_be_announced_is_refused() {
    let long = "n".repeat(257);
    let of = |structure: &StructType| TypeInformation::of(structure).unwrap_err();
    let structure = StructType::new(long.as_str(), vec![Member::new("a", Type::Bool)]).unwrap();
    assert_eq!(of(&structure), TypeObjectError::Name { name: long.clone() });
    let structure = StructType::new("T", vec![Member::new(long.as_str(), Type::Bool)]).unwrap();
    assert_eq!(of(&structure), TypeObjectError::Name { name: long });
    let inner = |ty| Type::Struct(StructType::new("Inner", vec![Member::new("a", ty)]).unwrap());
    let members = vec![Member::new("a", inner(Type::Bool)), Member::new("b", inner(Type::Byte))];
    let structure = StructType::new("T", members).unwrap();
    assert_eq!(of(&structure), TypeObjectError::Ambiguous { name: "Inner".into() });
}

/// A type that contains each of its types twice is described in time and space that do not double with each level.
#[test]
fn shared_types_are_described_once() {
    let mut ty = Type::Bool;
    for level in 0..20 {
        let members = vec![Member::new("a", ty.clone()), Member::new("b", ty)];
        ty = Type::Struct(StructType::new(format!("T{level}"), members).unwrap());
    }
    let Type::Struct(structure) = ty else { panic!("a struct") };
    let information = TypeInformation::of(&structure).unwrap();
    assert_eq!(information.minimal.dependencies.len(), 19);
    assert!(type_object(&structure, Equivalence::Complete).unwrap().len() < 200);
}

/// A peer may name types by other identifiers than hashes, in either byte order; the rest is understood.
#[test]
fn foreign_identifiers_are_passed_over() {
    let item = TypeInformation::of(&Item::structure()).unwrap();
    let mut bytes = item.to_bytes().unwrap();
    // The identifier of a type that contains itself.
    assert_eq!(bytes[20], 0xf1);
    bytes[20] = 0xb0;
    let read = TypeInformation::decode(&bytes, Endianness::Little).unwrap();
    assert_eq!((read.minimal.root, read.complete), (None, item.complete));
    assert!(TypeInformation::decode(&bytes, Endianness::Big).is_err());
}

proptest! {
    /// Octets of any kind neither panic nor make more references than they can hold.
    #[test]
    fn hostile_octets_are_bounded(noise in prop::collection::vec(any::<u8>(), 0..100), at in 0usize..288) {
        let mut bytes = TypeInformation::of(&Everything::structure()).unwrap().to_bytes().unwrap();
        for (octet, noise) in bytes.iter_mut().skip(at).zip(noise.iter().take(5)) {
            *octet = *noise;
        }
        for bytes in [&bytes, &noise] {
            for endianness in [Endianness::Little, Endianness::Big] {
                if let Ok(information) = TypeInformation::decode(bytes, endianness) {
                    let count = information.minimal.dependencies.len() + information.complete.dependencies.len();
                    prop_assert!(count * 16 <= bytes.len());
                }
            }
        }
    }
}
