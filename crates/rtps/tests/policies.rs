//! The QoS policies that act in time or between several writers, each on virtual time.
#![allow(clippy::unwrap_used, reason = "the whole file is test code")]

mod puppet;
mod world;

use std::sync::Arc;
use std::time::Duration;

use puppet::Puppet;
use rtps::cdr::KeyHash;
use rtps::message::{InlineQos, Payload, StatusInfo};
use rtps::qos::{
    DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership, Policy, Qos, ResourceLimits,
};
use rtps::{
    CreateEndpointError, EndpointConfig, EntityId, Event, GuidPrefix, KeyHasher, KeySerializer, Lease,
    Locator, RawSample, RejectReason, SequenceNumber, WireTime, WriteSample,
};
use world::{World, best_effort, durable, endpoint, number, numbers, reliable};

const SECOND: Duration = Duration::from_secs(1);
const WRITTEN: StatusInfo = StatusInfo { disposed: false, unregistered: false };
const DISPOSED: StatusInfo = StatusInfo { disposed: true, unregistered: false };
const UNREGISTERED: StatusInfo = StatusInfo { disposed: false, unregistered: true };

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// An instance's name: its key is the byte after the encapsulation header.
const fn instance(key: u8) -> KeyHash {
    KeyHash([key; 16])
}

fn keyed(qos: &Qos) -> EndpointConfig {
    EndpointConfig { is_keyed: true, ..endpoint("keyed", qos) }
}

fn keyed_writer(world: &mut World, host: usize, qos: &Qos) -> EntityId {
    let now = world.now;
    world.participant(host).create_writer(now, keyed(qos)).unwrap()
}

fn keyed_reader(world: &mut World, host: usize, qos: &Qos) -> EntityId {
    let now = world.now;
    let hasher = KeyHasher(Arc::new(|payload: &[u8], _| payload.get(4).map(|key| KeyHash([*key; 16]))));
    world.participant(host).create_reader(now, keyed(qos), Some(hasher)).unwrap()
}

/// Writes `value` of an instance, or its end, with a source time in milliseconds.
fn put(world: &mut World, host: usize, writer: EntityId, key: u8, value: u8, status: StatusInfo) {
    let time = u32::try_from(world.now.as_nanos() / 1_000_000).unwrap();
    put_at(world, host, writer, (key, value), status, time);
}

fn put_at(
    world: &mut World,
    host: usize,
    writer: EntityId,
    (key, value): (u8, u8),
    status: StatusInfo,
    time: u32,
) {
    let now = world.now;
    let payload = [0, 1, 0, 0, key, value, 0, 0];
    let timestamp = Some(WireTime { seconds: 1000, fraction: time });
    let sample = WriteSample { instance: Some(instance(key)), status, timestamp, payload: &payload };
    world.participant(host).write(now, writer, sample).unwrap();
    // Datagrams leave, and arrive within a millisecond.
    world.run_for(millis(1));
}

/// What a reader hands out: instance, value (none for an end), status.
type Taken = (u8, Option<u8>, StatusInfo);

fn taken(sample: &RawSample) -> Taken {
    let value = (sample.status == WRITTEN).then(|| sample.payload[5]);
    (sample.instance.unwrap().0[0], value, sample.status)
}

fn take(world: &mut World, host: usize, reader: EntityId) -> Vec<Taken> {
    std::iter::from_fn(|| world.take(host, reader)).map(|sample| taken(&sample)).collect()
}

fn value(key: u8, value: u8) -> Taken {
    (key, Some(value), WRITTEN)
}

/// Hosts 0 and 1 write, host 2 reads, all matched.
fn two_writers(strengths: [i32; 2], writing: &Qos, reading: &Qos) -> (World, [EntityId; 2], EntityId) {
    let mut world = World::new(1);
    let hosts = [world.add(), world.add(), world.add()];
    let writers = [0, 1].map(|host: usize| {
        let qos = Qos { ownership_strength: strengths[host], ..writing.clone() };
        keyed_writer(&mut world, hosts[host], &qos)
    });
    let reader = keyed_reader(&mut world, hosts[2], reading);
    world.run_for(SECOND);
    assert_eq!(world.participant(2).matched(reader).len(), 2);
    (world, writers, reader)
}

