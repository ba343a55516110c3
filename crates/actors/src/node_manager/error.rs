//! Why a call of a node manager failed.
//!
//! Pure. Each error has a wire status, and is made again from status and detail on the other side.

use std::time::Duration;

use crate::lease::{GrantError, ReleaseError};
use crate::message::{Operation, Status};

/// Why a call of a node manager failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeManagerError {
    /// Nobody answered in time.
    #[error("no answer to {operation} within {waited:?}: is a node manager running for {target}?")]
    Timeout {
        /// What was asked.
        operation: &'static str,
        /// Who was asked.
        target: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The request could not be sent.
    #[error("{operation} could not be sent to {target}: {detail}")]
    NotSent {
        /// What was asked.
        operation: &'static str,
        /// Who was asked.
        target: String,
        /// Why.
        detail: String,
    },
    /// Not allowed.
    #[error("denied: {0}")]
    Denied(String),
    /// Not to be had on this node.
    #[error("not supported here: {0}")]
    Unsupported(String),
    /// A value that cannot be.
    #[error("out of range: {0}")]
    Range(String),
    /// Too much at once.
    #[error("busy: {0}")]
    Busy(String),
    /// The request contradicts itself or cannot be read.
    #[error("invalid request: {0}")]
    Invalid(String),
    /// The machine refused.
    #[error("failed: {0}")]
    Failed(String),
    /// Older than what the node knows.
    #[error("stale: {0}")]
    Stale(String),
    /// A status that this version does not know.
    #[error("answered with unknown status {status}: {detail}")]
    Unknown {
        /// The wire code.
        status: i32,
        /// What the node said.
        detail: String,
    },
}

impl NodeManagerError {
    /// The wire status.
    pub fn status(&self) -> Status {
        match self {
            Self::Timeout { .. } => Status::Timeout,
            Self::NotSent { .. } => Status::NoServer,
            Self::Denied(_) => Status::Denied,
            Self::Unsupported(_) => Status::Unsupported,
            Self::Range(_) => Status::Range,
            Self::Busy(_) => Status::Busy,
            Self::Invalid(_) => Status::Invalid,
            Self::Failed(_) | Self::Unknown { .. } => Status::Failed,
            Self::Stale(_) => Status::Stale,
        }
    }

    /// The text without the status, for the wire.
    pub fn detail(&self) -> String {
        match self {
            Self::Denied(detail)
            | Self::Unsupported(detail)
            | Self::Range(detail)
            | Self::Busy(detail)
            | Self::Invalid(detail)
            | Self::Failed(detail)
            | Self::Stale(detail)
            | Self::Unknown { detail, .. } => detail.clone(),
            Self::Timeout { .. } | Self::NotSent { .. } => self.to_string(),
        }
    }

    /// The error of a reply; `None` when the status is no failure. `PARTIAL` is none: the settings say which failed.
    pub fn from_reply(operation: Operation, target: &str, status: i32, detail: &str) -> Option<Self> {
        let detail = detail.to_owned();
        Some(match Status::from_code(status) {
            Some(Status::Ok | Status::Partial) => return None,
            Some(Status::Denied) => Self::Denied(detail),
            Some(Status::Unsupported) => Self::Unsupported(detail),
            Some(Status::Range) => Self::Range(detail),
            Some(Status::Busy) => Self::Busy(detail),
            Some(Status::Invalid) => Self::Invalid(detail),
            Some(Status::Failed) => Self::Failed(detail),
            Some(Status::Stale) => Self::Stale(detail),
            Some(Status::Timeout | Status::NoServer) => {
                Self::NotSent { operation: operation.name(), target: target.to_owned(), detail }
            }
            None => Self::Unknown { status, detail },
        })
    }
}

impl From<GrantError> for NodeManagerError {
    fn from(error: GrantError) -> Self {
        let detail = error.to_string();
        match error {
            GrantError::UnknownKnob(_) => Self::Unsupported(detail),
            GrantError::NotFinite { .. } | GrantError::Ttl { .. } => Self::Range(detail),
            GrantError::OtherBoot | GrantError::StaleTerm { .. } | GrantError::StaleSequence { .. } => {
                Self::Stale(detail)
            }
            GrantError::Full { .. } => Self::Busy(detail),
        }
    }
}

impl From<ReleaseError> for NodeManagerError {
    fn from(error: ReleaseError) -> Self {
        let detail = error.to_string();
        match error {
            ReleaseError::UnknownKnob(_) => Self::Unsupported(detail),
            ReleaseError::NotHeld { .. } | ReleaseError::Stale { .. } => Self::Stale(detail),
        }
    }
}
