//! From what an expression says to a condition on members of a type: looks names up, and gives each constant the form
//! of the member that it is compared with.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Filter;
use super::condition::{Condition, Side};
use super::error::FilterFault;
use super::member::{Path, known};
use super::parse::{Operand, Syntax, Term, shown};
use super::scalar::Scalar;
use super::token::{Fault, Literal, Operator};
use crate::types::{EnumType, StructType, Type, Value};

/// The condition, and the paths that it refers to.
pub(super) fn resolve(
    syntax: &Syntax,
    structure: &StructType,
    parameters: &[&str],
) -> Result<(Condition, Vec<Path>), Fault> {
    if let Some(bytes) =
        parameters.iter().map(|text| text.len()).find(|bytes| *bytes > Filter::EXPRESSION_BYTES_MAX)
    {
        return Err((0, FilterFault::TooLong { bytes }));
    }
    let mut resolver = Resolver { structure, parameters, paths: Vec::new() };
    let condition = resolver.condition(syntax)?;
    Ok((condition, resolver.paths))
}

struct Resolver<'a> {
    structure: &'a StructType,
    parameters: &'a [&'a str],
    paths: Vec<Path>,
}

/// What a member can be compared with.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number,
    Text,
    Bool,
    Enum(Arc<EnumType>),
}

impl Kind {
    /// That of a type's default value says it; parts of compound types have to be named.
    fn of(ty: &Type) -> Option<Self> {
        match ty.resolved() {
            Type::Enum(named) => Some(Self::Enum(Arc::clone(named))),
            Type::Sequence { .. } | Type::Array { .. } | Type::Map { .. } => None,
            Type::Struct(_) | Type::Union(_) => None,
            scalar => match Scalar::of(&Value::zero(scalar))? {
                Scalar::Integer(_) | Scalar::Float(_) => Some(Self::Number),
                Scalar::Text(_) => Some(Self::Text),
                Scalar::Bool(_) => Some(Self::Bool),
            },
        }
    }

    fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Enum(left), Self::Enum(right)) => left == right,
            (Self::Enum(_), Self::Number) | (Self::Number, Self::Enum(_)) => true,
            _ => self == other,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Number => "a number".into(),
            Self::Text => "text".into(),
            Self::Bool => "a boolean".into(),
            Self::Enum(named) => format!("an enumerator of {}", named.name()),
        }
    }

    /// What to compare it with, for messages.
    fn remedy(&self) -> String {
        match self {
            Self::Number => ": write a number, or a member that is one".into(),
            Self::Text => ": write text in single quotes, or a member that is text".into(),
            Self::Bool => ": write TRUE or FALSE".into(),
            Self::Enum(named) => {
                let names: Vec<&str> =
                    named.literals().iter().map(|(name, _)| name.as_str()).take(NAMES_MAX).collect();
                format!(": write one of its names in single quotes: {}", names.join(", "))
            }
        }
    }
}

/// Enumerators that a message names.
const NAMES_MAX: usize = 32;

