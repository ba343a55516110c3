//! Sensor readings as samples of the actors' vocabulary.
//!
//! Pure. Interval energies become running totals, flagged `reset` where one lacks an interval or began anew; what has no canonical metric gets one of its own, with a descriptor.

use std::collections::BTreeMap;

use node::{AbsentReason, Bounded, Coverage, Domain, EnergyAccount, NodeSample, PowerFigure, Reading, Value};
use units::Timestamp;

use crate::device::{Device, DeviceKind};
use crate::message::{
    AbsentMetric, DeviceRef, Header, MetricDescriptor, Quality, Sample, SampleFlags, TEXT_MAX, bounded,
};
use crate::metric::{Kind, MetricId, Unit};
use crate::node_manager::machine::Observation;

/// What is remembered between samples.
#[derive(Debug)]
pub(super) struct Readings {
    source: String,
    totals: BTreeMap<(MetricId, Device), Total>,
    /// The account of the node's energy in the last sample: its number and the intervals that it had lost.
    account: Option<(u32, u32)>,
    /// What is known of each metric seen so far; metrics beyond the bound have no descriptor.
    described: BTreeMap<MetricId, MetricDescriptor>,
    last_end: Option<units::Instant>,
}

/// A running total of interval energies.
#[derive(Debug, Default)]
struct Total {
    energy: Bounded<f64>,
    /// Whether an interval was lost since the last sample, so that the total lacks it.
    has_gap: bool,
}

const DESCRIBED_MAX: usize = 1024;

/// A package's die in device numbers: dies of package 1 begin at 256.
const DIES_MAX: u32 = 256;

/// The part of the machine that a domain is, where the vocabulary has one.
pub(super) fn device(domain: &Domain) -> Option<Device> {
    let package = |kind, package: &u32, die: &Option<u32>| {
        let id = die.map_or(Some(*package), |die| package.checked_mul(DIES_MAX)?.checked_add(die))?;
        Some(Device::new(kind, id))
    };
    match domain {
        Domain::Node | Domain::Platform => Some(Device::NODE),
        Domain::Package { package: number, die } => package(DeviceKind::Cpu, number, die),
        Domain::Dram { package: number, die } => package(DeviceKind::Dram, number, die),
        Domain::Uncore { package: number, die } => package(DeviceKind::Uncore, number, die),
        Domain::Cpu(number) | Domain::Policy(number) => Some(Device::new(DeviceKind::Core, *number)),
        Domain::Cores { .. } | Domain::Zone(_) | Domain::Chip { .. } => None,
    }
}

