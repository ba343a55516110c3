#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! Deadline, ownership and lifespan between our programs and Cyclone DDS, each in both roles.

#[path = "interop/cell.rs"]
#[allow(dead_code, reason = "the matrix's cells are for the matrix")]
mod cell;

use std::time::Duration;

use bus::{DdsType, EndpointStatus, Participant, ParticipantEvent};
use cell::Program;
use peers::{Durability, Kind, Namespace, Peer, Reliability, record, skip};
use rtps::qos::{DestinationOrder, Policy};

const PAIRS: [(Program, Program); 3] = [
    (Program::Stillwatt, Program::Cyclone),
    (Program::Cyclone, Program::Stillwatt),
    (Program::Stillwatt, Program::Stillwatt),
];

/// A private network with both programs, or why there is none.
fn network(test: &str) -> Option<Namespace> {
    let namespace = Namespace::create();
    let programs = [Program::Stillwatt, Program::Cyclone];
    let absent = |namespace: &Namespace| programs.iter().find_map(|program| program.peer(namespace).err());
    match namespace.map(|namespace| (absent(&namespace), namespace)) {
        Ok((None, namespace)) => Some(namespace),
        Ok((Some(reason), _)) | Err(reason) => {
            skip(test, &reason);
            None
        }
    }
}

fn peer(program: Program, namespace: &Namespace) -> Peer {
    program.peer(namespace).unwrap().reliability(Reliability::Reliable).timeout(Duration::from_secs(40))
}

/// A publisher that falls silent misses its deadline, by its own account and by its subscriber's.
#[test]
fn a_late_publisher_is_noticed() {
    for (writer, reader) in PAIRS {
        let Some(namespace) = network("policies::a_late_publisher_is_noticed") else { return };
        let timely = |program| peer(program, &namespace).argument("--deadline").argument("0.3");
        let mut subscriber =
            timely(reader).subscribe(38, "interop/deadline", Kind::Item, 99).start().unwrap();
        let mut publisher = timely(writer)
            .publish(38, "interop/deadline", Kind::Item, 3)
            .gate()
            .linger(Duration::from_secs(2))
            .start()
            .unwrap();
        assert!(publisher.wait_for_match() && subscriber.wait_for_match(), "{writer} -> {reader} matches");
        publisher.open_gate();
        let late = |line: &serde_json::Value| line["deadline_missed"].as_u64() > Some(0);
        let was_noticed = [subscriber.wait_for(late), publisher.wait_for(late)];
        record(writer, reader, "missed deadline", was_noticed == [true, true]);
        let told = (subscriber.stop(), publisher.stop());
        assert_eq!(was_noticed, [true, true], "{writer} -> {reader}: {told:?}");
    }
}

/// Of two publishers a subscriber with exclusive ownership hears the stronger one while it is there, then the other.
#[test]
fn the_stronger_publisher_is_heard() {
    let (ours, theirs) = (Program::Stillwatt, Program::Cyclone);
    for (reader, strong, weak) in
        [(ours, ours, theirs), (ours, theirs, ours), (theirs, ours, theirs), (theirs, theirs, ours)]
    {
        let Some(namespace) = network("policies::the_stronger_publisher_is_heard") else { return };
        let exclusive =
            |program, strength| peer(program, &namespace).argument("--strength").argument(strength);
        let mut subscriber =
            exclusive(reader, "0").subscribe(39, "interop/ownership", Kind::Item, 9999).start().unwrap();
        let publish = |program, strength, count| {
            let peer = exclusive(program, strength).publish(39, "interop/ownership", Kind::Item, count);
            peer.gate().linger(Duration::from_millis(100)).start().unwrap()
        };
        let (mut strong_one, mut weak_one) = (publish(strong, "7", 60), publish(weak, "3", 500));
        assert!(strong_one.wait_for_match() && weak_one.wait_for_match(), "{strong}, {weak} -> {reader}");
        std::thread::sleep(Duration::from_millis(1500));
        weak_one.open_gate();
        assert!(weak_one.wait_for(|line| line["wrote"] == 30));
        strong_one.open_gate();
        let (strong_name, weak_name) = (strong_one.finish().name, weak_one.finish().name);
        // What is on its way arrives.
        let last = format!("{weak_name}-499");
        assert!(subscriber.wait_for(|line| line["name"] == last.as_str()), "{strong}, {weak} -> {reader}");
        let heard = subscriber.stop();
        let mut all_fit = true;
        for id in 0..3 {
            let of_instance = heard.samples().into_iter().filter(|sample| sample["id"] == id);
            let names = of_instance.map(|sample| sample["name"].as_str().unwrap().to_owned());
            let mut runs: Vec<bool> = names.map(|name| name.starts_with(strong_name)).collect();
            let strong_count = runs.iter().filter(|is_strong| **is_strong).count();
            runs.dedup();
            all_fit &= runs == [false, true, false] && strong_count == 20;
        }
        record(strong, reader, "exclusive ownership", all_fit);
        assert!(all_fit, "{strong} over {weak} at {reader}: {heard:?}");
    }
}

