//! Structs, unions and typedefs.

use rtps::cdr::{Extensibility, MEMBER_ID_MAX};
use rtps::types::{AliasType, Case, Member, StructType, Type, UnionType, Value};

use super::member::ATTRIBUTES;
use super::{Layout, Loader, refused};
use crate::xml::section::{check_no_children, check_no_text, unknown};
use crate::xml::{Element, XmlError};

impl<'a> Loader<'a> {
    pub(super) fn structure(&mut self, element: &'a Element, name: &str) -> Result<Type, XmlError> {
        self.check_attributes(element, &["name", "baseType", "extensibility"])?;
        check_no_text(element)?;
        let extensibility = extensibility(element)?;
        let base = match element.attribute("baseType") {
            None => None,
            Some(base) => match self.used(element, "baseType", base)?.resolved() {
                Type::Struct(base) => Some(base.clone()),
                _ => {
                    let shown = self.shown(element);
                    let what = format!("attribute \"baseType\" of {shown} is {base:?}, which is no struct");
                    return Err(element.error(what, "name a struct"));
                }
            },
        };
        let mut own = Vec::new();
        for child in &element.children {
            if child.name != "member" {
                return Err(unknown(element, child, ["member"].into_iter()));
            }
            own.push(self.member(child)?);
        }
        let inherited = base.as_ref().map_or(0, |base| base.members().len());
        self.members = self.members.saturating_add(own.len()).saturating_add(inherited);
        if self.members > MEMBERS_MAX {
            let what =
                format!("up to {name:?} there are more than {MEMBERS_MAX} members, inherited ones counted");
            return Err(element.error(what, "split the file"));
        }
        let made = match &base {
            Some(base) => {
                if extensibility.is_some_and(|own| own != base.extensibility()) {
                    let what = format!("{} is not as extensible as its base", self.shown(element));
                    return Err(element.error(what, "give both the same extensibility"));
                }
                StructType::derived(name, base, own)
            }
            None => StructType::extensible(name, extensibility.unwrap_or_default(), own),
        };
        made.map(Type::Struct).map_err(|error| refused(element, &error))
    }

    /// A member of a struct.
    fn member(&mut self, element: &'a Element) -> Result<Member, XmlError> {
        let known = ["name", "key", "id", "optional", "mustUnderstand"];
        self.check_attributes(element, &[&known, ATTRIBUTES.as_slice()].concat())?;
        check_no_children(element)?;
        check_no_text(element)?;
        let flag = |name| element.attribute_boolean(name).map(Option::unwrap_or_default);
        let id = element.attribute_within("id", 0, i64::from(MEMBER_ID_MAX))?;
        Ok(Member {
            key: flag("key")? && self.layout == Layout::Standard,
            id: id.and_then(|id| u32::try_from(id).ok()),
            is_optional: flag("optional")?,
            must_understand: flag("mustUnderstand")?,
            ..Member::new(element.required("name")?, self.described(element)?)
        })
    }

    pub(super) fn alias(&mut self, element: &'a Element, name: &str) -> Result<Type, XmlError> {
        self.check_attributes(element, &[&["name"], ATTRIBUTES.as_slice()].concat())?;
        check_no_children(element)?;
        check_no_text(element)?;
        let ty = self.described(element)?;
        AliasType::new(name, ty).map(Type::Alias).map_err(|error| refused(element, &error))
    }

