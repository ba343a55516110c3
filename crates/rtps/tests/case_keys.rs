//! Cases of instance keys, through derived types and through types built from the case's own description (A59).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the whole file is test code")]

mod world;

use rtps::cdr::{DdsType, Encoder, Endianness, KeyHash, Representation, key_hash_of_payload, to_payload};
use rtps::qos::{History, Qos};
use rtps::types::{DynamicValue, Member, StructType, Type, Value};
use rtps::{EndpointConfig, KeyHasher, WriteSample};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;
use world::{World, durable};

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

/// What a keyed reader of a derived type is made with.
type Hasher = fn(&[u8], bool) -> Option<KeyHash>;

fn hasher<T: DdsType>(payload: &[u8], is_key: bool) -> Option<KeyHash> {
    key_hash_of_payload::<T>(payload, is_key).ok()
}

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
        Member { key, ..Member::new(name, ty) }
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

/// The derived type with the same members.
fn derived_for(structure: &StructType) -> (Derived, Hasher) {
    let known: [(Arc<StructType>, (Derived, Hasher)); 2] = [
        (SocketPower::structure(), (derived::<SocketPower>, hasher::<SocketPower>)),
        (NodePower::structure(), (derived::<NodePower>, hasher::<NodePower>)),
    ];
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
            for hash in (derived_for(&structure).0)(&sample) {
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
        for hash in (derived_for(&structure).0)(&sample) {
            assert_eq!(hash.to_string(), expected);
        }
    }
}

/// Another value of each key member.
fn other_key(key: &Json) -> Json {
    let changed = key.as_object().unwrap().iter().map(|(name, value)| {
        let other = match value {
            Json::String(text) => Json::from(format!("{text}x")),
            number => Json::from(number.as_i64().unwrap() + 1),
        };
        (name.clone(), other)
    });
    Json::Object(changed.collect())
}

/// Writers and readers of one keyed topic with a history of one sample for each instance.
struct Keyed {
    world: World,
    endpoint: EndpointConfig,
    hasher: Hasher,
    writer: rtps::EntityId,
}

impl Keyed {
    fn new(structure: &StructType) -> Self {
        let mut world = World::new(59);
        let host = world.add();
        let qos = Qos { history: History::KeepLast(1), ..durable() };
        let endpoint = EndpointConfig {
            topic: "t".into(),
            type_name: "Power".into(),
            is_keyed: true,
            qos,
            ..EndpointConfig::default()
        };
        let now = world.now;
        let writer = world.participant(host).create_writer(now, endpoint.clone()).unwrap();
        Self { world, endpoint, hasher: derived_for(structure).1, writer }
    }

    fn join(&mut self) -> (usize, rtps::EntityId) {
        let host = self.world.add();
        let (now, hasher) = (self.world.now, KeyHasher(Arc::new(self.hasher)));
        let reader =
            self.world.participant(host).create_reader(now, self.endpoint.clone(), Some(hasher)).unwrap();
        self.world.run_for(Duration::from_secs(1));
        (host, reader)
    }

    /// Writes a sample, or with `None` for the power ends the instance.
    fn write(&mut self, sample: &mut DynamicValue, watts: Option<f64>) {
        let mut payload = Vec::new();
        let mut status = rtps::message::StatusInfo::default();
        match watts {
            Some(watts) => {
                sample.set("w", Value::Float64(watts)).unwrap();
                sample.to_payload(&mut payload).unwrap();
            }
            None => {
                status.disposed = true;
                sample.key_to_payload(&mut payload).unwrap();
            }
        }
        let instance = Some(sample.key_hash().unwrap());
        let (now, writer) = (self.world.now, self.writer);
        let sample = WriteSample { instance, status, payload: &payload, timestamp: None };
        self.world.participant(0).write(now, writer, sample).unwrap();
        // Long enough for the acknowledgement, after which an ended instance is forgotten.
        self.world.run_for(Duration::from_millis(100));
    }

    /// Instance, power and whether that was the end of the instance.
    fn taken(&mut self, (host, reader): (usize, rtps::EntityId)) -> Vec<(String, f64, bool)> {
        let mut taken = Vec::new();
        while let Some(sample) = self.world.take(host, reader) {
            let watts = sample.payload.last_chunk().copied().map_or(0.0, f64::from_le_bytes);
            let is_end = sample.status.disposed;
            taken.push((sample.instance.unwrap().to_string(), if is_end { 0.0 } else { watts }, is_end));
        }
        taken
    }
}

/// Two samples with one key are one instance, and its end leaves other instances alone.
fn check_instances(ty: &str, key: &Json, expected: &str) {
    let structure = parse_type(ty);
    let (mut one, mut other) = (sample(&structure, key), sample(&structure, &other_key(key)));
    let (ours, theirs) = (expected.to_owned(), other.key_hash().unwrap().to_string());
    assert_ne!(ours, theirs);
    let mut keyed = Keyed::new(&structure);
    let early = keyed.join();
    keyed.write(&mut one, Some(1.0));
    keyed.write(&mut other, Some(2.0));
    keyed.write(&mut one, Some(3.0));
    let latest = [(theirs.clone(), 2.0, false), (ours.clone(), 3.0, false)];
    assert_eq!(keyed.taken(early), latest, "the second sample took the place of the first");
    let late = keyed.join();
    assert_eq!(keyed.taken(late), latest);
    keyed.write(&mut one, None);
    for reader in [early, late] {
        assert_eq!(keyed.taken(reader), [(ours.clone(), 0.0, true)], "only this instance ends");
    }
    let last = keyed.join();
    assert_eq!(keyed.taken(last), [(theirs, 2.0, false)], "the other instance is still there");
    keyed.write(&mut one, Some(4.0));
    assert_eq!(keyed.taken(last), [(ours, 4.0, false)], "and the ended one may begin again");
}

/// Case A59 with endpoints: equal keys are one instance. Mutated: with other keys as well.
#[test]
fn equal_keys_are_one_instance() {
    let cases: Vec<Json> = serde_json::from_str(A59).unwrap();
    for case in &cases {
        let ty = case["type"].as_str().unwrap();
        check_instances(ty, &case["key"], case["key_hash"].as_str().unwrap());
        let key = other_key(&case["key"]);
        let expected = sample(&parse_type(ty), &key).key_hash().unwrap().to_string();
        check_instances(ty, &key, &expected);
    }
}
