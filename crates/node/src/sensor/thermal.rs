//! Temperatures of thermal zones (Linux, `driver-api/thermal/sysfs-api.rst`). Reads `sys/class/thermal` only.

use std::collections::BTreeMap;
use std::time::Duration;

use units::Celsius;

use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::{Absent, AbsentReason};
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};
use crate::sys_root::SysRoot;

const FOLDER: &str = "sys/class/thermal";
const METRIC: &str = "zone.temperature";

/// Temperature of each thermal zone, by the zone's type.
#[derive(Debug)]
pub struct ThermalSensor {
    info: SensorInfo,
    zones: Result<Vec<(String, String)>, Absent>,
}

impl ThermalSensor {
    /// Finds the machine's zones. Several zones of one type are told apart as `type#2`, in the kernel's order.
    pub fn discover(root: &dyn SysRoot) -> Self {
        Self {
            info: SensorInfo {
                id: "thermal".to_string(),
                source: Source::Thermal,
                quantities: vec![Quantity::Temperature],
                update_period: Duration::from_secs(1),
                permission: "none",
                cost: "one or two small files a zone; ACPI zones run firmware code",
                notes: "some firmware shows fixed or impossible values; below -40 °C and above 200 °C is refused",
            },
            zones: zones(root),
        }
    }
}

impl Sensor for ThermalSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let zones = match &self.zones {
            Ok(zones) => zones,
            Err(absent) => {
                let now = sampling.now();
                let slot = Slot { metric: METRIC, domain: Domain::Node, source: Source::Thermal };
                readings.push(slot.reading((now, now), Err(absent.clone())));
                return;
            }
        };
        for (key, folder) in zones {
            let outcome = sample_zone(folder, sampling);
            let now = sampling.now();
            let slot = Slot { metric: METRIC, domain: Domain::Zone(key.clone()), source: Source::Thermal };
            readings.push(slot.reading((now, now), outcome));
        }
    }
}

fn zones(root: &dyn SysRoot) -> Result<Vec<(String, String)>, Absent> {
    let names = root.list(FOLDER).map_err(|error| Absent::from_io(FOLDER, &error))?;
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut zones = Vec::new();
    for name in names.into_iter().filter(|name| name.starts_with("thermal_zone")) {
        let folder = format!("{FOLDER}/{name}");
        let kind = root.read(&format!("{folder}/type")).map_or(name, |text| text.trim().to_string());
        let count = seen.entry(kind.clone()).or_default();
        *count += 1;
        let key = if *count == 1 { kind } else { format!("{kind}#{count}") };
        zones.push((key, folder));
    }
    if zones.is_empty() {
        return Err(Absent::new(AbsentReason::NotPresent, FOLDER, "no thermal zone"));
    }
    Ok(zones)
}

fn sample_zone(folder: &str, sampling: &mut Sampling<'_>) -> Result<Measurement, Absent> {
    let path = format!("{folder}/temp");
    // A zone that is switched off shows its last temperature for ever.
    let mode = format!("{folder}/mode");
    if sampling.read_now(&mode).is_ok_and(|text| text.trim() == "disabled") {
        return Err(Absent::new(AbsentReason::Disabled, mode, "the zone is switched off"));
    }
    let millidegrees = sampling.read_number::<i64>(&path)?;
    temperature(&path, millidegrees)
}

/// A temperature in thousandths of a degree, refused where no machine lives.
pub(super) fn temperature(path: &str, millidegrees: i64) -> Result<Measurement, Absent> {
    if !(-40_000..=200_000).contains(&millidegrees) {
        let text = format!("{millidegrees} m°C is no temperature of a machine (-40 to 200 °C)");
        return Err(Absent::new(AbsentReason::Malformed, path, text));
    }
    let celsius = millidegrees as f64 * 1e-3;
    let bounds = Bounded { value: celsius, low: celsius - 0.5, high: celsius + 0.5 };
    Ok(Measurement {
        value: Value::Temperature(bounds.map(Celsius::new)),
        quality: Quality::Measured,
        flags: Flags::NONE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    /// Zones are told apart by type; a switched-off zone and an impossible value give reasons.
    #[test]
    fn zones_by_type() {
        let files = [
            ("thermal_zone0/type", "x86_pkg_temp"),
            ("thermal_zone0/temp", "54000"),
            ("thermal_zone1/type", "x86_pkg_temp"),
            ("thermal_zone1/temp", "-44000"),
            ("thermal_zone2/type", "acpitz"),
            ("thermal_zone2/mode", "disabled"),
            ("thermal_zone2/temp", "27800"),
            ("cooling_device0/type", "Processor"),
        ];
        let root: MemoryRoot =
            files.into_iter().map(|(file, text)| (format!("{FOLDER}/{file}"), text)).collect();
        let mut readings = Vec::new();
        ThermalSensor::discover(&root).sample(&mut Sampling::new(&root), &mut readings);
        assert_eq!(readings.len(), 3);
        assert_eq!(readings[0].measurement().unwrap().value.numbers().value, 54.0);
        assert_eq!(readings[1].domain, Domain::Zone("x86_pkg_temp#2".to_string()));
        assert_eq!(readings[1].outcome.as_ref().unwrap_err().reason, AbsentReason::Malformed);
        assert_eq!(readings[2].outcome.as_ref().unwrap_err().reason, AbsentReason::Disabled);
    }
}
