//! A monitor that remembers what it was told, for tests of those who report.
//!
//! Pure.

use units::Instant;

use crate::message::{JobTelemetry, NodeTelemetry};
use crate::monitor::{Monitor, MonitorError};

/// A monitor that keeps the reports themselves, the newest [`SyntheticMonitor::REPORTS_MAX`] of each kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyntheticMonitor {
    /// Reports about nodes, oldest first.
    pub nodes: Vec<NodeTelemetry>,
    /// Reports about jobs, oldest first.
    pub jobs: Vec<JobTelemetry>,
    /// When set, every report is refused with this text.
    pub refusal: Option<String>,
}

impl SyntheticMonitor {
    /// Reports of one kind that are kept; older ones are dropped.
    pub const REPORTS_MAX: usize = 10_000;

    fn refuse(&self) -> Result<(), MonitorError> {
        self.refusal.clone().map_or(Ok(()), |text| Err(MonitorError::NotSent(text)))
    }
}

impl Monitor for SyntheticMonitor {
    fn report_node_telemetry(
        &mut self,
        _now: Instant,
        telemetry: &NodeTelemetry,
    ) -> Result<(), MonitorError> {
        self.refuse()?;
        push(&mut self.nodes, telemetry);
        Ok(())
    }

    fn report_job_telemetry(&mut self, _now: Instant, telemetry: &JobTelemetry) -> Result<(), MonitorError> {
        self.refuse()?;
        push(&mut self.jobs, telemetry);
        Ok(())
    }
}

fn push<T: Clone>(reports: &mut Vec<T>, report: &T) {
    if reports.len() >= SyntheticMonitor::REPORTS_MAX {
        reports.remove(0);
    }
    reports.push(report.clone());
}
