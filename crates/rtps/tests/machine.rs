//! Two and more participants on a virtual network: discovery, matching, reliability, history, fragments.

mod world;

use std::time::Duration;

use rtps::qos::{History, Qos};
use rtps::{Event, LostReason, Timing};
use world::{Faults, World, best_effort, durable, number, numbers, reliable};

const SECOND: Duration = Duration::from_secs(1);

/// Two participants find each other and exchange samples within a few milliseconds.
#[test]
fn discovery_takes_milliseconds() {
    let mut world = World::new(1);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &best_effort());
    let reader = world.reader(b, "t", &best_effort());
    let end = world.now + Duration::from_millis(20);
    assert!(world.run_until(end, |world| !world.participant(a).matched(writer).is_empty()
        && !world.participant(b).matched(reader).is_empty()));
    world.write(a, writer, &number(7));
    world.run_for(Duration::from_millis(1));
    assert_eq!(numbers(&world.take_all(b, reader)), [7]);
}

/// An idle pair exchanges only its periodic announcements.
#[test]
fn idle_is_quiet() {
    let mut world = World::new(2);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &reliable());
    world.reader(b, "t", &reliable());
    world.run_for(SECOND * 5);
    world.write(a, writer, &number(1));
    world.run_for(SECOND * 5);
    let before = (world.participant(a).statistics(), world.participant(b).statistics());
    world.run_for(SECOND * 100);
    let sent = world.participant(a).statistics().datagrams_sent - before.0.datagrams_sent;
    assert!((9..=11).contains(&sent), "{sent} datagrams in 100 s");
}

/// Reliable samples arrive in order, each once, whatever the network loses, doubles and reorders; many seeds.
#[test]
fn reliable_survives_a_bad_network() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        world.faults = Faults { loss: 30, duplication: 20, reordering: 30 };
        let (a, b) = (world.add(), world.add());
        let writer = world.writer(a, "t", &reliable());
        let reader = world.reader(b, "t", &reliable());
        let end = world.now + SECOND * 60;
        assert!(
            world.run_until(end, |world| !world.participant(a).matched(writer).is_empty()
                && !world.participant(b).matched(reader).is_empty()),
            "seed {seed}: no match"
        );
        let mut got = Vec::new();
        for value in 0..300 {
            world.write(a, writer, &number(value));
            world.run_for(Duration::from_micros(300));
            got.extend(world.take_all(b, reader));
        }
        let end = world.now + SECOND * 60;
        world.run_until(end, |world| {
            got.extend(world.take_all(b, reader));
            got.len() == 300
        });
        let got = numbers(&got);
        // The reader may have matched after the writer: then it starts later, but without a hole.
        let first = *got.first().unwrap_or_else(|| panic!("seed {seed}: nothing arrived"));
        assert_eq!(got, (first..300).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(first, 0, "seed {seed}: both sides had matched");
        // Twenty questions, each of which is lost or its answer is, half of the time.
        world.run_for(SECOND * 40);
        assert!(world.participant(a).is_acknowledged(writer), "seed {seed}");
        assert_eq!(
            world.participant(a).history_len(writer),
            0,
            "seed {seed}: acknowledged samples are dropped"
        );
        assert_eq!(world.participant(b).lost(reader), 0);
    }
}

/// The same seed gives the same run, datagram for datagram.
#[test]
fn runs_repeat_from_their_seed() {
    let run = |seed| {
        let mut world = World::new(seed);
        world.faults = Faults { loss: 20, duplication: 10, reordering: 20 };
        world.is_tapped = true;
        let (a, b) = (world.add(), world.add());
        let writer = world.writer(a, "t", &reliable());
        world.reader(b, "t", &reliable());
        for value in 0..50 {
            world.run_for(Duration::from_millis(2));
            world.write(a, writer, &number(value));
        }
        world.run_for(SECOND);
        world.tap
    };
    assert!(run(3) == run(3), "one seed, two runs");
    assert!(run(3) != run(4));
}

