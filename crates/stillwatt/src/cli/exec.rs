#![expect(clippy::disallowed_methods, reason = "I/O shell: runs the command and writes the report")]
//! `exec -- CMD`: time, energy, mean power and mean frequency of one command, from the node's telemetry on the bus.
//! Touches a child process, signals, and the report's file.
//!
//! The figures are those of the whole node while the command ran. The exit code is the command's, as a shell gives it
//! (POSIX.1-2024, XCU 2.8.2): 126 and 127 when it cannot be run, 128 and the signal's number when one ended it.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actors::message::NodeTelemetry;
use actors::topic::{self, PARTITION_MONITOR};
use bus::{Participant, Subscriber};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use units::Timestamp;

use super::quantity;
use crate::domain::DomainChoice;
use crate::machine::MachineChoice;
use crate::node_role::{NodeRole, NodeRoleConfig};
use crate::report::{Exit, Failure};
use crate::run_account::{RunAccount, Stretch, account, is_covered};
use crate::station::host_name;

#[derive(Args, Debug)]
pub(super) struct ExecArguments {
    #[command(flatten)]
    machine: MachineChoice,
    #[command(flatten)]
    domain: DomainChoice,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Write the report to this file; without it, to standard error, for standard output is the command's
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Reports that arrived, oldest first.
type Reports = Arc<Mutex<Vec<NodeTelemetry>>>;

pub(super) fn run(arguments: &ExecArguments) -> Result<Exit, Failure> {
    let node = arguments.machine.open_to_serve()?;
    let host = host_name(&node);
    let participant = arguments.domain.join("stillwatt exec")?;
    let reports = Reports::default();
    let _subscriber = collect(&participant, &host, Arc::clone(&reports))?;
    let served = wait_for(&reports, LOOK_FOR, |reports| !reports.is_empty());
    let role = if served {
        None
    } else {
        // Nothing on the machine is to be changed, so no journal is needed.
        let config = NodeRoleConfig { domain: &arguments.domain, state: None, period: PERIOD };
        Some(NodeRole::start(node, &config)?.0)
    };
    if !wait_for(&reports, FIRST_MAX, |reports| !reports.is_empty()) {
        eprintln!("stillwatt: no telemetry of {host} yet; the command runs all the same");
    }
    let signals = take_signals()?;
    let start = node::clock::wall();
    let begun = node::clock::monotonic();
    let status = execute(&arguments.command, signals)?;
    let end = start_plus(start, node::clock::monotonic() - begun);
    wait_for(&reports, LAST_MAX, |reports| is_covered(reports, end));
    let account = account(&reports.lock().unwrap_or_else(PoisonError::into_inner), Stretch { start, end });
    drop(role);
    let code = exit_code(status);
    report(arguments, &host, &account, code)?;
    Ok(Exit::Child(code))
}

/// The end by the monotonic clock, so that a step of the wall clock does not change the length.
fn start_plus(start: Timestamp, length: Duration) -> Timestamp {
    let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_unix_nanos(start.unix_nanos().saturating_add(length))
}

fn collect(
    participant: &Participant,
    host: &str,
    reports: Reports,
) -> Result<Subscriber<NodeTelemetry>, Failure> {
    let host = host.to_owned();
    let partitions = [PARTITION_MONITOR.to_owned()];
    topic::NODE_TELEMETRY
        .on_sample(participant, &partitions, move |sample| {
            let Some(report) = sample.data.valid().filter(|report| report.header.host == host) else {
                return;
            };
            let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            if reports.len() < REPORTS_MAX {
                reports.push(report);
            }
        })
        .map_err(|error| Failure::from_error(Exit::Failed, error))
}

/// Looks now and then until `is_done` or the time is over.
fn wait_for(reports: &Reports, most: Duration, is_done: impl Fn(&[NodeTelemetry]) -> bool) -> bool {
    let end = node::clock::monotonic() + most;
    loop {
        if is_done(&reports.lock().unwrap_or_else(PoisonError::into_inner)) {
            return true;
        }
        if node::clock::monotonic() >= end {
            return false;
        }
        node::clock::sleep(LOOK_PERIOD);
    }
}

fn take_signals() -> Result<Signals, Failure> {
    Signals::new([SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])
        .map_err(|error| Failure::new(Exit::Failed, "cannot take over signals").with_source(error))
}

/// Runs the command and passes signals on to it. Sleeps until it ends or a signal comes.
fn execute(command: &[OsString], mut signals: Signals) -> Result<ExitStatus, Failure> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| Failure::new(Exit::Usage, "no command is given"))?;
    let mut child = Command::new(program).args(arguments).spawn().map_err(|error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        Failure::new(Exit::Child(code), format!("cannot run {}", program.display()))
            .with_remedy("check the name, the path and the permission to execute")
            .with_source(error)
    })?;
    let fault =
        |error: std::io::Error| Failure::new(Exit::Failed, "cannot wait for the command").with_source(error);
    loop {
        if let Some(status) = child.try_wait().map_err(fault)? {
            return Ok(status);
        }
        for signal in signals.wait() {
            pass_on(signal, &child);
        }
    }
}

