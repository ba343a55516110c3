//! Values of types known at run time. Pure.

use super::{Member, StructType, Type, UnionValue, element_count};
use crate::cdr::{
    CdrError, Encapsulation, Extent, KeyHash, Representation, check_length, open_payload, write_payload,
};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// A value of a [`Type`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Type::Bool`].
    Bool(bool),
    /// Of [`Type::Int8`].
    Int8(i8),
    /// Of [`Type::Int16`].
    Int16(i16),
    /// Of [`Type::Int32`].
    Int32(i32),
    /// Of [`Type::Int64`].
    Int64(i64),
    /// Of [`Type::Uint8`] or [`Type::Byte`].
    Uint8(u8),
    /// Of [`Type::Uint16`].
    Uint16(u16),
    /// Of [`Type::Uint32`].
    Uint32(u32),
    /// Of [`Type::Uint64`].
    Uint64(u64),
    /// Of [`Type::Float32`].
    Float32(f32),
    /// Of [`Type::Float64`].
    Float64(f64),
    /// Of [`Type::Float128`]; most significant octet first.
    Float128([u8; 16]),
    /// Of [`Type::Char8`]; ASCII.
    Char8(char),
    /// Of [`Type::Char16`] or [`Type::Char32`]; a unit of UTF-16.
    Char16(u16),
    /// Of [`Type::String`].
    String(String),
    /// Of [`Type::WString`] or [`Type::WString32`].
    WString(String),
    /// A sequence or array of octets: of [`Type::Byte`] or [`Type::Uint8`].
    Bytes(Vec<u8>),
    /// A sequence or array of anything else; an array of several dimensions in row-major order.
    List(Vec<Value>),
    /// Of [`Type::Map`]; keys and values, each key once, in the order in which they travel.
    Map(Vec<(Value, Value)>),
    /// The number of an [`Type::Enum`]; one without a name is kept.
    Enum(u32),
    /// The number of a [`Type::Bitmask`] or [`Type::Bitset`]; bits without a name are kept.
    Bits(u64),
    /// Of [`Type::Union`].
    Union(Box<UnionValue>),
    /// Of [`Type::Struct`].
    Struct(DynamicValue),
    /// An optional member that is not there.
    Absent,
}

impl Value {
    /// The default of a type: zero, empty, the first enumerator.
    ///
    /// Takes memory by the type's fixed size, which [`StructType::new`] bounds.
    pub fn zero(ty: &Type) -> Self {
        match ty.resolved() {
            Type::Bool => Self::Bool(false),
            Type::Byte | Type::Uint8 => Self::Uint8(0),
            Type::Int8 => Self::Int8(0),
            Type::Int16 => Self::Int16(0),
            Type::Int32 => Self::Int32(0),
            Type::Int64 => Self::Int64(0),
            Type::Uint16 => Self::Uint16(0),
            Type::Uint32 => Self::Uint32(0),
            Type::Uint64 => Self::Uint64(0),
            Type::Float32 => Self::Float32(0.0),
            Type::Float64 => Self::Float64(0.0),
            Type::Float128 => Self::Float128([0; 16]),
            Type::Char8 => Self::Char8('\0'),
            Type::Char16 | Type::Char32 => Self::Char16(0),
            Type::String { .. } => Self::String(String::new()),
            Type::WString { .. } | Type::WString32 { .. } => Self::WString(String::new()),
            Type::Map { .. } => Self::Map(Vec::new()),
            Type::Bitmask(_) | Type::Bitset(_) => Self::Bits(0),
            Type::Union(named) => Self::Union(Box::new(UnionValue::zero(Arc::clone(named)))),
            Type::Sequence { element, .. } if element.is_octet() => Self::Bytes(Vec::new()),
            Type::Sequence { .. } => Self::List(Vec::new()),
            Type::Array { element, dimensions } if element.is_octet() => {
                Self::Bytes(vec![0; element_count(dimensions)])
            }
            Type::Array { element, dimensions } => {
                Self::List(vec![Self::zero(element); element_count(dimensions)])
            }
            Type::Enum(named) => Self::Enum(named.literals().first().map_or(0, |(_, number)| *number)),
            Type::Struct(structure) => Self::Struct(DynamicValue::zero(Arc::clone(structure))),
            // A resolved type is no alias.
            Type::Alias(_) => Self::Absent,
        }
    }

