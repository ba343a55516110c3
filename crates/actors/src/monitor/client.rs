//! Reporting to whatever monitors listen on the bus.
//!
//! May touch: the bus and the clocks. Reports are best effort: nobody is waited for, and losses show in the monitor's
//! counters.

use bus::{CreateError, Participant, Publisher};
use node::clock;
use units::Instant;

use super::{Monitor, MonitorError};
use crate::message::{Header, JobTelemetry, MetricDescriptor, NodeTelemetry, Sender};
use crate::topic;

/// Reports to the monitors in one partition.
#[derive(Debug)]
pub struct MonitorClient {
    sender: Sender,
    nodes: Publisher<NodeTelemetry>,
    jobs: Publisher<JobTelemetry>,
    descriptors: Publisher<MetricDescriptor>,
    sequences: [u64; 3],
}

impl MonitorClient {
    /// Joins the topics. `sender.writer` is replaced by a name of this client's own. `partition` is usually
    /// [`topic::PARTITION_MONITOR`].
    ///
    /// # Errors
    /// When the partition breaks a bound of the wire.
    pub fn connect(participant: &Participant, partition: &str, sender: Sender) -> Result<Self, CreateError> {
        let partitions = [partition.to_owned()];
        let nodes = topic::NODE_TELEMETRY.publisher(participant, &partitions)?;
        let sender = Sender { writer: nodes.guid().to_bytes(), ..sender };
        Ok(Self {
            sender,
            jobs: topic::JOB_TELEMETRY.publisher(participant, &partitions)?,
            descriptors: topic::METRIC_DESCRIPTOR.publisher(participant, &partitions)?,
            nodes,
            sequences: [0; 3],
        })
    }

    /// How many monitors listen to node and to job telemetry.
    pub fn monitors(&self) -> usize {
        self.nodes.matched().current.min(self.jobs.matched().current)
    }

    /// Says what a metric means; late joiners get it too.
    ///
    /// # Errors
    /// When a text breaks its bound.
    pub fn describe(&mut self, descriptor: &MetricDescriptor) -> Result<(), MonitorError> {
        let header = self.header(2, clock::monotonic());
        let descriptor = MetricDescriptor { header, ..descriptor.clone() };
        self.descriptors.write(&descriptor).map_err(|error| MonitorError::NotSent(error.to_string()))
    }

    fn header(&mut self, stream: usize, now: Instant) -> Header {
        let mut sequence = 0;
        if let Some(last) = self.sequences.get_mut(stream) {
            *last += 1;
            sequence = *last;
        }
        self.sender.header(sequence, now, clock::wall())
    }
}

impl Monitor for MonitorClient {
    /// The header is filled in, except its host where the telemetry names one.
    fn report_node_telemetry(&mut self, now: Instant, telemetry: &NodeTelemetry) -> Result<(), MonitorError> {
        let header = self.header(0, now).about(&telemetry.header.host);
        let telemetry = NodeTelemetry { header, ..telemetry.clone() };
        self.nodes.write(&telemetry).map_err(|error| MonitorError::NotSent(error.to_string()))
    }

    fn report_job_telemetry(&mut self, now: Instant, telemetry: &JobTelemetry) -> Result<(), MonitorError> {
        let header = self.header(1, now).about(&telemetry.header.host);
        let telemetry = JobTelemetry { header, ..telemetry.clone() };
        self.jobs.write(&telemetry).map_err(|error| MonitorError::NotSent(error.to_string()))
    }
}

impl Header {
    /// The same with another host, when that is not empty: a report about a node may come from elsewhere.
    fn about(mut self, host: &str) -> Self {
        if !host.is_empty() {
            host.clone_into(&mut self.host);
        }
        self
    }
}
