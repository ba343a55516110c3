//! Example programs as processes of tests.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The program of an example.
pub(crate) fn example(name: &str) -> PathBuf {
    // Test binaries lie in target/PROFILE/deps, examples in target/PROFILE/examples.
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples").join(name)
}

/// A process that lives until its input closes, and is ended with the value.
pub(crate) struct Probe {
    pub(crate) child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Probe {
    /// Starts it.
    pub(crate) fn start(mut command: Command, arguments: &[&str]) -> Self {
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    /// The next sample that it prints; what it tells about matches in between is passed over.
    pub(crate) fn sample(&mut self) -> Value {
        loop {
            let line = self.line();
            if line["matched"].is_null() {
                return line;
            }
        }
    }

    /// The memory that it has now.
    pub(crate) fn resident_kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
