//! A day of churn leaves nothing behind.

use std::time::Duration;

use sim::churn::{ChurnConfig, churn};
use units::Ratio;

/// After every round of a day in which twenty participants join, leave, crash, restart and are cut off, all know and hear
/// exactly whom they can, and nothing has grown.
#[test]
fn a_day_leaves_nothing_behind() {
    let mut config = ChurnConfig::new(20, Duration::from_secs(86_400), 1);
    // New identities and a network that doubles and reorders, but loses nothing.
    (config.same_identity, config.network.loss) = (Ratio::new(0.0), Ratio::new(0.0));
    let report = churn(&config).unwrap();
    println!("{report:?}");
    assert_eq!(report.faults, 0, "{:#?}", report.first_faults);
    let kinds = [report.joins, report.leaves, report.crashes, report.splits, report.heals];
    assert!(kinds.iter().all(|count| *count > 10), "{report:?}");
    assert!(report.checks > 50 && report.samples > 1000);
}

/// The same seed gives the same day.
#[test]
fn the_seed_decides_everything() {
    let run = |seed| churn(&ChurnConfig::new(6, Duration::from_secs(3600), seed)).unwrap();
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5));
}

/// Nobody and one alone are no trouble.
#[test]
fn the_smallest_worlds_are_quiet() {
    for participants in 0..2 {
        let report = churn(&ChurnConfig::new(participants, Duration::from_secs(3600), 1)).unwrap();
        assert_eq!(report.faults, 0, "{:#?}", report.first_faults);
    }
}
