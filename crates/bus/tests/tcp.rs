#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! Processes that have only TCP, on hosts of their own.

mod probe;

use std::process::Stdio;

use peers::{Link, Namespace, skip};

use probe::{Probe, example};

/// Where the first host of a link accepts connections.
const SERVER: &str = "10.77.0.1:7400";

fn link(test: &str, hosts: u8) -> Option<Link> {
    Link::create(hosts).map_err(|reason| skip(test, &reason)).ok()
}

/// Starts an example on a host, with TCP only.
fn start(host: &Namespace, program: &str, transport: [&str; 2], arguments: &[&str]) -> Probe {
    let (verb, rest) = arguments.split_first().unwrap();
    let all = [&[*verb, "--transports", "tcp"], &transport[..], rest].concat();
    Probe::start(host.command(example(program)), &all)
}

fn serve(host: &Namespace, program: &str, arguments: &[&str]) -> Probe {
    start(host, program, ["--listen", "0.0.0.0:7400"], arguments)
}

fn connect(host: &Namespace, program: &str, arguments: &[&str]) -> Probe {
    start(host, program, ["--connect", SERVER], arguments)
}

/// A server on one host and a client on the other exchange big samples, whichever publishes, and whichever comes first.
#[test]
fn server_and_client() {
    let Some(link) = link("server_and_client", 2) else { return };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let tail = ["--topic", "t", "--type", "Big", "--count", "5"];
    let (publish, subscribe) = ([&["pub"], &tail[..]].concat(), [&["sub"], &tail[..]].concat());
    for (at_server, at_client, server_first) in
        [(&publish, &subscribe, true), (&subscribe, &publish, true), (&publish, &subscribe, false)]
    {
        let (mut server, mut client);
        if server_first {
            server = serve(here, "peer", at_server);
            client = connect(there, "peer", at_client);
        } else {
            client = connect(there, "peer", at_client);
            server = serve(here, "peer", at_server);
        }
        let subscriber = if at_server[0] == "sub" { &mut server } else { &mut client };
        for k in 0..5 {
            let line = subscriber.sample();
            assert_eq!((line["seq"].as_u64(), line["length"].as_u64()), (Some(k), Some(200_000)), "{line}");
        }
    }
}

/// A client goes on with the next server after the first was killed, without being told, within the first one's lease.
#[test]
fn server_killed_and_restarted() {
    let Some(link) = link("server_killed_and_restarted", 2) else { return };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let tail = ["--topic", "t", "--type", "Item", "--durability", "transient-local"];
    let publish = [&["pub"], &tail[..], &["--count", "5", "--linger", "60"]].concat();
    let subscribe = [&["sub"], &tail[..], &["--count", "15", "--timeout", "60"]].concat();
    let mut client = connect(there, "peer", &subscribe);
    for _ in 0..3 {
        let server = serve(here, "peer", &publish);
        for k in 0..5 {
            assert_eq!(client.sample()["name"], format!("stillwatt-{k}"));
        }
        // Dropping kills.
        drop(server);
    }
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
}

/// The same over IPv6, where the server listens to it alone.
#[test]
fn server_and_client_by_ipv6() {
    let Some(link) = link("server_and_client_by_ipv6", 2) else { return };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let tail = ["--topic", "t", "--type", "Big", "--count", "5"];
    let _server = start(here, "peer", ["--listen", "[::]:7400"], &[&["pub"], &tail[..]].concat());
    let mut client = start(there, "peer", ["--connect", "[fd77::1]:7400"], &[&["sub"], &tail[..]].concat());
    for k in 0..5 {
        assert_eq!(client.sample()["seq"].as_u64(), Some(k));
    }
}

/// Forty clients on hosts of their own find the server, and it finds them.
#[test]
fn forty_clients() {
    let Some(link) = link("forty_clients", 41) else { return };
    let (first, others) = link.hosts().split_first().unwrap();
    let mut server = serve(first, "probe", &["discover", "--expect", "40", "--seconds", "60"]);
    let arguments = ["discover", "--expect", "1", "--seconds", "60"];
    let mut clients: Vec<Probe> = others.iter().map(|host| connect(host, "probe", &arguments)).collect();
    for client in &mut clients {
        assert_eq!(client.line()["participants"], 1);
    }
    assert_eq!(server.line()["participants"], 40);
}

/// Strangers that connect by the hundred and send seeded garbage, some after a right greeting, harm nobody: the server
/// lives, keeps no memory for them, and serves the next client.
#[test]
fn garbage_harms_nobody() {
    let Some(link) = link("garbage_harms_nobody", 2) else { return };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let tail = ["--topic", "t", "--type", "Plain"];
    let subscribe = [&["sub"], &tail[..], &["--count", "20", "--timeout", "100"]].concat();
    let publish = [&["pub"], &tail[..], &["--count", "10", "--linger", "1"]].concat();
    let mut victim = serve(here, "peer", &subscribe);
    let next_client = || {
        let mut publisher = connect(there, "peer", &publish);
        assert_eq!(publisher.child.wait().unwrap().code(), Some(0));
    };
    next_client();
    let strangers = |seed: &str, count: &str| {
        let mut command = there.command(example("probe"));
        command.args(["strangers", "--address", SERVER, "--seed", seed, "--count", count]);
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    };
    strangers("1", "300");
    let before = victim.resident_kilobytes();
    strangers("2", "300");
    let after = victim.resident_kilobytes();
    assert!(after < before + 1000, "{before} kB before, {after} kB after");
    next_client();
    assert_eq!(victim.child.wait().unwrap().code(), Some(0));
}

/// A process that has UDP and TCP reaches one that has only UDP and one that has only TCP; those two do not meet.
#[test]
fn both_transports() {
    let Some(link) = link("both_transports", 3) else { return };
    let [here, there, elsewhere] = link.hosts() else { panic!("three hosts") };
    let both = ["discover", "--transports", "udp,tcp", "--listen", "0.0.0.0:7400", "--expect", "2"];
    let mut both = Probe::start(here.command(example("probe")), &both);
    let mut tcp = connect(there, "probe", &["discover", "--expect", "2", "--seconds", "5"]);
    let mut udp = Probe::start(
        elsewhere.command(example("probe")),
        &["discover", "--transports", "udp", "--expect", "2", "--seconds", "5"],
    );
    assert_eq!(both.line()["participants"], 2);
    assert_eq!(tcp.line()["participants"], 1);
    assert_eq!(udp.line()["participants"], 1);
}
