//! What a sensor says: an interval with value, bounds, quality and flags, or why there is none. Touches nothing.

use std::fmt;

use units::{Amperes, Bytes, Celsius, Hertz, Instant, Joules, Ratio, Volts, Watts};

use crate::absent::Absent;

/// One value of one sensor over an interval of the machine's monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What is read, the same from sample to sample and from boot to boot: `cpu.utilisation`, `memory.used`.
    pub metric: String,
    /// Of which part of the machine.
    pub domain: Domain,
    /// By which means.
    pub source: Source,
    /// When the interval began; equal to `end` for a value that holds at one moment.
    pub start: Instant,
    /// When the interval ended.
    pub end: Instant,
    /// The value, or why there is none. A missing value is never zero.
    pub outcome: Result<Measurement, Absent>,
}

/// A value with its bounds and how far it may be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The value with its unit.
    pub value: Value,
    /// How it came about.
    pub quality: Quality,
    /// What happened on the way.
    pub flags: Flags,
}

/// A value and the bounds between which the truth lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounded<T> {
    /// The best single value.
    pub value: T,
    /// Not less than this.
    pub low: T,
    /// Not more than this.
    pub high: T,
}

/// A value of one kind, in SI base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Mean power over the interval.
    Power(Bounded<Watts>),
    /// Energy used in the interval.
    Energy(Bounded<Joules>),
    /// Clock frequency.
    Frequency(Bounded<Hertz>),
    /// Temperature.
    Temperature(Bounded<Celsius>),
    /// Share of time in use, 0 to 1.
    Utilisation(Bounded<Ratio>),
    /// Amount of memory.
    Memory(Bounded<Bytes>),
    /// Mean number of tasks that run or want to, without unit.
    Load(Bounded<Ratio>),
    /// Electric potential.
    Voltage(Bounded<Volts>),
    /// Electric current.
    Current(Bounded<Amperes>),
}

/// The kind of a value, without the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Watts.
    Power,
    /// Joules.
    Energy,
    /// Hertz.
    Frequency,
    /// Degrees Celsius.
    Temperature,
    /// Share of time, 0 to 1.
    Utilisation,
    /// Bytes.
    Memory,
    /// Tasks.
    Load,
    /// Volts.
    Voltage,
    /// Amperes.
    Current,
}

/// The part of the machine that a reading is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    /// The whole machine.
    Node,
    /// The whole machine as the processor's platform meter (RAPL `psys`) sees it.
    Platform,
    /// A processor package, or one die of it where the kernel counts dies apart.
    Package {
        /// The package's number as the kernel counts it.
        package: u32,
        /// The die in the package.
        die: Option<u32>,
    },
    /// The memory behind a package; not part of [`Domain::Package`].
    Dram {
        /// The package's number.
        package: u32,
        /// The die in the package.
        die: Option<u32>,
    },
    /// The cores of a package, part of [`Domain::Package`].
    Cores {
        /// The package's number.
        package: u32,
        /// The die in the package.
        die: Option<u32>,
    },
    /// What a package has beside cores (often the integrated GPU), part of [`Domain::Package`].
    Uncore {
        /// The package's number.
        package: u32,
        /// The die in the package.
        die: Option<u32>,
    },
    /// A logical CPU.
    Cpu(u32),
    /// A group of logical CPUs whose frequency is set together.
    Policy(u32),
    /// A thermal zone, by its type.
    Zone(String),
    /// A channel of a hardware monitoring chip.
    Chip {
        /// The chip by its driver's name, with its device when there are several of that name.
        device: String,
        /// The channel's label, or its name when it has none.
        channel: String,
    },
}

/// The means by which a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// RAPL energy counters in `/sys/class/powercap`.
    Powercap,
    /// RAPL energy counters as perf events.
    Perf,
    /// Hardware monitoring chips in `/sys/class/hwmon`.
    Hwmon,
    /// Thermal zones in `/sys/class/thermal`.
    Thermal,
    /// `/sys/devices/system/cpu`.
    Cpufreq,
    /// `/proc`.
    Proc,
    /// A formula over other readings.
    Model,
}

