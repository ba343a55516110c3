//! `lab regale transports`: measures every point of the plan, writes tables and figures.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Cell, Column, Table, Unit};

use super::plan::{Part, Plan, Point, takes_part};
use super::{TransportsOptions, drawing, paper};
use crate::bench::Ground;
use crate::bench::contestant::Contestant;
use crate::bench::cpus::Placement;
use crate::bench::latency::{self, Condition};
use crate::bench::schedule::{self, Measured};
use crate::bench::spread::Spread;
use crate::bench::transport::BenchTransport;
use crate::cli::table::Columns;
use crate::lab::output_folder::OutputFolder;
use crate::output::Output;
use crate::report::{Exit, Failure};

/// All runs of one contestant at one point. A run that failed has no figures.
pub(super) type Cells = Measured<Point, Option<latency::Run>>;

impl Cells {
    /// One figure of the runs that went well.
    pub(super) fn spread(&self, figure: impl Fn(&latency::Run) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().flatten().map(figure))
    }
}

/// Who takes part when nobody is named.
const USUAL: [Contestant; 4] =
    [Contestant::Floor, Contestant::Stillwatt, Contestant::Fastdds, Contestant::Cyclone];
/// Rounds of the trial that tells whether a contestant can do this here.
const TRIAL_SAMPLES: u32 = 20;

fn condition(point: &Point) -> Condition {
    Condition {
        transport: point.transport,
        is_reliable: false,
        size_bytes: paper::SIZE_BYTES,
        subscribers: point.subscribers(),
        placement: Placement::Free,
    }
}

/// Measures, writes, prints.
pub(super) fn run(options: &TransportsOptions, output: &mut Output) -> Result<Exit, Failure> {
    let plan = Plan::new(options.quick, options.runs, options.processes_max);
    let mut folder = OutputFolder::create(&options.out)?;
    let grounds = grounds(options, &plan)?;
    let Some(first) = grounds.values().next() else {
        return Err(Failure::new(Exit::Usage, "--processes-max leaves nothing to measure"));
    };
    let contestants = first.contestants().to_vec();
    let mut record =
        first.record("stillwatt.lab-regale-transports/1", command(options, &contestants, &plan))?;
    if grounds.len() > 1 {
        record.remarks.push("more nodes: network namespaces joined by a bridge of this machine".to_owned());
    }
    let able = trial(first, &contestants, &mut record.remarks)?;
    let mut cells = Vec::new();
    for point in &plan.points {
        let able = contestants.iter().filter(|contestant| able.contains(&(**contestant, point.transport)));
        cells.extend(able.filter(|one| takes_part(point, **one)).map(|one| (*point, *one)));
    }
    let mut remarks = Vec::new();
    let cells = schedule::alternate(cells, plan.runs, |point, contestant| {
        let Some(ground) = grounds.get(&point.nodes) else { return Ok(None) };
        match latency::run(&ground.stage(), &condition(point), contestant, plan.samples(point)) {
            Ok(run) => Ok(Some(run)),
            Err(failure) => {
                remarks.push(failed_run(point, contestant, &failure));
                Ok(None)
            }
        }
    })?;
    record.remarks.extend(remarks);
    record.remarks.extend(plan.left_out.iter().map(left_out));
    for part in [Part::Table2, Part::Figure5, Part::Figure6, Part::Figure7] {
        let table = table(part, &cells)?;
        folder.table(&table)?;
        record.tables.push(table);
    }
    let note = note(&record, &plan);
    for (name, figure) in drawing::all(&cells, &note) {
        folder.figure(&name, &figure)?;
    }
    folder.record(&record)?;
    print(&record, &cells, &folder, options.json, output)?;
    Ok(Exit::Done)
}