/// A writer and a reader of one topic on two hosts, matched.
fn pair(writing: &Qos, reading: &Qos) -> (World, EntityId, EntityId) {
    let mut world = World::new(1);
    let (left, right) = (world.add(), world.add());
    let (writer, reader) =
        (keyed_writer(&mut world, left, writing), keyed_reader(&mut world, right, reading));
    world.run_for(SECOND);
    assert_eq!(world.participant(right).matched(reader).len(), 1);
    (world, writer, reader)
}

fn missed(events: &[Event]) -> Vec<(Option<KeyHash>, u64)> {
    let missed = events.iter().filter_map(|event| match event {
        Event::DeadlineMissed { instance, total, .. } => Some((*instance, *total)),
        _ => None,
    });
    missed.collect()
}

/// Both sides tell which instance's deadline was missed, once a period, and stop when the instance ends.
#[test]
fn a_missed_deadline_is_told_on_both_sides() {
    let qos = Qos { deadline: Lease::Finite(millis(100)), ..best_effort() };
    let (mut world, writer, reader) = pair(&qos, &qos);
    for value in 0..5 {
        put(&mut world, 0, writer, 1, value, WRITTEN);
        put(&mut world, 0, writer, 2, value, WRITTEN);
        world.run_for(millis(50));
    }
    assert_eq!((missed(&world.events(0)), missed(&world.events(1))), (Vec::new(), Vec::new()));
    put(&mut world, 0, writer, 2, 0, DISPOSED);
    world.run_for(millis(340));
    let (offered, requested) = (missed(&world.events(0)), missed(&world.events(1)));
    for events in [offered, requested] {
        assert_eq!(events, [(Some(instance(1)), 1), (Some(instance(1)), 2), (Some(instance(1)), 3)]);
    }
    let status = world.participant(1).status(reader).unwrap();
    assert_eq!((status.deadline_missed, status.deadline_missed_last), (3, Some(instance(1))));
    assert_eq!(world.participant(0).status(writer).unwrap().deadline_missed, 3);
}

/// A topic without a key has one deadline; a reader that never heard anything misses none.
#[test]
fn a_topic_without_key_has_one_deadline() {
    let mut world = World::new(1);
    let (left, right) = (world.add(), world.add());
    let qos = Qos { deadline: Lease::Finite(millis(100)), ..best_effort() };
    let (writer, reader) = (world.writer(left, "t", &qos), world.reader(right, "t", &qos));
    world.run_for(SECOND);
    assert_eq!(world.participant(right).status(reader).unwrap().deadline_missed, 0);
    world.write(left, writer, &number(1));
    world.run_for(millis(250));
    assert_eq!(missed(&world.events(right)), [(None, 1), (None, 2)]);
}

/// Endpoints whose policies are all infinite ask for no wake-up once everything is acknowledged; finite ones do.
#[test]
fn no_policy_costs_no_timer() {
    let wakes = |qos: &Qos| {
        let (mut world, writer, reader) = pair(qos, qos);
        put(&mut world, 0, writer, 1, 1, WRITTEN);
        world.run_for(SECOND);
        take(&mut world, 1, reader);
        // The next announcement is seconds away.
        let soon = world.now + millis(500);
        [0, 1].map(|host| world.participant(host).poll_timeout() < soon)
    };
    assert_eq!(wakes(&durable()), [false, false]);
    assert_eq!(wakes(&Qos { deadline: Lease::Finite(millis(100)), ..durable() }), [true, true]);
}

/// A sample not taken within its lifespan after its arrival is not handed out; the time counts from the arrival, however
/// late that was. A late joiner of a durable writer does not get what has expired there.
#[test]
fn a_lifespan_ends() {
    let qos = Qos { lifespan: Lease::Finite(millis(200)), ..durable() };
    let (mut world, writer, reader) = pair(&qos, &qos);
    put(&mut world, 0, writer, 1, 1, WRITTEN);
    world.run_for(millis(150));
    put(&mut world, 0, writer, 1, 2, WRITTEN);
    world.run_for(millis(100));
    assert_eq!(take(&mut world, 1, reader), [value(1, 2)]);
    assert_eq!(world.participant(1).status(reader).unwrap().samples_filtered, 1);
    let late = keyed_reader(&mut world, 1, &qos);
    world.run_for(millis(10));
    assert_eq!(take(&mut world, 1, late), [value(1, 2)]);
    world.run_for(millis(200));
    let later = keyed_reader(&mut world, 1, &qos);
    world.run_for(SECOND);
    assert_eq!(take(&mut world, 1, later), []);
    assert_eq!(world.participant(0).history_len(writer), 0, "expired samples free their memory");
    put(&mut world, 0, writer, 1, 3, WRITTEN);
    assert_eq!(
        take(&mut world, 1, later),
        [value(1, 3)],
        "the gap of expired numbers does not stall a reader"
    );
}

