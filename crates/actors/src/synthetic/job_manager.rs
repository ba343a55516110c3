//! A job manager that steers a made-up job: it asks its node manager for a lower frequency while the job
//! communicates and lets go of it while the job computes, and it reports the shares of time.
//!
//! Pure: the node manager and the monitor are whatever the caller has, in hand or behind the bus.

use std::time::Duration;

use units::{Hertz, Instant, Timestamp};

use crate::device::{Device, DeviceKind};
use crate::lease::{Authority, BootId};
use crate::message::{Aggregation, Header, JmState, JobPhase, JobTelemetry, WriterId};
use crate::metric::{MetricId, Unit};
use crate::monitor::{Monitor, MonitorError};
use crate::node_manager::{Call, NodeManager, NodeManagerError, RestoreLeases, Select, SetConf};

/// A made-up job that alternates between computing and communicating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticJob {
    /// The batch system's job.
    pub job: u64,
    /// The job step.
    pub step: u32,
    /// Ranks on the node.
    pub ranks: u32,
    /// How long it computes at a time.
    pub application: Duration,
    /// How long it communicates at a time.
    pub communication: Duration,
    /// The ceiling of the clock while it communicates.
    pub communication_ceiling: Hertz,
}

/// Steers one synthetic job.
#[derive(Clone, Debug)]
pub struct SyntheticJobManager {
    job: SyntheticJob,
    client: WriterId,
    begun: Instant,
    phase: Option<JobPhase>,
    sequence: u64,
    last: (Instant, Timestamp),
    mpi: Duration,
}

/// What went wrong in a step; the job goes on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobManagerError {
    /// The node manager did not do what was asked.
    #[error("job {job}: the frequency could not be set: {source}")]
    NodeManager {
        /// The job.
        job: u64,
        /// The node manager's reason.
        source: NodeManagerError,
    },
    /// The monitor did not take the report.
    #[error("job {job}: the report was not taken: {source}")]
    Monitor {
        /// The job.
        job: u64,
        /// The monitor's reason.
        source: MonitorError,
    },
}

impl SyntheticJobManager {
    /// A job that begins now with computing.
    pub fn new(job: SyntheticJob, client: WriterId, now: Instant, wall: Timestamp) -> Self {
        let last = (now, wall);
        Self { job, client, begun: now, phase: None, sequence: 0, last, mpi: Duration::ZERO }
    }

    /// The name under which its node's allow list knows it.
    pub fn principal(&self) -> String {
        format!("job:{}", self.job.job)
    }

    /// What the job does at some time.
    pub fn phase_at(&self, now: Instant) -> JobPhase {
        let period = (self.job.application + self.job.communication).as_nanos().max(1);
        let into = (now - self.begun).as_nanos() % period;
        if into < self.job.application.as_nanos() { JobPhase::Application } else { JobPhase::Communication }
    }

    /// When the job changes from one phase to the other next.
    pub fn poll_timeout(&self, now: Instant) -> Instant {
        let (computes, talks) = (self.job.application, self.job.communication);
        let period = u64::try_from((computes + talks).as_nanos()).unwrap_or(u64::MAX).max(1);
        let into = Duration::from_nanos((now - self.begun).as_nanos() as u64 % period);
        let left = if into < computes { computes - into } else { computes + talks - into };
        now + left
    }

    /// Brings the node to what the phase of this moment wants. Does nothing while the phase lasts.
    ///
    /// # Errors
    /// When the node manager refuses or does not answer; it is asked again in the next step.
    pub fn steer(
        &mut self,
        now: Instant,
        wall: Timestamp,
        node: &mut dyn NodeManager,
    ) -> Result<(), JobManagerError> {
        let phase = self.phase_at(now);
        let passed = now - self.last.0;
        if self.phase == Some(JobPhase::Communication) {
            self.mpi += passed;
        }
        self.last = (now, wall);
        if self.phase == Some(phase) {
            return Ok(());
        }
        let call = Call::local(&self.principal(), self.client, now, wall);
        let asked = match phase {
            JobPhase::Communication => node.set_conf(&call, &self.wish()).map(|_| ()),
            JobPhase::Application | JobPhase::Ended if self.phase.is_some() => self.let_go(&call, node),
            JobPhase::Application | JobPhase::Ended => Ok(()),
        };
        asked.map_err(|source| JobManagerError::NodeManager { job: self.job.job, source })?;
        self.phase = Some(phase);
        Ok(())
    }

    /// Reports the time inside MPI since the job began.
    ///
    /// # Errors
    /// When the monitor does not take it.
    pub fn report(&self, monitor: &mut dyn Monitor) -> Result<(), JobManagerError> {
        let (now, wall) = self.last;
        let passed = u64::try_from((now - self.begun).as_nanos()).unwrap_or(u64::MAX);
        let start_ns = wall.unix_nanos().saturating_sub(passed);
        let report = |metric: MetricId, unit: Unit, value, aggregation: Aggregation| JobTelemetry {
            job: self.job.job,
            step: self.job.step,
            metric: metric.get(),
            unit: unit.code(),
            value,
            start_ns,
            end_ns: wall.unix_nanos(),
            aggregation: aggregation.code(),
            ..JobTelemetry::default()
        };
        let reports = [
            report(MetricId::MPI_TIME, Unit::Second, self.mpi.as_secs_f64(), Aggregation::Sum),
            report(MetricId::MPI_TIME_RATIO, Unit::Ratio, self.mpi_ratio(), Aggregation::Mean),
        ];
        for telemetry in &reports {
            let taken = monitor.report_job_telemetry(now, telemetry);
            taken.map_err(|source| JobManagerError::Monitor { job: self.job.job, source })?;
        }
        Ok(())
    }

