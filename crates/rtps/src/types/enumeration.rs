//! Named numbers known at run time (DDS-XTypes 7.2.2.4.1), checked when made. Pure.

use super::{Type, TypeError};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A named number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    name: String,
    bits: u16,
    literals: Vec<(String, u32)>,
}

impl EnumType {
    /// The most bits of a number.
    pub const BITS_MAX: u16 = 32;

    /// An enum of 32 bits from its enumerators in order of declaration; the first is the default value.
    ///
    /// # Errors
    /// When there is none, or a name or number is used twice.
    pub fn new(name: impl Into<String>, literals: Vec<(String, u32)>) -> Result<Arc<Self>, TypeError> {
        Self::bounded(name, Self::BITS_MAX, literals)
    }

    /// An enum whose numbers have at most `bits` bits, which decides whether they take 1, 2 or 4 octets.
    ///
    /// # Errors
    /// As [`EnumType::new`], when `bits` is not 1 to [`EnumType::BITS_MAX`], or a number has more bits.
    pub fn bounded(
        name: impl Into<String>,
        bits: u16,
        literals: Vec<(String, u32)>,
    ) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        if literals.is_empty() {
            return Err(TypeError::Empty { name });
        }
        if bits == 0 || bits > Self::BITS_MAX {
            return Err(TypeError::BitBound { name, bits, max: Self::BITS_MAX });
        }
        let (mut names, mut values) = (BTreeSet::new(), BTreeSet::new());
        for (literal, value) in &literals {
            if literal.is_empty() || !names.insert(literal.as_str()) {
                return Err(TypeError::MemberName { name, member: literal.clone() });
            }
            if !values.insert(*value) {
                return Err(TypeError::EnumeratorValue { name, value: *value });
            }
            if u64::from(*value) >> bits != 0 {
                return Err(TypeError::BitPosition { name, member: literal.clone(), bits });
            }
        }
        Ok(Arc::new(Self { name, bits, literals }))
    }

    /// An enum that the compiler has checked.
    #[doc(hidden)]
    pub fn of_derived(name: impl Into<String>, literals: Vec<(String, u32)>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), bits: Self::BITS_MAX, literals })
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most bits of a number.
    pub fn bits(&self) -> u16 {
        self.bits
    }

    /// The number that travels.
    pub fn holder(&self) -> Type {
        match self.bits {
            ..=8 => Type::Uint8,
            9..=16 => Type::Uint16,
            _ => Type::Uint32,
        }
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