/// A keep-all history that is full of expired samples takes new ones, on both sides.
#[test]
fn what_has_expired_makes_room() {
    let limits = ResourceLimits { max_samples: Some(2), ..ResourceLimits::default() };
    let qos = Qos { lifespan: Lease::Finite(millis(100)), resource_limits: limits, ..reliable() };
    let (mut world, writer, reader) = pair(&qos, &qos);
    for round in 0..5 {
        for value in 0..2 {
            put(&mut world, 0, writer, 1, 10 * round + value, WRITTEN);
        }
        world.run_for(millis(150));
    }
    put(&mut world, 0, writer, 1, 99, WRITTEN);
    world.run_for(millis(50));
    assert_eq!(take(&mut world, 1, reader), [value(1, 99)]);
}

/// Samples closer than the minimum separation are dropped, each instance for itself; a reliable reader still gets the
/// last one when the separation is over.
#[test]
fn a_time_based_filter_thins_out() {
    for (writing, expected) in [(best_effort(), vec![0, 5]), (reliable(), vec![0, 4, 8, 9])] {
        let reading = Qos { time_based_filter: millis(100), ..writing.clone() };
        let (mut world, writer, reader) = pair(&writing, &reading);
        for step in 0..10 {
            put(&mut world, 0, writer, 1, step, WRITTEN);
            world.run_for(millis(23));
        }
        put(&mut world, 0, writer, 2, 50, WRITTEN);
        world.run_for(SECOND);
        let (first, second): (Vec<_>, Vec<_>) =
            take(&mut world, 1, reader).into_iter().partition(|(key, ..)| *key == 1);
        assert_eq!(first, expected.into_iter().map(|step| value(1, step)).collect::<Vec<_>>());
        assert_eq!(second, [value(2, 50)]);
    }
}

/// A reader that cannot get what it asks for is refused when it is made.
#[test]
fn a_filter_wider_than_the_deadline_is_refused() {
    let mut world = World::new(1);
    let host = world.add();
    let now = world.now;
    let qos = Qos { time_based_filter: millis(20), deadline: Lease::Finite(millis(10)), ..Qos::default() };
    let refused = world.participant(host).create_reader(now, endpoint("t", &qos), None);
    assert!(matches!(refused, Err(CreateEndpointError::Inconsistent { .. })));
}

fn exclusive(qos: Qos) -> Qos {
    Qos { ownership: Ownership::Exclusive, ..qos }
}

/// Only the strongest writer of an instance is heard; it falls to the next when the owner says that it no longer writes
/// it, and other instances have owners of their own.
#[test]
fn the_strongest_writer_owns_an_instance() {
    let qos = exclusive(best_effort());
    let (mut world, writers, reader) = two_writers([1, 2], &qos, &qos);
    put(&mut world, 0, writers[0], 1, 10, WRITTEN);
    put(&mut world, 1, writers[1], 1, 20, WRITTEN);
    put(&mut world, 0, writers[0], 1, 11, WRITTEN);
    put(&mut world, 0, writers[0], 2, 12, WRITTEN);
    put(&mut world, 0, writers[0], 1, 0, DISPOSED);
    put(&mut world, 1, writers[1], 1, 21, WRITTEN);
    assert_eq!(take(&mut world, 2, reader), [value(1, 10), value(1, 20), value(2, 12), value(1, 21)]);
    put(&mut world, 1, writers[1], 1, 0, UNREGISTERED);
    put(&mut world, 0, writers[0], 1, 13, WRITTEN);
    assert_eq!(take(&mut world, 2, reader), [value(1, 13)]);
}

