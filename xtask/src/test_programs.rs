#![expect(clippy::disallowed_methods, reason = "I/O shell: runs cargo test")]
//! The workspace's test programs: run all, count what they report, end those that hang, repeat those that fail.
//!
//! Tests with live networks and other implementations share the machine with whatever else runs. A test program that
//! fails is therefore repeated once, alone; one that then passes does not fail the run, but is named at its end, so
//! that somebody looks at it.

use std::io::{self, BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

use crate::workspace;

/// What `cargo test` reported, gathered from its output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    /// The runners' closing lines with the name of the tests they ran.
    pub(crate) closing: Vec<String>,
    /// Programs that failed and passed when they were repeated, as cargo's arguments name them.
    pub(crate) unsteady: Vec<String>,
    /// Programs that failed.
    broken: Vec<String>,
}

impl Tally {
    /// Takes one line of output; `running` carries the current runner's name from line to line.
    fn read(&mut self, line: &str, running: &mut String) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("Running ").or_else(|| text.strip_prefix("Doc-tests ")) {
            name.split(" (").next().unwrap_or(name).clone_into(running);
        }
        if let Some(program) = line.strip_prefix("    `-p ").and_then(|rest| rest.strip_suffix('`')) {
            self.broken.push(format!("-p {program}"));
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

/// How the test programs are run.
pub(crate) struct TestPrograms<'a> {
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// A program that is not done by then is ended with everything it started, so that one that hangs is a failure with
    /// a name and the others still run.
    pub(crate) limit: Duration,
    /// Whether programs that fail are repeated once.
    pub(crate) repeats_failed: bool,
}

impl TestPrograms<'_> {
    /// Runs them all; true when every one passed, at the second try at the latest.
    ///
    /// # Errors
    /// When cargo cannot be run.
    pub(crate) fn run(&self, tally: &mut Tally) -> io::Result<bool> {
        let passed = self.cargo_test(&["--workspace", "--no-fail-fast"], tally)?;
        let broken = std::mem::take(&mut tally.broken);
        // What fails widely does so for a reason that repeating does not take away.
        if passed || !self.repeats_failed || broken.is_empty() || broken.len() > REPEATED_MAX {
            return Ok(passed);
        }
        let mut all_passed = true;
        for program in broken {
            println!("== repeated, since it failed: {program}");
            let mut repeated = Tally::default();
            let arguments: Vec<&str> = program.split_whitespace().collect();
            let passed = self.cargo_test(&arguments, &mut repeated)?;
            tally.closing.extend(repeated.closing.iter().map(|line| format!("repeated {line}")));
            all_passed &= passed;
            if passed {
                tally.unsteady.push(program);
            }
        }
        Ok(all_passed)
    }

    /// Passes the output through while counting.
    fn cargo_test(&self, arguments: &[&str], tally: &mut Tally) -> io::Result<bool> {
        let (reader, writer) = io::pipe()?;
        let limit = self.limit.as_secs();
        let runner =
            format!(r#"target.'cfg(unix)'.runner = ["timeout", "--verbose", "--kill-after=10", "{limit}"]"#);
        let mut command = Command::new("cargo");
        command.arg("test").args(arguments).args(["--config", &runner]);
        command.envs(self.environment.iter().copied()).current_dir(workspace::root());
        command.stdout(writer.try_clone()?).stderr(writer);
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
}

/// More failed programs than these are not repeated.
const REPEATED_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> Tally {
        let (mut tally, mut running) = (Tally::default(), String::new());
        for line in output.lines() {
            tally.read(line, &mut running);
        }
        tally
    }

    /// Counts of several runners are added up and each closing line keeps its runner's name.
    #[test]
    fn tally_adds_runners() {
        let tally = tally(
            "\
     Running unittests src/lib.rs (target/debug/deps/units-1)
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/interop.rs (target/debug/deps/interop-2)
test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.25s
   Doc-tests units
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        assert_eq!((tally.passed, tally.failed, tally.ignored), (10, 4, 1));
        assert_eq!(tally.closing.len(), 3);
        assert!(tally.closing[1].starts_with("tests/interop.rs: test result: FAILED"));
    }

    /// Output of tests that only resembles a closing line is not counted.
    #[test]
    fn tally_ignores_other_lines() {
        assert_eq!(tally("the test result: 7 passed\nnote: `-p units`"), Tally::default());
    }

    /// The programs that failed are known by the arguments that run them again.
    #[test]
    fn failed_programs_are_named() {
        let tally = tally(
            "error: 2 targets failed:\n    `-p stillwatt-rtps --test policies`\n    `-p stillwatt-bus --doc`",
        );
        assert_eq!(tally.broken, ["-p stillwatt-rtps --test policies", "-p stillwatt-bus --doc"]);
    }
}
