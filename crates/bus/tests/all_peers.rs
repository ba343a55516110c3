#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! Policies that act between all implementations: deadline, lifespan, the heir of an exclusive owner that was killed,
//! and the instances of a publisher that is deleted.

#[path = "interop/cell.rs"]
#[allow(dead_code, reason = "the matrix's cells are for the matrix")]
mod cell;

use std::time::Duration;

use cell::Program;
use peers::{Durability, Kind, Namespace, Peer, Reliability, Running, record, repeats, skip};
use serde_json::Value;

use Program::{Cyclone, FastDds, FastDds3, Stillwatt};

/// Ours with every other, both ways, and with itself.
const PAIRS: [(Program, Program); 7] = [
    (Stillwatt, Stillwatt),
    (Stillwatt, Cyclone),
    (Cyclone, Stillwatt),
    (Stillwatt, FastDds),
    (FastDds, Stillwatt),
    (Stillwatt, FastDds3),
    (FastDds3, Stillwatt),
];

/// Runs `pair` for every pair, all at once: they mostly wait. False, and said so, where a program is missing.
fn run_all(test: &str, pair: impl Fn(&Namespace, Program, Program) -> Result<(), String> + Sync) {
    let programs = [Stillwatt, Cyclone, FastDds, FastDds3];
    let namespace = Namespace::create();
    let missing =
        namespace.as_ref().err().cloned().or_else(|| {
            programs.into_iter().find_map(|program| program.peer(namespace.as_ref().ok()?).err())
        });
    if let Some(reason) = missing {
        return skip(&format!("all_peers::{test}"), &reason);
    }
    drop(namespace);
    let run = |(writer, reader)| {
        let result = pair(&Namespace::create().unwrap(), writer, reader);
        record(writer, reader, test, result.is_ok());
        result.map_err(|told| format!("{writer} -> {reader}: {told}"))
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let pairs = (0..repeats()).flat_map(|_| PAIRS);
        let running: Vec<_> = pairs.map(|pair| scope.spawn(move || run(pair))).collect();
        running.into_iter().filter_map(|run| run.join().unwrap().err()).collect()
    });
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

fn reliable(program: Program, namespace: &Namespace) -> Peer {
    let peer = program.peer(namespace).unwrap().reliability(Reliability::Reliable);
    peer.timeout(Duration::from_secs(40))
}

fn with(peer: Peer, option: &str, value: &str) -> Peer {
    peer.argument(option).argument(value)
}

/// Starts both ends and lets the publisher write when they have matched.
fn start(publisher: Peer, subscriber: Peer) -> Result<(Running, Running), String> {
    let mut subscriber = subscriber.start().unwrap();
    let mut publisher = publisher.gate().start().unwrap();
    if !(publisher.wait_for_match() && subscriber.wait_for_match()) {
        return Err(format!("no match: {:?} {:?}", publisher.stop(), subscriber.stop()));
    }
    publisher.open_gate();
    Ok((publisher, subscriber))
}

fn has_missed(line: &Value) -> bool {
    line["deadline_missed"].as_u64().is_some_and(|count| count > 0)
}

/// Both ends notice that an instance got no further sample in time.
#[test]
fn missed_deadlines_are_noticed() {
    run_all("missed deadline", |namespace, writer, reader| {
        let configure = |program| with(reliable(program, namespace), "--deadline", "0.5");
        let publisher =
            configure(writer).publish(38, "interop/deadline", Kind::Item, 3).linger(Duration::from_secs(8));
        let subscriber = configure(reader).subscribe(38, "interop/deadline", Kind::Item, 4);
        let (mut publisher, mut subscriber) = start(publisher, subscriber)?;
        let noticed = [subscriber.wait_for(has_missed), publisher.wait_for(has_missed)];
        let told = (publisher.stop(), subscriber.stop());
        if noticed == [true, true] { Ok(()) } else { Err(format!("{noticed:?} {told:?}")) }
    });
}

