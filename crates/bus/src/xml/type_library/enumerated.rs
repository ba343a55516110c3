//! Enums, bitmasks and bitsets.

use rtps::types::{BITS_MAX, Bitfield, BitmaskType, BitsetType, EnumType, Type};

use super::{Loader, refused};
use crate::xml::section::{check_attributes, check_no_children, check_no_text, unknown};
use crate::xml::{Element, XmlError};

/// The children, which must all be of this name and without content.
fn parts<'a>(
    element: &'a Element,
    name: &'static str,
    attributes: &[&'static str],
) -> Result<&'a [Element], XmlError> {
    check_no_text(element)?;
    for child in &element.children {
        if child.name != name {
            return Err(unknown(element, child, [name].into_iter()));
        }
        check_attributes(child, attributes.iter().copied())?;
        check_no_children(child)?;
        check_no_text(child)?;
    }
    Ok(&element.children)
}

/// A number of bits from 1 on.
fn bits(element: &Element, most: u16) -> Result<Option<u16>, XmlError> {
    let bits = element.attribute_within("bit_bound", 1, i64::from(most))?;
    Ok(bits.and_then(|bits| u16::try_from(bits).ok()))
}

/// The value of an attribute, or one more than that of the element before.
fn counted<T: crate::xml::Integer>(
    element: &Element,
    attribute: &str,
    next: Option<T>,
) -> Result<T, XmlError> {
    match (element.attribute_number(attribute)?, next) {
        (Some(value), _) | (None, Some(value)) => Ok(value),
        (None, None) => {
            let what =
                format!("attribute {attribute:?} of <{}> would follow the greatest number", element.name);
            Err(element.error(what, "give it a value"))
        }
    }
}

pub(super) fn enumeration(element: &Element, name: &str) -> Result<Type, XmlError> {
    check_attributes(element, ["name", "bit_bound"].into_iter())?;
    let bits = bits(element, EnumType::BITS_MAX)?.unwrap_or(EnumType::BITS_MAX);
    let mut literals = Vec::new();
    let mut next = Some(0_u32);
    for child in parts(element, "enumerator", &["name", "value"])? {
        let value = counted(child, "value", next)?;
        literals.push((child.required("name")?.to_owned(), value));
        next = value.checked_add(1);
    }
    EnumType::bounded(name, bits, literals).map(Type::Enum).map_err(|error| refused(element, &error))
}

pub(super) fn bitmask(element: &Element, name: &str) -> Result<Type, XmlError> {
    check_attributes(element, ["name", "bit_bound"].into_iter())?;
    let bits = bits(element, BITS_MAX)?.unwrap_or(BITMASK_BITS);
    let mut flags = Vec::new();
    let mut next = Some(0_u16);
    for child in parts(element, "bit_value", &["name", "position"])? {
        let position = counted(child, "position", next)?;
        flags.push((child.required("name")?.to_owned(), position));
        next = position.checked_add(1);
    }
    BitmaskType::new(name, bits, flags).map(Type::Bitmask).map_err(|error| refused(element, &error))
}

impl<'a> Loader<'a> {
    pub(super) fn bitset(&mut self, element: &'a Element, name: &str) -> Result<Type, XmlError> {
        check_attributes(element, ["name", "baseType"].into_iter())?;
        let base = match element.attribute("baseType") {
            None => None,
            Some(base) => match self.used(element, "baseType", base)?.resolved() {
                Type::Bitset(base) => Some(base.clone()),
                _ => {
                    let what = format!(
                        "attribute \"baseType\" of {} is {base:?}, which is no bitset",
                        self.shown(element)
                    );
                    return Err(element.error(what, "name a bitset"));
                }
            },
        };
        let mut fields = Vec::new();
        for child in parts(element, "bitfield", &["name", "type", "bit_bound"])? {
            child.required("bit_bound")?;
            let bits = bits(child, BITS_MAX)?.unwrap_or(1);
            let mut field = Bitfield::new(child.attribute("name").map(str::to_owned), bits);
            if let Some(ty) = child.attribute("type") {
                field.ty = field_type(ty).ok_or_else(|| {
                    let what = format!("attribute \"type\" of {} is {ty:?}", self.shown(child));
                    child.error(what, "write boolean, or a whole number as in uint16")
                })?;
            }
            fields.push(field);
        }
        BitsetType::new(name, base, fields).map(Type::Bitset).map_err(|error| refused(element, &error))
    }
}

/// The type of a bitfield; the vendor counts characters among the numbers.
fn field_type(name: &str) -> Option<Type> {
    match super::member::basic(name, None)? {
        Type::Char8 => Some(Type::Uint8),
        Type::Char16 => Some(Type::Uint16),
        number if number.is_discrete() => Some(number),
        _ => None,
    }
}

/// Bits of a bitmask for which the file gives no number.
const BITMASK_BITS: u16 = 32;
