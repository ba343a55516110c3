//! Bits known at run time: bitmasks, whose bits have names, and bitsets, whose bits make up numbers (DDS-XTypes
//! 7.2.2.4.1.2 and 7.2.2.4.8). Both travel as one number of 1, 2, 4 or 8 octets. Pure.

use super::{Type, TypeError, Value};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The most bits of a bitmask or bitset.
pub const BITS_MAX: u16 = 64;

/// Bits with names. Its values are [`Value::Bits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmaskType {
    name: String,
    bits: u16,
    flags: Vec<(String, u16)>,
}

impl BitmaskType {
    /// A bitmask of `bits` bits from the names and positions of its flags; the least significant bit is 0.
    ///
    /// # Errors
    /// When `bits` is not 1 to [`BITS_MAX`], there is no flag, a name or position is used twice, or a position is not
    /// below `bits`.
    pub fn new(
        name: impl Into<String>,
        bits: u16,
        flags: Vec<(String, u16)>,
    ) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        if flags.is_empty() {
            return Err(TypeError::Empty { name });
        }
        if bits == 0 || bits > BITS_MAX {
            return Err(TypeError::BitBound { name, bits, max: BITS_MAX });
        }
        let (mut names, mut positions) = (BTreeSet::new(), BTreeSet::new());
        for (flag, position) in &flags {
            if flag.is_empty() || !names.insert(flag.as_str()) {
                return Err(TypeError::MemberName { name, member: flag.clone() });
            }
            if *position >= bits || !positions.insert(*position) {
                return Err(TypeError::BitPosition { name, member: flag.clone(), bits });
            }
        }
        Ok(Arc::new(Self { name, bits, flags }))
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many bits there are, with and without names.
    pub fn bits(&self) -> u16 {
        self.bits
    }

    /// The number that travels.
    pub fn holder(&self) -> Type {
        holder(self.bits)
    }

    /// Names and positions in order of declaration.
    pub fn flags(&self) -> &[(String, u16)] {
        &self.flags
    }

    /// The position of a name, if it is one.
    pub fn position(&self, flag: &str) -> Option<u16> {
        self.flags.iter().find(|(name, _)| name == flag).map(|(_, position)| *position)
    }

    /// The name of a position, if it has one.
    pub fn flag(&self, position: u16) -> Option<&str> {
        self.flags.iter().find(|(_, bit)| *bit == position).map(|(name, _)| name.as_str())
    }
}

/// A number within a bitset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitfield {
    /// Its name; `None` only reserves bits.
    pub name: Option<String>,
    /// How many bits it has.
    pub bits: u16,
    /// The type of the number: a boolean or an integer with at least as many bits.
    pub ty: Type,
}

impl Bitfield {
    /// A field with the smallest unsigned type that holds it.
    pub fn new(name: Option<String>, bits: u16) -> Self {
        Self { name, bits, ty: holder(bits) }
    }
}

/// Numbers of a few bits each, packed from the least significant bit up. Its values are [`Value::Bits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitsetType {
    name: String,
    base: Option<Arc<BitsetType>>,
    /// Those of the base come first.
    fields: Vec<Bitfield>,
    bits: u16,
}

impl BitsetType {
    /// A bitset from its fields in order of declaration, after those of the base.
    ///
    /// # Errors
    /// When there is no field, a name is used twice, a field's type cannot hold its bits, or there are more than
    /// [`BITS_MAX`] bits.
    pub fn new(
        name: impl Into<String>,
        base: Option<Arc<Self>>,
        own: Vec<Bitfield>,
    ) -> Result<Arc<Self>, TypeError> {
        let name = name.into();
        if own.is_empty() {
            return Err(TypeError::Empty { name });
        }
        let inherited = base.iter().flat_map(|base| base.fields.iter().cloned());
        let fields: Vec<Bitfield> = inherited.chain(own).collect();
        let mut names = BTreeSet::new();
        let mut bits: u16 = 0;
        for field in &fields {
            let shown = || field.name.clone().unwrap_or_default();
            if field.bits == 0 || field.bits > bit_size(&field.ty) {
                return Err(TypeError::Bitfield { name, field: shown(), bits: field.bits });
            }
            if field.name.as_ref().is_some_and(|field| field.is_empty() || !names.insert(field.as_str())) {
                return Err(TypeError::MemberName { name, member: shown() });
            }
            bits = bits.saturating_add(field.bits);
            if bits > BITS_MAX {
                return Err(TypeError::BitBound { name, bits, max: BITS_MAX });
            }
        }
        Ok(Arc::new(Self { name, base, fields, bits }))
    }

    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it extends.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// All fields, those of the base first, with the positions of their least significant bits.
    pub fn fields(&self) -> impl Iterator<Item = (u16, &Bitfield)> {
        let mut next: u16 = 0;
        self.fields.iter().map(move |field| {
            let position = next;
            next = next.saturating_add(field.bits);
            (position, field)
        })
    }

    /// How many bits there are, with and without names.
    pub fn bits(&self) -> u16 {
        self.bits
    }

    /// The number that travels.
    pub fn holder(&self) -> Type {
        holder(self.bits)
    }

    /// The value of a field in the bits of a value; `None` when no field has this name.
    pub fn get(&self, value: u64, name: &str) -> Option<Value> {
        let (position, field) = self.field(name)?;
        let raw = i128::from(value >> position & ones(field.bits));
        let is_negative = is_signed(&field.ty) && raw >> (field.bits - 1) & 1 == 1;
        Value::from_number(&field.ty, if is_negative { raw - (1 << field.bits) } else { raw })
    }

    /// The bits of a value after a field was set; `None` when no field has this name or the number does not fit it.
    pub fn with(&self, value: u64, name: &str, number: i128) -> Option<u64> {
        let (position, field) = self.field(name)?;
        let half = 1_i128 << (field.bits - 1);
        let range = if is_signed(&field.ty) { -half..half } else { 0..half * 2 };
        if !range.contains(&number) {
            return None;
        }
        let mask = ones(field.bits);
        let raw = u64::try_from(number & i128::from(mask)).ok()?;
        Some(value & !(mask << position) | raw << position)
    }

    fn field(&self, name: &str) -> Option<(u16, &Bitfield)> {
        self.fields().find(|(_, field)| field.name.as_deref() == Some(name))
    }
}

/// The smallest unsigned number of so many bits.
fn holder(bits: u16) -> Type {
    match bits {
        ..=8 => Type::Uint8,
        9..=16 => Type::Uint16,
        17..=32 => Type::Uint32,
        _ => Type::Uint64,
    }
}

/// As many ones, at least 1 and at most 64.
fn ones(bits: u16) -> u64 {
    u64::MAX >> BITS_MAX.saturating_sub(bits).min(BITS_MAX - 1)
}

fn is_signed(ty: &Type) -> bool {
    matches!(ty, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64)
}

/// How many bits a field of this type may have; 0 where it cannot be one.
fn bit_size(ty: &Type) -> u16 {
    match ty {
        Type::Bool => 1,
        Type::Byte | Type::Int8 | Type::Uint8 => 8,
        Type::Int16 | Type::Uint16 => 16,
        Type::Int32 | Type::Uint32 => 32,
        Type::Int64 | Type::Uint64 => 64,
        _ => 0,
    }
}
