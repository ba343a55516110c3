//! Every limit reached: what its documentation says happens, and is counted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod puppet;
mod world;

use std::time::Duration;

use puppet::{FOREIGN, Puppet, heartbeat};
use rtps::discovery::data::DiscoveryDataError;
use rtps::message::StatusInfo;
use rtps::qos::{History, Qos, Reliability};
use rtps::{
    CreateEndpointError, EntityId, Event, GuidPrefix, Limits, Locator, LostReason, ParticipantConfig,
    Statistics, TYPE_INFORMATION_MAX, WriteError, WriteSample,
};
use world::{World, best_effort, durable, endpoint, number, numbers, reliable};

const SECOND: Duration = Duration::from_secs(1);

/// A world whose first participant has these limits.
fn limited(limits: Limits) -> (World, usize) {
    let mut world = World::new(1);
    let config = ParticipantConfig { limits, fragment_size: 1000, ..world.config(1) };
    let host = world.add_configured(config);
    (world, host)
}

fn counted(world: &mut World, host: usize) -> Statistics {
    world.participant(host).statistics()
}

/// Type information that no announcement could hold is refused when an endpoint is made.
#[test]
fn type_information_is_bounded() {
    let (mut world, host) = limited(Limits::default());
    let now = world.now;
    for (octets, is_made) in [(TYPE_INFORMATION_MAX, true), (TYPE_INFORMATION_MAX + 1, false)] {
        let config =
            rtps::EndpointConfig { type_information: Some(vec![0; octets]), ..endpoint("t", &durable()) };
        let made = world.participant(host).create_writer(now, config);
        assert_eq!(made.is_ok(), is_made);
        if let Err(error) = made {
            assert_eq!(error, CreateEndpointError::TypeInformation { topic: "t".into(), octets });
        }
    }
}

/// A full table of participants that all answer refuses a further one, and takes it when one leaves.
#[test]
fn participants_are_bounded() {
    let (mut world, host) = limited(Limits { participants_max: 3, ..Limits::default() });
    for _ in 0..3 {
        world.add();
    }
    world.run_for(SECOND);
    assert_eq!(
        (world.participant(host).remote_participants().count(), counted(&mut world, host).discovery_refused),
        (3, 0)
    );
    world.add();
    world.run_for(SECOND);
    assert_eq!(world.participant(host).remote_participants().count(), 3);
    assert!(counted(&mut world, host).discovery_refused > 0);
    let now = world.now;
    world.participant(1).close(now);
    world.run_for(Duration::from_millis(1));
    world.kill(1);
    world.run_for(SECOND * 11);
    assert_eq!(world.participant(host).remote_participants().count(), 3, "the next announcement is welcome");
}

/// Whoever never answered gives way to a newcomer, also when the table is full before that limit is.
#[test]
fn silent_participants_give_way() {
    for limits in [
        Limits { unconfirmed_max: 4, ..Limits::default() },
        Limits { participants_max: 4, ..Limits::default() },
    ] {
        let (mut world, host) = limited(limits);
        for forged in 1..=10 {
            let forged = Puppet::new(GuidPrefix([forged; 12]));
            world.inject(host, &forged.announce(Locator::udp_v4([10, 0, 0, 99], 7410)));
        }
        assert_eq!(world.participant(host).remote_participants().count(), 4);
        assert_eq!(counted(&mut world, host).discovery_refused, 6);
        let peer = world.add();
        let writer = world.writer(peer, "t", &reliable());
        world.reader(host, "t", &reliable());
        world.run_for(SECOND);
        assert_eq!(world.participant(peer).matched(writer).len(), 1);
    }
}

/// Endpoints beyond the limits, of one participant or of all, are ignored and counted; known ones may change.
#[test]
fn remote_endpoints_are_bounded() {
    for (limits, left) in [
        (Limits { endpoints_per_participant_max: 3, ..Limits::default() }, 6),
        (Limits { endpoints_max: 4, ..Limits::default() }, 4),
    ] {
        let (mut world, host) = limited(limits);
        let to = world.participant(host).guid().prefix;
        for prefix in [1, 2] {
            let mut puppet = Puppet::new(GuidPrefix([prefix; 12]));
            world.inject(host, &puppet.announce(Locator::udp_v4([10, 0, 0, 99], 7410)));
            for key in [1, 2, 3, 4, 5, 1] {
                let bytes = puppet.publish(to, EntityId::user_writer(key, false), "t", &reliable());
                world.inject(host, &bytes);
            }
        }
        assert_eq!(world.participant(host).remote_writers().count(), left);
        let refused = counted(&mut world, host).discovery_refused;
        assert!(refused >= 10 - left as u64, "{refused}");
    }
}

