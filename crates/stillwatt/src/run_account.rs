//! Energy, mean power and mean frequency of a stretch of time from telemetry of the node. Pure.
//!
//! For windows `i` with mean power `P_i` and overlap `o_i` with the stretch, the energy is `Σ P_i · o_i`. Of a window
//! that lies in the stretch as a whole the energy is between `low_i` and `high_i` times its length. Of a window that
//! reaches over an end nobody knows how its energy is spread: it adds between nothing and all of `high_i` times its
//! length to the bounds.

use std::collections::BTreeSet;
use std::time::Duration;

use actors::device::Device;
use actors::message::{self, DeviceRef, NodeTelemetry, Sample, SampleFlags};
use actors::metric::MetricId;
use node::Bounded;
use serde::Serialize;
use units::Timestamp;

/// Metrics that stand for the node's power, best first.
const POWER: [MetricId; 3] = [MetricId::NODE_POWER, MetricId::PLATFORM_POWER, MetricId::COVERED_POWER];

/// A stretch of time by the node's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its beginning.
    pub start: Timestamp,
    /// Its end.
    pub end: Timestamp,
}

/// What a stretch of time took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunAccount {
    /// Length of the stretch.
    pub time_seconds: f64,
    /// How much of it telemetry covers.
    pub covered_seconds: f64,
    /// Energy of the node in the part that is covered; `None` without any power reading.
    pub energy_joules: Option<f64>,
    /// Not less than this.
    pub energy_low_joules: Option<f64>,
    /// Not more than this.
    pub energy_high_joules: Option<f64>,
    /// Mean power of the node over the part that is covered.
    pub power_mean_watts: Option<f64>,
    /// How the power came about: the worst of all windows.
    pub energy_quality: Option<&'static str>,
    /// The metric that stands for the node's power.
    pub power_metric: Option<String>,
    /// Mean frequency over the part that is covered.
    pub frequency_mean_hertz: Option<f64>,
    /// Mean share of the node's CPU time in use over the part that is covered.
    pub utilisation_mean_ratio: Option<f64>,
    /// What to be careful about; `gap` when a part is not covered.
    pub flags: BTreeSet<&'static str>,
}

/// The account of `stretch` from reports in any order. Reports outside of it are ignored.
pub fn account(telemetry: &[NodeTelemetry], stretch: Stretch) -> RunAccount {
    let mut account = RunAccount { time_seconds: stretch.seconds(), ..RunAccount::default() };
    let metric =
        POWER.into_iter().find(|metric| telemetry.iter().any(|report| find(report, *metric).is_some()));
    let mut energy = Bounded::exact(0.0);
    let mut quality = None;
    for report in telemetry {
        let overlap = stretch.overlap(report);
        let sample = metric.and_then(|metric| find(report, metric));
        let (Some(sample), true) = (sample, overlap > 0.0) else { continue };
        let length = seconds(report.window_start_ns, report.window_end_ns);
        let is_whole = overlap >= length;
        energy = energy
            + Bounded {
                value: sample.value * overlap,
                low: if is_whole { sample.min * length } else { 0.0 },
                high: sample.max * length,
            };
        account.covered_seconds += overlap;
        quality = worse(quality, message::Quality::from_code(sample.quality));
        account.flags.extend(SampleFlags::from_bits(sample.flags).names());
    }
    if account.covered_seconds > 0.0 {
        account.energy_joules = Some(energy.value);
        account.energy_low_joules = Some(energy.low);
        account.energy_high_joules = Some(energy.high);
        account.power_mean_watts = Some(energy.value / account.covered_seconds);
        account.energy_quality = quality.map(message::Quality::name);
        account.power_metric = metric.map(|metric| metric.to_string());
    }
    if account.covered_seconds < account.time_seconds * (1.0 - UNCOVERED_MAX) {
        account.flags.insert("gap");
    }
    account.frequency_mean_hertz = mean(telemetry, stretch, MetricId::CPU_FREQUENCY_STATUS);
    account.utilisation_mean_ratio = mean(telemetry, stretch, MetricId::CPU_UTILIZATION);
    account
}

/// Whether `telemetry` reaches to the end of the stretch.
pub fn is_covered(telemetry: &[NodeTelemetry], end: Timestamp) -> bool {
    telemetry.iter().any(|report| report.window_end_ns >= end.unix_nanos())
}

impl Stretch {
    /// Its length.
    pub fn length(self) -> Duration {
        Duration::from_nanos(self.end.unix_nanos().saturating_sub(self.start.unix_nanos()))
    }

    fn seconds(self) -> f64 {
        self.length().as_secs_f64()
    }

