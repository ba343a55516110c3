//! `sim run`: the protocol on a virtual network, with thousands of participants or through days of churn. Touches the
//! clock and this process's memory figures only.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value as Json, json};
use sim::NetworkCounts;
use sim::churn::{ChurnConfig, ChurnReport, churn};
use sim::scale::{Layout, ScaleConfig, ScaleReport, scale};
use units::Ratio;

use super::quantity;
use super::table::Columns;
use crate::output::Output;
use crate::own_cost;
use crate::report::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum SimCommand {
    /// Run a scenario and tell what came of it, and what it cost this machine
    Run(RunArguments),
}

/// The same seed and settings give the same run, except for its time and memory. Exit code 1 when not everything
/// matched, or something did not hold.
#[derive(Args, Debug)]
pub(super) struct RunArguments {
    /// What happens
    #[arg(long, value_enum, default_value = "scale")]
    scenario: Scenario,
    /// Participants, each on a host of its own
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    participants: u32,
    /// Endpoints of each participant, half of them writers; for `scale`
    #[arg(long, value_name = "N", default_value = "40", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    endpoints: u32,
    /// Who looks for whom; for `scale`
    #[arg(long, value_enum, default_value = "mesh")]
    layout: LayoutChoice,
    /// Time within which the participants start; for `scale`
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = units::parse_duration)]
    start_within: Duration,
    /// Simulated hours; for `churn`
    #[arg(long, value_name = "N", default_value = "24", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hours: u32,
    /// Share of restarts with the identity of before; for `churn`
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    same_identity: Ratio,
    /// Share of the datagrams that is lost
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = share)]
    loss: Ratio,
    /// Share of the datagrams that arrives twice
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    duplication: Ratio,
    /// Share of the datagrams that later ones overtake
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    reordering: Ratio,
    /// The source of all chance
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scenario {
    /// All start, find each other and match
    Scale,
    /// Hours of joining, leaving, crashing, restarting and network splits
    Churn,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LayoutChoice {
    /// Everyone finds everyone by multicast; grows with the square of the participants
    Mesh,
    /// All find the first only, as node managers do their monitor
    Star,
    /// The first is a discovery relay by which the others find those that they share a topic with
    Relay,
}

fn share(text: &str) -> Result<Ratio, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(Ratio::new(share)),
        _ => Err("give a share from 0 to 1, such as 0.01".to_owned()),
    }
}

/// Runs the command.
pub(super) fn run(command: &SimCommand, output: &mut Output) -> Result<Exit, Failure> {
    let SimCommand::Run(arguments) = command;
    match arguments.scenario {
        Scenario::Scale => run_scale(arguments, output),
        Scenario::Churn => run_churn(arguments, output),
    }
}

/// What a run cost this machine.
struct Cost {
    wall: Duration,
    /// What the process grew by; includes what the allocator keeps for later.
    grown_bytes: Option<u64>,
}

impl Cost {
    /// Measures `run`, whose result must still hold all its memory.
    fn of<T>(run: impl FnOnce() -> T) -> (T, Self) {
        let before = own_cost::read().resident_bytes;
        let start = node::clock::monotonic();
        let result = run();
        let wall = node::clock::monotonic() - start;
        let grown =
            own_cost::read().resident_bytes.zip(before).map(|(now, before)| now.saturating_sub(before));
        (result, Self { wall, grown_bytes: grown })
    }

    fn bytes_per(&self, count: u64) -> Option<f64> {
        self.grown_bytes.filter(|_| count > 0).map(|bytes| bytes as f64 / count as f64)
    }

    fn push(&self, columns: &mut Columns) {
        columns.push(["wall time".to_owned(), quantity::duration(self.wall)]);
        columns.push(["memory grown".to_owned(), bytes(self.grown_bytes.map(|bytes| bytes as f64))]);
    }
}

fn run_scale(arguments: &RunArguments, output: &mut Output) -> Result<Exit, Failure> {
    let mut config =
        ScaleConfig::new(arguments.participants, arguments.endpoints, arguments.loss, arguments.seed);
    config.layout = match arguments.layout {
        LayoutChoice::Mesh => Layout::Mesh,
        LayoutChoice::Star => Layout::Star,
        LayoutChoice::Relay => Layout::Relay,
    };
    config.start_within = arguments.start_within;
    (config.network.duplication, config.network.reordering) = (arguments.duplication, arguments.reordering);
    let (result, cost) = Cost::of(|| scale(&config));
    let (world, report) = result.map_err(|error| Failure::from_error(Exit::Usage, error))?;
    let text = if arguments.json {
        scale_json(arguments, &report, &cost).to_string()
    } else {
        scale_text(arguments, &report, &cost)
    };
    drop(world);
    output.line(&text)?;
    Ok(if report.time_to_match.is_some() { Exit::Done } else { Exit::Failed })
}

