//! Load averages from `proc/loadavg` (proc(5)). Reads that file only.

use std::time::Duration;

use units::Ratio;

use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::Absent;
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};

const FILE: &str = "proc/loadavg";

/// Mean number of tasks that run, want to run or wait for a disk, over 1, 5 and 15 minutes.
#[derive(Debug)]
pub struct LoadSensor {
    info: SensorInfo,
}

impl LoadSensor {
    /// The sensor of any Linux machine.
    pub fn new() -> Self {
        Self {
            info: SensorInfo {
                id: "load".to_string(),
                source: Source::Proc,
                quantities: vec![Quantity::Load],
                update_period: Duration::from_secs(5),
                permission: "none",
                cost: "one small file, no interrupt",
                notes: "exponentially weighted means over 1, 5 and 15 minutes, resolution 0.01",
            },
        }
    }
}

impl Default for LoadSensor {
    fn default() -> Self {
        Self::new()
    }
}

impl Sensor for LoadSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let text = sampling.read(FILE);
        let now = sampling.now();
        for (index, metric) in ["load.1min", "load.5min", "load.15min"].into_iter().enumerate() {
            let slot = Slot { metric, domain: Domain::Node, source: Source::Proc };
            let outcome = text.clone().and_then(|text| parse(&text, index));
            readings.push(slot.reading((now, now), outcome));
        }
    }
}

fn parse(text: &str, index: usize) -> Result<Measurement, Absent> {
    let word = text.split_whitespace().nth(index);
    let load = word.and_then(|word| word.parse::<f64>().ok()).filter(|load| load.is_finite() && *load >= 0.0);
    let load = load.ok_or_else(|| Absent::malformed(FILE, text, "three load averages"))?;
    let bounds = Bounded { value: load, low: (load - 0.005).max(0.0), high: load + 0.005 };
    Ok(Measurement {
        value: Value::Load(bounds.map(Ratio::new)),
        quality: Quality::Measured,
        flags: Flags::NONE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    /// The three means are read in their order, and a damaged file gives a reason and no value.
    #[test]
    fn reads_three_means() {
        let root: MemoryRoot = [(FILE, "0.32 1.07 12.02 5/117 6386\n")].into_iter().collect();
        let mut sensor = LoadSensor::new();
        let mut readings = Vec::new();
        sensor.sample(&mut Sampling::new(&root), &mut readings);
        let values: Vec<f64> =
            readings.iter().map(|r| r.measurement().unwrap().value.numbers().value).collect();
        assert_eq!(values, [0.32, 1.07, 12.02]);
        for damaged in ["", "0.1 nan 0.2", "-1 0 0"] {
            root.set(FILE, damaged);
            readings.clear();
            sensor.sample(&mut Sampling::new(&root), &mut readings);
            assert!(readings.iter().any(|r| r.outcome.is_err()), "{damaged:?}");
        }
    }
}
