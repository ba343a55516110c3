#![expect(clippy::disallowed_methods, reason = "I/O shell: runs cargo and measures the stages")]
//! Everything that must pass before a change lands, in the order of cost.
//!
//! A failed stage does not stop the later ones: one run tells everything. The end repeats the closing line of each
//! test runner, the skips with their reasons and the time of each stage.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::test_programs::{Tally, TestPrograms};
use crate::{Outcome, fuzz, interop, setup, tidy, workspace};

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
    let (repeats, cycles, limit, fuzzing) = match extent {
        Extent::Short => ("2", "48", Duration::from_mins(15), fuzz::Request::smoke()),
        Extent::Long => ("20", "1000", Duration::from_mins(120), fuzz::Request::thorough()),
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
        let programs = TestPrograms { environment, limit, repeats_failed: extent == Extent::Short };
        programs.run(&mut tally).unwrap_or_else(|error| {
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
    for program in &tally.unsteady {
        println!("  UNSTEADY {program}: failed, and passed when it was repeated; its first output is above");
    }
    for Stage { name, passed, time } in stages {
        println!("{:<8} {:>7.1} s  {}", name, time.as_secs_f64(), if *passed { "passed" } else { "FAILED" });
    }
}
