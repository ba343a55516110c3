//! What changes while participants live: a peer's address, a foreign source within a datagram, settings at their ends,
//! and closing.

mod puppet;
mod world;

use std::time::Duration;

use puppet::{Puppet, hear};
use rtps::message::{InlineQos, MessageReader, Payload, Submessage};
use rtps::qos::Qos;
use rtps::{EntityId, GuidPrefix, Locator, Participant, SequenceNumber, Timing, WireTime, WriteSample};
use world::{World, best_effort, number, reliable};

const SECOND: Duration = Duration::from_secs(1);

/// Everything that waits to be sent: destinations and bytes.
fn drain(participant: &mut Participant) -> Vec<(Vec<Locator>, Vec<u8>)> {
    std::iter::from_fn(|| participant.poll_transmit()).map(|datagram| (datagram.to, datagram.bytes)).collect()
}

/// A participant alone, with a writer that a puppet at `locator` reads, and a reader that it writes to.
fn with_puppet(locator: Locator, qos: &Qos) -> (World, Puppet, EntityId, EntityId) {
    let mut world = World::new(1);
    let host = world.add();
    let (writer, reader) = (world.writer(host, "t", qos), world.reader(host, "u", qos));
    let mut puppet = Puppet::new(GuidPrefix([9; 12]));
    let prefix = world.participant(host).guid().prefix;
    world.inject(host, &puppet.announce(locator));
    world.inject(host, &puppet.publish(prefix, EntityId::user_reader(1, false), "t", qos));
    world.inject(host, &puppet.publish(prefix, EntityId::user_writer(2, false), "u", qos));
    assert_eq!(world.participant(host).matched(writer).len(), 1);
    assert_eq!(world.participant(host).matched(reader).len(), 1);
    world.run_for(SECOND);
    (world, puppet, writer, reader)
}

/// A participant that announces another address is reached there from then on, by discovery and by data.
#[test]
fn a_new_address_of_a_participant_is_taken() {
    let (old, new) = (Locator::udp_v4([10, 0, 0, 8], 7000), Locator::udp_v4([10, 0, 0, 9], 8000));
    for qos in [best_effort(), reliable()] {
        let (mut world, mut puppet, writer, _) = with_puppet(old, &qos);
        world.inject(0, &puppet.announce(new));
        // Little goes there before somebody there has answered what was sent there.
        let prefix = world.participant(0).guid().prefix;
        world.inject(0, &puppet.publish(prefix, EntityId::user_reader(1, false), "t", &qos));
        let now = world.now;
        let participant = world.participant(0);
        let payload = number(1);
        participant.write(now, writer, WriteSample { payload: &payload, ..Default::default() }).unwrap();
        participant.create_writer(now, world::endpoint("another", &qos)).unwrap();
        participant.handle_timeout(now + SECOND);
        let sent = drain(participant);
        let hears = |locator| sent.iter().filter(|(to, _)| to.contains(&locator)).count();
        assert_eq!(hears(old), 0, "{sent:?}");
        assert!(hears(new) >= 2, "data and discovery: {sent:?}");
    }
}

/// An endpoint that announces another address is reached there, and keeps what it has acknowledged.
#[test]
fn a_new_address_of_an_endpoint_is_taken() {
    let (old, new) = (Locator::udp_v4([10, 0, 0, 8], 7000), Locator::udp_v4([10, 0, 0, 9], 8000));
    let (mut world, mut puppet, writer, reader) = with_puppet(old, &reliable());
    let prefix = world.participant(0).guid().prefix;
    for (entity, topic) in [(EntityId::user_reader(1, false), "t"), (EntityId::user_writer(2, false), "u")] {
        let announcement = puppet.publish_at(prefix, entity, topic, &reliable(), vec![new]);
        world.inject(0, &announcement);
    }
    let events = world.events(0);
    assert!(!events.iter().any(|event| matches!(event, rtps::Event::Unmatched { .. })), "{events:?}");
    let now = world.now;
    let participant = world.participant(0);
    assert_eq!((participant.matched(writer).len(), participant.matched(reader).len()), (1, 1));
    let payload = number(1);
    participant.write(now, writer, WriteSample { payload: &payload, ..Default::default() }).unwrap();
    let from = Locator::udp_v4([10, 0, 0, 9], 8000);
    let asking = puppet.message(|message| {
        message.info_destination(prefix);
        message.heartbeat(&puppet::heartbeat(EntityId::user_writer(2, false), 1, 0, 50));
    });
    participant.handle_datagram(now, from, &asking);
    let sent = drain(participant);
    let data = hear(sent.iter().filter(|(to, _)| *to == [new]).map(|(_, bytes)| bytes.as_slice()));
    assert_eq!((data.samples.len(), data.acknacks.len()), (1, 1), "{sent:?}");
}

