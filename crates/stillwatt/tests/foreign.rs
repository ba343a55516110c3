#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes in a private network; a failure in a helper is a failed test"
)]
//! A foreign DDS program beside `up`: Cyclone DDS reads the node manager's status from IDL types of its own.

use std::path::Path;
use std::process::Stdio;

use peers::{Namespace, Skip, skip};
use serde_json::Value;

const NODE: &str = "simulated-xeon-8260-2s";

/// The power that a Cyclone DDS program reads on the bus is one that `up --json` printed.
#[test]
fn cyclone_reads_the_status() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/peers/venv/bin/python");
    if !python.exists() {
        return skip("cyclone_reads_the_status", &Skip::new("no Cyclone DDS: run cargo xtask setup"));
    }
    let network = match Namespace::create() {
        Ok(network) => network,
        Err(reason) => return skip("cyclone_reads_the_status", &reason),
    };
    let up = network
        .command(env!("CARGO_BIN_EXE_stillwatt"))
        .args(["up", "--simulated", "xeon-8260-2s", "--json", "--for", "12s", "--domain", "9"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let read = |domain: &str, host: &str, seconds: &str| {
        let script = root.join("peers/cyclone_status.py");
        network.command(&python).arg(script).args([domain, host, seconds]).output().unwrap()
    };
    let status = read("9", NODE, "10");
    // Another node's partition and another domain stay silent.
    let others = [read("9", "another", "1"), read("10", NODE, "1")];
    let printed = up.wait_with_output().unwrap();
    assert_eq!(others.map(|other| other.status.code()), [Some(3), Some(3)]);
    let shown: Value = serde_json::from_slice(&status.stdout).unwrap_or_else(|_| panic!("{status:?}"));
    assert_eq!((shown["host"].as_str(), shown["header_host"].as_str()), (Some(NODE), Some(NODE)));
    let lines: Vec<Value> = String::from_utf8(printed.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let power = &shown["power_watts"];
    assert!(lines.iter().any(|line| &line["power"]["value_watts"] == power), "{shown} is none of {lines:?}");
}