    pub(super) fn union(&mut self, element: &'a Element, name: &str) -> Result<Type, XmlError> {
        self.check_attributes(element, &["name", "extensibility"])?;
        check_no_text(element)?;
        let extensibility = extensibility(element)?.unwrap_or_default();
        let mut discriminators = element.children.iter().filter(|child| child.name == "discriminator");
        let (Some(discriminator), None) = (discriminators.next(), discriminators.next()) else {
            let what = format!("{} does not have one <discriminator>", self.shown(element));
            return Err(element.error(what, "add <discriminator type=\"int32\"/>, or another type"));
        };
        self.check_attributes(discriminator, &["type", "nonBasicTypeName"])?;
        let ty = self.described(discriminator)?;
        let mut cases = Vec::new();
        for child in &element.children {
            match child.name.as_str() {
                "discriminator" => {}
                "case" => cases.push(self.case(child, &ty)?),
                _ => return Err(unknown(element, child, ["discriminator", "case"].into_iter())),
            }
        }
        let made = UnionType::extensible(name, extensibility, ty, cases);
        made.map(Type::Union).map_err(|error| refused(element, &error))
    }

    fn case(&mut self, element: &'a Element, discriminator: &Type) -> Result<Case, XmlError> {
        self.check_attributes(element, &[])?;
        check_no_text(element)?;
        let (mut labels, mut is_default, mut member) = (Vec::new(), false, None);
        for child in &element.children {
            match child.name.as_str() {
                "caseDiscriminator" => {
                    self.check_attributes(child, &["value"])?;
                    for text in child.required("value")?.split(',') {
                        match text.trim() {
                            "default" => is_default = true,
                            text => labels.push(self.label(child, text, discriminator)?),
                        }
                    }
                }
                "member" if member.is_none() => member = Some(self.member(child)?),
                "member" => {
                    return Err(child.error("a <case> has one <member>, this has more", "use a struct"));
                }
                _ => return Err(unknown(element, child, ["caseDiscriminator", "member"].into_iter())),
            }
        }
        let Some(member) = member else {
            return Err(element.error(format!("{} has no <member>", self.shown(element)), "add it"));
        };
        if labels.is_empty() && !is_default {
            let what = format!("the <case> of member {:?} has no <caseDiscriminator>", member.name);
            return Err(element.error(what, "add <caseDiscriminator value=\"…\"/>"));
        }
        if member.key || member.is_optional || member.must_understand || member.id.is_some() {
            let what = format!("member {:?} of a union has an attribute that is for structs", member.name);
            return Err(element.error(what, "remove key, id, optional and mustUnderstand"));
        }
        Ok(Case { name: member.name, ty: member.ty, labels, is_default })
    }

    /// A discriminator: a number, the name of an enumerator, true or false, a character.
    fn label(&self, element: &Element, text: &str, discriminator: &Type) -> Result<i64, XmlError> {
        let number = text.parse::<i64>().ok();
        let named = match discriminator.resolved() {
            Type::Enum(named) => named.value(text).map(i64::from),
            Type::Bool if text == "true" => Some(1),
            Type::Bool if text == "false" => Some(0),
            Type::Char8 | Type::Char16 if number.is_none() && text.chars().count() == 1 => {
                text.chars().next().map(|letter| i64::from(u32::from(letter)))
            }
            _ => None,
        };
        let is_value = |label: &i64| Value::from_number(discriminator, i128::from(*label)).is_some();
        named.or(number).filter(is_value).ok_or_else(|| {
            let what = format!(
                "attribute \"value\" of {} is {text:?}, which is no value of the discriminator",
                self.shown(element)
            );
            element.error(what, format!("write a value of {discriminator}, or default"))
        })
    }
}

/// How a type may change, if its file says so.
fn extensibility(element: &Element) -> Result<Option<Extensibility>, XmlError> {
    match element.attribute("extensibility") {
        None => Ok(None),
        Some("final") => Ok(Some(Extensibility::Final)),
        Some("appendable") => Ok(Some(Extensibility::Appendable)),
        Some("mutable") => Ok(Some(Extensibility::Mutable)),
        Some(other) => {
            let what = format!("attribute \"extensibility\" of <{}> is {other:?}", element.name);
            Err(element.error(what, "write final, appendable or mutable"))
        }
    }
}

/// Members of all structs of some files. Inheritance copies them.
const MEMBERS_MAX: usize = 1_000_000;
