//! Samples of types known at run time as JSON (RFC 8259) and back, for `bus echo` and `bus pub`. Pure.
//!
//! A struct is an object in order of its members, an array of several dimensions is nested lists, octets are a list
//! of numbers, an enumerator is its name (its number when it has none). JSON has no numbers that are not finite:
//! they are the texts `NaN`, `inf` and `-inf`.

use std::sync::Arc;

use rtps::types::{DynamicValue, StructType, Type, Value};
use serde_json::{Number, Value as Json};

/// JSON that is not a sample of the type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {found} is not {expected}")]
pub struct SampleJsonError {
    place: String,
    found: String,
    expected: String,
}

/// A sample as JSON.
pub fn to_json(sample: &DynamicValue) -> Json {
    let members = sample.structure().members().iter().zip(sample.values());
    Json::Object(
        members.map(|(member, value)| (member.name.clone(), value_to_json(&member.ty, value))).collect(),
    )
}

/// A sample from JSON. Members that are not named keep their zero value.
///
/// # Errors
/// When a name is not a member, or a value is not of its member's type; names the member and what it must be.
pub fn from_json(structure: &Arc<StructType>, json: &Json) -> Result<DynamicValue, SampleJsonError> {
    struct_from_json(structure, json, structure.name())
}

fn value_to_json(ty: &Type, value: &Value) -> Json {
    match (ty, value) {
        (_, Value::Bool(value)) => Json::Bool(*value),
        (_, Value::Int8(value)) => Json::from(*value),
        (_, Value::Int16(value)) => Json::from(*value),
        (_, Value::Int32(value)) => Json::from(*value),
        (_, Value::Int64(value)) => Json::from(*value),
        (_, Value::Uint8(value)) => Json::from(*value),
        (_, Value::Uint16(value)) => Json::from(*value),
        (_, Value::Uint32(value)) => Json::from(*value),
        (_, Value::Uint64(value)) => Json::from(*value),
        // The shortest digits that give the same number back, where a cast would show rounding.
        (_, Value::Float32(value)) => float_to_json(value.to_string().parse().unwrap_or(f64::NAN)),
        (_, Value::Float64(value)) => float_to_json(*value),
        (_, Value::Char8(value)) => Json::String(value.to_string()),
        (_, Value::String(value)) => Json::String(value.clone()),
        (Type::Array { dimensions, .. }, Value::Bytes(bytes)) => {
            nest(bytes.iter().map(|byte| Json::from(*byte)).collect(), dimensions)
        }
        (_, Value::Bytes(bytes)) => Json::Array(bytes.iter().map(|byte| Json::from(*byte)).collect()),
        (Type::Array { element, dimensions }, Value::List(items)) => {
            nest(items.iter().map(|item| value_to_json(element, item)).collect(), dimensions)
        }
        (Type::Sequence { element, .. }, Value::List(items)) => {
            Json::Array(items.iter().map(|item| value_to_json(element, item)).collect())
        }
        (Type::Enum(named), Value::Enum(number)) => {
            named.literal(*number).map_or_else(|| Json::from(*number), |name| Json::String(name.to_owned()))
        }
        (_, Value::Enum(number)) => Json::from(*number),
        (_, Value::Struct(value)) => to_json(value),
        (_, Value::Absent) => Json::Null,
        // A list under a type that is no list cannot come out of a checked sample.
        (_, Value::List(_)) => Json::Null,
    }
}

fn float_to_json(value: f64) -> Json {
    Number::from_f64(value).map_or_else(|| Json::String(value.to_string()), Json::Number)
}

/// Splits row-major elements into nested lists.
fn nest(items: Vec<Json>, dimensions: &[u32]) -> Json {
    let Some((_, inner)) = dimensions.split_first().filter(|(_, inner)| !inner.is_empty()) else {
        return Json::Array(items);
    };
    let row: usize = inner.iter().map(|count| *count as usize).product();
    Json::Array(items.chunks(row.max(1)).map(|row| nest(row.to_vec(), inner)).collect())
}

fn struct_from_json(
    structure: &Arc<StructType>,
    json: &Json,
    place: &str,
) -> Result<DynamicValue, SampleJsonError> {
    let fields = json.as_object().ok_or_else(|| fault(place, json, "an object"))?;
    let mut sample = DynamicValue::zero(Arc::clone(structure));
    for (name, json) in fields {
        let place = format!("{place}.{name}");
        let member = structure.members().iter().find(|member| member.name == *name);
        let Some(member) = member else {
            let known: Vec<_> = structure.members().iter().map(|member| member.name.as_str()).collect();
            let (found, expected) =
                ("this name".to_owned(), format!("a member (there are {})", known.join(", ")));
            return Err(SampleJsonError { place, found, expected });
        };
        let value = match json {
            Json::Null if member.is_optional => Value::Absent,
            json => value_from_json(&member.ty, json, &place)?,
        };
        sample.set(name, value).map_err(|error| SampleJsonError {
            found: "the value".to_owned(),
            expected: format!("of type {} ({error})", member.ty),
            place,
        })?;
    }
    Ok(sample)
}