    /// How the job is. The header is empty.
    pub fn state(&self) -> JmState {
        JmState {
            header: Header::default(),
            job: self.job.job,
            step: self.job.step,
            node_count: 1,
            rank_count: self.job.ranks,
            policy: "synthetic communication phases".into(),
            phase: self.phase.unwrap_or(JobPhase::Application).code(),
            frequency_hertz: self.job.communication_ceiling.get(),
            mpi_ratio: self.mpi_ratio(),
        }
    }

    /// Ends the job: nothing of it stays on the node.
    ///
    /// # Errors
    /// When the node manager does not answer; its lease then ends by itself.
    pub fn end(
        &mut self,
        now: Instant,
        wall: Timestamp,
        node: &mut dyn NodeManager,
    ) -> Result<(), JobManagerError> {
        self.phase = Some(JobPhase::Ended);
        let call = Call::local(&self.principal(), self.client, now, wall);
        let ended = self.let_go(&call, node);
        ended.map_err(|source| JobManagerError::NodeManager { job: self.job.job, source })
    }

    fn mpi_ratio(&self) -> f64 {
        let passed = (self.last.0 - self.begun).as_secs_f64();
        if passed > 0.0 { self.mpi.as_secs_f64() / passed } else { 0.0 }
    }

    fn wish(&mut self) -> SetConf {
        self.sequence += 1;
        SetConf {
            control: MetricId::CPU_FREQUENCY_MAX_CONTROL,
            device: Device::all(DeviceKind::Core),
            value: self.job.communication_ceiling.get(),
            // A job manager that dies in the middle must not leave its node slow.
            ttl: self.job.communication * 4 + Duration::from_secs(1),
            authority: Authority::Job,
            job: self.job.job,
            term: 0,
            boot_id: BootId::UNKNOWN,
            sequence: self.sequence,
            is_dry_run: false,
        }
    }

    fn let_go(&mut self, call: &Call, node: &mut dyn NodeManager) -> Result<(), NodeManagerError> {
        self.sequence += 1;
        let select = Select::metric(MetricId::CPU_FREQUENCY_MAX_CONTROL);
        let (sequence, authority) = (self.sequence, Authority::Job);
        let wish = RestoreLeases { select, sequence, authority, every_holder: false };
        node.restore(call, &wish).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_manager::access::{AllowList, AllowRule};
    use crate::node_manager::manager::ManagerConfig;
    use crate::synthetic::{self, SyntheticHandle, SyntheticMonitor};

    fn at(millis: u64) -> (Instant, Timestamp) {
        let nanos = millis * 1_000_000;
        (Instant::from_nanos(nanos), Timestamp::from_unix_nanos(1_700_000_000_000_000_000 + nanos))
    }

    /// The clock is low exactly while the job communicates, the report tells the share, and an end leaves nothing.
    #[test]
    fn phases_move_the_clock() {
        let rule = AllowRule {
            principal: "job:*".into(),
            control: MetricId::CPU_FREQUENCY_MAX_CONTROL,
            authority: Authority::Job,
            min: 1.0e9,
            max: 3.7e9,
        };
        let access = AllowList::new(vec![rule]).unwrap();
        let mut node = synthetic::node_manager("n01", ManagerConfig { access, ..ManagerConfig::default() });
        let handle = node.machine().handle();
        let job = SyntheticJob {
            job: 4711,
            step: 0,
            ranks: 16,
            application: Duration::from_millis(60),
            communication: Duration::from_millis(40),
            communication_ceiling: Hertz::new(1.2e9),
        };
        let (now, wall) = at(0);
        let mut manager = SyntheticJobManager::new(job, [3; 16], now, wall);
        let mut monitor = SyntheticMonitor::default();
        for millis in (0..1000).step_by(10) {
            let (now, wall) = at(millis);
            manager.steer(now, wall, &mut node).unwrap();
            let expected = if millis % 100 < 60 { 3.7e9 } else { 1.2e9 };
            assert_eq!(handle.value(SyntheticHandle::CEILING), Some(expected), "{millis} ms");
            assert!(manager.poll_timeout(now) > now);
        }
        let (now, wall) = at(1000);
        manager.steer(now, wall, &mut node).unwrap();
        manager.report(&mut monitor).unwrap();
        let ratio = monitor.jobs.iter().find(|job| job.metric == MetricId::MPI_TIME_RATIO.get()).unwrap();
        assert!((ratio.value - 0.4).abs() < 1e-9, "{}", ratio.value);
        manager.end(now, wall, &mut node).unwrap();
        assert!(handle.is_as_at_start());
    }
}
