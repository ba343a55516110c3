//! Where in a file something is, what is wrong there, and what to do about it.

use std::fmt;
use std::sync::Arc;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// The line, from 1; 0 is the file as a whole.
    pub line: u32,
}

impl Place {
    /// The file as a whole.
    pub fn whole(file: &str) -> Self {
        Self { file: file.into(), line: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A file or a part of it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {remedy}")]
pub struct XmlError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// The next thing to try.
    pub remedy: String,
}

impl XmlError {
    /// What is wrong at `place` and what to do about it.
    pub fn new(place: Place, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place, what: shortened(what.into()), remedy: remedy.into() }
    }
}

/// How bad a [`Finding`] is. Neither keeps the file from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Used, but not as written.
    Warning,
    /// Used, but almost certainly not as meant.
    Error,
}

/// Something that somebody should know about a file that is used all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: Place,
    /// How bad.
    pub severity: Severity,
    /// What.
    pub what: String,
}

impl Finding {
    /// A finding of [`Severity::Warning`].
    pub fn warning(place: Place, what: impl Into<String>) -> Self {
        Self { place, severity: Severity::Warning, what: shortened(what.into()) }
    }

    /// A finding of [`Severity::Error`].
    pub fn error(place: Place, what: impl Into<String>) -> Self {
        Self { place, severity: Severity::Error, what: shortened(what.into()) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{}: {severity}: {}", self.place, self.what)
    }
}

/// A message with a value of a file in it, which may be as long as the file.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MESSAGE_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Characters of a message.
const MESSAGE_MAX: usize = 400;
