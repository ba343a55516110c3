//! How samples leave a writer: in batches, within a window, by group, on a virtual network.
#![allow(clippy::unwrap_used, reason = "the whole file is test code")]

mod world;

use std::time::Duration;

use rtps::qos::Qos;
use rtps::{EndpointConfig, Lease, Limits, Locator, ParticipantConfig, Reach};
use world::{Faults, World, best_effort, endpoint, number, numbers, reliable};

const SECOND: Duration = Duration::from_secs(1);

fn batched(qos: Qos) -> Qos {
    Qos { latency_budget: Lease::Finite(Duration::from_millis(5)), ..qos }
}

/// A world in which datagrams that are sent together do not overtake each other.
fn in_order(seed: u64) -> World {
    let mut world = World::new(seed);
    world.jitter = 1;
    world
}

/// Datagrams of user data that a host has sent.
fn sent_by(world: &World, host: usize) -> usize {
    // A data submessage of an endpoint whose entity id ends like a user writer's.
    let is_user = |bytes: &[u8]| bytes.windows(4).any(|window| matches!(window, [0, 0, _, 3]));
    world.tap.iter().filter(|(from, bytes)| *from == host && is_user(bytes)).count()
}

/// Samples within the latency budget share datagrams, arrive within it, in order, and are acknowledged.
#[test]
fn samples_within_the_budget_share_datagrams() {
    for qos in [best_effort(), reliable()] {
        let qos = batched(qos);
        let mut world = in_order(3);
        let (a, b) = (world.add(), world.add());
        let (writer, reader) = (world.writer(a, "t", &qos), world.reader(b, "t", &qos));
        world.run_for(SECOND);
        world.is_tapped = true;
        for value in 0..100 {
            world.write(a, writer, &number(value));
        }
        assert_eq!(numbers(&world.take_all(b, reader)), [0; 0]);
        world.run_for(Duration::from_millis(6));
        assert_eq!(numbers(&world.take_all(b, reader)), (0..100).collect::<Vec<u64>>());
        assert!(sent_by(&world, a) <= 5, "{} datagrams", sent_by(&world, a));
        assert!(world.tap.iter().all(|(_, bytes)| bytes.len() <= 1500));
        world.run_for(SECOND);
        assert!(world.participant(a).is_acknowledged(writer));
    }
}

/// Flushing sends at once what the budget holds back, and so does the end of its writer.
#[test]
fn a_batch_can_be_flushed() {
    let qos = Qos { latency_budget: Lease::Finite(SECOND / 2), ..best_effort() };
    let mut world = in_order(4);
    let (a, b) = (world.add(), world.add());
    let (writer, reader) = (world.writer(a, "t", &qos), world.reader(b, "t", &qos));
    world.run_for(SECOND);
    world.write(a, writer, &number(1));
    world.run_for(Duration::from_millis(1));
    assert!(world.take_all(b, reader).is_empty());
    let now = world.now;
    world.participant(a).flush(now, writer);
    world.run_for(Duration::from_millis(1));
    assert_eq!(numbers(&world.take_all(b, reader)), [1]);
    world.write(a, writer, &number(2));
    let now = world.now;
    world.participant(a).delete_writer(now, writer);
    world.run_for(Duration::from_millis(1));
    assert_eq!(numbers(&world.take_all(b, reader)), [2]);
}

/// A sample of several fragments neither overtakes nor delays the batch before it.
#[test]
fn a_large_sample_follows_its_batch() {
    let qos = batched(reliable());
    let mut world = World::new(5);
    let config = ParticipantConfig { fragment_size: 1000, ..world.config(1) };
    let (a, b) = (world.add_configured(config), world.add());
    let (writer, reader) = (world.writer(a, "t", &qos), world.reader(b, "t", &qos));
    world.run_for(SECOND);
    let large: Vec<u8> = [number(1), vec![7; 5000]].concat();
    world.write(a, writer, &number(0));
    world.write(a, writer, &large);
    world.write(a, writer, &number(2));
    world.run_for(Duration::from_millis(10));
    assert_eq!(numbers(&world.take_all(b, reader)), [0, 1, 2]);
}

/// However fast a keep-all writer writes, what is on its way is bounded; the rest follows acknowledgements, in order,
/// with and without losses, in batches or not.
#[test]
fn what_is_on_its_way_is_bounded() {
    for (qos, loss) in
        [(reliable(), 0), (reliable(), 20), (batched(reliable()), 0), (batched(reliable()), 20)]
    {
        let mut world = World::new(6);
        let limits = Limits { flight_bytes_max: 16 << 10, ..Limits::default() };
        let config = ParticipantConfig { limits, ..world.config(1) };
        let (a, b) = (world.add_configured(config), world.add());
        let (writer, reader) = (world.writer(a, "t", &qos), world.reader(b, "t", &qos));
        world.run_for(SECOND);
        world.faults = Faults { loss, ..Faults::default() };
        world.is_tapped = true;
        for value in 0..2000 {
            world.write(a, writer, &number(value));
        }
        let at_once: usize = world.tap.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(at_once <= 20 << 10, "{at_once} bytes at once");
        let mut got = Vec::new();
        world.run_until(world.now + SECOND * 30, |world| {
            got.extend(numbers(&world.take_all(b, reader)));
            got.len() == 2000 && world.participant(a).is_acknowledged(writer)
        });
        assert_eq!(got, (0..2000).collect::<Vec<u64>>());
    }
}

