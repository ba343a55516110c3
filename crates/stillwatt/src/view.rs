//! What is known of one node from what its node manager says on the bus, as the readings of a snapshot. Pure.
//!
//! The node's power is `NODE_POWER` where a meter or model covers the whole node, else what is metered of it.

use std::collections::BTreeMap;
use std::time::Duration;

use actors::device::Device;
use actors::message::{self, DeviceRef, MetricDescriptor, NmStatus, NodeTelemetry, Sample, SampleFlags};
use actors::metric::MetricId;
use units::{Instant, Timestamp};

use crate::snapshot::{
    FrequencyReading, MemoryReading, PowerReading, Quality, TemperatureReading, UtilisationReading,
};

/// Metrics of which a description is kept; further ones are shown without their source.
const DESCRIBED_MAX: usize = 1024;

/// The latest word of one node.
#[derive(Debug, Default)]
pub struct NodeView {
    telemetry: Option<(Instant, NodeTelemetry)>,
    status: Option<NmStatus>,
    described: BTreeMap<u32, String>,
}

/// The readings of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeReadings {
    /// When the interval of the readings ended.
    pub time: Option<Timestamp>,
    /// Power.
    pub power: PowerReading,
    /// Mean frequency.
    pub frequency: FrequencyReading,
    /// Utilisation.
    pub utilisation: UtilisationReading,
    /// Highest temperature.
    pub temperature: TemperatureReading,
    /// Memory.
    pub memory: MemoryReading,
}

impl NodeView {
    /// Takes a report that arrived at `now`.
    pub fn take_telemetry(&mut self, now: Instant, telemetry: NodeTelemetry) {
        self.telemetry = Some((now, telemetry));
    }

    /// Takes a status.
    pub fn take_status(&mut self, status: NmStatus) {
        self.status = Some(status);
    }

    /// Takes what is known about a metric.
    pub fn take_descriptor(&mut self, descriptor: &MetricDescriptor) {
        if self.described.len() < DESCRIBED_MAX || self.described.contains_key(&descriptor.id) {
            self.described.insert(descriptor.id, descriptor.source.clone());
        }
    }

    /// The latest report.
    pub fn telemetry(&self) -> Option<&NodeTelemetry> {
        self.telemetry.as_ref().map(|(_, telemetry)| telemetry)
    }

    /// When the last report came.
    pub fn heard(&self) -> Option<Instant> {
        self.telemetry.as_ref().map(|(at, _)| *at)
    }

    /// The boot of the machine that the node manager runs on, once it has said so.
    pub fn boot_id(&self) -> Option<[u8; 16]> {
        self.status.as_ref().map(|status| status.boot_id)
    }

    /// What can be shown at `now`. A report older than `age_max` is not shown: every reading is absent then and
    /// says since when nothing was heard.
    pub fn readings(&self, now: Instant, age_max: Duration) -> NodeReadings {
        let fresh = match &self.telemetry {
            None => Err("nothing heard from the node manager yet".to_owned()),
            Some((at, _)) if now - *at > age_max => {
                Err(format!("nothing heard from the node manager for {:.0} s", (now - *at).as_secs_f64()))
            }
            Some((_, telemetry)) => Ok(telemetry),
        };
        let telemetry = match fresh {
            Ok(telemetry) => telemetry,
            Err(reason) => return NodeReadings::absent(&reason),
        };
        let find = |metrics: &[MetricId]| self.find(telemetry, metrics);
        let frequency = find(&[MetricId::CPU_FREQUENCY_STATUS]);
        let utilisation = find(&[MetricId::CPU_UTILIZATION]);
        let temperature = find(&[
            MetricId::CPU_PACKAGE_TEMPERATURE,
            MetricId::THERMAL_ZONE_TEMPERATURE,
            // A node without any zone says so under this name.
            MetricId::custom("zone.temperature node"),
        ]);
        let power = find(&[MetricId::NODE_POWER, MetricId::PLATFORM_POWER, MetricId::COVERED_POWER]);
        NodeReadings {
            time: Some(Timestamp::from_unix_nanos(telemetry.window_end_ns)),
            power: power.map_or_else(PowerReading::absent, |found| {
                PowerReading::present(found.value, found.bounds, found.quality, found.source)
                    .with_flags(found.flags)
            }),
            frequency: frequency.map_or_else(FrequencyReading::absent, |found| {
                FrequencyReading::present(found.value, found.bounds, found.quality, found.source)
                    .with_flags(found.flags)
            }),
            utilisation: utilisation.map_or_else(UtilisationReading::absent, |found| {
                UtilisationReading::present(found.value, found.bounds, found.quality, found.source)
                    .with_flags(found.flags)
            }),
            temperature: temperature.map_or_else(TemperatureReading::absent, |found| {
                TemperatureReading::present(found.value, found.bounds, found.quality, found.source)
                    .with_flags(found.flags)
            }),
            memory: memory(find(&[MetricId::NODE_MEMORY_USED]), find(&[MetricId::NODE_MEMORY_TOTAL])),
        }
    }

    /// The first of these metrics that the whole node has a value of, or why it has none.
    fn find(&self, telemetry: &NodeTelemetry, metrics: &[MetricId]) -> Result<Found, String> {
        let node = DeviceRef::from(Device::NODE);
        let sample = metrics.iter().find_map(|metric| {
            telemetry.samples.iter().find(|sample| sample.metric == metric.get() && sample.device == node)
        });
        if let Some(sample) = sample {
            return self.found(sample);
        }
        let absent = self.status.iter().flat_map(|status| &status.absent);
        let reasons = absent.filter(|absent| metrics.iter().any(|metric| metric.get() == absent.metric));
        let reason = reasons.map(|absent| absent.reason.clone()).next();
        Err(reason.unwrap_or_else(|| "the node manager reports no such value".to_owned()))
    }

