//! The dashboard on made-up readings, for working on the page: `cargo run -p stillwatt --example dashboard`.
//!
//! Starts with ten minutes of history. `--absent` shows a machine that can read next to nothing.

use std::sync::Arc;
use std::time::Duration;

use stillwatt::snapshot::{
    BusActivity, FrequencyReading, MemoryReading, MonitorActivity, PowerReading, Quality, SCHEMA, SelfCost,
    Snapshot, TemperatureReading, TopicActivity, UtilisationReading,
};
use stillwatt::web::{Dashboard, Feed, Severity, bind};

const HISTORY: u64 = 600;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_absent = std::env::args_os().any(|argument| argument == "--absent");
    let bound = bind(None)?;
    eprintln!("dashboard with made-up readings: {}", bound.address());
    let feed = Arc::new(Feed::new());
    let start = unix_seconds() - HISTORY as f64;
    feed.record(start, Severity::Info, "node manager", "started on node n0427, domain 0")?;
    feed.record(start + 1.0, Severity::Info, "monitor", "matched 1 writer of regale/mon/node")?;
    feed.record(
        start + 250.0,
        Severity::Warning,
        "regale/mon/node",
        "2 samples lost: the reader was slower than the writer",
    )?;
    feed.record(
        start + 420.0,
        Severity::Error,
        "bus",
        "a datagram from 127.0.0.1:41234 was not well formed: magic is not RTPS",
    )?;
    for sequence in 1..=HISTORY {
        feed.publish(&made_up(sequence, start + sequence as f64, is_absent, &feed))?;
    }
    let _dashboard = Dashboard::start(bound, Arc::clone(&feed))?;
    for sequence in HISTORY + 1.. {
        node::clock::sleep(Duration::from_secs(1));
        feed.publish(&made_up(sequence, unix_seconds(), is_absent, &feed))?;
    }
    Ok(())
}

fn unix_seconds() -> f64 {
    node::clock::wall().unix_seconds()
}

fn made_up(sequence: u64, time: f64, is_absent: bool, feed: &Feed) -> Snapshot {
    let phase = sequence as f64;
    let wave = (phase / 41.0).sin() * 0.3
        + (phase / 7.3).sin() * 0.06
        + ((phase * 12.9).sin() * 43758.5).fract() * 0.05;
    let busy = (0.45 + wave).clamp(0.02, 0.99);
    let watts = 118.0 + 236.0 * busy;
    Snapshot {
        schema: SCHEMA.to_owned(),
        time_unix_seconds: time,
        sequence,
        node: "n0427".to_owned(),
        simulated: None,
        power: PowerReading::present(
            watts,
            (watts * 0.72, watts * 1.31),
            Quality::Modelled,
            "model: generic 64-thread server, idle + load",
        ),
        frequency: if is_absent {
            FrequencyReading::absent("no cpufreq driver: /sys/devices/system/cpu/cpufreq is empty")
        } else {
            FrequencyReading::present(
                2.1e9 + 1.2e9 * busy,
                (1.0e9, 3.9e9),
                Quality::Measured,
                "cpufreq scaling_cur_freq",
            )
        },
        utilisation: UtilisationReading::present(busy, (busy, busy), Quality::Measured, "/proc/stat"),
        temperature: if is_absent {
            TemperatureReading::absent("no thermal zone and no hwmon processor sensor")
        } else {
            TemperatureReading::present(
                44.0 + 31.0 * busy,
                (43.0, 76.0),
                Quality::Measured,
                "hwmon coretemp Package id 0",
            )
        },
        memory: MemoryReading {
            used_bytes: Some(41_234_567_890 + sequence * 1000),
            total_bytes: Some(201_234_567_890),
            reason: None,
        },
        bus: made_up_bus(sequence),
        monitor: MonitorActivity {
            history_series: 31,
            history_samples: 31 * sequence.min(600),
            ..Default::default()
        },
        dashboard: feed.activity(),
        own: SelfCost {
            cpu_seconds_total: Some(phase * 0.0021),
            threads: Some(7),
            resident_bytes: Some(12_900_000),
        },
    }
}

fn made_up_bus(sequence: u64) -> BusActivity {
    let phase = sequence as f64;
    let topic = |name: &str, type_name: &str, rate: f64, lost: u64| TopicActivity {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        writers: 1,
        readers: 1,
        samples_total: Some((phase * rate) as u64),
        samples_per_second: Some(rate),
        lost_total: Some(lost),
    };
    BusActivity {
        domain: 0,
        participants: 4,
        topics: vec![
            topic("regale/jm/reply", "JmReply", 0.0, 0),
            topic("regale/mon/job", "JobTelemetry", 0.2, 0),
            topic("regale/mon/node", "NodeTelemetry", 1.0, 2),
            topic("regale/nm/reply", "NmReply", 4.0, 0),
            topic("regale/nm/request", "NmRequest", 4.0, 0),
        ],
        samples_received_total: (phase * 9.2 + (phase / 9.0).sin() * 4.0 + 8.0) as u64,
        samples_sent_total: (phase * 9.4) as u64,
        samples_lost_total: 2,
        malformed_datagrams_total: u64::from(sequence > 420),
    }
}