/// A reader that dies with a full window does not stop the others for longer than its lease.
#[test]
fn a_dead_reader_holds_the_window_for_its_lease_only() {
    let mut world = World::new(7);
    let limits = Limits { flight_bytes_max: 4 << 10, ..Limits::default() };
    let config = ParticipantConfig { limits, ..world.config(1) };
    let (a, b, dead) = (world.add_configured(config), world.add(), world.add());
    let qos = reliable();
    let writer = world.writer(a, "t", &qos);
    let (reader, _) = (world.reader(b, "t", &qos), world.reader(dead, "t", &qos));
    world.run_for(SECOND);
    world.kill(dead);
    for value in 0..100 {
        world.write(a, writer, &number(value));
    }
    world.run_for(SECOND * 40);
    assert_eq!(numbers(&world.take_all(b, reader)), (0..100).collect::<Vec<u64>>());
}

/// Three readers that listen to a group get one datagram; two get one each; repairs go to the one that asks.
#[test]
fn a_group_takes_the_place_of_many_addresses() {
    let group = Locator::udp_v4([239, 255, 64, 3], 7401);
    for (listeners, datagrams) in [(2, 2), (3, 1), (5, 1)] {
        let mut world = World::new(8);
        let a = world.add();
        let writer = world.writer(a, "t", &reliable());
        let mut readers = Vec::new();
        for _ in 0..listeners {
            let host = world.add();
            let now = world.now;
            let config = EndpointConfig { multicast: vec![group], ..endpoint("t", &reliable()) };
            readers.push((host, world.participant(host).create_reader(now, config, None).unwrap()));
        }
        world.run_for(SECOND);
        world.is_tapped = true;
        world.write(a, writer, &number(9));
        assert_eq!(world.tap.len(), datagrams, "{listeners} listeners");
        world.faults = Faults { loss: 30, ..Faults::default() };
        for value in 10..50 {
            world.write(a, writer, &number(value));
        }
        world.run_for(SECOND * 10);
        for (host, reader) in readers {
            assert_eq!(numbers(&world.take_all(host, reader)), (9..50).collect::<Vec<u64>>());
        }
    }
}

/// A writer that may not use groups does not.
#[test]
fn groups_can_be_declined() {
    let group = Locator::udp_v4([239, 255, 64, 3], 7401);
    let mut world = World::new(9);
    let reach = Reach { multicast_min: None, ..Reach::default() };
    let config = ParticipantConfig { reach, ..world.config(1) };
    let a = world.add_configured(config);
    let writer = world.writer(a, "t", &best_effort());
    for _ in 0..4 {
        let host = world.add();
        let now = world.now;
        let config = EndpointConfig { multicast: vec![group], ..endpoint("t", &best_effort()) };
        world.participant(host).create_reader(now, config, None).unwrap();
    }
    world.run_for(SECOND);
    world.is_tapped = true;
    world.write(a, writer, &number(9));
    assert_eq!(world.tap.len(), 4);
}

/// A route within the machine takes the place of a reader's address until it is withdrawn.
#[test]
fn a_route_takes_the_place_of_an_address() {
    let mut world = World::new(10);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &best_effort());
    world.reader(b, "t", &best_effort());
    world.run_for(SECOND);
    let (peer, guid) = (world.participant(b).guid().prefix, world.participant(a).guid());
    let route = Locator::shared_memory(rtps::Guid::new(guid.prefix, writer));
    let destination = |world: &mut World| {
        let now = world.now;
        let sample = rtps::WriteSample { payload: &number(1), ..rtps::WriteSample::default() };
        world.participant(a).write(now, writer, sample).unwrap();
        let datagram = world.participant(a).poll_transmit().unwrap();
        assert!(world.participant(a).poll_transmit().is_none());
        datagram.to
    };
    let own = destination(&mut world);
    world.participant(a).set_route(writer, peer, Some(route));
    assert_eq!(destination(&mut world), [route]);
    world.reader(b, "t", &best_effort());
    world.run_for(SECOND);
    assert_eq!(destination(&mut world), [route], "a later reader of that participant, too");
    world.participant(a).set_route(writer, peer, None);
    assert_eq!(destination(&mut world), own);
}
