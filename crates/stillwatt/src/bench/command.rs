//! Each bench from its options to its printout.

use super::contestant::Contestant;
use super::cpus::Placement;
use super::discovery::Gathering;
use super::idle::Quiet;
use super::latency::Condition;
use super::options::{
    Bench, BenchOptions, Crowd, DiscoveryOptions, IdleOptions, LatencyOptions, ScaleOptions,
    ThroughputOptions,
};
use super::throughput::Stream;
use super::transport::BenchTransport;
use super::{
    Ground, discovery, idle, latency, people, printout, scale, schedule, summary, targets, throughput,
};
use crate::output::Output;
use crate::report::{Exit, Failure};

/// Who takes part in `latency` when nobody is named.
const LATENCY_USUAL: [Contestant; 5] = [
    Contestant::Floor,
    Contestant::Stillwatt,
    Contestant::Fastdds,
    Contestant::Fastdds3,
    Contestant::Cyclone,
];
/// Who takes part in `throughput` when nobody is named.
const THROUGHPUT_USUAL: [Contestant; 7] = [
    Contestant::Floor,
    Contestant::Stillwatt,
    Contestant::StillwattBatched,
    Contestant::Fastdds,
    Contestant::Fastdds3,
    Contestant::Cyclone,
    Contestant::CycloneTuned,
];
const IDLE_USUAL: [Contestant; 4] =
    [Contestant::Stillwatt, Contestant::Fastdds, Contestant::Fastdds3, Contestant::Cyclone];
/// Fast DDS takes part when named: thousands of its endpoints need minutes.
const CROWD_USUAL: [Contestant; 2] = [Contestant::Stillwatt, Contestant::Cyclone];

impl BenchOptions {
    /// Measures and prints.
    ///
    /// # Errors
    /// When a process cannot be started, the processes do not find each other, or a transport is not available here.
    pub fn run(&self, output: &mut Output) -> Result<Exit, Failure> {
        match &self.bench {
            None => summary::run(&self.summary, output),
            Some(Bench::Latency(options)) => run_latency(options, output),
            Some(Bench::Throughput(options)) => run_throughput(options, output),
            Some(Bench::Discovery(options)) => run_discovery(options, output),
            Some(Bench::Idle(options)) => run_idle(options, output),
            Some(Bench::Scale(options)) => run_scale(options, output),
        }
    }
}

/// Names joined as on the command line.
fn listed<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

/// Placements asked for, or else `usual`, that this machine can make; and as on the command line.
fn placements(
    asked: &[Placement],
    usual: &[Placement],
    online: &[u32],
) -> Result<(Vec<Placement>, String), Failure> {
    let wanted = if asked.is_empty() { usual } else { asked };
    let possible: Vec<_> = wanted.iter().copied().filter(|placement| placement.is_possible(online)).collect();
    if possible.is_empty() {
        return Err(Failure::new(Exit::NotAvailable, "this process may use one CPU only")
            .with_remedy("--placement one-core or free"));
    }
    let shown = listed(possible.iter().map(|placement| placement.name()));
    Ok((possible, format!("--placement {shown}")))
}

/// Those of the contestants that know the transport.
fn speaking(contestants: &[Contestant], transport: BenchTransport) -> Vec<Contestant> {
    contestants.iter().copied().filter(|one| one.speaks(transport)).collect()
}

fn run_latency(options: &LatencyOptions, output: &mut Output) -> Result<Exit, Failure> {
    let setting = &options.setting;
    let ground = Ground::of(setting, &LATENCY_USUAL, &options.transports)?;
    let usual = [Placement::OneCore, Placement::Across];
    let (placements, placed) = placements(&options.placements, &usual, &ground.online)?;
    let command = format!(
        "stillwatt bus bench latency --transport {} --size {} --samples {} --subscribers {}{} {placed} {}",
        listed(&options.transports),
        listed(&options.sizes),
        options.samples,
        listed(&options.subscribers),
        if options.reliable { " --reliable" } else { "" },
        setting.command(&ground.contestants),
    );
    let mut record = ground.record("stillwatt.bus-bench-latency/1", command)?;
    let mut cells = Vec::new();
    for transport in options.transports.iter().copied() {
        let contestants = speaking(&ground.contestants, transport);
        for size_bytes in options.sizes.iter().copied() {
            for subscribers in options.subscribers.iter().copied() {
                for placement in placements.iter().copied() {
                    let is_reliable = options.reliable;
                    let condition = Condition { transport, is_reliable, size_bytes, subscribers, placement };
                    cells.extend(contestants.iter().map(|contestant| (condition, *contestant)));
                }
            }
        }
    }
    let stage = ground.stage();
    let cells = schedule::alternate(cells, setting.runs, |condition, contestant| {
        latency::run(&stage, condition, contestant, options.samples)
    })?;
    let aims = targets::latency_aims(&cells);
    record.tables =
        vec![latency::summary_table(&cells)?, latency::runs_table(&cells)?, printout::aims_table(&aims)?];
    printout::print(&record, &[people::latency(&cells)], &aims, setting.form(), output)?;
    Ok(printout::exit(&aims, setting.check))
}

