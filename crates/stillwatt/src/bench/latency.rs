#![expect(clippy::disallowed_methods, reason = "I/O shell: raw sockets and clocks of the latency benchmark")]
//! Half round trip between two processes: our bus over UDP, best effort and reliable, beside raw blocking sockets.

use std::fmt;
use std::net::UdpSocket;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bus::Participant;
use node::thread::{Placement, Role as ThreadRole};
use serde::Serialize;
use units::CpuList;

use super::BenchOptions;
use super::cpus::online_cpus;
use super::peer::{Message, PING, PONG, PeerProcess, Role};
use crate::report::{Exit, Failure};

const MEASURE: ThreadRole = ThreadRole::new("stw-bench", "runs one benchmark measurement on its CPU");
/// The longest that one run may take before it is given up.
const RUN_MAX: Duration = Duration::from_secs(120);
/// Share of samples dropped at the start of each run, while caches and frequency settle.
const WARM_UP: usize = 10;

/// Where the two processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    /// Both on one CPU.
    OneCpu,
    /// Each on its own.
    TwoCpus,
}

/// One line of the result.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    place: Place,
    kind: &'static str,
    size_bytes: u32,
    /// Median of each run, in seconds.
    runs_seconds: Vec<f64>,
    median_seconds: f64,
    lowest_seconds: f64,
    highest_seconds: f64,
    /// Median of the runs' 99th percentiles.
    p99_seconds: f64,
    /// Round trips that got no answer and were started again.
    lost: u64,
    /// Median over the floor's median in the same place.
    ratio_to_floor: Option<f64>,
}

/// What one run measured.
struct Run {
    median: f64,
    p99: f64,
    lost: u64,
}

const KINDS: [Role; 3] = [Role::Floor, Role::BestEffort, Role::Reliable];

/// Measures every kind in every place, alternating.
pub(super) fn measure(options: &BenchOptions) -> Result<Vec<Row>, Failure> {
    let cpus = online_cpus();
    let first = cpus.first().copied().unwrap_or(0);
    let mut places = vec![(Place::OneCpu, first, first)];
    if let Some(second) = cpus.get(1) {
        places.push((Place::TwoCpus, first, *second));
    }
    let mut runs: Vec<Vec<Run>> = places.iter().flat_map(|_| KINDS.map(|_| Vec::new())).collect();
    for _ in 0..options.runs {
        let cells = places.iter().flat_map(|place| KINDS.map(|kind| (place, kind)));
        for (cell, ((_, ours, theirs), kind)) in runs.iter_mut().zip(cells) {
            cell.push(run(options, kind, *ours, *theirs)?);
        }
    }
    let cells = places.iter().flat_map(|(place, ..)| KINDS.map(|kind| (*place, kind)));
    let mut rows: Vec<Row> =
        cells.zip(runs).map(|((place, kind), runs)| Row::new(place, kind, options.size, &runs)).collect();
    let floors: Vec<(Place, f64)> =
        rows.iter().filter(|row| row.kind == "floor").map(|row| (row.place, row.median_seconds)).collect();
    for row in &mut rows {
        let floor = floors.iter().find(|(place, _)| *place == row.place);
        row.ratio_to_floor = floor.map(|(_, floor)| row.median_seconds / floor);
    }
    Ok(rows)
}

fn run(options: &BenchOptions, kind: Role, ours: u32, theirs: u32) -> Result<Run, Failure> {
    let peer = PeerProcess::start(kind, options.domain, Some(theirs))?;
    let (size, samples, domain) = (options.size, options.samples as usize, options.domain);
    let port = peer.line.parse::<u16>().ok();
    let body = move || match (kind, port) {
        (Role::Floor, Some(port)) => floor(port, size, samples),
        _ => ping(domain, kind, size, samples),
    };
    let thread = node::thread::spawn(MEASURE, Placement::Cpus(CpuList::from_iter([ours])), body)
        .map_err(|error| Failure::from_error(Exit::Failed, error))?;
    let result =
        thread.join().unwrap_or_else(|_| Err(Failure::new(Exit::Failed, "the measurement panicked")));
    drop(peer);
    result
}

