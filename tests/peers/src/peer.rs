#![expect(
    clippy::disallowed_methods,
    reason = "I/O shell: starts peers, reads their output and ends them in time"
)]
//! One peer program on the shared command line: configured, started, watched, ended.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::namespace::Namespace;
use crate::skip::{Skip, peers_dir, root};

/// The type of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `bench::Item`, keyed.
    Item,
    /// `bench::Plain`, without key, 64 bytes of data.
    Plain,
    /// `bench::Plain` with 200,000 bytes of data.
    Big,
    /// `bench::Appendable`, keyed.
    Appendable,
    /// `bench::Mutable`, keyed.
    Mutable,
    /// `bench::Flat`, keyed and mutable, without appendable parts.
    Flat,
}

/// Whether lost samples are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// They are not.
    BestEffort,
    /// They are.
    Reliable,
}

/// Whether samples written before a reader came are delivered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They are not.
    Volatile,
    /// They are, as long as the writer lives.
    TransientLocal,
}

/// A peer program that could not be started.
#[derive(Debug)]
pub struct StartPeerError {
    command: String,
    source: io::Error,
}

impl fmt::Display for StartPeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot start {}: {}", self.command, self.source)
    }
}

impl std::error::Error for StartPeerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A peer to be started; the defaults are those of the command line.
#[derive(Debug)]
pub struct Peer {
    name: &'static str,
    command: Command,
    /// The role comes first on the command line, whenever it was chosen.
    role: Vec<String>,
    arguments: Vec<String>,
    timeout: Duration,
    linger: Duration,
}

impl Peer {
    /// Cyclone DDS by its Python binding, inside `namespace`.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn cyclone(namespace: &Namespace) -> Result<Self, Skip> {
        let python = installed(peers_dir().join("venv/bin/python"))?;
        let mut peer = Self::new("cyclone", namespace, &python);
        peer.command.arg(root().join("peers/cyclone_peer.py"));
        Ok(peer)
    }

    /// Fast DDS, inside `namespace`.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn fastdds(namespace: &Namespace) -> Result<Self, Skip> {
        Ok(Self::new("fastdds", namespace, &installed(peers_dir().join("fastdds_peer"))?))
    }

    /// Fast DDS 3, inside `namespace`.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn fastdds3(namespace: &Namespace) -> Result<Self, Skip> {
        Ok(Self::new("fastdds3", namespace, &installed(peers_dir().join("fastdds3_peer"))?))
    }

    /// A program of this project with the same command line, inside `namespace`.
    ///
    /// # Errors
    /// When `program` does not exist.
    pub fn stillwatt(namespace: &Namespace, program: &Path) -> Result<Self, Skip> {
        if !program.is_file() {
            return Err(Skip::new(format!("{} is missing: cargo build --examples", program.display())));
        }
        Ok(Self::new("stillwatt", namespace, program))
    }

    fn new(name: &'static str, namespace: &Namespace, program: &Path) -> Self {
        let (timeout, linger) = (Duration::from_secs(20), Duration::from_secs(2));
        let command = namespace.command(program);
        Self { name, command, role: Vec::new(), arguments: Vec::new(), timeout, linger }
    }

    /// The name that its samples carry: `cyclone`, `fastdds`, `fastdds3` or `stillwatt`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Publishes `count` samples.
    #[must_use]
    pub fn publish(self, domain: u32, topic: &str, kind: Kind, count: u32) -> Self {
        self.role("pub", domain, topic, kind, count)
    }

    /// Subscribes until `count` samples have come.
    #[must_use]
    pub fn subscribe(self, domain: u32, topic: &str, kind: Kind, count: u32) -> Self {
        self.role("sub", domain, topic, kind, count)
    }

    fn role(mut self, role: &str, domain: u32, topic: &str, kind: Kind, count: u32) -> Self {
        let (domain, kind, count) = (domain.to_string(), format!("{kind:?}"), count.to_string());
        let role = [role, "--domain", &domain, "--topic", topic, "--type", &kind, "--count", &count];
        self.role = role.map(String::from).to_vec();
        self
    }

    /// Joins a partition; several calls join several.
    #[must_use]
    pub fn partition(self, name: &str) -> Self {
        self.argument("--partition").argument(name)
    }

    /// Sets the reliability that is offered or requested.
    #[must_use]
    pub fn reliability(self, reliability: Reliability) -> Self {
        self.argument("--reliability").argument(match reliability {
            Reliability::BestEffort => "best-effort",
            Reliability::Reliable => "reliable",
        })
    }

    /// Sets the durability that is offered or requested.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        self.argument("--durability").argument(match durability {
            Durability::Volatile => "volatile",
            Durability::TransientLocal => "transient-local",
        })
    }

    /// How long to wait for a match (publisher) or for the samples (subscriber); default 20 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a publisher stays after its last sample; default 2 s.
    #[must_use]
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// A volatile publisher waits for [`Running::open_gate`] before its first sample.
    #[must_use]
    pub fn gate(self) -> Self {
        self.argument("--gate")
    }

    /// Instances are disposed at the end (publisher) or waited for (subscriber).
    #[must_use]
    pub fn dispose(self) -> Self {
        self.argument("--dispose")
    }

    /// Any other argument.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_string());
        self
    }

    /// Starts the peer. It is killed when the value is dropped.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(mut self) -> Result<Running, StartPeerError> {
        self.command.args(&self.role).args(&self.arguments);
        self.command.args(["--timeout", &self.timeout.as_secs_f64().to_string()]);
        self.command.args(["--linger", &self.linger.as_secs_f64().to_string()]);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = format!("{:?}", self.command);
        let failed = |source| StartPeerError { command: shown.clone(), source };
        let mut child = self.command.spawn().map_err(failed)?;
        let missing = || failed(io::Error::other("the child has no pipes"));
        let gate = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.take(STDERR_MAX).read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let deadline = Instant::now() + self.timeout + self.linger + GRACE;
        Ok(Running { name: self.name, child, gate, lines, seen: Vec::new(), stderr: Some(stderr), deadline })
    }
}

