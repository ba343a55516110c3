//! Hardware monitoring chips (Linux, `hwmon/sysfs-interface.rst`). Reads `sys/class/hwmon` only.

use std::collections::BTreeMap;
use std::time::Duration;

use units::Watts;

use super::energy_meter::EnergyMeter;
use super::thermal::temperature;
use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::{Absent, AbsentReason};
use crate::counter::{CounterSpec, Range};
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};
use crate::sys_root::SysRoot;

const FOLDER: &str = "sys/class/hwmon";
/// The driver of the firmware's meter of the whole machine's input power.
pub(crate) const NODE_METER: &str = "power_meter";
/// No node draws more; drivers show such numbers when they have no value.
const MICROWATTS_MAX: i64 = 100_000_000_000;
/// Channels beyond this many are not looked at.
const CHANNELS_MAX: usize = 4096;

/// Power, temperature, voltage, current and energy of each chip's channels.
///
/// Chips are known by their driver's name, never by the number that changes at every boot; several chips of one
/// driver are told apart by their device (`coretemp@coretemp.1`), or as `name#2` where the device has no name.
#[derive(Debug)]
pub struct HwmonSensor {
    info: SensorInfo,
    channels: Result<Vec<Channel>, Absent>,
}

#[derive(Debug)]
struct Channel {
    domain: Domain,
    kind: Kind,
    /// The files that may hold the value, best first.
    files: Vec<String>,
    /// The folder and stem for `_enable`, `_fault` and the like that exist.
    enable: Option<String>,
    fault: Option<String>,
    /// How long the driver averages, in milliseconds.
    interval: Option<String>,
    meter: Option<EnergyMeter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Power,
    Temperature,
    Voltage,
    Current,
    Energy,
}

impl Kind {
    /// The kinds with the stem of their files and the readings' metric.
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Power, "power", "hwmon.power"),
        (Self::Temperature, "temp", "hwmon.temperature"),
        (Self::Voltage, "in", "hwmon.voltage"),
        (Self::Current, "curr", "hwmon.current"),
        (Self::Energy, "energy", "hwmon.energy"),
    ];

    fn metric(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("hwmon", |(_, _, metric)| metric)
    }
}

impl HwmonSensor {
    /// Finds the machine's chips and their channels.
    pub fn discover(root: &dyn SysRoot) -> Self {
        Self {
            info: SensorInfo {
                id: "hwmon".to_string(),
                source: Source::Hwmon,
                quantities: vec![
                    Quantity::Power,
                    Quantity::Temperature,
                    Quantity::Voltage,
                    Quantity::Current,
                    Quantity::Energy,
                ],
                update_period: Duration::from_secs(1),
                permission: "none, for some chips root",
                cost: "one to three small files a channel; chips on slow buses take milliseconds, and coretemp \
                       interrupts the CPU whose temperature is read",
                notes: "a power is the driver's average where it has one, else its last sample",
            },
            channels: channels(root),
        }
    }
}

impl Sensor for HwmonSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let channels = match &mut self.channels {
            Ok(channels) => channels,
            Err(absent) => {
                let now = sampling.now();
                let slot = Slot { metric: "hwmon", domain: Domain::Node, source: Source::Hwmon };
                readings.push(slot.reading((now, now), Err(absent.clone())));
                return;
            }
        };
        let mut has_vanished = false;
        for channel in channels.iter_mut() {
            let raw = channel.read(sampling);
            has_vanished |= raw.as_ref().is_err_and(|absent| absent.reason == AbsentReason::NotPresent);
            channel.push(raw, sampling, readings);
        }
        if has_vanished {
            // A reloaded driver comes back under another number; energy then starts a new interval.
            self.channels = self::channels(sampling.root());
        }
    }
}

impl Channel {
    /// The channel's number, with the file that it came from.
    fn read(&self, sampling: &mut Sampling<'_>) -> Result<(String, i64), Absent> {
        for (file, bad, text) in [
            (&self.enable, "0", "the channel is switched off"),
            (&self.fault, "1", "the chip reports a fault"),
        ] {
            if let Some(file) = file
                && sampling.read_now(file).is_ok_and(|text| text.trim() == bad)
            {
                return Err(Absent::new(AbsentReason::Disabled, file.clone(), text));
            }
        }
        let mut first_absent = None;
        for file in &self.files {
            match sampling.read_number::<i64>(file) {
                Ok(raw) => return Ok((file.clone(), raw)),
                Err(absent) => first_absent = first_absent.or(Some(absent)),
            }
        }
        let none = || Absent::new(AbsentReason::NotPresent, FOLDER, "the channel has no value");
        Err(first_absent.unwrap_or_else(none))
    }

