#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! Several processes in a private network: without multicast, in a crowd, out of ports, and under a flood.

mod probe;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use peers::{Link, Namespace, Skip, skip};
use serde_json::Value;

use probe::{Probe, example};

fn network(test: &str, make: fn() -> Result<Namespace, Skip>) -> Option<Namespace> {
    make().map_err(|reason| skip(test, &reason)).ok()
}

/// Starts `count` participants in processes of their own; returns how many others each has found in `seconds`.
fn crowd(network: &Namespace, domain: u32, count: usize, seconds: u64) -> Vec<u64> {
    let (domain, expect, seconds) = (domain.to_string(), (count - 1).to_string(), seconds.to_string());
    let arguments = ["discover", "--domain", &domain, "--expect", &expect, "--seconds", &seconds];
    let mut probes: Vec<Probe> =
        (0..count).map(|_| Probe::start(network.command(example("probe")), &arguments)).collect();
    probes.iter_mut().map(|probe| probe.line()["participants"].as_u64().unwrap_or(0)).collect()
}

/// Runs a discovery scenario as the case describes it.
fn discovery_scenario(network: &Namespace, domain: u32, scenario: &Value) {
    let count = scenario["participants"].as_u64().unwrap();
    let seconds = scenario["expect"]["within_s"].as_u64().unwrap();
    assert_eq!(scenario["expect"]["all_pairs_discovered"], true);
    let found = crowd(network, domain, usize::try_from(count).unwrap(), seconds);
    assert!(found.iter().all(|found| *found == count - 1), "{found:?}");
}

/// Case A37: participants of a machine without multicast find each other by unicast; also with another number of them.
#[test]
fn no_multicast() {
    let Some(network) = network("no_multicast", Namespace::without_multicast) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/A37/scenario.json");
    let mut scenario: Value = serde_json::from_str(&std::fs::read_to_string(folder).unwrap()).unwrap();
    discovery_scenario(&network, 1, &scenario);
    scenario["participants"] = 7.into();
    discovery_scenario(&network, 2, &scenario);
}

/// More processes on one machine than there are well-known ports find each other by multicast.
#[test]
fn more_processes_than_ports() {
    let Some(network) = network("more_processes_than_ports", Namespace::create) else { return };
    let found = crowd(&network, 3, 125, 60);
    assert!(found.iter().all(|found| *found == 124), "{found:?}");
}

