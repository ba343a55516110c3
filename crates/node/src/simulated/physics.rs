//! The physics of one simulated package: power, its limit, temperature and the counters that show them. Pure.
//!
//! With clock `f` in GHz, voltage `V(f)`, activity `a`, utilisation `u`, temperature `T` in °C, bandwidth share `b`:
//!
//! - a core: `P = κ · C · V(f)² · f · a · u`, with `C` such that all cores at base clock with `a = u = 1`, `b = 0.5`
//!   and 75 °C draw the design power, and `κ` the part's own spread (mean 1, standard deviation 0.05);
//! - leakage `L · V(f)/V(base) · exp(0.012 · (T − 75))` at the fastest core's voltage, uncore `U · (0.6 + 0.8 · b)`, and a constant rest such that
//!   a package that does nothing at 40 °C draws its idle power;
//! - the power limit keeps a running mean `m' = m + (P − m) · dt/τ` and allows `min(PL2, PL1 + g · (PL1 − m))`, `g = 2`:
//!   clocks go down to a common ceiling (the mean of dithering between two steps), below the lowest clock a duty cycle;
//! - heat: `dT/dt = (P · R + T_air − T) / (R · C_th)`, and at its highest temperature the package is limited to what
//!   the heat sink carries away;
//! - memory: linear in `b` from idle to full.
//!
//! Counters are those of the Intel SDM, volume 3B, section 16.10: 32 bits of 2^-14 J for packages and 15.3 µJ for
//! memory, shown by the kernel in µJ; limits in steps of 125 mW, windows as 2^Y · (1 + F/4) · 976 µs.

use super::load::{Demand, Pattern};
use super::profile::Profile;

/// A core: what is asked of it, and what it did.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) kilohertz_min: u64,
    pub(super) kilohertz_max: u64,
    pub(super) gigahertz: f64,
    pub(super) utilisation: f64,
    pub(super) busy_steps: f64,
}

/// A package.
#[derive(Clone, Debug)]
pub(super) struct Package {
    spread: f64,
    constants: Constants,
    counter_start: [u64; 2],
    mean: f64,
    pub(super) power: f64,
    pub(super) memory_power: f64,
    /// Energy since the start in joules, of the package and of its memory.
    pub(super) energy: f64,
    pub(super) memory_energy: f64,
    pub(super) celsius: f64,
    /// Long-term and short-term limit in µW as stored, and the long-term window in µs.
    limits_uw: [u64; 2],
    pub(super) window_us: u64,
    pub(super) is_limited: bool,
}

/// What follows from the profile.
#[derive(Clone, Copy, Debug)]
struct Constants {
    /// Watts for each V² GHz of one core.
    dynamic: f64,
    /// The constant rest in watts.
    rest: f64,
}

/// The kernel's units: nanojoules for each count of the package's and of the memory's counter.
const COUNT_NANOJOULES: [u64; 2] = [61_035, 15_300];
/// Joules for each count of the hardware.
const COUNT_JOULES: [f64; 2] = [1.0 / 16_384.0, 15.3e-6];
const GAIN: f64 = 2.0;
const WINDOW_DEFAULT_US: u64 = 999_424;

impl Core {
    pub(super) fn new(profile: &Profile) -> Self {
        let (kilohertz_min, kilohertz_max) = profile.kilohertz_range();
        let [gigahertz, ..] = profile.gigahertz;
        Self { kilohertz_min, kilohertz_max, gigahertz, utilisation: 0.0, busy_steps: 0.0 }
    }

    /// The clock that the core would run at without the package's limit. A core that hardly works rests.
    fn wanted(&self, turbo: f64) -> f64 {
        let (low, high) = (self.kilohertz_min as f64 / 1e6, self.kilohertz_max as f64 / 1e6);
        if self.utilisation > 0.02 { high.min(turbo.max(low)) } else { low }
    }
}

impl Package {
    pub(super) fn new(profile: &Profile, index: usize, pattern: &mut Pattern) -> Self {
        let spread = (1.0 + 0.05 * pattern.normal()).clamp(0.85, 1.15);
        let [package, memory] = [pattern.uniform(), pattern.uniform()].map(|share| (share * 4.0e9) as u64);
        // Two kilojoules before the end.
        let package = if index == 0 { u64::from(u32::MAX) - 32_768_000 } else { package };
        let constants = Constants::of(profile);
        let mut limits_uw = [0, 0];
        for (stored, watts) in limits_uw.iter_mut().zip([profile.watts_design, profile.watts_short]) {
            *stored = limit_as_stored((watts * 1e6) as u64);
        }
        Self {
            spread,
            constants,
            counter_start: [package, memory],
            mean: profile.watts_idle,
            power: profile.watts_idle,
            memory_power: 0.0,
            energy: 0.0,
            memory_energy: 0.0,
            celsius: profile.celsius_air + profile.watts_idle * profile.kelvin_per_watt,
            limits_uw,
            window_us: WINDOW_DEFAULT_US,
            is_limited: true,
        }
    }

