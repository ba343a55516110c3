#![expect(clippy::disallowed_methods, reason = "I/O shell: starts small programs in private networks")]
//! The private networks and the driver of peers themselves.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use peers::{Kind, Link, Namespace, Peer, skip};

fn exists(name: &str) -> bool {
    Path::new("/run/netns").join(name).exists()
}

fn succeeds(mut command: Command, arguments: &[&str]) -> bool {
    command.args(arguments).output().is_ok_and(|output| output.status.success())
}

/// A namespace has loopback and nothing of the machine's network, and is gone with its value.
#[test]
fn namespace_is_private_and_removed() {
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(reason) => return skip("peers::namespace_is_private_and_removed", &reason),
    };
    let name = namespace.name().to_string();
    assert!(exists(&name));
    let links = namespace.command("ip").args(["-o", "link"]).output().unwrap();
    let links = String::from_utf8(links.stdout).unwrap();
    assert_eq!(links.lines().count(), 1, "{links}");
    assert!(links.contains("lo:") && links.contains("MULTICAST") && links.contains("UP"), "{links}");
    drop(namespace);
    assert!(!exists(&name));
}

/// A namespace without multicast has no route for a group.
#[test]
fn multicast_can_be_refused() {
    let (with, without) = match (Namespace::create(), Namespace::without_multicast()) {
        (Ok(with), Ok(without)) => (with, without),
        (Err(reason), _) | (_, Err(reason)) => return skip("peers::multicast_can_be_refused", &reason),
    };
    let arguments = ["route", "get", "239.255.0.1"];
    assert!(succeeds(with.command("ip"), &arguments));
    assert!(!succeeds(without.command("ip"), &arguments));
}

/// Hosts on one wire reach each other's address and only theirs; too many are refused.
#[test]
fn hosts_share_a_wire() {
    let link = match Link::create(2) {
        Ok(link) => link,
        Err(reason) => return skip("peers::hosts_share_a_wire", &reason),
    };
    // A reply to the neighbour discovery shows that the wire carries datagrams both ways.
    let script = "exec 3<>/dev/udp/10.77.0.2/9 && echo x >&3 && for i in $(seq 100); do \
        ip neigh show 10.77.0.2 | grep -q lladdr && exit 0; sleep 0.05; done; exit 1";
    assert!(succeeds(link.hosts()[0].command("bash"), &["-c", script]));
    assert!(!succeeds(link.hosts()[1].command("ip"), &["route", "get", "192.0.2.1"]));
    assert!(Link::create(Link::HOSTS_MAX + 1).is_err());
}

/// A peer that would never end is stopped; what it printed until then is kept. Text that is no
/// JSON does not stop the driver.
#[test]
fn driver_keeps_what_a_stopped_peer_printed() {
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(reason) => return skip("peers::driver_keeps_what_a_stopped_peer_printed", &reason),
    };
    let folder = std::env::temp_dir().join(format!("stw-peer-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("peer.sh");
    std::fs::write(&program, "#!/bin/sh\necho '{\"matched\": 1}'\necho noise\necho \"{\\\"wrote\\\": 0}\"\nread gate\necho '{\"gate\": true}'\nexec sleep 1000\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
    let peer = Peer::stillwatt(&namespace, &program).unwrap();
    let mut running = peer.publish(0, "t", Kind::Item, 1).timeout(Duration::ZERO).start().unwrap();
    assert!(running.wait_for_match());
    assert!(running.wait_for(|line| line["wrote"] == 0));
    running.open_gate();
    assert!(running.wait_for(|line| line["gate"] == true));
    let finished = running.stop();
    assert_eq!((finished.code, finished.lines.len()), (None, 4), "{finished:?}");
    assert!(finished.has_matched() && finished.samples().is_empty());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A peer that is not there is a skip with the remedy.
#[test]
fn missing_program_is_a_skip() {
    if let Ok(namespace) = Namespace::create() {
        let reason = Peer::stillwatt(&namespace, Path::new("/nowhere/peer")).unwrap_err();
        assert!(reason.to_string().contains("cargo build --examples"), "{reason}");
    }
}