/// Of equally strong writers the one with the lowest GUID owns, at every reader.
#[test]
fn equals_are_told_apart_by_identity() {
    let qos = exclusive(reliable());
    let (mut world, writers, reader) = two_writers([7, 7], &qos, &qos);
    let prefixes = [0, 1].map(|host| world.participant(host).guid().prefix);
    let owner = usize::from(prefixes[1] < prefixes[0]);
    for round in 0..3 {
        for host in [0, 1] {
            put(&mut world, host, writers[host], 1, 10 * round + u8::try_from(host).unwrap(), WRITTEN);
        }
    }
    let heard: Vec<_> = take(&mut world, 2, reader).into_iter().filter_map(|(_, value, _)| value).collect();
    let tail: Vec<_> = heard.iter().rev().take(2).map(|value| usize::from(value % 10)).collect();
    assert_eq!(tail, [owner, owner], "{heard:?}");
}

/// A new owner follows when the old one is deleted, when it falls silent and its participant's lease ends, and when it
/// misses its deadline; back in time, it owns again.
#[test]
fn ownership_falls_to_the_next() {
    let qos = exclusive(reliable());
    let (mut world, writers, reader) = two_writers([1, 2], &qos, &qos);
    put(&mut world, 1, writers[1], 1, 20, WRITTEN);
    put(&mut world, 0, writers[0], 1, 10, WRITTEN);
    let now = world.now;
    world.participant(1).delete_writer(now, writers[1]);
    world.run_for(SECOND);
    put(&mut world, 0, writers[0], 1, 11, WRITTEN);
    assert_eq!(take(&mut world, 2, reader), [value(1, 20), value(1, 11)]);

    let (mut world, writers, reader) = two_writers([1, 2], &qos, &qos);
    put(&mut world, 1, writers[1], 1, 20, WRITTEN);
    world.kill(1);
    put(&mut world, 0, writers[0], 1, 10, WRITTEN);
    world.run_for(60 * SECOND);
    put(&mut world, 0, writers[0], 1, 11, WRITTEN);
    assert_eq!(take(&mut world, 2, reader), [value(1, 20), value(1, 11)]);

    let timely = Qos { deadline: Lease::Finite(millis(100)), ..qos };
    let (mut world, writers, reader) = two_writers([1, 2], &timely, &timely);
    put(&mut world, 1, writers[1], 1, 20, WRITTEN);
    for value in 10..15 {
        put(&mut world, 0, writers[0], 1, value, WRITTEN);
        world.run_for(millis(49));
    }
    put(&mut world, 1, writers[1], 1, 21, WRITTEN);
    put(&mut world, 0, writers[0], 1, 15, WRITTEN);
    let expected = [value(1, 20), value(1, 12), value(1, 13), value(1, 14), value(1, 21)];
    assert_eq!(take(&mut world, 2, reader), expected);
}

/// A writer that loses its liveliness loses what it owns, and gets it back when it writes again.
#[test]
fn who_is_not_alive_owns_nothing() {
    let liveliness = Liveliness { kind: LivelinessKind::ManualByTopic, lease: Lease::Finite(millis(100)) };
    let qos = Qos { liveliness, ..exclusive(reliable()) };
    let (mut world, writers, reader) = two_writers([1, 2], &qos, &qos);
    put(&mut world, 1, writers[1], 1, 20, WRITTEN);
    for value in 10..13 {
        put(&mut world, 0, writers[0], 1, value, WRITTEN);
        world.run_for(millis(60));
    }
    put(&mut world, 1, writers[1], 1, 21, WRITTEN);
    put(&mut world, 0, writers[0], 1, 13, WRITTEN);
    assert_eq!(take(&mut world, 2, reader), [value(1, 20), value(1, 12), value(1, 21)]);
}

