//! The types of members and typedefs: basic or named, in a sequence, map or array.

use rtps::types::{StructType, Type};

use super::{Layout, Loader};
use crate::xml::{Element, XmlError};

/// The names of the basic types.
pub(super) const BASIC: &[(&str, Type)] = &[
    ("boolean", Type::Bool),
    ("byte", Type::Byte),
    ("octet", Type::Byte),
    ("char8", Type::Char8),
    ("char16", Type::Char16),
    ("int8", Type::Int8),
    ("uint8", Type::Uint8),
    ("int16", Type::Int16),
    ("uint16", Type::Uint16),
    ("int32", Type::Int32),
    ("uint32", Type::Uint32),
    ("int64", Type::Int64),
    ("uint64", Type::Uint64),
    ("float32", Type::Float32),
    ("float64", Type::Float64),
    ("float128", Type::Float128),
    ("string", Type::String { max: None }),
    ("wstring", Type::WString { max: None }),
];

/// The attributes that make up a type.
pub(super) const ATTRIBUTES: [&str; 7] = [
    "type",
    "nonBasicTypeName",
    "stringMaxLength",
    "sequenceMaxLength",
    "mapMaxLength",
    "key_type",
    "arrayDimensions",
];

/// The basic type of this name; text has at most `max` units.
pub(super) fn basic(name: &str, max: Option<u32>, layout: Layout) -> Option<Type> {
    match BASIC.iter().find(|(basic, _)| *basic == name).map(|(_, ty)| ty)? {
        Type::String { .. } => Some(Type::String { max }),
        Type::WString { .. } if layout == Layout::FastDds2 => Some(Type::WString32 { max }),
        Type::WString { .. } => Some(Type::WString { max }),
        Type::Char16 if layout == Layout::FastDds2 => Some(Type::Char32),
        other => Some(other.clone()),
    }
}

impl<'a> Loader<'a> {
    /// The type that the attributes of a member, typedef or discriminator describe.
    pub(super) fn described(&mut self, element: &'a Element) -> Result<Type, XmlError> {
        let single = self.single(element)?;
        let sequence = bound(element, "sequenceMaxLength")?;
        let map = bound(element, "mapMaxLength")?;
        let collection = match (sequence, map, element.attribute("key_type")) {
            (None, None, None) => single,
            (Some(max), None, None) => Type::Sequence { element: Box::new(single), max },
            (None, Some(_), Some("") | None) => {
                return Err(element.error(
                    format!("{} has \"mapMaxLength\" but no \"key_type\"", self.shown(element)),
                    "add the type of the map's keys",
                ));
            }
            (None, Some(max), Some(key)) => {
                let key = match basic(key, None, self.layout) {
                    Some(key) => key,
                    None => self.used(element, "key_type", key)?,
                };
                Type::Map { key: Box::new(key), value: Box::new(single), max }
            }
            (None, None, Some(_)) => {
                return Err(element.error(
                    format!("{} has \"key_type\" but no \"mapMaxLength\"", self.shown(element)),
                    "add mapMaxLength, which is -1 for a map without bound",
                ));
            }
            (Some(_), _, _) => {
                return Err(element.error(
                    format!("{} is both a sequence and a map", self.shown(element)),
                    "give one of them a name by <typedef>",
                ));
            }
        };
        match element.attribute("arrayDimensions") {
            None => Ok(collection),
            Some(text) => {
                let dimensions = dimensions(text).map_err(|why| {
                    let shown = self.shown(element);
                    let what = format!("attribute \"arrayDimensions\" of {shown} is {text:?}, {why}");
                    element.error(what, "write the size of each dimension with commas between, as in 2,3")
                })?;
                Ok(Type::Array { element: Box::new(collection), dimensions })
            }
        }
    }

    /// The type of a member, or of the elements of its collection.
    fn single(&mut self, element: &'a Element) -> Result<Type, XmlError> {
        let name = element.required("type").map_err(|error| self.in_element(element, error))?;
        let max = string_bound(element)?;
        let other = element.attribute("nonBasicTypeName");
        if name == "nonBasic" {
            let Some(other) = other.filter(|other| !other.is_empty()) else {
                let what = format!("{} is nonBasic but has no \"nonBasicTypeName\"", self.shown(element));
                return Err(element.error(what, "add the name of the type"));
            };
            self.refuse_bound(element, max)?;
            return self.used(element, "nonBasicTypeName", other);
        }
        if let Some(other) = other {
            let what = format!("{} is {name:?} and has the nonBasicTypeName {other:?}", self.shown(element));
            return Err(element.error(what, "write type=\"nonBasic\", or leave nonBasicTypeName out"));
        }
        match basic(name, max, self.layout) {
            Some(text @ (Type::String { .. } | Type::WString { .. } | Type::WString32 { .. })) => Ok(text),
            found => {
                self.refuse_bound(element, max)?;
                match found {
                    Some(ty) => Ok(ty),
                    None => self.used(element, "type", name),
                }
            }
        }
    }

    fn refuse_bound(&self, element: &Element, max: Option<u32>) -> Result<(), XmlError> {
        if max.is_none() {
            return Ok(());
        }
        let what = format!("{} has \"stringMaxLength\" but is no text", self.shown(element));
        Err(element.error(what, "leave it out"))
    }

    /// The error with the name of the element.
    fn in_element(&self, element: &Element, error: XmlError) -> XmlError {
        XmlError { what: format!("{}: {}", self.shown(element), error.what), ..error }
    }
}

/// The most units of a text; 255 is the vendor's default, but no limit of what travels.
fn string_bound(element: &Element) -> Result<Option<u32>, XmlError> {
    element
        .attribute_within("stringMaxLength", 1, i64::from(u32::MAX))
        .map(|max| max.and_then(|max| u32::try_from(max).ok()))
}

/// The most elements of a collection, if it is one; -1 is no bound.
fn bound(element: &Element, attribute: &str) -> Result<Option<Option<u32>>, XmlError> {
    if element.attribute(attribute) == Some("-1") {
        return Ok(Some(None));
    }
    let max = element.attribute_within(attribute, 1, i64::from(u32::MAX))?;
    Ok(max.map(|max| u32::try_from(max).ok()))
}

/// The sizes of an array's dimensions.
fn dimensions(text: &str) -> Result<Vec<u32>, &'static str> {
    let size = |text: &str| {
        let text = text.trim_matches([' ', '\t']);
        let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let size = text.parse::<u32>().ok().filter(|_| is_number);
        size.filter(|size| *size > 0)
    };
    let sizes: Option<Vec<u32>> = text.split(',').map(size).collect();
    let sizes = sizes.ok_or("which is not a list of numbers from 1 to 4294967295")?;
    let count = sizes.iter().try_fold(1_usize, |count, size| count.checked_mul(usize::try_from(*size).ok()?));
    match count {
        Some(count) if count <= StructType::SIZE_FIXED_MAX => Ok(sizes),
        _ => Err("which is too many elements in all"),
    }
}
