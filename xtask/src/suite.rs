#![expect(clippy::disallowed_methods, reason = "I/O shell: runs cargo and measures the stages")]
//! Everything that must pass before a change lands, in the order of cost.
//!
//! A failed stage does not stop the later ones: one run tells everything. The end repeats the closing line of each
//! test runner, the skips with their reasons and the time of each stage.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Outcome, fuzz, interop, setup, tidy, workspace};

/// What `cargo test` reported, gathered from its output.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// The runners' closing lines with the name of the tests they ran.
    closing: Vec<String>,
}

impl Tally {
    /// Takes one line of output; `running` carries the current runner's name from line to line.
    fn read(&mut self, line: &str, running: &mut String) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("Running ").or_else(|| text.strip_prefix("Doc-tests ")) {
            name.split(" (").next().unwrap_or(name).clone_into(running);
        }
        let Some(result) = text.strip_prefix("test result: ") else { return };
        for part in result.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(Ok(count)), Some(what)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
        self.closing.push(format!("{running}: {text}"));
    }
}

struct Stage {
    name: &'static str,
    passed: bool,
    time: Duration,
}

/// How much is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Live peers twice, a few seconds of each fuzzer.
    Short,
    /// Live peers twenty times, a minute of each fuzzer.
    Long,
}

/// Runs all stages and prints the summary.
pub(crate) fn run(extent: Extent) -> Outcome {
    let mut stages = Vec::new();
    let mut tally = Tally::default();
    let skips = workspace::peers_dir().join("skips.txt");
    // Absent before the first run; a stale list would be reported as this run's.
    let _ = fs::remove_file(&skips);
    interop::forget();
    let (repeats, cycles, fuzzing) = match extent {
        Extent::Short => ("2", "48", fuzz::Request::smoke()),
        Extent::Long => ("20", "1000", fuzz::Request::thorough()),
    };
    let prepared =
        stage(&mut stages, "setup", || setup::run().map_err(|error| eprintln!("setup: {error}")).is_ok());
    stage(&mut stages, "format", || cargo(&["fmt", "--all", "--check"], &[]));
    stage(&mut stages, "tidy", || tidy::run(tidy::Mode::Check) == Outcome::Done);
    stage(&mut stages, "clippy", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])
    });
    stage(&mut stages, "tests", || {
        // With the peers installed, a test that finds none is broken, not skipped.
        let required = [
            ("STILLWATT_INTEROP_REPEATS", repeats),
            ("STILLWATT_KILL_CYCLES", cycles),
            ("STILLWATT_PEERS_REQUIRED", "1"),
        ];
        let environment = if prepared { &required[..] } else { &required[..2] };
        cargo_test(environment, &mut tally).unwrap_or_else(|error| {
            eprintln!("cannot run cargo test: {error}");
            false
        })
    });
    stage(&mut stages, "fuzz", || fuzz::run(&fuzzing) == Outcome::Done);
    stage(&mut stages, "docs", || {
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])
    });
    let skipped = fs::read_to_string(&skips).unwrap_or_default();
    print_summary(&stages, &tally, skipped.lines().collect::<Vec<_>>().as_slice());
    if stages.iter().all(|stage| stage.passed) { Outcome::Done } else { Outcome::Failed }
}

fn stage(stages: &mut Vec<Stage>, name: &'static str, action: impl FnOnce() -> bool) -> bool {
    println!("== {name}");
    let start = Instant::now();
    let passed = action();
    stages.push(Stage { name, passed, time: start.elapsed() });
    passed
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> bool {
    let mut command = Command::new("cargo");
    command.args(arguments).envs(environment.iter().copied()).current_dir(workspace::root());
    command.status().is_ok_and(|status| status.success())
}

/// Runs all tests, passing their output through while counting.
fn cargo_test(environment: &[(&str, &str)], tally: &mut Tally) -> io::Result<bool> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new("cargo");
    command.args(["test", "--workspace", "--no-fail-fast"]).envs(environment.iter().copied());
    command.current_dir(workspace::root()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the writing ends; while it lives, the reader would never see the end.
    drop(command);
    let mut running = String::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.read(&line, &mut running);
    }
    Ok(child.wait()?.success())
}

fn print_summary(stages: &[Stage], tally: &Tally, skips: &[&str]) {
    println!("\n== summary");
    for line in &tally.closing {
        println!("{line}");
    }
    println!(
        "{} tests passed, {} failed, {} ignored, {} skipped",
        tally.passed,
        tally.failed,
        tally.ignored,
        skips.len()
    );
    for skip in skips {
        println!("  SKIP {skip}");
    }
    for Stage { name, passed, time } in stages {
        println!("{:<8} {:>7.1} s  {}", name, time.as_secs_f64(), if *passed { "passed" } else { "FAILED" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of several runners are added up and each closing line keeps its runner's name.
    #[test]
    fn tally_adds_runners() {
        let output = "\
     Running unittests src/lib.rs (target/debug/deps/units-1)
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/interop.rs (target/debug/deps/interop-2)
test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.25s
   Doc-tests units
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let (mut tally, mut running) = (Tally::default(), String::new());
        for line in output.lines() {
            tally.read(line, &mut running);
        }
        assert_eq!((tally.passed, tally.failed, tally.ignored), (10, 4, 1));
        assert_eq!(tally.closing.len(), 3);
        assert!(tally.closing[1].starts_with("tests/interop.rs: test result: FAILED"));
    }

    /// Output of tests that only resembles a closing line is not counted.
    #[test]
    fn tally_ignores_other_lines() {
        let (mut tally, mut running) = (Tally::default(), String::new());
        tally.read("the test result: 7 passed", &mut running);
        assert_eq!(tally, Tally::default());
    }
}
