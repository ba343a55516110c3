//! What a node manager stands on: sensors and knobs of one machine, real, simulated or made up.
//!
//! Pure: the trait and its data.

use std::time::Duration;

use units::{Instant, Timestamp};

use crate::lease::{BootId, KnobKey, KnobModel};
use crate::message::{AbsentMetric, MetricDescriptor, Sample};

/// Sensors and knobs of one machine.
///
/// Knobs are written only between a snapshot, taken before the first write, and its restoration. Every call may block
/// as long as the hardware takes.
pub trait Machine: Send {
    /// Who it is.
    fn identity(&self) -> Identity;

    /// Its knobs with the values that they had before anything was changed.
    fn knobs(&self) -> Vec<KnobDescription>;

    /// What is known about its metrics. Headers are empty.
    fn descriptors(&self) -> Vec<MetricDescriptor>;

    /// Reads all sensors.
    fn observe(&mut self, now: Instant, wall: Timestamp) -> Observation;

    /// A knob's value as the hardware has it.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&mut self, knob: KnobKey) -> Result<f64, MachineError>;

    /// Sets a knob, after its snapshot is safe, and returns what the hardware made of the value.
    ///
    /// # Errors
    /// When it cannot be written, or holds something else than the value rounded to the hardware's step.
    fn write(&mut self, knob: KnobKey, value: f64) -> Result<f64, MachineError>;

    /// Puts a knob back to its snapshot, with everything that belongs to it, and returns the value.
    ///
    /// # Errors
    /// When it cannot be written, or does not hold its former value afterwards.
    fn restore(&mut self, knob: KnobKey) -> Result<f64, MachineError>;

    /// Ends the care for the knobs at an orderly exit. `bound` are those that must stay as they are, because a live
    /// cap of the system manager holds them below their snapshots; their snapshots are left for the next start.
    fn leave(&mut self, bound: &[KnobKey]);
}

/// Who a machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its host name.
    pub host: String,
    /// What it is, for people: this machine, a simulated profile, a test double.
    pub description: String,
    /// Its boot.
    pub boot_id: BootId,
}

/// One knob of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobDescription {
    /// Range, rule and snapshot.
    pub model: KnobModel,
    /// Distance of neighbouring values; 0 when they are not evenly spaced.
    pub step: f64,
    /// How long a change takes to act; zero when not known.
    pub settle: Duration,
    /// By which means it is set.
    pub source: String,
}

/// All sensors over one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Beginning of the interval.
    pub start: Timestamp,
    /// End of the interval.
    pub end: Timestamp,
    /// What has a value.
    pub samples: Vec<Sample>,
    /// What has none, and why.
    pub absent: Vec<AbsentMetric>,
}

/// Why a knob could not be read or written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineError {
    /// There is no such knob.
    #[error("there is no {0}")]
    Unknown(KnobKey),
    /// The hardware or its driver refused.
    #[error("{knob}: {reason}")]
    Refused {
        /// The knob.
        knob: KnobKey,
        /// What happened, with the remedy where one is known.
        reason: String,
    },
    /// The hardware holds something else than was written.
    #[error("{knob} holds {found} after {expected} was written: something else controls it")]
    Mismatch {
        /// The knob.
        knob: KnobKey,
        /// The value rounded to the hardware's step.
        expected: f64,
        /// What was read back.
        found: f64,
    },
}