/// By source time, samples of several writers come in the order in which they were written, and nothing older than what
/// was taken; as received otherwise.
#[test]
fn order_by_source_time() {
    let writes = |qos: &Qos| {
        let (mut world, writers, reader) = two_writers([0, 0], qos, qos);
        put_at(&mut world, 0, writers[0], (1, 30), WRITTEN, 30);
        put_at(&mut world, 1, writers[1], (1, 20), WRITTEN, 20);
        put_at(&mut world, 0, writers[0], (1, 40), WRITTEN, 40);
        let mut all = take(&mut world, 2, reader);
        put_at(&mut world, 1, writers[1], (1, 35), WRITTEN, 35);
        put_at(&mut world, 1, writers[1], (2, 35), WRITTEN, 35);
        put_at(&mut world, 1, writers[1], (1, 50), WRITTEN, 50);
        all.extend(take(&mut world, 2, reader));
        all.into_iter().filter_map(|(_, value, _)| value).collect::<Vec<_>>()
    };
    let by_source = Qos { destination_order: DestinationOrder::BySource, ..reliable() };
    assert_eq!(writes(&by_source), [20, 30, 40, 35, 50]);
    assert_eq!(writes(&Qos { history: History::KeepLast(1), ..by_source }), [40, 35, 50]);
    assert_eq!(writes(&reliable()), [30, 20, 40, 35, 35, 50]);
}

/// A keep-all reader holds no more samples of an instance than its limit: a reliable writer waits, other instances go
/// on, and everything arrives in the end; a keep-last one keeps no more than that.
#[test]
fn samples_of_an_instance_are_bounded() {
    let resource_limits = ResourceLimits { max_samples_per_instance: Some(2), ..ResourceLimits::default() };
    let reading = Qos { resource_limits, ..reliable() };
    let (mut world, writer, reader) = pair(&reliable(), &reading);
    (0..5).for_each(|step| put(&mut world, 0, writer, 1, step, WRITTEN));
    world.run_for(SECOND);
    assert_eq!(world.participant(1).history_len(reader), 2);
    let mut all = Vec::new();
    while all.len() < 5 {
        let now = world.now;
        all.push(taken(&world.participant(1).take(now, reader).unwrap()));
        world.run_for(SECOND);
    }
    assert_eq!(all, (0..5).map(|step| value(1, step)).collect::<Vec<_>>());
    let shallow = Qos { history: History::KeepLast(9), resource_limits, ..reliable() };
    let (mut world, writer, reader) = pair(&reliable(), &shallow);
    (0..5).for_each(|step| put(&mut world, 0, writer, 1, step, WRITTEN));
    assert_eq!(take(&mut world, 1, reader), [value(1, 3), value(1, 4)]);
    let writing = Qos { resource_limits, ..reliable() };
    let (mut world, writer, _) = pair(&writing, &reading);
    let now = world.now;
    let write = |world: &mut World, key| {
        let sample = WriteSample {
            instance: Some(instance(key)),
            payload: &[0, 1, 0, 0, key, 0, 0, 0],
            ..Default::default()
        };
        world.participant(0).write(now, writer, sample).is_ok()
    };
    assert_eq!([1, 1, 1, 2].map(|key| write(&mut world, key)), [true, true, false, true]);
}

/// An instance ends for want of writers only when the last of its writers leaves it, by whatever way: unregistering,
/// deletion, or silence. One that was disposed ends again only if its last writer says so.
#[test]
fn an_instance_without_writers_is_told() {
    let qos = Qos { history: History::KeepLast(1), ..reliable() };
    let (mut world, writers, reader) = two_writers([0, 0], &qos, &qos);
    let gone = |key| (key, None, UNREGISTERED);
    for (key, host) in [(1, 0), (1, 1), (2, 1), (3, 0), (4, 0)] {
        put(&mut world, host, writers[host], key, key, WRITTEN);
    }
    assert_eq!(take(&mut world, 2, reader).len(), 4);
    put(&mut world, 0, writers[0], 1, 0, UNREGISTERED);
    assert_eq!(take(&mut world, 2, reader), []);
    put(&mut world, 0, writers[0], 3, 0, DISPOSED);
    put(&mut world, 0, writers[0], 3, 0, UNREGISTERED);
    put(&mut world, 0, writers[0], 4, 0, UNREGISTERED);
    assert_eq!(take(&mut world, 2, reader), [(3, None, DISPOSED), gone(3), gone(4)]);
    world.events(2);
    world.kill(1);
    world.run_for(60 * SECOND);
    assert!(world.events(2).contains(&Event::SamplesAvailable(reader)));
    assert_eq!(take(&mut world, 2, reader), [gone(1), gone(2)]);
    put(&mut world, 0, writers[0], 5, 0, WRITTEN);
    put(&mut world, 0, writers[0], 6, 0, DISPOSED);
    let now = world.now;
    world.participant(0).delete_writer(now, writers[0]);
    world.run_for(SECOND);
    assert_eq!(take(&mut world, 2, reader), [value(5, 0), (6, None, DISPOSED), gone(5)]);
}