/// A writer refuses more instances than its limit and takes one again when another has ended; a reader drops and
/// counts them.
#[test]
fn instances_are_bounded() {
    let (mut world, host) = limited(Limits { instances_max: 2, ..Limits::default() });
    let keyed = rtps::EndpointConfig { is_keyed: true, ..endpoint("t", &durable()) };
    let now = world.now;
    let writer = world.participant(host).create_writer(now, keyed).unwrap();
    let write = |world: &mut World, key: u8, is_end: bool| {
        let instance = Some(rtps::cdr::KeyHash([key; 16]));
        let status = StatusInfo { disposed: is_end, unregistered: is_end };
        let now = world.now;
        let sample = WriteSample { instance, status, timestamp: None, payload: &[0, 1, 0, 0] };
        world.participant(host).write(now, writer, sample).map(|_| ())
    };
    assert_eq!((write(&mut world, 1, false), write(&mut world, 2, false)), (Ok(()), Ok(())));
    assert_eq!(write(&mut world, 3, false), Err(WriteError::Instances));
    assert_eq!((write(&mut world, 1, true), write(&mut world, 3, false)), (Ok(()), Ok(())));
}

/// A full outbox drops datagrams and counts them; reliable samples are repaired afterwards.
#[test]
fn the_outbox_is_bounded() {
    let (mut world, host) = limited(Limits { outbox_max: 4, ..Limits::default() });
    let peer = world.add();
    let writer = world.writer(host, "t", &reliable());
    let reader = world.reader(peer, "t", &reliable());
    world.run_for(SECOND);
    let (now, before) = (world.now, counted(&mut world, host).outbox_dropped);
    for value in 0..10 {
        let payload = number(value);
        let sample = WriteSample { payload: &payload, ..WriteSample::default() };
        world.participant(host).write(now, writer, sample).unwrap();
    }
    assert_eq!(counted(&mut world, host).outbox_dropped - before, 6);
    world.run_for(SECOND * 10);
    assert_eq!(numbers(&world.take_all(peer, reader)), (0..10).collect::<Vec<_>>());
}

