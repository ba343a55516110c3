//! Types described in XML, in the Fast DDS dialect: structs, unions, enums, bitmasks, bitsets and typedefs. Pure.
//!
//! A type may be used before it is described. What a file says about types is understood as a whole or refused: a
//! member that is left out would make another type of the same name. Beyond the dialect, struct and member take what
//! OMG's DDS-XML has for them: `extensibility`, `key`, `id`, `optional`, `mustUnderstand`.
//!
//! ```
//! use bus::xml::{Document, Types};
//!
//! let text = r#"<types xmlns="http://www.eprosima.com"><type>
//!     <struct name="power::Cap"><member name="watts" type="float32"/></struct>
//! </type></types>"#;
//! let document = Document::parse("cap.xml", text, &|_| None)?;
//! let cap = Types::load(&[document])?.structure("power::Cap").unwrap();
//! assert_eq!(cap.members()[0].name, "watts");
//! # Ok::<(), bus::xml::XmlError>(())
//! ```

mod aggregate;
mod enumerated;
mod member;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rtps::types::{BitsetType, StructType, Type, TypeError};

use super::section::{check_attributes, check_no_text, unknown};
use super::{Document, Element, Finding, Root, XmlError};

/// The types that some files describe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Types {
    types: BTreeMap<String, Type>,
    /// What was found beside errors: what has no effect.
    pub findings: Vec<Finding>,
}

/// What is made of a type's description. Fast DDS 2 departs from the standards where they matter on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// What the OMG's standards say (DDS-XTypes 1.3).
    #[default]
    Standard,
    /// What Fast DDS 2.9 makes of XML types: enumerators are numbered in their order, whatever their `value`; a bitset is
    /// a struct of its fields, without the last ones for each that has no name; `char16` and the characters of `wstring`
    /// have 32 bits; there are no keys. Its `float128` is the 80-bit number of x86 and comes as those octets.
    FastDds2,
}

/// A type that no file describes, or that cannot be the type of a topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeLookupError {
    /// No file describes it.
    #[error("no type {name:?} is described: there are {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names of the structs that there are.
        known: String,
    },
    /// It is no struct.
    #[error("type {name:?} is no struct, which the type of a topic must be: there are {known}")]
    NotStruct {
        /// The name that was asked for.
        name: String,
        /// The names of the structs that there are.
        known: String,
    },
}

impl Types {
    /// The types of some files, which may use each other's.
    ///
    /// # Errors
    /// When a type is not understood, uses one that is not described, contains itself or is described twice.
    pub fn load(documents: &[Document]) -> Result<Self, XmlError> {
        Self::load_as(documents, Layout::Standard)
    }

    /// The types of some files as certain peers make them of the same files.
    ///
    /// # Errors
    /// As [`Types::load`].
    pub fn load_as(documents: &[Document], layout: Layout) -> Result<Self, XmlError> {
        let mut declarations = BTreeMap::new();
        let mut order = Vec::new();
        for section in documents.iter().flat_map(sections) {
            check_attributes(section, std::iter::empty())?;
            check_no_text(section)?;
            for child in &section.children {
                if child.name != "type" {
                    return Err(unknown(section, child, ["type"].into_iter()));
                }
                declare(child, &mut declarations, &mut order)?;
            }
        }
        let mut loader = Loader { declarations, layout, ..Loader::default() };
        for name in order {
            loader.named(name)?;
        }
        let types = loader.known.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
        Ok(Self { types, findings: loader.findings })
    }

    /// The type of this name.
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }

    /// All types by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Type)> {
        self.types.iter().map(|(name, ty)| (name.as_str(), ty))
    }

    /// The struct of this name, or the one that it is another name for.
    pub fn structure(&self, name: &str) -> Option<Arc<StructType>> {
        match self.get(name)?.resolved() {
            Type::Struct(structure) => Some(Arc::clone(structure)),
            _ => None,
        }
    }

    /// The struct of this name; says which ones there are when there is none.
    ///
    /// # Errors
    /// When there is no such struct.
    pub fn lookup(&self, name: &str) -> Result<Arc<StructType>, TypeLookupError> {
        let structs = self.iter().filter(|(_, ty)| matches!(ty.resolved(), Type::Struct(_)));
        let known = || structs.map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        self.structure(name).ok_or_else(|| match self.get(name) {
            None => TypeLookupError::Unknown { name: name.into(), known: known() },
            Some(_) => TypeLookupError::NotStruct { name: name.into(), known: known() },
        })
    }
}

/// The sections of a file that describe types.
fn sections(document: &Document) -> Vec<&Element> {
    let within = |element: &'_ Element| element.name == "types";
    match document.kind {
        Root::Types => vec![&document.root],
        Root::Profiles => document.root.children.iter().filter(|child| within(child)).collect(),
        Root::Dds => {
            let mut found = Vec::new();
            for child in &document.root.children {
                match child.name.as_str() {
                    "types" => found.push(child),
                    "profiles" => found.extend(child.children.iter().filter(|child| within(child))),
                    _ => {}
                }
            }
            found
        }
        Root::Log | Root::LibrarySettings => Vec::new(),
    }
}

