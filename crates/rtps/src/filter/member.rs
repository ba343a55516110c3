//! Members of a type that an expression names, and their values.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::error::FilterFault;
use super::parse::{Step, shown};
use super::scalar::Scalar;
use crate::types::{StructType, Type, Value};

/// Where a member is in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The member of the topic's type.
    position: usize,
    hops: Vec<Hop>,
}

/// The way from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hop {
    Member(usize),
    Element(usize),
    Case(String),
}

impl Path {
    /// Follows the steps through the type; returns the path and the type it leads to.
    pub(super) fn find<'a>(
        structure: &'a StructType,
        steps: &[Step],
    ) -> Result<(Self, &'a Type), FilterFault> {
        let Some((Step::Name(first), mut left)) = steps.split_first() else {
            return Err(no_member(structure, ""));
        };
        let (position, mut ty) = member(structure, first)?;
        let mut hops = Vec::new();
        while let Some((step, rest)) = left.split_first() {
            let so_far = || shown(steps.get(..steps.len() - left.len()).unwrap_or_default());
            let (hop, next, after) = hop(ty, step, rest, so_far)?;
            hops.push(hop);
            (ty, left) = (next, after);
        }
        Ok((Self { position, hops }, ty))
    }

    /// The position of the member of the topic's type that it starts in.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The value there; `None` when there is none.
    pub(super) fn value<'a>(&self, members: &'a [Value]) -> Option<Scalar<'a>> {
        let mut value = members.get(self.position)?;
        for hop in &self.hops {
            value = match (hop, value) {
                (Hop::Member(position), Value::Struct(inner)) => inner.values().get(*position)?,
                (Hop::Element(index), Value::List(items)) => items.get(*index)?,
                (Hop::Element(index), Value::Bytes(octets)) => {
                    return octets.get(*index).map(|octet| Scalar::Integer(i128::from(*octet)));
                }
                (Hop::Case(name), Value::Union(inner)) => {
                    inner.member().filter(|(case, _)| case.name == *name)?.1
                }
                _ => return None,
            };
        }
        Scalar::of(value)
    }
}

/// One hop, the type that it leads to, and the steps that are left.
fn hop<'a, 's>(
    ty: &'a Type,
    step: &Step,
    rest: &'s [Step],
    shown: impl Fn() -> String,
) -> Result<(Hop, &'a Type, &'s [Step]), FilterFault> {
    let no_part = |part| FilterFault::NoPart { member: shown(), ty: format!("{ty}"), part };
    match (ty.resolved(), step) {
        (Type::Struct(inner), Step::Name(name)) => {
            let (position, ty) = member(inner, name)?;
            Ok((Hop::Member(position), ty, rest))
        }
        (Type::Union(inner), Step::Name(name)) => {
            let case = inner.cases().iter().find(|case| case.name == *name);
            let names = || inner.cases().iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ");
            case.map(|case| (Hop::Case(name.clone()), &case.ty, rest)).ok_or_else(|| FilterFault::NoMember {
                type_name: inner.name().to_string(),
                member: name.clone(),
                known: names(),
            })
        }
        (Type::Sequence { element, .. }, Step::Index(index)) => {
            Ok((Hop::Element(*index as usize), element, rest))
        }
        (Type::Array { element, dimensions }, Step::Index(index)) => {
            let wrong = || FilterFault::Index { member: shown(), ty: format!("{ty}") };
            let (offset, rest) = array_offset(dimensions, *index, rest).ok_or_else(wrong)?;
            Ok((Hop::Element(offset), element, rest))
        }
        (_, Step::Name(_)) => Err(no_part("members")),
        (_, Step::Index(_)) => Err(no_part("elements by number")),
    }
}

/// Where an element of an array is in row-major order, by an index for each dimension.
fn array_offset<'s>(dimensions: &[u32], first: u32, mut rest: &'s [Step]) -> Option<(usize, &'s [Step])> {
    let (mut offset, mut index) = (0_usize, first);
    for (at, length) in dimensions.iter().enumerate() {
        if at > 0 {
            let (Step::Index(next), after) = rest.split_first()? else { return None };
            (index, rest) = (*next, after);
        }
        if index >= *length {
            return None;
        }
        offset = offset.checked_mul(*length as usize)?.checked_add(index as usize)?;
    }
    Some((offset, rest))
}

fn member<'a>(structure: &'a StructType, name: &str) -> Result<(usize, &'a Type), FilterFault> {
    let position = structure.position(name).ok_or_else(|| no_member(structure, name))?;
    let member = structure.members().get(position).ok_or_else(|| no_member(structure, name))?;
    Ok((position, &member.ty))
}

fn no_member(structure: &StructType, name: &str) -> FilterFault {
    FilterFault::NoMember {
        type_name: structure.name().to_string(),
        member: name.to_string(),
        known: known(structure),
    }
}

/// The names of a struct's members.
pub(super) fn known(structure: &StructType) -> String {
    structure.members().iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
}
