//! Knobs: settings of the machine that this program may change. Reads and writes files below a [`SysRoot`].
//!
//! Every write is checked: the wanted value is brought to what the hardware can hold, written, read back, and an error
//! unless the machine then shows exactly that value. Changes that must be undone go through [`crate::journal`].

use std::fmt;
use std::io;

use units::{Hertz, Watts};

use crate::absent::Absent;
use crate::reading::Domain;
use crate::sensor::frequency::policies;
use crate::sensor::powercap::zones;
use crate::sys_root::SysRoot;

/// What a knob says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobInfo {
    /// The knob's name, the same from boot to boot: `cpufreq.policy0.max`, `powercap.package-0.limit`.
    pub id: String,
    /// The part of the machine that it rules.
    pub scope: Domain,
    /// The lowest value that is accepted.
    pub low: KnobValue,
    /// The highest value that is accepted.
    pub high: KnobValue,
    /// The step between values.
    pub quantum: KnobValue,
    /// What is needed to set it.
    pub permission: &'static str,
}

/// A knob's value with its unit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum KnobValue {
    /// A clock frequency.
    Frequency(Hertz),
    /// A power limit.
    Power(Watts),
}

/// What a knob was set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    /// What was asked for.
    pub wanted: KnobValue,
    /// What the machine shows after the write.
    pub value: KnobValue,
    /// Whether the wanted value lay outside the knob's range.
    pub is_clamped: bool,
}

/// A setting of the machine.
pub trait Knob: Send + Sync + fmt::Debug {
    /// What the knob says about itself.
    fn info(&self) -> &KnobInfo;

    /// The file that holds the setting, relative to the root.
    fn path(&self) -> &str;

    /// The value now. Blocks for one read.
    ///
    /// # Errors
    /// When the file cannot be read or its text is not a value.
    fn read(&self, root: &dyn SysRoot) -> Result<KnobValue, KnobError>;

    /// The nearest value not above `value` that the knob can hold, within its range.
    ///
    /// # Errors
    /// When the value has another unit than the knob or is not finite and positive.
    fn quantise(&self, value: KnobValue) -> Result<Applied, KnobError>;

    /// The text that sets a value.
    fn encode(&self, value: KnobValue) -> String;

    /// Sets the knob, reads it back and compares. Blocks for one write and one read. Does not remember the old value:
    /// [`crate::journal::Journal::set`] does.
    ///
    /// # Errors
    /// When the value is refused, cannot be written, or is not what the machine shows afterwards.
    fn set(&self, root: &dyn SysRoot, value: KnobValue) -> Result<Applied, KnobError> {
        let applied = self.quantise(value)?;
        let path = self.path();
        root.write(path, &self.encode(applied.value)).map_err(|source| KnobError::Write {
            path: path.to_string(),
            remedy: remedy(&source),
            source,
        })?;
        let found = self.read(root)?;
        if found == applied.value {
            return Ok(applied);
        }
        Err(KnobError::NotApplied { path: path.to_string(), wanted: applied.value, found })
    }
}

/// Why a knob cannot be read or set.
#[derive(Debug, thiserror::Error)]
pub enum KnobError {
    /// The value has another unit than the knob.
    #[error("{id} takes a {expected}, not {value}")]
    WrongUnit {
        /// The knob.
        id: String,
        /// The kind that it takes.
        expected: &'static str,
        /// What was given.
        value: KnobValue,
    },
    /// The value is not a finite number above zero.
    #[error("{id} cannot be set to {value}: it must be a finite value above zero")]
    NotPositive {
        /// The knob.
        id: String,
        /// What was given.
        value: KnobValue,
    },
    /// The setting cannot be read.
    #[error("cannot read the setting: {0}")]
    Read(#[source] Absent),
    /// The setting cannot be written.
    #[error("cannot write {path}: {source}{remedy}")]
    Write {
        /// The file.
        path: String,
        /// What can be done, or nothing.
        remedy: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The machine shows another value than the one written.
    #[error("{path} was set to {wanted} and shows {found}: the hardware or another program overrides it")]
    NotApplied {
        /// The file.
        path: String,
        /// What was written.
        wanted: KnobValue,
        /// What is there.
        found: KnobValue,
    },
}

/// A knob that is a file with one whole number.
#[derive(Clone, Debug, PartialEq)]
pub struct FileKnob {
    info: KnobInfo,
    path: String,
    /// The values that the driver has, in the file's unit and ascending; empty when any multiple of the step will do.
    table: Vec<u64>,
}

impl KnobValue {
    /// The kind of the value as one word.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Frequency(_) => "frequency",
            Self::Power(_) => "power",
        }
    }

    /// The number in the file's unit (kHz, µW).
    fn count(self) -> f64 {
        match self {
            Self::Frequency(frequency) => frequency.kilohertz(),
            Self::Power(power) => power.get() * 1e6,
        }
    }

