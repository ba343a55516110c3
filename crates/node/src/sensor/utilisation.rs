//! Utilisation of each logical CPU from `proc/stat` (proc(5)). Reads that file only.

use std::collections::BTreeMap;
use std::time::Duration;

use units::{Instant, Ratio};

use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::{Absent, AbsentReason};
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};

const FILE: &str = "proc/stat";
/// More CPU lines than this are refused: no kernel has as many, so the file is damaged.
const CPUS_MAX: usize = 65_536;

/// Share of time that CPUs were in use since the previous sample.
///
/// `utilisation = busy / (busy + idle)` over the interval, with `busy = user + nice + system + irq + softirq + steal`
/// and `idle = idle + iowait` in ticks of 10 ms. Guest time is part of user and nice time already and is counted once.
/// Steal is busy: the CPU was wanted and not had. Bounds are one tick to each side. A counter that goes back (the
/// kernel lets `idle` and `iowait` do so) counts as unchanged and sets `clamped`.
///
/// The machine's share is that of the CPUs whose counters moved; its intervals follow each other without gap or
/// overlap, and it is stale only when no counter moved at all.
#[derive(Debug)]
pub struct UtilisationSensor {
    info: SensorInfo,
    previous: BTreeMap<u32, Previous>,
    /// When the machine's present interval began.
    node_start: Option<Instant>,
    /// What the machine's last complete interval gave, and when it began.
    node_last: Option<(Instant, Ticks)>,
}

#[derive(Clone, Copy, Debug)]
struct Previous {
    at: Instant,
    times: Times,
    /// What the last complete interval gave, and when it began.
    last: Option<(Instant, Ticks)>,
}

/// The counters of one line: user, nice, system, idle, iowait, irq, softirq, steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times([u64; 8]);

/// Ticks that passed, busy and in all.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    busy: u64,
    total: u64,
    went_back: bool,
}

impl UtilisationSensor {
    /// The sensor of any Linux machine.
    pub fn new() -> Self {
        Self {
            info: SensorInfo {
                id: "utilisation".to_string(),
                source: Source::Proc,
                quantities: vec![Quantity::Utilisation],
                update_period: Duration::from_millis(10),
                permission: "none",
                cost: "one file, grows with CPUs and interrupt lines (about 1 µs a CPU), no interrupt",
                notes: "ticks of 10 ms: over 1 s the resolution is 1 %; a tickless application CPU is counted by the \
                        kernel itself",
            },
            previous: BTreeMap::new(),
            node_start: None,
            node_last: None,
        }
    }

    /// The outcome for one CPU, and the ticks of the interval that the outcome is about.
    fn step(&mut self, cpu: u32, now: Instant, times: Times) -> (Instant, Option<Ticks>, Flags) {
        let Some(previous) = self.previous.get_mut(&cpu) else {
            self.previous.insert(cpu, Previous { at: now, times, last: None });
            return (now, None, Flags::NONE);
        };
        let ticks = times.since(previous.times);
        if ticks.total == 0 {
            // No tick yet: the old start stays, so the next interval is longer and nothing is lost.
            return match previous.last {
                Some((start, ticks)) => (start, Some(ticks), Flags::STALE),
                None => (previous.at, None, Flags::NONE),
            };
        }
        let start = previous.at;
        *previous = Previous { at: now, times, last: Some((start, ticks)) };
        (start, Some(ticks), if ticks.went_back { Flags::CLAMPED } else { Flags::NONE })
    }
}

impl UtilisationSensor {
    /// The outcome for the machine from the sum over the CPUs whose counters moved.
    fn step_node(&mut self, now: Instant, ticks: Ticks) -> (Instant, Option<Ticks>, Flags) {
        let start = *self.node_start.get_or_insert(now);
        if ticks.total == 0 {
            return match self.node_last {
                Some((start, ticks)) => (start, Some(ticks), Flags::STALE),
                None => (start, None, Flags::NONE),
            };
        }
        (self.node_start, self.node_last) = (Some(now), Some((start, ticks)));
        (start, Some(ticks), if ticks.went_back { Flags::CLAMPED } else { Flags::NONE })
    }
}

impl Default for UtilisationSensor {
    fn default() -> Self {
        Self::new()
    }
}