    /// Seconds that a report's window has in common with it.
    fn overlap(self, report: &NodeTelemetry) -> f64 {
        let start = report.window_start_ns.max(self.start.unix_nanos());
        seconds(start, report.window_end_ns.min(self.end.unix_nanos()))
    }
}

fn seconds(start: u64, end: u64) -> f64 {
    Duration::from_nanos(end.saturating_sub(start)).as_secs_f64()
}

fn find(report: &NodeTelemetry, metric: MetricId) -> Option<&Sample> {
    let node = DeviceRef::from(Device::NODE);
    report.samples.iter().find(|sample| sample.metric == metric.get() && sample.device == node)
}

fn mean(telemetry: &[NodeTelemetry], stretch: Stretch, metric: MetricId) -> Option<f64> {
    let (mut sum, mut time) = (0.0, 0.0);
    for report in telemetry {
        if let Some(sample) = find(report, metric) {
            let overlap = stretch.overlap(report);
            sum += sample.value * overlap;
            time += overlap;
        }
    }
    (time > 0.0).then(|| sum / time)
}

/// Measured is better than estimated, which is better than modelled.
fn worse(a: Option<message::Quality>, b: Option<message::Quality>) -> Option<message::Quality> {
    use message::Quality::{Estimated, Measured, Modelled};
    let rank = |quality| match quality {
        None => 0,
        Some(Measured) => 1,
        Some(Estimated) => 2,
        Some(Modelled) => 3,
    };
    if rank(a) >= rank(b) { a } else { b }
}

/// A smaller share of the stretch without telemetry is not worth a flag: clocks are read at slightly other moments.
const UNCOVERED_MAX: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;

    fn report(start: f64, end: f64, watts: f64) -> NodeTelemetry {
        let nanos = |seconds: f64| (seconds * 1e9) as u64;
        let power = Sample {
            min: watts - 1.0,
            max: watts + 1.0,
            ..Sample::measured(MetricId::NODE_POWER, Device::NODE, watts)
        };
        let frequency = Sample::measured(MetricId::CPU_FREQUENCY_STATUS, Device::NODE, watts * 1e8);
        NodeTelemetry {
            window_start_ns: nanos(start),
            window_end_ns: nanos(end),
            samples: vec![power, frequency],
            ..NodeTelemetry::default()
        }
    }

    fn stretch(start: f64, end: f64) -> Stretch {
        let at = |seconds: f64| Timestamp::from_unix_nanos((seconds * 1e9) as u64);
        Stretch { start: at(start), end: at(end) }
    }

    /// Two whole windows and half of a third: value by overlap, bounds wider by the window that is cut.
    #[test]
    fn energy_by_overlap() {
        let reports =
            [report(0.0, 1.0, 10.0), report(1.0, 2.0, 20.0), report(2.0, 3.0, 40.0), report(3.0, 4.0, 90.0)];
        let account = account(&reports, stretch(0.0, 2.5));
        assert_eq!(account.energy_joules, Some(50.0));
        assert_eq!(account.energy_low_joules, Some(9.0 + 19.0));
        assert_eq!(account.energy_high_joules, Some(11.0 + 21.0 + 41.0));
        assert_eq!(account.power_mean_watts, Some(20.0));
        assert_eq!(account.frequency_mean_hertz, Some(2e9));
        assert_eq!(account.energy_quality, Some("measured"));
        assert!(account.flags.is_empty(), "{:?}", account.flags);
    }

    /// A part without telemetry is a gap, and its energy is not made up.
    #[test]
    fn gaps_are_said() {
        let account = account(&[report(0.0, 1.0, 10.0), report(2.0, 3.0, 10.0)], stretch(0.0, 3.0));
        assert_eq!(account.energy_joules, Some(20.0));
        assert_eq!(account.covered_seconds, 2.0);
        assert!(account.flags.contains("gap"));
    }

    /// One modelled window makes the whole a modelled figure, and flags are kept.
    #[test]
    fn the_worst_quality_counts() {
        let mut reports = [report(0.0, 1.0, 10.0), report(1.0, 2.0, 10.0)];
        reports[1].samples[0].quality = message::Quality::Modelled.code();
        reports[1].samples[0].flags = SampleFlags::WRAP.bits();
        let account = account(&reports, stretch(0.0, 2.0));
        assert_eq!(account.energy_quality, Some("modelled"));
        assert!(account.flags.contains("wrap"));
    }

    /// Without any power there is no energy, and certainly not zero.
    #[test]
    fn no_power_is_no_energy() {
        let account = account(&[], stretch(0.0, 2.0));
        assert_eq!((account.energy_joules, account.power_mean_watts), (None, None));
        assert_eq!(account.time_seconds, 2.0);
    }
}
