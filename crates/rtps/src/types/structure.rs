//! Structs and enums known at run time, checked when made. Pure.

use super::{Type, Value};
use crate::cdr::{Extensibility, Extent, MEMBER_ID_MAX, MemberHeader, NESTING_MAX};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A type that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A struct without members, or an enum without enumerators.
    #[error("type {name} has no members: add one, plain CDR cannot carry it")]
    Empty {
        /// The type.
        name: String,
    },
    /// A name is used twice, or is empty.
    #[error("type {name} has more than one member \"{member}\", or one without a name: rename it")]
    MemberName {
        /// The type.
        name: String,
        /// The name in question.
        member: String,
    },
    /// A member's identifier is used twice or too large.
    #[error(
        "{name}.{member} has the identifier {id:#x}, which is above {MEMBER_ID_MAX:#x} or another's: change it"
    )]
    MemberId {
        /// The type.
        name: String,
        /// The member.
        member: String,
        /// Its identifier.
        id: u32,
    },
    /// A member of a key that may be absent.
    #[error("{name}.{member} is a key member and optional: make it one of the two")]
    KeyOptional {
        /// The type.
        name: String,
        /// The member.
        member: String,
    },
    /// Two enumerators have the same number.
    #[error("enum {name} gives the number {value} twice: change one")]
    EnumeratorValue {
        /// The type.
        name: String,
        /// The number.
        value: u32,
    },
    /// An array with no dimension, or a dimension of zero.
    #[error("{name}.{member} is an array of no elements: every dimension must be 1 or more")]
    ArrayEmpty {
        /// The type.
        name: String,
        /// The member.
        member: String,
    },
    /// The part of fixed size is too large.
    #[error(
        "type {name} has a fixed part above {} octets: use sequences instead of large arrays",
        StructType::SIZE_FIXED_MAX
    )]
    TooLarge {
        /// The type.
        name: String,
    },
    /// Nested too deep.
    #[error("type {name} is nested deeper than {NESTING_MAX} levels")]
    TooDeep {
        /// The type.
        name: String,
    },
}

/// A named number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    name: String,
    literals: Vec<(String, u32)>,
}

impl EnumType {
    /// An enum from its enumerators in order of declaration; the first is the default value.
    ///
    /// # Errors
    /// When there is none, or a name or number is used twice.
    pub fn new(name: impl Into<String>, literals: Vec<(String, u32)>) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        if literals.is_empty() {
            return Err(TypeError::Empty { name });
        }
        let (mut names, mut values) = (BTreeSet::new(), BTreeSet::new());
        for (literal, value) in &literals {
            if literal.is_empty() || !names.insert(literal.as_str()) {
                return Err(TypeError::MemberName { name, member: literal.clone() });
            }
            if !values.insert(*value) {
                return Err(TypeError::EnumeratorValue { name, value: *value });
            }
        }
        Ok(Self::of_derived(name, literals))
    }

    /// An enum that the compiler has checked.
    #[doc(hidden)]
    pub fn of_derived(name: impl Into<String>, literals: Vec<(String, u32)>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), literals })
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names and numbers in order of declaration.
    pub fn literals(&self) -> &[(String, u32)] {
        &self.literals
    }

    /// The name of a number, if it has one.
    pub fn literal(&self, value: u32) -> Option<&str> {
        self.literals.iter().find(|(_, number)| *number == value).map(|(name, _)| name.as_str())
    }

    /// The number of a name, if it is one.
    pub fn value(&self, literal: &str) -> Option<u32> {
        self.literals.iter().find(|(name, _)| name == literal).map(|(_, number)| *number)
    }
}

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
    members: Vec<Member>,
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
        let structure = Self::of_derived(name, extensibility, members);
        let name = structure.name.clone();
        if structure.members.is_empty() {
            return Err(TypeError::Empty { name });
        }
        let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for (id, member) in structure.identified() {
            let in_member = || (name.clone(), member.name.clone());
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
            if has_empty_array(&member.ty, NESTING_MAX) {
                let (name, member) = in_member();
                return Err(TypeError::ArrayEmpty { name, member });
            }
        }
        if structure.depth > NESTING_MAX {
            return Err(TypeError::TooDeep { name });
        }
        if structure.size_fixed > Self::SIZE_FIXED_MAX {
            return Err(TypeError::TooLarge { name });
        }
        Ok(structure)
    }

    /// A struct that the compiler has checked.
    #[doc(hidden)]
    pub fn of_derived(
        name: impl Into<String>,
        extensibility: Extensibility,
        members: Vec<Member>,
    ) -> Arc<Self> {
        let fixed = members.iter().map(|member| member.ty.size_fixed());
        let size_fixed = fixed.fold(0, usize::saturating_add);
        let depth = members.iter().map(|member| member.ty.depth()).max().unwrap_or(0).saturating_add(1);
        Arc::new(Self { name: name.into(), extensibility, members, size_fixed, depth })
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
        let whole = || {
            let sizes =
                self.members.iter().map(|member| if member.is_optional { 1 } else { member.ty.size_min() });
            sizes.fold(0, usize::saturating_add)
        };
        match self.extensibility {
            Extensibility::Final => whole(),
            Extensibility::Appendable => whole().min(4),
            Extensibility::Mutable => 4,
        }
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

/// Whether an array without elements is anywhere in the type outside structs, which were checked when made. Beyond
/// `levels` the search ends: such a type is refused as too deep.
fn has_empty_array(ty: &Type, levels: u32) -> bool {
    match ty {
        Type::Array { dimensions, .. } if dimensions.is_empty() || dimensions.contains(&0) => true,
        Type::Array { element, .. } | Type::Sequence { element, .. } if levels > 0 => {
            has_empty_array(element, levels - 1)
        }
        _ => false,
    }
}