fn value_from_json(ty: &Type, json: &Json, place: &str) -> Result<Value, SampleJsonError> {
    let wrong = || fault(place, json, &described(ty));
    Ok(match ty {
        Type::Bool => Value::Bool(json.as_bool().ok_or_else(wrong)?),
        Type::Byte | Type::Uint8 => Value::Uint8(whole(json).ok_or_else(wrong)?),
        Type::Int8 => Value::Int8(whole(json).ok_or_else(wrong)?),
        Type::Int16 => Value::Int16(whole(json).ok_or_else(wrong)?),
        Type::Int32 => Value::Int32(whole(json).ok_or_else(wrong)?),
        Type::Int64 => Value::Int64(whole(json).ok_or_else(wrong)?),
        Type::Uint16 => Value::Uint16(whole(json).ok_or_else(wrong)?),
        Type::Uint32 => Value::Uint32(whole(json).ok_or_else(wrong)?),
        Type::Uint64 => Value::Uint64(whole(json).ok_or_else(wrong)?),
        #[expect(clippy::cast_possible_truncation, reason = "a float is rounded to single precision")]
        Type::Float32 => Value::Float32(float(json).ok_or_else(wrong)? as f32),
        Type::Float64 => Value::Float64(float(json).ok_or_else(wrong)?),
        Type::Char8 => Value::Char8(character(json).ok_or_else(wrong)?),
        Type::String { .. } => Value::String(json.as_str().ok_or_else(wrong)?.to_owned()),
        Type::Sequence { element, .. } => {
            let items = json.as_array().ok_or_else(wrong)?;
            list(element, items.iter().enumerate().map(|(index, item)| (format!("{place}[{index}]"), item)))?
        }
        Type::Array { element, dimensions } => {
            let mut items = Vec::new();
            flatten(json, dimensions, place, &mut items)?;
            list(element, items.into_iter())?
        }
        Type::Enum(named) => {
            let by_name = json.as_str().and_then(|name| named.value(name));
            Value::Enum(by_name.or_else(|| whole(json)).ok_or_else(wrong)?)
        }
        Type::Struct(structure) => Value::Struct(struct_from_json(structure, json, place)?),
    })
}

fn list<'a>(
    element: &Type,
    items: impl Iterator<Item = (String, &'a Json)>,
) -> Result<Value, SampleJsonError> {
    let values = items.map(|(place, item)| value_from_json(element, item, &place));
    if !matches!(element, Type::Byte | Type::Uint8) {
        return Ok(Value::List(values.collect::<Result<_, _>>()?));
    }
    let octet = |value| if let Value::Uint8(octet) = value { octet } else { 0 };
    Ok(Value::Bytes(values.map(|value| value.map(octet)).collect::<Result<_, _>>()?))
}

/// Collects the elements of nested lists in row-major order; each list must have the length of its dimension.
fn flatten<'a>(
    json: &'a Json,
    dimensions: &[u32],
    place: &str,
    items: &mut Vec<(String, &'a Json)>,
) -> Result<(), SampleJsonError> {
    let Some((count, inner)) = dimensions.split_first() else {
        items.push((place.to_owned(), json));
        return Ok(());
    };
    let wanted = || fault(place, json, &format!("a list of {count} elements"));
    let list = json.as_array().filter(|list| list.len() == *count as usize).ok_or_else(wanted)?;
    for (index, item) in list.iter().enumerate() {
        flatten(item, inner, &format!("{place}[{index}]"), items)?;
    }
    Ok(())
}

fn whole<N: TryFrom<i128>>(json: &Json) -> Option<N> {
    let number = json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from))?;
    N::try_from(number).ok()
}

fn float(json: &Json) -> Option<f64> {
    match json {
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        number => number.as_f64(),
    }
}

fn character(json: &Json) -> Option<char> {
    let mut letters = json.as_str()?.chars();
    letters.next().filter(|letter| letter.is_ascii() && letters.next().is_none())
}

/// What a JSON value of a type looks like.
fn described(ty: &Type) -> String {
    match ty {
        Type::Bool => "true or false".to_owned(),
        Type::Float32 | Type::Float64 => format!("a number ({ty}; \"NaN\", \"inf\" and \"-inf\" are texts)"),
        Type::Char8 => "a text of one ASCII character".to_owned(),
        Type::String { .. } => format!("a text ({ty})"),
        Type::Sequence { .. } | Type::Array { .. } => format!("a list ({ty})"),
        Type::Enum(named) => {
            let names: Vec<_> = named.literals().iter().map(|(name, _)| name.as_str()).collect();
            format!("one of {}", names.join(", "))
        }
        Type::Struct(_) => format!("an object ({ty})"),
        number => format!("a whole number in the range of {number}"),
    }
}

fn fault(place: &str, json: &Json, expected: &str) -> SampleJsonError {
    let mut found = json.to_string();
    if found.len() > FOUND_MAX {
        let end = (0..=FOUND_MAX).rev().find(|end| found.is_char_boundary(*end)).unwrap_or(0);
        found.truncate(end);
        found.push('…');
    }
    SampleJsonError { place: place.to_owned(), found, expected: expected.to_owned() }
}

/// An error shows at most this many bytes of what was found.
const FOUND_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use rtps::types::{EnumType, Member};
    use serde_json::json;

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
}