impl Sensor for UtilisationSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let lines = sampling.read(FILE).and_then(|text| parse(&text));
        let now = sampling.now();
        let node = Slot { metric: "cpu.utilisation", domain: Domain::Node, source: Source::Proc };
        let lines = match lines {
            Ok(lines) => lines,
            Err(absent) => {
                readings.push(node.reading((now, now), Err(absent)));
                return;
            }
        };
        self.previous.retain(|cpu, _| lines.contains_key(cpu));
        let mut all = Ticks::default();
        let mut cpus = Vec::with_capacity(lines.len());
        for (cpu, times) in lines {
            let (start, ticks, flags) = self.step(cpu, now, times);
            if let Some(ticks) = ticks.filter(|_| !flags.contains(Flags::STALE)) {
                all = all.with(ticks);
            }
            let slot = Slot { domain: Domain::Cpu(cpu), ..node.clone() };
            cpus.push(slot.reading((start, now), outcome(ticks, flags)));
        }
        let (start, all, flags) = self.step_node(now, all);
        readings.push(node.reading((start, now), outcome(all, flags)));
        readings.append(&mut cpus);
    }
}

fn outcome(ticks: Option<Ticks>, flags: Flags) -> Result<Measurement, Absent> {
    let ticks = ticks.ok_or_else(|| {
        Absent::new(
            AbsentReason::NotYet,
            FILE,
            "utilisation needs two samples at least one tick (10 ms) apart",
        )
    })?;
    let (busy, total) = (ticks.busy as f64, ticks.total as f64);
    let share = |ticks: f64| Ratio::new((ticks / total).clamp(0.0, 1.0));
    let bounds = Bounded { value: share(busy), low: share(busy - 1.0), high: share(busy + 1.0) };
    Ok(Measurement { value: Value::Utilisation(bounds), quality: Quality::Measured, flags })
}

impl Ticks {
    const fn with(self, other: Self) -> Self {
        Self {
            busy: self.busy.saturating_add(other.busy),
            total: self.total.saturating_add(other.total),
            went_back: self.went_back || other.went_back,
        }
    }
}

impl Times {
    fn since(self, earlier: Self) -> Ticks {
        let mut ticks = Ticks::default();
        for (index, (now, before)) in self.0.into_iter().zip(earlier.0).enumerate() {
            let delta = now.saturating_sub(before);
            ticks.went_back |= now < before;
            ticks.total = ticks.total.saturating_add(delta);
            // Idle and iowait are the fourth and fifth counters.
            if index != 3 && index != 4 {
                ticks.busy = ticks.busy.saturating_add(delta);
            }
        }
        ticks
    }
}

