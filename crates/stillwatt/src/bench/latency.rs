//! `bus bench latency`: one master, N subscribers that reply, a round over when all have answered.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

use hdrhistogram::Histogram;
use ledger::{Cell, Column, Table, Unit};
use rustix::fs::MemfdFlags;
use serde::Deserialize;

use super::contestant::{Contestant, Stage, Task};
use super::cpus::Placement;
use super::failed;
use super::process::{self, Process};
use super::schedule::{self, Measured};
use super::spread::Spread;
use super::transport::BenchTransport;
use crate::report::{Exit, Failure};

/// What is held fixed while contestants are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// How data travels.
    pub(crate) transport: BenchTransport,
    /// Whether lost samples are repaired.
    pub(crate) is_reliable: bool,
    /// Payload of a sample.
    pub(crate) size_bytes: u32,
    /// Processes that answer.
    pub(crate) subscribers: u32,
    /// Where processes run.
    pub(crate) placement: Placement,
}

/// What one run measured.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Half of the time from sending to each answer, in s.
    pub(crate) half: Percentiles,
    /// From sending until all had answered, in s.
    pub(crate) round: Percentiles,
    /// Rounds sent again because an answer was missing.
    pub(crate) repeated: u64,
}

/// Points of a distribution, in s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percentiles {
    /// The mean.
    pub(crate) mean: f64,
    /// The smallest one.
    pub(crate) lowest: f64,
    /// The median.
    pub(crate) p50: f64,
    /// 90 % are below.
    pub(crate) p90: f64,
    /// 99 % are below.
    pub(crate) p99: f64,
    /// 99.9 % are below.
    pub(crate) p999: f64,
    /// The largest one.
    pub(crate) highest: f64,
}

/// All runs of one contestant under one condition.
pub(crate) type Cells = Measured<Condition, Run>;

/// Share of samples dropped at the start of each run, while caches and frequency settle: one in so many.
const WARM_UP: usize = 10;
/// Largest time that the histogram tells apart: 100 s, in ns.
const TIME_MAX_NS: u64 = 100_000_000_000;
/// Digits that the histogram keeps.
const DIGITS: u8 = 3;
/// The longest wait for a process to be ready.
const READY_MAX: Duration = Duration::from_secs(60);
/// The longest wait for a few matches and the slowest part of a run.
const RUN_MAX: Duration = Duration::from_secs(150);
/// Each process more may take so much longer to be found.
const MATCH_MAX_EACH: Duration = Duration::from_secs(1);
/// A round that takes longer than this for each subscriber is not waited for.
const ROUND_MAX: Duration = Duration::from_millis(5);

#[derive(Deserialize)]
struct RoundTimes {
    answers_ns: Vec<u64>,
    rounds_ns: Vec<u64>,
    repeated: u64,
}

impl Percentiles {
    /// Of times in ns, each counted as `share` of itself. The first tenth is dropped.
    fn of(times_ns: &[u64], share: f64) -> Option<Self> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, TIME_MAX_NS, DIGITS).ok()?;
        let warm = times_ns.get(times_ns.len() / WARM_UP..)?;
        for time in warm {
            histogram.saturating_record(*time);
        }
        if warm.is_empty() {
            return None;
        }
        let seconds = |ns: f64| ns * share / 1e9;
        let at = |quantile| seconds(histogram.value_at_quantile(quantile) as f64);
        Some(Self {
            mean: seconds(histogram.mean()),
            lowest: seconds(histogram.min() as f64),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            highest: seconds(histogram.max() as f64),
        })
    }
}

/// Makes one run.
pub(crate) fn run(
    stage: &Stage<'_>,
    condition: &Condition,
    contestant: Contestant,
    samples: u32,
) -> Result<Run, Failure> {
    let memory = shared_memory(condition, contestant)?;
    let task = |verb, host, id: Option<u32>| {
        let mut arguments = vec![
            "--size".to_owned(),
            condition.size_bytes.to_string(),
            "--subscribers".to_owned(),
            condition.subscribers.to_string(),
        ];
        if let Some(id) = id {
            arguments.extend(["--id".to_owned(), id.to_string()]);
        }
        if let Some(memory) = &memory {
            let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
            arguments.extend(["--memory".to_owned(), path]);
        }
        Task {
            contestant,
            transport: condition.transport,
            is_reliable: condition.is_reliable,
            placement: condition.placement,
            verb,
            host,
            arguments,
        }
    };
    let mut others = Vec::new();
    if condition.transport != BenchTransport::Inproc {
        for id in 0..condition.subscribers {
            others.push(stage.start(&task("pong", id as usize, Some(id)))?);
        }
    }
    let addresses = ready(&mut others)?;
    let mut master = task("ping", 0, None);
    master.arguments.extend(["--samples".to_owned(), samples.to_string()]);
    if !addresses.is_empty() {
        master.arguments.extend(["--to".to_owned(), addresses.join(",")]);
    }
    let mut master = stage.start(&master)?;
    let longest = RUN_MAX
        + MATCH_MAX_EACH * condition.subscribers
        + ROUND_MAX * samples.saturating_mul(condition.subscribers);
    let times = master.line("rounds_ns", longest)?;
    process::end_all(others);
    let times: RoundTimes = serde_json::from_value(times).map_err(failed)?;
    let nothing = || Failure::new(Exit::Failed, format!("{} measured nothing", contestant.name()));
    Ok(Run {
        half: Percentiles::of(&times.answers_ns, 0.5).ok_or_else(nothing)?,
        round: Percentiles::of(&times.rounds_ns, 1.0).ok_or_else(nothing)?,
        repeated: times.repeated,
    })
}

