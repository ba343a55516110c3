//! What the bus aims at, as one table, and whether a measurement meets it. Printed beside what was measured, whatever it
//! was; never asserted by a test. Pure.

use super::contestant::Contestant;
use super::cpus::Placement;
use super::latency::{self, Cells};
use super::schedule::{self, Measured};
use super::spread::Spread;
use super::transport::BenchTransport;
use super::{discovery, idle, scale, throughput};

/// One aim beside what was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aim {
    /// What it is about.
    pub(crate) figure: String,
    /// What was measured; `None` where the reference was not.
    pub(crate) measured: Option<Spread>,
    /// What it is measured in.
    pub(crate) unit: AimUnit,
    /// Whether it is to be at most, or at least, the limit.
    pub(crate) is_ceiling: bool,
    /// The aim.
    pub(crate) limit: f64,
    /// What would be better still.
    pub(crate) stretch: Option<f64>,
}

/// What an aim is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AimUnit {
    /// Times another contestant's figure.
    Times,
    /// Seconds.
    Seconds,
    /// In a second.
    PerSecond,
    /// A share of one CPU.
    Share,
    /// Bytes.
    Bytes,
    /// A number.
    Count,
}

/// How an aim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Better than the stretch.
    Stretch,
    /// Met.
    Met,
    /// Missed.
    Missed,
    /// Not measured.
    Unknown,
}

impl Verdict {
    /// For tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stretch => "met, stretch too",
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Unknown => "not measured",
        }
    }
}

impl Aim {
    /// Whether the median meets it.
    pub(crate) fn verdict(&self) -> Verdict {
        let Some(measured) = self.measured else { return Verdict::Unknown };
        let holds =
            |limit: f64| if self.is_ceiling { measured.median <= limit } else { measured.median >= limit };
        match self.stretch {
            Some(stretch) if holds(stretch) => Verdict::Stretch,
            _ if holds(self.limit) => Verdict::Met,
            _ => Verdict::Missed,
        }
    }
}

/// An aim of `latency`: our figure over another's under the same condition, at most.
struct LatencyTarget {
    transport: BenchTransport,
    /// `None` for both.
    is_reliable: Option<bool>,
    size_bytes: u32,
    subscribers: u32,
    /// `None` for each that was measured.
    placement: Option<Placement>,
    to: Contestant,
    limit: f64,
    stretch: Option<f64>,
}

const fn target(transport: BenchTransport, to: Contestant, limit: f64) -> LatencyTarget {
    LatencyTarget {
        transport,
        is_reliable: None,
        size_bytes: 64,
        subscribers: 1,
        placement: None,
        to,
        limit,
        stretch: None,
    }
}

const BEST_EFFORT: Option<bool> = Some(false);
const RELIABLE: Option<bool> = Some(true);
const ONE_CORE: Option<Placement> = Some(Placement::OneCore);
const ACROSS: Option<Placement> = Some(Placement::Across);

/// The aims of `latency`.
const LATENCY: &[LatencyTarget] = {
    use BenchTransport::{Shm, Tcp, Udp, Udpm};
    use Contestant::{Cyclone, Fastdds, Floor};
    &[
        LatencyTarget {
            is_reliable: BEST_EFFORT,
            placement: ONE_CORE,
            stretch: Some(1.3),
            ..target(Udp, Floor, 1.6)
        },
        LatencyTarget { is_reliable: BEST_EFFORT, placement: ACROSS, ..target(Udp, Floor, 1.15) },
        LatencyTarget { is_reliable: BEST_EFFORT, placement: ONE_CORE, ..target(Udp, Fastdds, 0.47) },
        LatencyTarget { is_reliable: BEST_EFFORT, placement: ONE_CORE, ..target(Udp, Cyclone, 0.75) },
        LatencyTarget {
            is_reliable: RELIABLE,
            placement: ONE_CORE,
            stretch: Some(1.45),
            ..target(Udp, Floor, 1.75)
        },
        LatencyTarget { is_reliable: RELIABLE, placement: ACROSS, ..target(Udp, Floor, 1.2) },
        LatencyTarget { is_reliable: RELIABLE, placement: ONE_CORE, ..target(Udp, Fastdds, 0.22) },
        LatencyTarget { is_reliable: RELIABLE, placement: ONE_CORE, ..target(Udp, Cyclone, 0.75) },
        LatencyTarget { is_reliable: RELIABLE, size_bytes: 65_536, ..target(Udp, Cyclone, 0.5) },
        target(Shm, Floor, 1.3),
        target(Shm, Fastdds, 0.25),
        target(Tcp, Floor, 1.4),
        target(Tcp, Fastdds, 0.35),
        LatencyTarget { subscribers: 40, ..target(Udp, Fastdds, 0.4) },
        LatencyTarget { subscribers: 40, ..target(Udpm, Fastdds, 0.2) },
        LatencyTarget { subscribers: 40, ..target(Shm, Fastdds, 0.1) },
    ]
};

