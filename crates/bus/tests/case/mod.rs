#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the files of a case")]
//! Loads the files of a case from `tests/cases/<ID>/` of the workspace.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::path::PathBuf;

/// Where a case's file is.
pub(crate) fn path(id: &str, file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/cases", id, file].iter().collect()
}

/// The text of a case's file.
pub(crate) fn text(id: &str, file: &str) -> String {
    let path = path(id, file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A case's JSON file.
pub(crate) fn json(id: &str, file: &str) -> Value {
    serde_json::from_str(&text(id, file)).unwrap()
}
