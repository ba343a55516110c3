//! Names, numbers and units of everything that is measured or controlled.
//!
//! Pure. The names follow the vocabulary that GEOPM and PowerAPI users know; values are SI base units everywhere.
//! The numbers travel on the wire and in recordings: they are never reused and never change their meaning.

use core::fmt;

/// The wire number of a metric or control.
///
/// Numbers below [`MetricId::CUSTOM_FIRST`] are the canonical ones of this module; above it a publisher chooses and
/// announces its own with a metric descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(u32);

/// The SI unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Unit {
    /// Dimensionless share, 1.0 meaning all of it.
    Ratio = 0,
    /// Watts.
    Watt = 1,
    /// Joules.
    Joule = 2,
    /// Hertz; also operations a second.
    Hertz = 3,
    /// Degrees Celsius.
    Celsius = 4,
    /// Seconds.
    Second = 5,
    /// A number of things.
    Count = 6,
    /// Bytes.
    Byte = 7,
    /// Bytes a second.
    BytePerSecond = 8,
    /// A set of bits or an enumerated setting, carried as a whole number.
    Code = 9,
    /// Volts.
    Volt = 10,
    /// Amperes.
    Ampere = 11,
}

/// How a metric's values behave over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The value of an interval or instant; may go up and down.
    Gauge = 0,
    /// A running total that only grows within one epoch.
    Counter = 1,
    /// Something that happened.
    Event = 2,
    /// A setting that can be read back, and changed where access allows.
    Control = 3,
}

/// What is known about one canonical metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Wire number.
    pub id: MetricId,
    /// Canonical upper-case name.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Behaviour over time.
    pub kind: Kind,
    /// The PowerAPI attribute of the same meaning, empty where it has none.
    pub power_api: &'static str,
    /// One sentence for people.
    pub description: &'static str,
}

impl MetricId {
    /// The first number that is free for metrics which are not canonical.
    pub const CUSTOM_FIRST: u32 = 0x1_0000;

    /// The number of a metric that is not canonical, the same for the same name on every machine.
    ///
    /// A 31-bit FNV-1a hash of the name above [`MetricId::CUSTOM_FIRST`]; the metric's descriptor carries the name.
    pub fn custom(name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self((hash & 0x7fff_ffff).max(Self::CUSTOM_FIRST))
    }

    /// From a wire number; any number is valid, only some are canonical.
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The wire number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The canonical metric of this number, if it is one.
    pub fn canonical(self) -> Option<&'static Metric> {
        METRICS.binary_search_by_key(&self.0, |metric| metric.id.0).ok().and_then(|index| METRICS.get(index))
    }

    /// The canonical metric of this name, exactly as spelt in the table.
    pub fn from_name(name: &str) -> Option<Self> {
        METRICS.iter().find(|metric| metric.name == name).map(|metric| metric.id)
    }
}

impl fmt::Display for MetricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.canonical() {
            Some(metric) => f.pad(metric.name),
            None => write!(f, "METRIC_{}", self.0),
        }
    }
}

impl Unit {
    const ALL: [Self; 12] = [
        Self::Ratio,
        Self::Watt,
        Self::Joule,
        Self::Hertz,
        Self::Celsius,
        Self::Second,
        Self::Count,
        Self::Byte,
        Self::BytePerSecond,
        Self::Code,
        Self::Volt,
        Self::Ampere,
    ];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The unit of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The symbol printed after a value.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Ratio | Self::Count | Self::Code => "",
            Self::Watt => "W",
            Self::Joule => "J",
            Self::Hertz => "Hz",
            Self::Celsius => "°C",
            Self::Second => "s",
            Self::Byte => "B",
            Self::BytePerSecond => "B/s",
            Self::Volt => "V",
            Self::Ampere => "A",
        }
    }

    /// The ending of a column or JSON name that holds plain numbers of this unit.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Watt => "watts",
            Self::Joule => "joules",
            Self::Hertz => "hertz",
            Self::Celsius => "celsius",
            Self::Second => "seconds",
            Self::Count => "count",
            Self::Byte => "bytes",
            Self::BytePerSecond => "bytes_per_second",
            Self::Code => "code",
            Self::Volt => "volts",
            Self::Ampere => "amperes",
        }
    }
}