/// The aims that these measurements are about.
pub(crate) fn latency_aims(cells: &[Cells]) -> Vec<Aim> {
    let mut aims = Vec::new();
    let ours = cells.iter().filter(|cell| cell.contestant == Contestant::Stillwatt);
    for cell in ours {
        let condition = &cell.condition;
        let fits = |target: &&LatencyTarget| {
            target.transport == condition.transport
                && target.is_reliable.is_none_or(|is_reliable| is_reliable == condition.is_reliable)
                && target.size_bytes == condition.size_bytes
                && target.subscribers == condition.subscribers
                && target.placement.is_none_or(|placement| placement == condition.placement)
        };
        aims.extend(LATENCY.iter().filter(fits).map(|target| Aim {
            figure: format!(
                "{}, {}, {}, {} B, {}: x {}",
                condition.transport.title(),
                if condition.is_reliable { "reliable" } else { "best effort" },
                condition.placement.name(),
                condition.size_bytes,
                match condition.subscribers {
                    1 => "half round trip".to_owned(),
                    many => format!("round of {many} subscribers"),
                },
                target.to.title(),
            ),
            measured: latency::ratio(cells, cell, target.to),
            unit: AimUnit::Times,
            is_ceiling: true,
            limit: target.limit,
            stretch: target.stretch,
        }));
    }
    aims
}

/// Sizes that the aims of `throughput` are about, each apart.
const STREAM_SIZES: [u32; 2] = [64, 1024];
/// Batched, over Cyclone DDS in its best setting, at least.
const BATCHED_TO_CYCLONE_BEST: f64 = 4.0;
/// Unbatched, over Cyclone DDS with its defaults, at least.
const UNBATCHED_TO_CYCLONE: f64 = 1.2;
/// Over Fast DDS, at least.
const STREAM_TO_FAST: f64 = 10.0;

/// The aims that these streams are about: reliable, in order, nothing lost.
pub(crate) fn throughput_aims(cells: &[throughput::Cells]) -> Vec<Aim> {
    let mut aims = Vec::new();
    let is_meant = |cell: &&throughput::Cells| {
        let stream = &cell.condition;
        stream.is_reliable
            && stream.transport == BenchTransport::Udp
            && STREAM_SIZES.contains(&stream.size_bytes)
    };
    for cell in cells.iter().filter(is_meant) {
        let aim = |to: &str, measured: Option<Spread>, limit| {
            let stream = &cell.condition;
            let (title, placement) = (cell.contestant.title(), stream.placement.name());
            Aim {
                figure: format!("{title}, {} B reliable, {placement}: rate x {to}", stream.size_bytes),
                // A rate that was bought with lost samples counts as none.
                measured: measured.filter(|_| cell.broken() == 0),
                unit: AimUnit::Times,
                is_ceiling: false,
                limit,
                stretch: None,
            }
        };
        let ratio = |to| throughput::ratio(cells, cell, to);
        match cell.contestant {
            Contestant::Stillwatt => {
                aims.push(aim("Cyclone DDS", ratio(Contestant::Cyclone), UNBATCHED_TO_CYCLONE));
            }
            Contestant::StillwattBatched => {
                let settings = [Contestant::Cyclone, Contestant::CycloneTuned];
                let lowest =
                    settings.into_iter().filter_map(ratio).min_by(|a, b| a.median.total_cmp(&b.median));
                aims.push(aim("Cyclone DDS at its best", lowest, BATCHED_TO_CYCLONE_BEST));
            }
            _ => continue,
        }
        aims.push(aim("Fast DDS", ratio(Contestant::Fastdds), STREAM_TO_FAST));
    }
    aims
}

/// The crowd that the aims are about: endpoints, and participants.
const CROWD: (u32, u32) = (2560, 64);
/// All matched, at most.
const MATCHED_SECONDS: f64 = 5.0;
/// Memory over Cyclone's, at most.
const MEMORY_TO_CYCLONE: f64 = 0.5;
/// Threads of our bus in a process, at most.
const BUS_THREADS: f64 = 4.0;

fn ceiling(figure: &str, measured: Option<Spread>, unit: AimUnit, limit: f64) -> Aim {
    Aim { figure: figure.to_owned(), measured, unit, is_ceiling: true, limit, stretch: None }
}

