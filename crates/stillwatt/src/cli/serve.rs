//! `serve ROLE`: one role of the PowerStack in a process of its own, until SIGINT, SIGTERM or `--for`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use units::Instant;

use crate::domain::DomainChoice;
use crate::interrupt::Interrupt;
use crate::machine::MachineChoice;
use crate::monitor_role::MonitorRole;
use crate::node_role::{NodeRole, NodeRoleConfig, state_folder};
use crate::output::{Output, plain};
use crate::report::{Exit, Failure};
use crate::station::host_name;

#[derive(Debug, Subcommand)]
pub(super) enum ServeRole {
    /// Measure this node, publish its telemetry and answer requests
    NodeManager {
        #[command(flatten)]
        machine: MachineChoice,
        /// How often sensors are read and telemetry is published
        #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = units::parse_duration)]
        period: Duration,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Keep the telemetry of a domain, and record it where asked
    Monitor {
        /// Append telemetry to this file, as comma-separated values
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        #[command(flatten)]
        common: CommonArguments,
    },
}

/// What every role takes.
#[derive(Args, Debug)]
pub(super) struct CommonArguments {
    #[command(flatten)]
    domain: DomainChoice,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = units::parse_duration)]
    duration: Option<Duration>,
    /// Print one JSON object every ten seconds and at the end
    #[arg(long)]
    json: bool,
}

pub(super) fn run(role: &ServeRole, output: &mut Output) -> Result<Exit, Failure> {
    let mut interrupt = Interrupt::install()?;
    match role {
        ServeRole::NodeManager { machine, period, common } => {
            node_manager(machine, *period, common, &mut interrupt, output)
        }
        ServeRole::Monitor { record, common } => {
            let host = host_name(&MachineChoice::default().open()?);
            let role = MonitorRole::start(&host, &common.domain, record.as_deref())?;
            eprintln!("monitor listens in domain {}", common.domain.number());
            wait(common, &mut interrupt, output, || json!({"role": "monitor", "monitor": role.activity()}))?;
            Ok(Exit::Done)
        }
    }
}

fn node_manager(
    machine: &MachineChoice,
    period: Duration,
    common: &CommonArguments,
    interrupt: &mut Interrupt,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let state = state_folder();
    if let Err(reason) = &state {
        eprintln!("{reason}");
    }
    let node = machine.open_to_serve()?;
    let host = host_name(&node);
    let config = NodeRoleConfig { domain: &common.domain, state: state.as_deref().ok(), period };
    let (role, events) = NodeRole::start(node, &config)?;
    for event in events {
        eprintln!("{}: {}", plain(&event.subject), plain(&event.text));
    }
    eprintln!("node manager of {host} serves in domain {}", common.domain.number());
    let state = || json!({"role": "node-manager", "node": host, "requests_answered_total": role.answered()});
    let waited = wait(common, interrupt, output, state);
    // Whatever happened: first the machine is as it was, then the reason is reported.
    let stopped = role.stop();
    waited.and(stopped)?;
    eprintln!("ended; everything that was changed is restored");
    Ok(Exit::Done)
}

/// Waits for the end, telling the state now and then where that is asked for.
fn wait(
    common: &CommonArguments,
    interrupt: &mut Interrupt,
    output: &mut Output,
    state: impl Fn() -> Json,
) -> Result<(), Failure> {
    let start = node::clock::monotonic();
    let end = common.duration.map_or(Instant::MAX, |duration| start + duration);
    let mut next = start;
    loop {
        // Without anything to tell it does not wake before the end.
        next = if common.json { (next + TELL_PERIOD).min(end) } else { end };
        let is_over = interrupt.wait_until(next) || next >= end;
        if common.json {
            let mut object = state();
            object["schema"] = json!("stillwatt.serve/1");
            object["time_unix_seconds"] = json!(node::clock::wall().unix_seconds());
            output.line(&object.to_string())?;
        }
        if is_over || !output.is_open() {
            return Ok(());
        }
    }
}

/// How often the state is told.
const TELL_PERIOD: Duration = Duration::from_secs(10);
