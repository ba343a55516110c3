//! What a predicate compares.

use alloc::borrow::Cow;
use alloc::string::String;
use core::cmp::Ordering;

use crate::types::Value;

/// A value that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    Integer(i128),
    Float(f64),
    Text(Cow<'a, str>),
    Bool(bool),
}

impl<'a> Scalar<'a> {
    /// `None` for what cannot be compared, or is not there.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Float32(value) => Self::Float(f64::from(*value)),
            Value::Float64(value) => Self::Float(*value),
            Value::Char8(letter) => Self::Text(Cow::Owned(String::from(*letter))),
            Value::Char16(unit) => Self::Text(Cow::Owned(String::from_utf16_lossy(&[*unit]))),
            other => match (other.as_str(), other.as_number()) {
                (Some(text), _) => Self::Text(Cow::Borrowed(text)),
                (None, Some(number)) => Self::Integer(number),
                (None, None) => return None,
            },
        })
    }

    /// `None` when there is no order: with what is not a number, and between unlike forms.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Integer(left), Self::Float(right)) => compare_mixed(*left, *right),
            (Self::Float(left), Self::Integer(right)) => compare_mixed(*right, *left).map(Ordering::reverse),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }

    /// Whether text has the form of a pattern; `None` for what is no text.
    pub(super) fn is_like(&self, pattern: &Self) -> Option<bool> {
        match (self, pattern) {
            (Self::Text(text), Self::Text(pattern)) => Some(is_like(text, pattern)),
            _ => None,
        }
    }
}

/// Exact, although neither form holds every value of the other.
fn compare_mixed(left: i128, right: f64) -> Option<Ordering> {
    if right.is_nan() {
        return None;
    }
    if left.unsigned_abs() <= EXACT_MAX {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        return (left as f64).partial_cmp(&right);
    }
    // Beyond, a float is whole, and one that is smaller keeps its side when its fraction is cut off.
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let whole = right as i128;
    Some(left.cmp(&whole))
}

/// Up to here every whole number is a float.
const EXACT_MAX: u128 = 1 << 53;

/// `%` takes any characters, `_` one. Goes back to the last `%` only: an earlier one need not take more, because the
/// last can take whatever it would have. So the steps are at most the product of the lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    let mut retry = None;
    loop {
        match pattern.next() {
            Some('%') => {
                retry = Some((pattern.clone(), text.clone()));
                continue;
            }
            None if text.as_str().is_empty() => return true,
            Some(wanted) => {
                let mut after = text.clone();
                if after.next().is_some_and(|letter| wanted == '_' || wanted == letter) {
                    text = after;
                    continue;
                }
            }
            None => {}
        }
        let Some((after_any, from)) = &mut retry else { return false };
        if from.next().is_none() {
            return false;
        }
        (pattern, text) = (after_any.clone(), from.clone());
    }
}
