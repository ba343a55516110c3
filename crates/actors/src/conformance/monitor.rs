//! What every monitor must do for those who report.

use units::Instant;

use super::{BrokenPromise, kept, promise};
use crate::device::Device;
use crate::message::{Aggregation, Header, JobTelemetry, NodeTelemetry, Sample, WriterId};
use crate::metric::{MetricId, Unit};
use crate::monitor::Monitor;

/// A monitor under test, with the means to look at what it has.
pub trait MonitorSubject {
    /// The monitor.
    fn monitor(&mut self) -> &mut dyn Monitor;

    /// Values of one metric of one node that it has, oldest first, after whatever is on its way has arrived.
    fn node_values(&mut self, host: &str, metric: MetricId) -> Vec<f64>;

    /// Values of one metric of one job that it has, oldest first.
    fn job_values(&mut self, job: u64, metric: MetricId) -> Vec<f64>;
}

/// Runs the suite.
///
/// # Errors
/// The first promise that was not kept.
pub fn monitor(subject: &mut dyn MonitorSubject) -> Result<(), BrokenPromise> {
    let now = Instant::from_nanos(5_000_000_000);
    for sequence in 1..=5 {
        for host in ["n1", "n2"] {
            let report = node(host, sequence, sequence as f64 * 10.0);
            kept("a node's report is taken", subject.monitor().report_node_telemetry(now, &report))?;
        }
        let report = job(sequence, sequence as f64);
        kept("a job's report is taken", subject.monitor().report_job_telemetry(now, &report))?;
    }
    let expected = [10.0, 20.0, 30.0, 40.0, 50.0];
    for host in ["n1", "n2"] {
        let values = subject.node_values(host, MetricId::NODE_POWER);
        promise("what a node reported is there, in order and once", values == expected, || {
            format!("{values:?}")
        })?;
    }
    let values = subject.job_values(7, MetricId::MPI_TIME);
    promise("what a job reported is there, in order and once", values == [1.0, 2.0, 3.0, 4.0, 5.0], || {
        format!("{values:?}")
    })?;
    let values = subject.node_values("n3", MetricId::NODE_POWER);
    promise("of a node that never reported there is nothing", values.is_empty(), || format!("{values:?}"))
}

fn header(host: &str, sequence: u64) -> Header {
    let writer: WriterId = [host.bytes().next_back().unwrap_or(1); 16];
    Header { host: host.into(), sequence, writer, ..Header::default() }
}

fn node(host: &str, sequence: u64, value: f64) -> NodeTelemetry {
    NodeTelemetry {
        header: header(host, sequence),
        window_start_ns: (sequence - 1) * 1_000_000_000,
        window_end_ns: sequence * 1_000_000_000,
        samples: vec![Sample::measured(MetricId::NODE_POWER, Device::NODE, value)],
        dropped: 0,
    }
}

fn job(sequence: u64, value: f64) -> JobTelemetry {
    JobTelemetry {
        header: header("n1", sequence),
        job: 7,
        metric: MetricId::MPI_TIME.get(),
        unit: Unit::Second.code(),
        value,
        start_ns: 0,
        end_ns: sequence * 1_000_000_000,
        aggregation: Aggregation::Sum.code(),
        ..JobTelemetry::default()
    }
}
