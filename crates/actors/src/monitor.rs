//! The monitor: takes telemetry of nodes and jobs, keeps the latest of it, and records it where asked.
//!
//! The trait and [`history`] are pure; [`recorder`] writes a file, [`client`] and [`service`] are shells on the bus.

pub mod client;
pub mod history;
pub mod recorder;
pub mod service;

use std::collections::BTreeMap;

use units::Instant;

use crate::message::{Event, JobTelemetry, MetricDescriptor, NodeTelemetry, Severity, event_code};
use crate::metric::MetricId;
use history::{History, Limits, RejectError};
use recorder::Recorder;

/// The two calls of a monitor, the same for the one in this process and for one behind the bus.
pub trait Monitor {
    /// Takes the values of a node.
    ///
    /// # Errors
    /// When nothing of it can be used, or (behind the bus) it could not be sent.
    fn report_node_telemetry(&mut self, now: Instant, telemetry: &NodeTelemetry) -> Result<(), MonitorError>;

    /// Takes a value of a job.
    ///
    /// # Errors
    /// When it cannot be used, or (behind the bus) it could not be sent.
    fn report_job_telemetry(&mut self, now: Instant, telemetry: &JobTelemetry) -> Result<(), MonitorError>;
}

/// Why a report was not taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MonitorError {
    /// The report cannot be used.
    #[error("the report of {sender} is not taken: {source}")]
    Rejected {
        /// The sender's host.
        sender: String,
        /// Why.
        source: RejectError,
    },
    /// The report could not be sent.
    #[error("the report could not be sent to the monitor: {0}")]
    NotSent(String),
}

/// A monitor with a bounded history in memory and, if asked, a recording.
#[derive(Debug)]
pub struct ReferenceMonitor {
    history: History,
    recorder: Option<Recorder>,
    events: Vec<Event>,
    descriptors: BTreeMap<MetricId, MetricDescriptor>,
}

/// Events that wait for [`ReferenceMonitor::take_events`]; more are not kept, the counters stay.
const EVENTS_MAX: usize = 256;
/// Metrics whose meaning is kept; of further ones only the numbers are known.
const DESCRIPTORS_MAX: usize = 4096;

impl ReferenceMonitor {
    /// A monitor without history.
    pub fn new(limits: Limits) -> Self {
        Self {
            history: History::new(limits),
            recorder: None,
            events: Vec::new(),
            descriptors: BTreeMap::new(),
        }
    }

    /// The same with a recording. The history goes on whatever happens to the recording.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// What is kept.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The recording and its counters.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Keeps what a metric means. The first description of a number stays, so that nobody can rename a metric.
    pub fn learn(&mut self, descriptor: &MetricDescriptor) {
        let id = MetricId::new(descriptor.id);
        if self.descriptors.len() < DESCRIPTORS_MAX && !self.descriptors.contains_key(&id) {
            self.descriptors.insert(id, descriptor.clone());
            if let Some(recorder) = &mut self.recorder {
                recorder.learn(descriptor);
            }
        }
    }

    /// What is known about a metric.
    pub fn descriptor(&self, metric: MetricId) -> Option<&MetricDescriptor> {
        self.descriptors.get(&metric)
    }

    /// What happened to the recording since the last call. Headers are empty.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn record(&mut self, now: Instant, rows: impl FnOnce(&mut Recorder, Instant) -> recorder::Written) {
        let Some(recorder) = &mut self.recorder else { return };
        let path = recorder.path().display().to_string();
        let event = match rows(recorder, now) {
            recorder::Written::Failed(error) => {
                let lost = recorder.lost() as f64;
                let text = format!("{error}; the history in memory goes on");
                Event::new(event_code::RECORDING_FAILED, Severity::Error, &path, lost, &text)
            }
            recorder::Written::Resumed { lost } => {
                let text = format!("the recording goes on after {lost} lost records");
                Event::new(event_code::RECORDING_RESUMED, Severity::Info, &path, lost as f64, &text)
            }
            recorder::Written::Done | recorder::Written::Lost => return,
        };
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }
}

impl Monitor for ReferenceMonitor {
    fn report_node_telemetry(&mut self, now: Instant, telemetry: &NodeTelemetry) -> Result<(), MonitorError> {
        let taken = self.history.insert_node(telemetry);
        if taken != Err(RejectError::Repeated) {
            self.record(now, |recorder, now| recorder.record_node(now, telemetry));
        }
        taken.map_err(|source| MonitorError::Rejected { sender: telemetry.header.host.clone(), source })
    }

    fn report_job_telemetry(&mut self, now: Instant, telemetry: &JobTelemetry) -> Result<(), MonitorError> {
        let taken = self.history.insert_job(telemetry);
        if taken.is_ok() {
            self.record(now, |recorder, now| recorder.record_job(now, telemetry));
        }
        taken.map_err(|source| MonitorError::Rejected { sender: telemetry.header.host.clone(), source })
    }
}

#[cfg(test)]
mod tests;