/// A late joiner of a transient-local topic gets the past, a volatile one does not, both get the future.
#[test]
fn late_joiners_get_what_their_durability_says() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.faults = Faults { loss: 20, duplication: 10, reordering: 20 };
        let (a, b, c) = (world.add(), world.add(), world.add());
        let writer = world.writer(a, "t", &durable());
        world.run_for(SECOND * 5);
        for value in 0..10 {
            world.write(a, writer, &number(value));
        }
        world.run_for(SECOND);
        let past = world.reader(b, "t", &durable());
        let future = world.reader(c, "t", &reliable());
        let end = world.now + SECOND * 30;
        world.run_until(end, |world| world.participant(a).matched(writer).len() == 2);
        world.run_for(SECOND * 5);
        for value in 10..20 {
            world.write(a, writer, &number(value));
        }
        world.run_for(SECOND * 30);
        assert_eq!(numbers(&world.take_all(b, past)), (0..20).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(numbers(&world.take_all(c, future)), (10..20).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// Keep-last keeps the newest samples; what a reliable reader missed for good is counted.
#[test]
fn keep_last_overwrites_and_counts() {
    let mut world = World::new(5);
    let (a, b) = (world.add(), world.add());
    let qos = Qos { history: History::KeepLast(3), ..durable() };
    let writer = world.writer(a, "t", &qos);
    for value in 0..10 {
        world.write(a, writer, &number(value));
    }
    let reader = world.reader(b, "t", &Qos { history: History::KeepLast(2), ..durable() });
    world.run_for(SECOND);
    assert_eq!(numbers(&world.take_all(b, reader)), [8, 9]);
    assert_eq!(world.participant(b).statistics().samples_overwritten, 1);
}

/// A best-effort reader counts what it never got.
#[test]
fn best_effort_counts_losses() {
    let mut world = World::new(6);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &best_effort());
    let reader = world.reader(b, "t", &best_effort());
    world.run_for(SECOND);
    world.faults.loss = 50;
    for value in 0..1000 {
        world.write(a, writer, &number(value));
        world.run_for(Duration::from_micros(100));
    }
    world.faults.loss = 0;
    world.write(a, writer, &number(1000));
    world.run_for(SECOND);
    let got = world.take_all(b, reader).len() as u64;
    let lost = world.participant(b).lost(reader);
    assert!((300..700).contains(&got), "{got}");
    assert!(got + lost >= 1000 && got + lost <= 1001, "{got} arrived, {lost} lost");
}

/// A full keep-all reader stops the writer instead of losing samples, and taking lets it go on.
#[test]
fn keep_all_applies_back_pressure() {
    let mut world = World::new(7);
    let (a, b) = (world.add(), world.add());
    let limits = |max| rtps::qos::ResourceLimits { max_samples: Some(max), ..Default::default() };
    let writer = world.writer(a, "t", &Qos { resource_limits: limits(20), ..reliable() });
    let reader = world.reader(b, "t", &Qos { resource_limits: limits(10), ..reliable() });
    world.run_for(SECOND);
    let (mut written, mut got) = (0, Vec::new());
    for _ in 0..10_000 {
        let payload = number(written);
        let sample = rtps::WriteSample { payload: &payload, ..Default::default() };
        let now = world.now;
        match world.participant(a).write(now, writer, sample) {
            Ok(_) => written += 1,
            Err(rtps::WriteError::Full) => {
                let sample = world.take(b, reader).map(|sample| sample.payload);
                got.extend(sample);
            }
            Err(error) => panic!("{error}"),
        }
        world.run_for(Duration::from_millis(1));
        if written == 500 {
            break;
        }
    }
    let end = world.now + SECOND * 100;
    world.run_until(end, |world| {
        got.extend(world.take_all(b, reader));
        got.len() == 500
    });
    assert_eq!(numbers(&got), (0..500).collect::<Vec<_>>());
    assert_eq!(world.participant(b).statistics().samples_lost, 0);
}

/// Endpoints match by topic, type, partition and QoS; what keeps them apart is told.
#[test]
fn incompatible_qos_is_an_event() {
    let mut world = World::new(8);
    let (a, b) = (world.add(), world.add());
    world.writer(a, "t", &best_effort());
    let reader = world.reader(b, "t", &reliable());
    let other = world.reader(b, "u", &best_effort());
    world.run_for(SECOND);
    assert!(
        world.participant(b).matched(reader).is_empty() && world.participant(b).matched(other).is_empty()
    );
    let told = |events: &[Event]| {
        events.iter().any(|event| {
            matches!(event, Event::IncompatibleQos { policies, .. }
            if policies == &[rtps::qos::Policy::Reliability])
        })
    };
    assert!(told(&world.events(a)) && told(&world.events(b)));
}

/// Deleting an endpoint unmatches it at the peer; leaving tells everyone; silence ends with the lease.
#[test]
fn endpoints_and_participants_leave() {
    let mut world = World::new(9);
    let (a, b, c) = (world.add(), world.add(), world.add());
    let writer = world.writer(a, "t", &reliable());
    let readers = [world.reader(b, "t", &reliable()), world.reader(c, "t", &reliable())];
    world.run_for(SECOND);
    assert_eq!(world.participant(a).matched(writer).len(), 2);
    let now = world.now;
    world.participant(b).delete_reader(now, readers[0]);
    world.run_for(SECOND);
    assert_eq!(world.participant(a).matched(writer).len(), 1);
    let now = world.now;
    world.participant(b).close(now);
    world.run_for(SECOND);
    world.kill(b);
    assert!(
        world
            .events(a)
            .iter()
            .any(|event| matches!(event, Event::ParticipantLost { reason: LostReason::Left, .. }))
    );
    world.kill(c);
    world.run_for(SECOND * 31);
    let events = world.events(a);
    let expired =
        |event: &Event| matches!(event, Event::ParticipantLost { reason: LostReason::LeaseExpired, .. });
    assert!(events.iter().any(expired), "{events:?}");
    assert!(world.participant(a).matched(writer).is_empty());
}

/// A participant restarted within its old self's lease, with another prefix, is served within milliseconds.
#[test]
fn restart_within_the_lease() {
    let mut world = World::new(10);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &durable());
    world.reader(b, "t", &durable());
    world.run_for(SECOND * 6);
    world.write(a, writer, &number(1));
    world.kill(b);
    world.run_for(SECOND * 8);
    let config = world.config(2);
    let reborn = world.add_configured(config);
    let reader = world.reader(reborn, "t", &durable());
    world.run_for(Duration::from_millis(20));
    assert_eq!(numbers(&world.take_all(reborn, reader)), [1]);
}

