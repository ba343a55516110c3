#![expect(clippy::disallowed_methods, reason = "I/O shell: appends to the record of live runs")]
//! What live peers did, kept for the table of `docs/interop.md`.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::Write;

use crate::skip::peers_dir;

/// How often a test with live peers runs each of its pairs: `STILLWATT_INTEROP_REPEATS`, else once.
pub fn repeats() -> usize {
    let asked = std::env::var("STILLWATT_INTEROP_REPEATS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(1).max(1)
}

/// Adds one run to `target/peers/interop.tsv`, a line of four fields, from which `cargo xtask interop` makes the table.
pub fn record(writer: impl Display, reader: impl Display, what: &str, passed: bool) {
    let line = format!("{passed}\t{writer}\t{reader}\t{what}");
    let folder = peers_dir();
    let list = fs::create_dir_all(&folder)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(folder.join("interop.tsv")));
    // One write call: tests of several processes append at once.
    if let Err(error) = list.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
        println!("the run could not be recorded: {error}");
    }
}
