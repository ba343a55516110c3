//! The cases that are datagrams, as far as reading them goes: what is malformed, what is skipped, which announcement
//! comes out (A41, A42, A45, A47, A50, A52, A53, A56).
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;

use rtps::discovery::data::{DiscoveryDataError, ParticipantData};
use rtps::message::{HeaderError, Heartbeat, Malformed, MessageReader, Payload, Submessage};
use rtps::parameter::pid;
use rtps::{EntityId, GuidPrefix, Lease};
use serde_json::Value;
use std::time::Duration;

/// What a datagram holds.
#[derive(Debug, Default)]
struct Outcome {
    participants: Vec<Result<ParticipantData, DiscoveryDataError>>,
    heartbeats: Vec<Heartbeat>,
    unknown: Vec<u8>,
    /// Identifiers of inline parameters.
    inline: Vec<u16>,
    malformed: Option<Malformed>,
}

impl Outcome {
    /// The prefixes of the participants that were announced.
    fn prefixes(&self) -> Vec<String> {
        let found = self.participants.iter().filter_map(|data| data.as_ref().ok());
        found.map(|data| data.guid.prefix.to_string()).collect()
    }

    fn only_participant(&self) -> &ParticipantData {
        let [Ok(data)] = &self.participants[..] else { panic!("not one participant: {self:?}") };
        data
    }
}

/// Reads a datagram to its end or to its first malformed submessage.
fn read(datagram: &[u8]) -> Result<Outcome, HeaderError> {
    let (_, mut reader) = MessageReader::new(datagram)?;
    let mut outcome = Outcome::default();
    for submessage in reader.by_ref() {
        match submessage {
            Ok(Submessage::Data(data)) => {
                outcome.inline.extend(data.inline_qos.iter().flat_map(|list| list.iter().map(|(id, _)| id)));
                if let (EntityId::SPDP_WRITER, Payload::Data(payload)) = (data.writer, data.payload) {
                    outcome.participants.push(ParticipantData::decode(payload));
                }
            }
            Ok(Submessage::Heartbeat(heartbeat)) => outcome.heartbeats.push(heartbeat),
            Ok(Submessage::Unknown(kind)) => outcome.unknown.push(kind),
            Ok(_) => {}
            Err(malformed) => outcome.malformed = Some(malformed),
        }
    }
    assert!(reader.next().is_none(), "nothing follows the end");
    Ok(outcome)
}

fn read_file(id: &str, file: &str) -> Outcome {
    read(&case::datagram(id, file)).unwrap()
}

/// The well-formed announcement that accompanies a case, and the same from another participant.
fn check_control(id: &str, file: &str, prefix: &str) {
    let datagram = case::datagram(id, file);
    let outcome = read(&datagram).unwrap();
    assert_eq!((outcome.prefixes(), outcome.malformed), (vec![prefix.to_owned()], None), "{id}/{file}");
    let mut renamed = datagram.clone();
    let guid = [&case::octets(prefix)[..], &EntityId::PARTICIPANT.0].concat();
    let place = (0..datagram.len()).find(|at| datagram[*at..].starts_with(&guid)).unwrap();
    renamed[place] ^= 0xff;
    let other = format!("{:02x}{}", datagram[place] ^ 0xff, &prefix[2..]);
    assert_eq!(read(&renamed).unwrap().prefixes(), [other], "{id}/{file} renamed");
}

fn text<'a>(expected: &'a Value, key: &str) -> &'a str {
    expected[key].as_str().unwrap_or_else(|| panic!("no {key} in {expected}"))
}

/// Case A41: flags that need more than the length gives make the submessage malformed.
#[test]
fn data_shorter_than_its_flags_is_malformed() {
    let expected = case::json("A41", "expected.json");
    assert_eq!(text(&expected, "bad.hex"), "drop");
    let bad = read_file("A41", "bad.hex");
    assert_eq!((bad.prefixes().len(), bad.malformed.map(|m| m.kind)), (0, Some(0x15)));
    check_control("A41", "good.hex", text(&expected, "guid_prefix"));
}

/// Case A41, mutated: with flags that need no more than the length gives, the submessage is read.
#[test]
fn data_as_long_as_its_flags_is_read() {
    let mended = case::mutated(&case::datagram("A41", "bad.hex"), &[0x15, 0x0b], &[0x15, 0x09]);
    assert_eq!(read(&mended).unwrap().malformed, None);
}

/// Case A42: an offset that points back into the header makes the submessage malformed.
#[test]
fn inline_qos_offset_into_the_header_is_malformed() {
    let bad = read_file("A42", "bad.hex");
    assert_eq!((bad.prefixes().len(), bad.malformed.map(|m| m.kind)), (0, Some(0x15)));
    check_control("A42", "good.hex", "0102030405060708090a0b0c");
}

