//! RAPL energy counters and limits of `sys/class/powercap` (Linux, `power/powercap/powercap.rst`). Reads there only.

use std::time::Duration;

use units::Watts;

use super::energy_meter::EnergyMeter;
use super::{Sampling, Sensor, SensorInfo};
use crate::absent::{Absent, AbsentReason};
use crate::counter::{CounterSpec, Range};
use crate::reading::{Domain, Quantity, Reading, Source};
use crate::sys_root::SysRoot;

const FOLDER: &str = "sys/class/powercap";
const ENERGY_REMEDY: &str =
    "the file is for root only since Linux 5.10: run as root or give the program CAP_DAC_READ_SEARCH";
/// More zones than this are not looked at.
const ZONES_MAX: usize = 1024;

/// A zone whose energy is counted or whose power is limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The zone's folder, relative to the root.
    pub folder: String,
    /// The driver: the folder's name before the first colon.
    pub control_type: String,
    /// The kernel's name of the zone: `package-0`, `dram`, `psys`.
    pub name: String,
    /// The part of the machine. Names decide, never the number in the folder's name.
    pub domain: Domain,
    /// Whether another driver shows the same counter, so that this one's energy must not be added.
    pub is_duplicate: bool,
}

/// The power limit that rules a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveLimit {
    /// The lowest of the limits in force.
    pub power: Watts,
    /// The file that states it.
    pub file: String,
}

/// The RAPL zones of a machine, in order of their folders. Zones of other kinds are left out.
///
/// Two drivers (`intel-rapl` and `intel-rapl-mmio`) may show one package; both read the same register. The zone of
/// the first driver in the order `intel-rapl`, `intel-rapl-tpmi`, others, `intel-rapl-mmio` counts.
///
/// # Errors
/// Why the folder cannot be read, or that it holds no RAPL zone.
pub fn zones(root: &dyn SysRoot) -> Result<Vec<Zone>, Absent> {
    let remedy = "no RAPL here, as in most virtual machines; else load the module intel_rapl_msr";
    let names = root.list(FOLDER).map_err(|e| Absent::from_io(FOLDER, &e).with_remedy(remedy))?;
    let mut zones: Vec<Zone> = Vec::new();
    let mut fault = None;
    for entry in names.into_iter().filter(|name| name.contains(':')).take(ZONES_MAX) {
        let folder = format!("{FOLDER}/{entry}");
        let path = format!("{folder}/name");
        let name = match root.read(&path) {
            Ok(name) => name.trim().to_string(),
            Err(error) => {
                fault = Some(Absent::from_io(&path, &error));
                continue;
            }
        };
        let control_type = entry.split(':').next().unwrap_or_default().to_string();
        let parent =
            folder.rsplit_once(':').and_then(|(parent, _)| zones.iter().find(|z| z.folder == parent));
        let Some(domain) = domain(&name, parent) else { continue };
        zones.push(Zone { folder, control_type, name, domain, is_duplicate: false });
    }
    let firsts: Vec<bool> = zones.iter().map(|zone| has_better(zone, &zones)).collect();
    for (zone, is_duplicate) in zones.iter_mut().zip(firsts) {
        zone.is_duplicate = is_duplicate;
    }
    if zones.is_empty() {
        let empty = || Absent::new(AbsentReason::NotPresent, FOLDER, "no RAPL zone").with_remedy(remedy);
        return Err(fault.unwrap_or_else(empty));
    }
    Ok(zones)
}

/// How many processor packages the zones show. The platform zone is not one, and dies of one package are one.
pub fn package_count(zones: &[Zone]) -> usize {
    let package = |zone: &Zone| match zone.domain {
        Domain::Package { package, .. } => Some(package),
        _ => None,
    };
    zones.iter().filter_map(package).collect::<std::collections::BTreeSet<_>>().len()
}

