//! The discovery relay: participants that announce themselves to it only find whom they need, and nobody else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod puppet;
mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use puppet::Puppet;
use rtps::message::{MessageReader, Submessage};
use rtps::{EntityId, Event, GuidPrefix, Locator, ParticipantConfig};
use world::{World, number, numbers, reliable};

const SECOND: Duration = Duration::from_secs(1);

/// Where a relay is that was added as the first host.
const RELAY: Locator = Locator::udp_v4([10, 0, 0, 1], 7410);

fn relay(world: &mut World) -> usize {
    let config = ParticipantConfig { is_relay: true, announce_to: Vec::new(), ..world.config(1) };
    world.add_configured(config)
}

fn client(world: &mut World, host: u8) -> usize {
    let config = ParticipantConfig { announce_to: vec![RELAY], ..world.config(host) };
    world.add_configured(config)
}

fn known(world: &mut World, host: usize) -> BTreeSet<GuidPrefix> {
    world.participant(host).remote_participants().map(|remote| remote.data.guid.prefix).collect()
}

fn prefix(world: &mut World, host: usize) -> GuidPrefix {
    world.participant(host).guid().prefix
}

/// A world with a relay and pairs of participants, one writing a topic that the other reads.
fn pairs(seed: u64, count: u8) -> (World, usize, Vec<[(usize, EntityId); 2]>) {
    let mut world = World::new(seed);
    let relay = relay(&mut world);
    let pairs = (0..count).map(|pair| {
        let topic = format!("t{pair}");
        let (one, other) = (client(&mut world, 2 + 2 * pair), client(&mut world, 3 + 2 * pair));
        [(one, world.writer(one, &topic, &reliable())), (other, world.reader(other, &topic, &reliable()))]
    });
    let pairs = pairs.collect();
    (world, relay, pairs)
}

/// Each participant learns of the relay and of those it shares a topic with, at once, and of nobody else; they exchange
/// data and stay known to each other for many leases, also when the relay is gone.
#[test]
fn those_with_a_common_topic_are_introduced() {
    let (mut world, relay, pairs) = pairs(1, 12);
    let start = world.now;
    let is_done = |world: &mut World| {
        pairs.iter().flatten().all(|(host, endpoint)| world.participant(*host).matched(*endpoint).len() == 1)
    };
    assert!(world.run_until(start + SECOND, is_done));
    world.run_for(SECOND * 5);
    assert_eq!(known(&mut world, relay).len(), 24);
    let relay_prefix = prefix(&mut world, relay);
    for [(one, _), (other, _)] in &pairs {
        for (host, peer) in [(*one, *other), (*other, *one)] {
            let expected = BTreeSet::from([relay_prefix, prefix(&mut world, peer)]);
            assert_eq!(known(&mut world, host), expected);
        }
    }
    // Each was introduced to one other: once, and again with the few announcements after that.
    let relayed = world.participant(relay).statistics().announcements_relayed;
    assert!((24..=24 * 5).contains(&relayed), "{relayed}");
    world.kill(relay);
    world.run_for(SECOND * 200);
    for [(one, writer), (other, reader)] in &pairs {
        world.write(*one, *writer, &number(7));
        world.run_for(Duration::from_millis(10));
        assert_eq!(numbers(&world.take_all(*other, *reader)), [7]);
        assert_eq!(known(&mut world, *one).len(), 1, "the relay's lease is over, the peer's is not");
    }
}

/// Who comes later, begins to share a topic later, or loses datagrams is introduced all the same; who leaves is gone.
#[test]
fn introductions_follow_what_happens() {
    let (mut world, _, pairs) = pairs(2, 4);
    world.faults.loss = 20;
    world.run_for(SECOND * 20);
    let late = client(&mut world, 90);
    let reader = world.reader(late, "t3", &reliable());
    world.run_for(SECOND * 20);
    assert_eq!(world.participant(late).matched(reader).len(), 1);
    let (first, _) = pairs[0][0];
    let writer = world.writer(first, "t3", &reliable());
    world.run_for(SECOND * 20);
    assert_eq!(world.participant(late).matched(reader).len(), 2);
    assert_eq!(world.participant(first).matched(writer).len(), 2);
    world.faults.loss = 0;
    let now = world.now;
    world.participant(first).close(now);
    world.run_for(SECOND);
    assert_eq!(world.participant(late).matched(reader).len(), 1);
}

