//! `bus bench idle`: what a process with nothing to do costs.

use std::time::Duration;

use ledger::{Cell, Column, Table, Unit};

use super::contestant::{Contestant, Stage, Task};
use super::cost::Watched;
use super::cpus::Placement;
use super::failed;
use super::schedule::Measured;
use super::spread::Spread;
use super::transport::BenchTransport;
use crate::report::Failure;

/// What is held fixed while contestants are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// How data would travel.
    pub(crate) transport: BenchTransport,
    /// Participants of the process.
    pub(crate) participants: u32,
    /// Endpoints of all of them together.
    pub(crate) endpoints: u32,
    /// How long it is watched.
    pub(crate) seconds: u32,
}

/// What one run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Context switches of all threads, per second.
    pub(crate) wakeups: f64,
    /// Time on a CPU over time watched.
    pub(crate) cpu_share: f64,
    /// Resident memory.
    pub(crate) resident_bytes: f64,
    /// Resident memory that is no file's.
    pub(crate) anonymous_bytes: f64,
    /// Threads.
    pub(crate) threads: f64,
    /// Threads of our bus.
    pub(crate) bus_threads: f64,
}

/// All runs of one contestant under one condition.
pub(crate) type Cells = Measured<Quiet, Run>;

/// The longest wait for all participants.
const CREATE_MAX: Duration = Duration::from_secs(120);
/// Start-up announcements are over by then.
const SETTLE: Duration = Duration::from_secs(3);
/// Settling takes longer with more participants.
const SETTLE_EACH: Duration = Duration::from_millis(100);

/// Makes one run: one process alone in its domain.
pub(crate) fn run(stage: &Stage<'_>, quiet: &Quiet, contestant: Contestant) -> Result<Run, Failure> {
    let mut process = stage.start(&Task {
        contestant,
        transport: quiet.transport,
        is_reliable: true,
        placement: Placement::Free,
        verb: "idle",
        host: 0,
        arguments: vec![
            "--participants".to_owned(),
            quiet.participants.to_string(),
            "--endpoints".to_owned(),
            (quiet.endpoints / quiet.participants.max(1)).to_string(),
        ],
    })?;
    process.line("created_ns", CREATE_MAX)?;
    node::clock::sleep(SETTLE + SETTLE_EACH * quiet.participants);
    let watched = Watched::new(process.id());
    let (start, before) = (node::clock::monotonic(), watched.used()?);
    node::clock::sleep(Duration::from_secs(quiet.seconds.into()));
    let (end, after) = (node::clock::monotonic(), watched.used()?);
    let held = watched.held()?;
    let seconds = (end - start).as_secs_f64();
    Ok(Run {
        wakeups: after.switches.saturating_sub(before.switches) as f64 / seconds,
        cpu_share: after.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e9 / seconds,
        resident_bytes: held.resident_bytes as f64,
        anonymous_bytes: held.anonymous_bytes as f64,
        threads: held.threads as f64,
        bus_threads: held.bus_threads as f64,
    })
}

impl Cells {
    /// One figure of all runs.
    pub(crate) fn spread(&self, figure: fn(&Run) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().map(figure))
    }
}

/// One row for each contestant and condition: medians of the runs.
pub(crate) fn summary_table(cells: &[Cells]) -> Result<Table, Failure> {
    let columns = [
        Column::text("transport"),
        Column::integer("participants", Unit::None),
        Column::integer("endpoints", Unit::None),
        Column::text("contestant"),
        Column::integer("runs", Unit::None),
        Column::integer("watched", Unit::Seconds),
        Column::real("wakeups", Unit::PerSecond),
        Column::real("cpu_share", Unit::None),
        Column::real("resident", Unit::Bytes),
        Column::real("anonymous", Unit::Bytes),
        Column::real("threads", Unit::None),
        Column::real("bus_threads", Unit::None),
    ];
    let mut table = Table::new("idle", columns);
    for cell in cells {
        let median = |figure: fn(&Run) -> f64| Cell::from(cell.spread(figure).map(|spread| spread.median));
        let row = [
            cell.condition.transport.name().into(),
            cell.condition.participants.into(),
            cell.condition.endpoints.into(),
            cell.contestant.name().into(),
            (cell.runs.len() as u64).into(),
            cell.condition.seconds.into(),
            median(|run| run.wakeups),
            median(|run| run.cpu_share),
            median(|run| run.resident_bytes),
            median(|run| run.anonymous_bytes),
            median(|run| run.threads),
            median(|run| run.bus_threads),
        ];
        table.push(row).map_err(failed)?;
    }
    Ok(table)
}
