#![expect(clippy::disallowed_methods, reason = "I/O shell: appends to the list of skipped tests")]
//! Skipped tests are visible, counted and, where everything is installed, failures.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a test needs and this machine lacks, with the remedy where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip(String);

impl Skip {
    /// States what is missing.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// Prints `SKIP test: reason` and adds it to `target/peers/skips.txt`, which `cargo xtask test` reports.
///
/// # Panics
/// When `STILLWATT_PEERS_REQUIRED=1` is set, as `cargo xtask test` does after installing everything: what is missing
/// then is a defect.
pub fn skip(test: &str, reason: &Skip) {
    let required = std::env::var_os("STILLWATT_PEERS_REQUIRED").is_some_and(|value| value == "1");
    assert!(!required, "{test} cannot be skipped here: {reason}");
    println!("SKIP {test}: {reason}");
    let folder = peers_dir();
    let list = fs::create_dir_all(&folder)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(folder.join("skips.txt")));
    // One write call: tests of several processes append at once.
    if let Err(error) = list.and_then(|mut file| file.write_all(format!("{test}: {reason}\n").as_bytes())) {
        println!("the skip could not be counted: {error}");
    }
}

/// The workspace root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where `cargo xtask setup` puts the peers.
pub(crate) fn peers_dir() -> PathBuf {
    root().join("target/peers")
}