/// How a value came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// A meter read it.
    Measured,
    /// Derived from another measured value, or a value that the kernel itself approximates.
    Estimated,
    /// A formula over the load gave it; no meter was involved.
    Modelled,
}

/// What happened to a value on the way; any number of these. The bits travel on the bus: they are never given another
/// meaning.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Nothing happened.
    pub const NONE: Self = Self(0);
    /// The counter wrapped once within the interval and was unwrapped.
    pub const WRAP: Self = Self(1);
    /// The counter started again; the interval is lost and a new epoch began. On a running total: it began anew or lacks
    /// an interval since the last sample, so that differences across it are lower bounds at best.
    pub const RESET: Self = Self(2);
    /// The interval was long enough to hide wraps: the value is the lower bound.
    pub const GAP: Self = Self(4);
    /// The sensor gave no newer value; this is the last one.
    pub const STALE: Self = Self(8);
    /// The value was limited to what is possible.
    pub const CLAMPED: Self = Self(16);
    /// The counter's range is not readable, so a step back could not be unwrapped.
    pub const NO_RANGE: Self = Self(32);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::WRAP, "wrap"),
        (Self::RESET, "reset"),
        (Self::GAP, "gap"),
        (Self::STALE, "stale"),
        (Self::CLAMPED, "clamped"),
        (Self::NO_RANGE, "no-range"),
    ];

    /// From the bits on the bus; unknown ones are kept.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The bits on the bus.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Both sets of flags together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names of the flags that are set; unknown bits have none.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, name)| name)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for name in self.names() {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

impl<T: Copy> Bounded<T> {
    /// A value without uncertainty.
    pub const fn exact(value: T) -> Self {
        Self { value, low: value, high: value }
    }

    /// The same with another unit.
    pub fn map<U>(self, convert: impl Fn(T) -> U) -> Bounded<U> {
        Bounded { value: convert(self.value), low: convert(self.low), high: convert(self.high) }
    }
}

