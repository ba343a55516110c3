#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: runs the program as a user would"
)]
//! The program from outside: exit codes, what goes to which stream, and the bus commands against each other.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value as Json;

fn stillwatt(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    stillwatt(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        unreachable!("stdout is not JSON: {error}\n{out}\n{err}")
    })
}

/// Waits until a condition holds; the bound is there to end, not to measure.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "never happened: {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Ends the child whatever happens to the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A wrong command line is a usage error: exit code 2, nothing on stdout.
#[test]
fn wrong_usage_is_two() {
    for arguments in [
        &["nonsense"][..],
        &["bus", "ls", "--domain", "233"],
        &["bus", "ls", "--for", "3"],
        &["bus", "ls", "--transports", "tcp"],
        &["bus", "ls", "--transports", "udp", "--tcp-connect", "192.0.2.7:7400"],
        &["bus", "ls", "--tcp-connect", "192.0.2.7"],
        &["bus", "pub", "x", "{}"],
        &["bus", "pub", "regale/event", "{]"],
        &["node", "read", "--period", "0 s"],
        &["node", "read", "--metric", "nothing"],
        &["node", "read", "--root", "/nonexistent"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

/// A configuration file with a wrong name or a wrong value is a usage error that names file, line and remedy, before
/// anything is started.
#[test]
fn bad_configuration_is_explained() {
    let path = std::env::temp_dir().join(format!("stillwatt-config-{}.toml", std::process::id()));
    let name = path.to_str().unwrap();
    for (content, parts) in [
        ("[bus]\ndomian = 3\n", ["line 2", "domian", "nothing is ignored"]),
        ("[dashboard]\nport = \"x\"\n", ["line 2", "u16", "write a value of the kind"]),
        ("[bus]\ndomain = 233\n", ["line 2", "the highest is 232", "write a value of the kind"]),
        ("[bus\n", ["line 1", "bus", "[section]"]),
    ] {
        std::fs::write(&path, content).unwrap();
        let output = run(&["up", "--config", name, "--for", "1 s"]);
        assert_eq!(output.status.code(), Some(2), "{content}");
        let said = text(&output.stderr);
        let file = path.file_name().unwrap().to_str().unwrap();
        assert!(said.replace(['\n', ' ', '│'], "").contains(file), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?} are not all in {said}");
    }
    std::fs::remove_file(&path).unwrap();
    let missing = run(&["up", "--config", name, "--for", "1 s"]);
    assert_eq!(missing.status.code(), Some(2));
}

/// What `up` cannot have is said with a remedy: a port that is taken, a recording that cannot be written, a simulated
/// node that does not exist.
#[test]
fn up_says_what_it_cannot_have() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (arguments, code, part) in [
        (["--port", &port], 1, "another port"),
        (["--record", "/proc/nowhere/file.csv"], 1, "writable folder"),
        (["--simulated", "abacus"], 2, "xeon-8260-2s"),
    ] {
        let output = run(&[&["up", "--domain", DOMAIN_REFUSED, "--for", "1 s"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
}

/// Help and version are data and end well.
#[test]
fn help_is_data() {
    for arguments in [&["--help"][..], &["--version"], &["bus", "echo", "--help"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
}

/// A reader that goes away early ends the program quietly.
#[test]
fn broken_pipe_is_quiet() {
    let mut child =
        stillwatt(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

/// A machine that can tell nothing is "not available", code 4, with a reason for each sensor.
#[test]
fn machine_without_sensors_is_not_available() {
    let root = std::env::temp_dir().join(format!("stillwatt-empty-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let output = run(&["node", "sensors", "--json", "--root", root.to_str().unwrap()]);
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(output.status.code(), Some(4));
    for sensor in json(&output)["sensors"].as_array().unwrap() {
        assert_eq!(sensor["values_present"], 0, "{sensor}");
        assert!(sensor["absent"][0]["detail"].is_string(), "{sensor}");
    }
}

/// This machine's readings have a value or a reason each.
#[test]
fn readings_have_value_or_reason() {
    let output = run(&["node", "read", "--json", "--period", "50 ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let object = json(&output);
    assert_eq!(object["schema"], "stillwatt.readings/1");
    for reading in object["readings"].as_array().unwrap() {
        let has_value = reading.as_object().unwrap().keys().any(|key| key.starts_with("value_"));
        assert_ne!(has_value, reading["absent"].is_object(), "{reading}");
    }
}

/// Every check of the doctor has one of three states, and what does not work says why.
#[test]
fn doctor_reports() {
    let output = run(&["doctor", "--json", "--domain", "55"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let object = json(&output);
    let checks = object["checks"].as_array().unwrap();
    for check in checks {
        assert!(["ok", "degraded", "not available"].contains(&check["state"].as_str().unwrap()), "{check}");
        assert_ne!(check["finding"], "", "{check}");
    }
    for subject in ["machine", "power", "control groups", "bus", "knobs", "state directory"] {
        assert!(checks.iter().any(|check| check["subject"] == subject), "{subject}");
    }
}

/// One manual page for each command.
#[test]
fn manual_pages_are_written() {
    let directory = std::env::temp_dir().join(format!("stillwatt-man-{}", std::process::id()));
    let output = run(&["man", directory.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for page in ["stillwatt.1", "stillwatt-bus-echo.1", "stillwatt-node-read.1"] {
        let page = std::fs::read_to_string(directory.join(page)).unwrap();
        assert!(page.contains(".TH"), "{page}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// What `bus pub` writes is what `bus echo` prints, and `bus ls` sees both ends of the topic.
#[test]
fn published_samples_are_echoed() {
    let domain = DOMAIN_EXCHANGE;
    let echo = ["bus", "echo", "regale/event", "--domain", domain, "--count", "2", "--json", "--for", "60 s"];
    let mut echo = Killed(stillwatt(&echo).stdout(Stdio::piped()).spawn().unwrap());
    let sample = r#"{"header": {"host": "n1", "sequence": 7}, "text": "µ"}"#;
    let arguments = [
        "bus",
        "pub",
        "regale/event",
        sample,
        "--domain",
        domain,
        "--count",
        "2",
        "--period",
        "10 ms",
        "--wait",
        "60 s",
        "--json",
    ];
    let published = run(&arguments);
    assert_eq!(published.status.code(), Some(0), "{}", text(&published.stderr));
    let said = json(&published);
    assert_eq!((&said["samples_written_total"], &said["subscribers_total"]), (&2.into(), &1.into()));
    let mut printed = String::new();
    echo.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(echo.0.wait().unwrap().code(), Some(0));
    let samples: Vec<Json> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(samples.len(), 2, "{printed}");
    for (index, sample) in samples.iter().enumerate() {
        assert_eq!(sample["sequence"], index + 1);
        assert_eq!(sample["state"], "valid");
        assert_eq!(sample["data"]["header"]["host"], "n1");
        assert_eq!(sample["data"]["header"]["sequence"], 7);
        assert_eq!(sample["data"]["text"], "µ");
    }
}

/// A listed reader has its topic, type and partitions.
#[test]
fn listed_topics_have_readers() {
    let domain = DOMAIN_LIST;
    let echo = ["bus", "echo", "regale/mon/node", "--domain", domain, "--partition", "p1"];
    let _echo = Killed(stillwatt(&echo).spawn().unwrap());
    let mut object = Json::Null;
    eventually("the reader is listed", || {
        object = json(&run(&["bus", "ls", "--json", "--domain", domain, "--for", "500 ms"]));
        !object["topics"].as_array().unwrap().is_empty()
    });
    let topic = &object["topics"][0];
    assert_eq!(topic["name"], "regale/mon/node");
    assert_eq!(topic["type"], "regale::NodeTelemetry");
    assert_eq!((&topic["writers"], &topic["readers"]), (&0.into(), &1.into()));
    assert_eq!(topic["endpoints"][0]["partitions"][0], "p1");
    assert_eq!(object["participants"][0]["vendor"], "Stillwatt");
}

/// Nobody to write to, and nothing to read, are failures that say where to look next.
#[test]
fn an_empty_domain_is_reported() {
    let domain = DOMAIN_EMPTY;
    let wait = ["bus", "pub", "regale/event", "{}", "--domain", domain, "--wait", "100 ms"];
    let listen = ["bus", "echo", "regale/event", "--domain", domain, "--for", "100 ms"];
    for arguments in [&wait[..], &listen[..]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("stillwatt bus ls"), "{}", text(&output.stderr));
    }
    let listed = run(&["bus", "ls", "--domain", domain, "--for", "100 ms"]);
    assert_eq!(listed.status.code(), Some(0));
    assert!(text(&listed.stderr).contains("nobody else"));
}

/// SIGTERM ends an endless command orderly: exit code 0 and a goodbye on the bus.
#[test]
fn sigterm_ends_orderly() {
    let arguments = ["bus", "echo", "some/topic", "--domain", DOMAIN_SIGNAL, "--type", "some::Type"];
    let mut child = Killed(stillwatt(&arguments).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    let mut stderr = BufReader::new(child.0.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("some::Type"), "{line}");
    let pid = rustix::process::Pid::from_child(&child.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.0.wait().expect("it ends").code(), Some(0));
}

/// `exec` gives the command's exit code and output, and its account on the error stream: time, energy within bounds
/// with quality, mean power and mean frequency or nothing.
#[test]
fn exec_accounts_for_a_command() {
    let command =
        ["exec", "--domain", DOMAIN_EXEC, "--json", "--", "sh", "-c", "sleep 0.3; echo out; exit 7"];
    let output = run(&command);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "out\n");
    let report: Json = serde_json::from_slice(&output.stderr).unwrap();
    let account = &report["account"];
    let number = |name: &str| account[name].as_f64().unwrap();
    assert!(number("time_seconds") >= 0.3, "{account}");
    assert!(number("energy_low_joules") <= number("energy_joules"), "{account}");
    assert!(number("energy_joules") <= number("energy_high_joules"), "{account}");
    let mean = number("energy_joules") / number("covered_seconds");
    assert!((number("power_mean_watts") - mean).abs() < 1e-9, "{account}");
    assert!(["measured", "modelled", "estimated"].contains(&account["energy_quality"].as_str().unwrap()));
}

/// A command that is not there is 127, one ended by a signal 128 and its number, as in a shell.
#[test]
fn exec_codes_are_those_of_a_shell() {
    let missing = run(&["exec", "--domain", DOMAIN_EXEC_CODES, "--", "/nonexistent/program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("/nonexistent/program"));
    let killed = run(&["exec", "--domain", DOMAIN_EXEC_CODES, "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(killed.status.code(), Some(137));
    assert_eq!(run(&["exec", "--domain", DOMAIN_EXEC_CODES]).status.code(), Some(2));
}

/// A signal to `exec` reaches the command, which decides what becomes of it.
#[test]
fn exec_passes_signals_on() {
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let arguments = ["exec", "--domain", DOMAIN_EXEC_SIGNAL, "--", "sh", "-c", script];
    let mut child = Killed(stillwatt(&arguments).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child.0), rustix::process::Signal::TERM)
        .unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(9));
}

/// A node manager and a monitor in processes of their own: what the one publishes the other records.
#[test]
fn served_roles_find_each_other() {
    let record = std::env::temp_dir().join(format!("stillwatt-record-{}.csv", std::process::id()));
    let _ = std::fs::remove_file(&record);
    let node = ["serve", "node-manager", "--domain", DOMAIN_SERVE, "--period", "50 ms"];
    let mut node = Killed(stillwatt(&node).spawn().unwrap());
    let path = record.to_str().unwrap();
    let monitor = ["serve", "monitor", "--domain", DOMAIN_SERVE, "--record", path];
    let mut monitor = Killed(stillwatt(&monitor).spawn().unwrap());
    eventually("both serve and something is recorded", || {
        for child in [&mut node, &mut monitor] {
            assert_eq!(child.0.try_wait().unwrap(), None, "it ended by itself");
        }
        std::fs::read_to_string(&record).unwrap_or_default().lines().count() >= 10
    });
    for child in [&mut node, &mut monitor] {
        let pid = rustix::process::Pid::from_child(&child.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut code = None;
        eventually("it ends when asked to", || {
            code = child.0.try_wait().unwrap();
            code.is_some()
        });
        assert_eq!(code.unwrap().code(), Some(0));
    }
    let recorded = std::fs::read_to_string(&record).unwrap();
    assert!(recorded.contains("NODE_MEMORY_TOTAL"), "{recorded}");
    std::fs::remove_file(&record).unwrap();
}

// Domains of these tests; each test has its own, so that they can run side by side.
const DOMAIN_EXCHANGE: &str = "41";
const DOMAIN_LIST: &str = "42";
const DOMAIN_EMPTY: &str = "43";
const DOMAIN_SIGNAL: &str = "44";
const DOMAIN_EXEC: &str = "50";
const DOMAIN_EXEC_CODES: &str = "51";
const DOMAIN_EXEC_SIGNAL: &str = "52";
const DOMAIN_SERVE: &str = "53";
const DOMAIN_REFUSED: &str = "56";
