//! Samples of types known at run time as JSON, and back. Pure.
//!
//! | type | JSON |
//! | --- | --- |
//! | boolean, numbers, text | as they are; numbers that JSON lacks are the texts `NaN`, `inf` and `-inf` |
//! | `long double` | text of its 16 octets, most significant first: `"0x3fff…"`; a number is taken too |
//! | `char`, `wchar` | text of one character; half of a surrogate pair is its number |
//! | sequence, array | list; an array of several dimensions is nested lists |
//! | map | object; the keys as text |
//! | enum | the enumerator's name; its number where it has none |
//! | bitmask | list of the names of the flags that are set; the position where it has no name |
//! | bitset | object of its fields |
//! | union | object of the member that is there and `_d`, the discriminator, which may be left out on the way in |
//! | struct | object; an optional member that is not there is `null` |

mod reading;
#[cfg(test)]
mod tests;

pub use reading::{SampleJsonError, from_json};

use rtps::types::{BitmaskType, BitsetType, DynamicValue, Type, UnionValue, Value};
use serde_json::{Map, Number, Value as Json};

/// The name of a union's discriminator.
const DISCRIMINATOR: &str = "_d";

/// A sample as JSON.
pub fn to_json(sample: &DynamicValue) -> Json {
    let members = sample.structure().members().iter().zip(sample.values());
    Json::Object(
        members.map(|(member, value)| (member.name.clone(), value_to_json(&member.ty, value))).collect(),
    )
}

fn value_to_json(ty: &Type, value: &Value) -> Json {
    match (ty.resolved(), value) {
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
        (_, Value::Float128(octets)) => Json::String(format!("{:#034x}", u128::from_be_bytes(*octets))),
        (_, Value::Char8(value)) => Json::String(value.to_string()),
        (_, Value::Char16(unit)) => {
            char::from_u32(u32::from(*unit)).map_or(Json::from(*unit), |letter| letter.to_string().into())
        }
        (_, Value::String(value) | Value::WString(value)) => Json::String(value.clone()),
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
        (Type::Map { key, value, .. }, Value::Map(pairs)) => Json::Object(
            pairs.iter().map(|pair| (key_text(key, &pair.0), value_to_json(value, &pair.1))).collect(),
        ),
        (Type::Enum(named), Value::Enum(number)) => {
            named.literal(*number).map_or_else(|| Json::from(*number), |name| Json::String(name.to_owned()))
        }
        (_, Value::Enum(number)) => Json::from(*number),
        (Type::Bitmask(named), Value::Bits(bits)) => flags_to_json(named, *bits),
        (Type::Bitset(named), Value::Bits(bits)) => fields_to_json(named, *bits),
        (_, Value::Bits(bits)) => Json::from(*bits),
        (_, Value::Union(value)) => union_to_json(value),
        (_, Value::Struct(value)) => to_json(value),
        (_, Value::Absent) => Json::Null,
        // A list under a type that is no list cannot come out of a checked sample.
        (_, Value::List(_) | Value::Map(_)) => Json::Null,
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

/// A key of a map as the name of a field.
fn key_text(ty: &Type, key: &Value) -> String {
    match value_to_json(ty, key) {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

fn flags_to_json(named: &BitmaskType, bits: u64) -> Json {
    let set = (0..64).filter(|position| bits >> position & 1 == 1);
    let shown =
        set.map(|position: u16| named.flag(position).map_or_else(|| Json::from(position), Json::from));
    Json::Array(shown.collect())
}

fn fields_to_json(named: &BitsetType, bits: u64) -> Json {
    let fields = named.fields().filter_map(|(_, field)| {
        let name = field.name.as_ref()?;
        Some((name.clone(), value_to_json(&field.ty, &named.get(bits, name)?)))
    });
    Json::Object(fields.collect())
}

fn union_to_json(value: &UnionValue) -> Json {
    let ty = value.union().discriminator();
    let discriminator = Value::from_number(ty, value.discriminator());
    let mut object = Map::new();
    object
        .insert(DISCRIMINATOR.into(), discriminator.map_or(Json::Null, |number| value_to_json(ty, &number)));
    if let Some((case, member)) = value.member() {
        object.insert(case.name.clone(), value_to_json(&case.ty, member));
    }
    Json::Object(object)
}