/// A relay that starts after its clients serves them, and one that starts again too.
#[test]
fn a_relay_may_come_late() {
    let mut world = World::new(3);
    let first = relay(&mut world);
    world.kill(first);
    let (one, other) = (client(&mut world, 2), client(&mut world, 3));
    let (writer, _) = (world.writer(one, "t", &reliable()), world.reader(other, "t", &reliable()));
    world.run_for(SECOND * 30);
    assert_eq!(world.participant(one).matched(writer).len(), 0);
    let second = relay(&mut world);
    world.run_for(SECOND * 12);
    assert_eq!(world.participant(one).matched(writer).len(), 1);
    world.kill(second);
    world.run_for(SECOND * 60);
    relay(&mut world);
    let late = client(&mut world, 4);
    let reader = world.reader(late, "t", &reliable());
    world.run_for(SECOND * 12);
    assert_eq!(world.participant(late).matched(reader).len(), 1);
}

/// What the relay sends to one participant in the name of another.
fn introduced(world: &World, of: GuidPrefix, to: GuidPrefix) -> usize {
    let is_introduction = |(host, bytes): &&(usize, Vec<u8>)| {
        let (header, submessages) = MessageReader::new(bytes).unwrap();
        let is_to =
            |submessage| matches!(submessage, Ok(Submessage::InfoDestination(prefix)) if prefix == to);
        *host == 0 && header.prefix == of && submessages.into_iter().any(is_to)
    };
    world.tap.iter().filter(is_introduction).count()
}

/// Participants of other vendors announce themselves to the relay only: it sends their announcements on as long as they
/// do, and their goodbye. One that never answers is introduced to nobody.
#[test]
fn foreign_participants_are_kept_known() {
    for answers in [true, false] {
        let mut world = World::new(4);
        world.is_tapped = true;
        let relay = relay(&mut world);
        let host = client(&mut world, 2);
        let reader = world.reader(host, "t", &reliable());
        world.run_for(SECOND);
        let (relay_prefix, to) = (prefix(&mut world, relay), prefix(&mut world, host));
        let mut puppet = Puppet::new(GuidPrefix([9; 12]));
        let at = Locator::udp_v4([10, 0, 0, 99], 7410);
        world.inject(relay, &puppet.announce(at));
        // Without being addressed, an endpoint's announcement does not show that its participant hears the relay.
        let addressed = if answers { relay_prefix } else { GuidPrefix::UNKNOWN };
        let bytes = puppet.publish(addressed, EntityId::user_writer(1, false), "t", &reliable());
        world.inject(relay, &bytes);
        for _ in 0..20 {
            world.run_for(SECOND * 10);
            world.inject(relay, &puppet.announce(at));
        }
        world.run_for(SECOND);
        let seen = introduced(&world, puppet.prefix, to);
        if !answers {
            assert_eq!(seen, 0);
            continue;
        }
        assert!((20..=25).contains(&seen), "{seen}");
        assert!(known(&mut world, host).contains(&puppet.prefix), "known for far longer than its lease");
        assert_eq!(world.participant(host).matched(reader).len(), 0, "it never spoke to us");
        world.inject(relay, &puppet.leave());
        world.run_for(SECOND);
        assert!(!known(&mut world, host).contains(&puppet.prefix));
        let is_loss = |event: &Event| matches!(event, Event::ParticipantLost { .. });
        assert_eq!(world.events(host).iter().filter(|event| is_loss(event)).count(), 1);
    }
}