    fn found(&self, sample: &Sample) -> Result<Found, String> {
        let quality = match message::Quality::from_code(sample.quality) {
            Some(message::Quality::Measured) => Quality::Measured,
            Some(message::Quality::Modelled) => Quality::Modelled,
            Some(message::Quality::Estimated) => Quality::Estimated,
            None => return Err(format!("a value of unknown quality {} came", sample.quality)),
        };
        let source = self.described.get(&sample.metric).cloned().unwrap_or_default();
        Ok(Found {
            value: sample.value,
            bounds: (sample.min, sample.max),
            quality,
            flags: SampleFlags::from_bits(sample.flags).names().map(str::to_owned).collect(),
            source,
        })
    }
}

impl NodeReadings {
    /// Nothing is known, and why.
    pub fn absent(reason: &str) -> Self {
        Self {
            time: None,
            power: PowerReading::absent(reason),
            frequency: FrequencyReading::absent(reason),
            utilisation: UtilisationReading::absent(reason),
            temperature: TemperatureReading::absent(reason),
            memory: MemoryReading { reason: Some(reason.to_owned()), ..MemoryReading::default() },
        }
    }
}

/// A value as a reading wants it.
struct Found {
    value: f64,
    bounds: (f64, f64),
    quality: Quality,
    flags: Vec<String>,
    source: String,
}

fn memory(used: Result<Found, String>, total: Result<Found, String>) -> MemoryReading {
    // Sizes on the wire are whole numbers of bytes below 2^53 in a float; a cast saturates.
    let bytes = |found: &Found| found.value.max(0.0) as u64;
    MemoryReading {
        used_bytes: used.as_ref().ok().map(bytes),
        total_bytes: total.as_ref().ok().map(bytes),
        reason: used.err().or(total.err()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actors::message::AbsentMetric;

    const NOW: Instant = Instant::from_nanos(10_000_000_000);
    const AGE_MAX: Duration = Duration::from_secs(3);

    fn view(samples: Vec<Sample>) -> NodeView {
        let mut view = NodeView::default();
        view.take_telemetry(NOW, NodeTelemetry { samples, window_end_ns: 5, ..NodeTelemetry::default() });
        view
    }

    fn sample(metric: MetricId, value: f64) -> Sample {
        Sample { min: value - 1.0, max: value + 1.0, ..Sample::measured(metric, Device::NODE, value) }
    }

    /// Values are taken with quality, bounds, flags and source.
    #[test]
    fn values_come_with_what_belongs_to_them() {
        let mut power = sample(MetricId::NODE_POWER, 40.0);
        power.quality = message::Quality::Modelled.code();
        power.flags = SampleFlags::WRAP.bits();
        let mut view = view(vec![power]);
        let source = "this machine: profile x".to_owned();
        let id = MetricId::NODE_POWER.get();
        view.take_descriptor(&MetricDescriptor { id, source, ..MetricDescriptor::default() });
        let readings = view.readings(NOW, AGE_MAX);
        let expected =
            PowerReading::present(40.0, (39.0, 41.0), Quality::Modelled, "this machine: profile x");
        assert_eq!(readings.power, expected.with_flags(vec!["wrap".to_owned()]));
        assert_eq!(readings.time, Some(Timestamp::from_unix_nanos(5)));
    }

    /// A part's value is not taken for the node's, and the node manager's reason is passed on.
    #[test]
    fn missing_values_have_the_managers_reason() {
        let part = Sample {
            device: Device::new(actors::device::DeviceKind::Core, 0).into(),
            ..sample(MetricId::CPU_UTILIZATION, 1.0)
        };
        let mut view = view(vec![part]);
        assert_eq!(view.readings(NOW, AGE_MAX).utilisation.value_ratio, None);
        let absent = AbsentMetric {
            metric: MetricId::CPU_UTILIZATION.get(),
            reason: "no /proc".to_owned(),
            ..AbsentMetric::default()
        };
        view.take_status(NmStatus { absent: vec![absent], ..NmStatus::default() });
        assert_eq!(view.readings(NOW, AGE_MAX).utilisation.reason.as_deref(), Some("no /proc"));
    }

    /// An old report is not shown as the present state, and the reason says for how long nothing was heard.
    #[test]
    fn old_reports_are_not_shown() {
        let view = view(vec![sample(MetricId::NODE_POWER, 40.0)]);
        assert!(view.readings(NOW + AGE_MAX, AGE_MAX).power.value_watts.is_some());
        let old = view.readings(NOW + Duration::from_secs(8), AGE_MAX);
        assert_eq!(old.power.value_watts, None);
        assert!(old.power.reason.unwrap().ends_with("for 8 s"));
        let never = NodeView::default().readings(NOW, AGE_MAX);
        assert!(never.memory.reason.unwrap().contains("yet"));
    }

    /// Metered parts stand in where nothing covers the whole node, which comes first.
    #[test]
    fn order_of_power_metrics() {
        let metered = sample(MetricId::COVERED_POWER, 30.0);
        assert_eq!(view(vec![metered.clone()]).readings(NOW, AGE_MAX).power.value_watts, Some(30.0));
        let both = view(vec![metered, sample(MetricId::NODE_POWER, 50.0)]);
        assert_eq!(both.readings(NOW, AGE_MAX).power.value_watts, Some(50.0));
    }
}