fn installed(program: PathBuf) -> Result<PathBuf, Skip> {
    if program.exists() {
        return Ok(program);
    }
    Err(Skip::new(format!("{} is missing: cargo xtask setup", program.display())))
}

/// Time for starting, writing and leaving, beyond the peer's own timeout and linger time; then it is killed.
const GRACE: Duration = Duration::from_secs(30);

/// Most bytes of standard error that are kept.
const STDERR_MAX: u64 = 64 * 1024;

/// A started peer.
#[derive(Debug)]
pub struct Running {
    name: &'static str,
    child: Child,
    gate: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<Value>,
    stderr: Option<JoinHandle<String>>,
    deadline: Instant,
}

/// How a peer ended and what it printed.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The name that its samples carry.
    pub name: &'static str,
    /// The exit code; absent when it was killed, by us after its time or by a signal.
    pub code: Option<i32>,
    /// All objects that it printed, in order.
    pub lines: Vec<Value>,
    /// The start of its standard error.
    pub stderr: String,
}

impl Running {
    /// Waits until the peer prints an object for which `wanted` holds, or already has. False when it ended, or its time
    /// did, before that.
    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> bool {
        if self.seen.iter().any(&wanted) {
            return true;
        }
        while let Some(value) = self.next_line() {
            let found = wanted(&value);
            self.seen.push(value);
            if found {
                return true;
            }
        }
        false
    }

    /// Waits until the peer has matched at least one endpoint.
    pub fn wait_for_match(&mut self) -> bool {
        self.wait_for(|line| line["matched"].as_u64().is_some_and(|count| count > 0))
    }