/// A member with its kind, or what has yet to be given one.
enum Half<'s> {
    Member { index: usize, kind: Kind, shown: String },
    Literal(&'s Literal),
    Parameter(&'s str),
}

impl Resolver<'_> {
    fn condition(&mut self, syntax: &Syntax) -> Result<Condition, Fault> {
        Ok(match syntax {
            Syntax::Compare { left, operator, right } => self.compare(left, *operator, right)?,
            Syntax::Between { value, low, high } => Condition::All(Vec::from([
                self.compare(value, Operator::GreaterOrEqual, low)?,
                self.compare(value, Operator::LessOrEqual, high)?,
            ])),
            Syntax::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Syntax::All(parts) => Condition::All(self.conditions(parts)?),
            Syntax::Any(parts) => Condition::Any(self.conditions(parts)?),
        })
    }

    fn conditions(&mut self, parts: &[Syntax]) -> Result<Vec<Condition>, Fault> {
        parts.iter().map(|part| self.condition(part)).collect()
    }

    fn compare(&mut self, left: &Operand, operator: Operator, right: &Operand) -> Result<Condition, Fault> {
        let (at_left, at_right) = (left.at, right.at);
        let (left, right) = (self.half(left)?, self.half(right)?);
        let kind = match (&left, &right) {
            (Half::Member { kind, .. }, _) | (_, Half::Member { kind, .. }) => kind.clone(),
            _ => {
                let structure = self.structure;
                let type_name = structure.name().to_string();
                return Err((at_left, FilterFault::NoMemberNamed { type_name, known: known(structure) }));
            }
        };
        let shown = match (&left, &right) {
            (Half::Member { shown, kind, .. }, _) | (_, Half::Member { shown, kind, .. }) => {
                format!("{shown}, {},", kind.shown())
            }
            _ => String::new(),
        };
        let mismatch =
            |right: String, remedy: String| FilterFault::Mismatch { left: shown.clone(), right, remedy };
        if operator == Operator::Like && kind != Kind::Text {
            return Err((at_left, mismatch("a pattern".into(), ": LIKE is for text".into())));
        }
        let side = |half: Half<'_>, at: usize| match half {
            Half::Member { index, kind: other, .. } if kind.fits(&other) => Ok(Side::Member(index)),
            Half::Member { shown: other, kind: of, .. } => {
                Err((at, mismatch(format!("{other}, {}", of.shown()), String::new())))
            }
            Half::Literal(literal) => constant(&kind, literal)
                .map(Side::Constant)
                .ok_or_else(|| (at, mismatch(literal.shown(), kind.remedy()))),
            Half::Parameter(text) => parameter(&kind, text)
                .map(Side::Constant)
                .ok_or_else(|| (at, mismatch(format!("the parameter {text:?}"), kind.remedy()))),
        };
        Ok(Condition::Compare { left: side(left, at_left)?, operator, right: side(right, at_right)? })
    }

    fn half<'s>(&mut self, operand: &'s Operand) -> Result<Half<'s>, Fault>
    where
        Self: 's,
    {
        match &operand.term {
            Term::Literal(literal) => Ok(Half::Literal(literal)),
            Term::Parameter(index) => match self.parameters.get(*index) {
                Some(text) => Ok(Half::Parameter(text)),
                None => {
                    let given = self.parameters.len();
                    Err((operand.at, FilterFault::ParameterMissing { index: *index, given }))
                }
            },
            Term::Member(steps) => {
                let (path, ty) = Path::find(self.structure, steps).map_err(|fault| (operand.at, fault))?;
                let shown = shown(steps);
                let Some(kind) = Kind::of(ty) else {
                    return Err((
                        operand.at,
                        FilterFault::NotComparable { member: shown, ty: format!("{ty}") },
                    ));
                };
                let index = self.paths.iter().position(|known| *known == path).unwrap_or_else(|| {
                    self.paths.push(path);
                    self.paths.len() - 1
                });
                Ok(Half::Member { index, kind, shown })
            }
        }
    }
}

/// A literal in the form of what it is compared with.
fn constant(kind: &Kind, literal: &Literal) -> Option<Scalar<'static>> {
    match (kind, literal) {
        (Kind::Number | Kind::Enum(_), Literal::Integer(number)) => Some(Scalar::Integer(*number)),
        (Kind::Number, Literal::Float(number)) => Some(Scalar::Float(*number)),
        (Kind::Text, Literal::Text(text)) => Some(Scalar::Text(Cow::Owned(text.clone()))),
        (Kind::Bool, Literal::Bool(value)) => Some(Scalar::Bool(*value)),
        (Kind::Enum(named), Literal::Text(name)) => {
            named.value(name).map(|number| Scalar::Integer(i128::from(number)))
        }
        _ => None,
    }
}

/// A parameter in the form of what it is compared with: text and names need no quotes.
fn parameter(kind: &Kind, text: &str) -> Option<Scalar<'static>> {
    let literal = Literal::of_parameter(text);
    let is_quoted = matches!(literal, Some(Literal::Text(_)));
    match kind {
        Kind::Text if !is_quoted => Some(Scalar::Text(Cow::Owned(text.to_string()))),
        Kind::Enum(_) if literal.is_none() => constant(kind, &Literal::Text(text.trim().to_string())),
        _ => constant(kind, &literal?),
    }
}