fn run_throughput(options: &ThroughputOptions, output: &mut Output) -> Result<Exit, Failure> {
    let setting = &options.setting;
    let ground = Ground::of(setting, &THROUGHPUT_USUAL, &options.transports)?;
    let (placements, placed) = placements(&options.placements, &[Placement::Free], &ground.online)?;
    let command = format!(
        "stillwatt bus bench throughput --transport {} --size {} --samples {}{} {placed} {}",
        listed(&options.transports),
        listed(&options.sizes),
        options.samples,
        if options.best_effort { " --best-effort" } else { "" },
        setting.command(&ground.contestants),
    );
    let mut record = ground.record("stillwatt.bus-bench-throughput/1", command)?;
    let mut cells = Vec::new();
    for transport in options.transports.iter().copied() {
        let contestants = speaking(&ground.contestants, transport);
        for size_bytes in options.sizes.iter().copied() {
            for placement in placements.iter().copied() {
                let stream = Stream { transport, is_reliable: !options.best_effort, size_bytes, placement };
                cells.extend(contestants.iter().map(|contestant| (stream, *contestant)));
            }
        }
    }
    let stage = ground.stage();
    let cells = schedule::alternate(cells, setting.runs, |stream, contestant| {
        throughput::run(&stage, stream, contestant, options.samples)
    })?;
    let aims = targets::throughput_aims(&cells);
    record.tables = vec![
        throughput::summary_table(&cells)?,
        throughput::runs_table(&cells)?,
        printout::aims_table(&aims)?,
    ];
    printout::print(&record, &[people::throughput(&cells)], &aims, setting.form(), output)?;
    Ok(printout::exit(&aims, setting.check))
}

impl Crowd {
    fn gathering(&self, transport: BenchTransport) -> Gathering {
        Gathering {
            transport,
            participants: self.participants,
            endpoints: self.endpoints,
            processes: self.processes,
        }
    }

    fn command(&self, transport: BenchTransport) -> String {
        format!(
            "--transport {transport} --participants {} --endpoints {} --processes {}",
            self.participants, self.endpoints, self.processes
        )
    }
}

fn run_discovery(options: &DiscoveryOptions, output: &mut Output) -> Result<Exit, Failure> {
    let setting = &options.setting;
    let ground = Ground::of(setting, &CROWD_USUAL, &[options.transport])?;
    let command = format!(
        "stillwatt bus bench discovery {} {}",
        options.crowd.command(options.transport),
        setting.command(&ground.contestants)
    );
    let mut record = ground.record("stillwatt.bus-bench-discovery/1", command)?;
    let gathering = options.crowd.gathering(options.transport);
    let contestants = speaking(&ground.contestants, options.transport);
    let cells = contestants.iter().map(|contestant| (gathering, *contestant));
    let stage = ground.stage();
    let cells = schedule::alternate(cells, setting.runs, |gathering, contestant| {
        discovery::run(&stage, gathering, contestant)
    })?;
    let aims = targets::discovery_aims(&cells);
    record.tables = vec![discovery::summary_table(&cells)?, printout::aims_table(&aims)?];
    printout::print(&record, &[people::discovery(&cells)], &aims, setting.form(), output)?;
    Ok(printout::exit(&aims, setting.check))
}

fn run_scale(options: &ScaleOptions, output: &mut Output) -> Result<Exit, Failure> {
    let setting = &options.setting;
    let ground = Ground::of(setting, &CROWD_USUAL, &[options.transport])?;
    let command = format!(
        "stillwatt bus bench scale {} {}",
        options.crowd.command(options.transport),
        setting.command(&ground.contestants)
    );
    let mut record = ground.record("stillwatt.bus-bench-scale/1", command)?;
    let gathering = options.crowd.gathering(options.transport);
    let contestants = speaking(&ground.contestants, options.transport);
    let cells = contestants.iter().map(|contestant| (gathering, *contestant));
    let stage = ground.stage();
    let cells = schedule::alternate(cells, setting.runs, |gathering, contestant| {
        scale::run(&stage, gathering, contestant)
    })?;
    let aims = targets::scale_aims(&cells);
    record.tables = vec![scale::summary_table(&cells)?, printout::aims_table(&aims)?];
    printout::print(&record, &[people::scale(&cells)], &aims, setting.form(), output)?;
    Ok(printout::exit(&aims, setting.check))
}

fn run_idle(options: &IdleOptions, output: &mut Output) -> Result<Exit, Failure> {
    let setting = &options.setting;
    let ground = Ground::of(setting, &IDLE_USUAL, &[options.transport])?;
    let command = format!(
        "stillwatt bus bench idle --transport {} --participants {} --endpoints {} --seconds {} {}",
        options.transport,
        listed(&options.participants),
        options.endpoints,
        options.seconds,
        setting.command(&ground.contestants),
    );
    let mut record = ground.record("stillwatt.bus-bench-idle/1", command)?;
    let contestants = speaking(&ground.contestants, options.transport);
    let mut cells = Vec::new();
    for participants in options.participants.iter().copied() {
        let endpoints = if participants == 1 { 0 } else { options.endpoints };
        let quiet = Quiet { transport: options.transport, participants, endpoints, seconds: options.seconds };
        cells.extend(contestants.iter().map(|contestant| (quiet, *contestant)));
    }
    let stage = ground.stage();
    let cells =
        schedule::alternate(cells, setting.runs, |quiet, contestant| idle::run(&stage, quiet, contestant))?;
    let aims = targets::idle_aims(&cells);
    record.tables = vec![idle::summary_table(&cells)?, printout::aims_table(&aims)?];
    printout::print(&record, &[people::idle(&cells)], &aims, setting.form(), output)?;
    Ok(printout::exit(&aims, setting.check))
}