    /// A value of the same kind from a number in the file's unit.
    fn with_count(self, count: u64) -> Self {
        match self {
            Self::Frequency(_) => Self::Frequency(Hertz::from_kilohertz(count as f64)),
            Self::Power(_) => Self::Power(Watts::new(count as f64 / 1e6)),
        }
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frequency(frequency) => frequency.fmt(f),
            Self::Power(power) => power.fmt(f),
        }
    }
}

impl FileKnob {
    fn parse(&self, text: &str) -> Result<u64, KnobError> {
        let fault = || KnobError::Read(Absent::malformed(&self.path, text, "a whole number"));
        text.trim().parse().map_err(|_| fault())
    }
}

impl Knob for FileKnob {
    fn info(&self) -> &KnobInfo {
        &self.info
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn read(&self, root: &dyn SysRoot) -> Result<KnobValue, KnobError> {
        let text = root.read(&self.path);
        let text = text.map_err(|error| KnobError::Read(Absent::from_io(&self.path, &error)))?;
        Ok(self.info.low.with_count(self.parse(&text)?))
    }

    fn quantise(&self, value: KnobValue) -> Result<Applied, KnobError> {
        let (id, expected) = (self.info.id.clone(), self.info.low.kind());
        if value.kind() != expected {
            return Err(KnobError::WrongUnit { id, expected, value });
        }
        let count = value.count();
        if !count.is_finite() || count <= 0.0 {
            return Err(KnobError::NotPositive { id, value });
        }
        let (low, high) = (self.info.low.count(), self.info.high.count());
        let clamped = count.clamp(low, high);
        // Half a count up, so that 2.4 GHz as a binary fraction is not taken for just below it.
        let whole = (clamped + 0.5).floor() as u64;
        let quantum = (self.info.quantum.count() as u64).max(1);
        let stepped = match self.table.iter().rev().find(|&&entry| entry <= whole) {
            Some(entry) => *entry,
            None => (whole / quantum * quantum).max(low.ceil() as u64),
        };
        Ok(Applied { wanted: value, value: self.info.low.with_count(stepped), is_clamped: clamped != count })
    }

    fn encode(&self, value: KnobValue) -> String {
        format!("{}\n", value.count().round() as u64)
    }
}

/// The knobs of a machine: the highest and lowest frequency of each usable policy, and each package's long-term power
/// limit. Blocks for a few reads a policy and package. Policies of CPUs that are offline or whose driver does not
/// answer have no knobs, nor have packages whose limit is switched off: it would be taken and bind nothing.
pub fn discover(root: &dyn SysRoot) -> Vec<FileKnob> {
    let mut knobs = Vec::new();
    for policy in policies(root).unwrap_or_default() {
        if policy.cpus.is_ok() {
            knobs.extend(
                ["max", "min"].into_iter().filter_map(|end| {
                    frequency_knob(root, Domain::Policy(policy.number), &policy.folder, end)
                }),
            );
        }
    }
    for zone in zones(root).unwrap_or_default() {
        if matches!(zone.domain, Domain::Package { .. }) && !zone.is_duplicate {
            knobs.extend(power_knob(root, zone.domain, &zone.folder));
        }
    }
    knobs
}

/// Steps where the driver lists none.
const FREQUENCY_STEP_KILOHERTZ: f64 = 100_000.0;
/// The register's step.
const POWER_STEP: Watts = Watts::new(0.125);
/// The register's largest value, taken where the driver states no maximum.
const POWER_MAX: Watts = Watts::new(4095.875);
/// No server package works below; a smaller number is a mistake of units.
const POWER_MIN: Watts = Watts::new(10.0);

fn number(root: &dyn SysRoot, path: &str) -> Option<u64> {
    root.read(path).ok()?.trim().parse().ok()
}

fn frequency_knob(root: &dyn SysRoot, scope: Domain, folder: &str, end: &str) -> Option<FileKnob> {
    let path = format!("{folder}/scaling_{end}_freq");
    number(root, &path)?;
    let value = |kilohertz: f64| KnobValue::Frequency(Hertz::from_kilohertz(kilohertz));
    let limit = |name: &str| number(root, &format!("{folder}/{name}")).map(|kilohertz| kilohertz as f64);
    let listed = root.read(&format!("{folder}/scaling_available_frequencies")).unwrap_or_default();
    let mut table: Vec<u64> = listed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    table.sort_unstable();
    let (low, high) = (limit("cpuinfo_min_freq")?, limit("cpuinfo_max_freq")?);
    if !(low > 0.0 && low <= high) {
        return None;
    }
    let info = KnobInfo {
        id: format!("cpufreq.{scope}.{end}"),
        scope,
        low: value(low),
        high: value(high),
        quantum: value(FREQUENCY_STEP_KILOHERTZ),
        permission: "root, or write permission on the file",
    };
    Some(FileKnob { info, path, table })
}

fn power_knob(root: &dyn SysRoot, scope: Domain, folder: &str) -> Option<FileKnob> {
    let path = format!("{folder}/constraint_0_power_limit_uw");
    number(root, &path)?;
    if number(root, &format!("{folder}/enabled")) == Some(0) {
        return None;
    }
    let stated =
        number(root, &format!("{folder}/constraint_0_max_power_uw")).filter(|&microwatts| microwatts > 0);
    let high = stated.map_or(POWER_MAX, |microwatts| Watts::new(microwatts as f64 / 1e6).min(POWER_MAX));
    let info = KnobInfo {
        id: format!("powercap.{scope}.limit"),
        scope,
        low: KnobValue::Power(POWER_MIN.min(high)),
        high: KnobValue::Power(high),
        quantum: KnobValue::Power(POWER_STEP),
        permission: "root, or write permission on the file",
    };
    Some(FileKnob { info, path, table: Vec::new() })
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run as root, or give the program's user write permission on the file"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; /sys is mounted read-only, as in most containers",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    fn root() -> MemoryRoot {
        let policy = "sys/devices/system/cpu/cpufreq/policy0";
        let zone = "sys/class/powercap/intel-rapl:0";
        let root = MemoryRoot::new();
        root.set("sys/devices/system/cpu/online", "0\n");
        for (file, text) in [
            ("affected_cpus", "0"),
            ("scaling_cur_freq", "2400000"),
            ("scaling_max_freq", "3700000"),
            ("scaling_min_freq", "800000"),
            ("cpuinfo_max_freq", "3700000"),
            ("cpuinfo_min_freq", "800000"),
        ] {
            root.set(&format!("{policy}/{file}"), text);
        }
        root.set(&format!("{zone}/name"), "package-0");
        root.set(&format!("{zone}/constraint_0_power_limit_uw"), "165000000");
        root.set(&format!("{zone}/constraint_0_max_power_uw"), "165000000");
        root
    }

