//! Structs and enums known at run time, checked when made. Pure.

use super::{Type, Value};
use crate::cdr::{KEY_SIZE_COUNTED_MAX, NESTING_MAX};
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
}

/// A struct: what a topic carries, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructType {
    name: String,
    members: Vec<Member>,
    size_min: usize,
    depth: u32,
}

impl StructType {
    /// The most octets that members of fixed size may take together; larger things are sequences.
    pub const SIZE_FIXED_MAX: usize = 64 << 20;

    /// A struct from its members in order of declaration.
    ///
    /// # Errors
    /// When it has no members, a name is used twice, an array has no elements, or it is too large or too deep.
    pub fn new(name: impl Into<String>, members: Vec<Member>) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        if members.is_empty() {
            return Err(TypeError::Empty { name });
        }
        let mut names = BTreeSet::new();
        for member in &members {
            if member.name.is_empty() || !names.insert(member.name.as_str()) {
                return Err(TypeError::MemberName { name, member: member.name.clone() });
            }
            if has_empty_array(&member.ty, NESTING_MAX) {
                return Err(TypeError::ArrayEmpty { name, member: member.name.clone() });
            }
        }
        let structure = Self::of_derived(name, members);
        if structure.depth > NESTING_MAX {
            return Err(TypeError::TooDeep { name: structure.name.clone() });
        }
        if structure.size_min > Self::SIZE_FIXED_MAX {
            return Err(TypeError::TooLarge { name: structure.name.clone() });
        }
        Ok(structure)
    }

    /// A struct that the compiler has checked.
    #[doc(hidden)]
    pub fn of_derived(name: impl Into<String>, members: Vec<Member>) -> Arc<Self> {
        let size_min = members.iter().fold(0, |sum: usize, member| sum.saturating_add(member.ty.size_min()));
        let depth = members.iter().map(|member| member.ty.depth()).max().unwrap_or(0).saturating_add(1);
        Arc::new(Self { name: name.into(), members, size_min, depth })
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

    /// The most octets of plain CDR that a key can take. `None` when that is unbounded or more than
    /// [`KEY_SIZE_COUNTED_MAX`].
    pub fn key_max_size(&self) -> Option<usize> {
        self.key_members().try_fold(0, |end, member| member.ty.key_part_end_max(end)).filter(counted)
    }

    /// The default value of every member, in order.
    pub(crate) fn zero_values(&self) -> Vec<Value> {
        self.members.iter().map(|member| Value::zero(&member.ty)).collect()
    }

    /// The members of the key of a topic of this type.
    pub(crate) fn key_members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.key)
    }

    /// Whether a member counts when the struct is part of a key: all do, unless some are key members.
    pub(crate) fn is_key_part(&self, member: &Member) -> bool {
        member.key || !self.is_keyed()
    }

    pub(crate) fn size_min(&self) -> usize {
        self.size_min
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn end_max(&self, start: usize) -> Option<usize> {
        self.members.iter().try_fold(start, |end, member| member.ty.end_max(end)).filter(counted)
    }

    pub(crate) fn key_part_end_max(&self, start: usize) -> Option<usize> {
        self.members
            .iter()
            .filter(|member| self.is_key_part(member))
            .try_fold(start, |end, member| member.ty.key_part_end_max(end))
            .filter(counted)
    }
}

fn counted(size: &usize) -> bool {
    *size <= KEY_SIZE_COUNTED_MAX
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
