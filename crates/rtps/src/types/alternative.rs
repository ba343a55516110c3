//! Unions known at run time: one of several members, which a discriminator tells (DDS-XTypes 7.2.2.4.5.5). Pure.

use super::{Type, TypeError, Value};
use crate::cdr::{CdrError, Decoder, Encoder, Extensibility};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// One of the members of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The member's name, unique in the union.
    pub name: String,
    /// The member's type.
    pub ty: Type,
    /// The discriminators that choose it.
    pub labels: Vec<i64>,
    /// Whether it is chosen by every discriminator that chooses no other.
    pub is_default: bool,
}

/// A union: a discriminator, and the member that it chooses, if it chooses one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnionType {
    name: String,
    extensibility: Extensibility,
    discriminator: Type,
    cases: Vec<Case>,
    size_fixed: usize,
    depth: u32,
}

impl UnionType {
    /// A final union from its cases in order of declaration.
    ///
    /// # Errors
    /// As [`UnionType::extensible`].
    pub fn new(
        name: impl Into<String>,
        discriminator: Type,
        cases: Vec<Case>,
    ) -> Result<Arc<Self>, TypeError> {
        Self::extensible(name, Extensibility::Final, discriminator, cases)
    }

    /// A union from its cases in order of declaration.
    ///
    /// # Errors
    /// When it is mutable (which is not supported), has no cases, a name or label is used twice, a case has no label,
    /// two are the default, a label is no value of the discriminator, or the discriminator is neither boolean,
    /// character, whole number nor enum.
    pub fn extensible(
        name: impl Into<String>,
        extensibility: Extensibility,
        discriminator: Type,
        cases: Vec<Case>,
    ) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        if cases.is_empty() {
            return Err(TypeError::Empty { name });
        }
        if extensibility == Extensibility::Mutable {
            return Err(TypeError::MutableUnion { name });
        }
        if !discriminator.is_discrete() {
            return Err(TypeError::Discriminator { name, ty: alloc::format!("{discriminator}") });
        }
        let (mut names, mut labels, mut has_default) = (BTreeSet::new(), BTreeSet::new(), false);
        for case in &cases {
            if case.name.is_empty() || !names.insert(case.name.as_str()) {
                return Err(TypeError::MemberName { name, member: case.name.clone() });
            }
            let is_second_default = case.is_default && core::mem::replace(&mut has_default, true);
            if is_second_default || case.labels.is_empty() && !case.is_default {
                return Err(TypeError::CaseLabels { name, case: case.name.clone() });
            }
            for label in &case.labels {
                let is_value = Value::from_number(&discriminator, i128::from(*label)).is_some();
                if !is_value || !labels.insert(*label) {
                    return Err(TypeError::Label { name, case: case.name.clone(), label: *label });
                }
            }
            super::structure::check_parts(&case.ty, &name, &case.name)?;
        }
        let size_fixed = cases.iter().map(|case| case.ty.size_fixed()).max().unwrap_or(0);
        let depth = cases.iter().map(|case| case.ty.depth()).max().unwrap_or(0).saturating_add(1);
        let size_fixed = size_fixed.saturating_add(8);
        super::structure::check_measure(&name, size_fixed, depth)?;
        Ok(Arc::new(Self { name, extensibility, discriminator, cases, size_fixed, depth }))
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it may change.
    pub fn extensibility(&self) -> Extensibility {
        self.extensibility
    }

    /// The type of the discriminator.
    pub fn discriminator(&self) -> &Type {
        &self.discriminator
    }

    /// The cases in order of declaration.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The case that a discriminator chooses; `None` when the union then has no member.
    pub fn case(&self, discriminator: i128) -> Option<&Case> {
        let chosen = |case: &&Case| case.labels.iter().any(|label| i128::from(*label) == discriminator);
        self.cases.iter().find(chosen).or_else(|| self.cases.iter().find(|case| case.is_default))
    }

