#![expect(clippy::disallowed_methods, reason = "I/O shell: starts processes")]
//! The other processes of a shared-memory test: the example `shared`, told what to do by lines.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A process that lives until its input closes, and is ended with the value.
pub(crate) struct Process {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

/// A topic that no other test, and no other run of this one, uses.
pub(crate) fn topic(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

pub(crate) fn program() -> PathBuf {
    // Test binaries lie in target/PROFILE/deps, examples in target/PROFILE/examples.
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/shared")
}

impl Process {
    /// A publisher (`pub`) or subscriber (`sub`) that has joined.
    pub(crate) fn start(verb: &str, domain: u32, arguments: &[&str]) -> Self {
        Self::start_by(Command::new(program()), verb, domain, arguments)
    }

    /// The same, started by a command that ends with the program's name.
    pub(crate) fn start_by(mut command: Command, verb: &str, domain: u32, arguments: &[&str]) -> Self {
        let domain = domain.to_string();
        let command = command.args([verb, "--domain", &domain]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut process = Self { input: child.stdin.take(), child, lines };
        assert_eq!(process.line()["ready"], true);
        process
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Tells it a line and reads the answer.
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.tell(line);
        self.line()
    }

    /// Makes a publisher write; returns the first sample's number.
    pub(crate) fn write(&mut self, count: u64, size: u64) -> u64 {
        let last = self.ask(&format!("write {count} {size}"))["written"].as_u64().unwrap();
        last - count + 1
    }

    /// Waits until `count` subscribers are matched, and until what this publisher writes reaches those given by shared
    /// memory.
    pub(crate) fn share_with(&mut self, subscribers: &mut [&mut Self], count: u64) {
        assert_eq!(self.ask(&format!("match {count}"))["matched"], true);
        for subscriber in subscribers.iter_mut() {
            subscriber.tell("match 1");
            assert_eq!(subscriber.find(|line| !line["matched"].is_null())["matched"], true);
        }
        for _ in 0..1000 {
            let number = self.write(1, 0);
            let by = subscribers.iter_mut().map(|subscriber| subscriber.sample(number)["by"].clone());
            let by: Vec<Value> = by.collect();
            if by.iter().all(|by| by == "SharedMemory") {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no shared memory");
    }

    /// Passes over samples until one with this number.
    pub(crate) fn sample(&mut self, number: u64) -> Value {
        self.find(|line| line["number"] == number)
    }

    /// Passes over lines until one that is meant.
    pub(crate) fn find(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            if is_meant(&line) {
                return line;
            }
        }
    }

    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
