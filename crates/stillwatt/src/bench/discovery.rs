//! `bus bench discovery`: how long until all endpoints of many participants are matched.
//!
//! A hub with one writer and one reader talks to everyone, as the papers' master does: readers of its writer and writers
//! of its reader, half each. Started together: from the first participant until the last process says that all its
//! endpoints are matched. Late: how long one more hub needs once everyone else is there.

use std::time::Duration;

use ledger::{Cell, Column, Table, Unit};
use serde::Deserialize;

use super::contestant::{Contestant, Stage, Task};
use super::cost::{Held, Watched};
use super::cpus::Placement;
use super::failed;
use super::latency::spread_cells;
use super::process::{self, Process};
use super::schedule::Measured;
use super::spread::Spread;
use super::transport::BenchTransport;
use crate::report::Failure;

/// What is held fixed while contestants are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gathering {
    /// How discovery travels.
    pub(crate) transport: BenchTransport,
    /// Participants of all processes together, the hub's not counted.
    pub(crate) participants: u32,
    /// Endpoints of all of them together.
    pub(crate) endpoints: u32,
    /// Processes.
    pub(crate) processes: u32,
}

/// What one run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Until the last endpoint of those that started together was matched; `None` when some never were.
    pub(crate) together_seconds: Option<f64>,
    /// Until one that came late had matched everyone.
    pub(crate) late_seconds: Option<f64>,
    /// Memory of all processes.
    pub(crate) resident_bytes: f64,
    /// Of it, what is no file's.
    pub(crate) anonymous_bytes: f64,
    /// The most threads of our bus in one process.
    pub(crate) bus_threads_max: f64,
    /// The most threads in one process.
    pub(crate) threads_max: f64,
}

/// All runs of one contestant under one condition.
pub(crate) type Cells = Measured<Gathering, Run>;

/// The longest wait for a process to start.
const START_MAX: Duration = Duration::from_secs(30);
/// The longest wait for matches: longer than the processes' own.
const MATCH_MAX: Duration = Duration::from_secs(150);
/// Memory is looked at this long after the last match.
const SETTLE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct MatchedAll {
    matched: bool,
    matched_ns: u64,
}

/// Parts of `total` for `count` processes, as even as can be.
fn shares(total: u32, count: u32) -> impl Iterator<Item = u32> {
    let count = count.max(1);
    (0..count).map(move |index| total / count + u32::from(index < total % count)).filter(|share| *share > 0)
}

impl Gathering {
    fn endpoints_each(&self) -> u32 {
        // Readers and writers in equal number.
        (self.endpoints / self.participants.max(1)).max(2) / 2 * 2
    }

    /// Readers, and writers, of everyone.
    fn peers_of_hub(&self) -> u32 {
        self.participants * self.endpoints_each() / 2
    }

    fn task(&self, contestant: Contestant, verb: &'static str, host: usize, arguments: [String; 4]) -> Task {
        Task {
            contestant,
            transport: self.transport,
            is_reliable: true,
            placement: Placement::Free,
            verb,
            host,
            arguments: arguments.to_vec(),
        }
    }

    fn hub(&self, contestant: Contestant) -> Task {
        let wanted = self.peers_of_hub().to_string();
        let same = ["--subscribers".to_owned(), wanted, "--participants".to_owned(), "1".to_owned()];
        self.task(contestant, "dpub", 0, same)
    }
}