/// The counters of every `cpuN` line. Old kernels have fewer than eight; the missing ones count as zero.
fn parse(text: &str) -> Result<BTreeMap<u32, Times>, Absent> {
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("cpu") else { continue };
        let Some((cpu, counters)) = rest.split_once(' ').filter(|(cpu, _)| !cpu.is_empty()) else { continue };
        let fault = || Absent::malformed(FILE, line, "a line cpuN with at least four counters");
        let cpu: u32 = cpu.parse().map_err(|_| fault())?;
        let mut times = Times([0; 8]);
        let mut count = 0;
        for (slot, word) in times.0.iter_mut().zip(counters.split_whitespace()) {
            *slot = word.parse().map_err(|_| fault())?;
            count += 1;
        }
        if count < 4 || lines.len() >= CPUS_MAX {
            return Err(fault());
        }
        lines.insert(cpu, times);
    }
    if lines.is_empty() {
        return Err(Absent::malformed(FILE, text, "a file with lines cpuN"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    fn sample(sensor: &mut UtilisationSensor, root: &MemoryRoot, text: &str) -> Vec<Reading> {
        root.set(FILE, text);
        root.advance(Duration::from_secs(1));
        let mut readings = Vec::new();
        sensor.sample(&mut Sampling::new(root), &mut readings);
        readings
    }

    fn share(reading: &Reading) -> f64 {
        reading.measurement().unwrap().value.numbers().value
    }

    /// Busy is everything but idle and iowait; guest columns are not counted again; the node is the sum of its CPUs.
    #[test]
    fn busy_share_of_the_interval() {
        let (mut sensor, root) = (UtilisationSensor::new(), MemoryRoot::new());
        let first =
            sample(&mut sensor, &root, "cpu 0 0\ncpu0 10 0 10 100 0 0 0 0 9 0\ncpu1 0 0 0 50 0 0 0 0 0 0\n");
        assert!(first.iter().all(|r| r.outcome.as_ref().unwrap_err().reason == AbsentReason::NotYet));
        let text = "cpu0 30 5 15 140 20 3 2 5 29 5\ncpu1 0 0 0 150 0 0 0 0 0 0\nintr 5\n";
        let second = sample(&mut sensor, &root, text);
        assert_eq!(second[1].domain, Domain::Cpu(0));
        assert!((share(&second[1]) - 40.0 / 100.0).abs() < 1e-12);
        assert!((share(&second[0]) - 40.0 / 200.0).abs() < 1e-12);
        assert_eq!(second[1].end - second[1].start, Duration::from_secs(1));
    }

    /// A counter that goes back is clamped and flagged; without a tick the last value is stale, not zero.
    #[test]
    fn steps_back_and_missing_ticks() {
        let (mut sensor, root) = (UtilisationSensor::new(), MemoryRoot::new());
        sample(&mut sensor, &root, "cpu0 10 0 0 100 50\n");
        let back = sample(&mut sensor, &root, "cpu0 20 0 0 110 40\n");
        assert_eq!(back[1].measurement().unwrap().flags, Flags::CLAMPED);
        assert_eq!(share(&back[1]), 0.5);
        let same = sample(&mut sensor, &root, "cpu0 20 0 0 110 40\n");
        assert!(same[1].measurement().unwrap().flags.contains(Flags::STALE));
        assert_eq!(share(&same[1]), 0.5);
        let next = sample(&mut sensor, &root, "cpu0 20 0 0 310 40\n");
        assert_eq!(next[1].end - next[1].start, Duration::from_secs(2));
    }

    /// Where only some counters move in an interval, as at short periods, the machine's value is not stale, and its
    /// intervals add up to the time that has passed, so that energy made of them is neither lost nor counted twice.
    #[test]
    fn the_machines_intervals_have_no_gaps() {
        let (mut sensor, root) = (UtilisationSensor::new(), MemoryRoot::new());
        let (mut covered, mut ticks) = (Duration::ZERO, [0, 0]);
        for step in 0_usize..20 {
            ticks[step % 2] += 1;
            let text = format!("cpu0 {} 0 0 0\ncpu1 0 0 0 {}\n", ticks[0], ticks[1]);
            let readings = sample(&mut sensor, &root, &text);
            if let Some(measurement) = readings[0].measurement() {
                assert_eq!(measurement.flags, Flags::NONE);
                covered += readings[0].end - readings[0].start;
            }
        }
        assert_eq!(covered, Duration::from_secs(19));
    }

    /// A CPU that goes offline leaves, and starts anew when it returns.
    #[test]
    fn cpus_come_and_go() {
        let (mut sensor, root) = (UtilisationSensor::new(), MemoryRoot::new());
        sample(&mut sensor, &root, "cpu0 1 0 0 9\ncpu1 1 0 0 9\n");
        assert_eq!(sample(&mut sensor, &root, "cpu0 2 0 0 18\n").len(), 2);
        let back = sample(&mut sensor, &root, "cpu0 3 0 0 27\ncpu1 90 0 0 90\n");
        assert!(back[2].outcome.is_err());
    }

    /// Damaged lines give a reason for the whole file.
    #[test]
    fn damaged_files_give_reasons() {
        let (mut sensor, root) = (UtilisationSensor::new(), MemoryRoot::new());
        for text in ["", "cpu 1 2 3 4\n", "cpu0 1 2 3\n", "cpu0 1 2 x 4\n", "cpu99999999999 1 2 3 4\n"] {
            let readings = sample(&mut sensor, &root, text);
            assert_eq!(readings.len(), 1, "{text:?}");
            assert_eq!(readings[0].outcome.as_ref().unwrap_err().reason, AbsentReason::Malformed);
        }
    }
}
