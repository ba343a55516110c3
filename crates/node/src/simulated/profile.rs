//! The parameters of simulated machines. Pure.

/// What is known about a machine. Clock frequencies and design power are the vendor's; voltages, idle power, leakage,
/// uncore, memory and thermal numbers are fitted by us to be plausible, not calibrated.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) cpu_model: &'static str,
    pub(super) packages: usize,
    /// Cores of one package; one logical CPU a core.
    pub(super) cores: usize,
    /// Lowest, base and highest clock in GHz.
    pub(super) gigahertz: [f64; 3],
    /// Highest clock in GHz with all cores busy.
    pub(super) gigahertz_all: f64,
    /// Core voltage at and below the knee, and at the highest clock.
    pub(super) volts: [f64; 2],
    /// Up to this clock in GHz the voltage stays at its lowest.
    pub(super) gigahertz_knee: f64,
    /// Design power of one package in watts, and its short-term limit.
    pub(super) watts_design: f64,
    pub(super) watts_short: f64,
    /// Power of a package that does nothing, in watts.
    pub(super) watts_idle: f64,
    /// Leakage at base clock and 75 °C, and uncore with half of the memory bandwidth in use, in watts.
    pub(super) watts_leak: f64,
    pub(super) watts_uncore: f64,
    /// Memory behind one package: idle, and with all bandwidth in use, in watts.
    pub(super) watts_memory: [f64; 2],
    /// Kelvin for each watt from package to air, and the time constant in seconds.
    pub(super) kelvin_per_watt: f64,
    pub(super) thermal_seconds: f64,
    /// Air at the heat sink, and where the package throttles, in °C.
    pub(super) celsius_air: f64,
    pub(super) celsius_max: f64,
    /// Memory of the machine in kibibytes.
    pub(super) memory_kibibytes: u64,
}

pub(super) const PROFILES: [Profile; 1] = [Profile {
    name: "xeon-8260-2s",
    cpu_model: "Intel(R) Xeon(R) Platinum 8260 CPU @ 2.40GHz",
    packages: 2,
    cores: 24,
    gigahertz: [1.0, 2.4, 3.9],
    gigahertz_all: 3.1,
    volts: [0.72, 1.10],
    gigahertz_knee: 1.5,
    watts_design: 165.0,
    watts_short: 198.0,
    watts_idle: 42.0,
    watts_leak: 22.0,
    watts_uncore: 24.0,
    watts_memory: [9.0, 27.0],
    kelvin_per_watt: 0.22,
    thermal_seconds: 12.0,
    celsius_air: 28.0,
    celsius_max: 91.0,
    memory_kibibytes: 402_653_184,
}];

impl Profile {
    /// Logical CPUs of the machine.
    pub(super) const fn cpus(&self) -> usize {
        self.packages * self.cores
    }

    /// Lowest and highest clock in kHz.
    pub(super) fn kilohertz_range(&self) -> (u64, u64) {
        let [low, _, high] = self.gigahertz;
        ((low * 1e6).round() as u64, (high * 1e6).round() as u64)
    }

    /// Core voltage at a clock: flat up to the knee, then linear.
    pub(super) fn voltage(&self, gigahertz: f64) -> f64 {
        let ([low, high], [_, _, top]) = (self.volts, self.gigahertz);
        let share = ((gigahertz - self.gigahertz_knee) / (top - self.gigahertz_knee)).clamp(0.0, 1.0);
        low + (high - low) * share
    }
}
