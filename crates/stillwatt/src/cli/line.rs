//! A snapshot as one line for people: what `up` prints once a second without `--json`. Pure.

use node::Quantity;

use super::quantity::one;
use crate::snapshot::{Quality, Snapshot};

/// The line. A value that is absent is a dash: its reason is in the JSON, on the dashboard and in `doctor`.
pub(super) fn of(snapshot: &Snapshot) -> String {
    let seconds = snapshot.time_unix_seconds.rem_euclid(86_400.0) as u64;
    let clock = format!("{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let value = |quantity, value: Option<f64>| value.map_or("–".to_string(), |value| one(quantity, value));
    let power = &snapshot.power;
    let bounds = match (power.low_watts, power.high_watts, power.quality) {
        (Some(low), Some(high), Some(quality)) if low < high => {
            let (low, high) = (one(Quantity::Power, low), one(Quantity::Power, high));
            format!(" ({low} to {high}, {})", word(quality))
        }
        (_, _, Some(quality)) => format!(" ({})", word(quality)),
        _ => String::new(),
    };
    let rate: f64 = snapshot.bus.topics.iter().filter_map(|topic| topic.samples_per_second).sum();
    format!(
        "{clock}  power {}{bounds}  frequency {}  utilisation {}  temperature {}  bus: {} participants, {rate:.0} samples/s, {} lost",
        value(Quantity::Power, power.value_watts),
        value(Quantity::Frequency, snapshot.frequency.value_hertz),
        value(Quantity::Utilisation, snapshot.utilisation.value_ratio),
        value(Quantity::Temperature, snapshot.temperature.value_celsius),
        snapshot.bus.participants,
        snapshot.bus.samples_lost_total,
    )
}

fn word(quality: Quality) -> &'static str {
    match quality {
        Quality::Measured => "measured",
        Quality::Modelled => "modelled",
        Quality::Estimated => "estimated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{FrequencyReading, PowerReading, TemperatureReading};

    /// Values come with unit and quality, absent ones as a dash and never as zero.
    #[test]
    fn says_what_it_knows() {
        let snapshot = Snapshot {
            time_unix_seconds: 86_400.0 + 3_661.5,
            power: PowerReading::present(40.0, (20.0, 90.0), Quality::Modelled, "model:x"),
            frequency: FrequencyReading::present(2.4e9, (2.4e9, 2.4e9), Quality::Measured, "cpufreq"),
            temperature: TemperatureReading::absent("no thermal zone"),
            ..Snapshot::default()
        };
        let line = of(&snapshot);
        assert!(
            line.starts_with("01:01:01Z  power 40 W (20 W to 90 W, modelled)  frequency 2.4 GHz"),
            "{line}"
        );
        assert!(line.contains("utilisation –  temperature –"), "{line}");
    }
}