impl Kind {
    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

macro_rules! metrics {
    ($($id:literal $name:ident $unit:ident $kind:ident $power_api:literal $description:literal;)*) => {
        impl MetricId {
            $(#[doc = concat!($description, ".")] pub const $name: Self = Self($id);)*
        }

        /// All canonical metrics in ascending order of their numbers.
        pub const METRICS: &[Metric] = &[
            $(Metric {
                id: MetricId($id),
                name: stringify!($name),
                unit: Unit::$unit,
                kind: Kind::$kind,
                power_api: $power_api,
                description: $description,
            },)*
        ];
    };
}

metrics! {
    1 NODE_POWER Watt Gauge "POWER" "Power drawn by the whole node";
    2 NODE_ENERGY Joule Counter "ENERGY" "Energy used by the whole node since the epoch began";
    3 NODE_POWER_LIMIT_CONTROL Watt Control "POWER_LIMIT_MAX" "Limit of the node's power";
    4 NODE_INLET_TEMPERATURE Celsius Gauge "TEMP" "Temperature of the air or water entering the node";
    5 NODE_LOAD Count Gauge "" "Runnable tasks, mean over the last minute";
    6 NODE_MEMORY_USED Byte Gauge "" "Memory in use, without what the kernel can give back at once";
    7 NODE_MEMORY_TOTAL Byte Gauge "" "Memory installed and usable";
    8 POWER_STRESS Ratio Gauge "" "How much the node suffers from its power limit, 0 not at all, 1 fully";
    9 PLATFORM_POWER Watt Gauge "POWER" "Power as the processor's platform meter sees it";
    10 PLATFORM_ENERGY Joule Counter "ENERGY" "Energy as the processor's platform meter sees it, since the epoch began";
    11 COVERED_POWER Watt Gauge "POWER" "Power of the parts of a node that its meters or its model cover, where nothing covers the whole";
    12 COVERED_ENERGY Joule Counter "ENERGY" "Energy of the parts of a node that its meters or its model cover, where nothing covers the whole";
    100 CPU_POWER Watt Gauge "POWER" "Power of one processor package";
    101 CPU_ENERGY Joule Counter "ENERGY" "Energy of one processor package since the epoch began";
    102 CPU_POWER_LIMIT_CONTROL Watt Control "POWER_LIMIT_MAX" "Long-term power limit of one processor package";
    103 CPU_POWER_TIME_WINDOW_CONTROL Second Control "" "Averaging window of the package power limit";
    104 CPU_POWER_MIN_AVAIL Watt Gauge "" "Lowest package power limit that the hardware takes";
    105 CPU_POWER_MAX_AVAIL Watt Gauge "" "Highest package power limit that the hardware takes";
    106 CPU_POWER_LIMIT_DEFAULT Watt Gauge "" "Package power limit at the start";
    110 CPU_UTILIZATION Ratio Gauge "" "Share of the interval in which the CPU was not idle";
    120 CPU_FREQUENCY_STATUS Hertz Gauge "FREQ" "Clock frequency of the CPU";
    121 CPU_FREQUENCY_MIN_CONTROL Hertz Control "FREQ_LIMIT_MIN" "Lowest frequency that the CPU may choose";
    122 CPU_FREQUENCY_MAX_CONTROL Hertz Control "FREQ_LIMIT_MAX" "Highest frequency that the CPU may choose";
    123 CPU_FREQUENCY_MIN_AVAIL Hertz Gauge "" "Lowest frequency that the hardware has";
    124 CPU_FREQUENCY_MAX_AVAIL Hertz Gauge "" "Highest frequency that the hardware has";
    125 CPU_FREQUENCY_STICKER Hertz Gauge "" "Nominal frequency of the CPU";
    126 CPU_FREQUENCY_STEP Hertz Gauge "" "Distance of two neighbouring frequency settings";
    127 CPU_ENERGY_PREFERENCE_CONTROL Code Control "" "Energy against performance preference, 0 performance to 255 power saving";
    128 CPU_UNCORE_FREQUENCY_STATUS Hertz Gauge "FREQ" "Clock frequency of the uncore";
    129 CPU_UNCORE_FREQUENCY_MIN_CONTROL Hertz Control "FREQ_LIMIT_MIN" "Lowest frequency of the uncore";
    130 CPU_UNCORE_FREQUENCY_MAX_CONTROL Hertz Control "FREQ_LIMIT_MAX" "Highest frequency of the uncore";
    140 CPU_PACKAGE_TEMPERATURE Celsius Gauge "TEMP" "Temperature of one processor package";
    141 CPU_CORE_TEMPERATURE Celsius Gauge "TEMP" "Temperature of one core";
    142 THERMAL_ZONE_TEMPERATURE Celsius Gauge "TEMP" "Temperature of another thermal zone or board sensor";
    150 CPU_INSTRUCTIONS_RETIRED Count Counter "" "Instructions retired";
    151 CPU_CYCLES_THREAD Count Counter "" "Cycles at the actual clock";
    152 CPU_CYCLES_REFERENCE Count Counter "" "Cycles at the reference clock";
    153 CPI Ratio Gauge "" "Cycles an instruction";
    154 IPC Ratio Gauge "" "Instructions a cycle";
    155 FLOP_RATE Hertz Gauge "" "Floating-point operations a second";
    156 MEM_BANDWIDTH BytePerSecond Gauge "" "Memory traffic";
    200 DRAM_POWER Watt Gauge "POWER" "Power of the memory of one package";
    201 DRAM_ENERGY Joule Counter "ENERGY" "Energy of the memory of one package since the epoch began";
    300 GPU_POWER Watt Gauge "POWER" "Power of one GPU";
    301 GPU_ENERGY Joule Counter "ENERGY" "Energy of one GPU since the epoch began";
    302 GPU_POWER_LIMIT_CONTROL Watt Control "POWER_LIMIT_MAX" "Power limit of one GPU";
    303 GPU_CORE_FREQUENCY_STATUS Hertz Gauge "FREQ" "Clock frequency of one GPU";
    304 GPU_CORE_FREQUENCY_MIN_CONTROL Hertz Control "FREQ_LIMIT_MIN" "Lowest clock of one GPU";
    305 GPU_CORE_FREQUENCY_MAX_CONTROL Hertz Control "FREQ_LIMIT_MAX" "Highest clock of one GPU";
    306 GPU_UTILIZATION Ratio Gauge "" "Share of the interval in which the GPU worked";
    307 GPU_MEMORY_UTILIZATION Ratio Gauge "" "Share of the interval in which the GPU's memory was busy";
    308 GPU_TEMPERATURE Celsius Gauge "TEMP" "Temperature of one GPU";
    400 THROTTLE_TIME Second Counter "THROTTLED_TIME" "Time for which hardware held the clock down";
    401 THROTTLE_COUNT Count Counter "THROTTLED_COUNT" "How often hardware held the clock down";
    402 THROTTLE_REASONS Code Gauge "" "Why hardware holds the clock down";
    500 APP_TIME Second Counter "" "Time of a job outside communication";
    501 MPI_TIME Second Counter "" "Time of a job inside MPI calls";
    502 SLACK_TIME Second Counter "" "Time of a job waiting inside MPI calls";
    503 MPI_TIME_RATIO Ratio Gauge "" "Share of a job's time inside MPI calls";
    504 REGION_HASH Code Gauge "" "The code region a job is in";
    505 REGION_HINT Code Gauge "" "What the region does";
    506 REGION_PROGRESS Ratio Gauge "" "Progress inside the region";
    507 REGION_RUNTIME Second Gauge "" "Time of the last pass through the region";
    508 EPOCH_COUNT Count Counter "" "Outer iterations of a job";
    509 EPOCH_RUNTIME Second Gauge "" "Time of the last outer iteration";
    510 JOB_ENERGY_SHARE Joule Counter "ENERGY" "Energy attributed to a job";
    511 FRAME_ENERGY Joule Gauge "" "Energy a unit of work";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and names are unique, ascending and findable both ways, so recordings stay readable.
    #[test]
    fn the_table_is_consistent() {
        for pair in METRICS.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} and {}", pair[0].name, pair[1].name);
        }
        for metric in METRICS {
            assert_eq!(MetricId::from_name(metric.name), Some(metric.id));
            assert_eq!(metric.id.canonical(), Some(metric));
            assert!(metric.id.get() < MetricId::CUSTOM_FIRST);
        }
        assert_eq!(MetricId::new(70_000).to_string(), "METRIC_70000");
        let custom = MetricId::custom("hwmon.voltage acpi/in0");
        assert_eq!(custom, MetricId::custom("hwmon.voltage acpi/in0"));
        assert!(custom.get() >= MetricId::CUSTOM_FIRST && custom != MetricId::custom(""));
    }

    /// The numbers that are already in recordings keep their meaning.
    #[test]
    fn numbers_are_stable() {
        for (number, name) in [
            (1, "NODE_POWER"),
            (3, "NODE_POWER_LIMIT_CONTROL"),
            (100, "CPU_POWER"),
            (102, "CPU_POWER_LIMIT_CONTROL"),
            (120, "CPU_FREQUENCY_STATUS"),
            (122, "CPU_FREQUENCY_MAX_CONTROL"),
            (300, "GPU_POWER"),
            (511, "FRAME_ENERGY"),
        ] {
            assert_eq!(MetricId::new(number).to_string(), name);
        }
    }

    /// Unit codes are read back, an unknown one is refused.
    #[test]
    fn unit_codes() {
        for unit in Unit::ALL {
            assert_eq!(Unit::from_code(unit.code()), Some(unit));
        }
        assert_eq!(Unit::from_code(200), None);
    }
}
