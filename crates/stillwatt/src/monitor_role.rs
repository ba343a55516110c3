//! The monitor of this process: a bounded history of telemetry and, where asked, a recording. Touches the bus and the
//! recording's file through `actors`.

use std::path::Path;

use actors::monitor::ReferenceMonitor;
use actors::monitor::history::Limits;
use actors::monitor::recorder::Recorder;
use actors::monitor::service::{MonitorService, MonitorServiceConfig};
use bus::{BusStatistics, Participant};

use crate::domain::DomainChoice;
use crate::report::{Exit, Failure};
use crate::snapshot::MonitorActivity;

/// A monitor that listens until it is dropped.
#[derive(Debug)]
pub struct MonitorRole {
    participant: Participant,
    service: MonitorService,
    limits: Limits,
}

impl MonitorRole {
    /// Joins the domain and listens. `record` names a file that telemetry is appended to.
    ///
    /// # Errors
    /// When the recording cannot be opened, the domain cannot be joined or the service cannot start.
    pub fn start(host: &str, domain: &DomainChoice, record: Option<&Path>) -> Result<Self, Failure> {
        let limits = Limits::default();
        let mut monitor = ReferenceMonitor::new(limits);
        if let Some(path) = record {
            let recorder = Recorder::open(path).map_err(|error| Failure::from_error(Exit::Failed, error))?;
            monitor = monitor.with_recorder(recorder);
        }
        let participant = domain.join("stillwatt monitor")?;
        let service = MonitorService::start(&participant, monitor, MonitorServiceConfig::on(host))
            .map_err(|error| Failure::from_error(Exit::Failed, error))?;
        Ok(Self { participant, service, limits })
    }

    /// The bus counters of its participant.
    pub fn statistics(&self) -> BusStatistics {
        self.participant.statistics()
    }

    /// What it keeps and what it lost.
    pub fn activity(&self) -> MonitorActivity {
        let service = self.service.statistics();
        self.service.with(|monitor| {
            let history = monitor.history();
            let counters = history.counters();
            let recorder = monitor.recorder();
            MonitorActivity {
                history_series: history.series().count() as u64,
                history_samples: counters.taken.saturating_sub(counters.overwritten),
                history_samples_per_series_max: self.limits.points_max as u64,
                history_overwritten_total: counters.overwritten,
                reports_lost_total: counters.lost + service.dropped,
                recording_path: recorder.map(|recorder| recorder.path().display().to_string()),
                recorded_total: recorder.map_or(0, Recorder::written),
                recording_lost_total: recorder.map_or(0, Recorder::lost),
            }
        })
    }
}
