//! Content filters: any expression, parameter and sample is judged or refused, and octets are judged as their value is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtps::cdr::{DdsType, Representation, to_payload_in};
use rtps::filter::Filter;
use rtps::types::DynamicValue;

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "fuzz::Place", crate = ::rtps)]
struct Place {
    rack: String,
    slot: u8,
}

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "fuzz::Reading", extensibility = "appendable", crate = ::rtps)]
struct Reading {
    host: String,
    place: Place,
    watts: f64,
    count: u64,
    change: i64,
    ratio: f32,
    live: bool,
    limit: Option<i32>,
    grid: [i16; 4],
    cores: Vec<u32>,
    places: Vec<Place>,
}

/// One sample that has something everywhere, and one that has nothing.
fn readings() -> [Reading; 2] {
    let place = Place { rack: "rack7".into(), slot: 3 };
    let full = Reading {
        host: "n1".into(),
        place: place.clone(),
        watts: 250.5,
        count: (1 << 63) + 1,
        change: -((1 << 53) + 1),
        ratio: f32::NAN,
        live: true,
        limit: Some(7),
        grid: [1, 2, 3, 4],
        cores: vec![10, 20],
        places: vec![place],
    };
    [full, Reading::default()]
}

// An expression, its parameters on the lines after it, and after a zero octet a serialized sample.
fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|octet| *octet == 0).unwrap_or(input.len());
    let (text, octets) = input.split_at(end);
    let octets = octets.get(1..).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let mut lines = text.split('\n');
    let expression = lines.next().unwrap_or_default();
    let parameters: Vec<&str> = lines.collect();
    let structure = Reading::structure();
    let filter = match Filter::new(&structure, expression, &parameters) {
        Ok(filter) => filter,
        Err(error) => {
            assert!((1..=expression.chars().count() + 1).contains(&error.position), "{error}");
            return;
        }
    };
    let again = Filter::new(&structure, &filter.to_string(), &parameters).expect("what is shown can be read");
    // One level deeper and a few octets longer, so it may break a bound.
    let opposite = Filter::new(&structure, &format!("NOT ({expression})"), &parameters).ok();
    for reading in readings() {
        for representation in [Representation::Xcdr1, Representation::Xcdr2] {
            let mut payload = Vec::new();
            to_payload_in(&reading, representation, &mut payload).expect("a reading has no bounds to break");
            let value = DynamicValue::from_payload(&structure, &payload).expect("just written");
            let is_met = filter.is_met(&value);
            assert_eq!(filter.is_met_by(&payload), Ok(is_met), "{expression}");
            assert_eq!(again.is_met(&value), is_met, "{expression}");
            // Neither is true of what is not there or not a number; both never are.
            let is_opposite_met = opposite.as_ref().is_some_and(|opposite| opposite.is_met(&value));
            assert!(!(is_met && is_opposite_met), "{expression}");
        }
    }
    if let Ok(value) = DynamicValue::from_payload(&structure, octets) {
        assert_eq!(filter.is_met_by(octets), Ok(filter.is_met(&value)), "{expression}");
    }
});
