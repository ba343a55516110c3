//! What filters let pass, what they refuse, and what the refusals say.

use super::*;
use crate::cdr::Representation;
use crate::types::{Case, EnumType, Member, Type, UnionType, UnionValue};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;

fn text() -> Type {
    Type::String { max: None }
}

fn color() -> Type {
    Type::Enum(EnumType::new("Color", vec![("RED".into(), 0), ("BLUE".into(), 5)]).unwrap())
}

fn list(element: Type) -> Type {
    Type::Sequence { element: Box::new(element), max: None }
}

fn reading() -> Arc<StructType> {
    let place = StructType::new("Place", vec![Member::new("rack", text()), Member::new("slot", Type::Uint8)]);
    let case = |name: &str, ty, label| Case { name: name.into(), ty, labels: vec![label], is_default: false };
    let cases = vec![case("watts", Type::Float64, 1), case("why", text(), 2)];
    let figure = UnionType::new("Figure", Type::Int32, cases).unwrap();
    let grid = Type::Array { element: Box::new(Type::Int16), dimensions: vec![2, 3] };
    StructType::new(
        "Reading",
        vec![
            Member::new("host", text()),
            Member::new("place", Type::Struct(place.unwrap())),
            Member::new("power_watts", Type::Float64),
            Member::new("count", Type::Uint64),
            Member::new("is_live", Type::Bool),
            Member::new("color", color()),
            Member { is_optional: true, ..Member::new("limit", Type::Int32) },
            Member::new("grid", grid),
            Member::new("cores", list(Type::Uint32)),
            Member::new("octets", list(Type::Byte)),
            Member::new("letter", Type::Char8),
            Member::new("figure", Type::Union(figure)),
            Member::new("quad", Type::Float128),
        ],
    )
    .unwrap()
}

/// rack7, slot 3, 250.5 W, 2^63 + 1 events, live, blue, no limit, grid 1 to 6, cores 10 and 20, figure 99 W.
fn sample() -> DynamicValue {
    let mut value = DynamicValue::zero(reading());
    let Value::Struct(mut place) = value.get("place").unwrap().clone() else { unreachable!() };
    place.set("rack", Value::String("rack7".into())).unwrap();
    place.set("slot", Value::Uint8(3)).unwrap();
    let Value::Union(figure) = value.get("figure").unwrap().clone() else { unreachable!() };
    let figure = UnionValue::new(Arc::clone(figure.union()), 1, Some(Value::Float64(99.0))).unwrap();
    for (name, member) in [
        ("host", Value::String("it's n1".into())),
        ("place", Value::Struct(place)),
        ("power_watts", Value::Float64(250.5)),
        ("count", Value::Uint64((1 << 63) + 1)),
        ("is_live", Value::Bool(true)),
        ("color", Value::Enum(5)),
        ("grid", Value::List((1..=6).map(Value::Int16).collect())),
        ("cores", Value::List(vec![Value::Uint32(10), Value::Uint32(20)])),
        ("octets", Value::Bytes(vec![7, 8])),
        ("letter", Value::Char8('x')),
        ("figure", Value::Union(Box::new(figure))),
    ] {
        value.set(name, member).unwrap();
    }
    value
}

fn passes(expression: &str, parameters: &[&str]) -> bool {
    let sample = sample();
    let filter = Filter::new(sample.structure(), expression, parameters)
        .unwrap_or_else(|error| panic!("{expression}: {error}"));
    let is_met = filter.is_met(&sample);
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let mut payload = Vec::new();
        sample.to_payload_in(representation, &mut payload).unwrap();
        assert_eq!(filter.is_met_by(&payload), Ok(is_met), "{expression} in {representation:?}");
    }
    is_met
}

