#![expect(clippy::disallowed_methods, reason = "I/O shell: builds and runs the fuzzers")]
//! Coverage-guided fuzzing of everything that reads bytes from outside, by libFuzzer and with the stable compiler.
//!
//! The targets are the programs of `fuzz/`. Each begins with the captured messages of `tests/cases` and with what
//! earlier runs found interesting (`target/fuzz/corpus`); what breaks one is kept in `fuzz/findings`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, workspace};

/// Seconds that each target runs in the test suite.
pub(crate) const SMOKE_SECONDS: u32 = 3;
/// Seconds that each target runs when nothing else is asked for.
const SECONDS: u32 = 60;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    seconds: u32,
    /// Empty for all.
    targets: Vec<String>,
}

impl Request {
    /// What the test suite runs.
    pub(crate) fn smoke() -> Self {
        Self { seconds: SMOKE_SECONDS, targets: Vec::new() }
    }

    /// What the long test suite runs.
    pub(crate) fn thorough() -> Self {
        Self { seconds: SECONDS, targets: Vec::new() }
    }

    /// Reads `[--seconds N] [TARGET]...`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut request = Self { seconds: SECONDS, targets: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--seconds" => {
                    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
                    request.seconds = seconds
                        .filter(|seconds| *seconds > 0)
                        .ok_or("--seconds takes a whole number above 0")?;
                }
                option if option.starts_with('-') => return Err(format!("unknown option {option:?}")),
                target => request.targets.push(target.to_string()),
            }
        }
        Ok(request)
    }
}

/// Builds the targets and runs those asked for, one after the other; all run even when one fails.
pub(crate) fn run(request: &Request) -> Outcome {
    let known = match targets() {
        Ok(known) => known,
        Err(error) => {
            eprintln!("fuzz: {error}");
            return Outcome::Failed;
        }
    };
    if let Some(unknown) = request.targets.iter().find(|target| !known.contains(target)) {
        eprintln!("fuzz: there is no target {unknown:?}; there are: {}", known.join(", "));
        return Outcome::Usage;
    }
    let Some(programs) = build() else { return Outcome::Failed };
    let chosen = known.iter().filter(|target| request.targets.is_empty() || request.targets.contains(target));
    let mut outcome = Outcome::Done;
    for target in chosen {
        match run_target(&programs, target, request.seconds) {
            Ok(true) => {}
            Ok(false) => {
                eprintln!("fuzz: {target} failed; repeat with cargo xtask fuzz {target}");
                outcome = Outcome::Failed;
            }
            Err(error) => {
                eprintln!("fuzz: cannot run {target}: {error}");
                outcome = Outcome::Failed;
            }
        }
    }
    outcome
}

/// The names of the targets: their source files.
fn targets() -> Result<Vec<String>, String> {
    let folder = workspace::root().join("fuzz/targets");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_string())).collect();
    names.sort();
    Ok(names)
}

/// Builds all targets, instrumented; returns the folder of the programs.
fn build() -> Option<PathBuf> {
    let version = Command::new("rustc").arg("-vV").output().ok()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?.to_string();
    let target = workspace::root().join("target/fuzz");
    // The flags that make LLVM report coverage to libFuzzer. They need an explicit target: without one cargo would
    // instrument build scripts as well, which have no libFuzzer to report to.
    let flags = [
        "--cfg fuzzing",
        "-Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=4",
        "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
        "-Cllvm-args=-sanitizer-coverage-pc-table",
        "-Cllvm-args=-sanitizer-coverage-trace-compares",
        "-Ccodegen-units=1",
    ];
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--target", &host, "--target-dir"])
        .arg(&target)
        .arg("--manifest-path")
        .arg(workspace::root().join("fuzz/Cargo.toml"))
        .env("RUSTFLAGS", flags.join(" "))
        .status();
    match status {
        Ok(status) if status.success() => Some(target.join(host).join("release")),
        Ok(_) => None,
        Err(error) => {
            eprintln!("fuzz: cannot run cargo: {error}");
            None
        }
    }
}

