//! RAPL energy counters as events of the kernel's `power` performance monitoring unit (`perf_event_open(2)`).
//! Reads `sys/bus/event_source/devices/power` and counts through [`SysRoot::perf_count`].

use std::time::Duration;

use units::{CpuList, Watts};

use super::energy_meter::EnergyMeter;
use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::{Absent, AbsentReason};
use crate::counter::{CounterSpec, Range};
use crate::reading::{Domain, Quantity, Reading, Source};
use crate::sys_root::{PerfEvent, SysRoot};
use crate::topology::Topology;

const FOLDER: &str = "sys/bus/event_source/devices/power";
const METRICS: [&str; 2] = ["rapl.energy", "rapl.power"];
const PERMISSION_REMEDY: &str =
    "give the program CAP_PERFMON, or set kernel.perf_event_paranoid to 0 or lower";

/// Energy and mean power of packages and their parts from perf events.
///
/// The kernel accumulates the hardware's 32 bits into 64, so there is no wrap to lose. One count is worth what the
/// event's `scale` file says (2^-32 J on all processors so far).
#[derive(Debug)]
pub struct PerfSensor {
    info: SensorInfo,
    meters: Result<Vec<(PerfEvent, EnergyMeter)>, Absent>,
}

impl PerfSensor {
    /// Finds the unit's energy events.
    pub fn discover(root: &dyn SysRoot, topology: &Topology) -> Self {
        Self {
            info: SensorInfo {
                id: "perf".to_string(),
                source: Source::Perf,
                quantities: vec![Quantity::Energy, Quantity::Power],
                update_period: Duration::from_millis(1),
                permission: "CAP_PERFMON, or kernel.perf_event_paranoid at 0 or lower",
                cost: "one read a package and event on the CPU in the unit's cpumask, which it interrupts",
                notes: "memory energy may differ from powercap's by 0.3 %, whose unit is rounded",
            },
            meters: meters(root, topology),
        }
    }
}

impl Sensor for PerfSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let meters = match &mut self.meters {
            Ok(meters) => meters,
            Err(absent) => {
                let now = sampling.now();
                let slot = Slot { metric: METRICS[1], domain: Domain::Node, source: Source::Perf };
                readings.push(slot.reading((now, now), Err(absent.clone())));
                return;
            }
        };
        for (event, meter) in meters {
            let count = sampling.perf_count(event).map_err(|absent| match absent.reason {
                AbsentReason::Permission => absent.with_remedy(PERMISSION_REMEDY),
                _ => absent,
            });
            meter.sample(count, sampling.now(), readings);
        }
    }
}

fn meters(root: &dyn SysRoot, topology: &Topology) -> Result<Vec<(PerfEvent, EnergyMeter)>, Absent> {
    let read = |name: &str| {
        let path = format!("{FOLDER}/{name}");
        root.read(&path).map_err(|error| Absent::from_io(&path, &error)).map(|text| (path, text))
    };
    let (path, kind) = read("type")?;
    let kind = kind.trim().parse().map_err(|_| Absent::malformed(&path, &kind, "a unit's number"))?;
    let (path, mask) = read("cpumask")?;
    let cpus: CpuList = mask.parse().map_err(|_| Absent::malformed(&path, &mask, "a CPU list"))?;
    let mut meters = Vec::new();
    for name in ["energy-pkg", "energy-ram", "energy-cores", "energy-gpu", "energy-psys"] {
        let Ok((path, text)) = read(&format!("events/{name}")) else { continue };
        let config = parse_event(&text).ok_or_else(|| Absent::malformed(&path, &text, "event=0xNN"))?;
        let (path, text) = read(&format!("events/{name}.scale"))?;
        let scale = text.trim().parse::<f64>().ok().filter(|scale| scale.is_finite() && *scale > 0.0);
        let scale = scale.ok_or_else(|| Absent::malformed(&path, &text, "a scale above zero"))?;
        if let Ok((path, unit)) = read(&format!("events/{name}.unit"))
            && unit.trim() != "Joules"
        {
            return Err(Absent::malformed(&path, &unit, "the unit Joules"));
        }
        for cpu in cpus.iter() {
            let package = topology.package_of(cpu).unwrap_or(0);
            let Some(domain) = domain(name, package, die(root, topology, &cpus, cpu)) else { continue };
            if meters.iter().any(|(_, meter): &(_, EnergyMeter)| *meter.domain() == domain) {
                continue;
            }
            let event = PerfEvent { unit: "power".to_string(), name: name.to_string(), kind, config, cpu };
            let file = format!("perf event power/{name}/ on cpu{cpu}");
            let meter = EnergyMeter::new(domain, Source::Perf, METRICS, file, spec(name, scale));
            meters.push((event, meter));
        }
    }
    if meters.is_empty() {
        return Err(Absent::new(AbsentReason::NotPresent, format!("{FOLDER}/events"), "no energy event"));
    }
    Ok(meters)
}