/// A writer that disposes of what it unregisters says both at once, and of all its instances when it is deleted.
#[test]
fn unregistering_disposes_when_asked_to() {
    for autodispose_unregistered_instances in [false, true] {
        let writing = Qos { autodispose_unregistered_instances, ..reliable() };
        let (mut world, writer, reader) = pair(&writing, &reliable());
        (1..4).for_each(|key| put(&mut world, 0, writer, key, key, WRITTEN));
        put(&mut world, 0, writer, 2, 0, UNREGISTERED);
        assert_eq!(take(&mut world, 1, reader)[..3], [value(1, 1), value(2, 2), value(3, 3)]);
        put(&mut world, 0, writer, 4, 4, WRITTEN);
        let now = world.now;
        world.participant(0).delete_writer(now, writer);
        world.run_for(SECOND);
        let ends: Vec<_> = take(&mut world, 1, reader).into_iter().filter(|end| end.1.is_none()).collect();
        assert_eq!(ends.iter().map(|(key, ..)| *key).collect::<Vec<_>>(), [1, 3, 4]);
        assert!(ends.iter().all(|end| end.2.disposed == autodispose_unregistered_instances), "{ends:?}");
        assert_eq!(world.participant(1).remote_writers().count(), 0);
    }
}

/// A deleted writer's disposals carry the keys of its instances, and it waits until they have arrived, but not for ever.
#[test]
fn disposals_at_deletion_carry_keys() {
    for is_lost in [false, true] {
        let writing = Qos { autodispose_unregistered_instances: true, ..reliable() };
        let (mut world, writer, reader) = pair(&writing, &reliable());
        let key_of = |payload: &[u8]| Some([&payload[..5], &[0xee; 3]].concat());
        world.participant(0).set_key_serializer(writer, KeySerializer(Arc::new(key_of)));
        (1..4).for_each(|key| put(&mut world, 0, writer, key, 9, WRITTEN));
        put(&mut world, 0, writer, 2, 8, WRITTEN);
        assert_eq!(take(&mut world, 1, reader).len(), 4);
        world.filter = Some(Box::new(move |_, _| is_lost));
        let now = world.now;
        world.participant(0).delete_writer(now, writer);
        assert!(world.participant(0).is_deleting());
        world.run_for(SECOND);
        assert_eq!(world.participant(0).is_deleting(), is_lost);
        world.run_for(SECOND);
        assert!(!world.participant(0).is_deleting());
        let ends: Vec<_> =
            std::iter::from_fn(|| world.take(1, reader)).map(|sample| sample.payload).collect();
        let keys = [1, 2, 3].map(|key| vec![0, 1, 0, 0, key, 0xee, 0xee, 0xee]);
        assert_eq!(ends, if is_lost { &keys[..0] } else { &keys[..] });
    }
}

/// Keep-last 1 keeps the last value beside the end of its instance.
#[test]
fn an_end_does_not_overwrite_the_value() {
    let qos = Qos { history: History::KeepLast(1), ..reliable() };
    let (mut world, writer, reader) = pair(&qos, &qos);
    for (step, status) in
        [(1, WRITTEN), (2, WRITTEN), (0, DISPOSED), (3, WRITTEN), (4, WRITTEN), (0, DISPOSED)]
    {
        put(&mut world, 0, writer, 1, step, status);
    }
    let end = (1, None, DISPOSED);
    assert_eq!(take(&mut world, 1, reader), [end, value(1, 4), end]);
}

