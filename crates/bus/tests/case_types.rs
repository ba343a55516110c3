//! The cases about types described in XML: nested structs (A01), bounded strings (A04), array dimensions (A05), bitsets
//! (A07), enums (A08), typedefs (A10), scoped names (A12), order and circles (A14) and the types of A57; and for each a
//! mutated input.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;

use std::sync::Arc;
use std::time::Duration;

use bus::Participant;
use bus::xml::{Document, Types, XmlError};
use rtps::types::{BitsetType, DynamicValue, StructType, Type, Value, ValueError};
use serde_json::Value as Json;

fn load(text: &str) -> Result<Types, XmlError> {
    Types::load(&[Document::parse("f.xml", text, &|_| None)?])
}

/// Types of a case, which gives what stands within `<type>`.
fn load_within(xml: &str) -> Result<Types, XmlError> {
    load(&format!("<types xmlns='http://www.eprosima.com'>\n<type>\n{xml}\n</type></types>"))
}

fn structure(types: &Types, name: &str) -> Arc<StructType> {
    types.lookup(name).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn payload(value: &DynamicValue) -> Vec<u8> {
    let mut payload = Vec::new();
    value.to_payload(&mut payload).unwrap();
    payload
}

/// A value of a type from JSON, for the types that the cases have.
fn value(ty: &Type, json: &Json) -> Value {
    match ty.resolved() {
        Type::String { .. } => Value::String(json.as_str().unwrap().into()),
        Type::Float64 => Value::Float64(json.as_f64().unwrap()),
        Type::Sequence { element, .. } | Type::Array { element, .. } => {
            Value::List(json.as_array().unwrap().iter().map(|item| value(element, item)).collect())
        }
        Type::Struct(structure) => Value::Struct(sample(structure, json)),
        number => Value::from_number(number, json.as_i64().unwrap().into()).unwrap(),
    }
}

fn sample(structure: &Arc<StructType>, json: &Json) -> DynamicValue {
    let mut sample = DynamicValue::zero(Arc::clone(structure));
    for (name, json) in json.as_object().unwrap() {
        let member = structure.members().iter().find(|member| member.name == *name).unwrap();
        sample.set(name, value(&member.ty, json)).unwrap();
    }
    sample
}

/// Case A01: all members in order, and exactly the octets of another DDS, there and back.
#[test]
fn nested_structs_have_every_member() {
    let (expected, values) = (case::json("A01", "expected.json"), case::json("A01", "values.json"));
    let report = structure(&load(&case::text("A01", "types.xml")).unwrap(), values["type"].as_str().unwrap());
    let members: Vec<_> = report.members().iter().map(|member| member.name.as_str()).collect();
    assert_eq!(Json::from(members), expected["members"]);
    let sample = sample(&report, &values["value"]);
    assert_eq!(hex(&payload(&sample)), expected["xcdr1_le_hex"].as_str().unwrap());
    assert_eq!(DynamicValue::from_payload(&report, &payload(&sample)).unwrap(), sample);
}

/// Case A01, mutated: one more zone makes the sample longer by its name, padding and number, and still comes back.
#[test]
fn another_zone_is_carried() {
    let report = structure(&load(&case::text("A01", "types.xml")).unwrap(), "NodeReport");
    let mut values = case::json("A01", "values.json")["value"].clone();
    let before = payload(&sample(&report, &values)).len();
    let zone = serde_json::json!({"name": "core-00", "energy_uj": 1});
    values["zones"].as_array_mut().unwrap().push(zone.clone());
    let longer = sample(&report, &values);
    assert_eq!(payload(&longer).len(), before + 4 + 8 + 4 + 8);
    assert_eq!(DynamicValue::from_payload(&report, &payload(&longer)).unwrap(), longer);
    let zones = values["zones"].as_array_mut().unwrap();
    zones.extend(vec![zone; 6]);
    let mut longest = DynamicValue::zero(Arc::clone(&report));
    let ty = &report.members()[3].ty;
    assert!(longest.set("zones", value(ty, &values["zones"])).is_err(), "9 of at most 8 zones");
}

/// What a bounded string of case A04 does with a text.
fn bounded_string(row: &Json) {
    let short = structure(&load(&case::text("A04", "types.xml")).unwrap(), "Short");
    let mut sample = DynamicValue::zero(short);
    sample.set("s", Value::String("old".into())).unwrap();
    let text = row["in"].as_str().unwrap();
    let result = sample.set("s", Value::String(text.into()));
    if row["ok"] == false {
        assert!(matches!(result, Err(ValueError::Unfit { .. })), "{text}");
        assert_eq!(sample.get("s").and_then(Value::as_str), Some("old"));
        return;
    }
    result.unwrap();
    assert_eq!(sample.get("s").and_then(Value::as_str), Some(text));
    if let Some(expected) = row["xcdr1_le_hex"].as_str() {
        assert_eq!(hex(&payload(&sample)), expected);
    }
    assert_eq!(DynamicValue::from_payload(sample.structure(), &payload(&sample)).unwrap(), sample);
}

/// Case A04: up to the bound a string is kept, above it is refused and the old value stays; octets count.
#[test]
fn strings_are_never_cut() {
    case::json("A04", "expected.json").as_array().unwrap().iter().for_each(bounded_string);
}

/// Case A04, mutated: other texts at the bound and one above, and a sample with a longer text than the type has.
#[test]
fn other_strings_are_never_cut() {
    for (text, ok) in [("ÄÄÄÄÄÄÄa", true), ("ÄÄÄÄÄÄÄab", false), ("𝄞𝄞𝄞abc", true), ("𝄞𝄞𝄞𝄞", false)]
    {
        bounded_string(&serde_json::json!({"in": text, "ok": ok}));
    }
    let short = structure(&load(&case::text("A04", "types.xml")).unwrap(), "Short");
    let long = [&[0, 1, 0, 0, 17, 0, 0, 0][..], &[b'a'; 16], &[0]].concat();
    let error = DynamicValue::from_payload(&short, &long).unwrap_err().to_string();
    assert_eq!(error, "member s: length 16 exceeds the bound of 15");
}

/// The elements of an array with these dimensions; an error names the attribute.
fn elements(dimensions: &str) -> Option<u64> {
    let member = format!("<member name='a' type='uint8' arrayDimensions='{dimensions}'/>");
    match load_within(&format!("<struct name='S'>{member}</struct>")) {
        Ok(types) => match &structure(&types, "S").members()[0].ty {
            Type::Array { dimensions, .. } => {
                Some(dimensions.iter().map(|count| u64::from(*count)).product())
            }
            other => panic!("{other}"),
        },
        Err(error) => {
            assert!(error.what.contains("\"arrayDimensions\"") && error.what.contains("\"a\""), "{error}");
            assert_eq!(error.place.line, 3);
            None
        }
    }
}

/// Case A05: lists of sizes are read, everything else is an error that names the attribute.
#[test]
fn array_dimensions_are_sizes() {
    for row in case::json("A05", "dims.json").as_array().unwrap() {
        let text = row["arrayDimensions"].as_str().unwrap();
        assert_eq!(elements(text), row["elements"].as_u64(), "{text:?}");
    }
}

/// Case A05, mutated: other lists.
#[test]
fn other_array_dimensions_are_sizes() {
    for (text, expected) in [
        ("7,1,2", Some(14)),
        ("007", Some(7)),
        ("1 2", None),
        (",", None),
        ("+2", None),
        ("3,-4", None),
        ("2,0,2", None),
        ("1e3", None),
        ("٣", None),
        ("4294967295,4294967295", None),
    ] {
        assert_eq!(elements(text), expected, "{text:?}");
    }
}

fn bitset(xml: &str) -> Result<Arc<BitsetType>, XmlError> {
    match load_within(xml)?.get("B") {
        Some(Type::Bitset(bitset)) => Ok(Arc::clone(bitset)),
        other => panic!("{other:?}"),
    }
}

/// Case A07: fields are packed from the least significant bit up, a field without name reserves bits, and faults are
/// errors.
#[test]
fn bitsets_are_packed() {
    let case = case::json("A07", "bitset.json");
    let bitset = bitset(case["xml"].as_str().unwrap()).unwrap();
    let offsets = bitset.fields().filter_map(|(at, field)| Some((field.name.clone()?, Json::from(at))));
    assert_eq!(Json::Object(offsets.collect()), case["offsets"]);
    assert_eq!(Json::from(bitset.bits()), case["bits"]);
    let mut bits = 0;
    for (name, number) in case["value"].as_object().unwrap() {
        bits = bitset.with(bits, name, number.as_i64().unwrap().into()).unwrap();
    }
    assert_eq!(format!("{bits:#x}"), case["packed_hex"].as_str().unwrap());
    for (name, number) in case["value"].as_object().unwrap() {
        let read = bitset.get(bits, name).and_then(|value| value.as_number());
        assert_eq!(read, number.as_i64().map(i128::from));
    }
    let member = rtps::types::Member::new("b", Type::Bitset(bitset));
    let mut sample = DynamicValue::zero(StructType::new("S", vec![member]).unwrap());
    sample.set("b", Value::Bits(bits)).unwrap();
    assert_eq!(payload(&sample).len() as u64, 4 + case["holder_bytes"].as_u64().unwrap());
    for xml in case["errors"].as_array().unwrap() {
        assert!(load_within(xml.as_str().unwrap()).is_err(), "{xml}");
    }
}

/// Case A07, mutated: inheritance, the largest and smallest numbers of signed fields, and other faults.
#[test]
fn other_bitsets_are_packed() {
    let base = "<bitset name='A'><bitfield name='a' bit_bound='3'/></bitset>";
    let with = |fields: &str| format!("<bitset name='B' baseType='A'>{fields}</bitset>{base}");
    let derived =
        bitset(&with("<bitfield bit_bound='2'/><bitfield name='d' bit_bound='5' type='int8'/>")).unwrap();
    assert_eq!((derived.bits(), derived.holder()), (10, Type::Uint16));
    assert_eq!(derived.base().map(|base| base.name().to_owned()), Some("A".into()));
    let bits = derived.with(derived.with(0, "a", 7).unwrap(), "d", -16).unwrap();
    assert_eq!(bits, 0b10_0000_0111);
    assert_eq!(derived.get(bits, "d"), Some(Value::Int8(-16)));
    assert_eq!(
        (derived.with(0, "d", 16), derived.with(0, "d", -17), derived.with(0, "a", -1)),
        (None, None, None)
    );
    for xml in [
        with("<bitfield name='a' bit_bound='3'/>"),
        with("<bitfield name='b' bit_bound='62'/>"),
        with("<bitfield name='b' bit_bound='9' type='int8'/>"),
        with("<bitfield name='b' bit_bound='2' type='boolean'/>"),
        with("<bitfield name='b' bit_bound='2' type='float32'/>"),
        with("<bitfield name='b' bit_bound='0'/>"),
        "<bitset name='B'/>".into(),
        "<bitset name='B' baseType='E'><bitfield name='b' bit_bound='2'/></bitset><enum name='E'><enumerator name='X'/></enum>".into(),
    ] {
        assert!(load_within(&xml).is_err(), "{xml}");
    }
}

/// An enum of a case's literals: a name and a value, either of which may be missing.
fn enumeration(literals: &Json) -> Result<Vec<(String, u32)>, XmlError> {
    let attribute = |name: &str, value: &Json| match value {
        Json::Null => String::new(),
        Json::String(text) => format!(" {name}='{text}'"),
        other => format!(" {name}='{other}'"),
    };
    let literal =
        |row: &Json| format!("<enumerator{}{}/>", attribute("name", &row[0]), attribute("value", &row[1]));
    let literals: String = literals.as_array().unwrap().iter().map(literal).collect();
    match load_within(&format!("<enum name='E'>{literals}</enum>"))?.get("E") {
        Some(Type::Enum(named)) => Ok(named.literals().to_vec()),
        other => panic!("{other:?}"),
    }
}

fn check_enumeration(row: &Json) {
    let loaded = enumeration(&row["literals"]);
    let (Some(ok), values) = (row["ok"].as_bool(), row["values"].as_object()) else {
        // Either answer is right; a negative number is refused here, which the message says.
        assert!(loaded.unwrap_err().what.contains("\"value\""), "{row}");
        return;
    };
    assert_eq!(loaded.is_ok(), ok, "{row}: {loaded:?}");
    for (name, value) in values.into_iter().flatten() {
        let found = loaded.as_ref().unwrap().iter().find(|(literal, _)| literal == name);
        assert_eq!(found.map(|(_, number)| Json::from(*number)).as_ref(), Some(value));
    }
}

/// Case A08: given and following values; doubles, none at all, and what is no number are errors.
#[test]
fn enumerators_have_values() {
    case::json("A08", "enums.json").as_array().unwrap().iter().for_each(check_enumeration);
}

/// Case A08, mutated: other literals; a number that names none is kept.
#[test]
fn other_enumerators_have_values() {
    for row in [
        serde_json::json!({"literals": [["A", 7], ["B", null], ["C", 0]], "ok": true, "values": {"A": 7, "B": 8, "C": 0}}),
        serde_json::json!({"literals": [["A", 7], ["B", null], ["C", 8]], "ok": false}),
        serde_json::json!({"literals": [["A", 4294967295_u32], ["B", null]], "ok": false}),
        serde_json::json!({"literals": [["A", ""]], "ok": false}),
        serde_json::json!({"literals": [["A", null], ["A", null]], "ok": false}),
    ] {
        check_enumeration(&row);
    }
    let xml = "<enum name='E'><enumerator name='A'/></enum>\
               <struct name='S'><member name='e' type='nonBasic' nonBasicTypeName='E'/></struct>";
    let sample =
        DynamicValue::from_payload(&structure(&load_within(xml).unwrap(), "S"), &[0, 1, 0, 0, 9, 0, 0, 0]);
    assert_eq!(sample.unwrap().get("e"), Some(&Value::Enum(9)));
}

/// Case A10: chains of other names are resolved and do not travel; broken ones are errors that name the typedef.
#[test]
fn typedefs_are_resolved() {
    let case = case::json("A10", "typedefs.json");
    for xml in case["ok"].as_array().unwrap() {
        let types = load_within(xml.as_str().unwrap()).unwrap();
        for (alias, base) in case["resolves"].as_object().unwrap() {
            let member = format!("<member name='m' type='nonBasic' nonBasicTypeName='{alias}'/>");
            let plain = format!("<member name='m' type='{}'/>", base.as_str().unwrap());
            let octets = |member: &str| {
                let xml = format!("{}<struct name='S'>{member}</struct>", xml.as_str().unwrap());
                payload(&DynamicValue::zero(structure(&load_within(&xml).unwrap(), "S")))
            };
            assert_eq!(octets(&member), octets(&plain));
            assert_eq!(types.get(alias).unwrap().resolved(), &Type::Float64);
        }
    }
    for xml in case["errors"].as_array().unwrap() {
        let xml = xml.as_str().unwrap();
        let error = load_within(xml).unwrap_err();
        if let Some((_, rest)) = xml.split_once("name=\"") {
            let name = rest.split('"').next().unwrap();
            assert!(error.what.contains(&format!("{name:?}")), "{xml}: {error}");
        }
    }
}

/// Case A10, mutated: a chain in the wrong order, and a longer circle.
#[test]
fn other_typedefs_are_resolved() {
    let to = |name: &str, target: &str| {
        format!("<typedef name='{name}' type='nonBasic' nonBasicTypeName='{target}'/>")
    };
    let chain = [to("C", "B"), to("B", "A"), "<typedef name='A' type='uint8' sequenceMaxLength='3'/>".into()];
    let types = load_within(&chain.concat()).unwrap();
    assert_eq!(types.get("C").unwrap().resolved().to_string(), "sequence<uint8, 3>");
    let circle = load_within(&[to("A", "B"), to("B", "C"), to("C", "A")].concat()).unwrap_err();
    assert!(circle.what.contains("A > B > C > A"), "{circle}");
}

/// Case A12: a scoped name is taken as it is, without a finding, and announced so.
#[test]
fn scoped_names_are_taken_as_written() {
    let expected = case::json("A12", "expected.json");
    let types = load(&case::text("A12", "scoped.xml")).unwrap();
    let name = expected["type_name"].as_str().unwrap();
    assert_eq!((structure(&types, name).name(), types.findings.as_slice()), (name, [].as_slice()));
    for other in expected["no_match"].as_array().unwrap() {
        assert!(types.structure(other.as_str().unwrap()).is_none());
        assert!(types.lookup(other.as_str().unwrap()).unwrap_err().to_string().contains(name));
    }
}

/// Case A14: a type may be used before it is described; one that contains itself is refused.
#[test]
fn order_does_not_matter_but_circles_do() {
    let outer = structure(&load(&case::text("A14", "order.xml")).unwrap(), "Outer");
    let members: Vec<_> =
        outer.members().iter().map(|member| (member.name.as_str(), member.ty.to_string())).collect();
    assert_eq!(members, [("id", "int32".into()), ("in", "Inner".into())]);
    let error = load(&case::text("A14", "loop.xml")).unwrap_err();
    assert!(error.what.contains("Loop > Loop") && error.place.line == 3, "{error}");
}

/// Case A14, mutated: circles through sequences, maps, unions, typedefs and bases.
#[test]
fn other_circles_are_found() {
    for circle in [
        "<struct name='A'><member name='m' type='nonBasic' nonBasicTypeName='A' sequenceMaxLength='-1'/></struct>",
        "<struct name='A'><member name='m' type='nonBasic' nonBasicTypeName='A' key_type='int8' mapMaxLength='2'/></struct>",
        "<struct name='A' baseType='A'><member name='m' type='int8'/></struct>",
        "<struct name='A'><member name='m' type='B'/></struct><typedef name='B' type='A' arrayDimensions='2'/>",
        "<union name='A'><discriminator type='int8'/><case><caseDiscriminator value='1'/>\
         <member name='m' type='nonBasic' nonBasicTypeName='A'/></case></union>",
    ] {
        let error = load_within(circle).unwrap_err();
        assert!(error.what.contains("\"A\" contains itself"), "{circle}: {error}");
    }
    let missing = case::text("A14", "order.xml").replace("name=\"Inner\"", "name=\"Innner\"");
    let error = load(&missing).unwrap_err();
    assert!(error.what.contains("\"Inner\"") && error.remedy.contains("Innner"), "{error}");
}

/// Case A57, the bounds of members: -1 is no bound for sequences and maps, everything else that is no number from 1 on
/// is an error that names attribute and value.
#[test]
fn bounds_are_numbers() {
    let mut seen = 0;
    for row in case::json("A57", "numbers.json").as_array().unwrap() {
        let xml = row["xml"].as_str().unwrap();
        if !xml.starts_with("<member") {
            continue;
        }
        seen += 1;
        let loaded = load_within(&format!("<struct name='S'>{xml}</struct>"));
        assert_eq!(loaded.is_ok(), row["ok"].as_bool().unwrap(), "{xml}: {loaded:?}");
        let quoted: Vec<_> = xml.trim_end_matches("/>").rsplit(['"', ' ', '=']).collect();
        let (value, attribute) = (quoted[1], quoted[3]);
        match loaded {
            Err(error) => {
                assert!(error.what.contains(attribute) && error.what.contains(value), "{xml}: {error}")
            }
            Ok(types) => match &structure(&types, "S").members()[0].ty {
                Type::Sequence { max, .. } | Type::Map { max, .. } => assert_eq!(*max, None, "{xml}"),
                other => panic!("{xml}: {other}"),
            },
        }
    }
    assert_eq!(seen, 6);
}

/// Case A57, mutated: bounds that fit.
#[test]
fn fitting_bounds_are_read() {
    for (xml, expected) in [
        ("type='int32' sequenceMaxLength='7'", "sequence<int32, 7>"),
        ("type='int32' sequenceMaxLength='4294967295'", "sequence<int32, 4294967295>"),
        ("type='string' stringMaxLength='12' sequenceMaxLength='-1'", "sequence<string<12>>"),
        (
            "type='wstring' key_type='string' mapMaxLength='3' arrayDimensions='2'",
            "map<string, wstring, 3>[2]",
        ),
    ] {
        let types = load_within(&format!("<struct name='S'><member name='a' {xml}/></struct>")).unwrap();
        assert_eq!(structure(&types, "S").members()[0].ty.to_string(), expected);
    }
}

/// Case A12 on the bus: the name is announced as it is written; a reader of the same name matches, those of the other
/// names do not.
#[test]
fn scoped_names_match_as_written() {
    let expected = case::json("A12", "expected.json");
    let name = expected["type_name"].as_str().unwrap();
    let cap = structure(&load(&case::text("A12", "scoped.xml")).unwrap(), name);
    let join = || Participant::builder().domain(59).build().unwrap();
    let (a, b) = (join(), join());
    let long = Duration::from_secs(10);
    let reader = |name: &str| b.raw_subscriber("cap", name, false).reliable().build().unwrap();
    let others: Vec<_> = expected["no_match"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| reader(other.as_str().unwrap()))
        .collect();
    let same: Vec<_> =
        expected["matches"].as_array().unwrap().iter().map(|same| reader(same.as_str().unwrap())).collect();
    let publisher = a.dynamic_publisher("cap", Arc::clone(&cap)).reliable().build().unwrap();
    assert!(publisher.wait_for_match(same.len(), long));
    assert!(same.iter().all(|reader| reader.wait_for_match(1, long)));
    let announced = b.endpoints().into_iter().find(|end| end.is_writer && end.topic == "cap").unwrap();
    assert_eq!(announced.type_name, name);
    // What is written after the match would have reached every reader that matched before.
    let mut value = DynamicValue::zero(cap);
    value.set("watts", Value::Float32(1.5)).unwrap();
    publisher.write(&value).unwrap();
    assert!(same[0].recv_timeout(long).unwrap().is_some());
    assert_eq!(publisher.matched().current, same.len());
    assert!(others.iter().all(|reader| reader.matched().total == 0));
}