/// A network for each number of nodes.
fn grounds(options: &TransportsOptions, plan: &Plan) -> Result<BTreeMap<u32, Ground>, Failure> {
    let nodes: BTreeSet<u32> = plan.points.iter().map(|point| point.nodes).collect();
    let ground = |nodes: u32| {
        let peers_dir = options.peers_dir.as_deref();
        Ground::prepare(&options.peers, &USUAL, peers_dir, nodes, options.domain)
    };
    nodes.into_iter().map(|nodes| Ok((nodes, ground(nodes)?))).collect()
}

fn command(options: &TransportsOptions, contestants: &[Contestant], plan: &Plan) -> String {
    let names: Vec<_> = contestants.iter().map(|contestant| contestant.name()).collect();
    format!(
        "stillwatt lab regale transports{} --peer {} --runs {} --processes-max {}",
        if options.quick { " --quick" } else { "" },
        names.join(","),
        plan.runs,
        options.processes_max
    )
}

/// Who can use which transport here. Who cannot is named with the reason.
fn trial(
    ground: &Ground,
    contestants: &[Contestant],
    remarks: &mut Vec<String>,
) -> Result<BTreeSet<(Contestant, BenchTransport)>, Failure> {
    let mut able = BTreeSet::new();
    let transports = [BenchTransport::Udp, BenchTransport::Udpm, BenchTransport::Shm, BenchTransport::Tcp];
    for transport in transports {
        for contestant in contestants.iter().copied().filter(|contestant| contestant.speaks(transport)) {
            let point = Point { part: Part::Table2, transport, nodes: 1, per_node: 1 };
            match latency::run(&ground.stage(), &condition(&point), contestant, TRIAL_SAMPLES) {
                Ok(_) => {
                    able.insert((contestant, transport));
                }
                Err(failure) => {
                    let (name, title) = (contestant.name(), transport.title());
                    remarks.push(format!("{name} over {title} left out: {}", first_line(&failure)));
                }
            }
        }
    }
    if able.is_empty() {
        return Err(Failure::new(Exit::NotAvailable, remarks.join("\n")));
    }
    Ok(able)
}

fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().take(2).collect::<Vec<_>>().join(" ")
}

fn failed_run(point: &Point, contestant: Contestant, failure: &Failure) -> String {
    let (part, title) = (point.part.name(), point.transport.title());
    let (name, nodes, per_node) = (contestant.name(), point.nodes, point.per_node);
    format!(
        "{part}: a run of {name} over {title} with {nodes} x {per_node} subscribers failed: {}",
        first_line(failure)
    )
}

fn left_out(point: &Point) -> String {
    let (part, title) = (point.part.name(), point.transport.title());
    format!(
        "{part}: {title} with {} x {} subscribers left out (--processes-max)",
        point.nodes, point.per_node
    )
}

/// The small print of every figure.
fn note(record: &ledger::RunRecord, plan: &Plan) -> String {
    let peers: Vec<_> = record.peers.iter().map(|(name, version)| format!("{name} {version}")).collect();
    format!(
        "{}, {}, CPUs {}, kernel {}. 64 B, best effort, mean over all answers; median of {} runs, bars from the lowest \
         to the highest. Nodes are network namespaces of one machine. stillwatt {}, {}.",
        record.host,
        record.processor,
        record.core_set,
        record.kernel,
        plan.runs,
        record.version,
        peers.join(", ")
    )
}

/// Half round trip as the paper takes it: the mean over all answers.
pub(super) fn latency_seconds(cell: &Cells) -> Option<Spread> {
    cell.spread(|run| run.half.mean)
}

/// Samples that reach subscribers, per second, when each round waits for the one before.
pub(super) fn delivered_per_second(cell: &Cells) -> Option<Spread> {
    let subscribers = f64::from(cell.condition.subscribers());
    cell.spread(|run| subscribers / run.round.mean)
}

