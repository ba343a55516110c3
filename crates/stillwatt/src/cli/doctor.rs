//! `doctor`: what works on this machine, what does not, and what to do about it. Touches the machine through `node`,
//! the network through `multicast`, and the state directory.

use clap::Args;
use node::knob::Knob as _;
use node::topology::CgroupVersion;
use node::{Absent, Node, PowerFigure, Quality, SensorReport, thread};
use serde_json::json;

use super::check::{Check, State};
use super::table::Columns;
use super::{multicast, quantity};
use crate::domain::DomainChoice;
use crate::machine::MachineChoice;
use crate::output::Output;
use crate::report::{Exit, Failure};
use crate::state::{self, Surroundings};

#[derive(Args, Debug)]
pub(super) struct DoctorArguments {
    #[command(flatten)]
    machine: MachineChoice,
    #[command(flatten)]
    domain: DomainChoice,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &DoctorArguments, output: &mut Output) -> Result<Exit, Failure> {
    let mut node = arguments.machine.open()?;
    node::clock::sleep(SAMPLE_INTERVAL);
    let reports = node.discover();
    node::clock::sleep(SAMPLE_INTERVAL);
    let power = node.sample().power;
    let mut checks = vec![machine(&node), power_check(power.total.as_ref(), &power.passed_over)];
    checks.extend(reports.iter().map(sensor));
    checks.push(control_groups(&node));
    checks.extend(multicast::checks());
    checks.push(bus(&arguments.domain));
    checks.push(knobs(&node));
    checks.push(threads());
    checks.push(state_directory(&Surroundings::of_process()));
    report(&checks, arguments.json, output)?;
    // Without the kernel's own counters nothing of the product is of use.
    let works = reports.iter().any(|report| report.present > 0);
    Ok(if works { Exit::Done } else { Exit::NotAvailable })
}

fn report(checks: &[Check], is_json: bool, output: &mut Output) -> Result<(), Failure> {
    if is_json {
        let list = checks.iter().map(|Check { subject, state, finding, remedy }| {
            json!({"subject": subject, "state": state.name(), "finding": finding, "remedy": remedy})
        });
        return output
            .line(&json!({"schema": "stillwatt.doctor/1", "checks": list.collect::<Vec<_>>()}).to_string());
    }
    let mut columns = Columns::new(&["what", "state", "finding", "what to do"]);
    for Check { subject, state, finding, remedy } in checks {
        columns.push([subject.as_str(), state.name(), finding, remedy.as_deref().unwrap_or("")]);
    }
    output.line(&columns.text())
}

fn machine(node: &Node) -> Check {
    let topology = node.topology();
    let known = |text: &Result<String, Absent>| text.clone().unwrap_or_else(|_| "unknown".to_owned());
    let mut finding = format!(
        "{}, {} with {} CPUs online, Linux {}",
        node.root().describe(),
        known(&topology.cpu_model),
        topology.cpu_count(),
        known(&topology.kernel)
    );
    if topology.is_virtual {
        finding.push_str(", virtual");
    }
    for hint in &topology.container_hints {
        finding.push_str(&format!(", {hint}"));
    }
    let state = if topology.cpus_online.is_ok() { State::Ok } else { State::Degraded };
    Check::new("machine", state, finding)
}

fn power_check(total: Result<&PowerFigure, &Absent>, passed_over: &[Absent]) -> Check {
    match total {
        Ok(figure) => {
            let (value, bounds) = quantity::of(node::Quantity::Power, figure.power.map(units::Watts::get));
            let bounds = if bounds.is_empty() { bounds } else { format!(" ({bounds})") };
            let finding = format!(
                "{} by {}: {value}{bounds}, covers {}",
                figure.quality,
                quantity::power_source(figure),
                figure.coverage
            );
            let is_measured = figure.quality == Quality::Measured;
            let check = Check::new("power", if is_measured { State::Ok } else { State::Degraded }, finding);
            match passed_over.iter().find_map(|absent| absent.remedy).filter(|_| !is_measured) {
                Some(remedy) => check.with_remedy(remedy),
                None if is_measured => check,
                None => check.with_remedy("use a machine with a power meter for measured values"),
            }
        }
        Err(absent) => absent_check("power", std::slice::from_ref(absent)),
    }
}

fn sensor(SensorReport { info, present, absent }: &SensorReport) -> Check {
    let subject = format!("sensor {}", info.id);
    if *present == 0 {
        return absent_check(subject, absent);
    }
    let values = if *present == 1 { "1 value".to_owned() } else { format!("{present} values") };
    if absent.is_empty() {
        return Check::new(subject, State::Ok, values);
    }
    let missing = absent_check(subject, absent);
    Check { state: State::Degraded, finding: format!("{values}; {}", missing.finding), ..missing }
}

