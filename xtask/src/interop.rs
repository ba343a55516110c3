#![expect(
    clippy::disallowed_methods,
    reason = "I/O shell: runs the live tests, asks git and writes the table"
)]
//! Runs the tests with live peers many times and writes what happened into `docs/interop.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, setup, workspace};

/// Runs of each cell that the table is made from.
const REPEATS: u32 = 20;
/// The tests that record what live peers do.
const TESTS: [&str; 3] = ["interop", "multicast", "liveliness"];

/// Passed and all runs of one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u32,
    all: u32,
}

/// What the runs of all pairs did, by what was tried, in the order of its first run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Record {
    whats: Vec<String>,
    pairs: Vec<(String, String)>,
    counts: BTreeMap<(usize, usize), Count>,
}

impl Record {
    /// Reads the lines that the tests wrote: whether it passed, writer, reader and what was tried, between tabs.
    fn read(lines: &str) -> Result<Self, String> {
        let mut record = Self::default();
        for line in lines.lines() {
            let mut fields = line.split('\t');
            let mut next =
                || fields.next().map(str::to_string).ok_or_else(|| format!("not a recorded run: {line}"));
            let (passed, writer, reader, what) = (next()?, next()?, next()?, next()?);
            let pair = position(&mut record.pairs, (writer, reader));
            let what = position(&mut record.whats, what);
            let count = record.counts.entry((what, pair)).or_default();
            count.all += 1;
            count.passed += u32::from(passed == "true");
        }
        Ok(record.sorted())
    }

    /// The same in an order that does not depend on which run came first.
    fn sorted(self) -> Self {
        let (mut whats, mut pairs) = (self.whats.clone(), self.pairs.clone());
        whats.sort();
        pairs.sort();
        let place = |(what, pair): (usize, usize)| {
            let (what, pair) = (self.whats.get(what), self.pairs.get(pair));
            let at = |found: Option<usize>| found.unwrap_or_default();
            (
                at(whats.iter().position(|one| Some(one) == what)),
                at(pairs.iter().position(|one| Some(one) == pair)),
            )
        };
        let counts = self.counts.iter().map(|(cell, count)| (place(*cell), *count)).collect();
        Self { whats, pairs, counts }
    }

    fn is_green(&self) -> bool {
        !self.counts.is_empty() && self.counts.values().all(|count| count.passed == count.all)
    }

    /// One row for what was tried, one column for a pair.
    fn table(&self) -> String {
        let mut table = String::from("| |");
        for (writer, reader) in &self.pairs {
            let _ = write!(table, " {writer} → {reader} |");
        }
        table.push_str("\n| --- |");
        table.push_str(&" --- |".repeat(self.pairs.len()));
        for (row, what) in self.whats.iter().enumerate() {
            let _ = write!(table, "\n| {what} |");
            for column in 0..self.pairs.len() {
                let text = match self.counts.get(&(row, column)) {
                    None => "–".to_string(),
                    Some(count) if count.passed == count.all => format!("{}/{}", count.passed, count.all),
                    Some(count) => format!("**{}/{}**", count.passed, count.all),
                };
                let _ = write!(table, " {text} |");
            }
        }
        table.push('\n');
        table
    }
}

fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn record_file() -> PathBuf {
    workspace::peers_dir().join("interop.tsv")
}

/// Forgets earlier runs.
pub(crate) fn forget() {
    // Absent before the first run.
    let _ = fs::remove_file(record_file());
}

/// Runs the tests with live peers and writes the table; fails when a run did.
pub(crate) fn run(repeats: Option<&str>) -> Outcome {
    let repeats = match repeats.map_or(Ok(REPEATS), str::parse) {
        Ok(repeats) if repeats > 0 => repeats,
        _ => {
            eprintln!("cargo xtask interop: --repeats takes a whole number above 0");
            return Outcome::Usage;
        }
    };
    if let Err(error) = setup::run() {
        eprintln!("setup: {error}");
        return Outcome::Unavailable;
    }
    forget();
    let mut command = Command::new("cargo");
    command
        .args(["test", "-p", "stillwatt-bus", "--no-fail-fast", "--examples"])
        .current_dir(workspace::root());
    TESTS.iter().for_each(|test| {
        command.args(["--test", test]);
    });
    command.env("STILLWATT_PEERS_REQUIRED", "1").env("STILLWATT_INTEROP_REPEATS", repeats.to_string());
    let passed = command.status().is_ok_and(|status| status.success());
    match write_page(&format!("cargo xtask interop --repeats {repeats}")) {
        Ok(is_green) if is_green && passed => Outcome::Done,
        Ok(_) => Outcome::Failed,
        Err(error) => {
            eprintln!("interop: {error}");
            Outcome::Failed
        }
    }
}

/// Writes the table from the runs that `cargo xtask test` has recorded.
pub(crate) fn write_recorded() -> Outcome {
    match write_page("cargo xtask test") {
        Ok(true) => Outcome::Done,
        Ok(false) => Outcome::Failed,
        Err(error) => {
            eprintln!("interop: {error}");
            Outcome::Failed
        }
    }
}

fn write_page(command: &str) -> Result<bool, String> {
    let file = record_file();
    let lines =
        fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let record = Record::read(&lines)?;
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let date = output("date", &["--utc", "+%Y-%m-%d"]);
    let page = format!(
        "# Interoperability\n\n\
         Written after `{command}`; do not edit. Commit {commit}, {date}. Each entry: runs that \
         passed of all runs,\nwriter → reader; `–` where the pair does not apply. No run is repeated because it failed.\n\n\
         Peers: Cyclone DDS 11.0.1 (Python wheel), Fast DDS 2.9.1 (Debian 12) and 3.2.3 (wheel `ros-fastdds`), the Fast \
         DDS ones with dynamic\ntypes from XML. What each cell does is in `crates/bus/tests/interop/cell.rs` and \
         `peers/README.md`.\n\n{}",
        record.table()
    );
    let path = workspace::root().join("docs/interop.md");
    fs::write(&path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(record.is_green())
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(workspace::root()).output();
    output.map_or_else(
        |_| "unknown".into(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of a cell are added up, failures stand out, and what a pair did not try is no failure.
    #[test]
    fn runs_become_a_table() {
        let run = |writer: &str, reader: &str, what: &str, passed: bool| {
            format!("{passed}\t{writer}\t{reader}\t{what}\n")
        };
        let mut lines = run("A", "B", "keyed", true)
            + &run("A", "B", "keyed", true)
            + &run("B", "A", "plain, late", true);
        let record = Record::read(&lines).unwrap();
        assert!(record.is_green());
        assert_eq!(
            record.table(),
            "| | A → B | B → A |\n| --- | --- | --- |\n| keyed | 2/2 | – |\n| plain, late | – | 1/1 |\n"
        );
        lines += &run("A", "B", "keyed", false);
        let record = Record::read(&lines).unwrap();
        assert!(!record.is_green() && record.table().contains("| keyed | **2/3** | – |"));
        assert!(Record::read("true\tA").is_err());
    }
}
