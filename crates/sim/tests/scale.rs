//! Many participants find each other on a lossy network.

use std::time::Duration;

use sim::scale::{Layout, ScaleConfig, scale};
use units::Ratio;

/// 2,560 endpoints in 64 participants match completely although one datagram in a hundred is lost. Each participant has
/// 20 writers and 20 readers; every topic has two of each, on different participants.
#[test]
fn full_match_of_2560_endpoints() {
    let mut config = ScaleConfig::new(64, 40, Ratio::new(0.01), 1);
    config.start_within = Duration::from_millis(100);
    let (world, report) = scale(&config).unwrap();
    println!("{report:?}");
    assert_eq!((report.matches, report.matches_expected), (5120, 5120));
    assert!(report.time_to_match.unwrap() < Duration::from_secs(5));
    assert_eq!(world.matches(), 5120);
    assert!(report.network.copies_lost > 0);
}

/// Through a relay participants know those that they share a topic with, and the relay, but nobody else; what is sent
/// grows with their number, not with its square.
#[test]
fn a_relay_introduces_those_that_need_each_other() {
    let run = |participants: u32| {
        let layout = Layout::Relay;
        let config = ScaleConfig { layout, ..ScaleConfig::new(participants, 4, Ratio::new(0.01), 1) };
        let (mut world, report) = scale(&config).unwrap();
        assert_eq!(report.matches, report.matches_expected, "{report:?}");
        assert!(report.time_to_match.unwrap() < Duration::from_secs(5), "{report:?}");
        let others = u64::from(participants - 1);
        // The relay knows them all; each of them the relay, one of its group, and two of either neighbouring group.
        assert!(report.remote_participants <= others + others * 6, "{report:?}");
        let before = world.counts().datagrams_sent;
        world.run_for(Duration::from_secs(100));
        assert_eq!(world.matches(), report.matches_expected, "nobody is forgotten");
        (report.network.datagrams_sent, world.counts().datagrams_sent - before)
    };
    let (few, many) = (run(41), run(161));
    println!("{few:?} {many:?}");
    assert!(many.0 < few.0 * 5 && many.1 < few.1 * 5, "{few:?} {many:?}");
}

/// The same seed gives the same run to the last datagram, another seed another one.
#[test]
fn the_seed_decides_everything() {
    let run = |seed| {
        let mut config = ScaleConfig::new(12, 8, Ratio::new(0.05), seed);
        (config.network.duplication, config.network.reordering) = (Ratio::new(0.02), Ratio::new(0.1));
        scale(&config).unwrap().1
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5).network, run(6).network);
}

/// What has to match is known exactly for every number of participants, also odd ones and one alone.
#[test]
fn every_number_matches_completely() {
    for participants in 0..10 {
        for layout in [Layout::Mesh, Layout::Star, Layout::Relay] {
            let config = ScaleConfig { layout, ..ScaleConfig::new(participants, 4, Ratio::new(0.0), 3) };
            let (mut world, report) = scale(&config).unwrap();
            assert!(report.time_to_match.is_some(), "{participants} {layout:?}: {report:?}");
            world.run_for(Duration::from_secs(3));
            assert_eq!(world.matches(), report.matches_expected, "{participants} {layout:?}");
        }
    }
}

/// A network that loses everything matches nobody, and the report says so.
#[test]
fn a_dead_network_matches_nobody() {
    let (_, report) = scale(&ScaleConfig::new(4, 4, Ratio::new(1.0), 1)).unwrap();
    assert_eq!((report.matches, report.time_to_match), (0, None));
    assert_eq!(report.network.copies_delivered, 0);
}
