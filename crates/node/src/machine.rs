//! One machine with its topology, its sensors and its power. Touches only the root that it was opened with.

use std::sync::Arc;

use units::{Bytes, Celsius, Hertz, Instant, Ratio};

use crate::absent::{Absent, AbsentReason};
use crate::knob::{self, FileKnob};
use crate::power::profile::PowerModel;
use crate::power::{NodePower, PowerMeter};
use crate::reading::{Bounded, Domain, Reading, Value};
use crate::sensor::frequency::FrequencySensor;
use crate::sensor::hwmon::HwmonSensor;
use crate::sensor::load::LoadSensor;
use crate::sensor::memory::MemorySensor;
use crate::sensor::perf::PerfSensor;
use crate::sensor::powercap::PowercapSensor;
use crate::sensor::thermal::ThermalSensor;
use crate::sensor::utilisation::UtilisationSensor;
use crate::sensor::{Sampling, Sensor, SensorInfo};
use crate::sys_root::SysRoot;
use crate::topology::Topology;

/// One machine, ready to be sampled.
#[derive(Debug)]
pub struct Node {
    root: Arc<dyn SysRoot>,
    topology: Topology,
    sampler: NodeSampler,
}

/// The sensors of a machine and what they remember between samples.
///
/// One sample reads each file once, whatever number of sensors wants it. A machine without meters costs three files
/// a sample (`proc/stat`, `proc/meminfo`, `proc/loadavg`) and the frequency's.
#[derive(Debug)]
pub struct NodeSampler {
    sensors: Vec<Box<dyn Sensor>>,
    power: PowerMeter,
    reads_total: u64,
    samples_total: u64,
}

/// All readings of one moment.
#[derive(Clone, Debug)]
pub struct NodeSample {
    /// When the pass began.
    pub start: Instant,
    /// When the pass ended.
    pub end: Instant,
    /// Every reading, present and absent, sensor by sensor.
    pub readings: Vec<Reading>,
    /// The machine's power with its source, quality and bounds.
    pub power: NodePower,
    /// How many files, folders and counters this sample read.
    pub reads: u64,
}

/// What a sensor is, and what it finds on this machine.
#[derive(Clone, Debug)]
pub struct SensorReport {
    /// What the sensor says about itself.
    pub info: SensorInfo,
    /// How many of its values are present.
    pub present: usize,
    /// Why others are not.
    pub absent: Vec<Absent>,
}

impl Node {
    /// Looks at a machine and takes a first sample, so that the next one has an interval. Blocks for a few dozen to
    /// a few thousand small reads, by the machine's size. Never fails: what is not there is absent with its reason.
    pub fn open(root: Arc<dyn SysRoot>) -> Self {
        let topology = Topology::read(&*root);
        let mut sampler = NodeSampler::discover(&*root, &topology);
        sampler.sample(&*root);
        Self { root, topology, sampler }
    }

    /// The machine's files.
    pub fn root(&self) -> &Arc<dyn SysRoot> {
        &self.root
    }

    /// What the machine is made of.
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sensors and their state.
    pub const fn sampler(&self) -> &NodeSampler {
        &self.sampler
    }

    /// The settings that this program may change, found now. Blocks for a few reads a policy and package.
    pub fn knobs(&self) -> Vec<FileKnob> {
        knob::discover(&*self.root)
    }

    /// Samples every sensor once. Blocks for the reads.
    pub fn sample(&mut self) -> NodeSample {
        self.sampler.sample(&*self.root)
    }

    /// What each sensor finds, from a sample taken now. Values that only need a second sample count as present.
    pub fn discover(&mut self) -> Vec<SensorReport> {
        self.sampler.report(&*self.root)
    }
}

impl NodeSampler {
    /// Finds the sensors of a machine. Perf counters are opened only where powercap cannot be read.
    pub fn discover(root: &dyn SysRoot, topology: &Topology) -> Self {
        let powercap = PowercapSensor::discover(root);
        let is_readable = powercap.is_readable(root);
        let mut sensors: Vec<Box<dyn Sensor>> = vec![
            Box::new(UtilisationSensor::new()),
            Box::new(MemorySensor::new()),
            Box::new(LoadSensor::new()),
            Box::new(FrequencySensor::discover(root)),
            Box::new(ThermalSensor::discover(root)),
            Box::new(HwmonSensor::discover(root)),
            Box::new(powercap),
        ];
        if !is_readable {
            sensors.push(Box::new(PerfSensor::discover(root, topology)));
        }
        let power = PowerMeter::new(PowerModel::for_machine(topology));
        Self { sensors, power, reads_total: 0, samples_total: 0 }
    }

