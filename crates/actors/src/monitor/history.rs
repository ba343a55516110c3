//! A bounded history of telemetry, one ring for each series.
//!
//! Pure. Points are kept in the order of arrival, so a stepped wall clock loses nothing; queries look at the labels.

use std::collections::{BTreeMap, VecDeque};

use units::Timestamp;

use crate::device::Device;
use crate::message::{Header, JobTelemetry, NodeTelemetry, Quality, Sample, SampleFlags, WriterId};
use crate::metric::{MetricId, Unit};

/// Bounds of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Series; samples of further ones are counted as `dropped` and not kept.
    pub series_max: usize,
    /// Points in one series; the oldest is overwritten and counted.
    pub points_max: usize,
    /// Senders whose sequences are followed; the losses of further ones are not seen.
    pub writers_max: usize,
}

/// What a series is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A part of a node.
    Node {
        /// The node's name.
        host: String,
        /// The part.
        device: Device,
    },
    /// A task of a job.
    Job {
        /// The batch system's job.
        job: u64,
        /// The job step.
        step: u32,
        /// The node's index in the job.
        node: u32,
        /// The application in the step.
        app: u32,
        /// The task in the application.
        task: u32,
    },
}

/// Names a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// The metric.
    pub metric: MetricId,
    /// What it is measured on.
    pub subject: Subject,
}

/// A value over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Beginning of the interval.
    pub start: Timestamp,
    /// End of the interval.
    pub end: Timestamp,
    /// The value in the metric's SI unit.
    pub value: f64,
    /// Lower bound of the true value.
    pub min: f64,
    /// Upper bound of the true value.
    pub max: f64,
    /// How it came about.
    pub quality: Quality,
    /// What happened on the way.
    pub flags: SampleFlags,
}

/// Which points are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Only this metric.
    pub metric: Option<MetricId>,
    /// Only this node.
    pub host: Option<String>,
    /// Only this job.
    pub job: Option<u64>,
    /// Only intervals that end at or after this.
    pub from: Option<Timestamp>,
    /// Only intervals that begin before this.
    pub until: Option<Timestamp>,
}

/// The points of one series that a query selects, in the order of arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The series.
    pub key: SeriesKey,
    /// The points.
    pub points: Vec<Point>,
    /// Whether nothing of the asked time can have been overwritten.
    pub is_complete: bool,
}

/// What was lost, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Points kept or overwritten since the start.
    pub taken: u64,
    /// Points that made room for newer ones.
    pub overwritten: u64,
    /// Samples of series beyond the bound.
    pub dropped: u64,
    /// Samples that cannot be: not finite, or of an unknown part or quality.
    pub invalid: u64,
    /// Reports that came twice.
    pub repeated: u64,
    /// Reports that never came, as the senders' sequences show.
    pub lost: u64,
}

/// Why nothing of a report was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectError {
    /// It came before.
    #[error("it came before")]
    Repeated,
    /// A value that cannot be.
    #[error("a value is not a finite number, or its part or quality is not known")]
    Invalid,
    /// The unit is not the metric's.
    #[error("{metric} is in {expected:?}, not in {found:?}")]
    Unit {
        /// The metric.
        metric: MetricId,
        /// Its unit.
        expected: Unit,
        /// The report's unit, if it is known.
        found: Option<Unit>,
    },
    /// Too many series.
    #[error("{max} series are kept already, raise the bound")]
    Full {
        /// The bound that was reached.
        max: usize,
    },
}