/// A change of another implementation that writes a value and ends its instance at once is both, in this order.
#[test]
fn a_value_may_end_its_instance() {
    let mut world = World::new(1);
    let host = world.add();
    let reader = keyed_reader(&mut world, host, &Qos::default());
    let mut puppet = Puppet::new(GuidPrefix([9; 12]));
    let prefix = world.participant(host).guid().prefix;
    let writer = EntityId::user_writer(2, true);
    world.inject(host, &puppet.announce(Locator::udp_v4([10, 0, 0, 8], 7000)));
    world.inject(host, &puppet.publish(prefix, writer, "keyed", &best_effort()));
    for (sequence, status) in [(1, WRITTEN), (2, DISPOSED)] {
        let inline = InlineQos { key_hash: None, status };
        let payload = Payload::Data(&[0, 1, 0, 0, 6, 60, 0, 0]);
        let sent = puppet.message(|message| {
            message.data(EntityId::UNKNOWN, writer, SequenceNumber(sequence), &inline, payload);
        });
        world.inject(host, &sent);
    }
    let mut all = Vec::new();
    while let Some(sample) = world.take(host, reader) {
        all.push((sample.sequence.0, taken(&sample)));
    }
    assert_eq!(all, [(2, value(6, 60)), (2, (6, None, DISPOSED))], "keep-last");
}

/// What does not fit is counted by policy, and what is refused by reason.
#[test]
fn statuses_count() {
    let mut world = World::new(1);
    let (left, right) = (world.add(), world.add());
    let offered = keyed_writer(&mut world, left, &best_effort());
    let lease = Lease::Finite(SECOND);
    let liveliness = Liveliness { kind: LivelinessKind::Automatic, lease };
    let demanding = Qos { deadline: lease, liveliness, durability: Durability::TransientLocal, ..reliable() };
    let requested = keyed_reader(&mut world, right, &demanding);
    let limits = ResourceLimits { max_instances: Some(1), ..ResourceLimits::default() };
    let reader = keyed_reader(&mut world, right, &Qos { resource_limits: limits, ..best_effort() });
    world.run_for(SECOND);
    for (host, local) in [(left, offered), (right, requested)] {
        let status = world.participant(host).status(local).unwrap();
        assert_eq!(status.incompatible_total, 1);
        let policies: Vec<_> = status.incompatible.keys().copied().collect();
        let expected = [Policy::Reliability, Policy::Durability, Policy::Deadline, Policy::Liveliness];
        assert_eq!(policies, expected);
    }
    world.events(right);
    put(&mut world, left, offered, 1, 1, WRITTEN);
    put(&mut world, left, offered, 2, 2, WRITTEN);
    put(&mut world, left, offered, 3, 3, WRITTEN);
    let status = world.participant(right).status(reader).unwrap();
    assert_eq!((status.samples_rejected, status.rejected_last), (2, Some(RejectReason::Instances)));
    let rejected = |event: &Event| matches!(event, Event::SampleRejected { total: 2, .. });
    assert!(world.events(right).iter().any(rejected));
    world.filter = Some(Box::new(move |from, _| from == left));
    put(&mut world, left, offered, 1, 4, WRITTEN);
    world.filter = None;
    put(&mut world, left, offered, 1, 5, WRITTEN);
    assert_eq!(world.participant(right).status(reader).unwrap().samples_lost, 1);
    assert!(world.events(right).contains(&Event::SamplesLost { local: reader, total: 1 }));
    assert_eq!(numbers(&[number(7)]), [7]);
}

/// A writer's priority goes with its datagrams, and only with its.
#[test]
fn a_priority_goes_with_datagrams() {
    let mut world = World::new(1);
    let (left, right) = (world.add(), world.add());
    let urgent = Qos { transport_priority: 46, ..reliable() };
    let (first, second) = (world.writer(left, "t", &urgent), world.writer(left, "t", &reliable()));
    world.reader(right, "t", &reliable());
    world.run_for(SECOND);
    let now = world.now;
    for (writer, priority) in [(first, 46), (second, 0)] {
        let payload = number(1);
        let sample = WriteSample { payload: &payload, ..WriteSample::default() };
        world.participant(left).write(now, writer, sample).unwrap();
        assert_eq!(world.participant(left).poll_transmit().unwrap().priority, priority);
    }
    let known = world.participant(right).remote_writers();
    assert_eq!(known.filter(|(_, writer)| writer.qos().transport_priority == 46).count(), 1);
}
