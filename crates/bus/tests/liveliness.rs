#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! Liveliness among our programs, Cyclone DDS and Fast DDS: a silent publisher is alive, a killed one is noticed.

#[path = "interop/cell.rs"]
#[allow(dead_code, reason = "the matrix's cells are for the matrix")]
mod cell;

use std::time::Duration;

use cell::Program;
use peers::{Kind, Namespace, Peer, Reliability, record, repeats, skip};

const LEASE_SECONDS: &str = "1";
/// Several leases.
const SILENCE: Duration = Duration::from_secs(4);

/// A publisher that writes nothing for several leases is alive at its subscriber; killed without a word, it is not.
#[test]
fn killed_publishers_are_noticed() {
    let programs = [Program::Stillwatt, Program::Cyclone, Program::FastDds, Program::FastDds3];
    let namespace = Namespace::create();
    let missing =
        namespace.as_ref().err().cloned().or_else(|| {
            programs.into_iter().find_map(|program| program.peer(namespace.as_ref().ok()?).err())
        });
    if let Some(reason) = missing {
        return skip("liveliness::killed_publishers_are_noticed", &reason);
    }
    drop(namespace);
    let ours = Program::Stillwatt;
    let foreign = [Program::Cyclone, Program::FastDds, Program::FastDds3];
    let pairs: Vec<_> =
        foreign.into_iter().flat_map(|other| [(ours, other), (other, ours)]).chain([(ours, ours)]).collect();
    let pairs: Vec<_> = (0..repeats()).flat_map(|_| pairs.clone()).collect();
    // They mostly wait.
    std::thread::scope(|scope| {
        for (writer, reader) in pairs {
            scope.spawn(move || pair(writer, reader));
        }
    });
}

fn pair(writer: Program, reader: Program) {
    let namespace = Namespace::create().unwrap();
    let configure = |program: Program| -> Peer {
        let peer = program.peer(&namespace).unwrap().reliability(Reliability::Reliable);
        peer.argument("--lease").argument(LEASE_SECONDS).timeout(Duration::from_secs(40))
    };
    let mut subscriber =
        configure(reader).subscribe(37, "interop/liveliness", Kind::Item, 1).start().unwrap();
    let mut publisher =
        configure(writer).publish(37, "interop/liveliness", Kind::Item, 1).gate().start().unwrap();
    assert!(publisher.wait_for_match() && subscriber.wait_for_match(), "{writer} -> {reader} matches");
    std::thread::sleep(SILENCE);
    publisher.stop();
    let was_noticed = subscriber.wait_for(|line| line["alive"] == 0);
    let told = subscriber.stop();
    // Some tell that it is alive when they match, some only of changes; nobody may tell of a death before it.
    let alive: Vec<_> = told.lines.iter().filter_map(|line| line["alive"].as_u64()).collect();
    let is_sound = was_noticed && matches!(alive.as_slice(), [0] | [1, 0]);
    record(writer, reader, "automatic liveliness, killed publisher", is_sound);
    assert!(is_sound, "{writer} -> {reader}: {told:?}");
}
