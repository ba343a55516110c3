//! What the actors say to each other, field by field as it lies on the wire.
//!
//! Pure data. SI units in field names; plain numbers where an enumeration may grow, so that an unknown code of a
//! newer peer is a value and not a damaged sample. Unbounded growth is fenced by `max` on every text and sequence.
//! Types are matched by name, so members are only ever appended in a new version with a new [`PROTOCOL`] number.

mod event;
mod job_manager;
mod monitor;
mod node_manager;

pub use event::{Event, Severity, event_code};
pub use job_manager::{JmState, JobPhase};
pub use monitor::{Aggregation, JobTelemetry, MetricDescriptor, NodeTelemetry};
pub use node_manager::{
    NmCapability, NmInfo, NmReply, NmRequest, NmSetting, NmStatus, NodeState, Operation, RequestFlags,
    Status, WRITABLE_BY_NOBODY,
};

pub use node::Flags as SampleFlags;
use rtps::cdr::Cdr;
use units::{Instant, Timestamp};

use crate::device::{Device, DeviceKind};
use crate::metric::MetricId;

/// The version of the messages in this module.
pub const PROTOCOL: u16 = 1;
/// Longest host name, in bytes; the kernel's own bound.
pub const HOST_MAX: usize = 64;
/// Longest free text, in bytes.
pub const TEXT_MAX: usize = 256;

/// At the beginning of every message: who says it and when.
#[derive(Clone, Debug, Default, PartialEq, Cdr)]
pub struct Header {
    /// [`PROTOCOL`] of the sender.
    pub protocol: u16,
    /// Counts the sender's messages of one kind, from 1; a jump shows how many were lost.
    pub sequence: u64,
    /// The sender's wall clock, nanoseconds since 1970-01-01T00:00:00Z. A label: it may step.
    pub ts_ns: u64,
    /// The sender's monotonic clock in nanoseconds; comparable only within one boot of one machine.
    pub mono_ns: u64,
    /// The sender's role, a code of [`Actor`].
    pub actor: u8,
    /// The machine that the sender runs on.
    #[dds(max = 64)]
    pub host: String,
    /// Names the sender among all of its kind; a new one for every start of the program.
    pub writer: WriterId,
}

/// Names one running sender. Unlike a GUID it is the same over every transport and bridge.
pub type WriterId = [u8; 16];

/// The roles of the PowerStack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Actor {
    /// Divides the machine's budget.
    SystemManager = 0,
    /// Steers one job.
    JobManager = 1,
    /// Measures and sets one node.
    NodeManager = 2,
    /// Orders the tasks of a workflow.
    WorkflowEngine = 3,
    /// Collects telemetry.
    Monitor = 4,
    /// Carries messages between the bus and something else.
    Bridge = 5,
    /// A person or tool that only asks.
    Tool = 6,
}

/// A part of a machine, as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Cdr)]
pub struct DeviceRef {
    /// A code of [`DeviceKind`].
    pub kind: u8,
    /// Which one, or `0xFFFFFFFF` for all.
    pub id: u32,
}

/// One value of one metric over an interval that its message states.
#[derive(Clone, Debug, Default, PartialEq, Cdr)]
pub struct Sample {
    /// The metric's number.
    pub metric: u32,
    /// The part of the machine.
    pub device: DeviceRef,
    /// The value in the metric's SI unit.
    pub value: f64,
    /// Lower bound of the true value; equal to `value` where the error is not known.
    pub min: f64,
    /// Upper bound of the true value; equal to `value` where the error is not known.
    pub max: f64,
    /// How many readings went into the value.
    pub count: u32,
    /// How it came about, a code of [`Quality`].
    pub quality: u8,
    /// What happened on the way, bits of [`SampleFlags`].
    pub flags: u8,
}

/// Why a reading is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Cdr)]
pub struct AbsentMetric {
    /// The metric's number.
    pub metric: u32,
    /// The part of the machine.
    pub device: DeviceRef,
    /// The reason, with the remedy where one is known.
    #[dds(max = 256)]
    pub reason: String,
}

/// How a value came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Quality {
    /// A meter read it.
    Measured = 0,
    /// A formula gave it; no meter was involved.
    Modelled = 1,
    /// Derived from other measured values.
    Estimated = 2,
}

impl Actor {
    const ALL: [Self; 7] = [
        Self::SystemManager,
        Self::JobManager,
        Self::NodeManager,
        Self::WorkflowEngine,
        Self::Monitor,
        Self::Bridge,
        Self::Tool,
    ];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The role of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl Quality {
    const ALL: [Self; 3] = [Self::Measured, Self::Modelled, Self::Estimated];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The quality of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name shown to people and written to recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Modelled => "modelled",
            Self::Estimated => "estimated",
        }
    }
}

impl From<Device> for DeviceRef {
    fn from(device: Device) -> Self {
        Self { kind: device.kind.code(), id: device.id }
    }
}

impl DeviceRef {
    /// The part, if its kind is known here.
    pub fn device(self) -> Option<Device> {
        DeviceKind::from_code(self.kind).map(|kind| Device::new(kind, self.id))
    }
}

impl Sample {
    /// An exact measured value of one reading.
    pub fn measured(metric: MetricId, device: Device, value: f64) -> Self {
        Self {
            metric: metric.get(),
            device: device.into(),
            value,
            min: value,
            max: value,
            count: 1,
            quality: Quality::Measured.code(),
            flags: 0,
        }
    }

    /// The metric's number as an id.
    pub const fn metric_id(&self) -> MetricId {
        MetricId::new(self.metric)
    }
}

/// Who a sender is; stamps its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Its role.
    pub actor: Actor,
    /// The machine that it runs on.
    pub host: String,
    /// Its name among all senders.
    pub writer: WriterId,
}

impl Sender {
    /// The header of this sender's message number `sequence`.
    pub fn header(&self, sequence: u64, now: Instant, wall: Timestamp) -> Header {
        Header {
            protocol: PROTOCOL,
            sequence,
            ts_ns: wall.unix_nanos(),
            mono_ns: now.as_nanos(),
            actor: self.actor.code(),
            host: bounded(&self.host, HOST_MAX).to_owned(),
            writer: self.writer,
        }
    }
}

/// The longest beginning of `text` that has at most `max` bytes and ends between characters; a NUL ends it too,
/// as the wire has no way to carry one.
pub fn bounded(text: &str, max: usize) -> &str {
    let text = text.split('\0').next().unwrap_or_default();
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