/// Events that nobody polls give way to newer ones and are counted; availability is told once.
#[test]
fn events_are_bounded() {
    let (mut world, host) = limited(Limits { events_max: 5, ..Limits::default() });
    for prefix in 1..=8 {
        let puppet = Puppet::new(GuidPrefix([prefix; 12]));
        let bytes = puppet.announce(Locator::udp_v4([10, 0, 0, 99], 7410));
        let now = world.now;
        world.participant(host).handle_datagram(now, Locator::udp_v4([10, 0, 0, 99], 1), &bytes);
    }
    assert_eq!(counted(&mut world, host).events_dropped, 3);
    let told: Vec<_> = std::iter::from_fn(|| world.participant(host).poll_event()).collect();
    let prefixes: Vec<_> = told
        .iter()
        .map(|event| match event {
            Event::ParticipantDiscovered { prefix, .. } => prefix.0[0],
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(prefixes, [4, 5, 6, 7, 8]);
}

/// A sample that arrives while an earlier one waits is not told again, and the one after taking is.
#[test]
fn availability_is_told_once() {
    let mut world = World::new(2);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &reliable());
    let reader = world.reader(b, "t", &reliable());
    world.run_for(SECOND);
    let told = |world: &mut World, count: u64| {
        let now = world.now;
        for value in 0..count {
            let payload = number(value);
            let sample = WriteSample { payload: &payload, ..WriteSample::default() };
            world.participant(a).write(now, writer, sample).unwrap();
            while let Some(datagram) = world.participant(a).poll_transmit() {
                world.participant(b).handle_datagram(
                    now,
                    Locator::udp_v4([10, 0, 0, 1], 7410),
                    &datagram.bytes,
                );
            }
        }
        let events: Vec<_> = std::iter::from_fn(|| world.participant(b).poll_event()).collect();
        let told = events.iter().filter(|event| **event == Event::SamplesAvailable(reader)).count();
        (told, world.take_all(b, reader).len())
    };
    world.events(b);
    assert_eq!(told(&mut world, 5), (1, 5));
    assert_eq!(told(&mut world, 1), (1, 1));
}

/// A sample above the limit is an error to write; one that arrives is dropped and counted.
#[test]
fn samples_are_bounded() {
    let (mut world, host) = limited(Limits { sample_bytes_max: 5000, ..Limits::default() });
    let peer = world.add();
    let writers = [world.writer(host, "t", &reliable()), world.writer(peer, "t", &best_effort())];
    world.reader(host, "t", &best_effort());
    world.run_for(SECOND);
    let large = vec![0; 200_000];
    let now = world.now;
    let sample = WriteSample { payload: &large, ..WriteSample::default() };
    let refused = world.participant(host).write(now, writers[0], sample);
    assert_eq!(refused, Err(WriteError::TooLarge { bytes: 200_000, max: 5000 }));
    world.write(peer, writers[1], &large);
    world.run_for(SECOND);
    assert!(counted(&mut world, host).samples_rejected > 0);
}

/// A keep-all writer whose reader does not acknowledge is full, and says when it no longer is.
#[test]
fn keep_all_histories_are_bounded() {
    let (mut world, host) = limited(Limits { keep_all_max: 3, ..Limits::default() });
    let peer = world.add();
    let writer = world.writer(host, "t", &reliable());
    world.reader(peer, "t", &reliable());
    world.run_for(SECOND);
    world.events(host);
    let now = world.now;
    let payload = number(1);
    let sample = WriteSample { payload: &payload, ..WriteSample::default() };
    let written = [(); 4].map(|()| world.participant(host).write(now, writer, sample).map(|_| ()));
    assert_eq!(written, [Ok(()), Ok(()), Ok(()), Err(WriteError::Full)]);
    world.run_for(SECOND);
    assert!(world.events(host).contains(&Event::Acknowledged(writer)));
    let now = world.now;
    assert!(world.participant(host).write(now, writer, sample).is_ok());
}

/// However few early samples, incomplete samples and repairs are allowed, everything reliable arrives in the end.
#[test]
fn tight_limits_only_slow_repair() {
    for limits in [
        Limits { reorder_max: 4, ..Limits::default() },
        Limits { partial_samples_max: 1, ..Limits::default() },
        Limits { partial_bytes_max: 12_000, ..Limits::default() },
        Limits { repair_bytes_max: 1, ..Limits::default() },
    ] {
        let mut world = World::new(7);
        let [a, b] = [1, 2].map(|host| {
            let config = world.config(host);
            world.add_configured(ParticipantConfig { limits: limits.clone(), fragment_size: 1000, ..config })
        });
        let writer = world.writer(a, "t", &reliable());
        let reader = world.reader(b, "t", &reliable());
        world.run_for(SECOND);
        world.faults.loss = 20;
        world.faults.reordering = 20;
        for value in 0..40 {
            let mut payload = number(value);
            payload.resize(if value % 3 == 0 { 9000 } else { 100 }, 0);
            world.write(a, writer, &payload);
        }
        let mut got = Vec::new();
        let end = world.now + SECOND * 600;
        world.run_until(end, |world| {
            got.extend(world.take_all(b, reader));
            got.len() == 40
        });
        assert_eq!(numbers(&got), (0..40).collect::<Vec<_>>(), "{limits:?}");
        assert_eq!(world.participant(b).lost(reader), 0);
    }
}

/// Names and partitions that peers would refuse are refused at creation.
#[test]
fn endpoints_that_cannot_be_announced_are_refused() {
    let mut world = World::new(3);
    let host = world.add();
    let now = world.now;
    let crowded = Qos { partitions: vec!["p".into(); 65], ..Qos::default() };
    let odd = Qos { partitions: vec!["p\0".into()], ..Qos::default() };
    for config in [endpoint("t\0", &Qos::default()), endpoint("t", &crowded), endpoint("t", &odd)] {
        let refused = world.participant(host).create_writer(now, config.clone());
        assert!(
            matches!(
                refused,
                Err(CreateEndpointError::Announcement { reason: DiscoveryDataError::Parameter { .. }, .. })
            ),
            "{refused:?}"
        );
        assert_eq!(world.participant(host).create_reader(now, config, None), refused);
    }
    for topic in [String::new(), "x".repeat(256)] {
        let refused = world.participant(host).create_writer(now, endpoint(&topic, &Qos::default()));
        assert!(matches!(refused, Err(CreateEndpointError::Name { what: "topic", .. })));
    }
}

/// A best-effort reader of a durable topic gets the past once; a volatile one does not.
#[test]
fn best_effort_late_joiners_get_the_past_once() {
    let mut world = World::new(4);
    // Best effort drops what is overtaken.
    world.jitter = 0;
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &durable());
    for value in 0..5 {
        world.write(a, writer, &number(value));
    }
    world.run_for(SECOND);
    let wants = Qos { reliability: Reliability::BestEffort, ..durable() };
    let past = world.reader(b, "t", &wants);
    let future = world.reader(b, "t", &Qos { history: History::KeepLast(100), ..best_effort() });
    world.run_for(SECOND);
    assert_eq!(numbers(&world.take_all(b, past)), (0..5).collect::<Vec<_>>());
    world.take_all(b, future);
    world.write(a, writer, &number(5));
    world.run_for(SECOND * 20);
    assert_eq!(numbers(&world.take_all(b, past)), [5]);
    assert_eq!(numbers(&world.take_all(b, future)), [5]);
}