    /// Moves on by `dt` seconds.
    pub(super) fn step(&mut self, profile: &Profile, cores: &mut [Core], demand: Demand, dt: f64) {
        let busy = cores.iter().filter(|core| core.utilisation > 0.02).count();
        let [_, _, high] = profile.gigahertz;
        // Few busy cores may run faster than all of them.
        let crowd = busy.saturating_sub(2) as f64 / cores.len().saturating_sub(2).max(1) as f64;
        let turbo = ((high + (profile.gigahertz_all - high) * crowd) * 10.0).floor() / 10.0;
        let allowed = self.allowed(profile);
        let mut ceiling = turbo;
        self.power = self.power_at(profile, cores, demand, turbo, turbo);
        let mut duty = 1.0;
        if self.power > allowed {
            ceiling = self.ceiling(profile, cores, demand, turbo, allowed);
            self.power = self.power_at(profile, cores, demand, turbo, ceiling);
            let fixed = self.static_power(profile, ceiling, demand);
            if self.power > allowed && self.power > fixed {
                duty = ((allowed - fixed) / (self.power - fixed)).clamp(0.05, 1.0);
                self.power = fixed + (self.power - fixed) * duty;
            }
        }
        for core in cores {
            core.gigahertz = core.wanted(turbo).min(ceiling);
        }
        let [idle, full] = profile.watts_memory;
        self.memory_power = idle + (full - idle) * demand.bandwidth * duty;
        self.energy += self.power * dt;
        self.memory_energy += self.memory_power * dt;
        let window = (self.window_us as f64 / 1e6).max(dt);
        self.mean += (self.power - self.mean) * dt / window;
        let rise = self.power * profile.kelvin_per_watt + profile.celsius_air - self.celsius;
        self.celsius += rise * dt / profile.thermal_seconds;
    }

    /// The power that limit and heat sink allow in this step.
    fn allowed(&self, profile: &Profile) -> f64 {
        let [long, short] = self.limits_uw.map(|microwatts| microwatts as f64 / 1e6);
        let limit = if self.is_limited { short.min(long + GAIN * (long - self.mean)) } else { f64::INFINITY };
        if self.celsius < profile.celsius_max {
            return limit;
        }
        limit.min((profile.celsius_max - profile.celsius_air) / profile.kelvin_per_watt)
    }

