//! Structs known at run time (DDS-XTypes 7.2.2.4.5.4), checked when made. Pure.

use super::{Type, TypeError, Value};
use crate::cdr::{Extensibility, Extent, MEMBER_ID_MAX, MemberHeader, NESTING_MAX};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A part of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, unique in the struct.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it is part of the key.
    pub key: bool,
    /// Its identifier; `None` is one above that of the member before, and 0 for the first.
    pub id: Option<u32>,
    /// Whether a value may be without it.
    pub is_optional: bool,
    /// Whether a reader of a mutable type that does not know it must refuse the sample.
    pub must_understand: bool,
}

impl Member {
    /// A member that is neither key nor optional, with the next identifier.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, key: false, id: None, is_optional: false, must_understand: false }
    }
}

/// A struct: what a topic carries, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructType {
    name: String,
    extensibility: Extensibility,
    base: Option<Arc<StructType>>,
    /// Those of the base come first.
    members: Vec<Member>,
    /// The fewest octets of a value.
    size_min: usize,
    /// Octets that its parts of fixed size take.
    size_fixed: usize,
    depth: u32,
}

impl StructType {
    /// The most octets that members of fixed size may take together; larger things are sequences.
    pub const SIZE_FIXED_MAX: usize = 64 << 20;

    /// A final struct from its members in order of declaration.
    ///
    /// # Errors
    /// When it has no members, a name or identifier is used twice, an array has no elements, a key member is optional,
    /// or it is too large or too deep.
    pub fn new(name: impl Into<String>, members: Vec<Member>) -> Result<Arc<Self>, TypeError> {
        Self::extensible(name, Extensibility::Final, members)
    }

    /// A struct from its members in order of declaration.
    ///
    /// # Errors
    /// As [`StructType::new`].
    pub fn extensible(
        name: impl Into<String>,
        extensibility: Extensibility,
        members: Vec<Member>,
    ) -> Result<Arc<Self>, TypeError> {
        Self::checked(Self::build(name.into(), extensibility, None, members))
    }

    /// A struct that has the members of another one, and after them its own. It is as extensible as that.
    ///
    /// # Errors
    /// As [`StructType::new`]; its own members may be none.
    pub fn derived(
        name: impl Into<String>,
        base: &Arc<Self>,
        own: Vec<Member>,
    ) -> Result<Arc<Self>, TypeError> {
        let members = base.members.iter().cloned().chain(own).collect();
        Self::checked(Self::build(name.into(), base.extensibility, Some(Arc::clone(base)), members))
    }

    /// A struct that the compiler has checked.
    #[doc(hidden)]
    pub fn of_derived(
        name: impl Into<String>,
        extensibility: Extensibility,
        members: Vec<Member>,
    ) -> Arc<Self> {
        Arc::new(Self::build(name.into(), extensibility, None, members))
    }

    fn build(
        name: String,
        extensibility: Extensibility,
        base: Option<Arc<Self>>,
        members: Vec<Member>,
    ) -> Self {
        let fixed = members.iter().map(|member| member.ty.size_fixed());
        let size_fixed = fixed.fold(0, usize::saturating_add);
        let depth = members.iter().map(|member| member.ty.depth()).max().unwrap_or(0).saturating_add(1);
        let sizes = members.iter().map(|member| if member.is_optional { 1 } else { member.ty.size_min() });
        let whole = sizes.fold(0, usize::saturating_add);
        let size_min = match extensibility {
            Extensibility::Final => whole,
            Extensibility::Appendable => whole.min(4),
            Extensibility::Mutable => 4,
        };
        Self { name, extensibility, base, members, size_min, size_fixed, depth }
    }

    fn checked(self) -> Result<Arc<Self>, TypeError> {
        let name = || self.name.clone();
        if self.members.is_empty() {
            return Err(TypeError::Empty { name: name() });
        }
        let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for (id, member) in self.identified() {
            let in_member = || (name(), member.name.clone());
            if member.name.is_empty() || !names.insert(member.name.as_str()) {
                let (name, member) = in_member();
                return Err(TypeError::MemberName { name, member });
            }
            if id > MEMBER_ID_MAX || !ids.insert(id) {
                let (name, member) = in_member();
                return Err(TypeError::MemberId { name, member, id });
            }
            if member.key && member.is_optional {
                let (name, member) = in_member();
                return Err(TypeError::KeyOptional { name, member });
            }
            check_parts(&member.ty, &self.name, &member.name)?;
        }
        let bases = core::iter::successors(self.base.as_ref(), |base| base.base.as_ref()).count();
        let depth = self.depth.max(u32::try_from(bases).unwrap_or(u32::MAX));
        check_measure(&self.name, self.size_fixed, depth)?;
        Ok(Arc::new(self))
    }

