//! Content filters: which samples a reader wants, in the SQL subset of DDS (DDS 1.4, annex B). Pure.
//!
//! ```text
//! condition  = condition OR condition | condition AND condition | NOT condition | ( condition ) | predicate
//! predicate  = operand = | == | <> | != | < | <= | > | >= | LIKE operand
//!            | operand [NOT] BETWEEN operand AND operand
//! operand    = member | number | 'text' | TRUE | FALSE | %0 ... %99
//! member     = name, parts of it after a dot, elements by their number in brackets: rack.nodes[2].power_watts
//! ```
//!
//! * `NOT` binds closest, then `AND`, then `OR`. Words of the language may be in capitals or not.
//! * Numbers compare with numbers, exactly, whatever their types; text with text, by its characters; enumerators with
//!   their names in quotes or with numbers, by number. `FALSE` is below `TRUE`.
//! * In the text after `LIKE`, `%` stands for any characters and `_` for one. A quote in text is doubled.
//! * A parameter is what its place needs: the text that it is compared with, a number, a name. Text may be in quotes.
//! * A member that is not there (optional and absent, of a union's other case, beyond a sequence's end) or not a number
//!   (NaN) makes its predicate neither true nor false, as `NULL` in SQL; a sample passes only what is true.
//!
//! An expression is checked against the type once; what can be wrong with it is known then. A sample costs reading
//! its members up to the last one named, and one look at each named.

mod condition;
mod error;
mod extract;
mod member;
mod parse;
#[cfg(test)]
mod properties;
mod resolve;
mod scalar;
#[cfg(test)]
mod tests;
mod token;

pub use error::{FilterError, FilterFault};

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use self::condition::Condition;
use self::member::Path;
use crate::cdr::CdrError;
use crate::types::{DynamicValue, StructType, Value};

/// A condition on samples of one type.
#[derive(Clone, Debug)]
pub struct Filter {
    structure: Arc<StructType>,
    expression: String,
    /// The members that the condition names, each once.
    paths: Vec<Path>,
    condition: Condition,
    /// For each of the type's members up to the last one needed, whether it is.
    needed: Vec<bool>,
}

impl Filter {
    /// The most octets of an expression or parameter.
    pub const EXPRESSION_BYTES_MAX: usize = 4096;
    /// The most parameters.
    pub const PARAMETERS_MAX: usize = 100;
    /// The most levels of brackets and `NOT`.
    pub const NESTING_MAX: u32 = 64;

    /// A filter from its expression in the language that the module's text describes.
    ///
    /// # Errors
    /// When the expression breaks the language or a bound, names what the type does not have, or compares what cannot
    /// be compared; with the position, and what to write instead.
    pub fn new<P: AsRef<str>>(
        structure: &Arc<StructType>,
        expression: &str,
        parameters: &[P],
    ) -> Result<Self, FilterError> {
        let parameters: Vec<&str> = parameters.iter().map(AsRef::as_ref).collect();
        let at = |(position, fault): (usize, FilterFault)| FilterError {
            expression: expression.to_string(),
            position: expression.get(..position).map_or(0, |before| before.chars().count()) + 1,
            fault,
        };
        let syntax = parse::parse(expression).map_err(at)?;
        let (condition, paths) = resolve::resolve(&syntax, structure, &parameters).map_err(at)?;
        let needed = needed(&paths);
        let expression = expression.to_string();
        Ok(Self { structure: Arc::clone(structure), expression, paths, condition, needed })
    }

    /// The type of the samples.
    pub fn structure(&self) -> &Arc<StructType> {
        &self.structure
    }

    /// The expression as it was given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Whether a sample passes. One of another type never does.
    pub fn is_met(&self, sample: &DynamicValue) -> bool {
        let is_ours =
            Arc::ptr_eq(sample.structure(), &self.structure) || **sample.structure() == *self.structure;
        is_ours && self.is_met_by_members(sample.values())
    }

    /// Whether a serialized sample, encapsulation header included, passes. Reads no further than it must.
    ///
    /// # Errors
    /// When the octets read are no sample of the type.
    pub fn is_met_by(&self, payload: &[u8]) -> Result<bool, CdrError> {
        let members = extract::members(&self.structure, &self.needed, payload)?;
        Ok(self.is_met_by_members(&members))
    }

    /// Members in order of declaration; those that no path names may be missing.
    fn is_met_by_members(&self, members: &[Value]) -> bool {
        let value = |index: usize| self.paths.get(index).and_then(|path| path.value(members));
        self.condition.truth(&value) == Some(true)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)
    }
}

fn needed(paths: &[Path]) -> Vec<bool> {
    let mut needed = Vec::new();
    for position in paths.iter().map(Path::position) {
        if needed.len() <= position {
            needed.resize(position + 1, false);
        }
        if let Some(slot) = needed.get_mut(position) {
            *slot = true;
        }
    }
    needed
}
