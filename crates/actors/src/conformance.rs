//! What every implementation of an actor must do, written once and run over each of them.
//!
//! The suites take time from their subject and touch nothing else. They return the first broken promise instead of
//! panicking, so that a shipped tool can run them against a foreign implementation too.

mod monitor;
mod node_manager;

pub use monitor::{MonitorSubject, monitor};
pub use node_manager::{NodeManagerSubject, node_manager};

/// A promise that an implementation did not keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{promise}: {found}")]
pub struct BrokenPromise {
    /// What had to hold.
    pub promise: &'static str,
    /// What was found instead.
    pub found: String,
}

fn promise(
    promise: &'static str,
    is_kept: bool,
    found: impl FnOnce() -> String,
) -> Result<(), BrokenPromise> {
    if is_kept { Ok(()) } else { Err(BrokenPromise { promise, found: found() }) }
}

fn kept<T, E: std::fmt::Display>(promise: &'static str, result: Result<T, E>) -> Result<T, BrokenPromise> {
    result.map_err(|error| BrokenPromise { promise, found: error.to_string() })
}