/// Every kind of predicate, member and constant, and how they combine.
#[test]
fn the_language_means_what_it_says() {
    for expression in [
        "power_watts > 250",
        "250 < power_watts",
        "power_watts = 250.5 AND NOT power_watts <> 2505e-1",
        "place.slot = 3",
        "place.slot == 3 AND host=='it''s n1'",
        "place.slot = 0x3",
        "place.rack LIKE 'rack%'",
        "place.rack like '_ack_' and place.rack not like 'rack'",
        "place.rack >= 'rack10' AND place.rack <= 'rack7'",
        "host = 'it''s n1'",
        "power_watts BETWEEN 1 AND 251",
        "power_watts NOT BETWEEN 1 AND 250",
        "is_live = TRUE",
        "color = 'BLUE'",
        "color > 'RED' and color = 5",
        "grid[1][0] = 4 AND grid[0][2]=3",
        "cores[1] > cores[0]",
        "octets[1] = 8",
        "letter = 'x'",
        "figure.watts < 100",
        "count > 9223372036854775808",
        "count > power_watts",
        "count <> 9223372036854775808 AND count > 9223372036854775808.0",
        "NOT (power_watts < 250 OR place.slot = 4)",
        "power_watts < 0 OR power_watts > 0 AND place.slot = 3",
    ] {
        assert!(passes(expression, &[]), "{expression}");
    }
    for expression in [
        "power_watts > 250.5",
        "NOT place.rack LIKE 'rack%'",
        "place.rack LIKE 'Rack%'",
        "place.rack LIKE 'rack'",
        "power_watts BETWEEN 251 AND 1",
        "color = 'RED'",
        "count = 9223372036854775808",
        "place.slot = 3 AND (is_live = FALSE OR power_watts > 300)",
    ] {
        assert!(!passes(expression, &[]), "{expression}");
    }
}

/// A parameter is what its place needs, in quotes or not.
#[test]
fn parameters_fit_their_place() {
    assert!(passes("power_watts > %0 AND place.rack = %1 AND color = %2", &["250", "rack7", "BLUE"]));
    assert!(passes("power_watts > %0 AND place.rack = %1 AND color = %2", &["2.5e2", "'rack7'", "'BLUE'"]));
    assert!(passes(
        "is_live = %10 AND power_watts BETWEEN %0 AND %1",
        &["-1", "1000", "", "", "", "", "", "", "", "", "true"]
    ));
    assert!(passes("place.rack LIKE %0", &["%7"]));
    assert!(!passes("place.rack = %0", &["250"]), "text that looks like a number is text");
    assert!(passes("color = %0", &["5"]));
}

/// What is not there is neither equal nor different; only what is true passes.
#[test]
fn absent_members_are_unknown() {
    for expression in [
        "limit = 0",
        "limit <> 0",
        "NOT limit = 0",
        "limit BETWEEN -5 AND 5",
        "cores[2] >= 0",
        "NOT cores[2] >= 0",
        "figure.why LIKE '%'",
        "limit = 0 AND power_watts > 0",
        "NOT (limit = 0 OR power_watts < 0)",
    ] {
        assert!(!passes(expression, &[]), "{expression}");
    }
    assert!(passes("limit = 0 OR power_watts > 0", &[]));
    assert!(passes("NOT (limit = 0 AND power_watts < 0)", &[]));
}

/// What is not a number passes no comparison, nor the opposite of one.
#[test]
fn not_a_number_never_passes() {
    let structure =
        StructType::new("T", vec![Member::new("x", Type::Float64), Member::new("y", Type::Int8)]).unwrap();
    let mut value = DynamicValue::zero(Arc::clone(&structure));
    value.set("x", Value::Float64(f64::NAN)).unwrap();
    value.set("y", Value::Int8(1)).unwrap();
    let passes = |text: &str| Filter::new::<&str>(&structure, text, &[]).unwrap().is_met(&value);
    for expression in
        ["x = x", "x <> x", "x <> 1", "x < 1", "x >= 1", "x BETWEEN 0 AND 1", "x NOT BETWEEN 0 AND 1"]
    {
        assert!(!passes(expression) && !passes(&format!("NOT {expression}")), "{expression}");
    }
    assert!(passes("x = 1 OR 1 = y") && !passes("x = 1 AND 1 = y"));
}

