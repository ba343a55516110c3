#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! Multicast data between our programs, Cyclone DDS and Fast DDS: one datagram for many subscribers.

#[path = "interop/cell.rs"]
#[allow(dead_code, reason = "the matrix's cells are for the matrix")]
mod cell;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cell::Program;
use peers::{Kind, Namespace, Peer, Reliability, record, repeats, skip};
use serde_json::Value;

const DOMAIN: u32 = 36;
const TOPIC: &str = "interop/multicast";
/// The domain's port for multicast data: 7400 + 250 x domain + 1.
const PORT: u16 = 16401;
/// The group of the topic in our programs.
const GROUP: &str = "239.255.64.3";
/// The group that Cyclone DDS announces for everything.
const CYCLONE_GROUP: &str = "239.255.0.1";
const SAMPLES: u32 = 20;
/// Enough to make multicast worth while for every implementation.
const SUBSCRIBERS: usize = 4;
const SETTLE: Duration = Duration::from_secs(1);

/// The program that tells what a group heard.
struct Bystander(Child, BufReader<std::process::ChildStdout>);

impl Bystander {
    fn start(namespace: &Namespace, group: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../peers/bystander.py");
        let mut command: Command = namespace.command("python3");
        let pipes =
            command.args([script, group, &PORT.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut bystander = Self(child, lines);
        assert_eq!(bystander.line()["listening"], true);
        bystander
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    /// Messages with data that the group heard.
    fn heard(mut self) -> u64 {
        let mut input = self.0.stdin.take().unwrap();
        input.flush().unwrap();
        drop(input);
        let heard = self.line()["heard"].as_u64().unwrap();
        self.0.wait().unwrap();
        heard
    }
}

/// Four subscribers of one program hear a publisher of another through one group; a bystander in the group hears as many
/// messages as were written, give or take repairs, and not four times as many (except from Fast DDS 3).
#[test]
fn data_goes_to_the_group() {
    let programs = [Program::Stillwatt, Program::Cyclone, Program::FastDds, Program::FastDds3];
    let namespace = Namespace::create();
    let missing =
        namespace.as_ref().err().cloned().or_else(|| {
            programs.into_iter().find_map(|program| program.peer(namespace.as_ref().ok()?).err())
        });
    if let Some(reason) = missing {
        return skip("multicast::data_goes_to_the_group", &reason);
    }
    drop(namespace);
    // Fast DDS 3 beside ours only: the others show that the peers themselves are sound.
    let pairs = programs.into_iter().flat_map(|reader| programs.map(|writer| (writer, reader)));
    let is_meant = |(writer, reader): &(Program, Program)| {
        let has = |program| *writer == program || *reader == program;
        !has(Program::FastDds3) || has(Program::Stillwatt)
    };
    let pairs: Vec<_> = pairs.filter(is_meant).collect();
    for (writer, reader) in (0..repeats()).flat_map(|_| pairs.clone()) {
        pair(writer, reader);
    }
}

fn pair(writer: Program, reader: Program) {
    let namespace = Namespace::create().unwrap();
    let group = if reader == Program::Cyclone { CYCLONE_GROUP } else { GROUP };
    let bystander = Bystander::start(&namespace, group);
    let configure = |peer: Peer, program: Program, is_reader: bool| {
        let peer = peer.reliability(Reliability::Reliable);
        match program {
            Program::FastDds | Program::FastDds3 if is_reader => {
                peer.argument("--group").argument(&format!("{GROUP}:{PORT}"))
            }
            Program::Stillwatt => peer.argument("--transports").argument("udpm"),
            _ => peer,
        }
    };
    let mut subscribers: Vec<_> = (0..SUBSCRIBERS)
        .map(|_| {
            let peer = configure(reader.peer(&namespace).unwrap(), reader, true);
            peer.subscribe(DOMAIN, TOPIC, Kind::Item, SAMPLES).start().unwrap()
        })
        .collect();
    let peer = configure(writer.peer(&namespace).unwrap(), writer, false);
    let mut publisher = peer.publish(DOMAIN, TOPIC, Kind::Item, SAMPLES).gate().start().unwrap();
    for subscriber in &mut subscribers {
        assert!(subscriber.wait_for_match(), "{writer} -> {reader}");
    }
    assert!(publisher.wait_for_match(), "{writer} -> {reader}");
    // That a subscriber knows the publisher does not say that the publisher knows it.
    std::thread::sleep(SETTLE);
    publisher.open_gate();
    let finished: Vec<_> = subscribers.into_iter().map(peers::Running::finish).collect();
    let publisher = publisher.stop();
    let heard = bystander.heard();
    let is_complete = finished.iter().all(|subscriber| subscriber.samples().len() == SAMPLES as usize);
    record(writer, reader, "multicast data, four subscribers", is_complete && heard >= u64::from(SAMPLES));
    println!("{writer} -> {reader}: the group heard {heard} messages");
    for subscriber in &finished {
        assert_eq!(
            subscriber.samples().len(),
            SAMPLES as usize,
            "{writer} -> {reader}: {subscriber:?} {publisher:?}"
        );
    }
    let written = u64::from(SAMPLES);
    if writer == Program::FastDds3 {
        // It sends to the group once for each of its subscribers.
        return assert!(heard >= written, "{writer} -> {reader}: the group heard {heard} messages");
    }
    assert!(
        (written..written * 2).contains(&heard),
        "{writer} -> {reader}: the group heard {heard} messages"
    );
}
