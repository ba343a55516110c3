//! One line of `doctor`: what was looked at, how it stands, what to do about it. Pure.

/// What became of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    Degraded,
    NotAvailable,
}

/// One line of the report.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) subject: String,
    pub(super) state: State,
    pub(super) finding: String,
    pub(super) remedy: Option<String>,
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::NotAvailable => "not available",
        }
    }
}

impl Check {
    pub(super) fn new(subject: impl Into<String>, state: State, finding: impl Into<String>) -> Self {
        Self { subject: subject.into(), state, finding: finding.into(), remedy: None }
    }

    pub(super) fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