    /// Lets a publisher that was started with [`Peer::gate`] write its first sample.
    pub fn open_gate(&mut self) {
        if let Some(mut gate) = self.gate.take() {
            // The peer may have ended; its exit code tells.
            let _ = gate.write_all(b"\n");
        }
    }

    /// Waits for the end and returns everything. Kills the peer when its time is over.
    pub fn finish(mut self) -> Finished {
        while let Some(value) = self.next_line() {
            self.seen.push(value);
        }
        let mut code = None;
        while Instant::now() < self.deadline {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    code = status.code();
                    break;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => break,
            }
        }
        self.end();
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        Finished { name: self.name, code, lines: std::mem::take(&mut self.seen), stderr }
    }

    /// Ends the peer now and returns what it printed so far; the exit code is absent unless it had ended by itself.
    pub fn stop(mut self) -> Finished {
        let code = self.child.try_wait().ok().flatten().and_then(|status| status.code());
        self.end();
        let mut finished = self.finish();
        finished.code = code;
        finished
    }

    fn next_line(&mut self) -> Option<Value> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            // What is not JSON is kept as text, so that a failed assertion shows it.
            Ok(line) => Some(serde_json::from_str(&line).map_or(Value::String(line), real_value)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    fn end(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The field `value` as a real number: some programs print 3.0 as `3`, which JSON has as an integer.
fn real_value(mut line: Value) -> Value {
    if let Some(value) = line.get_mut("value")
        && let Some(number) = value.as_f64()
    {
        *value = number.into();
    }
    line
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Finished {
    /// The valid samples, in order.
    pub fn samples(&self) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["state"] == "alive").collect()
    }

    /// The keys of the disposed instances, in order.
    pub fn disposed(&self) -> Vec<u64> {
        self.lines.iter().filter_map(|line| line["disposed"].as_u64()).collect()
    }

    /// Whether an endpoint matched at any time.
    pub fn has_matched(&self) -> bool {
        self.lines.iter().any(|line| line["matched"].as_u64().is_some_and(|count| count > 0))
    }

    /// The policies for which an endpoint was refused, in order.
    pub fn incompatible_qos(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line["incompatible_qos"].as_str()).collect()
    }
}

impl Kind {
    /// Sample number `k` as a subscriber prints it when the peer named `publisher` wrote it.
    pub fn expected(self, publisher: &str, k: u32) -> Value {
        if self == Self::Item {
            return serde_json::json!({
                "id": k % 3, "value": 1.5 * f64::from(k), "name": format!("{publisher}-{k}"), "arr": [1, 2, 3], "state": "alive"
            });
        }
        if matches!(self, Self::Appendable | Self::Mutable | Self::Flat) {
            let has_parts = self != Self::Flat;
            let share = |j: u32| if j.is_multiple_of(2) { Some(0.25 * f64::from(j)) } else { None };
            return serde_json::json!({
                "step": k % 256,
                "id": k % 3,
                "slot": [(1_u64 << 40) + u64::from(k % 3), k % 7],
                "value": 1.5 * f64::from(k),
                "name": format!("{publisher}-{k}"),
                "note": if k.is_multiple_of(2) { Some(format!("note-{k}")) } else { None },
                "parts": (0..if has_parts { k % 4 } else { 0 }).map(|j| serde_json::json!([j, share(j)])).collect::<Vec<_>>(),
                "grades": (0..k % 5).map(|j| [0, 5, 6][j as usize % 3]).collect::<Vec<u32>>(),
                "grid": if has_parts { serde_json::json!([[[k, 0.5], [1, null]]]) } else { serde_json::json!([]) },
                "state": "alive"
            });
        }
        let length = if self == Self::Big { 200_000 } else { 64 };
        let checksum = (0..length).fold(0_u32, |sum, j| sum.wrapping_add((j + k) % 251));
        serde_json::json!({"id": 7, "seq": k, "length": length, "checksum": checksum, "state": "alive"})
    }
}