/// After it has said goodbye a participant says nothing more, whatever still arrives: peers would believe that it is
/// back.
#[test]
fn a_closed_participant_is_silent() {
    let address = Locator::udp_v4([10, 0, 0, 8], 7000);
    let (mut world, puppet, writer, _) = with_puppet(address, &reliable());
    let now = world.now;
    let payload = number(1);
    let sample = WriteSample { payload: &payload, ..WriteSample::default() };
    let participant = world.participant(0);
    participant.write(now, writer, sample).unwrap();
    participant.close(now);
    assert!(!drain(participant).is_empty());
    participant.handle_datagram(now, address, &puppet.announce(address));
    participant.handle_datagram(now, address, &Puppet::new(GuidPrefix([7; 12])).announce(address));
    participant.handle_timeout(now + SECOND * 20);
    assert_eq!(drain(participant), []);
    assert_eq!(participant.poll_timeout(), units::Instant::MAX);
}

/// A time stamp belongs to the source that was named before it (RTPS, InfoSource, change in state of the
/// receiver): another source has none.
#[test]
fn another_source_ends_the_time_stamp() {
    let (mut world, _, _, reader) = with_puppet(Locator::udp_v4([10, 0, 0, 8], 7000), &best_effort());
    let relay = Puppet::new(GuidPrefix([5; 12]));
    let payload = number(1);
    let mut bytes = relay.message(|message| message.info_timestamp(WireTime { seconds: 7, fraction: 0 }));
    bytes.extend_from_slice(&[0x0c, 1, 20, 0, 0, 0, 0, 0, 2, 3, 1, 0x10]);
    bytes.extend_from_slice(&[9; 12]);
    rtps::message::MessageWriter::append(&mut bytes).data(
        EntityId::UNKNOWN,
        EntityId::user_writer(2, false),
        SequenceNumber(1),
        &InlineQos::default(),
        Payload::Data(&payload),
    );
    assert!(MessageReader::new(&bytes).unwrap().1.any(|it| matches!(it, Ok(Submessage::InfoSource { .. }))));
    world.inject(0, &bytes);
    assert_eq!(world.take(0, reader).map(|sample| sample.timestamp), Some(None));
}

/// Periods at the ends of their range neither panic nor make the machine want to run all the time.
#[test]
fn periods_at_their_ends() {
    let longest = Timing { heartbeat_period: Duration::MAX, ..Timing::default() };
    let crossed = Timing { heartbeat_period: SECOND * 5, heartbeat_period_max: SECOND, ..Timing::default() };
    let zero = Timing {
        lease: Duration::ZERO,
        announce_period: Duration::ZERO,
        burst_period: Duration::ZERO,
        heartbeat_period: Duration::ZERO,
        heartbeat_period_max: Duration::ZERO,
        nack_suppression: Duration::ZERO,
        ..Timing::default()
    };
    for timing in [longest, crossed, zero] {
        let mut world = World::new(3);
        let config = rtps::ParticipantConfig { timing, ..world.config(1) };
        let (a, b) = (world.add_configured(config), world.add());
        let writer = world.writer(a, "t", &reliable());
        let reader = world.reader(a, "u", &reliable());
        world.reader(b, "t", &reliable());
        world.writer(b, "u", &reliable());
        world.run_for(Duration::from_millis(50));
        world.filter = Some(Box::new(move |host, _| host == b));
        world.write(a, writer, &number(1));
        for _ in 0..100 {
            let now = world.now;
            world.participant(a).handle_timeout(now);
            let next = world.participant(a).poll_timeout();
            assert!(next > now, "wants to run all the time");
            world.run_for(Duration::from_millis(10));
        }
        assert_eq!(world.participant(a).history_len(reader), 0);
    }
}

/// Two peers that have matched say what is needed and stop: no exchange of answers that ask nothing.
#[test]
fn matching_takes_few_datagrams() {
    let mut world = World::new(4);
    world.is_tapped = true;
    let (a, b) = (world.add(), world.add());
    world.writer(a, "t", &reliable());
    world.reader(b, "t", &reliable());
    world.run_for(SECOND * 3);
    let heard = hear(world.tap.iter().map(|(_, bytes)| bytes.as_slice()));
    assert!(heard.heartbeats.len() <= 3, "{} heartbeats", heard.heartbeats.len());
    assert!(heard.acknacks.len() <= 3, "{} acknowledgements", heard.acknacks.len());
}