/// Starts everyone, lets them go at once and takes the time.
pub(crate) fn run(stage: &Stage<'_>, gathering: &Gathering, contestant: Contestant) -> Result<Run, Failure> {
    let mut all = vec![stage.start(&gathering.hub(contestant))?];
    let each = gathering.endpoints_each().to_string();
    for (host, share) in shares(gathering.participants, gathering.processes).enumerate() {
        let arguments =
            ["--participants".to_owned(), share.to_string(), "--endpoints".to_owned(), each.clone()];
        all.push(stage.start(&gathering.task(contestant, "dsub", host, arguments))?);
    }
    for process in &mut all {
        process.line("waiting", START_MAX)?;
    }
    let together_seconds = match_all(&mut all)?;
    node::clock::sleep(SETTLE);
    let mut held = Held::default();
    let (mut threads_max, mut bus_threads_max) = (0, 0);
    for process in &all {
        let one = Watched::new(process.id()).held()?;
        held.resident_bytes += one.resident_bytes;
        held.anonymous_bytes += one.anonymous_bytes;
        threads_max = threads_max.max(one.threads);
        bus_threads_max = bus_threads_max.max(one.bus_threads);
    }
    let mut late = [stage.start(&gathering.hub(contestant))?];
    late.iter_mut().try_for_each(|process| process.line("waiting", START_MAX).map(|_| ()))?;
    let late_seconds = match_all(&mut late)?;
    process::end_all(all);
    Ok(Run {
        together_seconds,
        late_seconds,
        resident_bytes: held.resident_bytes as f64,
        anonymous_bytes: held.anonymous_bytes as f64,
        bus_threads_max: bus_threads_max as f64,
        threads_max: threads_max as f64,
    })
}

/// Lets all go; gives the time until the last one was matched.
fn match_all(processes: &mut [Process]) -> Result<Option<f64>, Failure> {
    let start = node::clock::monotonic().as_nanos();
    processes.iter_mut().try_for_each(Process::go)?;
    let mut last = Some(start);
    for process in processes {
        let line: MatchedAll =
            serde_json::from_value(process.line("matched_ns", MATCH_MAX)?).map_err(failed)?;
        last = last.filter(|_| line.matched).map(|last| last.max(line.matched_ns));
    }
    Ok(last.map(|last| last.saturating_sub(start) as f64 / 1e9))
}

impl Cells {
    /// One figure of all runs; `None` when a run has none.
    pub(crate) fn spread(&self, figure: fn(&Run) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|run| figure(run).unwrap_or(f64::NAN)))
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
    let names = ["together", "together_lowest", "together_highest", "late", "late_lowest", "late_highest"];
    columns.extend(names.map(|name| Column::real(name, Unit::Seconds)));
    columns.extend(["resident", "anonymous"].map(|name| Column::real(name, Unit::Bytes)));
    columns.extend(["threads_max", "bus_threads_max"].map(|name| Column::real(name, Unit::None)));
    columns.push(Column::integer("runs_not_matched", Unit::None));
    let mut table = Table::new("discovery", columns);
    for cell in cells {
        let gathering = &cell.condition;
        let mut row: Vec<Cell> = vec![
            gathering.transport.name().into(),
            gathering.participants.into(),
            (gathering.participants * gathering.endpoints_each()).into(),
            gathering.processes.into(),
            cell.contestant.name().into(),
            (cell.runs.len() as u64).into(),
        ];
        row.extend(spread_cells(cell.spread(|run| run.together_seconds)));
        row.extend(spread_cells(cell.spread(|run| run.late_seconds)));
        let median =
            |figure: fn(&Run) -> Option<f64>| Cell::from(cell.spread(figure).map(|spread| spread.median));
        row.push(median(|run| Some(run.resident_bytes)));
        row.push(median(|run| Some(run.anonymous_bytes)));
        row.push(median(|run| Some(run.threads_max)));
        row.push(median(|run| Some(run.bus_threads_max)));
        row.push((cell.runs.iter().filter(|run| run.together_seconds.is_none()).count() as u64).into());
        table.push(row).map_err(failed)?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everyone is somewhere, no process is empty.
    #[test]
    fn shares_are_even() {
        assert_eq!(shares(64, 5).collect::<Vec<_>>(), [13, 13, 13, 13, 12]);
        assert_eq!(shares(2, 4).collect::<Vec<_>>(), [1, 1]);
    }

    /// Half of a participant's endpoints read, half write.
    #[test]
    fn endpoints_come_in_pairs() {
        let gathering =
            Gathering { transport: BenchTransport::Udp, participants: 64, endpoints: 2560, processes: 4 };
        assert_eq!((gathering.endpoints_each(), gathering.peers_of_hub()), (40, 1280));
        let few = Gathering { participants: 3, endpoints: 10, ..gathering };
        assert_eq!((few.endpoints_each(), few.peers_of_hub()), (2, 3));
    }
}
