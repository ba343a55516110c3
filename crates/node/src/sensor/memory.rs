//! Memory from `proc/meminfo` (proc(5)). Reads that file only.

use std::time::Duration;

use units::Bytes;

use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::{Absent, AbsentReason};
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};

const FILE: &str = "proc/meminfo";

/// Memory of the machine: all of it, and what is in use.
///
/// In use is `MemTotal - MemAvailable`: what cannot be had without swapping. Kernels before 3.14 do not state
/// `MemAvailable`; there free memory, buffers and page cache count as available and the quality is `estimated`.
#[derive(Debug)]
pub struct MemorySensor {
    info: SensorInfo,
}

impl MemorySensor {
    /// The sensor of any Linux machine.
    pub fn new() -> Self {
        Self {
            info: SensorInfo {
                id: "memory".to_string(),
                source: Source::Proc,
                quantities: vec![Quantity::Memory],
                update_period: Duration::from_millis(100),
                permission: "none",
                cost: "one small file, sums counters of all memory zones, no interrupt",
                notes: "in a container this is the machine's memory, not the container's",
            },
        }
    }
}

impl Default for MemorySensor {
    fn default() -> Self {
        Self::new()
    }
}

impl Sensor for MemorySensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let text = sampling.read(FILE);
        let now = sampling.now();
        let total = text.clone().and_then(|text| field(&text, "MemTotal"));
        let used = text.and_then(|text| used(&text));
        let outcomes = [
            ("memory.total", total.map(|bytes| measurement(bytes, Quality::Measured))),
            ("memory.used", used.map(|(bytes, quality)| measurement(bytes, quality))),
        ];
        for (metric, outcome) in outcomes {
            let slot = Slot { metric, domain: Domain::Node, source: Source::Proc };
            readings.push(slot.reading((now, now), outcome));
        }
    }
}

fn measurement(bytes: f64, quality: Quality) -> Measurement {
    Measurement { value: Value::Memory(Bounded::exact(Bytes::new(bytes))), quality, flags: Flags::NONE }
}

fn used(text: &str) -> Result<(f64, Quality), Absent> {
    let total = field(text, "MemTotal")?;
    match field(text, "MemAvailable") {
        Ok(available) => Ok(((total - available).max(0.0), Quality::Measured)),
        Err(absent) if absent.reason == AbsentReason::NotPresent => {
            let mut free = 0.0;
            for name in ["MemFree", "Buffers", "Cached"] {
                free += field(text, name)?;
            }
            Ok(((total - free).max(0.0), Quality::Estimated))
        }
        Err(absent) => Err(absent),
    }
}

/// A line's value in bytes; lines are in kibibytes and say `kB`.
fn field(text: &str, name: &str) -> Result<f64, Absent> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let rest = rest.ok_or_else(|| Absent::new(AbsentReason::NotPresent, FILE, format!("no line {name}")))?;
    let kibibytes = rest.trim().strip_suffix("kB").and_then(|number| number.trim().parse::<u64>().ok());
    match kibibytes {
        // Exact in a double up to here, 8 PiB.
        Some(kibibytes) if kibibytes < (1 << 43) => Ok(kibibytes as f64 * 1024.0),
        _ => Err(Absent::malformed(FILE, rest, "a number of kB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    fn sample(text: &str) -> Vec<Reading> {
        let root: MemoryRoot = [(FILE, text)].into_iter().collect();
        let mut readings = Vec::new();
        MemorySensor::new().sample(&mut Sampling::new(&root), &mut readings);
        readings
    }

    /// Used memory is what is not available; an old kernel's file gives an estimate.
    #[test]
    fn used_is_total_less_available() {
        let new = sample("MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\n");
        assert_eq!(new[1].measurement().unwrap().value.numbers().value, 400.0 * 1024.0);
        let old = sample("MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 150 kB\n");
        assert_eq!(old[1].measurement().unwrap().quality, Quality::Estimated);
        assert_eq!(old[1].measurement().unwrap().value.numbers().value, 700.0 * 1024.0);
    }

    /// A damaged file gives reasons, never zero.
    #[test]
    fn damaged_files_give_reasons() {
        for text in ["", "MemTotal: x kB\n", "MemTotal: 10\n", "MemTotal: 99999999999999999 kB\n"] {
            assert!(sample(text).iter().all(|reading| reading.outcome.is_err()), "{text:?}");
        }
    }
}
