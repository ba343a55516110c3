#![expect(clippy::disallowed_methods, reason = "I/O shell: runs live peers, two cells at a time")]
//! Interoperability with Cyclone DDS and Fast DDS: the matrix of pairs and cells, each in a network of its own.
//!
//! In each cell two subscribers of one program hear one publisher of another: the good one must get the samples, the
//! bad one (wrong partition, type or QoS) must neither match nor get anything, though it is in the same network and
//! was there first.

#[path = "interop/cell.rs"]
mod cell;
#[path = "interop/extensible.rs"]
mod extensible;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cell::{CELLS, Cell, Program};
use extensible::exchanges;
use peers::{Durability, Kind, Link, Namespace, Reliability, Skip, record, repeats, skip};

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

/// How long a publisher stays.
const TIMEOUT: Duration = Duration::from_secs(20);

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
    let once = || PAIRS.iter().flat_map(|(writer, reader)| CELLS.iter().map(|cell| (*writer, *reader, cell)));
    let runs: Vec<(Program, Program, &Cell)> = (0..repeats()).flat_map(|_| once()).collect();
    assert_eq!(runs.len(), PAIRS.len() * CELLS.len() * repeats(), "every cell of the matrix runs");
    run_all(&runs, |(writer, reader, cell)| {
        let result = cell.run(*writer, *reader);
        record(writer, reader, cell.name, result.is_ok());
        (format!("{writer} -> {reader}, {}", cell.name), result)
    });
}

