//! How a command ends: exit codes and errors as a person sees them.

use std::fmt;
use std::process::ExitCode;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// The exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: failed.
    Failed,
    /// 2: the command line or the configuration is wrong.
    Usage,
    /// 3: a threshold that was asked for is missed.
    ThresholdMissed,
    /// 4: this machine cannot do it.
    NotAvailable,
    /// The exit code of a command that was run for the user.
    Child(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::ThresholdMissed => 3,
            Exit::NotAvailable => 4,
            Exit::Child(code) => code,
        })
    }
}

/// An error at the end of its way: what, where, and what to try next.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    remedy: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    place: Option<Box<(NamedSource<String>, LabeledSpan)>>,
}

impl Failure {
    /// A failure without a cause below it.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), remedy: None, source: None, place: None }
    }

    /// A failure that carries `source`, whose own text becomes the message.
    pub fn from_error(exit: Exit, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: None, ..Self::new(exit, chain(&source)) }
    }

    /// With the next thing to try.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// With the error that caused it.
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// With the place in a file.
    pub fn with_place(mut self, file: &str, text: String, span: std::ops::Range<usize>, label: &str) -> Self {
        let label = LabeledSpan::new_with_span(Some(label.to_owned()), span);
        self.place = Some(Box::new((NamedSource::new(file, text), label)));
        self
    }

    /// The exit code to end with.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

/// The messages of an error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl Diagnostic for Failure {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.remedy.as_ref().map(|remedy| Box::new(remedy) as _)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_deref().map(|(text, _)| text as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.place.as_deref().map(|(_, label)| Box::new(std::iter::once(label.clone())) as _)
    }
}