    /// A discriminator that chooses the case of this name: its first label, for a default without labels the least
    /// number from 0 that is no label. `None` when there is no such case or number.
    pub fn label(&self, name: &str) -> Option<i128> {
        let case = self.cases.iter().find(|case| case.name == name)?;
        if let Some(label) = case.labels.first() {
            return Some(i128::from(*label));
        }
        let taken: BTreeSet<i64> = self.cases.iter().flat_map(|case| case.labels.iter().copied()).collect();
        let free = match self.discriminator.resolved() {
            Type::Enum(named) => named
                .literals()
                .iter()
                .map(|(_, value)| i64::from(*value))
                .find(|value| !taken.contains(value)),
            _ => (0..).find(|value| !taken.contains(value)),
        };
        let free = i128::from(free?);
        Value::from_number(&self.discriminator, free).map(|_| free)
    }

    pub(super) fn size_min(&self) -> usize {
        match self.extensibility {
            Extensibility::Final => self.discriminator.size_min(),
            _ => self.discriminator.size_min().min(4),
        }
    }

    pub(super) fn size_fixed(&self) -> usize {
        self.size_fixed
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }
}

/// A value of a [`UnionType`]. Its member is always that of its discriminator.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionValue {
    union: Arc<UnionType>,
    discriminator: i128,
    member: Option<Value>,
}

impl UnionValue {
    /// The first case with its first discriminator and [`Value::zero`].
    pub fn zero(union: Arc<UnionType>) -> Self {
        let first = union.cases().first();
        let discriminator = first.and_then(|case| union.label(&case.name)).unwrap_or(0);
        let member = union.case(discriminator).map(|case| Value::zero(&case.ty));
        Self { union, discriminator, member }
    }

    /// A union with a discriminator and, unless that chooses none, a member.
    ///
    /// # Errors
    /// When the discriminator is no value of its type, or the member is not of the type of the case, which is `None`
    /// where there is none.
    pub fn new(union: Arc<UnionType>, discriminator: i128, member: Option<Value>) -> Result<Self, CdrError> {
        if Value::from_number(union.discriminator(), discriminator).is_none() {
            let expected = alloc::format!("{}", union.discriminator());
            return Err(CdrError::Mismatch { expected, found: "a number out of its range" });
        }
        match (union.case(discriminator), &member) {
            (Some(case), Some(value)) => {
                value.check(&case.ty).map_err(|error| error.in_member(&case.name))?
            }
            (None, None) => {}
            (Some(case), None) => {
                let expected = alloc::format!("{}", case.ty);
                return Err(CdrError::Mismatch { expected, found: "absent" }.in_member(&case.name));
            }
            (None, Some(value)) => {
                return Err(CdrError::Mismatch { expected: "of no case".into(), found: value.form() });
            }
        }
        Ok(Self { union, discriminator, member })
    }

    /// The type.
    pub fn union(&self) -> &Arc<UnionType> {
        &self.union
    }

    /// The discriminator as a number.
    pub fn discriminator(&self) -> i128 {
        self.discriminator
    }

    /// The chosen case and its value; `None` when the discriminator chooses none.
    pub fn member(&self) -> Option<(&Case, &Value)> {
        self.union.case(self.discriminator).zip(self.member.as_ref())
    }

    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), CdrError> {
        encoder.structure(self.union.extensibility, |encoder| {
            let ty = &self.union.discriminator;
            if let Some(discriminator) = Value::from_number(ty, self.discriminator) {
                discriminator.encode(ty, encoder)?;
            }
            match self.member() {
                Some((case, value)) => {
                    value.encode(&case.ty, encoder).map_err(|error| error.in_member(&case.name))
                }
                None => Ok(()),
            }
        })
    }

    pub(super) fn decode(union: &Arc<UnionType>, decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        decoder.structure(union.extensibility, |decoder| {
            let discriminator = Value::decode(&union.discriminator, decoder)?.as_number().unwrap_or(0);
            let member = match union.case(discriminator) {
                Some(case) => {
                    Some(Value::decode(&case.ty, decoder).map_err(|error| error.in_member(&case.name))?)
                }
                None => None,
            };
            Ok(Self { union: Arc::clone(union), discriminator, member })
        })
    }
}
