//! The cases that are datagrams, sent to a live participant that has a matched peer (A41, A42, A45, A47, A50, A52,
//! A53, A56): what is malformed is counted and changes nothing, what follows is processed, the peer notices nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;
mod puppet;
mod world;

use puppet::{Puppet, hear};
use rtps::{EntityId, GuidPrefix, Lease, Locator};
use serde_json::Value;
use std::time::Duration;
use world::{World, number, numbers, reliable};

/// Two matched participants; the second is the target of the datagrams.
struct Target {
    world: World,
    peer: usize,
    target: usize,
    writer: EntityId,
    reader: EntityId,
    sent: u64,
}

impl Target {
    fn new() -> Self {
        let mut world = World::new(41);
        let (peer, target) = (world.add(), world.add());
        let writer = world.writer(peer, "real", &reliable());
        let reader = world.reader(target, "real", &reliable());
        world.run_for(Duration::from_secs(1));
        world.is_tapped = true;
        Self { world, peer, target, writer, reader, sent: 0 }
    }

    /// Injects a datagram; returns how many more were counted as malformed.
    fn inject(&mut self, bytes: &[u8]) -> u64 {
        let before = self.malformed();
        self.world.inject(self.target, bytes);
        self.malformed() - before
    }

    fn malformed(&mut self) -> u64 {
        self.world.participant(self.target).statistics().malformed
    }

    fn knows(&mut self, prefix: &str) -> bool {
        self.world
            .participant(self.target)
            .remote_participants()
            .any(|remote| remote.data.guid.prefix.to_string() == prefix)
    }

    /// The peer's samples still arrive, in order, each once.
    fn check_peer(&mut self) {
        self.sent += 1;
        let sent = self.sent;
        self.world.write(self.peer, self.writer, &number(sent));
        self.world.run_for(Duration::from_millis(10));
        assert_eq!(numbers(&self.world.take_all(self.target, self.reader)), [sent]);
    }
}

const PREFIX: &str = "0102030405060708090a0b0c";

fn prefix() -> GuidPrefix {
    GuidPrefix(case::octets(PREFIX).try_into().unwrap())
}

/// Injects a file that must not announce anybody, then the control that must.
fn check_bad_then_good(id: &str, bad: &[u8], malformed: u64) {
    let mut target = Target::new();
    assert_eq!(target.inject(bad), malformed, "{id}");
    assert!(!target.knows(PREFIX), "{id}: nothing was announced");
    target.check_peer();
    assert_eq!(target.inject(&case::datagram(id, "good.hex")), 0, "{id}: control");
    assert!(target.knows(PREFIX), "{id}: control");
    target.check_peer();
}

/// Injects a datagram that must announce the case's participant without being malformed.
fn check_good(name: &str, datagram: &[u8], announced: &str) {
    let mut target = Target::new();
    assert_eq!(target.inject(datagram), 0, "{name}");
    assert!(target.knows(announced), "{name}");
    target.check_peer();
}

/// Cases A41 and A42: a malformed DATA is counted, and the announcement sent afterwards is processed. Mutated: cut off
/// or with other octets in its fields it is no more harmful.
#[test]
fn malformed_data_is_counted_and_survived() {
    for id in ["A41", "A42"] {
        let bad = case::datagram(id, "bad.hex");
        check_bad_then_good(id, &bad, 1);
        check_bad_then_good(id, &bad[..bad.len() - 3], 1);
        let mut target = Target::new();
        for place in 20..bad.len() {
            for octet in [0, 1, 0x7f, 0xff] {
                let mut changed = bad.clone();
                changed[place] = octet;
                target.inject(&changed);
            }
        }
        target.check_peer();
    }
}

/// Cases A45 and A47: unknown kinds and empty lengths before an announcement do not hide it. Mutated: a length that
/// passes the end does.
#[test]
fn announcements_after_oddities_are_processed() {
    let expected = case::json("A45", "expected.json");
    let mixed = case::datagram("A45", "mixed.hex");
    check_good("A45", &mixed, expected["participant_discovered"].as_str().unwrap());
    for (file, announced) in case::json("A47", "expected.json").as_object().unwrap() {
        check_good(file, &case::datagram("A47", file), announced.as_str().unwrap());
    }
    let long = case::mutated(&mixed, &[0x80, 0x01, 0x04, 0x00], &[0x80, 0x01, 0x04, 0x04]);
    let mut target = Target::new();
    assert_eq!((target.inject(&long), target.knows(PREFIX)), (1, false));
}

/// Makes the case's writer, 00000103, match the case's reader, 00000104: the target's own.
fn match_puppet(target: &mut Target) {
    assert_eq!(target.reader, EntityId([0, 0, 1, 4]));
    let mut puppet = Puppet::new(prefix());
    let to = target.world.participant(target.target).guid().prefix;
    target.inject(&puppet.announce(Locator::udp_v4([10, 0, 0, 77], 7410)));
    target.inject(&puppet.publish(to, EntityId([0, 0, 1, 3]), "real", &reliable()));
    assert_eq!(target.world.participant(target.target).matched(target.reader).len(), 2);
}