impl Readings {
    pub(super) fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            totals: BTreeMap::new(),
            account: None,
            described: BTreeMap::new(),
            last_end: None,
        }
    }

    pub(super) fn descriptors(&self) -> Vec<MetricDescriptor> {
        self.described.values().cloned().collect()
    }

    /// All readings of a pass that ended at `wall`.
    pub(super) fn observe(&mut self, sample: &NodeSample, wall: Timestamp) -> Observation {
        let begun = self.last_end.replace(sample.end).unwrap_or(sample.start);
        let passed = u64::try_from((sample.end - begun).as_nanos()).unwrap_or(u64::MAX);
        let start = Timestamp::from_unix_nanos(wall.unix_nanos().saturating_sub(passed));
        let mut observation = Observation { start, end: wall, ..Observation::default() };
        self.add_power(sample, &mut observation);
        for reading in &sample.readings {
            self.add_reading(reading, &mut observation);
        }
        if let Ok(mean) = sample.frequency_mean() {
            let metric = MetricId::CPU_FREQUENCY_STATUS;
            let numbers = Value::Frequency(mean).numbers();
            let mean = with(metric, Device::NODE, numbers, Quality::Estimated, SampleFlags::NONE);
            self.add(mean, "mean over policies or CPUs", &mut observation);
        }
        if let Ok((hottest, _)) = sample.temperature_max() {
            let numbers = Value::Temperature(hottest).numbers();
            let metric = MetricId::THERMAL_ZONE_TEMPERATURE;
            let hottest = with(metric, Device::NODE, numbers, Quality::Measured, SampleFlags::NONE);
            self.add(hottest, "the hottest of thermal zones and chips", &mut observation);
        }
        observation
    }

    /// The node's power and energy. A figure that leaves parts of the node out is not called the node's.
    fn add_power(&mut self, sample: &NodeSample, observation: &mut Observation) {
        let figure = match &sample.power.total {
            Ok(figure) => figure,
            Err(absent) => {
                let reason = absent.to_string();
                for metric in [MetricId::NODE_POWER, MetricId::COVERED_POWER] {
                    observation.absent.push(missing(metric, Device::NODE, &reason));
                }
                return;
            }
        };
        let (power, energy) = match figure.coverage {
            Coverage::Node => (MetricId::NODE_POWER, MetricId::NODE_ENERGY),
            Coverage::Platform | Coverage::PackagesAndMemory | Coverage::Packages => {
                let reason = format!(
                    "no meter covers the whole node; COVERED_POWER is that of {} by {}",
                    figure.coverage, figure.source
                );
                observation.absent.push(missing(MetricId::NODE_POWER, Device::NODE, &reason));
                (MetricId::COVERED_POWER, MetricId::COVERED_ENERGY)
            }
        };
        let source = describe(figure);
        let (quality, flags) = (quality(figure.quality), figure.flags);
        let watts = Value::Power(figure.power).numbers();
        self.add(with(power, Device::NODE, watts, quality, flags), &source, observation);
        if let Some(account) = &sample.power.account {
            let joules = Value::Energy(account.total).numbers();
            let flags = flags.with(self.account_flags(account));
            let quality = self::quality(account.quality);
            self.add(with(energy, Device::NODE, joules, quality, flags), &source, observation);
        }
    }

    /// `reset` where the total began anew with another source, or lacks an interval since the last sample.
    fn account_flags(&mut self, account: &EnergyAccount) -> SampleFlags {
        let now = (account.serial, account.intervals_lost);
        let before = self.account.replace(now).unwrap_or(now);
        if before == now { SampleFlags::NONE } else { SampleFlags::RESET }
    }

    fn add_reading(&mut self, reading: &Reading, observation: &mut Observation) {
        let (metric, device, name) = place(reading);
        let measurement = match &reading.outcome {
            Ok(measurement) => measurement,
            Err(absent) => {
                if absent.reason == AbsentReason::Unreliable
                    && let Some(total) = self.totals.get_mut(&(metric, device))
                {
                    total.has_gap = true;
                }
                observation.absent.push(missing(metric, device, &absent.to_string()));
                return;
            }
        };
        let mut flags = measurement.flags;
        let numbers = match measurement.value {
            Value::Energy(_) => {
                let total = self.totals.entry((metric, device)).or_default();
                total.energy = total.energy + measurement.value.numbers();
                if std::mem::take(&mut total.has_gap) {
                    flags = flags.with(SampleFlags::RESET);
                }
                total.energy
            }
            value => value.numbers(),
        };
        let sample = with(metric, device, numbers, quality(measurement.quality), flags);
        if let Some(name) = name {
            self.describe_custom(metric, &name, measurement.value, reading.source.name());
        }
        self.add(sample, reading.source.name(), observation);
    }

    /// Adds a sample unless the part already has one of this metric; the first source is the better one.
    fn add(&mut self, sample: Sample, source: &str, observation: &mut Observation) {
        let is_double =
            observation.samples.iter().any(|s| (s.metric, s.device) == (sample.metric, sample.device));
        if is_double {
            return;
        }
        let id = sample.metric_id();
        if let Some(metric) = id.canonical()
            && (self.described.len() < DESCRIBED_MAX || self.described.contains_key(&id))
            && (sample.device == DeviceRef::from(Device::NODE) || !self.described.contains_key(&id))
        {
            // The node's own value may come from another source than before, such as a model for a meter.
            let source = format!("{}: {source}", self.source);
            self.described.insert(id, MetricDescriptor::of(Header::default(), metric, &source));
        }
        observation.samples.push(sample);
    }

    fn describe_custom(&mut self, id: MetricId, name: &str, value: Value, source: &str) {
        if self.described.len() >= DESCRIBED_MAX && !self.described.contains_key(&id) {
            return;
        }
        let source = format!("{}: {source}", self.source);
        self.described.entry(id).or_insert_with(|| MetricDescriptor {
            name: bounded(name, 64).to_owned(),
            id: id.get(),
            unit: unit(value).code(),
            kind: if unit(value) == Unit::Joule { Kind::Counter } else { Kind::Gauge }.code(),
            source: bounded(&source, 128).to_owned(),
            description: format!("Sensor {name} as the kernel names it"),
            ..MetricDescriptor::default()
        });
    }
}