    /// What a member is when nothing is said of it: absent if it may be, else [`Value::zero`].
    pub fn missing(member: &Member) -> Self {
        if member.is_optional { Self::Absent } else { Self::zero(&member.ty) }
    }

    /// Any number as a `f64`, rounded where it must be; `None` for what is no number.
    #[expect(clippy::cast_precision_loss, reason = "rounding is documented")]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Float64(value) => Some(value),
            Self::Float32(value) => Some(f64::from(value)),
            Self::Uint64(value) => Some(value as f64),
            Self::Int64(value) => Some(value as f64),
            _ => self
                .as_i64()
                .and_then(|value| i32::try_from(value).ok().map(f64::from).or(Some(value as f64))),
        }
    }

    /// Any whole number or enumerator that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Int8(value) => Some(i64::from(value)),
            Self::Int16(value) => Some(i64::from(value)),
            Self::Int32(value) => Some(i64::from(value)),
            Self::Int64(value) => Some(value),
            Self::Uint8(value) => Some(i64::from(value)),
            Self::Uint16(value) => Some(i64::from(value)),
            Self::Uint32(value) | Self::Enum(value) => Some(i64::from(value)),
            Self::Uint64(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::WString(text) => Some(text),
            _ => None,
        }
    }

    /// Its form in words, for messages.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Int8(_) => "an int8",
            Self::Int16(_) => "an int16",
            Self::Int32(_) => "an int32",
            Self::Int64(_) => "an int64",
            Self::Uint8(_) => "a uint8",
            Self::Uint16(_) => "a uint16",
            Self::Uint32(_) => "a uint32",
            Self::Uint64(_) => "a uint64",
            Self::Float32(_) => "a float",
            Self::Float64(_) => "a double",
            Self::Float128(_) => "a long double",
            Self::Char8(_) => "a character",
            Self::Char16(_) => "a wide character",
            Self::String(_) => "a string",
            Self::WString(_) => "a wide string",
            Self::Map(_) => "a map",
            Self::Bits(_) => "bits",
            Self::Union(_) => "a union",
            Self::Bytes(_) => "a list of octets",
            Self::List(_) => "a list",
            Self::Enum(_) => "an enumerator",
            Self::Struct(_) => "a struct",
            Self::Absent => "absent",
        }
    }

    /// Refuses a value that is not of the member's type.
    pub(crate) fn check_member(&self, member: &Member) -> Result<(), CdrError> {
        if member.is_optional && *self == Self::Absent { Ok(()) } else { self.check(&member.ty) }
    }

    /// Refuses a value that is not of the type.
    pub(crate) fn check(&self, ty: &Type) -> Result<(), CdrError> {
        let fits = match (ty.resolved(), self) {
            (Type::Bool, Self::Bool(_))
            | (Type::Byte | Type::Uint8, Self::Uint8(_))
            | (Type::Int8, Self::Int8(_))
            | (Type::Int16, Self::Int16(_))
            | (Type::Int32, Self::Int32(_))
            | (Type::Int64, Self::Int64(_))
            | (Type::Uint16, Self::Uint16(_))
            | (Type::Uint32, Self::Uint32(_))
            | (Type::Uint64, Self::Uint64(_))
            | (Type::Float32, Self::Float32(_))
            | (Type::Float64, Self::Float64(_))
            | (Type::Float128, Self::Float128(_))
            | (Type::Char8, Self::Char8(_))
            | (Type::Char16 | Type::Char32, Self::Char16(_)) => true,
            (Type::Enum(named), Self::Enum(value)) => {
                u64::from(*value) >> (8 * named.holder().size_min()) == 0
            }
            (Type::Bitmask(named), Self::Bits(bits)) => fits_bits(*bits, &named.holder()),
            (Type::Bitset(named), Self::Bits(bits)) => fits_bits(*bits, &named.holder()),
            (Type::Union(expected), Self::Union(value)) => {
                Arc::ptr_eq(expected, value.union()) || **expected == **value.union()
            }
            (Type::WString { max }, Self::WString(text)) => {
                return max.map_or(Ok(()), |max| check_length(text.encode_utf16().count(), max));
            }
            (Type::WString32 { max }, Self::WString(text)) => {
                return max.map_or(Ok(()), |max| check_length(text.chars().count(), max));
            }
            (Type::Map { max, .. }, Self::Map(pairs)) => {
                return max.map_or(Ok(()), |max| check_length(pairs.len(), max));
            }
            (Type::String { max }, Self::String(text)) => {
                return max.map_or(Ok(()), |max| check_length(text.len(), max));
            }
            (Type::Sequence { element, max }, list) => {
                let Some(length) = list.list_length(element) else { return Err(self.mismatch(ty)) };
                return max.map_or(Ok(()), |max| check_length(length, max));
            }
            (Type::Array { element, dimensions }, list) => {
                list.list_length(element) == Some(element_count(dimensions))
            }
            (Type::Struct(expected), Self::Struct(value)) => {
                Arc::ptr_eq(expected, value.structure()) || **expected == **value.structure()
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(self.mismatch(ty)) }
    }

    /// The length of a list that may hold such elements.
    fn list_length(&self, element: &Type) -> Option<usize> {
        match self {
            Self::Bytes(bytes) if element.is_octet() => Some(bytes.len()),
            Self::List(items) if !element.is_octet() => Some(items.len()),
            _ => None,
        }
    }

    #[cold]
    fn mismatch(&self, ty: &Type) -> CdrError {
        CdrError::Mismatch { expected: format!("{ty}"), found: self.form() }
    }
}