impl<T: Copy + std::ops::Add<Output = T>> std::ops::Add for Bounded<T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high }
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for Bounded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)?;
        if self.low != self.high {
            f.write_str(" (")?;
            self.low.fmt(f)?;
            f.write_str(" to ")?;
            self.high.fmt(f)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl Value {
    /// The kind of the value.
    pub fn quantity(self) -> Quantity {
        match self {
            Self::Power(_) => Quantity::Power,
            Self::Energy(_) => Quantity::Energy,
            Self::Frequency(_) => Quantity::Frequency,
            Self::Temperature(_) => Quantity::Temperature,
            Self::Utilisation(_) => Quantity::Utilisation,
            Self::Memory(_) => Quantity::Memory,
            Self::Load(_) => Quantity::Load,
            Self::Voltage(_) => Quantity::Voltage,
            Self::Current(_) => Quantity::Current,
        }
    }

    /// The plain numbers in the unit of [`Quantity::unit`], for edges that have no units (JSON, CSV, metrics).
    pub fn numbers(self) -> Bounded<f64> {
        match self {
            Self::Power(v) => v.map(Watts::get),
            Self::Energy(v) => v.map(Joules::get),
            Self::Frequency(v) => v.map(Hertz::get),
            Self::Temperature(v) => v.map(Celsius::get),
            Self::Utilisation(v) | Self::Load(v) => v.map(Ratio::get),
            Self::Memory(v) => v.map(Bytes::get),
            Self::Voltage(v) => v.map(Volts::get),
            Self::Current(v) => v.map(Amperes::get),
        }
    }

    /// A value of a kind from plain numbers in that kind's unit.
    pub fn from_numbers(quantity: Quantity, numbers: Bounded<f64>) -> Self {
        match quantity {
            Quantity::Power => Self::Power(numbers.map(Watts::new)),
            Quantity::Energy => Self::Energy(numbers.map(Joules::new)),
            Quantity::Frequency => Self::Frequency(numbers.map(Hertz::new)),
            Quantity::Temperature => Self::Temperature(numbers.map(Celsius::new)),
            Quantity::Utilisation => Self::Utilisation(numbers.map(Ratio::new)),
            Quantity::Memory => Self::Memory(numbers.map(Bytes::new)),
            Quantity::Load => Self::Load(numbers.map(Ratio::new)),
            Quantity::Voltage => Self::Voltage(numbers.map(Volts::new)),
            Quantity::Current => Self::Current(numbers.map(Amperes::new)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Power(v) => v.fmt(f),
            Self::Energy(v) => v.fmt(f),
            Self::Frequency(v) => v.fmt(f),
            Self::Temperature(v) => v.fmt(f),
            Self::Utilisation(_) | Self::Load(_) => self.numbers().fmt(f),
            Self::Memory(v) => v.fmt(f),
            Self::Voltage(v) => v.fmt(f),
            Self::Current(v) => v.fmt(f),
        }
    }
}

impl Quantity {
    /// The kind as one word in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Energy => "energy",
            Self::Frequency => "frequency",
            Self::Temperature => "temperature",
            Self::Utilisation => "utilisation",
            Self::Memory => "memory",
            Self::Load => "load",
            Self::Voltage => "voltage",
            Self::Current => "current",
        }
    }

    /// The unit's symbol; empty for a plain number.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Power => Watts::UNIT,
            Self::Energy => Joules::UNIT,
            Self::Frequency => Hertz::UNIT,
            Self::Temperature => Celsius::UNIT,
            Self::Utilisation | Self::Load => Ratio::UNIT,
            Self::Memory => Bytes::UNIT,
            Self::Voltage => Volts::UNIT,
            Self::Current => Amperes::UNIT,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("node"),
            Self::Platform => f.write_str("platform"),
            Self::Package { package, die } => write!(f, "package-{package}{}", Die(*die)),
            Self::Dram { package, die } => write!(f, "dram-{package}{}", Die(*die)),
            Self::Cores { package, die } => write!(f, "cores-{package}{}", Die(*die)),
            Self::Uncore { package, die } => write!(f, "uncore-{package}{}", Die(*die)),
            Self::Cpu(cpu) => write!(f, "cpu{cpu}"),
            Self::Policy(policy) => write!(f, "policy{policy}"),
            Self::Zone(zone) => write!(f, "zone:{zone}"),
            Self::Chip { device, channel } => write!(f, "{device}/{channel}"),
        }
    }
}

/// Prints a die after its package, where dies are counted apart.
struct Die(Option<u32>);

impl fmt::Display for Die {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |die| write!(f, "-die-{die}"))
    }
}

impl Source {
    /// The source as one word, as columns and messages show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Powercap => "powercap",
            Self::Perf => "perf",
            Self::Hwmon => "hwmon",
            Self::Thermal => "thermal",
            Self::Cpufreq => "cpufreq",
            Self::Proc => "proc",
            Self::Model => "model",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Quality {
    /// The quality as one word in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Estimated => "estimated",
            Self::Modelled => "modelled",
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Reading {
    /// The measurement, when there is one.
    pub fn measurement(&self) -> Option<&Measurement> {
        self.outcome.as_ref().ok()
    }

    /// Mean power, when this is a reading of power that has one.
    pub fn power(&self) -> Option<Bounded<Watts>> {
        match self.measurement()?.value {
            Value::Power(power) => Some(power),
            _ => None,
        }
    }

    /// Energy used in the interval, when this is a reading of energy that has one.
    pub fn energy(&self) -> Option<Bounded<Joules>> {
        match self.measurement()?.value {
            Value::Energy(energy) => Some(energy),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds are printed only where they say something.
    #[test]
    fn prints_value_and_bounds() {
        let wide = Bounded { value: Watts::new(20.0), low: Watts::new(5.0), high: Watts::new(60.0) };
        assert_eq!(format!("{wide:.1}"), "20.0 W (5.0 W to 60.0 W)");
        assert_eq!(format!("{}", Value::Power(Bounded::exact(Watts::new(3.0)))), "3 W");
        assert_eq!(Flags::WRAP.with(Flags::GAP).to_string(), "wrap,gap");
    }
}