fn scale_text(arguments: &RunArguments, report: &ScaleReport, cost: &Cost) -> String {
    let mut columns = Columns::new(&["figure", ">value"]);
    let mut row = |name: &str, value: String| columns.push([name.to_owned(), value]);
    row("participants", arguments.participants.to_string());
    row("endpoints", (u64::from(arguments.participants) * u64::from(arguments.endpoints)).to_string());
    row("matches, counted at both ends", format!("{} of {}", report.matches, report.matches_expected));
    let time = report.time_to_match.map_or_else(|| "not reached".to_owned(), quantity::duration);
    row("last start to full match", time);
    row("remote participants known", report.remote_participants.to_string());
    row("remote endpoints known", report.remote_endpoints.to_string());
    row("announcements refused or evicted", report.discovery_refused.to_string());
    row("datagrams withheld", report.replies_withheld.to_string());
    let participants = u64::from(arguments.participants);
    row("sent by each", bytes(Some(report.network.bytes_sent as f64 / participants as f64)));
    network_rows(&report.network, &mut columns);
    cost.push(&mut columns);
    for (name, count) in counted(arguments, report) {
        columns.push([format!("memory per {name}"), bytes(cost.bytes_per(count))]);
    }
    columns.text()
}

/// What the memory is shared out over.
fn counted(arguments: &RunArguments, report: &ScaleReport) -> [(&'static str, u64); 3] {
    [
        ("participant", u64::from(arguments.participants)),
        ("remote participant", report.remote_participants),
        ("remote endpoint", report.remote_endpoints),
    ]
}

fn scale_json(arguments: &RunArguments, report: &ScaleReport, cost: &Cost) -> Json {
    let [participant, remote_participant, remote_endpoint] =
        counted(arguments, report).map(|(_, count)| cost.bytes_per(count));
    json!({
        "schema": "stillwatt.sim.scale/1",
        "participants": arguments.participants,
        "endpoints_per_participant": arguments.endpoints,
        "layout": format!("{:?}", arguments.layout).to_lowercase(),
        "loss_ratio": arguments.loss.get(),
        "duplication_ratio": arguments.duplication.get(),
        "reordering_ratio": arguments.reordering.get(),
        "seed": arguments.seed,
        "matches": report.matches,
        "matches_expected": report.matches_expected,
        "time_to_match_seconds": report.time_to_match.map(|time| time.as_secs_f64()),
        "remote_participants": report.remote_participants,
        "remote_endpoints": report.remote_endpoints,
        "discovery_refused": report.discovery_refused,
        "replies_withheld": report.replies_withheld,
        "network": network_json(&report.network),
        "wall_seconds": cost.wall.as_secs_f64(),
        "memory_grown_bytes": cost.grown_bytes,
        "memory_per_participant_bytes": participant,
        "memory_per_remote_participant_bytes": remote_participant,
        "memory_per_remote_endpoint_bytes": remote_endpoint,
    })
}

fn run_churn(arguments: &RunArguments, output: &mut Output) -> Result<Exit, Failure> {
    let duration = Duration::from_secs(3600 * u64::from(arguments.hours));
    let mut config = ChurnConfig::new(arguments.participants, duration, arguments.seed);
    config.same_identity = arguments.same_identity;
    config.network.loss = arguments.loss;
    (config.network.duplication, config.network.reordering) = (arguments.duplication, arguments.reordering);
    let (result, cost) = Cost::of(|| churn(&config));
    let report = result.map_err(|error| Failure::from_error(Exit::Usage, error))?;
    let text = if arguments.json {
        churn_json(arguments, &report, &cost).to_string()
    } else {
        churn_text(arguments, &report, &cost)
    };
    output.line(&text)?;
    Ok(if report.faults == 0 { Exit::Done } else { Exit::Failed })
}

fn churn_counts(report: &ChurnReport) -> [(&'static str, u64); 9] {
    [
        ("joins", report.joins),
        ("leaves", report.leaves),
        ("crashes", report.crashes),
        ("restarts", report.restarts),
        ("splits", report.splits),
        ("heals", report.heals),
        ("checks", report.checks),
        ("samples", report.samples),
        ("faults", report.faults),
    ]
}

fn churn_text(arguments: &RunArguments, report: &ChurnReport, cost: &Cost) -> String {
    let mut columns = Columns::new(&["figure", ">value"]);
    columns.push(["participants".to_owned(), arguments.participants.to_string()]);
    columns.push(["simulated hours".to_owned(), arguments.hours.to_string()]);
    for (name, count) in churn_counts(report) {
        columns.push([name.to_owned(), count.to_string()]);
    }
    network_rows(&report.network, &mut columns);
    cost.push(&mut columns);
    let mut text = columns.text();
    for (at, fault) in &report.first_faults {
        text.push_str(&format!("\nat {:.3} s: {fault}", seconds(*at)));
    }
    text
}

fn churn_json(arguments: &RunArguments, report: &ChurnReport, cost: &Cost) -> Json {
    let faults = report.first_faults.iter();
    let faults: Vec<_> =
        faults.map(|(at, fault)| json!({"time_seconds": seconds(*at), "fault": fault.to_string()})).collect();
    let mut object = json!({
        "schema": "stillwatt.sim.churn/1",
        "participants": arguments.participants,
        "simulated_seconds": 3600 * u64::from(arguments.hours),
        "same_identity_ratio": arguments.same_identity.get(),
        "loss_ratio": arguments.loss.get(),
        "duplication_ratio": arguments.duplication.get(),
        "reordering_ratio": arguments.reordering.get(),
        "seed": arguments.seed,
    });
    for (name, count) in churn_counts(report) {
        object[name] = json!(count);
    }
    object["first_faults"] = json!(faults);
    object["network"] = network_json(&report.network);
    object["wall_seconds"] = json!(cost.wall.as_secs_f64());
    object["memory_grown_bytes"] = json!(cost.grown_bytes);
    object
}

fn seconds(at: units::Instant) -> f64 {
    (at - units::Instant::ZERO).as_secs_f64()
}

fn bytes(count: Option<f64>) -> String {
    count.map_or_else(|| "not known".to_owned(), |count| quantity::one(node::Quantity::Memory, count))
}

fn network_rows(counts: &NetworkCounts, columns: &mut Columns) {
    let mut row = |name: &str, value: String| columns.push([name.to_owned(), value]);
    row("datagrams sent", counts.datagrams_sent.to_string());
    row("octets sent", bytes(Some(counts.bytes_sent as f64)));
    row("copies delivered", counts.copies_delivered.to_string());
    row("copies lost", counts.copies_lost.to_string());
}

fn network_json(counts: &NetworkCounts) -> Json {
    json!({
        "datagrams_sent": counts.datagrams_sent,
        "bytes_sent": counts.bytes_sent,
        "copies_delivered": counts.copies_delivered,
        "bytes_delivered": counts.bytes_delivered,
        "copies_lost": counts.copies_lost,
        "copies_duplicated": counts.copies_duplicated,
        "copies_split": counts.copies_split,
        "copies_undeliverable": counts.copies_undeliverable,
        "queue_max": counts.queue_max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::sync::{Arc, Mutex};

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: SimCommand,
    }

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn said(arguments: &str) -> (Exit, String) {
        let line = Line::try_parse_from(format!("sim run {arguments}").split_whitespace()).unwrap();
        let sink = Sink::default();
        let exit = run(&line.command, &mut Output::new(sink.clone())).unwrap();
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        (exit, text)
    }

    /// A small run matches, names its figures with units, and says the same twice but for time and memory.
    #[test]
    fn scale_is_reported() {
        let arguments = "--participants 4 --endpoints 4 --seed 3 --json";
        let object = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        let (exit, text) = said(arguments);
        let (first, again) = (object(&text), object(&said(arguments).1));
        assert_eq!((exit, &first["matches"]), (Exit::Done, &first["matches_expected"]));
        assert_eq!(first["network"], again["network"]);
        assert!(
            first["time_to_match_seconds"].as_f64().is_some() && first["wall_seconds"].as_f64().is_some()
        );
        let (exit, text) = said("--participants 3 --endpoints 2 --loss 1");
        assert_eq!(exit, Exit::Failed);
        assert!(text.contains("not reached") && text.contains("memory per remote endpoint"), "{text}");
    }

    /// Churn is reported with all its counts.
    #[test]
    fn churn_is_reported() {
        let quiet = "--scenario churn --participants 3 --hours 1 --loss 0 --same-identity 0";
        let (exit, text) = said(quiet);
        assert_eq!(exit, Exit::Done, "{text}");
        assert!(text.contains("faults") && text.contains("simulated hours"), "{text}");
        let object: Json = serde_json::from_str(&said(&format!("{quiet} --json")).1).unwrap();
        assert_eq!((&object["faults"], &object["simulated_seconds"]), (&json!(0), &json!(3600)));
    }

    /// Shares are from 0 to 1.
    #[test]
    fn wrong_shares_are_refused() {
        for text in ["1.5", "-1", "nan", "1 %", ""] {
            assert!(share(text).unwrap_err().contains("from 0 to 1"), "{text}");
        }
    }
}