/// Each fault names the character where it is and what would do.
#[test]
fn faults_name_position_and_remedy() {
    for (expression, position, part) in [
        ("", 1, "expected a member"),
        ("power_watts", 12, "expected =, <>"),
        ("power_watts > ", 15, "expected a member, a number"),
        ("power_wats > 1", 1, "its members are host, place"),
        ("place.shelf = 1", 1, "its members are rack, slot"),
        ("is_live AND TRUE", 9, "expected =, <>"),
        ("is_live = 1", 11, "write TRUE or FALSE"),
        ("host = 'ü' AND place = 1", 16, "name a part of it"),
        ("color = 'GREEN'", 9, "RED, BLUE"),
        ("place.rack = 7", 14, "single quotes"),
        ("power_watts LIKE '2%'", 1, "LIKE is for text"),
        ("power_watts > 'many'", 15, "write a number"),
        ("power_watts > %1", 15, "%1 stands for a parameter, and 1 were given"),
        ("power_watts > %x", 15, "from 0 to 99"),
        ("host = 'open", 8, "closing quote"),
        ("(power_watts > 1", 17, "\")\""),
        ("power_watts > 1)", 16, "AND, OR or the end"),
        ("power_watts ! 1", 13, "found '!'"),
        ("power_watts > 12abc", 15, "\"12abc\" is no number"),
        ("1 < 2", 1, "compares a member of Reading"),
        ("host = power_watts", 8, "a number"),
        ("grid[1] = 1", 1, "each of its dimensions"),
        ("grid[2][0] = 1", 1, "each of its dimensions"),
        ("grid[0][0][0] = 1", 1, "has no elements"),
        ("host.length = 1", 1, "has no members"),
        ("cores[-1] = 1", 7, "from 0"),
        ("quad = 1", 1, "long double"),
        ("power_watts NOT > 1", 17, "BETWEEN or LIKE"),
        ("power_watts BETWEEN 1 OR 2", 23, "AND between"),
    ] {
        let error = Filter::new(&reading(), expression, &["5"]).expect_err(expression);
        assert_eq!(error.position, position, "{error}");
        let shown = format!("{error}");
        assert!(shown.contains(part), "{shown:?} says {part:?}");
    }
}

/// Depth and length are bounded, whatever the expression.
#[test]
fn hostile_expressions_are_refused() {
    let deep = |levels: usize| format!("{}power_watts > 1{}", "(".repeat(levels), ")".repeat(levels));
    let of = |expression: &str| Filter::new::<&str>(&reading(), expression, &[]);
    assert!(of(&deep(64)).is_ok());
    assert_eq!(of(&deep(65)).unwrap_err().fault, FilterFault::TooDeep);
    assert_eq!(of(&"NOT ".repeat(100)).unwrap_err().fault, FilterFault::TooDeep);
    assert_eq!(of(&" ".repeat(5000)).unwrap_err().fault, FilterFault::TooLong { bytes: 5000 });
    let long = "x".repeat(5000);
    let error = Filter::new(&reading(), "host = %0", &[long.as_str()]).unwrap_err();
    assert_eq!(error.fault, FilterFault::TooLong { bytes: 5000 });
    let pattern = "%a".repeat(1000) + "%b";
    let structure = StructType::new("T", vec![Member::new("x", text())]).unwrap();
    let mut value = DynamicValue::zero(Arc::clone(&structure));
    value.set("x", Value::String("a".repeat(4000))).unwrap();
    assert!(!Filter::new(&structure, "x LIKE %0", &[pattern]).unwrap().is_met(&value));
}

/// A sample is read no further than the last member named: what comes after may be broken.
#[test]
fn samples_are_read_as_far_as_needed() {
    let mut payload = Vec::new();
    sample().to_payload(&mut payload).unwrap();
    let filter = Filter::new::<&str>(&reading(), "place.slot = 3", &[]).unwrap();
    assert_eq!(filter.is_met_by(&payload[..4 + 4 + 8 + 4 + 6 + 1]), Ok(true));
    let filter = Filter::new::<&str>(&reading(), "power_watts > 3", &[]).unwrap();
    assert!(filter.is_met_by(&payload[..20]).is_err());
}