    fn knob(root: &MemoryRoot, id: &str) -> FileKnob {
        discover(root).into_iter().find(|knob| knob.info.id == id).unwrap()
    }

    const fn gigahertz(value: f64) -> KnobValue {
        KnobValue::Frequency(Hertz::new(value * 1e9))
    }

    /// Frequencies go down to the step and into the range; what was asked and what was set are both told.
    #[test]
    fn frequencies_are_stepped_and_clamped() {
        let root = root();
        let knob = knob(&root, "cpufreq.policy0.max");
        for (asked, set, is_clamped) in
            [(2.45, 2.4, false), (9.0, 3.7, true), (0.1, 0.8, true), (2.4, 2.4, false)]
        {
            let applied = knob.set(&root, gigahertz(asked)).unwrap();
            assert_eq!((applied.value, applied.is_clamped), (gigahertz(set), is_clamped), "{asked}");
            assert_eq!(knob.read(&root).unwrap(), gigahertz(set));
        }
    }

    /// A driver's own table decides where there is one.
    #[test]
    fn a_table_decides() {
        let root = root();
        let file = "sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies";
        root.set(file, "3700000 2401000 2400000 800000 \n");
        let applied = knob(&root, "cpufreq.policy0.max").set(&root, gigahertz(3.0)).unwrap();
        assert_eq!(applied.value, KnobValue::Frequency(Hertz::from_kilohertz(2_401_000.0)));
    }

    /// Power limits go down to an eighth of a watt; a limit that does not stick is an error and names both values.
    #[test]
    fn power_limits_are_read_back() {
        let root = root();
        let knob = knob(&root, "powercap.package-0.limit");
        let applied = knob.set(&root, KnobValue::Power(Watts::new(100.2))).unwrap();
        assert_eq!(applied.value, KnobValue::Power(Watts::new(100.125)));
        root.stick(knob.path());
        let error = knob.set(&root, KnobValue::Power(Watts::new(90.0))).unwrap_err();
        assert!(matches!(error, KnobError::NotApplied { .. }), "{error}");
        assert!(error.to_string().contains("90 W") && error.to_string().contains("100.125 W"), "{error}");
        root.fail_write(knob.path(), 13);
        let error = knob.set(&root, KnobValue::Power(Watts::new(90.0))).unwrap_err();
        assert!(error.to_string().contains("run as root"), "{error}");
    }

    /// A limit that is switched off is no knob, for a value written there is shown and binds nothing.
    #[test]
    fn a_limit_that_is_off_is_no_knob() {
        let root = root();
        let enabled = "sys/class/powercap/intel-rapl:0/enabled";
        for (text, count) in [("1\n", 3), ("0\n", 2)] {
            root.set(enabled, text);
            assert_eq!(discover(&root).len(), count, "{text:?}");
        }
    }

    /// Other units and impossible numbers are refused before anything is written.
    #[test]
    fn refuses_other_units_and_impossible_numbers() {
        let root = root();
        let knob = knob(&root, "powercap.package-0.limit");
        for value in [gigahertz(2.0), KnobValue::Power(Watts::ZERO), KnobValue::Power(Watts::new(f64::NAN))] {
            assert!(knob.set(&root, value).is_err(), "{value}");
        }
        assert!(root.take_writes().is_empty());
    }
}
