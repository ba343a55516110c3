//! Sensors: what each reads, its unit, how often it is worth asking, what it costs, and what it needs.
//!
//! A sensor reads files of a [`SysRoot`] through a [`Sampling`], which reads each file once per sample however many
//! sensors want it, and counts. Touches nothing else.

mod energy_meter;
pub mod frequency;
pub mod hwmon;
pub mod load;
pub mod memory;
pub mod perf;
pub mod powercap;
pub mod thermal;
pub mod utilisation;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use units::Instant;

use crate::absent::Absent;
use crate::reading::{Measurement, Quantity, Reading, Source};
use crate::sys_root::{PerfEvent, SysRoot};

/// What a sensor says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensorInfo {
    /// The sensor's name, the same from boot to boot.
    pub id: String,
    /// By which means it reads.
    pub source: Source,
    /// The kinds of its values.
    pub quantities: Vec<Quantity>,
    /// How often the value behind it changes; asking more often tells nothing new.
    pub update_period: Duration,
    /// What is needed to read it.
    pub permission: &'static str,
    /// What reading it costs the machine.
    pub cost: &'static str,
    /// What a reader must know about its values.
    pub notes: &'static str,
}

/// Something that gives readings.
pub trait Sensor: Send + fmt::Debug {
    /// What the sensor says about itself.
    fn info(&self) -> &SensorInfo;

    /// Appends the readings of this moment, present and absent. A sensor that needs two samples gives absent readings
    /// with reason `not-yet` the first time.
    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>);
}

/// One pass over the sensors at one moment: each file is read once and every read is counted.
#[derive(Debug)]
pub struct Sampling<'a> {
    root: &'a dyn SysRoot,
    texts: BTreeMap<String, Result<Arc<str>, Absent>>,
    reads: u64,
}

impl<'a> Sampling<'a> {
    /// Begins a pass.
    pub fn new(root: &'a dyn SysRoot) -> Self {
        Self { root, texts: BTreeMap::new(), reads: 0 }
    }

    /// The machine that is sampled.
    pub fn root(&self) -> &'a dyn SysRoot {
        self.root
    }

    /// The machine's monotonic clock now.
    pub fn now(&self) -> Instant {
        self.root.now()
    }

    /// A file's text, from the machine the first time and from memory afterwards.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub fn read(&mut self, path: &str) -> Result<Arc<str>, Absent> {
        if let Some(text) = self.texts.get(path) {
            return text.clone();
        }
        let text = self.read_now(path).map(Arc::<str>::from);
        self.texts.insert(path.to_string(), text.clone());
        text
    }

    /// A file's text from the machine, for a file that only one sensor reads.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub fn read_now(&mut self, path: &str) -> Result<String, Absent> {
        self.reads += 1;
        self.root.read(path).map_err(|error| Absent::from_io(path, &error))
    }

    /// A whole number from a file that only one sensor reads.
    ///
    /// # Errors
    /// Why the file cannot be read, or that its text is not a whole number.
    pub fn read_number<N: std::str::FromStr>(&mut self, path: &str) -> Result<N, Absent> {
        let text = self.read_now(path)?;
        text.trim().parse().map_err(|_| Absent::malformed(path, &text, "a whole number in range"))
    }

    /// The names in a folder.
    ///
    /// # Errors
    /// Why the folder cannot be read.
    pub fn list(&mut self, path: &str) -> Result<Vec<String>, Absent> {
        self.reads += 1;
        self.root.list(path).map_err(|error| Absent::from_io(path, &error))
    }

    /// A perf event's count.
    ///
    /// # Errors
    /// Why it cannot be counted.
    pub fn perf_count(&mut self, event: &PerfEvent) -> Result<u64, Absent> {
        self.reads += 1;
        let file = || format!("perf event {}/{}/ on cpu{}", event.unit, event.name, event.cpu);
        self.root.perf_count(event).map_err(|error| Absent::from_io(&file(), &error))
    }

    /// How many files, folders and counters the machine was asked for so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }
}

/// A reading without its outcome: what a sensor fills in for each of its values.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) metric: &'static str,
    pub(crate) domain: crate::reading::Domain,
    pub(crate) source: Source,
}

impl Slot {
    /// A reading of the interval from `start` to `end`.
    pub(crate) fn reading(
        &self,
        (start, end): (Instant, Instant),
        outcome: Result<Measurement, Absent>,
    ) -> Reading {
        let Self { metric, domain, source } = self;
        Reading {
            metric: (*metric).to_string(),
            domain: domain.clone(),
            source: *source,
            start,
            end,
            outcome,
        }
    }
}
