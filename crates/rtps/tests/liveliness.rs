//! Liveliness of writers, on a virtual clock: who keeps a lease, who is noticed when it does not, and what that costs.
#![allow(clippy::unwrap_used, reason = "the whole file is test code")]

mod world;

use std::time::Duration;

use rtps::qos::{Liveliness, LivelinessKind, Qos};
use rtps::{EntityId, Event, Lease};
use world::{World, best_effort, number, reliable};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(3);
const KINDS: [LivelinessKind; 3] =
    [LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic];

fn with(kind: LivelinessKind, qos: Qos) -> Qos {
    Qos { liveliness: Liveliness { kind, lease: Lease::Finite(LEASE) }, ..qos }
}

/// What a host was told of liveliness since it was last asked: (its reader, alive), then how often its own was lost.
fn told(world: &mut World, host: usize) -> (Vec<(EntityId, bool)>, usize) {
    let events = world.events(host);
    let changed = events.iter().filter_map(|event| match event {
        Event::LivelinessChanged { local, is_alive, .. } => Some((*local, *is_alive)),
        _ => None,
    });
    let lost = events.iter().filter(|event| matches!(event, Event::LivelinessLost(_))).count();
    (changed.collect(), lost)
}

struct Pair {
    world: World,
    a: usize,
    b: usize,
    writer: EntityId,
    reader: EntityId,
}

fn pair(kind: LivelinessKind, qos: Qos) -> Pair {
    let mut world = World::new(11);
    let (a, b) = (world.add(), world.add());
    let qos = with(kind, qos);
    let (writer, reader) = (world.writer(a, "t", &qos), world.reader(b, "t", &qos));
    world.run_for(SECOND);
    told(&mut world, a);
    Pair { world, a, b, writer, reader }
}

/// An automatic writer is alive as long as its participant is, without writing, and noticed once it is killed.
#[test]
fn automatic_writers_live_with_their_process() {
    for qos in [best_effort(), reliable()] {
        let Pair { mut world, a, b, reader, .. } = pair(LivelinessKind::Automatic, qos);
        world.run_for(SECOND * 60);
        assert_eq!((told(&mut world, a), told(&mut world, b)), ((vec![], 0), (vec![], 0)));
        world.kill(a);
        world.run_for(LEASE - Duration::from_millis(1100));
        assert_eq!(told(&mut world, b).0, []);
        world.run_for(Duration::from_millis(1200));
        assert_eq!(told(&mut world, b).0, [(reader, false)]);
    }
}

/// A manual writer that nobody asserts is noticed on both sides once, and alive again with the next assertion, also by
/// writing.
#[test]
fn manual_writers_live_as_long_as_they_are_asserted() {
    for kind in [LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic] {
        let Pair { mut world, a, b, writer, reader } = pair(kind, reliable());
        for _ in 0..20 {
            let now = world.now;
            world.participant(a).assert_writer(now, writer);
            world.run_for(SECOND);
        }
        assert_eq!((told(&mut world, a), told(&mut world, b)), ((vec![], 0), (vec![], 0)), "{kind:?}");
        world.run_for(SECOND * 10);
        assert_eq!((told(&mut world, a), told(&mut world, b)), ((vec![], 1), (vec![(reader, false)], 0)));
        let now = world.now;
        world.participant(a).assert_writer(now, writer);
        world.run_for(SECOND);
        assert_eq!(told(&mut world, b).0, [(reader, true)]);
        world.run_for(SECOND * 10);
        assert_eq!((told(&mut world, a), told(&mut world, b)), ((vec![], 1), (vec![(reader, false)], 0)));
        world.write(a, writer, &number(1));
        world.run_for(SECOND);
        assert_eq!(told(&mut world, b).0, [(reader, true)], "{kind:?}");
    }
}