/// Case A42, mutated: every offset below the fixed fields or beyond the end is malformed, the right one is read.
#[test]
fn only_offsets_past_the_fixed_fields_are_read() {
    let good = case::datagram("A42", "good.hex");
    let place = (0..good.len()).find(|at| good[*at..].starts_with(&[0x15, 0x05])).unwrap() + 6;
    for offset in 0..=u16::MAX {
        let mut changed = good.clone();
        changed[place..place + 2].copy_from_slice(&offset.to_le_bytes());
        let outcome = read(&changed).unwrap();
        assert_eq!(outcome.prefixes().is_empty(), offset != 16, "offset {offset}");
        assert_eq!(outcome.malformed.is_some(), !(16..=132).contains(&offset), "offset {offset}");
    }
}

/// Case A45: unknown and vendor submessages are skipped by their length.
#[test]
fn unknown_submessages_are_skipped() {
    let expected = case::json("A45", "expected.json");
    let outcome = read_file("A45", "mixed.hex");
    assert_eq!(outcome.unknown, [0x34, 0x30, 0x80, 0x31]);
    check_control("A45", "mixed.hex", text(&expected, "participant_discovered"));
}

/// Case A45, mutated: another unknown kind is skipped as well; one whose length passes the end is malformed.
#[test]
fn unknown_submessages_beyond_the_end_are_malformed() {
    let datagram = case::datagram("A45", "mixed.hex");
    let renamed = read(&case::mutated(&datagram, &[0x31, 0x01, 0x04], &[0x7f, 0x01, 0x04])).unwrap();
    assert_eq!((renamed.unknown, renamed.participants.len()), (vec![0x34, 0x30, 0x80, 0x7f], 1));
    let long = read(&case::mutated(&datagram, &[0x80, 0x01, 0x04, 0x00], &[0x80, 0x01, 0x04, 0x04])).unwrap();
    assert_eq!((long.malformed.map(|m| m.kind), long.participants.len()), (Some(0x80), 0));
}

/// Case A47: length zero means "to the end" for a last DATA and "empty" for PAD.
#[test]
fn length_zero_depends_on_the_kind() {
    for (file, prefix) in case::json("A47", "expected.json").as_object().unwrap() {
        check_control("A47", file, prefix.as_str().unwrap());
    }
}

/// Case A47, mutated: length zero in a kind that takes the rest swallows the announcement.
#[test]
fn length_zero_swallows_the_rest_elsewhere() {
    let datagram = case::datagram("A47", "pad_zero.hex");
    let unknown = read(&case::mutated(&datagram, &[1, 1, 0, 0, 0x15], &[0x7f, 1, 0, 0, 0x15])).unwrap();
    assert_eq!((unknown.unknown, unknown.participants.len()), (vec![0x7f], 0));
}

/// Case A50: heartbeats with an impossible range are malformed, an empty history is not.
#[test]
fn heartbeats_need_a_possible_range() {
    for (file, answer) in case::json("A50", "expected.json").as_object().unwrap() {
        let outcome = read_file("A50", file);
        let is_accepted = outcome.heartbeats.len() == 1 && outcome.malformed.is_none();
        assert_eq!(is_accepted, answer.as_str() == Some("accept"), "{file}: {outcome:?}");
        assert_eq!(outcome.malformed.is_some(), answer.as_str() == Some("ignore"), "{file}: {outcome:?}");
    }
}

/// Case A50, mutated: one number less turns the empty history into an impossible one, and more turns the impossible
/// range into a possible one.
#[test]
fn heartbeat_ranges_decide_alone() {
    let last = |number: u8| [0, 0, 0, 0, number, 0, 0, 0, 1, 0, 0, 0];
    let empty = case::datagram("A50", "hb_empty_ok.hex");
    assert!(read(&case::mutated(&empty, &last(3), &last(2))).unwrap().malformed.is_some());
    let reversed = case::datagram("A50", "hb_rev.hex");
    let mended = read(&case::mutated(&reversed, &last(3), &last(12))).unwrap();
    assert_eq!(mended.heartbeats.iter().map(|h| (h.first.0, h.last.0)).collect::<Vec<_>>(), [(10, 12)]);
}

/// Case A52: inline strings of absurd length are not looked into; the announcement that they came with is read.
#[test]
fn absurd_inline_strings_do_no_harm() {
    for (file, id) in [("bad1.hex", pid::PARTITION), ("bad2.hex", pid::TOPIC_NAME)] {
        assert_eq!(read_file("A52", file).inline, [id], "{file}");
        check_control("A52", file, "0102030405060708090a0b0c");
    }
    check_control("A52", "good.hex", "0102030405060708090a0b0c");
}