/// A late subscriber of a durable publisher gets what has not expired there, and nothing else.
#[test]
fn a_late_subscriber_gets_nothing_expired() {
    for (writer, reader) in PAIRS {
        let Some(namespace) = network("policies::a_late_subscriber_gets_nothing_expired") else { return };
        let durable = |program| peer(program, &namespace).durability(Durability::TransientLocal);
        for (lifespan, expected) in [("0.5", 0), ("60", 3)] {
            let topic = format!("interop/lifespan{expected}");
            let mut publisher = durable(writer)
                .argument("--lifespan")
                .argument(lifespan)
                .publish(40, &topic, Kind::Item, 3)
                .linger(Duration::from_secs(30))
                .start()
                .unwrap();
            assert!(publisher.wait_for(|line| line["wrote"] == 2));
            std::thread::sleep(Duration::from_secs(1));
            let late = durable(reader).timeout(Duration::from_secs(4)).subscribe(40, &topic, Kind::Item, 3);
            let heard = late.start().unwrap().finish();
            publisher.stop();
            let is_right = heard.has_matched() && heard.samples().len() == expected;
            record(writer, reader, "lifespan at a late subscriber", is_right);
            assert!(is_right, "{writer} -> {reader}, {lifespan} s: {heard:?}");
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "test::Level")]
struct Level {
    #[dds(key)]
    id: u32,
    value: u32,
}

/// Each builder method reaches the policy that it names, and the statuses count by policy, here within one process.
#[test]
fn builder_and_status_agree() {
    let wait = Duration::from_secs(20);
    let participant = Participant::builder().domain(63).build().unwrap();
    let publisher = participant
        .publisher::<Level>("levels")
        .reliable()
        .deadline(Duration::from_millis(200))
        .lifespan(Duration::from_secs(9))
        .exclusive_ownership(4)
        .destination_order(DestinationOrder::BySource)
        .latency_budget(Duration::ZERO)
        .transport_priority(46)
        .autodispose(true)
        .build()
        .unwrap();
    let subscriber = participant
        .subscriber::<Level>("levels")
        .reliable()
        .keep_all()
        .deadline(Duration::from_millis(200))
        .time_based_filter(Duration::from_millis(100))
        .exclusive_ownership(0)
        .build()
        .unwrap();
    assert!(publisher.wait_for_match(1, wait) && subscriber.wait_for_match(1, wait));
    let demanding = participant
        .subscriber::<Level>("levels")
        .reliable()
        .transient_local()
        .deadline(Duration::from_millis(1))
        .build()
        .unwrap();
    let shared: EndpointStatus = demanding.status();
    let policies: Vec<_> = shared.incompatible.keys().copied().collect();
    assert_eq!(policies, [Policy::Durability, Policy::Deadline, Policy::Ownership]);
    assert_eq!(publisher.status().incompatible, shared.incompatible);

    (0..5).for_each(|value| publisher.write(&Level { id: 1, value }).unwrap());
    let next = || subscriber.recv_timeout(wait).unwrap().unwrap().data;
    let values = [0, 4].map(|value| bus::Data::Valid(Level { id: 1, value }));
    assert_eq!([next(), next()], values, "the first and, when the time is over, the newest");
    assert_eq!(subscriber.status().samples_filtered, 3);
    let mut told = Vec::new();
    let start = std::time::Instant::now();
    while !told.iter().any(|event| matches!(event, ParticipantEvent::DeadlineMissed { .. })) {
        assert!(start.elapsed() < wait, "no missed deadline told: {told:?}");
        std::thread::sleep(Duration::from_millis(20));
        told.extend(participant.take_events());
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(publisher.status().deadline_missed > 0 && subscriber.status().deadline_missed > 0);
    drop(publisher);
    assert_eq!(next(), bus::Data::Disposed(Some(Level { id: 1, value: 0 })));
}
