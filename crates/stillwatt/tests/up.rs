#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "I/O shell: runs `up` as a user would")]
//! `up` from outside: what it prints, how it ends, and two of them at once.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use stillwatt::snapshot::{Quality, Snapshot};

/// A running `up --json`; it is killed if the test ends first.
struct Up {
    child: Child,
    out: Option<Lines<BufReader<ChildStdout>>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Up {
    fn start_in(arguments: &[&str], state: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stillwatt"))
            .args(["up", "--json"])
            .args(arguments)
            .env("STATE_DIRECTORY", state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = child.stdout.take().map(|out| BufReader::new(out).lines());
        let err = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, out, err }
    }

    fn snapshot(&mut self) -> Snapshot {
        let line = self.out.as_mut().and_then(Iterator::next);
        let line = line.unwrap_or_else(|| unreachable!("up printed no further snapshot")).unwrap();
        Snapshot::from_json(&line).unwrap_or_else(|error| unreachable!("{error}: {line}"))
    }

    /// The first snapshot that has power; the first second may come before the first report.
    fn measured(&mut self) -> Snapshot {
        loop {
            let snapshot = self.snapshot();
            if snapshot.power.value_watts.is_some() {
                return snapshot;
            }
        }
    }

    fn says(&mut self, what: &str) -> String {
        loop {
            let line = self.err.next().unwrap_or_else(|| unreachable!("up never said {what:?}")).unwrap();
            if line.contains(what) {
                return line;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for the journal that no other test uses at the same time.
fn state(test: &str) -> String {
    let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "up", test].iter().collect();
    path.to_string_lossy().into_owned()
}

/// This machine's readings come once a second, numbered without a gap, and each has a value or a reason.
#[test]
fn readings_of_this_machine() {
    let mut up = Up::start_in(&["--domain", "45", "--for", "4 s"], &state("readings"));
    let address = up.says("dashboard: ");
    assert!(address.contains("http://127.0.0.1:"), "{address}");
    let first = up.snapshot();
    let second = up.measured();
    assert!(second.sequence > first.sequence || first.power.value_watts.is_some());
    assert_eq!(first.sequence, 1);
    let power = &second.power;
    assert!(power.low_watts <= power.value_watts && power.value_watts <= power.high_watts, "{power:?}");
    assert!(second.utilisation.value_ratio.is_some(), "{:?}", second.utilisation);
    assert_ne!(second.temperature.value_celsius.is_some(), second.temperature.reason.is_some());
    assert!(second.bus.participants >= 2);
    assert!(second.bus.topics.iter().any(|topic| topic.name == "regale/mon/node" && topic.writers == 1));
    assert!(second.monitor.history_samples > 0);
    assert_eq!(up.code(), Some(0));
    up.says("restored");
}

/// A simulated node is said to be one, its power is from its meter, and its temperature is there.
#[test]
fn simulated_node() {
    let arguments = ["--simulated", "xeon-8260-2s", "--domain", "46", "--for", "10 s"];
    let mut up = Up::start_in(&arguments, &state("simulated"));
    let snapshot = up.measured();
    assert_eq!(snapshot.simulated.as_deref(), Some("xeon-8260-2s"));
    assert_eq!(snapshot.power.quality, Some(Quality::Measured));
    assert!(snapshot.temperature.value_celsius.is_some(), "{:?}", snapshot.temperature);
    up.signal(Signal::INT);
    assert_eq!(up.code(), Some(0));
}

/// A second `up` gets another port, listens to the first one's node manager, and serves once that is gone.
#[test]
fn second_up_listens_and_takes_over() {
    let mut first = Up::start_in(&["--domain", "47"], &state("first"));
    let first_address = first.says("dashboard: ");
    first.measured();
    let mut second = Up::start_in(&["--domain", "47"], &state("second"));
    second.says("listening to the node manager of another process");
    assert_ne!(second.says("dashboard: "), first_address);
    let node = second.measured().node;
    assert_eq!(node, first.snapshot().node);
    first.signal(Signal::TERM);
    assert_eq!(first.code(), Some(0));
    second.says("this process serves it now");
    second.measured();
    second.signal(Signal::TERM);
    assert_eq!(second.code(), Some(0));
}

/// `exec` takes its figures from the node manager that serves already, and starts none.
#[test]
fn exec_listens_to_a_running_up() {
    let mut up = Up::start_in(&["--domain", "57"], &state("exec"));
    up.measured();
    let output = Command::new(env!("CARGO_BIN_EXE_stillwatt"))
        .args(["exec", "--domain", "57", "--json", "--", "sleep", "0.2"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(report["exit_code"], 0);
    let account = &report["account"];
    assert!(account["energy_joules"].as_f64().unwrap() > 0.0, "{account}");
    assert!(account["covered_seconds"].as_f64().unwrap() > 0.19, "{account}");
    // Our own participant, the monitor and the node manager; that of `exec` came and went.
    let participants = up.snapshot().bus.participants;
    assert!(participants <= 4, "{participants} participants: exec started a node manager");
}

/// A state folder that cannot be written is said, and the readings go on.
#[test]
fn unwritable_state_folder_is_said() {
    let mut up = Up::start_in(&["--domain", "48", "--for", "5 s"], "/proc/nowhere");
    let line = up.says("/proc/nowhere");
    assert!(line.contains("going on without a journal"), "{line}");
    up.measured();
    assert_eq!(up.code(), Some(0));
}

/// A reader that goes away ends it in order.
#[test]
fn closed_output_ends_it() {
    let mut up = Up::start_in(&["--domain", "49"], &state("closed"));
    up.out = None;
    assert_eq!(up.code(), Some(0));
    up.says("restored");
}

/// With TCP alone, set in the configuration file, everything works within the process, and a command that connects finds
/// it, while one that looks by UDP does not.
#[test]
fn by_tcp_alone() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("by_tcp_alone.toml");
    let text = format!("[bus]\ntransports = [\"tcp\"]\ntcp_listen = [\"127.0.0.1:{port}\"]\n");
    std::fs::write(&config, text).unwrap();
    let mut up = Up::start_in(
        &["--simulated", "xeon-8260-2s", "--domain", "51", "--config", config.to_str().unwrap()],
        &state("by-tcp-alone"),
    );
    assert_eq!(up.measured().simulated.as_deref(), Some("xeon-8260-2s"));
    let found = |transport: &[&str]| {
        let listing = Command::new(env!("CARGO_BIN_EXE_stillwatt"))
            .args(["bus", "ls", "--json", "--domain", "51"])
            .args(transport)
            .output()
            .unwrap();
        let listing: serde_json::Value = serde_json::from_slice(&listing.stdout).unwrap();
        listing["participants"].as_array().unwrap().len()
    };
    let address = format!("127.0.0.1:{port}");
    assert_eq!(found(&["--transports", "tcp", "--tcp-connect", &address]), 3);
    assert_eq!(found(&["--transports", "udp"]), 0);
}