/// Case A52, mutated: when the parameter's own length passes the end, the submessage is malformed.
#[test]
fn absurd_inline_parameters_are_malformed() {
    let datagram = case::datagram("A52", "bad1.hex");
    let outcome = read(&case::mutated(&datagram, &[0x29, 0, 0x0c, 0], &[0x29, 0, 0xfc, 0xff])).unwrap();
    assert_eq!((outcome.malformed.map(|m| m.kind), outcome.participants.len()), (Some(0x15), 0));
}

/// Case A53: both byte orders announce the same participant.
#[test]
fn both_byte_orders_announce_the_same() {
    let expected = case::json("A53", "expected.json");
    for file in ["le.hex", "be.hex"] {
        let outcome = read_file("A53", file);
        let data = outcome.only_participant();
        assert_eq!(data.guid.prefix.to_string(), text(&expected, "prefix"), "{file}");
        assert_eq!(data.lease, Lease::Finite(Duration::from_secs(expected["lease_s"].as_u64().unwrap())));
        for (locators, key) in
            [(&data.metatraffic_unicast, "metatraffic_unicast"), (&data.default_unicast, "default_unicast")]
        {
            let [locator] = locators[..] else { panic!("{file}: {locators:?}") };
            assert_eq!(locator.to_string(), format!("udpv4://{}", text(&expected, key)), "{file}");
        }
        let endpoints = format!("{:#x}", data.builtin_endpoints);
        assert_eq!(endpoints, text(&expected, "builtin_endpoint_set"), "{file}");
        check_control("A53", file, text(&expected, "prefix"));
    }
    assert_eq!(read_file("A53", "le.hex").only_participant(), read_file("A53", "be.hex").only_participant());
}

/// Case A53, mutated: another lease and another port come out of both byte orders alike.
#[test]
fn both_byte_orders_carry_the_numbers() {
    let little = case::datagram("A53", "le.hex");
    let little = case::mutated(&little, &[0x02, 0, 0x08, 0, 20, 0, 0, 0], &[0x02, 0, 0x08, 0, 0x2c, 1, 0, 0]);
    let little = case::mutated(&little, &[0xf2, 0x1c, 0, 0], &[0xf4, 0x1c, 0, 0]);
    let big = case::datagram("A53", "be.hex");
    let big = case::mutated(&big, &[0, 0x02, 0, 0x08, 0, 0, 0, 20], &[0, 0x02, 0, 0x08, 0, 0, 1, 0x2c]);
    let big = case::mutated(&big, &[0, 0, 0x1c, 0xf2], &[0, 0, 0x1c, 0xf4]);
    let (little, big) = (read(&little).unwrap(), read(&big).unwrap());
    assert_eq!(little.only_participant(), big.only_participant());
    let data = little.only_participant();
    assert_eq!(data.lease, Lease::Finite(Duration::from_secs(300)));
    assert_eq!(data.metatraffic_unicast[0].port, 7412);
}

/// Case A56: only RTPS 2.x is read, whatever the minor version.
#[test]
fn only_rtps_2_headers_are_read() {
    for row in case::json("A56", "datagrams.json").as_array().unwrap() {
        let outcome = read(&case::octets(text(row, "hex")));
        assert_eq!(outcome.is_ok(), row["ok"].as_bool().unwrap(), "{row}");
        assert!(outcome.is_err() || row.get("note").is_some() || outcome.unwrap().participants.len() == 1);
    }
}

/// Case A56, mutated: with a changed first octet or major version nothing is read; with another minor version all is.
#[test]
fn changed_headers_are_refused() {
    for row in case::json("A56", "datagrams.json").as_array().unwrap() {
        if row["ok"] == false {
            continue;
        }
        let datagram = case::octets(text(row, "hex"));
        for (place, octet) in [(0, b'r'), (3, b'X'), (4, 1), (4, 3), (4, 0xff)] {
            let mut changed = datagram.clone();
            changed[place] = octet;
            assert!(MessageReader::new(&changed).is_err(), "{place} {octet}");
        }
        let mut newer = datagram.clone();
        newer[5] = 0xff;
        let (header, _) = MessageReader::new(&newer).unwrap();
        assert_eq!(
            (header.version, header.prefix),
            ([2, 0xff], GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]))
        );
        assert_eq!(read(&newer).unwrap().prefixes(), read(&datagram).unwrap().prefixes());
    }
}