    /// The sensors' own statements, in sampling order.
    pub fn sensors(&self) -> impl Iterator<Item = &SensorInfo> {
        self.sensors.iter().map(|sensor| sensor.info())
    }

    /// The power model that is used where nothing is metered.
    pub const fn model(&self) -> &PowerModel {
        self.power.model()
    }

    /// How many files, folders and counters all samples read so far.
    pub const fn reads_total(&self) -> u64 {
        self.reads_total
    }

    /// How many samples were taken so far.
    pub const fn samples_total(&self) -> u64 {
        self.samples_total
    }

    /// Samples every sensor once.
    pub fn sample(&mut self, root: &dyn SysRoot) -> NodeSample {
        let start = root.now();
        let mut sampling = Sampling::new(root);
        let mut readings = Vec::new();
        for sensor in &mut self.sensors {
            sensor.sample(&mut sampling, &mut readings);
        }
        self.finish(start, &sampling, readings)
    }

    fn finish(&mut self, start: Instant, sampling: &Sampling<'_>, readings: Vec<Reading>) -> NodeSample {
        let reads = sampling.reads();
        self.reads_total += reads;
        self.samples_total += 1;
        let power = self.power.apply(&readings);
        NodeSample { start, end: sampling.now(), readings, power, reads }
    }

    fn report(&mut self, root: &dyn SysRoot) -> Vec<SensorReport> {
        let start = root.now();
        let mut sampling = Sampling::new(root);
        let (mut readings, mut reports) = (Vec::new(), Vec::new());
        for sensor in &mut self.sensors {
            let first = readings.len();
            sensor.sample(&mut sampling, &mut readings);
            let own = readings.get(first..).unwrap_or_default();
            let absent = own.iter().filter_map(|reading| reading.outcome.as_ref().err());
            let mut absent: Vec<Absent> =
                absent.filter(|absent| absent.reason != AbsentReason::NotYet).cloned().collect();
            let present = own.len() - absent.len();
            // Energy and power of one counter share their reason.
            absent.dedup();
            reports.push(SensorReport { info: sensor.info().clone(), present, absent });
        }
        self.finish(start, &sampling, readings);
        reports
    }
}

impl NodeSample {
    /// Mean clock frequency over policies, or over CPUs where there are no policies.
    ///
    /// # Errors
    /// Why no policy or CPU has a frequency.
    pub fn frequency_mean(&self) -> Result<Bounded<Hertz>, Absent> {
        let (values, absent) = self.values("cpu.frequency", |value| match value {
            Value::Frequency(frequency) => Some(frequency),
            _ => None,
        });
        let count = values.len() as f64;
        let sum = values.into_iter().reduce(std::ops::Add::add);
        sum.map(|sum| sum.map(|hertz| hertz / count)).ok_or(absent)
    }

