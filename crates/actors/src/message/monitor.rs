//! Messages of the monitor.
//!
//! Pure data.

use rtps::cdr::DdsType;

use super::{Header, Sample};
use crate::metric::Metric;

/// The values of one node over one interval.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::NodeTelemetry")]
pub struct NodeTelemetry {
    /// Who says so; `header.host` is the node.
    pub header: Header,
    /// Beginning of the interval, UNIX nanoseconds.
    pub window_start_ns: u64,
    /// End of the interval, UNIX nanoseconds.
    pub window_end_ns: u64,
    /// The values. A metric that has none is not among them; the node's status says why.
    #[dds(max = 4096)]
    pub samples: Vec<Sample>,
    /// Intervals that the sender could not publish since the last message.
    pub dropped: u32,
}

/// One value about a job.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::JobTelemetry")]
pub struct JobTelemetry {
    /// Who says so; `header.host` is the node that the sender runs on.
    pub header: Header,
    /// The batch system's job.
    pub job: u64,
    /// The job step.
    pub step: u32,
    /// The node's index in the job.
    pub node: u32,
    /// The application in the step.
    pub app: u32,
    /// The task (rank) in the application.
    pub task: u32,
    /// The metric's number.
    pub metric: u32,
    /// The value in the metric's SI unit.
    pub value: f64,
    /// A code of `Unit`; must be the metric's own.
    pub unit: u8,
    /// Beginning of the interval, UNIX nanoseconds.
    pub start_ns: u64,
    /// End of the interval, UNIX nanoseconds.
    pub end_ns: u64,
    /// A code of [`Aggregation`].
    pub aggregation: u8,
}

/// How a value stands for its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Aggregation {
    /// The last reading.
    Last = 0,
    /// The mean over time.
    Mean = 1,
    /// The sum.
    Sum = 2,
    /// The lowest reading.
    Min = 3,
    /// The highest reading.
    Max = 4,
    /// The change per second.
    Rate = 5,
}

/// What is known about a metric, in PowerAPI's terms.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::MetricDescriptor")]
pub struct MetricDescriptor {
    /// Who says so.
    pub header: Header,
    /// The metric's name.
    #[dds(key, max = 64)]
    pub name: String,
    /// The number that stands for it in telemetry.
    pub id: u32,
    /// A code of `Unit`.
    pub unit: u8,
    /// A code of `Kind`.
    pub kind: u8,
    /// The PowerAPI attribute of the same meaning; empty where there is none.
    #[dds(max = 64)]
    pub power_api: String,
    /// Where a counter begins anew, in its unit; 0 when it does not wrap.
    pub wrap_range: f64,
    /// Half width of the error as a share of the value; 0 when not known.
    pub accuracy_ratio: f64,
    /// Smallest step between two values, in the unit; 0 when not known.
    pub precision: f64,
    /// How often the source has a new value.
    pub update_rate_hertz: f64,
    /// How often it is read.
    pub sample_rate_hertz: f64,
    /// Over how long the source averages; 0 for an instant.
    pub window_seconds: f64,
    /// Age of a value when it is read.
    pub latency_seconds: f64,
    /// Where values come from; for modelled ones the model's and profile's name.
    #[dds(max = 128)]
    pub source: String,
    /// One sentence for people.
    #[dds(max = 256)]
    pub description: String,
}

impl Aggregation {
    const ALL: [Self; 6] = [Self::Last, Self::Mean, Self::Sum, Self::Min, Self::Max, Self::Rate];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The aggregation of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl MetricDescriptor {
    /// What the canonical table says about a metric; rates and accuracy are the publisher's to fill in.
    pub fn of(header: Header, metric: &Metric, source: &str) -> Self {
        Self {
            header,
            name: metric.name.to_owned(),
            id: metric.id.get(),
            unit: metric.unit.code(),
            kind: metric.kind.code(),
            power_api: metric.power_api.to_owned(),
            source: super::bounded(source, 128).to_owned(),
            description: metric.description.to_owned(),
            ..Self::default()
        }
    }
}