/// Any traffic renews a lease; silence ends it, and a shortened lease ends when it says.
#[test]
fn leases_are_renewed_by_any_traffic() {
    let mut world = World::new(5);
    let host = world.add();
    let puppet = Puppet::new(GuidPrefix([9; 12]));
    let announce = |lease: Duration| {
        let mut data = puppet.participant(Locator::udp_v4([10, 0, 0, 99], 7410));
        data.lease = rtps::Lease::Finite(lease);
        assert_eq!(data.vendor, FOREIGN);
        let mut payload = Vec::new();
        data.encode(&mut payload);
        puppet.message(|message| {
            message.data(
                EntityId::UNKNOWN,
                EntityId::SPDP_WRITER,
                rtps::SequenceNumber::FIRST,
                &rtps::message::InlineQos::default(),
                rtps::message::Payload::Data(&payload),
            );
        })
    };
    world.inject(host, &announce(SECOND));
    for count in 1..=20 {
        world.run_for(SECOND / 2);
        let beat = heartbeat(EntityId::user_writer(1, false), 1, 0, count);
        world.inject(host, &puppet.message(|message| message.heartbeat(&beat)));
    }
    let is_lost = |events: &[Event]| {
        let expired = LostReason::LeaseExpired;
        events
            .iter()
            .any(|event| matches!(event, Event::ParticipantLost { reason, .. } if *reason == expired))
    };
    assert!(!is_lost(&world.events(host)), "heartbeats are signs of life");
    world.run_for(SECOND + SECOND / 10);
    assert!(is_lost(&world.events(host)), "silence is not");
    world.inject(host, &announce(SECOND * 100));
    world.inject(host, &announce(SECOND));
    world.run_for(SECOND + SECOND / 10);
    assert!(is_lost(&world.events(host)), "the last announced lease counts");
}

/// A writer sends to an address as long as one of its readers is there, once however many are.
#[test]
fn addresses_are_used_once_and_while_needed() {
    let mut world = World::new(6);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &best_effort());
    let readers = [world.reader(b, "t", &best_effort()), world.reader(b, "t", &best_effort())];
    world.run_for(SECOND);
    let sent = |world: &mut World| {
        let before = counted(world, a).datagrams_sent;
        world.write(a, writer, &number(1));
        counted(world, a).datagrams_sent - before
    };
    assert_eq!((world.participant(a).matched(writer).len(), sent(&mut world)), (2, 1));
    for (reader, left, datagrams) in [(readers[0], 1, 1), (readers[1], 0, 0)] {
        let now = world.now;
        world.participant(b).delete_reader(now, reader);
        world.run_for(SECOND);
        assert_eq!((world.participant(a).matched(writer).len(), sent(&mut world)), (left, datagrams));
    }
}
