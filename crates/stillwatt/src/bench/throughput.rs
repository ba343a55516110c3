//! `bus bench throughput`: samples one way between two processes, as fast as they go.

use std::time::Duration;

use ledger::{Cell, Column, Table, Unit};
use serde::Deserialize;

use super::contestant::{Contestant, Stage, Task};
use super::latency::{ready, spread_cells};
use super::schedule::{self, Measured};
use super::spread::Spread;
use super::transport::BenchTransport;
use super::{cpus::Placement, failed};
use crate::report::Failure;

/// What is held fixed while contestants are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    /// How data travels.
    pub(crate) transport: BenchTransport,
    /// Whether every sample must arrive, in order.
    pub(crate) is_reliable: bool,
    /// Payload of a sample.
    pub(crate) size_bytes: u32,
    /// Where processes run.
    pub(crate) placement: Placement,
}

/// What one run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Samples received per second, between the first and the last one.
    pub(crate) rate: f64,
    /// Samples written.
    pub(crate) sent: u64,
    /// Samples that arrived.
    pub(crate) received: u64,
    /// Samples that did not come in their turn.
    pub(crate) disordered: u64,
    /// Writes that the sender's side refused at first.
    pub(crate) refused: u64,
}

#[derive(Deserialize)]
struct Received {
    received: u64,
    disordered: u64,
    first_ns: u64,
    last_ns: u64,
}

#[derive(Deserialize)]
struct Sent {
    sent: u64,
    refused: u64,
}

/// The longest that a stream may take.
const RUN_MAX: Duration = Duration::from_secs(180);

impl Run {
    /// Whether everything arrived in its turn.
    pub(crate) fn is_whole(&self) -> bool {
        self.received == self.sent && self.disordered == 0
    }
}

/// Makes one run.
pub(crate) fn run(
    stage: &Stage<'_>,
    stream: &Stream,
    contestant: Contestant,
    samples: u32,
) -> Result<Run, Failure> {
    let task = |verb, host| Task {
        contestant,
        transport: stream.transport,
        is_reliable: stream.is_reliable,
        placement: stream.placement,
        verb,
        host,
        arguments: vec![
            "--size".to_owned(),
            stream.size_bytes.to_string(),
            "--samples".to_owned(),
            samples.to_string(),
        ],
    };
    let mut receivers = [stage.start(&task("rx", 1))?];
    let addresses = ready(&mut receivers)?;
    let mut sender = task("tx", 0);
    if !addresses.is_empty() {
        sender.arguments.extend(["--to".to_owned(), addresses.join(",")]);
    }
    let mut sender = stage.start(&sender)?;
    let sent: Sent = serde_json::from_value(sender.line("sent", RUN_MAX)?).map_err(failed)?;
    let [receiver] = &mut receivers;
    let received: Received = serde_json::from_value(receiver.line("received", RUN_MAX)?).map_err(failed)?;
    let seconds = received.last_ns.saturating_sub(received.first_ns) as f64 / 1e9;
    Ok(Run {
        rate: if seconds > 0.0 { received.received.saturating_sub(1) as f64 / seconds } else { 0.0 },
        sent: sent.sent,
        received: received.received,
        disordered: received.disordered,
        refused: sent.refused,
    })
}

/// All runs of one contestant under one condition.
pub(crate) type Cells = Measured<Stream, Run>;

impl Cells {
    /// The rates of the runs.
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.rate).collect()
    }

    /// Runs in which something was missing or out of its turn.
    pub(crate) fn broken(&self) -> u64 {
        self.runs.iter().filter(|run| !run.is_whole()).count() as u64
    }
}

/// One rate over another's, run by run.
pub(crate) fn ratio(cells: &[Cells], of: &Cells, to: Contestant) -> Option<Spread> {
    let other = schedule::same(cells, of, to)?;
    Spread::of_ratios(&of.rates(), &other.rates())
}

fn condition_columns() -> Vec<Column> {
    vec![
        Column::text("transport"),
        Column::flag("reliable"),
        Column::integer("size", Unit::Bytes),
        Column::text("placement"),
        Column::text("contestant"),
    ]
}

fn condition_cells(cells: &Cells) -> Vec<Cell> {
    let stream = &cells.condition;
    vec![
        stream.transport.name().into(),
        stream.is_reliable.into(),
        stream.size_bytes.into(),
        stream.placement.name().into(),
        cells.contestant.name().into(),
    ]
}

/// One row a run.
pub(crate) fn runs_table(cells: &[Cells]) -> Result<Table, Failure> {
    let mut columns = condition_columns();
    columns.extend([Column::integer("run", Unit::None), Column::real("samples", Unit::PerSecond)]);
    columns
        .extend(["sent", "received", "disordered", "refused"].map(|name| Column::integer(name, Unit::None)));
    let mut table = Table::new("throughput_runs", columns);
    for cell in cells {
        for (number, run) in (0_u64..).zip(&cell.runs) {
            let mut row = condition_cells(cell);
            row.extend([number.into(), run.rate.into()]);
            row.extend([run.sent, run.received, run.disordered, run.refused].map(Cell::from));
            table.push(row).map_err(failed)?;
        }
    }
    Ok(table)
}

/// One row for each contestant and condition.
pub(crate) fn summary_table(cells: &[Cells]) -> Result<Table, Failure> {
    let mut columns = condition_columns();
    columns.push(Column::integer("runs", Unit::None));
    let rates = ["samples", "samples_lowest", "samples_highest"];
    columns.extend(rates.map(|name| Column::real(name, Unit::PerSecond)));
    columns.push(Column::real("payload", Unit::BytesPerSecond));
    columns.push(Column::integer("runs_not_whole", Unit::None));
    let ratios = [
        (Contestant::Fastdds, "to_fastdds"),
        (Contestant::Fastdds3, "to_fastdds3"),
        (Contestant::Cyclone, "to_cyclone"),
    ];
    columns.extend(ratios.map(|(_, name)| Column::real(name, Unit::None)));
    let mut table = Table::new("throughput", columns);
    for cell in cells {
        let mut row = condition_cells(cell);
        let rate = Spread::of(cell.rates());
        row.push((cell.runs.len() as u64).into());
        row.extend(spread_cells(rate));
        row.push(rate.map(|rate| rate.median * f64::from(cell.condition.size_bytes)).into());
        row.push(cell.broken().into());
        row.extend(ratios.map(|(to, _)| Cell::from(ratio(cells, cell, to).map(|ratio| ratio.median))));
        table.push(row).map_err(failed)?;
    }
    Ok(table)
}