/// What the target answers to a datagram, and what it counted as malformed.
fn answer(target: &mut Target, bytes: &[u8]) -> (puppet::Heard, u64) {
    target.world.tap.clear();
    let malformed = target.inject(bytes);
    let said = target.world.tap.iter().filter(|(from, _)| *from == target.target);
    (hear(said.map(|(_, bytes)| &bytes[..])), malformed)
}

/// Case A50: heartbeats with an impossible range leave a matched reader as it is; an empty history is accepted even
/// with the count that the others claimed. Mutated: a possible range in one of the bad files is accepted as well.
#[test]
fn impossible_heartbeats_leave_a_reader_as_it_is() {
    let expected = case::json("A50", "expected.json");
    let mut files: Vec<_> = expected.as_object().unwrap().iter().collect();
    files.sort_by_key(|(_, answer)| *answer == "accept");
    let mut target = Target::new();
    match_puppet(&mut target);
    let reader = target.reader;
    for (file, expected) in files {
        let (said, malformed) = answer(&mut target, &case::datagram("A50", file));
        let is_accepted = expected == "accept";
        assert_eq!(malformed, u64::from(!is_accepted), "{file}");
        let bases: Vec<_> = said.acknacks.iter().map(|ack| ack.missing.base().0).collect();
        // The file says that samples 1 to 3 are gone: the next one expected is 4.
        assert_eq!(bases, if is_accepted { vec![4] } else { vec![] }, "{file}");
        let participant = target.world.participant(target.target);
        assert_eq!((participant.lost(reader), participant.history_len(reader)), (0, 0), "{file}");
    }
    target.check_peer();
    let last = |number: u8| [0, 0, 0, 0, number, 0, 0, 0, 1, 0, 0, 0];
    let mended = case::mutated(&case::datagram("A50", "hb_rev.hex"), &last(3), &last(12));
    let mut target = Target::new();
    match_puppet(&mut target);
    let (said, malformed) = answer(&mut target, &mended);
    assert_eq!((said.acknacks.len(), malformed), (1, 0));
}

/// Case A52: absurd inline strings do not hurt; the control works. Mutated: an absurd parameter length drops it all.
#[test]
fn absurd_inline_strings_do_not_hurt() {
    for file in ["bad1.hex", "bad2.hex"] {
        check_good(file, &case::datagram("A52", file), PREFIX);
    }
    check_good("control", &case::datagram("A52", "good.hex"), PREFIX);
    let bad = case::datagram("A52", "bad1.hex");
    check_bad_then_good("A52", &case::mutated(&bad, &[0x29, 0, 0x0c, 0], &[0x29, 0, 0xfc, 0xff]), 1);
}

/// What the target believes about the case's participant.
fn believed(datagram: &[u8]) -> (String, Lease, Vec<String>, String) {
    let mut target = Target::new();
    assert_eq!(target.inject(datagram), 0);
    let participant = target.world.participant(target.target);
    let remote =
        participant.remote_participants().find(|remote| remote.data.guid.prefix == prefix()).unwrap();
    let locators = remote.data.metatraffic_unicast.iter().chain(&remote.data.default_unicast);
    (
        remote.data.guid.prefix.to_string(),
        remote.data.lease,
        locators.map(|locator| locator.to_string().replace("udpv4://", "")).collect(),
        format!("{:#x}", remote.data.builtin_endpoints),
    )
}

/// Case A53: both byte orders make the participant believe the same. Mutated: another lease in the big-endian file.
#[test]
fn both_byte_orders_are_believed() {
    let expected = case::json("A53", "expected.json");
    let text = |key: &str| expected[key].as_str().unwrap().to_owned();
    let lease = |seconds| Lease::Finite(Duration::from_secs(seconds));
    let right = (
        text("prefix"),
        lease(expected["lease_s"].as_u64().unwrap()),
        vec![text("metatraffic_unicast"), text("default_unicast")],
        text("builtin_endpoint_set"),
    );
    for file in ["le.hex", "be.hex"] {
        assert_eq!(believed(&case::datagram("A53", file)), right, "{file}");
    }
    let big = case::datagram("A53", "be.hex");
    let changed = case::mutated(&big, &[0, 0x02, 0, 0x08, 0, 0, 0, 20], &[0, 0x02, 0, 0x08, 0, 0, 1, 0x2c]);
    assert_eq!(believed(&changed).1, lease(300));
}

/// Case A56: what is not RTPS 2.x is counted and does nothing, everything else is processed. Mutated: with a major
/// version of 1 or 3, the good ones are refused too.
#[test]
fn only_rtps_2_is_processed() {
    for row in case::json("A56", "datagrams.json").as_array().unwrap() {
        let datagram = case::octets(row["hex"].as_str().unwrap());
        let is_good = row["ok"] == Value::Bool(true);
        let mut target = Target::new();
        assert_eq!(target.inject(&datagram), u64::from(!is_good), "{row}");
        assert_eq!(target.knows(PREFIX), is_good && row.get("note").is_none(), "{row}");
        target.check_peer();
        if is_good {
            for major in [1, 3] {
                let mut changed = datagram.clone();
                changed[4] = major;
                let mut target = Target::new();
                assert_eq!((target.inject(&changed), target.knows(PREFIX)), (1, false), "{row}");
            }
        }
    }
}
