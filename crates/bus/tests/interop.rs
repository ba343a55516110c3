#![expect(clippy::disallowed_methods, reason = "I/O shell: runs live peers, two cells at a time")]
//! Interoperability with Cyclone DDS and Fast DDS: the matrix of pairs and cells, each in a network of its own.
//!
//! In each cell two subscribers of one program hear one publisher of another: the good one must get the samples, the
//! bad one (wrong partition, type or QoS) must neither match nor get anything, though it is in the same network and
//! was there first.

#[path = "interop/cell.rs"]
mod cell;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cell::{CELLS, Cell, Program};
use peers::{Durability, Kind, Namespace, Reliability, Skip, skip};

/// Writer and reader of each pair. The last two have no program of ours: they show that the peers themselves are sound.
const PAIRS: [(Program, Program); 9] = [
    (Program::Stillwatt, Program::Stillwatt),
    (Program::Stillwatt, Program::Cyclone),
    (Program::Cyclone, Program::Stillwatt),
    (Program::Stillwatt, Program::FastDds),
    (Program::FastDds, Program::Stillwatt),
    (Program::Stillwatt, Program::FastDds3),
    (Program::FastDds3, Program::Stillwatt),
    (Program::Cyclone, Program::FastDds),
    (Program::FastDds, Program::Cyclone),
];

/// As many cells at once; each is mostly waiting.
const WORKERS: usize = 3;

/// What this machine lacks for the matrix, if anything.
fn missing() -> Option<Skip> {
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(reason) => return Some(reason),
    };
    let programs = [Program::Stillwatt, Program::Cyclone, Program::FastDds, Program::FastDds3];
    programs.into_iter().find_map(|program| program.peer(&namespace).err())
}

/// Every pair exchanges what it must and nothing that it must not, in every cell, and no cell is left out.
#[test]
fn matrix() {
    if let Some(reason) = missing() {
        return skip("interop::matrix", &reason);
    }
    let runs: Vec<(Program, Program, &Cell)> =
        PAIRS.iter().flat_map(|(writer, reader)| CELLS.iter().map(|cell| (*writer, *reader, cell))).collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((writer, reader, cell)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = cell.run(*writer, *reader);
                    let shown = result.as_ref().map_or_else(String::as_str, |()| "ok");
                    println!("{writer} -> {reader}, {}: {shown}", cell.name);
                    results.lock().unwrap().push(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    assert_eq!(results.len(), PAIRS.len() * CELLS.len(), "every cell of the matrix ran");
    let failures: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} cells failed:\n{}", failures.len(), failures.join("\n"));
}

/// A disposal reaches the other side with its key.
#[test]
fn disposals() {
    if let Some(reason) = missing() {
        return skip("interop::disposals", &reason);
    }
    let pairs = [
        (Program::Stillwatt, Program::Cyclone),
        (Program::Cyclone, Program::Stillwatt),
        (Program::FastDds, Program::Stillwatt),
        (Program::Stillwatt, Program::FastDds),
        (Program::FastDds3, Program::Stillwatt),
        (Program::Stillwatt, Program::FastDds3),
    ];
    for (writer, reader) in pairs {
        let namespace = Namespace::create().unwrap();
        let topic = "interop/disposals";
        let reliable =
            |program: Program| program.peer(&namespace).unwrap().reliability(Reliability::Reliable).dispose();
        let mut subscriber = reliable(reader).subscribe(31, topic, Kind::Item, 6).start().unwrap();
        let mut publisher = reliable(writer).publish(31, topic, Kind::Item, 6).gate().start().unwrap();
        assert!(publisher.wait_for_match() && subscriber.wait_for_match(), "{writer} -> {reader} matches");
        publisher.open_gate();
        let (subscriber, publisher) = (subscriber.finish(), publisher.stop());
        let mut keys = subscriber.disposed();
        keys.sort_unstable();
        assert_eq!(keys, [0, 1, 2], "{writer} -> {reader}: {subscriber:?} {publisher:?}");
    }
}

/// A Fast DDS program that announces the type information of its dynamic types, as it does by default, is understood.
#[test]
fn fast_dds_type_information() {
    if let Some(reason) = missing() {
        return skip("interop::fast_dds_type_information", &reason);
    }
    for is_writer in [true, false] {
        let namespace = Namespace::create().unwrap();
        let topic = "interop/type_information";
        let ours = Program::Stillwatt.peer(&namespace).unwrap();
        let fast = Program::FastDds.peer(&namespace).unwrap().argument("--type-information");
        let (writer, reader) = if is_writer { (fast, ours) } else { (ours, fast) };
        let name = writer.name();
        let durable = |peer: peers::Peer| {
            peer.reliability(Reliability::Reliable).durability(Durability::TransientLocal)
        };
        let subscriber = durable(reader).subscribe(32, topic, Kind::Item, 5).start().unwrap();
        let publisher = durable(writer).publish(32, topic, Kind::Item, 5).start().unwrap();
        let (subscriber, publisher) = (subscriber.finish(), publisher.stop());
        // Fast DDS hands out one instance after the other.
        let mut expected: Vec<_> = (0..5).map(|k| Kind::Item.expected(name, k).to_string()).collect();
        let mut came: Vec<_> = subscriber.samples().into_iter().map(ToString::to_string).collect();
        expected.sort();
        came.sort();
        assert_eq!(came, expected, "{subscriber:?} {publisher:?}");
    }
}
