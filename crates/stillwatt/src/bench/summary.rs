//! `bus bench` without a name: latency over UDP beside the floor, and what an idle process costs.

use super::contestant::Contestant;
use super::cpus::Placement;
use super::idle::{self, Quiet};
use super::latency::{self, Condition};
use super::options::{Only, SummaryOptions};
use super::printout::{self, Form};
use super::transport::BenchTransport;
use super::{Ground, people, schedule, targets};
use crate::output::Output;
use crate::report::{Exit, Failure};

/// Who takes part.
const CONTESTANTS: [Contestant; 2] = [Contestant::Floor, Contestant::Stillwatt];
/// Longer than an announcement period, so that those are counted.
const WATCH_SECONDS: u32 = 20;
/// Participants of an idle process, and endpoints of all of them.
const QUIET: [(u32, u32); 2] = [(1, 0), (40, 200)];

/// Measures and prints.
pub(super) fn run(options: &SummaryOptions, output: &mut Output) -> Result<Exit, Failure> {
    let ground = Ground::prepare(&[], &CONTESTANTS, None, 1, options.domain)?;
    let only = match options.only {
        None => "",
        Some(Only::Latency) => " --only latency",
        Some(Only::Footprint) => " --only footprint",
    };
    let command = format!(
        "stillwatt bus bench{only} --size {} --samples {} --runs {}",
        options.size, options.samples, options.runs
    );
    let mut record = ground.record("stillwatt.bus-bench/2", command)?;
    let (mut tables, mut aims) = (Vec::new(), Vec::new());
    if options.only != Some(Only::Footprint) {
        let cells = latency_cells(options, &ground)?;
        tables.push(people::latency(&cells));
        aims.extend(targets::latency_aims(&cells));
        record.tables.extend([latency::summary_table(&cells)?, latency::runs_table(&cells)?]);
    }
    if options.only != Some(Only::Latency) {
        let stage = ground.stage();
        let quiet = QUIET.map(|(participants, endpoints)| Quiet {
            transport: BenchTransport::Udp,
            participants,
            endpoints,
            seconds: WATCH_SECONDS,
        });
        let cells = quiet.map(|quiet| (quiet, Contestant::Stillwatt));
        let run = |quiet: &Quiet, contestant| idle::run(&stage, quiet, contestant);
        let cells = schedule::alternate(cells, 1, run)?;
        tables.push(people::idle(&cells));
        aims.extend(targets::idle_aims(&cells));
        record.tables.push(idle::summary_table(&cells)?);
    }
    // Aims that are about others are of no use here.
    aims.retain(|aim| aim.measured.is_some());
    record.tables.push(printout::aims_table(&aims)?);
    let form = if options.json { Form::Json } else { Form::People };
    printout::print(&record, &tables, &aims, form, output)?;
    Ok(Exit::Done)
}

fn latency_cells(options: &SummaryOptions, ground: &Ground) -> Result<Vec<latency::Cells>, Failure> {
    let mut cells = Vec::new();
    let placements = [Placement::OneCore, Placement::Across];
    for placement in placements.into_iter().filter(|placement| placement.is_possible(&ground.online)) {
        for is_reliable in [false, true] {
            let condition = Condition {
                transport: BenchTransport::Udp,
                is_reliable,
                size_bytes: options.size,
                subscribers: 1,
                placement,
            };
            cells.extend(CONTESTANTS.map(|contestant| (condition, contestant)));
        }
    }
    let stage = ground.stage();
    schedule::alternate(cells, options.runs, |condition, contestant| {
        latency::run(&stage, condition, contestant, options.samples)
    })
}