/// The memory that the floor's processes share; ends with its last user.
fn shared_memory(condition: &Condition, contestant: Contestant) -> Result<Option<File>, Failure> {
    if contestant != Contestant::Floor || condition.transport != BenchTransport::Shm {
        return Ok(None);
    }
    let memory = rustix::fs::memfd_create("stillwatt-bench", MemfdFlags::CLOEXEC)
        .map_err(|errno| Failure::from_error(Exit::Failed, std::io::Error::from(errno)))?;
    Ok(Some(File::from(memory)))
}

/// Waits until all are ready; gives the addresses of those that have one.
pub(super) fn ready(processes: &mut [Process]) -> Result<Vec<String>, Failure> {
    let mut addresses = Vec::new();
    for process in processes {
        let line = process.line("ready", READY_MAX)?;
        addresses.extend(line.get("address").and_then(|address| address.as_str()).map(str::to_owned));
    }
    Ok(addresses)
}

impl Cells {
    /// What the aims are about: half a round trip with one subscriber, a whole round with more.
    pub(crate) fn figures(&self) -> Vec<f64> {
        let is_one = self.condition.subscribers == 1;
        self.runs.iter().map(|run| if is_one { run.half.p50 } else { run.round.p50 }).collect()
    }
}

/// The ratios of one cell to the same of another contestant.
pub(crate) fn ratio(cells: &[Cells], of: &Cells, to: Contestant) -> Option<Spread> {
    let other = schedule::same(cells, of, to)?;
    Spread::of_ratios(&of.figures(), &other.figures())
}

fn condition_columns() -> Vec<Column> {
    vec![
        Column::text("transport"),
        Column::flag("reliable"),
        Column::integer("size", Unit::Bytes),
        Column::integer("subscribers", Unit::None),
        Column::text("placement"),
        Column::text("contestant"),
    ]
}

fn condition_cells(cells: &Cells) -> Vec<Cell> {
    let condition = &cells.condition;
    vec![
        condition.transport.name().into(),
        condition.is_reliable.into(),
        condition.size_bytes.into(),
        condition.subscribers.into(),
        condition.placement.name().into(),
        cells.contestant.name().into(),
    ]
}

/// One row a run.
pub(crate) fn runs_table(cells: &[Cells]) -> Result<Table, Failure> {
    let mut columns = condition_columns();
    columns.push(Column::integer("run", Unit::None));
    let names = [
        "half_mean",
        "half_lowest",
        "half_p50",
        "half_p90",
        "half_p99",
        "half_p999",
        "half_highest",
        "round_mean",
        "round_lowest",
        "round_p50",
        "round_p90",
        "round_p99",
        "round_p999",
        "round_highest",
    ];
    columns.extend(names.map(|name| Column::real(name, Unit::Seconds)));
    columns.push(Column::integer("repeated", Unit::None));
    let mut table = Table::new("latency_runs", columns);
    for cell in cells {
        for (number, run) in (0_u64..).zip(&cell.runs) {
            let mut row = condition_cells(cell);
            row.push(number.into());
            for p in [&run.half, &run.round] {
                row.extend([p.mean, p.lowest, p.p50, p.p90, p.p99, p.p999, p.highest].map(Cell::from));
            }
            row.push(run.repeated.into());
            table.push(row).map_err(failed)?;
        }
    }
    Ok(table)
}

/// Contestants that the summary gives ratios to.
const RATIOS_TO: [(Contestant, [&str; 3]); 4] = [
    (Contestant::Floor, ["to_floor", "to_floor_lowest", "to_floor_highest"]),
    (Contestant::Fastdds, ["to_fastdds", "to_fastdds_lowest", "to_fastdds_highest"]),
    (Contestant::Fastdds3, ["to_fastdds3", "to_fastdds3_lowest", "to_fastdds3_highest"]),
    (Contestant::Cyclone, ["to_cyclone", "to_cyclone_lowest", "to_cyclone_highest"]),
];

/// One row for each contestant and condition: medians of the runs, and ratios to the others with their spread.
pub(crate) fn summary_table(cells: &[Cells]) -> Result<Table, Failure> {
    let mut columns = condition_columns();
    columns.push(Column::integer("runs", Unit::None));
    let names = [
        "half_p50",
        "half_p50_lowest",
        "half_p50_highest",
        "half_p99",
        "round_p50",
        "round_p50_lowest",
        "round_p50_highest",
    ];
    columns.extend(names.map(|name| Column::real(name, Unit::Seconds)));
    columns.push(Column::integer("repeated", Unit::None));
    columns.extend(RATIOS_TO.iter().flat_map(|(_, names)| names.map(|name| Column::real(name, Unit::None))));
    let mut table = Table::new("latency", columns);
    for cell in cells {
        let mut row = condition_cells(cell);
        row.push((cell.runs.len() as u64).into());
        let spread = |figure: fn(&Run) -> f64| Spread::of(cell.runs.iter().map(figure));
        let (half, round) = (spread(|run| run.half.p50), spread(|run| run.round.p50));
        row.extend(spread_cells(half));
        row.push(spread(|run| run.half.p99).map(|spread| spread.median).into());
        row.extend(spread_cells(round));
        row.push(cell.runs.iter().map(|run| run.repeated).sum::<u64>().into());
        for (to, _) in RATIOS_TO {
            row.extend(spread_cells(ratio(cells, cell, to)));
        }
        table.push(row).map_err(failed)?;
    }
    Ok(table)
}

pub(super) fn spread_cells(spread: Option<Spread>) -> [Cell; 3] {
    let cell = |value: fn(Spread) -> f64| Cell::from(spread.map(value));
    [cell(|spread| spread.median), cell(|spread| spread.lowest), cell(|spread| spread.highest)]
}