fn table(part: Part, cells: &[Cells]) -> Result<Table, Failure> {
    let mut columns = vec![
        Column::text("transport"),
        Column::integer("nodes", Unit::None),
        Column::integer("subscribers_per_node", Unit::None),
        Column::text("contestant"),
        Column::integer("runs", Unit::None),
    ];
    let latency = ["latency", "latency_lowest", "latency_highest", "latency_p50", "latency_p99", "round"];
    columns.extend(latency.map(|name| Column::real(name, Unit::Seconds)));
    columns.push(Column::real("delivered", Unit::PerSecond));
    columns.push(Column::real("payload", Unit::BytesPerSecond));
    columns.push(Column::real("latency_to_fastdds", Unit::None));
    columns.push(Column::real("paper_latency", Unit::Seconds));
    columns.push(Column::real("paper_messages", Unit::PerSecond));
    let mut table = Table::new(part.name(), columns);
    for cell in cells.iter().filter(|cell| cell.condition.part == part) {
        let point = &cell.condition;
        let median =
            |figure: fn(&latency::Run) -> f64| Cell::from(cell.spread(figure).map(|spread| spread.median));
        let latency = latency_seconds(cell);
        let delivered = delivered_per_second(cell).map(|spread| spread.median);
        let quoted = paper::table_2(point.transport).filter(|_| part == Part::Table2);
        let row: Vec<Cell> = vec![
            point.transport.name().into(),
            point.nodes.into(),
            point.per_node.into(),
            cell.contestant.name().into(),
            (cell.runs.iter().flatten().count() as u64).into(),
            latency.map(|spread| spread.median).into(),
            latency.map(|spread| spread.lowest).into(),
            latency.map(|spread| spread.highest).into(),
            median(|run| run.half.p50),
            median(|run| run.half.p99),
            median(|run| run.round.mean),
            delivered.into(),
            delivered.map(|rate| rate * f64::from(paper::SIZE_BYTES)).into(),
            ratio_to_fast(cells, cell).map(|ratio| ratio.median).into(),
            quoted.map(|paper| paper.latency_seconds).into(),
            quoted.map(|paper| paper.messages_per_second).into(),
        ];
        table.push(row).map_err(|error| Failure::from_error(Exit::Failed, error))?;
    }
    Ok(table)
}

/// Latency over that of Fast DDS at the same point, run by run.
fn ratio_to_fast(cells: &[Cells], cell: &Cells) -> Option<Spread> {
    let other = schedule::same(cells, cell, Contestant::Fastdds)?;
    let both = cell.runs.iter().zip(&other.runs);
    Spread::of(both.filter_map(|(one, other)| Some(one.as_ref()?.half.mean / other.as_ref()?.half.mean)))
}

fn print(
    record: &ledger::RunRecord,
    cells: &[Cells],
    folder: &OutputFolder,
    is_json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    use crate::bench::printout::{self, Form, micros, times};
    if is_json {
        return printout::print(record, &[], &[], Form::Json, output);
    }
    let mut columns = Columns::new(&[
        "part",
        "transport",
        ">nodes",
        ">subs each",
        "contestant",
        ">half rtt us",
        ">(lowest",
        ">highest)",
        ">k delivered/s",
        ">x fastdds",
    ]);
    for cell in cells {
        let point = &cell.condition;
        let latency = latency_seconds(cell);
        let part =
            |part: fn(Spread) -> f64| latency.map(|spread| micros(part(spread))).unwrap_or("failed".into());
        columns.push([
            point.part.name().to_owned(),
            point.transport.title().to_owned(),
            point.nodes.to_string(),
            point.per_node.to_string(),
            cell.contestant.name().to_owned(),
            part(|spread| spread.median),
            part(|spread| spread.lowest),
            part(|spread| spread.highest),
            delivered_per_second(cell).map(|rate| format!("{:.1}", rate.median / 1e3)).unwrap_or_default(),
            times(ratio_to_fast(cells, cell)),
        ]);
    }
    printout::print(record, &[columns], &[], Form::People, output)?;
    let written: Vec<_> = folder.written().iter().map(|path| path.display().to_string()).collect();
    output.line(&format!("\nwritten: {}", written.join(", ")))
}