    fn push(
        &mut self,
        raw: Result<(String, i64), Absent>,
        sampling: &mut Sampling<'_>,
        readings: &mut Vec<Reading>,
    ) {
        let now = sampling.now();
        if let Some(meter) = &mut self.meter {
            let raw = raw.and_then(|(file, raw)| {
                u64::try_from(raw).map_err(|_| Absent::malformed(&file, &raw.to_string(), "an energy in µJ"))
            });
            meter.sample(raw, now, readings);
            return;
        }
        let averaged = match (&raw, &self.interval) {
            (Ok(_), Some(file)) => sampling.read_number::<u64>(file).unwrap_or(0),
            _ => 0,
        };
        let start = now.as_nanos().saturating_sub(averaged.saturating_mul(1_000_000));
        let slot = Slot { metric: self.kind.metric(), domain: self.domain.clone(), source: Source::Hwmon };
        let outcome = raw.and_then(|(file, raw)| convert(self.kind, &file, raw));
        readings.push(slot.reading((units::Instant::from_nanos(start), now), outcome));
    }
}

/// A value in SI units from the kernel's µW, m°C, mV and mA; half a step to each side.
fn convert(kind: Kind, file: &str, raw: i64) -> Result<Measurement, Absent> {
    let (quantity, scale) = match kind {
        Kind::Temperature => return temperature(file, raw),
        Kind::Power if (0..=MICROWATTS_MAX).contains(&raw) && raw != i64::from(u32::MAX) => {
            (Quantity::Power, 1e-6)
        }
        Kind::Voltage => (Quantity::Voltage, 1e-3),
        Kind::Current => (Quantity::Current, 1e-3),
        Kind::Power | Kind::Energy => {
            return Err(Absent::malformed(file, &raw.to_string(), "a possible power in µW"));
        }
    };
    let value = raw as f64 * scale;
    let numbers = Bounded { value, low: value - scale / 2.0, high: value + scale / 2.0 };
    Ok(Measurement {
        value: Value::from_numbers(quantity, numbers),
        quality: Quality::Measured,
        flags: Flags::NONE,
    })
}

fn channels(root: &dyn SysRoot) -> Result<Vec<Channel>, Absent> {
    let entries = root.list(FOLDER).map_err(|error| Absent::from_io(FOLDER, &error))?;
    let mut chips: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let folder = format!("{FOLDER}/{entry}");
        if let Ok(name) = root.read(&format!("{folder}/name")) {
            chips.push((name.trim().to_string(), folder));
        }
    }
    let mut channels = Vec::new();
    for (key, folder) in chip_keys(root, chips) {
        let files = root.list(&folder).unwrap_or_default();
        for stem in stems(&files) {
            if let Some(channel) = channel(root, &key, &folder, stem, &files) {
                channels.push(channel);
            }
        }
    }
    channels.truncate(CHANNELS_MAX);
    if channels.is_empty() {
        return Err(Absent::new(AbsentReason::NotPresent, FOLDER, "no chip with a channel"));
    }
    Ok(channels)
}

/// Chips by keys that survive a boot, sorted by key.
fn chip_keys(root: &dyn SysRoot, chips: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    for (name, folder) in &chips {
        let is_alone = chips.iter().filter(|(other, _)| other == name).count() == 1;
        let mut key = name.clone();
        if !is_alone && let Ok(device) = root.link_name(&format!("{folder}/device")) {
            key = format!("{name}@{device}");
        }
        let mut number = 2;
        while keys.contains_key(&key) {
            key = format!("{name}#{number}");
            number += 1;
        }
        keys.insert(key, folder.clone());
    }
    keys
}

/// The channels' stems (`power1`, `in0`), each once, in order.
fn stems(files: &[String]) -> Vec<(Kind, &str)> {
    let mut stems: Vec<(Kind, &str)> = Vec::new();
    for file in files {
        let Some((stem, "input" | "average")) = file.split_once('_') else { continue };
        let name = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let kind = Kind::ALL.iter().find(|(_, prefix, _)| *prefix == name).map(|(kind, ..)| *kind);
        if let Some(kind) = kind.filter(|_| stem.len() > name.len())
            && !stems.iter().any(|(_, other)| *other == stem)
        {
            stems.push((kind, stem));
        }
    }
    stems
}

