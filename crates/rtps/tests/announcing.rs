//! When participants announce themselves, and how many of them may come at once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod world;

use std::time::Duration;

use rtps::{Event, Limits, LostReason, ParticipantConfig, Timing};
use world::{Faults, World, number, numbers, reliable};

/// The times at which a lone participant announces itself.
fn announcements(config: ParticipantConfig, seconds: u64) -> Vec<Duration> {
    let mut world = World::new(1);
    world.is_tapped = true;
    let start = world.now;
    world.add_configured(config);
    let (end, mut times) = (start + Duration::from_secs(seconds), Vec::new());
    world.run_until(end, |world| {
        times.resize(world.tap.len(), world.now.saturating_since(start));
        false
    });
    times
}

/// Announcements begin in a burst and become rarer until they come once a period, never later than that, so that a
/// lease survives the loss of two of them.
#[test]
fn announcements_become_rarer() {
    for seed in 1..20 {
        let mut config = World::new(seed).config(1);
        config.timing = Timing { announce_period: Duration::from_secs(10), ..Timing::default() };
        let times = announcements(config, 200);
        let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (burst, later) = gaps.split_at(4);
        assert!(burst.iter().all(|gap| *gap == Duration::from_millis(100)), "{gaps:?}");
        assert!(later.windows(2).all(|pair| pair[0] <= pair[1]), "{gaps:?}");
        assert!(later[0] <= Duration::from_millis(200), "{gaps:?}");
        let last = *gaps.last().unwrap();
        assert!(last > Duration::from_millis(8_700) && last <= Duration::from_secs(10), "{gaps:?}");
        assert!(times.len() <= 33, "{} announcements in 200 s", times.len());
    }
}

/// Participants that were started in the same instant do not announce themselves in the same instant later on.
#[test]
fn announcements_are_spread() {
    let last = |seed| announcements(World::new(seed).config(1), 60).last().copied().unwrap();
    let times: std::collections::BTreeSet<Duration> = (0..30).map(last).collect();
    assert!(times.len() > 20, "{times:?}");
}

/// However long a period is asked for, peers never take a silent participant for dead within its lease, and take a dead
/// one for dead when the lease ends.
#[test]
fn leases_hold() {
    let mut world = World::new(3);
    let timing = Timing {
        lease: Duration::from_secs(6),
        announce_period: Duration::from_secs(3600),
        ..Timing::default()
    };
    let config = ParticipantConfig { timing, ..world.config(1) };
    let (host, peer) = (world.add_configured(config), world.add());
    world.run_for(Duration::from_secs(120));
    let is_loss = |event: &Event| matches!(event, Event::ParticipantLost { .. });
    assert!(!world.events(peer).iter().any(is_loss));
    world.kill(host);
    world.run_for(Duration::from_secs(7));
    let reasons: Vec<LostReason> = world
        .events(peer)
        .into_iter()
        .filter_map(|event| match event {
            Event::ParticipantLost { reason, .. } => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [LostReason::LeaseExpired]);
}

/// Many participants that start in the same instant match at once and without evicting each other, although of those
/// that have not answered only some are known in full; also where some datagrams are lost.
#[test]
fn many_start_at_once() {
    const HOSTS: usize = 56;
    for loss in [0, 2] {
        let mut world = World::new(4);
        world.faults.loss = loss;
        for host in 0..HOSTS {
            world.add();
            let topic = format!("t{}", host / 2);
            match host % 2 {
                0 => world.writer(host, &topic, &reliable()),
                _ => world.reader(host, &topic, &reliable()),
            };
        }
        let start = world.now;
        let is_done = |world: &mut World| {
            (0..HOSTS).all(|host| {
                let participant = world.participant(host);
                participant.remote_participants().count() == HOSTS - 1
                    && participant.remote_writers().chain(participant.remote_readers()).count() == HOSTS - 1
            })
        };
        assert!(world.run_until(start + Duration::from_secs(60), is_done));
        let refused: u64 =
            (0..HOSTS).map(|host| world.participant(host).statistics().discovery_refused).sum();
        let limits = Limits::default();
        assert!(HOSTS < limits.unconfirmed_max);
        assert_eq!(refused, 0);
        // Without loss by the first announcement alone.
        let taken = world.now.saturating_since(start);
        assert!(loss > 0 || taken < Duration::from_millis(100), "{taken:?}");
        assert!(taken < Duration::from_secs(5), "{taken:?}");
    }
}

/// A participant killed and started again with the same identity is served within seconds, long before its old self's
/// lease would have ended, whether it was away for long or for a moment: its announcements come as a newcomer's do, it is
/// asked, and what it answers counts from the start again.
#[test]
fn restart_with_the_same_identity() {
    for away in [Duration::from_millis(50), Duration::from_secs(15)] {
        let mut world = World::new(5);
        let config = world.config(1);
        let (host, peer) = (world.add_configured(config.clone()), world.add());
        let reader = world.reader(peer, "t", &reliable());
        let writer = world.writer(host, "t", &reliable());
        world.run_for(Duration::from_secs(2));
        (0..3).for_each(|value| world.write(host, writer, &number(value)));
        world.run_for(Duration::from_secs(20));
        assert_eq!(numbers(&world.take_all(peer, reader)), [0, 1, 2]);
        world.events(peer);
        world.kill(host);
        world.run_for(away);
        let again = world.add_configured(config);
        let start = world.now;
        let writer = world.writer(again, "t", &reliable());
        let end = start + Duration::from_secs(60);
        assert!(world.run_until(end, |world| world.participant(again).matched(writer).len() == 1));
        world.write(again, writer, &number(7));
        let mut got = Vec::new();
        let arrived = world.run_until(end, |world| {
            got.extend(numbers(&world.take_all(peer, reader)));
            got.contains(&7)
        });
        let taken = world.now.saturating_since(start);
        assert!(arrived && taken < Duration::from_secs(3), "{taken:?} {got:?}");
        world.run_for(Duration::from_secs(60));
        assert_eq!(world.participant(peer).remote_participants().count(), 1);
        let restarts = world
            .events(peer)
            .into_iter()
            .filter(|event| matches!(event, Event::ParticipantLost { reason: LostReason::Restarted, .. }));
        assert_eq!(restarts.count(), 1, "seen once, away for {away:?}");
    }
}

/// Messages that come twice, late and in another order are not taken for a restart.
#[test]
fn disorder_is_no_restart() {
    let mut world = World::new(6);
    world.faults = Faults { loss: 5, duplication: 20, reordering: 50 };
    let (host, peer) = (world.add(), world.add());
    world.reader(peer, "t", &reliable());
    let mut writers = Vec::new();
    for _ in 0..60 {
        writers.push(world.writer(host, "t", &reliable()));
        world.run_for(Duration::from_millis(700));
    }
    let is_loss = |event: &Event| matches!(event, Event::ParticipantLost { .. });
    assert!(!world.events(peer).iter().any(is_loss) && !world.events(host).iter().any(is_loss));
}
