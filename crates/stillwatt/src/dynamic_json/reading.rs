//! Samples from JSON; what does not fit is told with its place. Pure.

use std::sync::Arc;

use rtps::types::{BitmaskType, BitsetType, DynamicValue, StructType, Type, UnionType, UnionValue, Value};
use serde_json::{Map, Value as Json};

use super::DISCRIMINATOR;

/// JSON that is not a sample of the type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {found} is not {expected}")]
pub struct SampleJsonError {
    place: String,
    found: String,
    expected: String,
}

/// A sample from JSON. Members that are not named keep their zero value.
///
/// # Errors
/// When a name is not a member, or a value is not of its member's type; names the member and what it must be.
pub fn from_json(structure: &Arc<StructType>, json: &Json) -> Result<DynamicValue, SampleJsonError> {
    struct_from_json(structure, json, structure.name())
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
            let known = structure.members().iter().map(|member| member.name.as_str());
            return Err(unknown(place, known));
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
    Ok(match ty.resolved() {
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
        Type::Float128 => float128(json).ok_or_else(wrong)?,
        Type::Char8 => Value::Char8(character(json).filter(char::is_ascii).ok_or_else(wrong)?),
        Type::Char16 | Type::Char32 => {
            let letter = character(json).and_then(|letter| u16::try_from(u32::from(letter)).ok());
            Value::Char16(letter.or_else(|| whole(json)).ok_or_else(wrong)?)
        }
        Type::String { .. } => Value::String(json.as_str().ok_or_else(wrong)?.to_owned()),
        Type::WString { .. } | Type::WString32 { .. } => {
            Value::WString(json.as_str().ok_or_else(wrong)?.to_owned())
        }
        Type::Sequence { element, .. } => {
            let items = json.as_array().ok_or_else(wrong)?;
            list(element, items.iter().enumerate().map(|(index, item)| (format!("{place}[{index}]"), item)))?
        }
        Type::Array { element, dimensions } => {
            let mut items = Vec::new();
            flatten(json, dimensions, place, &mut items)?;
            list(element, items.into_iter())?
        }
        Type::Map { key, value, .. } => map(key, value, json.as_object().ok_or_else(wrong)?, place)?,
        Type::Enum(named) => {
            let by_name = json.as_str().and_then(|name| named.value(name));
            Value::Enum(by_name.or_else(|| whole(json)).ok_or_else(wrong)?)
        }
        Type::Bitmask(named) => flags(named, json).ok_or_else(wrong)?,
        Type::Bitset(named) => fields(named, json, place)?,
        Type::Union(named) => {
            Value::Union(Box::new(union(named, json.as_object().ok_or_else(wrong)?, json, place)?))
        }
        Type::Struct(structure) => Value::Struct(struct_from_json(structure, json, place)?),
        // A resolved type is no alias.
        Type::Alias(_) => return Err(wrong()),
    })
}

