//! What can be wrong with a filter expression, and what to write instead.

use alloc::string::String;

use super::Filter;

/// An expression is no filter of the type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot filter by {expression:?}: at character {position}: {fault}")]
pub struct FilterError {
    /// The expression.
    pub expression: String,
    /// The character, counted from 1, at which the fault was found.
    pub position: usize,
    /// The fault.
    pub fault: FilterFault,
}

/// What is wrong at a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterFault {
    /// The expression or a parameter is too long.
    #[error(
        "{bytes} bytes are more than the {} of an expression or parameter: split it up",
        Filter::EXPRESSION_BYTES_MAX
    )]
    TooLong {
        /// Its octets.
        bytes: usize,
    },
    /// Too many levels of brackets and `NOT`.
    #[error("more than {} levels of brackets and NOT: write it flatter", Filter::NESTING_MAX)]
    TooDeep,
    /// Another token was needed.
    #[error("found {found}, expected {expected}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
    /// A text that does not end.
    #[error("this text has no closing quote: add one, and double a quote that is part of the text")]
    Unclosed,
    /// A number that cannot be read.
    #[error("{text:?} is no number")]
    Number {
        /// What was written.
        text: String,
    },
    /// `%` without a number from 0 to 99.
    #[error("a parameter is % and a number from 0 to 99; in text, % belongs between quotes")]
    ParameterName,
    /// A parameter that was not given.
    #[error("%{index} stands for a parameter, and {given} were given, the first of which is %0")]
    ParameterMissing {
        /// Its number.
        index: usize,
        /// How many there are.
        given: usize,
    },
    /// The type has no such member.
    #[error("{type_name} has no member {member:?}: its members are {known}")]
    NoMember {
        /// The type at that point of the path.
        type_name: String,
        /// The name asked for.
        member: String,
        /// The names that exist.
        known: String,
    },
    /// A part was asked of what has no such parts.
    #[error("{member} is of type {ty}, which has no {part}")]
    NoPart {
        /// The path so far.
        member: String,
        /// Its type.
        ty: String,
        /// What was asked for.
        part: &'static str,
    },
    /// An array's element that it does not have.
    #[error("{member} is of type {ty}: give each of its dimensions an index below its length")]
    Index {
        /// The path so far.
        member: String,
        /// Its type.
        ty: String,
    },
    /// A member that is no number, text, boolean or enumerator.
    #[error("{member} is of type {ty}, which cannot be compared: name a part of it")]
    NotComparable {
        /// The path.
        member: String,
        /// Its type.
        ty: String,
    },
    /// The two sides do not go together.
    #[error("{left} cannot be compared with {right}{remedy}")]
    Mismatch {
        /// The member.
        left: String,
        /// What it is compared with.
        right: String,
        /// What would do, in a half sentence.
        remedy: String,
    },
    /// No side is a member.
    #[error("a predicate compares a member of {type_name}, and here is none: its members are {known}")]
    NoMemberNamed {
        /// The type.
        type_name: String,
        /// Its members.
        known: String,
    },
}