    /// The common clock at which the package draws what is allowed, between the lowest clock and `turbo`.
    fn ceiling(&self, profile: &Profile, cores: &[Core], demand: Demand, turbo: f64, allowed: f64) -> f64 {
        let [mut low, ..] = profile.gigahertz;
        let mut high = turbo;
        // 16 halvings leave less than 0.1 MHz.
        for _ in 0..16 {
            let middle = f64::midpoint(low, high);
            if self.power_at(profile, cores, demand, turbo, middle) > allowed {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }

    fn power_at(&self, profile: &Profile, cores: &[Core], demand: Demand, turbo: f64, ceiling: f64) -> f64 {
        let (mut work, mut fastest) = (0.0, 0.0_f64);
        for core in cores {
            let gigahertz = core.wanted(turbo).min(ceiling);
            work += profile.voltage(gigahertz).powi(2) * gigahertz * core.utilisation;
            fastest = fastest.max(gigahertz);
        }
        let dynamic = self.spread * self.constants.dynamic * demand.activity * work;
        self.static_power(profile, fastest, demand) + dynamic
    }

    /// Power that does not come from work, with the fastest core at a clock.
    fn static_power(&self, profile: &Profile, gigahertz: f64, demand: Demand) -> f64 {
        let leak = leak(profile, profile.voltage(gigahertz), self.celsius);
        self.constants.rest + leak + profile.watts_uncore * (0.6 + 0.8 * demand.bandwidth)
    }

    /// What the kernel shows in `energy_uj`: of the package (0) or of its memory (1).
    pub(super) fn counter_uj(&self, which: usize) -> u64 {
        let energy = if which == 0 { self.energy } else { self.memory_energy };
        let of = |pair: [u64; 2]| if which == 0 { pair[0] } else { pair[1] };
        let joules = if which == 0 { COUNT_JOULES[0] } else { COUNT_JOULES[1] };
        let counts = of(self.counter_start).wrapping_add((energy / joules) as u64) & u64::from(u32::MAX);
        counts * of(COUNT_NANOJOULES) / 1000
    }

    /// What the kernel shows in `max_energy_range_uj`.
    pub(super) const fn range_uj(which: usize) -> u64 {
        let nanojoules = if which == 0 { COUNT_NANOJOULES[0] } else { COUNT_NANOJOULES[1] };
        u32::MAX as u64 * nanojoules / 1000
    }

    /// The long-term (0) or short-term (1) limit in µW.
    pub(super) const fn limit_uw(&self, constraint: usize) -> u64 {
        if constraint == 0 { self.limits_uw[0] } else { self.limits_uw[1] }
    }

    pub(super) fn set_limit(&mut self, constraint: usize, microwatts: u64) {
        let stored = limit_as_stored(microwatts);
        if let Some(limit) = self.limits_uw.get_mut(constraint) {
            *limit = stored;
        }
    }
}

impl Constants {
    fn of(profile: &Profile) -> Self {
        let [low, base, _] = profile.gigahertz;
        let idle = leak(profile, profile.voltage(low), 40.0) + 0.6 * profile.watts_uncore;
        let rest = profile.watts_idle - idle;
        let full = profile.watts_design - profile.watts_leak - profile.watts_uncore - rest;
        let work = profile.cores as f64 * profile.voltage(base).powi(2) * base;
        Self { dynamic: full / work, rest }
    }
}

fn leak(profile: &Profile, volts: f64, celsius: f64) -> f64 {
    let [_, base, _] = profile.gigahertz;
    profile.watts_leak * volts / profile.voltage(base) * (0.012 * (celsius - 75.0)).exp()
}

/// A limit as the register holds it: whole steps of 125 mW in 15 bits.
fn limit_as_stored(microwatts: u64) -> u64 {
    (microwatts / 125_000).min(0x7fff) * 125_000
}

/// A window as the register holds it: the longest 2^Y · (1 + F/4) · 976 µs that is not longer.
pub(super) fn window_as_stored(microseconds: u64) -> u64 {
    let steps = (0..22_u32).flat_map(|y| (4..8_u64).map(move |f| ((976 * f) << y) / 4));
    steps.filter(|window| *window <= microseconds).max().unwrap_or(976)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::profile::PROFILES;

    fn settled(activity: f64, bandwidth: f64, utilisation: f64, limit: Option<u64>) -> (Package, Vec<Core>) {
        let profile = &PROFILES[0];
        let mut package = Package::new(profile, 1, &mut Pattern::new(1));
        package.spread = 1.0;
        package.is_limited = limit.is_some();
        package.set_limit(0, limit.unwrap_or(0));
        let mut cores = vec![Core { utilisation, ..Core::new(profile) }; profile.cores];
        for _ in 0..12_000 {
            package.step(profile, &mut cores, Demand { activity, bandwidth }, 0.01);
        }
        (package, cores)
    }

    /// A part at base clock, all cores at full activity and 75 °C, meets its data sheet; at rest it draws idle power.
    #[test]
    fn meets_the_data_sheet() {
        let profile = &PROFILES[0];
        let (mut package, mut cores) = settled(1.0, 0.5, 1.0, None);
        package.celsius = 75.0;
        for core in &mut cores {
            core.kilohertz_max = 2_400_000;
        }
        let demand = Demand { activity: 1.0, bandwidth: 0.5 };
        let full = package.power_at(profile, &cores, demand, 3.1, 2.4);
        assert!((full - 165.0).abs() < 1e-9, "{full}");
        let (idle, _) = settled(0.45, 0.0, 0.0, None);
        assert!((idle.power - 42.0).abs() < 4.0, "{}", idle.power);
    }

    /// The mean power settles at the limit within 1 %, above the floor that the lowest clock sets.
    #[test]
    fn obeys_the_limit() {
        for limit in [150, 120, 90] {
            let (package, cores) = settled(1.0, 0.5, 1.0, Some(limit * 1_000_000));
            let error = package.mean / limit as f64 - 1.0;
            assert!(error.abs() < 0.01, "{limit} W: {}", package.mean);
            assert!(cores[0].gigahertz < 3.1 && cores[0].gigahertz >= 1.0);
        }
    }

    /// A settled package is as warm as its power makes it, and never above its highest temperature for long.
    #[test]
    fn temperature_follows_power() {
        let profile = &PROFILES[0];
        let (package, _) = settled(0.85, 0.5, 0.9, Some(140_000_000));
        let expected = package.power * profile.kelvin_per_watt + profile.celsius_air;
        assert!((package.celsius - expected).abs() < 0.5, "{} {expected}", package.celsius);
        let (hot, _) = settled(1.0, 1.0, 1.0, None);
        assert!(hot.celsius < profile.celsius_max + 1.0, "{}", hot.celsius);
    }

    /// Limits and windows are stored in the register's steps.
    #[test]
    fn registers_round_down() {
        assert_eq!(limit_as_stored(100_200_000), 100_125_000);
        assert_eq!(limit_as_stored(u64::MAX), 4_095_875_000);
        for (asked, stored) in [(10_000_000, 9_994_240), (15_000, 13_664), (999_424, 999_424), (1, 976)] {
            assert_eq!(window_as_stored(asked), stored);
        }
        assert_eq!(Package::range_uj(0), 262_143_328_850);
        assert_eq!(Package::range_uj(1), 65_712_999_613);
    }
}
