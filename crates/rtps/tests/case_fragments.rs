//! Cases of samples larger than a datagram: fragment counts (A38) and lost fragments (A40).
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;
mod puppet;
mod world;

use puppet::{Heard, Puppet, gap_to, hear, heartbeat};
use rtps::message::{DataFrag, InlineQos, Payload};
use rtps::qos::Qos;
use rtps::{
    EntityId, FragmentNumber, GuidPrefix, Locator, ParticipantConfig, SequenceNumber, fragment_total,
};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;
use world::{World, best_effort, reliable};

/// Octets that differ from place to place.
fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (place % 251).to_le_bytes()[0]).collect()
}

/// One row of A38: sends a sample of this size, drops some of its first datagrams, and returns how many fragments the
/// first send had. Checks that the sample arrives intact and that only fragments repair it.
fn send_with_losses(fragment_size: u16, bytes: usize) -> usize {
    let mut world = World::new(38);
    let configs: Vec<_> =
        (1..=2).map(|host| ParticipantConfig { fragment_size, ..world.config(host) }).collect();
    let [a, b] = configs.map_to(|config| world.add_configured(config));
    let writer = world.writer(a, "t", &reliable());
    let reader = world.reader(b, "t", &reliable());
    world.run_for(Duration::from_secs(1));
    world.is_tapped = true;
    // Drops every seventh sample datagram of the first send; remembers all of it.
    let first_send = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&first_send);
    let dropped = Rc::new(RefCell::new(0));
    let drops = Rc::clone(&dropped);
    let mut known = BTreeSet::new();
    world.filter = Some(Box::new(move |from, bytes| {
        let heard = hear([bytes]);
        if from != a || (heard.samples.is_empty() && heard.fragments.is_empty()) {
            return false;
        }
        let is_first = known.insert((heard.samples.clone(), heard.fragments.clone()));
        if is_first {
            seen.borrow_mut().push(heard);
        }
        let is_dropped = is_first && seen.borrow().len() % 7 == 1;
        *drops.borrow_mut() += usize::from(is_dropped);
        is_dropped
    }));
    let sent = payload(bytes);
    world.write(a, writer, &sent);
    world.run_for(Duration::from_secs(30));
    let taken = world.take_all(b, reader);
    let [arrived] = &taken[..] else { panic!("{bytes} octets arrived {} times", taken.len()) };
    // A whole sample may arrive with the padding of its submessage, up to 3 octets.
    assert!(arrived.starts_with(&sent) && arrived.len() < bytes + 4, "{bytes} octets arrive intact");
    let first_send: Vec<Heard> = first_send.take();
    let all = hear(world.tap.iter().filter(|(from, _)| *from == a).map(|(_, bytes)| &bytes[..]));
    assert!(*dropped.borrow() > 0, "{bytes}: something was to be repaired");
    if bytes > usize::from(fragment_size) {
        assert!(all.samples.is_empty(), "{bytes}: first send and every repair use fragments");
    } else {
        assert!(all.fragments.is_empty(), "{bytes}: one datagram is enough");
    }
    // The tap has what the filter let through: all of the first send but the dropped, and the repairs.
    assert!(all.fragments.len() + all.samples.len() >= first_send.len(), "{bytes}: the lost were repaired");
    first_send.len()
}

/// Maps the two configurations of a pair.
trait MapTo<T> {
    fn map_to<U>(self, map: impl FnMut(T) -> U) -> [U; 2];
}

impl<T> MapTo<T> for Vec<T> {
    fn map_to<U>(self, map: impl FnMut(T) -> U) -> [U; 2] {
        self.into_iter().map(map).collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("not a pair"))
    }
}

fn check_sizes(sizes: &Value) {
    let fragment_size = u16::try_from(sizes["fragment_size"].as_u64().unwrap()).unwrap();
    for row in sizes["cases"].as_array().unwrap() {
        let bytes = usize::try_from(row["bytes"].as_u64().unwrap()).unwrap();
        let fragments = row["fragments"].as_u64().unwrap();
        assert_eq!(u64::from(fragment_total(bytes, fragment_size)), fragments, "{row}");
        assert_eq!(send_with_losses(fragment_size, bytes) as u64, fragments, "{row}");
    }
}

/// Case A38: each size has its fragments, and is repaired by fragments.
#[test]
fn large_samples_travel_in_fragments() {
    check_sizes(&case::json("A38", "sizes.json"));
}

/// Case A38, mutated: with another fragment size the counts are others.
#[test]
fn another_fragment_size_gives_other_counts() {
    let cases = json!([{ "bytes": 1345, "fragments": 1 }, { "bytes": 66000, "fragments": 48 }]);
    check_sizes(&json!({ "fragment_size": 1400, "cases": cases }));
}

const WRITER: EntityId = EntityId::user_writer(5, false);
const FRAGMENT_SIZE: u16 = 100;

/// A reader matched with a puppet's writer.
struct Lossy {
    world: World,
    host: usize,
    reader: EntityId,
    puppet: Puppet,
}

impl Lossy {
    fn new(qos: &Qos) -> Self {
        let mut world = World::new(40);
        let host = world.add();
        let reader = world.reader(host, "t", qos);
        let mut puppet = Puppet::new(GuidPrefix([7; 12]));
        let to = world.participant(host).guid().prefix;
        world.inject(host, &puppet.announce(Locator::udp_v4([10, 0, 0, 77], 7410)));
        world.inject(host, &puppet.publish(to, WRITER, "t", qos));
        assert_eq!(world.participant(host).matched(reader).len(), 1);
        world.is_tapped = true;
        Self { world, host, reader, puppet }
    }

