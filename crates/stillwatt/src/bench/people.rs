//! The benches' tables for people: units fit to read, one line a contestant.

use super::contestant::Contestant;
use super::printout::{micros, times};
use super::spread::Spread;
use super::{discovery, idle, latency, scale, throughput};
use crate::cli::table::Columns;

fn qos(is_reliable: bool) -> String {
    (if is_reliable { "reliable" } else { "best effort" }).to_owned()
}

/// Median, lowest and highest, each as `shown`.
fn spread(spread: Option<Spread>, shown: impl Fn(f64) -> String) -> [String; 3] {
    let part = |part: fn(Spread) -> f64| spread.map(|spread| shown(part(spread))).unwrap_or_default();
    [part(|spread| spread.median), part(|spread| spread.lowest), part(|spread| spread.highest)]
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

/// Half round trips, in microseconds.
pub(crate) fn latency(cells: &[latency::Cells]) -> Columns {
    let mut columns = Columns::new(&[
        "transport",
        "qos",
        ">bytes",
        ">subs",
        "placement",
        "contestant",
        ">half rtt us",
        ">(lowest",
        ">highest)",
        ">p99 us",
        ">round us",
        ">x floor",
        ">x fastdds",
        ">x fastdds3",
        ">x cyclone",
    ]);
    for cell in cells {
        let condition = &cell.condition;
        let median = |figure: fn(&latency::Run) -> f64| Spread::of(cell.runs.iter().map(figure));
        let ratio = |to| times(latency::ratio(cells, cell, to));
        let mut row = vec![
            condition.transport.name().to_owned(),
            qos(condition.is_reliable),
            condition.size_bytes.to_string(),
            condition.subscribers.to_string(),
            condition.placement.name().to_owned(),
            cell.contestant.name().to_owned(),
        ];
        row.extend(spread(median(|run| run.half.p50), micros));
        row.push(median(|run| run.half.p99).map(|spread| micros(spread.median)).unwrap_or_default());
        row.push(median(|run| run.round.p50).map(|spread| micros(spread.median)).unwrap_or_default());
        row.extend(
            [Contestant::Floor, Contestant::Fastdds, Contestant::Fastdds3, Contestant::Cyclone].map(ratio),
        );
        columns.push(row);
    }
    columns
}

/// Rates, in thousands of samples a second.
pub(crate) fn throughput(cells: &[throughput::Cells]) -> Columns {
    let mut columns = Columns::new(&[
        "transport",
        "qos",
        ">bytes",
        "placement",
        "contestant",
        ">k samples/s",
        ">(lowest",
        ">highest)",
        ">MB/s",
        "arrived",
        ">x fastdds",
        ">x fastdds3",
        ">x cyclone",
    ]);
    for cell in cells {
        let stream = &cell.condition;
        let rate = Spread::of(cell.rates());
        let mut row = vec![
            stream.transport.name().to_owned(),
            qos(stream.is_reliable),
            stream.size_bytes.to_string(),
            stream.placement.name().to_owned(),
            cell.contestant.name().to_owned(),
        ];
        row.extend(spread(rate, |rate| format!("{:.1}", rate / 1e3)));
        let payload = rate.map(|rate| megabytes(rate.median * f64::from(stream.size_bytes)));
        row.push(payload.unwrap_or_default());
        row.push(arrived(cell));
        let ratio = |to| times(throughput::ratio(cells, cell, to));
        row.extend([Contestant::Fastdds, Contestant::Fastdds3, Contestant::Cyclone].map(ratio));
        columns.push(row);
    }
    columns
}

/// What of a stream arrived, in words.
fn arrived(cell: &throughput::Cells) -> String {
    let sum = |figure: fn(&throughput::Run) -> u64| cell.runs.iter().map(figure).sum::<u64>();
    if cell.broken() == 0 {
        return "all, in order".to_owned();
    }
    let share = sum(|run| run.received) as f64 / sum(|run| run.sent).max(1) as f64;
    let disordered = sum(|run| run.disordered);
    format!("{:.2} %, {disordered} out of turn", share * 100.0)
}

/// Matching times, in seconds.
pub(crate) fn discovery(cells: &[discovery::Cells]) -> Columns {
    let mut columns = Columns::new(&[
        "transport",
        ">participants",
        ">endpoints",
        ">processes",
        "contestant",
        ">all matched s",
        ">(lowest",
        ">highest)",
        ">late comer s",
        ">MB",
        ">threads",
        ">bus threads",
    ]);
    let seconds = |seconds: f64| format!("{seconds:.3}");
    for cell in cells {
        let gathering = &cell.condition;
        let mut row = vec![
            gathering.transport.name().to_owned(),
            gathering.participants.to_string(),
            gathering.endpoints.to_string(),
            gathering.processes.to_string(),
            cell.contestant.name().to_owned(),
        ];
        let together = cell.spread(|run| run.together_seconds);
        if together.is_some() {
            row.extend(spread(together, seconds));
        } else {
            row.extend(["not all".to_owned(), String::new(), String::new()]);
        }
        let late = cell.spread(|run| run.late_seconds);
        row.push(late.map_or("not all".to_owned(), |late| seconds(late.median)));
        let median = |figure: fn(&discovery::Run) -> Option<f64>| {
            cell.spread(figure).map(|spread| spread.median).unwrap_or_default()
        };
        row.push(megabytes(median(|run| Some(run.resident_bytes))));
        row.push(format!("{:.0}", median(|run| Some(run.threads_max))));
        row.push(format!("{:.0}", median(|run| Some(run.bus_threads_max))));
        columns.push(row);
    }
    columns
}

/// What idle processes cost.
pub(crate) fn idle(cells: &[idle::Cells]) -> Columns {
    let mut columns = Columns::new(&[
        ">participants",
        ">endpoints",
        "contestant",
        ">wake-ups/s",
        ">(lowest",
        ">highest)",
        ">CPU %",
        ">MB resident",
        ">of it data",
        ">threads",
        ">bus threads",
    ]);
    for cell in cells {
        let median = |figure: fn(&idle::Run) -> f64| {
            cell.spread(figure).map(|spread| spread.median).unwrap_or_default()
        };
        let mut row = vec![
            cell.condition.participants.to_string(),
            cell.condition.endpoints.to_string(),
            cell.contestant.name().to_owned(),
        ];
        row.extend(spread(cell.spread(|run| run.wakeups), |rate| format!("{rate:.2}")));
        row.push(format!("{:.4}", median(|run| run.cpu_share) * 100.0));
        row.push(megabytes(median(|run| run.resident_bytes)));
        row.push(megabytes(median(|run| run.anonymous_bytes)));
        row.push(format!("{:.0}", median(|run| run.threads)));
        row.push(format!("{:.0}", median(|run| run.bus_threads)));
        columns.push(row);
    }
    columns
}

/// Memory of endpoints.
pub(crate) fn scale(cells: &[scale::Cells]) -> Columns {
    let mut columns = Columns::new(&[
        ">participants",
        ">endpoints",
        ">processes",
        "contestant",
        ">B an endpoint",
        ">(lowest",
        ">highest)",
        ">B a remote one",
        ">(lowest",
        ">highest)",
        ">MB all",
        ">of it data",
    ]);
    let bytes = |bytes: f64| format!("{bytes:.0}");
    for cell in cells {
        let gathering = &cell.condition;
        let mut row = vec![
            gathering.participants.to_string(),
            gathering.endpoints.to_string(),
            gathering.processes.to_string(),
            cell.contestant.name().to_owned(),
        ];
        row.extend(spread(cell.spread(|run| run.own_endpoint_bytes), bytes));
        row.extend(spread(cell.spread(|run| run.remote_endpoint_bytes), bytes));
        let median = |figure: fn(&scale::Run) -> f64| {
            cell.spread(figure).map(|spread| spread.median).unwrap_or_default()
        };
        row.push(megabytes(median(|run| run.discovery.resident_bytes)));
        row.push(megabytes(median(|run| run.discovery.anonymous_bytes)));
        columns.push(row);
    }
    columns
}