    /// The same struct without a key: what Fast DDS 2 makes of an XML type, whose `key` it does not regard.
    #[must_use]
    pub fn without_key(&self) -> Arc<Self> {
        let keyless = |member: &Member| Member { key: false, ..member.clone() };
        Arc::new(Self { members: self.members.iter().map(keyless).collect(), base: None, ..self.clone() })
    }

    /// What it extends.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// How it may change.
    pub fn extensibility(&self) -> Extensibility {
        self.extensibility
    }

    /// The members in order of declaration, with their identifiers.
    pub fn identified(&self) -> impl Iterator<Item = (u32, &Member)> {
        let mut next = 0;
        self.members.iter().map(move |member| {
            let id = member.id.unwrap_or(next);
            next = id.saturating_add(1);
            (id, member)
        })
    }

    /// The members that the base does not have, with their identifiers.
    pub fn own_identified(&self) -> impl Iterator<Item = (u32, &Member)> {
        self.identified().skip(self.base.as_ref().map_or(0, |base| base.members.len()))
    }

    /// The type's name, by which readers and writers match.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The members in order of declaration.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Where a member stands among [`StructType::members`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }

    /// Whether any member is part of the key.
    pub fn is_keyed(&self) -> bool {
        self.members.iter().any(|member| member.key)
    }

    /// As [`DdsType::key_end_max`](crate::cdr::DdsType::key_end_max).
    pub fn key_end_max(&self, start: Extent) -> Option<Extent> {
        if self.is_keyed() { self.key_part_end_max(start) } else { Some(start) }
    }

    /// The default value of every member, in order.
    pub(crate) fn zero_values(&self) -> Vec<Value> {
        self.members.iter().map(Value::missing).collect()
    }

    /// Whether a member counts when the struct is part of a key: all do, unless some are key members.
    pub(crate) fn is_key_part(&self, member: &Member) -> bool {
        member.key || !self.is_keyed()
    }

    /// Whether the order of declaration is that of the identifiers.
    pub(crate) fn has_ascending_ids(&self) -> bool {
        self.identified().map(|(id, _)| id).is_sorted()
    }

    /// What travels before a member.
    pub(crate) fn header(id: u32, member: &Member) -> MemberHeader {
        MemberHeader { id, must_understand: member.must_understand }
    }

    pub(crate) fn size_min(&self) -> usize {
        self.size_min
    }

    pub(crate) fn size_fixed(&self) -> usize {
        self.size_fixed
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn end_max(&self, start: Extent) -> Option<Extent> {
        self.ends(start, |_| true, Type::end_max)
    }

    pub(crate) fn key_part_end_max(&self, start: Extent) -> Option<Extent> {
        self.ends(start, |member| self.is_key_part(member), Type::key_part_end_max)
    }

    fn ends(
        &self,
        start: Extent,
        is_wanted: impl Fn(&Member) -> bool,
        end_max: fn(&Type, Extent) -> Option<Extent>,
    ) -> Option<Extent> {
        let mut members: Vec<(u32, &Member)> =
            self.identified().filter(|(_, member)| is_wanted(member)).collect();
        members.sort_by_key(|(id, _)| *id);
        members.iter().try_fold(start, |end, (_, member)| match member.is_optional {
            true => None,
            false => end_max(&member.ty, end),
        })
    }
}

/// Refuses a type that would be too deep or too large to hold.
pub(super) fn check_measure(name: &str, size_fixed: usize, depth: u32) -> Result<(), TypeError> {
    if depth > NESTING_MAX {
        return Err(TypeError::TooDeep { name: name.into() });
    }
    if size_fixed > StructType::SIZE_FIXED_MAX {
        return Err(TypeError::TooLarge { name: name.into() });
    }
    Ok(())
}

/// Refuses arrays without elements and maps with keys that have no order. Named types were checked when made.
pub(super) fn check_parts(ty: &Type, name: &str, member: &str) -> Result<(), TypeError> {
    let mut inner = ty;
    // A type that is nested deeper is refused as too deep.
    for _ in 0..=NESTING_MAX {
        inner = match inner {
            Type::Array { dimensions, .. } if dimensions.is_empty() || dimensions.contains(&0) => {
                return Err(TypeError::ArrayEmpty { name: name.into(), member: member.into() });
            }
            Type::Map { key, .. } if !key.is_map_key() => {
                let ty = alloc::format!("{key}");
                return Err(TypeError::MapKey { name: name.into(), member: member.into(), ty });
            }
            Type::Array { element, .. } | Type::Sequence { element, .. } => element,
            Type::Map { value, .. } => value,
            _ => return Ok(()),
        };
    }
    Ok(())
}