    /// Sends one fragment; returns nothing that was said, for nothing is to be said to a fragment.
    fn fragment(&mut self, sequence: u64, sample: &[u8], number: u32) {
        let start = (number as usize - 1) * usize::from(FRAGMENT_SIZE);
        let end = sample.len().min(start + usize::from(FRAGMENT_SIZE));
        let fragment = DataFrag {
            reader: EntityId::UNKNOWN,
            writer: WRITER,
            sequence: SequenceNumber(sequence),
            first_fragment: FragmentNumber(number),
            fragment_count: 1,
            fragment_size: FRAGMENT_SIZE,
            sample_size: u32::try_from(sample.len()).unwrap(),
            inline_qos: None,
            is_key: false,
            bytes: &sample[start..end],
        };
        let bytes = self.puppet.message(|message| message.data_frag(&fragment, &InlineQos::default()));
        self.world.inject(self.host, &bytes);
    }

    /// Sends a heartbeat about one sample; returns what was answered.
    fn ask(&mut self, first: u64, last: u64, count: u32) -> Heard {
        self.world.tap.clear();
        let bytes = self.puppet.message(|message| message.heartbeat(&heartbeat(WRITER, first, last, count)));
        self.world.inject(self.host, &bytes);
        hear(self.world.tap.iter().map(|(_, bytes)| &bytes[..]))
    }

    fn taken(&mut self) -> Vec<Vec<u8>> {
        self.world.take_all(self.host, self.reader)
    }
}

fn number_of(case: &Value, key: &str) -> u64 {
    case[key].as_u64().unwrap_or_else(|| panic!("no {key} in {case}"))
}

fn received(case: &Value) -> Vec<u32> {
    case["received"].as_array().unwrap().iter().map(|n| u32::try_from(n.as_u64().unwrap()).unwrap()).collect()
}

/// The reliable half of A40.
fn check_reliable(case: &Value) {
    let (sequence, total) = (number_of(case, "writer_sn"), number_of(case, "fragments_total"));
    let sample = payload(usize::try_from(total).unwrap() * usize::from(FRAGMENT_SIZE) - 30);
    let mut lossy = Lossy::new(&reliable());
    let begin = lossy.puppet.message(|message| message.gap(&gap_to(WRITER, sequence)));
    lossy.world.inject(lossy.host, &begin);
    for number in received(case) {
        lossy.fragment(sequence, &sample, number);
    }
    let said = lossy.ask(sequence, sequence, 1);
    let [nack] = &said.nackfrags[..] else { panic!("not one request: {said:?}") };
    let expected = &case["expect"];
    assert_eq!(nack.sequence.0, sequence);
    assert_eq!(u64::from(nack.missing.base().0), number_of(expected, "base"));
    assert_eq!(u64::from(nack.missing.bit_count()), number_of(expected, "numBits"));
    let words: Vec<_> = nack.missing.words().map(|word| format!("{word:#010x}")).collect();
    assert_eq!(words, case::strings(&expected["bitmap"]));
    let is_unacknowledged = |said: &Heard| said.acknacks.iter().all(|ack| ack.missing.base().0 <= sequence);
    assert!(
        is_unacknowledged(&said) && lossy.taken().is_empty(),
        "not complete: neither acknowledged nor given"
    );
    for number in nack.missing.iter().map(|number| number.0).chain([1, 2]) {
        lossy.fragment(sequence, &sample, number);
    }
    assert!(lossy.taken() == [sample], "exactly one sample after the repair");
    let said = lossy.ask(sequence, sequence, 2);
    assert_eq!(said.acknacks.iter().map(|ack| ack.missing.base().0).collect::<Vec<_>>(), [sequence + 1]);
    assert!(said.nackfrags.is_empty());
}

/// The best-effort half of A40: the next sample ends the wait.
fn check_best_effort(case: &Value) {
    let (sequence, total) = (number_of(case, "writer_sn"), number_of(case, "fragments_total"));
    let sample = payload(usize::try_from(total).unwrap() * usize::from(FRAGMENT_SIZE));
    let mut lossy = Lossy::new(&best_effort());
    for number in received(case) {
        lossy.fragment(sequence, &sample, number);
    }
    assert!(lossy.ask(sequence, sequence, 1).nackfrags.is_empty(), "best effort asks for nothing");
    assert_eq!(lossy.taken().len() as u64, number_of(&case["best_effort"], "delivered"));
    let next = lossy.puppet.message(|message| {
        message.data(
            EntityId::UNKNOWN,
            WRITER,
            SequenceNumber(sequence + 1),
            &InlineQos::default(),
            Payload::Data(&[0, 1, 0, 0]),
        );
    });
    lossy.world.inject(lossy.host, &next);
    let taken = lossy.taken();
    assert!(taken == [[0, 1, 0, 0]], "only the next sample");
    let (host, reader) = (lossy.host, lossy.reader);
    assert_eq!(lossy.world.participant(host).lost(reader), number_of(&case["best_effort"], "lost"));
}

/// Case A40: the lost fragments, and only they, are asked for; an incomplete sample is never given to anybody.
#[test]
fn lost_fragments_are_asked_for() {
    let case = case::json("A40", "nack.json");
    check_reliable(&case);
    check_best_effort(&case);
}

/// Case A40, mutated: other losses give another request.
#[test]
fn other_losses_give_another_request() {
    let case = json!({
        "writer_sn": 4, "fragments_total": 40, "received": [2, 3, 40],
        "expect": { "base": 1, "numBits": 39, "bitmap": ["0x9fffffff", "0xfe000000"] },
        "best_effort": { "delivered": 0, "lost": 1 },
    });
    check_reliable(&case);
    check_best_effort(&case);
}
