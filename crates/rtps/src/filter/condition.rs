//! A condition whose members are known, and whether it holds.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::scalar::Scalar;
use super::token::Operator;

/// True, false, or (`None`) neither: the logic of SQL.
pub(super) type Truth = Option<bool>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Compare { left: Side, operator: Operator, right: Side },
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Side {
    /// The member at the path of this index.
    Member(usize),
    Constant(Scalar<'static>),
}

impl Condition {
    /// Whether it holds; `value` looks members up. Stops at the first part that decides.
    pub(super) fn truth<'a>(&'a self, value: &dyn Fn(usize) -> Option<Scalar<'a>>) -> Truth {
        match self {
            Self::Compare { left, operator, right } => {
                let side = |side: &Side| match side {
                    Side::Member(index) => value(*index),
                    Side::Constant(scalar) => Some(scalar.clone()),
                };
                holds(&side(left)?, *operator, &side(right)?)
            }
            Self::Not(inner) => inner.truth(value).map(|truth| !truth),
            Self::All(parts) => joined(parts, value, false),
            Self::Any(parts) => joined(parts, value, true),
        }
    }
}

/// What the parts say together, of which one that is `deciding` decides alone.
fn joined<'a>(parts: &'a [Condition], value: &dyn Fn(usize) -> Option<Scalar<'a>>, deciding: bool) -> Truth {
    let mut truth = Some(!deciding);
    for part in parts {
        match part.truth(value) {
            Some(part) if part == deciding => return Some(deciding),
            Some(_) => {}
            None => truth = None,
        }
    }
    truth
}

fn holds(left: &Scalar<'_>, operator: Operator, right: &Scalar<'_>) -> Truth {
    if operator == Operator::Like {
        return left.is_like(right);
    }
    // What is not a number says nothing, as a member that is not there: it is neither equal nor different.
    let order = left.compare(right)?;
    Some(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::Different => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order.is_ge(),
        Operator::Like => return None,
    })
}
