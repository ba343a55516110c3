#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "I/O shell: runs the program as a user would; a failure in a helper is a failed test"
)]
//! `bus bench` from outside: that the harness measures what it says, with few and small runs. No figure is judged here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use peers::{Namespace, Skip, skip};
use serde_json::Value;

fn peers_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.args(["bus", "bench"]).args(arguments).arg("--peers-dir").arg(peers_dir());
    command.stdin(Stdio::null()).output().unwrap()
}

fn tables(arguments: &[&str]) -> Value {
    let output = bench(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    for said in ["command", "host", "kernel", "started", "core_set", "version"] {
        assert_ne!(record[said].as_str().unwrap(), "", "{said}");
    }
    record["tables"].clone()
}

fn contestants(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["contestant"].as_str().unwrap()).collect()
}

/// Each contestant gives a row for each condition, percentiles in order, a round no shorter than an answer, and ratios
/// to the floor.
#[test]
fn latency_compares() {
    let tables = tables(&[
        "latency",
        "--transport",
        "udp,udpm",
        "--peer",
        "floor,stillwatt",
        "--subscribers",
        "1,3",
        "--placement",
        "free",
        "--runs",
        "2",
        "--samples",
        "60",
        "--domain",
        "201",
    ]);
    let rows = tables["latency"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let seconds = |name: &str| row[name].as_f64().unwrap();
        assert!(
            seconds("half_p50_seconds") > 0.0 && seconds("half_p50_seconds") <= seconds("half_p99_seconds")
        );
        // The histogram keeps three digits.
        assert!(seconds("round_p50_seconds") >= seconds("half_p50_seconds") * 1.99, "{row}");
        assert!(seconds("to_floor") > 0.0 && row["to_cyclone"].is_null(), "{row}");
    }
    assert_eq!(tables["latency_runs"].as_array().unwrap().len(), 16);
    let aims = tables["aims"].as_array().unwrap();
    assert!(aims.iter().all(|aim| aim["verdict"].is_string()));
}

/// The floor knows every transport between processes, and so do we, who take part unasked.
#[test]
fn floor_of_every_transport() {
    let tables = tables(&[
        "latency",
        "--transport",
        "tcp,shm",
        "--peer",
        "floor",
        "--subscribers",
        "1,3",
        "--placement",
        "free",
        "--size",
        "64,5000",
        "--runs",
        "1",
        "--samples",
        "60",
        "--domain",
        "202",
    ]);
    let rows = tables["latency"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row["contestant"] == "floor").count(), 8);
}

/// Reliable streams arrive whole and in order, batched or not.
#[test]
fn throughput_counts() {
    let tables = tables(&[
        "throughput",
        "--peer",
        "stillwatt,stillwatt-batched",
        "--size",
        "64",
        "--runs",
        "1",
        "--samples",
        "3000",
        "--domain",
        "83",
    ]);
    assert_eq!(contestants(&tables["throughput"]), ["stillwatt", "stillwatt-batched"]);
    for run in tables["throughput_runs"].as_array().unwrap() {
        let number = |name: &str| run[name].as_u64().unwrap();
        assert_eq!((number("sent"), number("received"), number("disordered")), (3000, 3000, 0));
        assert!(run["samples_per_second"].as_f64().unwrap() > 0.0);
    }
}

/// All endpoints are matched, at the start and by one that comes late; memory and threads are read.
#[test]
fn discovery_matches() {
    let tables = tables(&[
        "discovery",
        "--peer",
        "stillwatt",
        "--participants",
        "5",
        "--endpoints",
        "20",
        "--processes",
        "2",
        "--runs",
        "1",
        "--domain",
        "84",
    ]);
    let row = &tables["discovery"][0];
    assert_eq!((row["endpoints"].as_u64(), row["runs_not_matched"].as_u64()), (Some(20), Some(0)));
    for figure in ["together_seconds", "late_seconds", "resident_bytes", "bus_threads_max"] {
        assert!(row[figure].as_f64().unwrap() > 0.0, "{figure}: {row}");
    }
}

/// An idle process is watched, whatever its number of participants.
#[test]
fn idle_is_watched() {
    let tables = tables(&[
        "idle",
        "--peer",
        "stillwatt",
        "--participants",
        "1,3",
        "--endpoints",
        "6",
        "--seconds",
        "1",
        "--runs",
        "1",
        "--domain",
        "85",
    ]);
    let rows = tables["idle"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter()
            .all(|row| row["wakeups_per_second"].is_number() && row["bus_threads"].as_f64() >= Some(1.0))
    );
}

