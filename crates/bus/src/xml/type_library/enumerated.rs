//! Enums, bitmasks and bitsets.

use std::collections::BTreeMap;
use std::sync::Arc;

use rtps::types::{BITS_MAX, Bitfield, BitmaskType, BitsetType, EnumType, Member, StructType, Type};

use super::{Layout, Loader, refused};
use crate::xml::section::{check_attributes, check_no_children, check_no_text, unknown};
use crate::xml::{Element, Finding, XmlError};

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
    pub(super) fn enumeration(&mut self, element: &'a Element, name: &str) -> Result<Type, XmlError> {
        check_attributes(element, ["name", "bit_bound"].into_iter())?;
        let bits = bits(element, EnumType::BITS_MAX)?.unwrap_or(EnumType::BITS_MAX);
        let mut literals = Vec::new();
        let mut next = Some(0_u32);
        for (order, child) in (0..).zip(parts(element, "enumerator", &["name", "value"])?) {
            let value = counted(child, "value", next)?;
            next = value.checked_add(1);
            let sent = if self.layout == Layout::FastDds2 { order } else { value };
            if sent != value {
                let what = format!("{} is sent as {order}, not as its value {value}", self.shown(child));
                self.findings.push(Finding::warning(child.place.clone(), what));
            }
            literals.push((child.required("name")?.to_owned(), sent));
        }
        EnumType::bounded(name, bits, literals).map(Type::Enum).map_err(|error| refused(element, &error))
    }

    pub(super) fn bitset(&mut self, element: &'a Element, name: &'a str) -> Result<Type, XmlError> {
        check_attributes(element, ["name", "baseType"].into_iter())?;
        let mut base = None;
        if let Some(of) = element.attribute("baseType") {
            self.used(element, "baseType", of)?;
            let Some(bitset) = self.bitsets.get(of) else {
                let shown = self.shown(element);
                let what = format!("attribute \"baseType\" of {shown} is {of:?}, which is no bitset");
                return Err(element.error(what, "name a bitset"));
            };
            base = Some(Arc::clone(bitset));
        }
        let mut fields = Vec::new();
        for child in parts(element, "bitfield", &["name", "type", "bit_bound"])? {
            child.required("bit_bound")?;
            let bits = bits(child, BITS_MAX)?.unwrap_or(1);
            let mut field = Bitfield::new(child.attribute("name").map(str::to_owned), bits);
            if let Some(ty) = child.attribute("type") {
                field.ty = field_type(ty, self.layout).ok_or_else(|| {
                    let what = format!("attribute \"type\" of {} is {ty:?}", self.shown(child));
                    child.error(what, "write boolean, or a whole number as in uint16")
                })?;
            }
            fields.push(field);
        }
        let bitset = BitsetType::new(name, base, fields).map_err(|error| refused(element, &error))?;
        self.bitsets.insert(name, Arc::clone(&bitset));
        if self.layout == Layout::Standard {
            return Ok(Type::Bitset(bitset));
        }
        let structure = StructType::new(name, field_members(&bitset));
        structure.map(Type::Struct).map_err(|error| refused(element, &error))
    }
}

/// The fields of a bitset as the members of a struct that Fast DDS 2 sends.
fn field_members(bitset: &BitsetType) -> Vec<Member> {
    let mut members = field_ids(bitset);
    let count = members.len();
    (0..count).filter_map(|id| members.remove(&id)).collect()
}

/// The fields by the numbers that Fast DDS 2 gives them: places, with those that have no name counted in; those of a
/// derived bitset go on with the count of all so far, unless that number is taken. It sends as many numbers as there are
/// fields, so that those that stand behind a field without a name may be left out.
fn field_ids(bitset: &BitsetType) -> BTreeMap<usize, Member> {
    let inherited = bitset.base().map_or(0, |base| base.fields().count());
    let mut members = bitset.base().map(|base| field_ids(base)).unwrap_or_default();
    for (place, (_, field)) in bitset.fields().skip(inherited).enumerate() {
        let id = if inherited == 0 { place } else { members.len() };
        if let Some(name) = &field.name {
            members.entry(id).or_insert_with(|| Member::new(name.as_str(), field.ty.clone()));
        }
    }
    members
}

/// The type of a bitfield; the vendor counts characters among the numbers.
fn field_type(name: &str, layout: Layout) -> Option<Type> {
    match super::member::basic(name, None, layout)? {
        Type::Char8 => Some(Type::Uint8),
        Type::Char16 => Some(Type::Uint16),
        Type::Char32 => Some(Type::Uint32),
        number if number.is_discrete() => Some(number),
        _ => None,
    }
}

/// Bits of a bitmask for which the file gives no number.
const BITMASK_BITS: u16 = 32;