/// The lowest long-term power limit in force on a domain, over all drivers.
///
/// A zone whose `enabled` says 0 does not limit. A zone without limits (AMD) has none to give.
///
/// # Errors
/// Why a limit that may be in force cannot be read (the effective limit is then unknown, not the other one), or
/// that there is none.
pub fn effective_limit(
    root: &dyn SysRoot,
    zones: &[Zone],
    domain: &Domain,
) -> Result<EffectiveLimit, Absent> {
    let mut lowest: Option<EffectiveLimit> = None;
    for zone in zones.iter().filter(|zone| zone.domain == *domain) {
        if root.read(&format!("{}/enabled", zone.folder)).is_ok_and(|text| text.trim() == "0") {
            continue;
        }
        let file = format!("{}/constraint_0_power_limit_uw", zone.folder);
        let text = match root.read(&file) {
            Ok(text) => text,
            Err(error) if crate::sys_root::is_missing(&error) => continue,
            Err(error) => return Err(Absent::from_io(&file, &error)),
        };
        let microwatts: u64 = match text.trim().parse() {
            Ok(microwatts) => microwatts,
            Err(_) => return Err(Absent::malformed(&file, &text, "a power in µW")),
        };
        let power = Watts::new(microwatts as f64 * 1e-6);
        if microwatts > 0 && lowest.as_ref().is_none_or(|limit| power < limit.power) {
            lowest = Some(EffectiveLimit { power, file });
        }
    }
    lowest.ok_or_else(|| {
        let text = format!("no power limit in force on {domain}");
        Absent::new(AbsentReason::NotPresent, FOLDER, text)
    })
}

/// Energy and mean power of packages, their parts and the platform from RAPL counters.
///
/// Cores and uncore are parts of the package, memory is not, and the platform holds all of them: sums over these
/// kinds have no meaning.
#[derive(Debug)]
pub struct PowercapSensor {
    info: SensorInfo,
    meters: Result<Vec<EnergyMeter>, Absent>,
}

impl PowercapSensor {
    /// Finds the machine's zones.
    pub fn discover(root: &dyn SysRoot) -> Self {
        Self {
            info: SensorInfo {
                id: "powercap".to_string(),
                source: Source::Powercap,
                quantities: vec![Quantity::Energy, Quantity::Power],
                update_period: Duration::from_millis(1),
                permission: "root or CAP_DAC_READ_SEARCH",
                cost: "one small file a zone; the read runs on the package's first CPU and interrupts it",
                notes: "counters of 32 bits that wrap after minutes at full power; the vendor states no accuracy, \
                        bounds hold one step of the register only",
            },
            meters: meters(root),
        }
    }

    /// Whether at least one package's energy could be read just now.
    pub(crate) fn is_readable(&self, root: &dyn SysRoot) -> bool {
        let is_package = |meter: &&EnergyMeter| matches!(meter.domain(), Domain::Package { .. });
        let meters = self.meters.as_deref().unwrap_or_default();
        meters.iter().filter(is_package).any(|meter| root.read(meter.file()).is_ok())
    }
}

impl Sensor for PowercapSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let meters = match &mut self.meters {
            Ok(meters) => meters,
            Err(absent) => {
                let now = sampling.now();
                let slot = super::Slot { metric: METRICS[1], domain: Domain::Node, source: Source::Powercap };
                readings.push(slot.reading((now, now), Err(absent.clone())));
                return;
            }
        };
        let mut has_vanished = false;
        for meter in meters.iter_mut() {
            let raw = sampling.read_number::<u64>(meter.file()).map_err(|absent| match absent.reason {
                AbsentReason::Permission => absent.with_remedy(ENERGY_REMEDY),
                _ => absent,
            });
            has_vanished |= raw.as_ref().is_err_and(|absent| absent.reason == AbsentReason::NotPresent);
            meter.sample(raw, sampling.now(), readings);
        }
        if has_vanished {
            self.relist(sampling.root());
        }
    }
}

impl PowercapSensor {
    /// A zone vanishes with the last CPU of its package and may return under another number.
    fn relist(&mut self, root: &dyn SysRoot) {
        let Ok(found) = meters(root) else { return };
        let Ok(meters) = &mut self.meters else { return };
        let is_known = |meter: &EnergyMeter, all: &[EnergyMeter]| {
            all.iter().any(|other| other.domain() == meter.domain() && other.file() == meter.file())
        };
        meters.retain(|meter| is_known(meter, &found));
        let new: Vec<EnergyMeter> = found.into_iter().filter(|meter| !is_known(meter, meters)).collect();
        meters.extend(new);
    }
}

const METRICS: [&str; 2] = ["rapl.energy", "rapl.power"];

fn meters(root: &dyn SysRoot) -> Result<Vec<EnergyMeter>, Absent> {
    let zones = zones(root)?;
    let meters = zones.iter().filter(|zone| !zone.is_duplicate).map(|zone| {
        let file = format!("{}/energy_uj", zone.folder);
        EnergyMeter::new(zone.domain.clone(), Source::Powercap, METRICS, file, counter_spec(root, zone))
    });
    Ok(meters.collect())
}