/// The metric and part of a reading, with a name where the metric is none of the canonical ones.
fn place(reading: &Reading) -> (MetricId, Device, Option<String>) {
    let known = match (reading.metric.as_str(), &reading.domain) {
        ("cpu.utilisation", _) => Some(MetricId::CPU_UTILIZATION),
        ("cpu.frequency", _) => Some(MetricId::CPU_FREQUENCY_STATUS),
        ("memory.used", _) => Some(MetricId::NODE_MEMORY_USED),
        ("memory.total", _) => Some(MetricId::NODE_MEMORY_TOTAL),
        ("load.1min", _) => Some(MetricId::NODE_LOAD),
        ("rapl.power", Domain::Package { .. }) => Some(MetricId::CPU_POWER),
        ("rapl.energy", Domain::Package { .. }) => Some(MetricId::CPU_ENERGY),
        ("rapl.power", Domain::Dram { .. }) => Some(MetricId::DRAM_POWER),
        ("rapl.energy", Domain::Dram { .. }) => Some(MetricId::DRAM_ENERGY),
        ("rapl.power", Domain::Platform) => Some(MetricId::PLATFORM_POWER),
        ("rapl.energy", Domain::Platform) => Some(MetricId::PLATFORM_ENERGY),
        _ => None,
    };
    match (known, device(&reading.domain)) {
        (Some(metric), Some(device)) => (metric, device, None),
        _ => {
            let name = format!("{} {}", reading.metric, reading.domain);
            let name = bounded(&name, 64).to_owned();
            (MetricId::custom(&name), Device::new(DeviceKind::Other, 0), Some(name))
        }
    }
}

fn with(
    metric: MetricId,
    device: Device,
    numbers: Bounded<f64>,
    quality: Quality,
    flags: SampleFlags,
) -> Sample {
    Sample {
        metric: metric.get(),
        device: device.into(),
        value: numbers.value,
        min: numbers.low,
        max: numbers.high,
        count: 1,
        quality: quality.code(),
        flags: flags.bits(),
    }
}

fn missing(metric: MetricId, device: Device, reason: &str) -> AbsentMetric {
    let reason = bounded(reason, TEXT_MAX).to_owned();
    AbsentMetric { metric: metric.get(), device: DeviceRef::from(device), reason }
}

fn describe(figure: &PowerFigure) -> String {
    match figure.profile {
        Some(profile) => format!("modelled from utilisation with profile {profile}"),
        None => format!("{}, covers {}", figure.source, figure.coverage),
    }
}

const fn quality(quality: node::Quality) -> Quality {
    match quality {
        node::Quality::Measured => Quality::Measured,
        node::Quality::Estimated => Quality::Estimated,
        node::Quality::Modelled => Quality::Modelled,
    }
}

const fn unit(value: Value) -> Unit {
    match value {
        Value::Power(_) => Unit::Watt,
        Value::Energy(_) => Unit::Joule,
        Value::Frequency(_) => Unit::Hertz,
        Value::Temperature(_) => Unit::Celsius,
        Value::Utilisation(_) => Unit::Ratio,
        Value::Memory(_) => Unit::Byte,
        Value::Load(_) => Unit::Count,
        Value::Voltage(_) => Unit::Volt,
        Value::Current(_) => Unit::Ampere,
    }
}