/// Telemetry in memory.
#[derive(Debug)]
pub struct History {
    limits: Limits,
    series: BTreeMap<SeriesKey, Ring>,
    sequences: BTreeMap<(WriterId, Stream), u64>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Ring {
    points: VecDeque<Point>,
    /// The end of the newest point that was overwritten.
    overwritten: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stream {
    Node,
    Job,
}

impl Default for Limits {
    fn default() -> Self {
        Self { series_max: 4096, points_max: 600, writers_max: 4096 }
    }
}

impl History {
    /// An empty history.
    pub fn new(limits: Limits) -> Self {
        Self { limits, series: BTreeMap::new(), sequences: BTreeMap::new(), counters: Counters::default() }
    }

    /// Keeps the samples of a node.
    ///
    /// # Errors
    /// When the report came before, or none of its samples could be kept. A report without samples is taken.
    pub fn insert_node(&mut self, telemetry: &NodeTelemetry) -> Result<(), RejectError> {
        self.follow(&telemetry.header, Stream::Node)?;
        self.counters.lost = self.counters.lost.saturating_add(u64::from(telemetry.dropped));
        let start = Timestamp::from_unix_nanos(telemetry.window_start_ns);
        let end = Timestamp::from_unix_nanos(telemetry.window_end_ns);
        let (mut kept, mut rejected) = (0, None);
        for sample in &telemetry.samples {
            let result = node_point(&telemetry.header.host, sample, start, end)
                .ok_or(RejectError::Invalid)
                .and_then(|(key, point)| self.insert(key, point));
            match result {
                Ok(()) => kept += 1,
                Err(error) => {
                    self.count(error);
                    rejected = Some(error);
                }
            }
        }
        match rejected {
            Some(error) if kept == 0 => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps a value of a job.
    ///
    /// # Errors
    /// When it came before, cannot be, or has another unit than its metric.
    pub fn insert_job(&mut self, telemetry: &JobTelemetry) -> Result<(), RejectError> {
        self.follow(&telemetry.header, Stream::Job)?;
        let metric = MetricId::new(telemetry.metric);
        let result = job_point(telemetry, metric).and_then(|(key, point)| self.insert(key, point));
        result.inspect_err(|error| self.count(*error))
    }

    /// The points that a query selects, ascending by series.
    pub fn query(&self, query: &Query) -> Vec<Slice> {
        let slice = |(key, ring): (&SeriesKey, &Ring)| {
            let points = ring.points.iter().filter(|point| query.selects_time(point)).copied().collect();
            let is_complete = match (ring.overwritten, query.from) {
                (None, _) => true,
                (Some(overwritten), Some(from)) => overwritten < from,
                (Some(_), None) => false,
            };
            Slice { key: key.clone(), points, is_complete }
        };
        self.series.iter().filter(|(key, _)| query.selects(key)).map(slice).collect()
    }

    /// The newest point of a series.
    pub fn latest(&self, key: &SeriesKey) -> Option<Point> {
        self.series.get(key)?.points.back().copied()
    }

    /// The series that are kept.
    pub fn series(&self) -> impl Iterator<Item = &SeriesKey> {
        self.series.keys()
    }

    /// What was lost so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Counts the gap before a report of this sender, and refuses one that came before.
    fn follow(&mut self, header: &Header, stream: Stream) -> Result<(), RejectError> {
        let key = (header.writer, stream);
        let room = self.sequences.len() < self.limits.writers_max;
        match self.sequences.get_mut(&key) {
            Some(last) if header.sequence <= *last => {
                self.counters.repeated += 1;
                Err(RejectError::Repeated)
            }
            Some(last) => {
                // A sender may write any number: the sum stops at the top.
                self.counters.lost = self.counters.lost.saturating_add(header.sequence - *last - 1);
                *last = header.sequence;
                Ok(())
            }
            None => {
                if room {
                    self.sequences.insert(key, header.sequence);
                }
                Ok(())
            }
        }
    }

    fn insert(&mut self, key: SeriesKey, point: Point) -> Result<(), RejectError> {
        if !self.series.contains_key(&key) && self.series.len() >= self.limits.series_max {
            return Err(RejectError::Full { max: self.limits.series_max });
        }
        let ring = self.series.entry(key).or_default();
        if ring.points.len() >= self.limits.points_max
            && let Some(oldest) = ring.points.pop_front()
        {
            ring.overwritten = ring.overwritten.max(Some(oldest.end));
            self.counters.overwritten += 1;
        }
        ring.points.push_back(point);
        self.counters.taken += 1;
        Ok(())
    }

    fn count(&mut self, error: RejectError) {
        match error {
            RejectError::Repeated => {}
            RejectError::Invalid | RejectError::Unit { .. } => self.counters.invalid += 1,
            RejectError::Full { .. } => self.counters.dropped += 1,
        }
    }
}

impl Query {
    fn selects(&self, key: &SeriesKey) -> bool {
        let is_metric = self.metric.is_none_or(|metric| metric == key.metric);
        let is_subject = match &key.subject {
            Subject::Node { host, .. } => {
                self.job.is_none() && self.host.as_ref().is_none_or(|wanted| wanted == host)
            }
            Subject::Job { job, .. } => self.host.is_none() && self.job.is_none_or(|wanted| wanted == *job),
        };
        is_metric && is_subject
    }

    fn selects_time(&self, point: &Point) -> bool {
        self.from.is_none_or(|from| point.end >= from) && self.until.is_none_or(|until| point.start < until)
    }
}

fn node_point(host: &str, sample: &Sample, start: Timestamp, end: Timestamp) -> Option<(SeriesKey, Point)> {
    let device = sample.device.device()?;
    let quality = Quality::from_code(sample.quality)?;
    let is_finite = sample.value.is_finite() && sample.min.is_finite() && sample.max.is_finite();
    let subject = Subject::Node { host: host.to_owned(), device };
    let key = SeriesKey { metric: sample.metric_id(), subject };
    let flags = SampleFlags::from_bits(sample.flags);
    let Sample { value, min, max, .. } = *sample;
    is_finite.then_some((key, Point { start, end, value, min, max, quality, flags }))
}

fn job_point(telemetry: &JobTelemetry, metric: MetricId) -> Result<(SeriesKey, Point), RejectError> {
    let unit = Unit::from_code(telemetry.unit);
    if let Some(known) = metric.canonical()
        && unit != Some(known.unit)
    {
        return Err(RejectError::Unit { metric, expected: known.unit, found: unit });
    }
    if !telemetry.value.is_finite() {
        return Err(RejectError::Invalid);
    }
    let JobTelemetry { job, step, node, app, task, value, .. } = *telemetry;
    let key = SeriesKey { metric, subject: Subject::Job { job, step, node, app, task } };
    let point = Point {
        start: Timestamp::from_unix_nanos(telemetry.start_ns),
        end: Timestamp::from_unix_nanos(telemetry.end_ns),
        value,
        min: value,
        max: value,
        quality: Quality::Measured,
        flags: SampleFlags::NONE,
    };
    Ok((key, point))
}
