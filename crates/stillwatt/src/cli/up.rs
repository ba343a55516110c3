//! `up`: all roles in one process, with the dashboard. Ends on SIGINT, SIGTERM or after `--for`, and puts back what
//! it changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use units::Instant;

use super::line;
use crate::config::Config;
use crate::domain::DomainChoice;
use crate::interrupt::Interrupt;
use crate::machine::MachineChoice;
use crate::node_role::state_folder;
use crate::observer::Happening;
use crate::output::Output;
use crate::report::{Exit, Failure};
use crate::station::{PERIOD, Station, StationConfig};
use crate::web::{self, Dashboard, Feed};

#[derive(Args, Debug)]
pub(super) struct UpArguments {
    #[command(flatten)]
    machine: MachineChoice,
    #[command(flatten)]
    domain: DomainChoice,
    /// Configuration file (TOML); what is given here as an option wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = units::parse_duration)]
    period: Option<Duration>,
    /// Port of the dashboard on 127.0.0.1; without it the first free one from 8470
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Append telemetry to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print one JSON object a second instead of one line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &UpArguments, output: &mut Output) -> Result<Exit, Failure> {
    let config = arguments.config.as_deref().map_or_else(|| Ok(Config::default()), Config::read)?;
    let mut interrupt = Interrupt::install()?;
    let start = node::clock::monotonic();
    let end = arguments.period.map_or(Instant::MAX, |period| start + period);
    let feed = Arc::new(Feed::new());
    let bound = bind(arguments.port.or(config.dashboard.port))?;
    let state = state_folder();
    let mut station =
        Station::start(station_config(arguments, config, state.as_ref().ok()), Arc::clone(&feed))?;
    if let Err(reason) = &state {
        station.note(&Happening::warning("state folder", reason))?;
    }
    let dashboard = Dashboard::start(bound, feed).map_err(|error| {
        Failure::new(Exit::Failed, "the dashboard's thread cannot be started").with_source(error)
    })?;
    announce(&station, &dashboard, arguments);
    let ran = serve(&mut station, end, arguments.json, &mut interrupt, output);
    // Whatever happened: first the machine is as it was, then the reason is reported.
    let stopped = station.stop();
    drop(dashboard);
    ran.and(stopped)?;
    eprintln!("ended; everything that was changed is restored");
    Ok(Exit::Done)
}

fn bind(port: Option<u16>) -> Result<web::Bound, Failure> {
    web::bind(port).map_err(|error| {
        Failure::from_error(Exit::Failed, error)
            .with_remedy("name another port with --port, or none to get a free one")
    })
}

fn station_config(arguments: &UpArguments, config: Config, state: Option<&PathBuf>) -> StationConfig {
    let mut machine = arguments.machine.clone();
    if machine.root.is_none() {
        machine.simulated = machine.simulated.or(config.node.simulated);
    }
    let mut domain = arguments.domain.clone();
    domain.domain = domain.domain.or(config.bus.domain);
    domain.transport = domain.transport.or(config.bus.transport());
    domain.peer.extend(config.bus.peers);
    StationConfig {
        machine,
        domain,
        state: state.cloned(),
        record: arguments.record.clone().or(config.monitor.record),
    }
}

fn announce(station: &Station, dashboard: &Dashboard, arguments: &UpArguments) {
    let role =
        if station.serves() { "serving" } else { "listening to the node manager of another process on" };
    eprintln!("{role} node {}", station.host());
    eprintln!("dashboard: {}", dashboard.address());
    if arguments.period.is_none() {
        eprintln!("end with Ctrl-C");
    }
}

/// One snapshot a second until the end, a signal, or until nobody reads.
fn serve(
    station: &mut Station,
    end: Instant,
    is_json: bool,
    interrupt: &mut Interrupt,
    output: &mut Output,
) -> Result<(), Failure> {
    // The first telemetry comes with the second whole second: nothing is worth showing before.
    let mut is_heard = false;
    let patience = node::clock::monotonic() + FIRST_TELEMETRY_MAX;
    loop {
        let next = next_tick();
        if interrupt.wait_until(next.min(end)) || next > end {
            return Ok(());
        }
        is_heard = is_heard || station.has_readings(node::clock::monotonic());
        if !is_heard && next < patience {
            continue;
        }
        let text = station.tick(node::clock::monotonic(), node::clock::wall())?;
        if is_json {
            output.line(&text)?;
        } else if let Ok(snapshot) = serde_json::from_str(&text) {
            output.line(&line::of(&snapshot))?;
        }
        if !output.is_open() {
            return Ok(());
        }
    }
}

/// Shortly after the next whole second of the wall clock, when its telemetry has arrived.
fn next_tick() -> Instant {
    let into_second = node::clock::wall().unix_nanos() % PERIOD_NANOS;
    let left = (PERIOD_NANOS + TICK_DELAY_NANOS - into_second) % PERIOD_NANOS;
    let left = if left < PERIOD_NANOS / 8 { left + PERIOD_NANOS } else { left };
    node::clock::monotonic() + Duration::from_nanos(left)
}

/// How long the first telemetry may take.
const FIRST_TELEMETRY_MAX: Duration = Duration::from_secs(3);
const PERIOD_NANOS: u64 = PERIOD.as_nanos() as u64;
/// Sensors are read at the whole second; slow ones take some time.
const TICK_DELAY_NANOS: u64 = 150_000_000;