/// Notes the types of a `<type>` by name, without looking into them.
fn declare<'a>(
    element: &'a Element,
    declarations: &mut BTreeMap<&'a str, &'a Element>,
    order: &mut Vec<&'a str>,
) -> Result<(), XmlError> {
    check_attributes(element, std::iter::empty())?;
    check_no_text(element)?;
    for child in &element.children {
        if child.name == "module" {
            let remedy = "write the scoped name of each type instead, as in name=\"power::Cap\"";
            return Err(child.error("<module> is not part of the dialect", remedy));
        }
        if !KINDS.contains(&child.name.as_str()) {
            return Err(unknown(element, child, KINDS.iter().copied()));
        }
        let name = child.required("name")?;
        if member::basic(name, None, Layout::Standard).is_some() {
            return Err(child.error(format!("{name:?} is the name of a basic type"), "choose another name"));
        }
        if let Some(first) = declarations.insert(name, child) {
            let what = format!("type {name:?} is described twice, first at {}", first.place);
            return Err(child.error(what, "remove one, or rename it"));
        }
        order.push(name);
    }
    Ok(())
}

const KINDS: &[&str] = &["struct", "union", "enum", "typedef", "bitset", "bitmask"];

/// Types as they become known.
#[derive(Debug, Default)]
struct Loader<'a> {
    declarations: BTreeMap<&'a str, &'a Element>,
    layout: Layout,
    known: BTreeMap<&'a str, Type>,
    bitsets: BTreeMap<&'a str, Arc<BitsetType>>,
    /// The types that wait for one within them, outermost first.
    waiting: Vec<&'a str>,
    /// Members made so far, with those that were inherited.
    members: usize,
    findings: Vec<Finding>,
}

impl<'a> Loader<'a> {
    /// The type of this name, made when it is first asked for. Only called with names that are declared.
    fn named(&mut self, name: &'a str) -> Result<Type, XmlError> {
        if let Some(ty) = self.known.get(name) {
            return Ok(ty.clone());
        }
        let Some(element) = self.declarations.get(name).copied() else { return Ok(Type::Byte) };
        if let Some(start) = self.waiting.iter().position(|waiting| *waiting == name) {
            let mut path = self.waiting.split_off(start);
            path.push(name);
            let what = format!("type {name:?} contains itself: {}", path.join(" > "));
            return Err(element.error(what, "break the circle: such a type has no size"));
        }
        if self.waiting.len() >= WAITING_MAX {
            let what = format!("type {name:?} is within more than {WAITING_MAX} others");
            return Err(element.error(what, "nest types less deep"));
        }
        self.waiting.push(name);
        let ty = match element.name.as_str() {
            "struct" => self.structure(element, name)?,
            "union" => self.union(element, name)?,
            "enum" => self.enumeration(element, name)?,
            "bitmask" => enumerated::bitmask(element, name)?,
            "bitset" => self.bitset(element, name)?,
            _ => self.alias(element, name)?,
        };
        self.waiting.pop();
        self.known.insert(name, ty.clone());
        Ok(ty)
    }

    /// The type that an attribute of `element` names. `what` tells the element in messages.
    fn used(&mut self, element: &'a Element, attribute: &str, name: &'a str) -> Result<Type, XmlError> {
        if self.declarations.contains_key(name) {
            return self.named(name);
        }
        let shown = self.shown(element);
        let what = format!("attribute {attribute:?} of {shown} is {name:?}, which no file describes");
        Err(element.error(what, self.nearest(name)))
    }

    /// An element for messages: with its own name and that of its type.
    fn shown(&self, element: &Element) -> String {
        let own = element.attribute("name").map(|name| format!(" {name:?}")).unwrap_or_default();
        let outer = self.waiting.last().filter(|outer| element.attribute("name") != Some(**outer));
        let outer = outer.map(|outer| format!(" in type {outer:?}")).unwrap_or_default();
        format!("<{}>{own}{outer}", element.name)
    }

    /// What may have been meant by a name.
    fn nearest(&self, name: &str) -> String {
        let basic = member::BASIC.iter().map(|(name, _)| *name);
        let known: BTreeSet<&str> = basic.chain(self.declarations.keys().copied()).collect();
        super::section::hint(name, known.into_iter(), |name| format!("{name:?}"))
    }

    /// Refuses attributes that are not known, and finds those that change nothing here.
    fn check_attributes(&mut self, element: &Element, known: &[&'static str]) -> Result<(), XmlError> {
        check_attributes(element, known.iter().chain(WITHOUT_EFFECT).copied())?;
        for attribute in
            element.attributes.iter().filter(|attribute| !known.contains(&attribute.name.as_str()))
        {
            let shown = self.shown(element);
            let what = format!("attribute {:?} of {shown} has no effect", attribute.name);
            self.findings.push(Finding::warning(element.place.clone(), what));
        }
        Ok(())
    }
}

/// Attributes of DDS-XML that do not change what travels.
const WITHOUT_EFFECT: &[&str] = &["nested", "external", "default", "unit", "min", "max", "range"];

/// Types within each other.
const WAITING_MAX: usize = 64;

/// The error for a type that cannot be, at the line of the part that it is about.
fn refused(element: &Element, error: &TypeError) -> XmlError {
    let part = match error {
        TypeError::MemberName { member, .. }
        | TypeError::MemberId { member, .. }
        | TypeError::KeyOptional { member, .. }
        | TypeError::ArrayEmpty { member, .. }
        | TypeError::MapKey { member, .. }
        | TypeError::BitPosition { member, .. }
        | TypeError::Bitfield { field: member, .. }
        | TypeError::CaseLabels { case: member, .. }
        | TypeError::Label { case: member, .. } => Some(member.as_str()),
        _ => None,
    };
    let is_part = |child: &&Element| {
        part.is_some()
            && (child.attribute("name") == part
                || child.child("member").is_some_and(|child| child.attribute("name") == part))
    };
    let place = element.children.iter().rev().find(is_part).unwrap_or(element);
    place.error(error.to_string(), "correct the type")
}