/// A subscriber that joins when the samples have expired gets none of them; one that was there got all.
#[test]
fn expired_samples_do_not_reach_late_joiners() {
    run_all("lifespan, late joiner", |namespace, writer, reader| {
        let durable = |program| reliable(program, namespace).durability(Durability::TransientLocal);
        let lasting = |program| with(durable(program), "--lifespan", "1.5");
        let subscribe = |count| lasting(reader).subscribe(39, "interop/lifespan", Kind::Item, count);
        let mut early = subscribe(5).start().unwrap();
        let publisher = lasting(writer).publish(39, "interop/lifespan", Kind::Item, 5);
        let publisher = publisher.linger(Duration::from_secs(30)).start().unwrap();
        early.wait_for(|line| line["name"].as_str().is_some_and(|name| name.ends_with("-4")));
        let early = early.finish();
        std::thread::sleep(Duration::from_secs(3));
        let mut late = subscribe(1).timeout(Duration::from_secs(6)).start().unwrap();
        let has_matched = late.wait_for_match();
        let (late, publisher) = (late.finish(), publisher.stop());
        let counts = (early.samples().len(), has_matched, late.samples().len());
        if counts == (5, true, 0) {
            Ok(())
        } else {
            Err(format!("{counts:?} {early:?} {late:?} {publisher:?}"))
        }
    });
}

/// A publisher that is deleted disposes of its instances when asked to.
#[test]
fn deleted_publishers_dispose() {
    run_all("autodispose", |namespace, writer, reader| {
        let publisher = reliable(writer, namespace).publish(40, "interop/autodispose", Kind::Item, 6);
        let publisher = publisher.argument("--autodispose").linger(Duration::from_secs(1));
        let subscriber = reliable(reader, namespace).subscribe(40, "interop/autodispose", Kind::Item, 6);
        let subscriber = subscriber.dispose().timeout(Duration::from_secs(12));
        let (publisher, subscriber) = start(publisher, subscriber)?;
        let (subscriber, publisher) = (subscriber.finish(), publisher.finish());
        // Cyclone DDS leaves the disposal to readers of its own; to ours the instances end.
        let what = if writer == Cyclone { "ended" } else { "disposed" };
        let mut keys: Vec<u64> = subscriber.lines.iter().filter_map(|line| line[what].as_u64()).collect();
        keys.sort_unstable();
        if keys == [0, 1, 2] { Ok(()) } else { Err(format!("{keys:?} {subscriber:?} {publisher:?}")) }
    });
}

/// Of two publishers only the stronger one is heard, until it is killed; then the other one is.
#[test]
fn the_strongest_living_publisher_is_heard() {
    run_all("exclusive ownership", |namespace, strong, reader| {
        // The samples must tell who wrote them; Cyclone DDS and Fast DDS 3 do not match each other.
        let weak = match (strong, reader) {
            (Stillwatt, Stillwatt) => Cyclone,
            (Stillwatt, other) => other,
            _ => Stillwatt,
        };
        let configure = |program, strength| {
            let peer = with(reliable(program, namespace), "--strength", strength);
            with(peer, "--lease", "1")
        };
        let subscriber = configure(reader, "0").subscribe(41, "interop/ownership", Kind::Item, 100_000);
        let long = Duration::from_secs(60);
        let publisher = configure(strong, "20").publish(41, "interop/ownership", Kind::Item, 3).linger(long);
        let (publisher, mut subscriber) = start(publisher, subscriber)?;
        let is_of =
            |line: &Value, name: &str| line["name"].as_str().is_some_and(|text| text.starts_with(name));
        let (name, other) = (format!("{}-", name(strong)), format!("{}-", name(weak)));
        let last = format!("{name}2");
        let was_heard = subscriber.wait_for(|line| line["name"] == last.as_str());
        let weak = configure(weak, "10").publish(41, "interop/ownership", Kind::Item, 1000);
        let mut weak = with(weak, "--period", "0.05").start().unwrap();
        // It writes when it has matched and the reader has had time to match as well.
        let has_written = weak.wait_for(|line| line["wrote"] == 60);
        let died_at = 60;
        publisher.stop();
        let took_over = subscriber.wait_for(|line| is_of(line, &other));
        let (told, weak) = (subscriber.stop(), weak.stop());
        let first = told.lines.iter().find(|line| is_of(line, &other));
        let first =
            first.and_then(|line| line["name"].as_str()?.strip_prefix(other.as_str())?.parse::<u32>().ok());
        // Each instance is owned from its first sample on; none may pass before the owner died.
        let is_sound = was_heard && has_written && took_over && first.is_some_and(|first| first >= died_at);
        if is_sound { Ok(()) } else { Err(format!("heard {was_heard}, first {first:?}: {told:?} {weak:?}")) }
    });
}

fn name(program: Program) -> &'static str {
    match program {
        Cyclone => "cyclone",
        FastDds => "fastdds",
        FastDds3 => "fastdds3",
        Stillwatt | Program::StillwattXml => "stillwatt",
    }
}