/// Whether the number that travels has room for the bits.
fn fits_bits(bits: u64, holder: &Type) -> bool {
    Value::from_number(holder, i128::from(bits)).is_some()
}

/// A member cannot be set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// No such member.
    #[error("type {type_name} has no member \"{member}\": its members are {known}")]
    NoMember {
        /// The struct.
        type_name: String,
        /// The name asked for.
        member: String,
        /// The names that exist.
        known: String,
    },
    /// The value is not of the member's type.
    #[error("cannot set {type_name}.{member}: {source}")]
    Unfit {
        /// The struct.
        type_name: String,
        /// The member.
        member: String,
        /// Why not.
        source: CdrError,
    },
}

/// A value of a [`StructType`]: a sample, or a struct within one.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicValue {
    structure: Arc<StructType>,
    values: Vec<Value>,
}

impl DynamicValue {
    /// The value whose members are all [`Value::zero`].
    pub fn zero(structure: Arc<StructType>) -> Self {
        let values = structure.zero_values();
        Self { structure, values }
    }

    /// From one value a member, in order; the decoder keeps that.
    pub(crate) fn from_values(structure: Arc<StructType>, values: Vec<Value>) -> Self {
        Self { structure, values }
    }

    /// The type.
    pub fn structure(&self) -> &Arc<StructType> {
        &self.structure
    }