/// Where neither a well-known port nor multicast is left, joining is refused with the reason and the remedy.
#[test]
fn out_of_ports() {
    let Some(network) = network("out_of_ports", Namespace::without_multicast) else { return };
    let mut holder = Probe::start(network.command(example("probe")), &["hold", "--domain", "4"]);
    assert_eq!(holder.line()["held"], 120);
    let refused = network
        .command(example("probe"))
        .args(["discover", "--domain", "4", "--expect", "0"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("domain 4") && text.contains("multicast on"), "{text}");
}

/// 20,000 seeded garbage datagrams to every port: the process lives, its memory grows by less than 1 MB, and it still
/// receives from a peer that comes afterwards.
#[test]
fn garbage_harms_nobody() {
    let Some(network) = network("garbage_harms_nobody", Namespace::create) else { return };
    let subscribe =
        ["sub", "--domain", "5", "--topic", "t", "--type", "Plain", "--count", "20", "--timeout", "100"];
    let mut victim = Probe::start(network.command(example("peer")), &subscribe);
    // A first peer, so that caches and tables have their normal size before the flood.
    let publish = |count: &str| {
        let arguments =
            ["pub", "--domain", "5", "--topic", "t", "--type", "Plain", "--count", count, "--linger", "1"];
        let status = network.command(example("peer")).args(arguments).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{status}");
    };
    publish("10");
    let flood = |seed: &str, count: &str| {
        let arguments = ["flood", "--domain", "5", "--seed", seed, "--count", count];
        let status =
            network.command(example("probe")).args(arguments).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{status}");
    };
    let before = victim.resident_kilobytes();
    flood("8", "20000");
    let after = victim.resident_kilobytes();
    assert!(after < before + 1000, "{before} kB before, {after} kB after");
    publish("10");
    assert_eq!(victim.child.wait().unwrap().code(), Some(0));
}

/// A process killed with SIGKILL and started again is served at once, within its old self's lease.
#[test]
fn killed_and_restarted() {
    let Some(network) = network("killed_and_restarted", Namespace::create) else { return };
    let publish = [
        "pub",
        "--domain",
        "6",
        "--topic",
        "t",
        "--type",
        "Item",
        "--durability",
        "transient-local",
        "--count",
        "5",
        "--linger",
        "60",
    ];
    let _publisher = Probe::start(network.command(example("peer")), &publish);
    let subscribe = [
        "sub",
        "--domain",
        "6",
        "--topic",
        "t",
        "--type",
        "Item",
        "--durability",
        "transient-local",
        "--count",
        "100",
        "--timeout",
        "60",
    ];
    for _ in 0..2 {
        let mut subscriber = Probe::start(network.command(example("peer")), &subscribe);
        for k in 0..5 {
            assert_eq!(subscriber.sample()["name"], format!("stillwatt-{k}"));
        }
        // Dropping kills.
        drop(subscriber);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// With every interface down a process still starts, and ends when it is told to.
#[test]
fn no_network_at_all() {
    let Some(network) = network("no_network_at_all", Namespace::without_multicast) else { return };
    let down = Command::new("ip").args(["-n", network.name(), "link", "set", "lo", "down"]).status().unwrap();
    assert!(down.success());
    let mut probe = Probe::start(
        network.command(example("probe")),
        &["discover", "--domain", "8", "--expect", "0", "--seconds", "1"],
    );
    assert_eq!(probe.line()["participants"], 0);
    // Closing its input ends it; a watchdog in the harness of the test runner would see a hang.
    drop(probe.child.stdin.take());
    assert_eq!(probe.child.wait().unwrap().code(), Some(0));
}

/// Two hosts on one wire exchange samples, big ones too; each announces the address that leads to it.
#[test]
fn two_hosts() {
    let link = match Link::create(2) {
        Ok(link) => link,
        Err(reason) => return skip("two_hosts", &reason),
    };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let tail = ["--domain", "7", "--topic", "t", "--type", "Big", "--count", "5"];
    let (subscribe, publish) = ([&["sub"], &tail[..]].concat(), [&["pub"], &tail[..]].concat());
    let mut subscriber = Probe::start(there.command(example("peer")), &subscribe);
    let status = here.command(example("peer")).args(publish).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    for k in 0..5 {
        let line = subscriber.sample();
        assert_eq!((line["seq"].as_u64(), line["length"].as_u64()), (Some(k), Some(200_000)));
    }
}

/// Two hosts exchange big samples by UDP over IPv6 alone, found by its discovery group.
#[test]
fn two_hosts_by_ipv6() {
    let link = match Link::create(2) {
        Ok(link) => link,
        Err(reason) => return skip("two_hosts_by_ipv6", &reason),
    };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let tail = ["--transports", "udp6", "--topic", "t", "--type", "Big", "--count", "5"];
    let (subscribe, publish) = ([&["sub"], &tail[..]].concat(), [&["pub"], &tail[..]].concat());
    let mut subscriber = Probe::start(there.command(example("peer")), &subscribe);
    let status = here.command(example("peer")).args(publish).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    for k in 0..5 {
        let line = subscriber.sample();
        assert_eq!((line["seq"].as_u64(), line["length"].as_u64()), (Some(k), Some(200_000)));
    }
}

/// Five processes of a machine that has nothing but `::1`, and no multicast, find each other and one with both
/// families; one with IPv4 alone is found by the latter only.
#[test]
fn ipv6_without_multicast() {
    let Some(network) = network("ipv6_without_multicast", Namespace::without_multicast) else { return };
    let start = |transports: &str, expect: &str, seconds: &str| {
        let arguments = ["discover", "--transports", transports, "--expect", expect, "--seconds", seconds];
        Probe::start(network.command(example("probe")), &arguments)
    };
    let mut v6: Vec<Probe> = (0..5).map(|_| start("udp6", "5", "20")).collect();
    let mut both = start("udp,udp6", "6", "20");
    let mut v4 = start("udp", "1", "20");
    assert!(v6.iter_mut().all(|probe| probe.line()["participants"] == 5));
    assert_eq!(
        (both.line()["participants"].as_u64(), v4.line()["participants"].as_u64()),
        (Some(6), Some(1))
    );
}
