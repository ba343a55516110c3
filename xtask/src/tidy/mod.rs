#![expect(
    clippy::disallowed_methods,
    reason = "I/O shell: reads the source tree and rewrites ARCHITECTURE.md"
)]
//! The project's own rules as a test: what rustfmt and clippy cannot see.
//!
//! The rules are pure functions over a file's text; this file reads the tree and prints what they find.

mod lists;
mod rules;
mod source;

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::{Outcome, workspace};

use source::Source;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Whether the generated lists are compared or rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Report a list that differs from the code.
    Check,
    /// Write the lists anew.
    Fix,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    path: PathBuf,
    /// From 1; 0 where the whole file is meant.
    line: usize,
    problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        if self.line == 0 {
            write!(f, "{path}: {}", self.problem)
        } else {
            write!(f, "{path}:{}: {}", self.line, self.problem)
        }
    }
}

/// Checks every rule on every file and prints what is broken.
pub(crate) fn run(mode: Mode) -> Outcome {
    let sources = match read_sources() {
        Ok(sources) => sources,
        Err(error) => {
            eprintln!("tidy: {error}");
            return Outcome::Failed;
        }
    };
    let mut findings: Vec<Finding> = sources.iter().flat_map(rules::check).collect();
    findings.extend(check_lists(&sources, mode));
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", sources.len(), findings.len());
    if findings.is_empty() { Outcome::Done } else { Outcome::Failed }
}

/// Every text file of the project. Files that are not UTF-8, such as images, have no text to check.
fn read_sources() -> Result<Vec<Source>, String> {
    let paths = workspace::files().map_err(|error| format!("cannot list the source tree: {error}"))?;
    let mut sources = Vec::new();
    for path in paths {
        let bytes = fs::read(workspace::root().join(&path))
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source::new(path, text));
        }
    }
    Ok(sources)
}

fn check_lists(sources: &[Source], mode: Mode) -> Vec<Finding> {
    let finding = |problem: String| vec![Finding { path: ARCHITECTURE.into(), line: 0, problem }];
    let Some(current) = sources.iter().find(|source| source.path.as_os_str() == ARCHITECTURE) else {
        return finding("is missing".into());
    };
    let dead = lists::dead_paths(&current.text, sources);
    if !dead.is_empty() {
        return finding(format!("names what does not exist: {}", dead.join(", ")));
    }
    let wanted = match lists::render(&current.text, sources) {
        Ok(wanted) => wanted,
        Err(problem) => return finding(problem),
    };
    if wanted == current.text {
        return Vec::new();
    }
    match mode {
        Mode::Check => {
            let changed = lists::first_difference(&current.text, &wanted);
            finding(format!(
                "the generated lists differ from the code: run cargo xtask tidy --fix\n{changed}"
            ))
        }
        Mode::Fix => match fs::write(workspace::root().join(ARCHITECTURE), wanted) {
            Ok(()) => Vec::new(),
            Err(error) => finding(format!("cannot be written: {error}")),
        },
    }
}
