//! `bus bench scale`: memory of endpoints, here and elsewhere.
//!
//! An own endpoint: a process with many of them, less one without, by their number. A remote endpoint: a process that
//! has one participant and sees many of others', less one that sees none, by their number. Only memory that is no file's
//! counts, so that programs and libraries do not.

use std::time::Duration;

use ledger::{Cell, Column, Table, Unit};

use super::contestant::{Contestant, Stage, Task};
use super::cost::Watched;
use super::cpus::Placement;
use super::discovery::{self, Gathering};
use super::failed;
use super::latency::spread_cells;
use super::process::Process;
use super::schedule::Measured;
use super::spread::Spread;
use crate::report::Failure;

/// What one run measured, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Of one more endpoint of the process's own.
    pub(crate) own_endpoint_bytes: f64,
    /// Of one more endpoint of other processes.
    pub(crate) remote_endpoint_bytes: f64,
    /// All processes with all endpoints.
    pub(crate) discovery: discovery::Run,
}

/// All runs of one contestant under one condition.
pub(crate) type Cells = Measured<Gathering, Run>;

/// Own endpoints, and remote ones, that the costs of one are taken from.
const MANY: u32 = 1000;
const CREATE_MAX: Duration = Duration::from_secs(60);
/// Until allocations and announcements are over.
const SETTLE: Duration = Duration::from_secs(3);

fn idle(
    stage: &Stage<'_>,
    gathering: &Gathering,
    contestant: Contestant,
    participants: u32,
    endpoints_each: u32,
) -> Result<Process, Failure> {
    let mut process = stage.start(&Task {
        contestant,
        transport: gathering.transport,
        is_reliable: true,
        placement: Placement::Free,
        verb: "idle",
        host: 0,
        arguments: vec![
            "--participants".to_owned(),
            participants.to_string(),
            "--endpoints".to_owned(),
            endpoints_each.to_string(),
        ],
    })?;
    process.line("created_ns", CREATE_MAX)?;
    Ok(process)
}

fn anonymous(process: &Process) -> Result<f64, Failure> {
    node::clock::sleep(SETTLE);
    Ok(Watched::new(process.id()).held()?.anonymous_bytes as f64)
}

/// Makes one run.
pub(crate) fn run(stage: &Stage<'_>, gathering: &Gathering, contestant: Contestant) -> Result<Run, Failure> {
    let observer = idle(stage, gathering, contestant, 1, 0)?;
    let alone = anonymous(&observer)?;
    let many = idle(stage, gathering, contestant, 1, MANY)?;
    let with_many = anonymous(&many)?;
    let seeing_many = anonymous(&observer)?;
    drop((many, observer));
    Ok(Run {
        own_endpoint_bytes: (with_many - alone) / f64::from(MANY),
        remote_endpoint_bytes: (seeing_many - alone) / f64::from(MANY),
        discovery: discovery::run(stage, gathering, contestant)?,
    })
}

impl Cells {
    /// One figure of all runs.
    pub(crate) fn spread(&self, figure: fn(&Run) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().map(figure))
    }
}

/// One row for each contestant.
pub(crate) fn summary_table(cells: &[Cells]) -> Result<Table, Failure> {
    let mut columns = vec![
        Column::text("transport"),
        Column::integer("participants", Unit::None),
        Column::integer("endpoints", Unit::None),
        Column::integer("processes", Unit::None),
        Column::text("contestant"),
        Column::integer("runs", Unit::None),
    ];
    let names = ["own_endpoint", "remote_endpoint", "resident", "anonymous"];
    columns.extend(names.into_iter().flat_map(|name| {
        let spread = match name {
            "own_endpoint" => ["own_endpoint", "own_endpoint_lowest", "own_endpoint_highest"],
            "remote_endpoint" => ["remote_endpoint", "remote_endpoint_lowest", "remote_endpoint_highest"],
            "resident" => ["resident", "resident_lowest", "resident_highest"],
            _ => ["anonymous", "anonymous_lowest", "anonymous_highest"],
        };
        spread.map(|name| Column::real(name, Unit::Bytes))
    }));
    let mut table = Table::new("scale", columns);
    for cell in cells {
        let gathering = &cell.condition;
        let mut row: Vec<Cell> = vec![
            gathering.transport.name().into(),
            gathering.participants.into(),
            gathering.endpoints.into(),
            gathering.processes.into(),
            cell.contestant.name().into(),
            (cell.runs.len() as u64).into(),
        ];
        row.extend(spread_cells(cell.spread(|run| run.own_endpoint_bytes)));
        row.extend(spread_cells(cell.spread(|run| run.remote_endpoint_bytes)));
        row.extend(spread_cells(cell.spread(|run| run.discovery.resident_bytes)));
        row.extend(spread_cells(cell.spread(|run| run.discovery.anonymous_bytes)));
        table.push(row).map_err(failed)?;
    }
    Ok(table)
}
