//! Readers with a content filter on a virtual network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod world;

use std::time::Duration;

use rtps::filter::Filter;
use rtps::message::StatusInfo;
use rtps::qos::{History, Qos};
use rtps::types::{Member, StructType, Type};
use rtps::{EntityId, WriteSample};
use world::{Faults, World, best_effort, number, numbers, reliable};

const SECOND: Duration = Duration::from_secs(1);

/// What [`number`] writes has this type.
fn filter(expression: &str) -> Filter {
    let structure = StructType::new("Number", vec![Member::new("value", Type::Uint64)]).unwrap();
    Filter::new::<&str>(&structure, expression, &[]).unwrap()
}

fn pair(world: &mut World, qos: &Qos) -> (EntityId, EntityId) {
    let (a, b) = (world.add(), world.add());
    let (writer, reader) = (world.writer(a, "t", qos), world.reader(b, "t", qos));
    let end = world.now + SECOND * 10;
    assert!(world.run_until(end, |world| !world.participant(a).matched(writer).is_empty()
        && !world.participant(b).matched(reader).is_empty()));
    (writer, reader)
}

/// On a bad network a reliable reader gets every sample that passes, once and in order; the others count as received
/// by their writer, and as filtered.
#[test]
fn what_passes_arrives_in_order() {
    for seed in 0..10 {
        let mut world = World::new(seed);
        let (writer, reader) = pair(&mut world, &reliable());
        world.participant(1).set_filter(reader, Some(filter("value >= 100 AND value < 150")));
        world.faults = Faults { loss: 20, duplication: 20, reordering: 30 };
        for value in 0..200 {
            world.write(0, writer, &number(value));
            world.run_for(Duration::from_micros(300));
        }
        world.run_for(SECOND * 20);
        assert_eq!(numbers(&world.take_all(1, reader)), (100..150).collect::<Vec<_>>(), "seed {seed}");
        assert!(world.participant(0).is_acknowledged(writer), "seed {seed}");
        let statistics = world.participant(1).statistics();
        assert_eq!((world.participant(1).filtered(reader), world.participant(1).lost(reader)), (150, 0));
        assert_eq!((statistics.samples_filtered, statistics.samples_received), (150, 50));
    }
}

/// A sample that does not pass takes no room in the history: it neither overwrites one that does, nor fills a keep-all
/// history.
#[test]
fn what_does_not_pass_takes_no_room() {
    let one = History::KeepLast(1);
    let mut limited = reliable();
    limited.resource_limits.max_samples = Some(1);
    for qos in [Qos { history: one, ..reliable() }, Qos { history: one, ..best_effort() }, limited] {
        let mut world = World::new(7);
        let (writer, reader) = pair(&mut world, &qos);
        world.participant(1).set_filter(reader, Some(filter("value = 1")));
        for value in [0, 1, 2, 3] {
            world.write(0, writer, &number(value));
            world.run_for(SECOND);
        }
        assert_eq!(numbers(&world.take_all(1, reader)), [1]);
        assert_eq!(world.participant(1).statistics().samples_overwritten, 0);
    }
}

/// A filter may change and go; it holds for what arrives from then on.
#[test]
fn filters_change_while_data_flows() {
    let mut world = World::new(8);
    let (writer, reader) = pair(&mut world, &reliable());
    let send = |world: &mut World, filter: Option<Filter>| {
        world.participant(1).set_filter(reader, filter);
        for value in 0..4 {
            world.write(0, writer, &number(value));
        }
        world.run_for(SECOND);
    };
    send(&mut world, Some(filter("value < 1")));
    send(&mut world, Some(filter("value > 2")));
    send(&mut world, None);
    assert_eq!(numbers(&world.take_all(1, reader)), [0, 3, 0, 1, 2, 3]);
    assert_eq!(world.participant(1).filtered(reader), 6);
}

/// What is no sample of the type, and the end of an instance, is no matter of the filter.
#[test]
fn ends_and_malformed_samples_pass() {
    let mut world = World::new(9);
    let (writer, reader) = pair(&mut world, &reliable());
    world.participant(1).set_filter(reader, Some(filter("value > 5")));
    world.write(0, writer, &[0, 1, 0, 0, 7]);
    let now = world.now;
    let status = StatusInfo { disposed: true, unregistered: false };
    let payload = number(1);
    let end = WriteSample { status, payload: &payload, ..WriteSample::default() };
    world.participant(0).write(now, writer, end).unwrap();
    world.run_for(SECOND);
    assert_eq!(world.take_all(1, reader).len(), 2);
    assert_eq!(world.participant(1).filtered(reader), 0);
}