/// Passes a signal on, unless the terminal has sent it to the command already, as it does for Ctrl-C.
fn pass_on(signal: i32, child: &Child) {
    let is_of_terminal = matches!(signal, SIGINT | SIGQUIT) && is_in_foreground();
    if signal == SIGCHLD || is_of_terminal {
        return;
    }
    let known = [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP, Signal::USR1, Signal::USR2];
    if let Some(signal) = known.into_iter().find(|known| known.as_raw() == signal) {
        // It may have ended meanwhile.
        let _ = kill_process(Pid::from_child(child), signal);
    }
}

fn is_in_foreground() -> bool {
    let stdin = std::io::stdin();
    stdin.is_terminal()
        && rustix::termios::tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp())
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn report(arguments: &ExecArguments, host: &str, account: &RunAccount, code: u8) -> Result<(), Failure> {
    let command: Vec<_> = arguments.command.iter().map(|word| word.to_string_lossy()).collect();
    let text = if arguments.json {
        json!({
            "schema": "stillwatt.exec/1",
            "command": command,
            "exit_code": code,
            "node": host,
            "account": account,
        })
        .to_string()
    } else {
        lines(host, account, code)
    };
    match &arguments.output {
        None => eprintln!("{text}"),
        Some(path) => std::fs::write(path, text + "\n").map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot write the report to {}", path.display()))
                .with_remedy("name a file that you may write")
                .with_source(error)
        })?,
    }
    Ok(())
}

fn lines(host: &str, account: &RunAccount, code: u8) -> String {
    let quality = account.energy_quality.unwrap_or("unknown");
    let metric = account.power_metric.as_deref().unwrap_or("");
    let energy = match (account.energy_joules, account.energy_low_joules, account.energy_high_joules) {
        (Some(value), Some(low), Some(high)) => {
            let bounds = node::Bounded { value, low, high };
            let (value, bounds) = quantity::of(node::Quantity::Energy, bounds);
            format!("{value} ({bounds}), {quality}, {metric} of {host}")
        }
        _ => format!("no reading: {host} reported no power while the command ran"),
    };
    let shown =
        |kind, value: Option<f64>| value.map_or_else(|| "no reading".to_owned(), |v| quantity::one(kind, v));
    let mut text = format!(
        "\ntime            {}\nenergy          {energy}\nmean power      {}\nmean frequency  {}\nutilisation     {}",
        quantity::duration(Duration::from_secs_f64(account.time_seconds)),
        shown(node::Quantity::Power, account.power_mean_watts),
        shown(node::Quantity::Frequency, account.frequency_mean_hertz),
        shown(node::Quantity::Utilisation, account.utilisation_mean_ratio),
    );
    if !account.flags.is_empty() {
        let flags: Vec<_> = account.flags.iter().copied().collect();
        text.push_str(&format!("\nflags           {}", flags.join(", ")));
    }
    if code != 0 {
        text.push_str(&format!("\nexit code       {code}"));
    }
    text
}

/// How long a node manager of another process is looked for; it reports once a second.
const LOOK_FOR: Duration = Duration::from_millis(1300);
/// How often our own node manager reads the sensors, where there is no other.
const PERIOD: Duration = Duration::from_millis(100);
/// How long the first report is waited for.
const FIRST_MAX: Duration = Duration::from_secs(2);
/// How long the report that covers the end is waited for.
const LAST_MAX: Duration = Duration::from_secs(3);
/// How often it is looked for; only before and after the command.
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// Reports kept of one command: more than a day at one a second, three hours at ten a second. Later ones are dropped,
/// and the account says `gap`.
const REPORTS_MAX: usize = 100_000;