fn list<'a>(
    element: &Type,
    items: impl Iterator<Item = (String, &'a Json)>,
) -> Result<Value, SampleJsonError> {
    let values = items.map(|(place, item)| value_from_json(element, item, &place));
    if !matches!(element.resolved(), Type::Byte | Type::Uint8) {
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

fn map(key: &Type, value: &Type, json: &Map<String, Json>, place: &str) -> Result<Value, SampleJsonError> {
    let pair = |(name, item): (&String, &Json)| {
        let place = format!("{place}[{name:?}]");
        // A key that is no text stands as the text of its JSON.
        let text = Json::String(name.clone());
        let parsed = serde_json::from_str(name).unwrap_or(Json::Null);
        let known = value_from_json(key, &text, &place);
        Ok((
            known.or_else(|error| value_from_json(key, &parsed, &place).map_err(|_| error))?,
            value_from_json(value, item, &place)?,
        ))
    };
    Ok(Value::Map(json.iter().map(pair).collect::<Result<_, _>>()?))
}

/// A list of names and positions, or all bits as one number.
fn flags(named: &BitmaskType, json: &Json) -> Option<Value> {
    let Some(items) = json.as_array() else { return whole(json).map(Value::Bits) };
    let position = |item: &Json| match item.as_str() {
        Some(name) => named.position(name),
        None => whole(item).filter(|position| *position < named.bits()),
    };
    let mut bits = items.iter().map(|item| position(item).map(|position| 1_u64 << position));
    bits.try_fold(0, |all, bit| bit.map(|bit| all | bit)).map(Value::Bits)
}

/// An object of fields, or all bits as one number.
fn fields(named: &BitsetType, json: &Json, place: &str) -> Result<Value, SampleJsonError> {
    if let Some(bits) = whole(json) {
        return Ok(Value::Bits(bits));
    }
    let object = json.as_object().ok_or_else(|| fault(place, json, "an object of fields"))?;
    let mut bits = 0;
    for (name, item) in object {
        let place = format!("{place}.{name}");
        let known = || named.fields().filter_map(|(_, field)| Some((field.name.as_deref()?, field)));
        let Some((_, field)) = known().find(|(known, _)| known == name) else {
            return Err(unknown(place, known().map(|(name, _)| name)));
        };
        let number = item.as_bool().map(i128::from).or_else(|| whole(item));
        let set = number.and_then(|number| named.with(bits, name, number));
        bits = set
            .ok_or_else(|| fault(&place, item, &format!("a number of {} bits ({})", field.bits, field.ty)))?;
    }
    Ok(Value::Bits(bits))
}

fn union(
    named: &Arc<UnionType>,
    object: &Map<String, Json>,
    json: &Json,
    place: &str,
) -> Result<UnionValue, SampleJsonError> {
    let members: Vec<_> = object.iter().filter(|(name, _)| *name != DISCRIMINATOR).collect();
    let names = || named.cases().iter().map(|case| case.name.as_str());
    let said = match object.get(DISCRIMINATOR) {
        Some(json) => {
            let place = format!("{place}.{DISCRIMINATOR}");
            value_from_json(named.discriminator(), json, &place)?.as_number()
        }
        None => None,
    };
    let (number, member) = match (said, members.as_slice()) {
        (Some(number), []) => (number, None),
        (said, [(name, item)]) => {
            let place = format!("{place}.{name}");
            let Some(case) = named.cases().iter().find(|case| case.name == **name) else {
                return Err(unknown(place, names()));
            };
            let member = value_from_json(&case.ty, item, &place)?;
            let number = said.or_else(|| named.label(name)).unwrap_or(0);
            if named.case(number).is_none_or(|chosen| chosen.name != **name) {
                return Err(fault(
                    &place,
                    item,
                    &format!("the member that {DISCRIMINATOR} {number} chooses"),
                ));
            }
            (number, Some(member))
        }
        _ => {
            let names: Vec<_> = names().collect();
            let expected = format!("an object of one member of {} ({})", named.name(), names.join(", "));
            return Err(fault(place, json, &expected));
        }
    };
    // A discriminator alone stands for the zero value of what it chooses.
    let member = member.or_else(|| named.case(number).map(|case| Value::zero(&case.ty)));
    UnionValue::new(Arc::clone(named), number, member)
        .map_err(|error| fault(place, json, &format!("a value of {} ({error})", named.name())))
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

fn float128(json: &Json) -> Option<Value> {
    let Some(digits) = json.as_str().and_then(|text| text.strip_prefix("0x")) else {
        return float(json).map(Value::float128);
    };
    let is_whole = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let octets = u128::from_str_radix(digits, 16).ok().filter(|_| is_whole)?.to_be_bytes();
    Some(Value::Float128(octets))
}

fn character(json: &Json) -> Option<char> {
    let mut letters = json.as_str()?.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// What a JSON value of a type looks like.
fn described(ty: &Type) -> String {
    match ty.resolved() {
        Type::Bool => "true or false".to_owned(),
        Type::Float32 | Type::Float64 => format!("a number ({ty}; \"NaN\", \"inf\" and \"-inf\" are texts)"),
        Type::Float128 => "a number or a text of 16 octets (\"0x\" and 32 digits)".to_owned(),
        Type::Char8 => "a text of one ASCII character".to_owned(),
        Type::Char16 | Type::Char32 => {
            "a text of one character of 16 bits, or a number below 65536".to_owned()
        }
        Type::String { .. } | Type::WString { .. } | Type::WString32 { .. } => format!("a text ({ty})"),
        Type::Sequence { .. } | Type::Array { .. } => format!("a list ({ty})"),
        Type::Enum(named) => {
            let names: Vec<_> = named.literals().iter().map(|(name, _)| name.as_str()).collect();
            format!("one of {}", names.join(", "))
        }
        Type::Bitmask(named) => {
            let names: Vec<_> = named.flags().iter().map(|(name, _)| name.as_str()).collect();
            format!("a list of {}", names.join(", "))
        }
        Type::Map { .. } | Type::Bitset(_) | Type::Union(_) | Type::Struct(_) => format!("an object ({ty})"),
        _ => format!("a whole number in the range of {ty}"),
    }
}

fn unknown<'a>(place: String, known: impl Iterator<Item = &'a str>) -> SampleJsonError {
    let known: Vec<_> = known.collect();
    let expected = format!("a member (there are {})", known.join(", "));
    SampleJsonError { place, found: "this name".to_owned(), expected }
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
