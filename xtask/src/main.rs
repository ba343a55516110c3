#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the command line and the environment")]
//! Developer commands, run as `cargo xtask COMMAND`.
//!
//! `setup` installs what the tests need, `test` runs everything that must pass, `tidy` checks the project's own
//! rules. Touches the file system below the workspace root and starts processes; the product never depends on it.

mod fuzz;
mod interop;
mod setup;
mod suite;
mod test_programs;
mod tidy;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  setup         Install what the tests need: Debian packages, a Python environment, the Fast DDS peer
  test [--long] Set up, then run every check and test; prints a summary. --long: live peers 20 times, fuzzers 60 s, 1,000 kills
  interop [--repeats N | --recorded]
                Run the tests with live peers 20 times and write docs/interop.md; --recorded: from the last test run
  fuzz [--seconds N] [TARGET]...
                Fuzz what reads bytes from outside, each target for 60 s
  tidy [--fix]  Check the project's own rules; --fix rewrites the generated lists of ARCHITECTURE.md

Exit codes: 0 done, 1 failed, 2 usage, 4 not available here
";

/// How a command ended, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed,
    Usage,
    Unavailable,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Failed => Self::from(1),
            Outcome::Usage => Self::from(2),
            Outcome::Unavailable => Self::from(4),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["setup"] => match setup::run() {
            Ok(()) => Outcome::Done,
            Err(error) => {
                eprintln!("setup: {error}");
                Outcome::Unavailable
            }
        },
        ["test"] => suite::run(suite::Extent::Short),
        ["test", "--long"] => suite::run(suite::Extent::Long),
        ["interop"] => interop::run(None),
        ["interop", "--recorded"] => interop::write_recorded(),
        ["interop", "--repeats", repeats] => interop::run(Some(repeats)),
        ["fuzz", rest @ ..] => match fuzz::Request::parse(rest) {
            Ok(request) => fuzz::run(&request),
            Err(error) => {
                eprintln!("cargo xtask fuzz: {error}\n\n{HELP}");
                Outcome::Usage
            }
        },
        ["tidy"] => tidy::run(tidy::Mode::Check),
        ["tidy", "--fix"] => tidy::run(tidy::Mode::Fix),
        ["--help" | "-h" | "help"] => {
            print!("{HELP}");
            Outcome::Done
        }
        [] => {
            eprint!("{HELP}");
            Outcome::Usage
        }
        other => {
            eprintln!("cargo xtask: unknown command {:?}\n\n{HELP}", other.join(" "));
            Outcome::Usage
        }
    };
    outcome.into()
}