fn summarise(mut halves: Vec<f64>, lost: u64) -> Run {
    halves.drain(..halves.len() / WARM_UP);
    halves.sort_by(f64::total_cmp);
    let at = |share: f64| halves.get((halves.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    Run { median: at(0.5), p99: at(0.99), lost }
}

/// Blocking sockets and nothing else: what any protocol over UDP has to pay.
fn floor(port: u16, size: u32, samples: usize) -> Result<Run, Failure> {
    let fault = |error| Failure::from_error(Exit::Failed, error);
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(fault)?;
    socket.connect(("127.0.0.1", port)).map_err(fault)?;
    socket.set_read_timeout(Some(Duration::from_secs(5))).map_err(fault)?;
    let payload = vec![1; size.max(1) as usize];
    let mut buffer = vec![0; 65_536];
    let mut halves = Vec::with_capacity(samples);
    for _ in 0..samples {
        let start = Instant::now();
        socket.send(&payload).map_err(fault)?;
        socket.recv(&mut buffer).map_err(fault)?;
        halves.push(start.elapsed().as_secs_f64() / 2.0);
    }
    // An empty datagram ends the other side.
    socket.send(&[]).map_err(fault)?;
    Ok(summarise(halves, 0))
}

/// Publishes, and publishes again from within the answer's callback, as an actor on the bus would.
fn ping(domain: u32, kind: Role, size: u32, samples: usize) -> Result<Run, Failure> {
    let fault = |error| Failure::from_error(Exit::Failed, error);
    let participant = Participant::builder()
        .domain(domain)
        .name("bench ping")
        .build()
        .map_err(|error| Failure::from_error(Exit::Failed, error))?;
    let publisher = participant.publisher::<Message>(PING).keep_last(64);
    let subscriber = participant.subscriber::<Message>(PONG).keep_last(64);
    let (publisher, subscriber) = match kind {
        Role::Reliable => (publisher.reliable(), subscriber.reliable()),
        _ => (publisher, subscriber),
    };
    let publisher = std::sync::Arc::new(publisher.build().map_err(fault)?);
    let (done, finished) = mpsc::channel();
    let (progress, seen) = mpsc::channel();
    let answer_to = std::sync::Arc::clone(&publisher);
    let mut message = Message { id: 1, seq: 0, data: vec![1; size as usize] };
    let mut halves = Vec::with_capacity(samples);
    let start = std::sync::Arc::new(std::sync::Mutex::new(Instant::now()));
    let started = std::sync::Arc::clone(&start);
    let subscriber = subscriber
        .on_sample(move |sample| {
            let now = Instant::now();
            let Some(answer) = sample.data.valid() else { return };
            let Ok(mut start) = started.lock() else { return };
            if answer.seq != message.seq || halves.len() >= samples {
                return;
            }
            halves.push((now - *start).as_secs_f64() / 2.0);
            if halves.len() == samples {
                let _ = done.send(std::mem::take(&mut halves));
                return;
            }
            if halves.len() % 1000 == 0 {
                let _ = progress.send(());
            }
            message.seq += 1;
            *start = Instant::now();
            let _ = answer_to.write(&message);
        })
        .build()
        .map_err(fault)?;
    let second = Duration::from_secs(1);
    if !publisher.wait_for_match(1, 10 * second) || !subscriber.wait_for_match(1, 10 * second) {
        return Err(Failure::new(
            Exit::Failed,
            "the benchmark's two processes did not find each other in 10 s",
        )
        .with_remedy("see what `stillwatt doctor` says of multicast"));
    }
    node::clock::sleep(Duration::from_millis(300));
    let first = Message { id: 1, seq: 0, data: vec![1; size as usize] };
    if let Ok(mut start) = start.lock() {
        *start = Instant::now();
    }
    publisher.write(&first).map_err(|error| Failure::from_error(Exit::Failed, error))?;
    let halves = finished.recv_timeout(RUN_MAX).map_err(|_| {
        let round_trips = 1000 * seen.try_iter().count();
        Failure::new(Exit::Failed, format!("an answer was lost after about {round_trips} round trips"))
            .with_remedy("a loaded machine drops datagrams: run it again, or with fewer --samples")
    })?;
    Ok(summarise(halves, subscriber.lost()))
}

impl Row {
    fn new(place: Place, kind: Role, size_bytes: u32, runs: &[Run]) -> Self {
        let sorted = |value: fn(&Run) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (medians, tails) = (sorted(|run| run.median), sorted(|run| run.p99));
        let middle = |values: &[f64]| values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
        Self {
            place,
            kind: match kind {
                Role::Floor => "floor",
                Role::Reliable => "reliable",
                _ => "best effort",
            },
            size_bytes,
            runs_seconds: runs.iter().map(|run| run.median).collect(),
            median_seconds: middle(&medians),
            lowest_seconds: medians.first().copied().unwrap_or(f64::NAN),
            highest_seconds: medians.last().copied().unwrap_or(f64::NAN),
            p99_seconds: middle(&tails),
            lost: runs.iter().map(|run| run.lost).sum(),
            ratio_to_floor: None,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::OneCpu => "one CPU",
            Place::TwoCpus => "two CPUs",
        };
        let micros = |seconds: f64| seconds * 1e6;
        write!(
            f,
            "{place:9} {:12} {:15.2}   ({:8.2} .. {:8.2}) {:11.2}",
            self.kind,
            micros(self.median_seconds),
            micros(self.lowest_seconds),
            micros(self.highest_seconds),
            micros(self.p99_seconds),
        )?;
        match self.ratio_to_floor {
            Some(ratio) => write!(f, "{ratio:10.2}"),
            None => Ok(()),
        }
    }
}