fn run_target(programs: &Path, target: &str, seconds: u32) -> std::io::Result<bool> {
    let corpus = workspace::root().join("target/fuzz/corpus").join(target);
    let findings = workspace::root().join("fuzz/findings");
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&findings)?;
    seed(target, &corpus)?;
    let output = Command::new(programs.join(target))
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        // No input may take long or much memory: that is a finding, too.
        .args(["-timeout=5", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/{target}-", findings.display()))
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let count = told.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!("fuzz: {target}: {} inputs in {seconds} s, no finding", count.unwrap_or("?").trim());
    } else {
        eprintln!("{told}");
    }
    Ok(output.status.success())
}

/// Gives the filters' target an expression of every kind, with parameters on the lines after it.
fn seed_filters(corpus: &Path) -> std::io::Result<()> {
    let expressions = [
        "watts > 250 AND NOT host LIKE 'n_%'",
        "place.rack = %0 OR count BETWEEN %1 AND %2\nrack7\n1\n9223372036854775809",
        "(grid[1] <> 2 or cores[0] >= 0x0a) and live = true",
        "change < -9.007199254740993e15 AND places[0].slot not between 4 and 5",
        "ratio != 1 OR limit == 7 AND count > watts",
    ];
    for (number, expression) in expressions.iter().enumerate() {
        fs::write(corpus.join(format!("expression-{number}")), expression)?;
    }
    Ok(())
}

/// Gives a target the captured messages to begin with.
fn seed(target: &str, corpus: &Path) -> std::io::Result<()> {
    let with_length = match target {
        "message" => false,
        "participant" => true,
        "profiles" => return seed_profiles(corpus),
        "filter" => return seed_filters(corpus),
        _ => return Ok(()),
    };
    let cases = workspace::root().join("tests/cases");
    for case in fs::read_dir(cases)?.flatten() {
        for file in fs::read_dir(case.path())?.flatten().map(|file| file.path()) {
            if file.extension().is_none_or(|extension| extension != "hex") {
                continue;
            }
            let Some(message) = octets(&fs::read_to_string(&file)?) else { continue };
            let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
            let content =
                if with_length { [&length.to_le_bytes(), message.as_slice()].concat() } else { message };
            let name = [case.path(), file]
                .map(|path| path.file_stem().map(|name| name.to_string_lossy().into_owned()));
            let [Some(case), Some(file)] = name else { continue };
            fs::write(corpus.join(format!("seed-{case}-{file}")), content)?;
        }
    }
    Ok(())
}

/// Gives a target the XML files of the bus's tests to begin with.
fn seed_profiles(corpus: &Path) -> std::io::Result<()> {
    let folder = workspace::root().join("crates/bus/tests/fixtures/xml");
    for file in fs::read_dir(folder)?.flatten().map(|file| file.path()) {
        if let (Some("xml"), Some(name)) = (file.extension().and_then(|it| it.to_str()), file.file_stem()) {
            fs::copy(&file, corpus.join(format!("seed-{}", name.display())))?;
        }
    }
    Ok(())
}

/// The octets of a hex file, in which lines with `#` are comments.
fn octets(text: &str) -> Option<Vec<u8>> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).map(|octet| u8::from_str_radix(octet, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options and targets are told apart, and nonsense is refused.
    #[test]
    fn requests() {
        let request = |seconds, targets: &[&str]| {
            Ok(Request { seconds, targets: targets.iter().map(|name| (*name).to_string()).collect() })
        };
        assert_eq!(Request::parse(&[]), request(SECONDS, &[]));
        assert_eq!(Request::parse(&["--seconds", "9", "message"]), request(9, &["message"]));
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["--fast"]] {
            assert!(Request::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Comments are skipped, and text that is no hex is no seed.
    #[test]
    fn hex_files() {
        assert_eq!(octets("# magic\n52 54\n  # more\n50 53\n"), Some(b"RTPS".to_vec()));
        assert_eq!(octets("52 5x"), None);
    }
}