    /// The members' values in order of declaration.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value of a member; `a.b` is member `b` of the struct in member `a`.
    pub fn get(&self, path: &str) -> Option<&Value> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        match (self.values.get(self.structure.position(name)?)?, rest) {
            (value, None) => Some(value),
            (Value::Struct(inner), Some(rest)) => inner.get(rest),
            _ => None,
        }
    }

    /// Sets a member.
    ///
    /// # Errors
    /// When there is no such member, or the value is not of its type.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ValueError> {
        let found = self.structure.position(name).and_then(|position| {
            Some((self.structure.members().get(position)?, self.values.get_mut(position)?))
        });
        let Some((member, slot)) = found else {
            let names: Vec<&str> =
                self.structure.members().iter().map(|member| member.name.as_str()).collect();
            return Err(ValueError::NoMember {
                type_name: self.structure.name().to_owned(),
                member: name.to_owned(),
                known: names.join(", "),
            });
        };
        value.check_member(member).map_err(|source| ValueError::Unfit {
            type_name: self.structure.name().to_owned(),
            member: name.to_owned(),
            source,
        })?;
        *slot = value;
        Ok(())
    }

    /// Stands for the instance, as of [`DdsType::key_hash`](crate::cdr::DdsType::key_hash).
    ///
    /// # Errors
    /// As [`DynamicValue::encode_key`].
    pub fn key_hash(&self) -> Result<KeyHash, CdrError> {
        self.key_hash_in(Representation::Xcdr1)
    }

    /// As [`DdsType::key_hash_in`](crate::cdr::DdsType::key_hash_in).
    ///
    /// # Errors
    /// As [`DynamicValue::encode_key`].
    pub fn key_hash_in(&self, representation: Representation) -> Result<KeyHash, CdrError> {
        let end_max = self.structure.key_end_max(Extent::start(representation));
        KeyHash::compute(representation, end_max, |encoder| self.encode_key(encoder))
    }

    /// As [`cdr::key_hash_of_payload`](crate::cdr::key_hash_of_payload).
    ///
    /// # Errors
    /// As [`DynamicValue::from_payload`].
    pub fn key_hash_of_payload(
        structure: &Arc<StructType>,
        payload: &[u8],
        key_only: bool,
    ) -> Result<KeyHash, CdrError> {
        let representation = Encapsulation::split(payload)?.0.form.representation();
        let value = match key_only {
            true => Self::key_from_payload(structure, payload)?,
            false => Self::from_payload(structure, payload)?,
        };
        value.key_hash_in(representation)
    }

    /// As [`cdr::to_payload`](crate::cdr::to_payload).
    ///
    /// # Errors
    /// As [`DynamicValue::encode`].
    pub fn to_payload(&self, out: &mut Vec<u8>) -> Result<(), CdrError> {
        self.to_payload_in(Representation::Xcdr1, out)
    }

    /// As [`cdr::to_payload_in`](crate::cdr::to_payload_in).
    ///
    /// # Errors
    /// As [`DynamicValue::encode`].
    pub fn to_payload_in(&self, representation: Representation, out: &mut Vec<u8>) -> Result<(), CdrError> {
        write_payload(self.structure.extensibility(), representation, out, |encoder| self.encode(encoder))
    }

    /// As [`cdr::from_payload`](crate::cdr::from_payload).
    ///
    /// # Errors
    /// When the encapsulation is none of a sample of the type, or as [`DynamicValue::decode`].
    pub fn from_payload(structure: &Arc<StructType>, payload: &[u8]) -> Result<Self, CdrError> {
        Self::decode(structure, &mut open_payload(structure.extensibility(), payload)?)
    }

    /// As [`cdr::key_to_payload`](crate::cdr::key_to_payload).
    ///
    /// # Errors
    /// As [`DynamicValue::encode_key`].
    pub fn key_to_payload(&self, out: &mut Vec<u8>) -> Result<(), CdrError> {
        self.key_to_payload_in(Representation::Xcdr1, out)
    }

    /// As [`cdr::key_to_payload_in`](crate::cdr::key_to_payload_in).
    ///
    /// # Errors
    /// As [`DynamicValue::encode_key`].
    pub fn key_to_payload_in(
        &self,
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        write_payload(self.structure.extensibility(), representation, out, |encoder| self.encode_key(encoder))
    }

    /// As [`cdr::key_from_payload`](crate::cdr::key_from_payload).
    ///
    /// # Errors
    /// When the encapsulation is none of a sample of the type, or as [`DynamicValue::decode_key`].
    pub fn key_from_payload(structure: &Arc<StructType>, payload: &[u8]) -> Result<Self, CdrError> {
        Self::decode_key(structure, &mut open_payload(structure.extensibility(), payload)?)
    }
}