/// Runs all, [`WORKERS`] at a time, prints each result, and fails when one did.
fn run_all<T: Sync>(runs: &[T], run: impl Fn(&T) -> (String, Result<(), String>) + Sync) {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let keep = |result| results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(input) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (name, result) = run(input);
                    println!("{name}: {}", result.as_ref().map_or_else(String::as_str, |()| "ok"));
                    keep(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(results.len(), runs.len());
    let failures: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

/// Final, appendable and mutable types in XCDR1 and XCDR2, their disposals, and older versions of them are understood by
/// Cyclone DDS and by us, whether or not we announce what Cyclone compares types by.
#[test]
fn extensible_types() {
    if let Some(reason) = missing() {
        return skip("interop::extensible_types", &reason);
    }
    let runs: Vec<_> = (0..repeats()).flat_map(|_| exchanges()).collect();
    run_all(&runs, |exchange| {
        let result = exchange.run();
        record(exchange.writer, exchange.reader, &exchange.what(), result.is_ok());
        (exchange.to_string(), result.map_err(|problem| format!("{exchange}: {problem}")))
    });
}

/// What we announce of a type is really compared: Cyclone DDS does not match a type of the same name that differs, which
/// it does when nothing is announced.
#[test]
fn announced_types_are_compared() {
    if let Some(reason) = missing() {
        return skip("interop::announced_types_are_compared", &reason);
    }
    let namespace = Namespace::create().unwrap();
    let topic = "interop/announced";
    let durable = |peer: peers::Peer| {
        let peer = peer.reliability(Reliability::Reliable).durability(Durability::TransientLocal);
        peer.argument("--representation").argument("xcdr2")
    };
    let ours = || durable(Program::Stillwatt.peer(&namespace).unwrap()).argument("--old");
    let cyclone = || durable(Program::Cyclone.peer(&namespace).unwrap());
    let announcing = ours().argument("--announce-type");
    let announced = announcing.publish(34, topic, Kind::Appendable, 3).linger(TIMEOUT).start().unwrap();
    let deaf = cyclone().subscribe(34, topic, Kind::Appendable, 3).start().unwrap();
    // By the time that a second subscriber has heard an equal publisher, the first would have heard the other.
    let other = "interop/announced/not";
    let _silent = ours().publish(34, other, Kind::Appendable, 3).linger(TIMEOUT).start().unwrap();
    let hearing = cyclone().subscribe(34, other, Kind::Appendable, 3).start().unwrap().finish();
    assert_eq!(hearing.samples().len(), 3, "{hearing:?}");
    let (deaf, announced) = (deaf.stop(), announced.stop());
    assert!(deaf.samples().is_empty() && !deaf.has_matched(), "{deaf:?} {announced:?}");
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
    for (writer, reader) in (0..repeats()).flat_map(|_| pairs) {
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
        record(writer, reader, "disposals, keyed", keys == [0, 1, 2]);
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

/// Fast DDS and we find each other by UDP over IPv6 alone, on two hosts of a wire, and exchange big samples both ways.
#[test]
fn fast_dds_by_ipv6() {
    let here = Namespace::create();
    let fast = here.and_then(|namespace| Program::FastDds.peer(&namespace).map(drop));
    if let Err(reason) = fast.and_then(|()| Link::create(2).map(drop)) {
        return skip("interop::fast_dds_by_ipv6", &reason);
    }
    for (writer, reader) in [(Program::FastDds, Program::Stillwatt), (Program::Stillwatt, Program::FastDds)] {
        let link = Link::create(2).unwrap();
        let [here, there] = link.hosts() else { panic!("two hosts") };
        let durable = |program: Program, host: &Namespace| {
            let peer = program.peer(host).unwrap().reliability(Reliability::Reliable);
            let peer = peer.durability(Durability::TransientLocal);
            if program == Program::FastDds {
                peer.argument("--ipv6")
            } else {
                peer.argument("--transports").argument("udp6")
            }
        };
        let topic = "interop/ipv6";
        let subscriber = durable(reader, there).subscribe(36, topic, Kind::Big, 5).start().unwrap();
        let publisher = durable(writer, here).publish(36, topic, Kind::Big, 5).start().unwrap();
        let name = if writer == Program::FastDds { "fastdds" } else { "stillwatt" };
        let (subscriber, publisher) = (subscriber.finish(), publisher.stop());
        let expected: Vec<_> = (0..5).map(|k| Kind::Big.expected(name, k)).collect();
        let is_right = subscriber.samples().into_iter().eq(&expected);
        record(writer, reader, "IPv6", is_right);
        assert!(is_right, "{writer} -> {reader}: {subscriber:?} {publisher:?}");
    }
}

/// Types that both sides read from the same XML file: samples and disposals go both ways between Fast DDS's dynamic types
/// and ours, and between ours and the derived types of the same names.
#[test]
fn xml_types() {
    if let Some(reason) = missing() {
        return skip("interop::xml_types", &reason);
    }
    let pairs = [
        (Program::StillwattXml, Program::FastDds),
        (Program::FastDds, Program::StillwattXml),
        (Program::StillwattXml, Program::FastDds3),
        (Program::FastDds3, Program::StillwattXml),
        (Program::StillwattXml, Program::Cyclone),
        (Program::Cyclone, Program::StillwattXml),
        (Program::StillwattXml, Program::Stillwatt),
        (Program::Stillwatt, Program::StillwattXml),
    ];
    let kinds = [(Kind::Item, 6), (Kind::Plain, 6), (Kind::Big, 3)];
    let once = || pairs.iter().flat_map(|pair| kinds.iter().map(|kind| (*pair, *kind)));
    let runs: Vec<_> = (0..repeats()).flat_map(|_| once()).collect();
    run_all(&runs, |((writer, reader), (kind, count))| {
        let name = format!("XML dynamic type, {kind:?}");
        let result = xml_exchange(*writer, *reader, *kind, *count);
        record(writer.dds(), reader.dds(), &name, result.is_ok());
        (
            format!("{writer} -> {reader}, {name}"),
            result.map_err(|problem| format!("{writer} -> {reader}: {problem}")),
        )
    });
}

/// Writes `count` samples, which the reader must get: a late joiner those of a type without key, one that was there those of
/// the type with a key, of which three instances are disposed of.
fn xml_exchange(writer: Program, reader: Program, kind: Kind, count: u32) -> Result<(), String> {
    let namespace = Namespace::create().map_err(|reason| reason.to_string())?;
    let is_keyed = kind == Kind::Item;
    let peer = |program: Program| {
        let peer = program.peer(&namespace).map_err(|reason| reason.to_string())?;
        let peer = peer.reliability(Reliability::Reliable).timeout(TIMEOUT).linger(TIMEOUT);
        Ok::<_, String>(if is_keyed { peer.dispose() } else { peer.durability(Durability::TransientLocal) })
    };
    let topic = "interop/xml";
    let publisher = peer(writer)?.publish(35, topic, kind, count);
    let subscriber = peer(reader)?.subscribe(35, topic, kind, count);
    let start = |peer: peers::Peer| peer.start().map_err(|error| error.to_string());
    let (publisher, subscriber) = if is_keyed {
        let (mut subscriber, mut publisher) = (start(subscriber)?, start(publisher.gate())?);
        if !publisher.wait_for_match() || !subscriber.wait_for_match() {
            return Err(format!("no match: {:?} {:?}", publisher.stop(), subscriber.stop()));
        }
        publisher.open_gate();
        (publisher, subscriber)
    } else {
        let mut publisher = start(publisher)?;
        if !publisher.wait_for(|line| line["wrote"] == count - 1) {
            return Err(format!("did not write: {:?}", publisher.finish()));
        }
        (publisher, start(subscriber)?)
    };
    let (subscriber, publisher) = (subscriber.finish(), publisher.stop());
    let mut expected: Vec<_> = (0..count).map(|k| kind.expected(publisher.name, k).to_string()).collect();
    let mut came: Vec<_> = subscriber.samples().into_iter().map(ToString::to_string).collect();
    expected.sort();
    came.sort();
    let mut keys = subscriber.disposed();
    keys.sort_unstable();
    let wanted_keys: &[u64] = if kind == Kind::Item { &[0, 1, 2] } else { &[] };
    if came != expected || keys != wanted_keys {
        return Err(format!("other samples or disposals than were written: {subscriber:?} {publisher:?}"));
    }
    Ok(())
}