/// Big samples travel in fragments, are repaired by fragment, and arrive whole.
#[test]
fn fragments_survive_a_bad_network() {
    for seed in 0..10 {
        let mut world = World::new(seed);
        let mut ids = Vec::new();
        for host in 1..=2 {
            let config = rtps::ParticipantConfig { fragment_size: 1344, ..world.config(host) };
            ids.push(world.add_configured(config));
        }
        let (a, b) = (ids[0], ids[1]);
        let writer = world.writer(a, "t", &reliable());
        let reader = world.reader(b, "t", &reliable());
        world.run_for(SECOND);
        world.faults = Faults { loss: 20, duplication: 10, reordering: 20 };
        let payload: Vec<u8> = (0..200_000_u32).map(|i| (i % 251).to_le_bytes()[0]).collect();
        world.write(a, writer, &payload);
        world.write(a, writer, &number(2));
        world.run_for(SECOND * 60);
        let got = world.take_all(b, reader);
        assert_eq!(got.len(), 2, "seed {seed}");
        assert!(got[0] == payload && got[1] == number(2), "seed {seed}");
    }
}

/// Forged announcements cost bounded memory and do not keep a real participant out.
#[test]
fn forged_announcements_are_bounded() {
    let mut world = World::new(11);
    let (a, b) = (world.add(), world.add());
    let writer = world.writer(a, "t", &reliable());
    let reader = world.reader(b, "t", &reliable());
    world.run_for(SECOND);
    for _ in 0..5000 {
        let mut forger = World::new(world.random.next());
        forger.is_tapped = true;
        forger.add();
        forger.run_for(Duration::from_millis(1));
        let (_, bytes) = forger.tap[0].clone();
        world.inject(b, &bytes);
    }
    assert!(world.participant(b).remote_participants().count() <= 258);
    world.write(a, writer, &number(3));
    world.run_for(SECOND);
    assert_eq!(numbers(&world.take_all(b, reader)), [3]);
    let late = world.add();
    let reader = world.reader(late, "t", &reliable());
    world.run_for(SECOND);
    assert_eq!(world.participant(late).matched(reader).len(), 1);
}

/// The announcement period follows the configuration.
#[test]
fn announcements_follow_the_period() {
    let mut world = World::new(12);
    let timing = Timing { announce_period: Duration::from_secs(2), lease: SECOND * 6, ..Timing::default() };
    let config = rtps::ParticipantConfig { timing, ..world.config(1) };
    let a = world.add_configured(config);
    world.run_for(SECOND * 20);
    let sent = world.participant(a).statistics().datagrams_sent;
    // Five at once, four at doubling distances, then one every two seconds or a little sooner.
    assert!((16..=19).contains(&sent), "{sent}");
}