fn spec(name: &str, joules_per_count: f64) -> CounterSpec {
    let power_max = match name {
        "energy-psys" => Watts::new(10_000.0),
        "energy-ram" => Watts::new(200.0),
        _ => Watts::new(600.0),
    };
    CounterSpec {
        range: Range::Endless,
        joules_per_count,
        power_max,
        update_period: Duration::from_millis(1),
    }
}

/// The die of a CPU, where its package has several that count apart: the unit then names one CPU a die.
fn die(root: &dyn SysRoot, topology: &Topology, counting: &CpuList, cpu: u32) -> Option<u32> {
    let package = topology.package_of(cpu);
    if counting.iter().filter(|other| topology.package_of(*other) == package).count() < 2 {
        return None;
    }
    let text = root.read(&format!("sys/devices/system/cpu/cpu{cpu}/topology/die_id")).ok()?;
    text.trim().parse().ok()
}

fn domain(event: &str, package: u32, die: Option<u32>) -> Option<Domain> {
    match event {
        "energy-pkg" => Some(Domain::Package { package, die }),
        "energy-ram" => Some(Domain::Dram { package, die }),
        "energy-cores" => Some(Domain::Cores { package, die }),
        "energy-gpu" => Some(Domain::Uncore { package, die }),
        "energy-psys" => Some(Domain::Platform),
        _ => None,
    }
}

/// Reads `event=0x02`.
fn parse_event(text: &str) -> Option<u64> {
    let number = text.trim().strip_prefix("event=")?;
    match number.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    /// The files of the unit must be whole; a damaged scale must not become a wrong energy.
    #[test]
    fn damaged_files_give_reasons() {
        let files = [
            ("type", "20\n"),
            ("cpumask", "0\n"),
            ("events/energy-pkg", "event=0x02\n"),
            ("events/energy-pkg.scale", "2.3283064365386962890625e-10\n"),
            ("events/energy-pkg.unit", "Joules\n"),
        ];
        for damaged in
            ["type", "cpumask", "events/energy-pkg", "events/energy-pkg.scale", "events/energy-pkg.unit"]
        {
            let root: MemoryRoot =
                files.iter().map(|(name, text)| (format!("{FOLDER}/{name}"), *text)).collect();
            assert!(meters(&root, &Topology::read(&root)).is_ok());
            root.set(&format!("{FOLDER}/{damaged}"), "-1x\n");
            let absent = meters(&root, &Topology::read(&root)).unwrap_err();
            assert_eq!(absent.reason, AbsentReason::Malformed, "{damaged}");
        }
    }

    /// A package with two dies that count apart has two counters, so that its power is not half of the truth; CPUs of
    /// one die are one counter.
    #[test]
    fn dies_count_apart() {
        let root = MemoryRoot::new();
        for (name, text) in [
            ("type", "20\n"),
            ("cpumask", "0,2\n"),
            ("events/energy-pkg", "event=0x02\n"),
            ("events/energy-pkg.scale", "2.3283064365386962890625e-10\n"),
        ] {
            root.set(&format!("{FOLDER}/{name}"), text);
        }
        root.set("sys/devices/system/cpu/online", "0-3\n");
        for cpu in 0..4 {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            root.set(&format!("{topology}/physical_package_id"), "0\n");
            root.set(&format!("{topology}/die_id"), if cpu < 2 { "0\n" } else { "1\n" });
        }
        let domains = |root: &MemoryRoot| -> Vec<String> {
            let meters = meters(root, &Topology::read(root)).unwrap();
            meters.iter().map(|(_, meter)| meter.domain().to_string()).collect()
        };
        assert_eq!(domains(&root), ["package-0-die-0", "package-0-die-1"]);
        root.set(&format!("{FOLDER}/cpumask"), "0\n");
        assert_eq!(domains(&root), ["package-0"]);
    }

    /// A refused counter names the capability that is missing.
    #[test]
    fn refusal_names_the_capability() {
        let files = [
            ("type", "20"),
            ("cpumask", "0"),
            ("events/energy-pkg", "event=0x02"),
            ("events/energy-pkg.scale", "1e-9"),
        ];
        let root: MemoryRoot = files.iter().map(|(name, text)| (format!("{FOLDER}/{name}"), *text)).collect();
        root.set_perf_count("power", "energy-pkg", 0, Err(13));
        let mut readings = Vec::new();
        PerfSensor::discover(&root, &Topology::read(&root)).sample(&mut Sampling::new(&root), &mut readings);
        let absent = readings[0].outcome.as_ref().unwrap_err();
        assert_eq!(absent.reason, AbsentReason::Permission);
        assert!(absent.to_string().contains("CAP_PERFMON"), "{absent}");
    }
}