fn counter_spec(root: &dyn SysRoot, zone: &Zone) -> CounterSpec {
    let number = |name: &str| root.read(&format!("{}/{name}", zone.folder)).ok()?.trim().parse::<u64>().ok();
    let range = match number("max_energy_range_uj") {
        Some(range) if range > 0 => Range::Wraps(range),
        _ => Range::Unreadable,
    };
    let stated = (0..3).filter_map(|index| number(&format!("constraint_{index}_max_power_uw")));
    let stated = Watts::new(stated.max().unwrap_or(0) as f64 * 1e-6);
    // Wide on purpose: too small a figure would drop true energy as a reset.
    let power_max = match zone.domain {
        Domain::Platform => stated.max(Watts::new(10_000.0)),
        Domain::Dram { .. } => stated.max(Watts::new(200.0)),
        _ => stated.max(Watts::new(600.0)),
    };
    CounterSpec { range, joules_per_count: 1e-6, power_max, update_period: Duration::from_millis(1) }
}

/// The part of the machine that a zone's name means: `package-P`, `package-P-die-D`, `psys`, or a package's child.
fn domain(name: &str, parent: Option<&Zone>) -> Option<Domain> {
    if name == "psys" {
        return Some(Domain::Platform);
    }
    if let Some(rest) = name.strip_prefix("package-") {
        let (package, die) = match rest.split_once("-die-") {
            Some((package, die)) => (package, Some(die.parse().ok()?)),
            None => (rest, None),
        };
        return Some(Domain::Package { package: package.parse().ok()?, die });
    }
    let Domain::Package { package, die } = parent?.domain else { return None };
    match name {
        "core" => Some(Domain::Cores { package, die }),
        "uncore" => Some(Domain::Uncore { package, die }),
        "dram" => Some(Domain::Dram { package, die }),
        _ => None,
    }
}

fn has_better(zone: &Zone, zones: &[Zone]) -> bool {
    let rank = |zone: &Zone| match zone.control_type.as_str() {
        "intel-rapl" => 0,
        "intel-rapl-tpmi" => 1,
        "intel-rapl-mmio" => 3,
        _ => 2,
    };
    let is_better = |other: &Zone| {
        (rank(other), &other.control_type) < (rank(zone), &zone.control_type) && other.domain == zone.domain
    };
    zones.iter().any(is_better)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    /// Dies of one package are one socket, and their children keep apart.
    #[test]
    fn dies_are_one_package() {
        let names = [
            ("intel-rapl:0", "package-0-die-0"),
            ("intel-rapl:0:0", "dram"),
            ("intel-rapl:1", "package-0-die-1"),
            ("intel-rapl:1:0", "dram"),
            ("intel-rapl:2", "package-12"),
            ("dtpm:0", "package-9-of-something"),
        ];
        let root: MemoryRoot =
            names.into_iter().map(|(zone, name)| (format!("{FOLDER}/{zone}/name"), name)).collect();
        let zones = zones(&root).unwrap();
        assert_eq!(package_count(&zones), 2);
        let domains: Vec<String> = zones.iter().map(|zone| zone.domain.to_string()).collect();
        let expected = ["package-0-die-0", "dram-0-die-0", "package-0-die-1", "dram-0-die-1", "package-12"];
        assert_eq!(domains, expected);
        assert!(zones.iter().all(|zone| !zone.is_duplicate));
    }

    /// A limit that cannot be read makes the effective limit unknown; a disabled zone does not limit.
    #[test]
    fn effective_limit_is_the_lowest_in_force() {
        let files = [
            ("intel-rapl:0/name", "package-0"),
            ("intel-rapl:0/constraint_0_power_limit_uw", "165000000"),
            ("intel-rapl-mmio:0/name", "package-0"),
            ("intel-rapl-mmio:0/enabled", "0"),
            ("intel-rapl-mmio:0/constraint_0_power_limit_uw", "90000000"),
        ];
        let root: MemoryRoot =
            files.into_iter().map(|(file, text)| (format!("{FOLDER}/{file}"), text)).collect();
        let zones = zones(&root).unwrap();
        let package = Domain::Package { package: 0, die: None };
        assert_eq!(effective_limit(&root, &zones, &package).unwrap().power, Watts::new(165.0));
        root.set(&format!("{FOLDER}/intel-rapl-mmio:0/enabled"), "1");
        assert_eq!(effective_limit(&root, &zones, &package).unwrap().power, Watts::new(90.0));
        root.fail_read(&format!("{FOLDER}/intel-rapl-mmio:0/constraint_0_power_limit_uw"), 13);
        let unknown = effective_limit(&root, &zones, &package).unwrap_err();
        assert_eq!(unknown.reason, AbsentReason::Permission);
    }
}