/// The other DDS take part with the same figures.
#[test]
fn other_dds_take_part() {
    if !["bench_fastdds", "bench_fastdds3", "bench_cyclone"]
        .iter()
        .all(|name| peers_dir().join(name).exists())
    {
        return skip("other_dds_take_part", &Skip::new("no Fast DDS or Cyclone DDS: run cargo xtask setup"));
    }
    let names = ["stillwatt", "fastdds", "fastdds3", "cyclone", "cyclone-tuned"];
    let peers = names[1..].join(",");
    let latency = tables(&[
        "latency",
        "--peer",
        &peers,
        "--placement",
        "free",
        "--runs",
        "1",
        "--samples",
        "60",
        "--subscribers",
        "2",
        "--reliable",
        "--domain",
        "86",
    ]);
    assert_eq!(contestants(&latency["latency"]), names);
    let throughput = tables(&[
        "throughput",
        "--peer",
        &peers,
        "--size",
        "64",
        "--runs",
        "1",
        "--samples",
        "2000",
        "--domain",
        "87",
    ]);
    for run in throughput["throughput_runs"].as_array().unwrap() {
        assert_eq!((run["received"].as_u64(), run["disordered"].as_u64()), (Some(2000), Some(0)), "{run}");
    }
    let discovery = tables(&[
        "discovery",
        "--peer",
        "fastdds,cyclone",
        "--participants",
        "2",
        "--endpoints",
        "8",
        "--processes",
        "2",
        "--runs",
        "1",
        "--domain",
        "88",
    ]);
    assert_eq!(contestants(&discovery["discovery"]), ["stillwatt", "fastdds", "cyclone"]);
}

/// As comma-separated values the summary goes to standard output alone, where it comes from to standard error.
#[test]
fn csv_is_data() {
    let arguments =
        ["latency", "--peer", "floor", "--runs", "1", "--samples", "60", "--placement", "free", "--csv"];
    let output = bench(&[&arguments[..], &["--domain", "92"]].concat());
    let (table, talk) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with(
        "transport,reliable,size_bytes,subscribers,placement,contestant,runs,half_p50_seconds,"
    ));
    assert!(
        talk.contains("stillwatt bus bench latency --transport udp") && talk.contains("kernel"),
        "{talk}"
    );
}

/// What cannot be done here is said with code 4 and a remedy, not with a table of nothing.
#[test]
fn missing_is_not_available() {
    let few = ["--runs", "1", "--samples", "60"];
    let alone = bench(&[&["latency", "--transport", "shm", "--peer", "cyclone"][..], &few].concat());
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.args(["bus", "bench", "latency", "--peer", "fastdds", "--peers-dir", "/nonexistent"]).args(few);
    let missing = command.output().unwrap();
    assert_eq!(missing.status.code(), Some(4));
    let text = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(text.contains("bench_fastdds") && text.contains("cargo xtask setup"), "{text}");
    if peers_dir().join("bench_cyclone").exists() {
        assert_eq!(alone.status.code(), Some(4), "{}", String::from_utf8_lossy(&alone.stderr));
    }
}

/// Without a name, the summary measures both ends against the floor.
#[test]
fn summary_has_latency() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.args(["bus", "bench", "--only", "latency", "--runs", "1", "--samples", "100", "--domain", "93"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("one-core") && text.contains("reliable") && text.contains("x Floor"), "{text}");
}

/// Processes that are kept to an interface without multicast find each other, although another interface has it.
#[test]
fn loopback_alone_is_enough() {
    let network = match Namespace::without_multicast() {
        Ok(network) => network,
        Err(reason) => return skip("loopback_alone_is_enough", &reason),
    };
    let script = "ip link add other type veth peer name far && ip addr add 10.9.9.1/24 dev other \
                  && ip link set far up && ip link set other up";
    let made = network.command("sh").args(["-c", script]).status().unwrap();
    assert!(made.success());
    let process = |verb: &str| {
        let mut command = network.command(env!("CARGO_BIN_EXE_stillwatt"));
        command.args(["bus", "bench-peer", "stillwatt", verb, "--address", "127.0.0.1", "--samples", "50"]);
        command.args(["--domain", "11"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let pong = process("pong");
    let ping = process("ping").wait_with_output().unwrap();
    let pong = pong.wait_with_output().unwrap();
    assert_eq!((ping.status.code(), pong.status.code()), (Some(0), Some(0)));
    assert!(String::from_utf8_lossy(&ping.stdout).contains("rounds_ns"));
}