/// Asserting by participant, or writing with one such writer, counts for all of them, and not for those by topic.
#[test]
fn one_assertion_counts_for_the_participant() {
    let Pair { mut world, a, b, writer, reader } = pair(LivelinessKind::ManualByParticipant, reliable());
    let by_topic = with(LivelinessKind::ManualByTopic, reliable());
    let (_, other) = (world.writer(a, "other", &by_topic), world.reader(b, "other", &by_topic));
    let by_participant = with(LivelinessKind::ManualByParticipant, reliable());
    let (silent, third) =
        (world.writer(a, "third", &by_participant), world.reader(b, "third", &by_participant));
    world.run_for(SECOND);
    for turn in 0..20 {
        let now = world.now;
        match turn % 2 {
            0 => world.participant(a).assert_liveliness(now),
            _ => world.write(a, writer, &number(turn)),
        }
        world.run_for(SECOND * 2);
    }
    assert_eq!(told(&mut world, b).0, [(other, false)]);
    assert_eq!(told(&mut world, a).1, 1);
    world.run_for(SECOND * 10);
    let mut changed = told(&mut world, b).0;
    changed.sort();
    assert_eq!(changed, [(reader, false), (third, false)]);
    let _ = silent;
}

/// Assertions in quick succession are sent at most three times a lease, and none of them is forgotten.
#[test]
fn assertions_are_sent_sparingly() {
    for kind in [LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic] {
        let Pair { mut world, a, b, writer, .. } = pair(kind, reliable());
        world.is_tapped = true;
        for _ in 0..3000 {
            let now = world.now;
            world.participant(a).assert_writer(now, writer);
            world.run_for(Duration::from_millis(10));
        }
        let sent = world.tap.iter().filter(|(from, _)| *from == a).count();
        // By participant each assertion is acknowledged; four announcements.
        assert!(sent <= 70, "{sent} datagrams in ten leases, {kind:?}");
        world.run_for(LEASE - Duration::from_millis(20));
        assert_eq!(told(&mut world, b).0, [], "the last assertion holds for a whole lease");
    }
}

/// Without a finite lease nothing is sent between announcements, and no timer runs.
#[test]
fn infinite_leases_cost_nothing() {
    let mut world = World::new(12);
    let (a, b) = (world.add(), world.add());
    for kind in KINDS {
        let qos = Qos { liveliness: Liveliness { kind, lease: Lease::Infinite }, ..reliable() };
        let writer = world.writer(a, "t", &qos);
        world.reader(b, "t", &qos);
        let now = world.now;
        world.participant(a).assert_writer(now, writer);
        world.participant(a).assert_liveliness(now);
    }
    world.run_for(SECOND * 5);
    world.is_tapped = true;
    world.run_for(SECOND * 100);
    assert!(world.tap.len() <= 40, "{} datagrams in ten announcement periods", world.tap.len());
}

/// A participant's own readers watch its manual writers like anybody's, and its automatic ones never die.
#[test]
fn a_participant_watches_itself() {
    for kind in KINDS {
        let mut world = World::new(13);
        let a = world.add();
        let qos = with(kind, reliable());
        let (writer, reader) = (world.writer(a, "t", &qos), world.reader(a, "t", &qos));
        for _ in 0..10 {
            world.run_for(SECOND);
            let now = world.now;
            world.participant(a).assert_writer(now, writer);
        }
        assert_eq!(told(&mut world, a), (vec![], 0), "{kind:?}");
        world.run_for(SECOND * 10);
        let expected =
            if kind == LivelinessKind::Automatic { (vec![], 0) } else { (vec![(reader, false)], 1) };
        assert_eq!(told(&mut world, a), expected, "{kind:?}");
    }
}

/// A writer that is gone, or unmatched, is no longer watched.
#[test]
fn who_is_gone_is_not_watched() {
    let Pair { mut world, a, b, writer, .. } = pair(LivelinessKind::ManualByTopic, reliable());
    let now = world.now;
    world.participant(a).delete_writer(now, writer);
    world.run_for(SECOND * 20);
    assert_eq!((told(&mut world, a), told(&mut world, b)), ((vec![], 0), (vec![], 0)));
}