fn is_aimed_at<R>(cell: &&Measured<discovery::Gathering, R>) -> bool {
    cell.contestant == Contestant::Stillwatt
        && (cell.condition.endpoints, cell.condition.participants) == CROWD
}

/// Our memory over Cyclone's, run by run.
fn memory_ratio<R>(
    cells: &[Measured<discovery::Gathering, R>],
    cell: &Measured<discovery::Gathering, R>,
    resident: fn(&R) -> f64,
) -> Option<Spread> {
    let other = schedule::same(cells, cell, Contestant::Cyclone)?;
    let figures = |cell: &Measured<_, R>| cell.runs.iter().map(resident).collect::<Vec<_>>();
    Spread::of_ratios(&figures(cell), &figures(other))
}

/// The aims that these gatherings are about.
pub(crate) fn discovery_aims(cells: &[discovery::Cells]) -> Vec<Aim> {
    let ours = cells.iter().filter(is_aimed_at);
    let aims = ours.flat_map(|cell| {
        let memory = memory_ratio(cells, cell, |run| run.resident_bytes);
        let together = cell.spread(|run| run.together_seconds);
        let threads = cell.spread(|run| Some(run.bus_threads_max));
        [
            ceiling("all endpoints matched", together, AimUnit::Seconds, MATCHED_SECONDS),
            ceiling("memory of all: x Cyclone DDS", memory, AimUnit::Times, MEMORY_TO_CYCLONE),
            ceiling("bus threads of a process", threads, AimUnit::Count, BUS_THREADS),
        ]
    });
    aims.collect()
}

/// The aims that these memories are about.
pub(crate) fn scale_aims(cells: &[scale::Cells]) -> Vec<Aim> {
    let ours = cells.iter().filter(is_aimed_at);
    let aims = ours.map(|cell| {
        let memory = memory_ratio(cells, cell, |run| run.discovery.resident_bytes);
        ceiling("memory of all: x Cyclone DDS", memory, AimUnit::Times, MEMORY_TO_CYCLONE)
    });
    aims.collect()
}

/// Wake-ups a second of an idle process with one participant, and with many, at most.
const WAKEUPS: [f64; 2] = [0.5, 5.0];
/// CPU time of an idle process over time, at most.
const CPU_SHARE: f64 = 0.0001;
/// Memory of an idle process with one participant, at most.
const RESIDENT_BYTES: f64 = 4e6;

/// The aims that these idle processes are about.
pub(crate) fn idle_aims(cells: &[idle::Cells]) -> Vec<Aim> {
    let mut aims = Vec::new();
    for cell in cells.iter().filter(|cell| cell.contestant == Contestant::Stillwatt) {
        let participants = cell.condition.participants;
        let limit = match participants {
            1 => WAKEUPS[0],
            40 => WAKEUPS[1],
            _ => continue,
        };
        let name = |what: &str| format!("idle, {participants} participants: {what}");
        let (wakeups, cpu) = (cell.spread(|run| run.wakeups), cell.spread(|run| run.cpu_share));
        aims.push(ceiling(&name("wake-ups"), wakeups, AimUnit::PerSecond, limit));
        aims.push(ceiling(&name("CPU"), cpu, AimUnit::Share, CPU_SHARE));
        let threads = cell.spread(|run| run.bus_threads);
        aims.push(ceiling(&name("bus threads"), threads, AimUnit::Count, BUS_THREADS));
        if participants == 1 {
            let resident = cell.spread(|run| run.resident_bytes);
            aims.push(ceiling(&name("resident memory"), resident, AimUnit::Bytes, RESIDENT_BYTES));
        }
    }
    aims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(median: f64, is_ceiling: bool) -> Verdict {
        let measured = Some(Spread { median, lowest: median, highest: median });
        let aim = Aim {
            figure: String::new(),
            measured,
            unit: AimUnit::Times,
            is_ceiling,
            limit: 1.6,
            stretch: is_ceiling.then_some(1.3),
        };
        aim.verdict()
    }

    /// A ceiling is met below, a floor above; the stretch is told apart; nothing measured is neither.
    #[test]
    fn verdicts() {
        assert_eq!(
            [aim(1.2, true), aim(1.5, true), aim(1.7, true)],
            [Verdict::Stretch, Verdict::Met, Verdict::Missed]
        );
        assert_eq!([aim(1.2, false), aim(1.7, false)], [Verdict::Missed, Verdict::Met]);
        let unknown = Aim {
            figure: String::new(),
            measured: None,
            unit: AimUnit::Count,
            is_ceiling: true,
            limit: 1.0,
            stretch: None,
        };
        assert_eq!(unknown.verdict(), Verdict::Unknown);
    }
}