fn absent_check(subject: impl Into<String>, absent: &[Absent]) -> Check {
    let findings: Vec<_> = absent
        .iter()
        .map(|absent| format!("{}: {} ({})", absent.file, absent.detail, absent.reason))
        .collect();
    let finding = if findings.is_empty() { "no value".to_owned() } else { findings.join("; ") };
    let check = Check::new(subject, State::NotAvailable, finding);
    match absent.iter().find_map(|absent| absent.remedy) {
        Some(remedy) => check.with_remedy(remedy),
        None => check,
    }
}

fn control_groups(node: &Node) -> Check {
    let (state, finding) = match node.topology().cgroup {
        CgroupVersion::V2 => (State::Ok, "version 2"),
        CgroupVersion::V1 => (State::Ok, "version 1"),
        CgroupVersion::Mixed => (State::Ok, "version 1 with a version 2 tree beside it"),
        CgroupVersion::None => (State::NotAvailable, "none is mounted"),
    };
    Check::new("control groups", state, finding)
}

fn bus(domain: &DomainChoice) -> Check {
    let number = domain.number();
    match domain.join("stillwatt doctor") {
        Ok(participant) => {
            node::clock::sleep(DISCOVERY_TIME);
            let others = match participant.participants().len() {
                0 => "nobody else is there".to_owned(),
                others => format!("others there: {others}"),
            };
            let port = participant.user_port();
            Check::new(
                "bus",
                State::Ok,
                format!("joined domain {number}, user data at UDP port {port}; {others}"),
            )
        }
        Err(failure) => Check::new("bus", State::NotAvailable, failure.to_string())
            .with_remedy("use another domain (--domain N) or free its ports"),
    }
}

/// What can be set, and whether this user may; nothing is written.
fn knobs(node: &Node) -> Check {
    let root = node.root();
    let knobs = node::knob::discover(&**root);
    let Some(first) = knobs.first() else {
        return Check::new("knobs", State::NotAvailable, "neither frequency limits nor power limits")
            .with_remedy("a machine with cpufreq or powercap drivers has some");
    };
    let finding = format!("{} files, the first is {}", knobs.len(), first.path());
    if root.is_simulated() || rustix::process::geteuid().is_root() {
        return Check::new("knobs", State::Ok, finding);
    }
    Check::new("knobs", State::Degraded, format!("{finding}; this user cannot write them"))
        .with_remedy("run the node manager as root; without it values are read and not set")
}

fn threads() -> Check {
    match thread::allowed_cpus() {
        Ok(cpus) => Check::new("threads", State::Ok, format!("may run on CPUs {cpus}")),
        Err(error) => Check::new("threads", State::Degraded, format!("CPU affinity cannot be read: {error}")),
    }
}

fn state_directory(surroundings: &Surroundings) -> Check {
    let subject = "state directory";
    let Some(directory) = surroundings.directory() else {
        return Check::new(subject, State::NotAvailable, "neither HOME nor XDG_STATE_HOME is set")
            .with_remedy("set XDG_STATE_HOME to a directory that you may write to");
    };
    match state::probe(&directory) {
        Ok(()) => Check::new(subject, State::Ok, format!("{} can be written", directory.display())),
        Err(error) => Check::new(
            subject,
            State::NotAvailable,
            format!("{} cannot be written: {error}", directory.display()),
        )
        .with_remedy("set XDG_STATE_HOME to a directory that you may write to; without one no knob is set"),
    }
}

/// On one machine participants find each other within this time.
const DISCOVERY_TIME: std::time::Duration = std::time::Duration::from_millis(300);
/// Long enough for one tick of the kernel's counters.
const SAMPLE_INTERVAL: std::time::Duration = std::time::Duration::from_millis(120);

#[cfg(test)]
mod tests {
    use super::*;
    use node::AbsentReason;

    /// A sensor with some values missing is degraded, one with none is not available, and the remedy is passed on.
    #[test]
    fn sensors_have_three_states() {
        let info = node::sensor::load::LoadSensor::new();
        let info = node::sensor::Sensor::info(&info).clone();
        let absent = Absent::new(AbsentReason::Permission, "sys/x", "denied").with_remedy("run as root");
        let report = |present, absent| SensorReport { info: info.clone(), present, absent };
        assert_eq!(sensor(&report(3, vec![])).state, State::Ok);
        let degraded = sensor(&report(1, vec![absent.clone()]));
        assert_eq!(degraded.state, State::Degraded);
        assert!(degraded.finding.starts_with("1 value; sys/x: denied"), "{}", degraded.finding);
        let none = sensor(&report(0, vec![absent]));
        assert_eq!((none.state, none.remedy.as_deref()), (State::NotAvailable, Some("run as root")));
    }

    /// A place that cannot be written names the place and what to set.
    #[test]
    fn unwritable_state_directory_is_named() {
        let surroundings =
            Surroundings { xdg_state_home: Some("/proc/nothing".into()), ..Default::default() };
        let check = state_directory(&surroundings);
        assert_eq!(check.state, State::NotAvailable);
        assert!(check.finding.contains("/proc/nothing/stillwatt"), "{}", check.finding);
        assert!(check.remedy.unwrap().contains("XDG_STATE_HOME"));
    }
}