fn channel(
    root: &dyn SysRoot,
    device: &str,
    folder: &str,
    (kind, stem): (Kind, &str),
    files: &[String],
) -> Option<Channel> {
    let existing = |suffix: &str| {
        let name = format!("{stem}_{suffix}");
        files.contains(&name).then(|| format!("{folder}/{name}"))
    };
    let label = existing("label").and_then(|path| root.read(&path).ok()).map(|text| text.trim().to_string());
    let label = label.filter(|label| !label.is_empty()).unwrap_or_else(|| stem.to_string());
    let domain = Domain::Chip { device: device.to_string(), channel: label };
    let values: Vec<String> = [existing("average"), existing("input")].into_iter().flatten().collect();
    let first = values.first()?.clone();
    let spec = CounterSpec {
        range: Range::Endless,
        joules_per_count: 1e-6,
        power_max: Watts::new(10_000.0),
        update_period: Duration::from_secs(1),
    };
    let metrics = ["hwmon.energy", "hwmon.power"];
    let meter =
        (kind == Kind::Energy).then(|| EnergyMeter::new(domain.clone(), Source::Hwmon, metrics, first, spec));
    Some(Channel {
        domain,
        kind,
        enable: existing("enable"),
        fault: existing("fault"),
        interval: existing("average").and(existing("average_interval")),
        files: values,
        meter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    fn sample(sensor: &mut HwmonSensor, root: &MemoryRoot) -> Vec<Reading> {
        let mut readings = Vec::new();
        sensor.sample(&mut Sampling::new(root), &mut readings);
        readings
    }

    fn root(files: &[(&str, &str)]) -> MemoryRoot {
        files.iter().map(|(file, text)| (format!("{FOLDER}/{file}"), *text)).collect()
    }

    /// Two chips of one driver keep their names when their numbers change places.
    #[test]
    fn chips_are_known_by_their_device() {
        let names = |first: &str, second: &str| {
            let root = root(&[
                (&format!("{first}/name"), "coretemp"),
                (&format!("{first}/temp1_input"), "50000"),
                (&format!("{second}/name"), "coretemp"),
                (&format!("{second}/temp1_input"), "60000"),
            ]);
            root.set_link(&format!("{FOLDER}/{first}/device"), "coretemp.0");
            root.set_link(&format!("{FOLDER}/{second}/device"), "coretemp.1");
            sample(&mut HwmonSensor::discover(&root), &root)
        };
        let (a, b) = (names("hwmon0", "hwmon1"), names("hwmon4", "hwmon2"));
        assert_eq!(a, b);
        assert_eq!(a[0].domain.to_string(), "coretemp@coretemp.0/temp1");
    }

    /// A channel that is switched off or faulty is absent, and the values drivers show for "no value" are refused.
    #[test]
    fn switched_off_faulty_and_impossible() {
        let root = root(&[
            ("hwmon0/name", "chip"),
            ("hwmon0/power1_input", "4294967295"),
            ("hwmon0/power2_input", "4294967295000"),
            ("hwmon0/temp1_input", "40000"),
            ("hwmon0/temp1_enable", "0"),
            ("hwmon0/temp2_input", "40000"),
            ("hwmon0/temp2_fault", "1"),
            ("hwmon0/temp3_input", "garbage"),
        ]);
        let readings = sample(&mut HwmonSensor::discover(&root), &root);
        assert_eq!(readings.len(), 5);
        assert!(readings.iter().all(|reading| reading.outcome.is_err()), "{readings:?}");
    }

    /// An averaged power is an interval as long as the driver's average; energy counters give power.
    #[test]
    fn averages_and_energy_counters() {
        let root = root(&[
            ("hwmon0/name", "power_meter"),
            ("hwmon0/power1_average", "250000000"),
            ("hwmon0/power1_average_interval", "50"),
            ("hwmon0/energy1_input", "1000000"),
        ]);
        root.advance(Duration::from_secs(5));
        let mut sensor = HwmonSensor::discover(&root);
        sample(&mut sensor, &root);
        root.advance(Duration::from_secs(2));
        root.set(&format!("{FOLDER}/hwmon0/energy1_input"), "201000000");
        let readings = sample(&mut sensor, &root);
        let power = readings.iter().find(|r| r.domain.to_string() == "power_meter/power1").unwrap();
        assert_eq!(power.end - power.start, Duration::from_millis(50));
        let metered =
            readings.iter().find(|r| r.domain.to_string() == "power_meter/energy1" && r.power().is_some());
        assert_eq!(metered.unwrap().power().unwrap().value, Watts::new(100.0));
    }
}