    /// Share of time in which the machine's CPUs were in use, 0 to 1.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn utilisation(&self) -> Result<Bounded<Ratio>, Absent> {
        self.single("cpu.utilisation", |value| match value {
            Value::Utilisation(utilisation) => Some(utilisation),
            _ => None,
        })
    }

    /// The hottest temperature of all thermal zones and chips, with the domain that has it.
    ///
    /// # Errors
    /// Why none is known.
    pub fn temperature_max(&self) -> Result<(Bounded<Celsius>, Domain), Absent> {
        let mut hottest: Option<(Bounded<Celsius>, Domain)> = None;
        for reading in &self.readings {
            if let Some(Value::Temperature(temperature)) = reading.measurement().map(|m| m.value)
                && hottest.as_ref().is_none_or(|(other, _)| temperature.value > other.value)
            {
                hottest = Some((temperature, reading.domain.clone()));
            }
        }
        let absent = || self.first_absent("zone.temperature");
        hottest.ok_or_else(absent)
    }

    /// Memory in use on the machine.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn memory_used(&self) -> Result<Bounded<Bytes>, Absent> {
        self.single("memory.used", memory)
    }

    /// All memory of the machine.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn memory_total(&self) -> Result<Bounded<Bytes>, Absent> {
        self.single("memory.total", memory)
    }

    /// Mean number of running or waiting tasks over one minute.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn load_1min(&self) -> Result<Bounded<Ratio>, Absent> {
        self.single("load.1min", |value| match value {
            Value::Load(load) => Some(load),
            _ => None,
        })
    }

    /// The readings of one metric.
    pub fn of_metric<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a Reading> {
        self.readings.iter().filter(move |reading| reading.metric == metric)
    }

    /// The one reading of a metric about the whole machine.
    fn single<T>(
        &self,
        metric: &str,
        pick: impl Fn(Value) -> Option<Bounded<T>>,
    ) -> Result<Bounded<T>, Absent> {
        let reading = self.of_metric(metric).find(|reading| reading.domain == Domain::Node);
        let missing = || Absent::new(AbsentReason::NotPresent, metric, "no sensor gives it");
        let measurement = reading.ok_or_else(missing)?.outcome.as_ref().map_err(Clone::clone)?;
        pick(measurement.value).ok_or_else(missing)
    }

    fn values<T>(&self, metric: &str, pick: impl Fn(Value) -> Option<T>) -> (Vec<T>, Absent) {
        let values = self.of_metric(metric).filter_map(|reading| pick(reading.measurement()?.value));
        (values.collect(), self.first_absent(metric))
    }

    fn first_absent(&self, metric: &str) -> Absent {
        let absent = self.of_metric(metric).find_map(|reading| reading.outcome.as_ref().err());
        absent.cloned().unwrap_or_else(|| Absent::new(AbsentReason::NotPresent, metric, "no sensor gives it"))
    }
}

fn memory(value: Value) -> Option<Bounded<Bytes>> {
    match value {
        Value::Memory(memory) => Some(memory),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock;
    use crate::reading::Quality;
    use crate::sys_root::{HostRoot, MemoryRoot};

    /// This machine has utilisation, memory and a power figure with a quality, whatever meters it has.
    #[test]
    fn this_machine_is_read() {
        let mut node = Node::open(Arc::new(HostRoot::machine()));
        clock::sleep(Duration::from_millis(60));
        let sample = node.sample();
        let share = sample.utilisation().unwrap();
        assert!((0.0..=1.0).contains(&share.value.get()));
        assert!(sample.memory_used().unwrap().value < sample.memory_total().unwrap().value);
        assert!(sample.load_1min().is_ok());
        let power = sample.power.total.unwrap();
        assert!(power.power.low <= power.power.value && power.power.value <= power.power.high);
        assert!(power.quality != Quality::Modelled || power.profile.is_some());
        assert!(sample.reads > 0 && node.sampler().samples_total() == 2);
    }

    /// An empty machine gives reasons everywhere and no value anywhere.
    #[test]
    fn an_empty_machine_gives_reasons() {
        let mut node = Node::open(Arc::new(MemoryRoot::new()));
        let sample = node.sample();
        assert!(sample.readings.iter().all(|reading| reading.outcome.is_err()));
        assert!(sample.power.total.is_err() && sample.frequency_mean().is_err());
        assert!(sample.utilisation().is_err() && sample.temperature_max().is_err());
        assert!(node.discover().iter().all(|report| report.present == 0 && !report.absent.is_empty()));
    }

    /// One sample reads no file twice.
    #[test]
    fn a_sample_reads_each_file_once() {
        let root = Arc::new(MemoryRoot::new());
        root.set("proc/stat", "cpu0 1 0 0 9\n");
        root.set("proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 4 kB\n");
        root.set("proc/loadavg", "0 0 0 1/1 1\n");
        root.set("proc/cpuinfo", "processor : 0\ncpu MHz : 1000\n");
        let mut node = Node::open(Arc::clone(&root) as Arc<dyn SysRoot>);
        root.take_reads();
        let sample = node.sample();
        let reads = root.take_reads();
        let unique: std::collections::BTreeSet<&String> = reads.iter().collect();
        assert_eq!(reads.len(), unique.len());
        assert_eq!(sample.reads, 4);
    }
}
