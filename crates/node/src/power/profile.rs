//! The power model for machines without a meter: a named profile a processor, power from utilisation, wide bounds.
//! Pure.
//!
//! For `n` packages (or the share of one that a virtual machine has) with utilisation `u` between 0 and 1:
//!
//! `P(u) = n · (idle + (full − idle) · u)` in watts,
//!
//! with `idle` the power of a package that does nothing and `full` that of a package whose CPUs all work at a typical
//! intensity. The profile holds a best value and bounds for both; the bounds of `P` come from the same formula with
//! the low values and the low bound of `u`, and with the high values and the high bound. The formula leaves out
//! frequency, temperature and kind of work, which is why the bounds are wide.

use units::{Ratio, Watts};

use crate::reading::Bounded;
use crate::topology::Topology;

/// What is known about one processor's power. Each number is for one package.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuProfile {
    /// The profile's name, as readings state it.
    pub name: &'static str,
    /// The texts that the kernel's model name must hold, all of them.
    pub model_words: &'static [&'static str],
    /// Cores of one package.
    pub cores: u32,
    /// Power in watts of a package that does nothing: low, best value, high.
    pub idle_watts: [f64; 3],
    /// Power in watts of a package that works on all CPUs: low, best value, high.
    pub full_watts: [f64; 3],
    /// Where the numbers come from.
    pub origin: &'static str,
}

const FITTED: &str =
    "thermal design power from the vendor's list; full load 0.6 to 1.1 times it, idle fitted by us";
const SCALED: &str =
    "thermal design power from the vendor's list; full load 0.6 to 1.1 and idle 0.15 to 0.45 times it";

/// The processors that have a profile. A new row needs an origin.
pub const PROFILES: [CpuProfile; 8] = [
    fitted("xeon-platinum-8260", &["Xeon", "Platinum 8260"], 24, 165.0, 42.0),
    fitted("xeon-silver-4216", &["Xeon", "Silver 4216"], 16, 100.0, 28.0),
    fitted("epyc-7532", &["EPYC 7532"], 32, 200.0, 65.0),
    scaled("xeon-platinum-8358", &["Xeon", "Platinum 8358 "], 32, 250.0),
    scaled("xeon-platinum-8480", &["Xeon", "Platinum 8480"], 56, 350.0),
    scaled("epyc-7742", &["EPYC 7742"], 64, 225.0),
    scaled("epyc-7763", &["EPYC 7763"], 64, 280.0),
    scaled("epyc-9654", &["EPYC 9654 "], 96, 360.0),
];

/// Watts of one logical CPU of an unknown processor: low, best value, high. From small Arm cores to fast server cores.
const UNKNOWN_IDLE: [f64; 3] = [0.1, 1.0, 6.0];
const UNKNOWN_FULL: [f64; 3] = [0.5, 4.0, 20.0];

const fn fitted(
    name: &'static str,
    model_words: &'static [&'static str],
    cores: u32,
    design: f64,
    idle: f64,
) -> CpuProfile {
    let full_watts = [0.6 * design, 0.85 * design, 1.1 * design];
    CpuProfile {
        name,
        model_words,
        cores,
        idle_watts: [0.6 * idle, idle, 1.6 * idle],
        full_watts,
        origin: FITTED,
    }
}

const fn scaled(
    name: &'static str,
    model_words: &'static [&'static str],
    cores: u32,
    design: f64,
) -> CpuProfile {
    let full_watts = [0.6 * design, 0.85 * design, 1.1 * design];
    let idle_watts = [0.15 * design, 0.28 * design, 0.45 * design];
    CpuProfile { name, model_words, cores, idle_watts, full_watts, origin: SCALED }
}

/// A profile applied to a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerModel {
    profile: &'static str,
    origin: &'static str,
    idle: Bounded<Watts>,
    full: Bounded<Watts>,
}

impl PowerModel {
    /// The model of a machine: the profile that its processor's model name names, else the unknown processor.
    ///
    /// A virtual machine is given its share of the package's threads, and bounds twice as wide as the share alone
    /// would have, for it does not see what its neighbours do.
    pub fn for_machine(topology: &Topology) -> Self {
        let cpus = topology.cpu_count().max(1);
        let Ok(model) = &topology.cpu_model else { return Self::unknown(cpus) };
        let spaced = format!("{model} ");
        let is_match = |profile: &&CpuProfile| profile.model_words.iter().all(|word| spaced.contains(word));
        let Some(profile) = PROFILES.iter().find(is_match) else { return Self::unknown(cpus) };
        if !topology.is_virtual {
            let packages = topology.packages.len().max(1) as f64;
            return Self::scaled(profile, [packages; 3]);
        }
        // One virtual CPU is a thread, half a core, or a whole core: the share is between the two.
        let share = cpus as f64 / f64::from(profile.cores);
        Self::scaled(profile, [share * 0.25, share * 0.5, share * 1.0])
    }

    /// The model of a processor that has no profile: wide bounds for each logical CPU, never a design power.
    pub fn unknown(cpus: usize) -> Self {
        let cpus = [cpus as f64; 3];
        let origin = "no profile for this processor: bounds from small cores to fast server cores";
        Self {
            profile: "unknown-cpu",
            origin,
            idle: scale(UNKNOWN_IDLE, cpus),
            full: scale(UNKNOWN_FULL, cpus),
        }
    }

    fn scaled(profile: &CpuProfile, factors: [f64; 3]) -> Self {
        Self {
            profile: profile.name,
            origin: profile.origin,
            idle: scale(profile.idle_watts, factors),
            full: scale(profile.full_watts, factors),
        }
    }

    /// The profile's name.
    pub const fn profile(&self) -> &'static str {
        self.profile
    }

    /// Where the profile's numbers come from.
    pub const fn origin(&self) -> &'static str {
        self.origin
    }

    /// Power of the machine's packages at a utilisation; the formula is in the module's text.
    pub fn power(&self, utilisation: Bounded<Ratio>) -> Bounded<Watts> {
        let line =
            |idle: Watts, full: Watts, share: Ratio| idle + (full - idle) * share.get().clamp(0.0, 1.0);
        Bounded {
            value: line(self.idle.value, self.full.value, utilisation.value),
            low: line(self.idle.low, self.full.low, utilisation.low),
            high: line(self.idle.high, self.full.high, utilisation.high),
        }
    }
}

fn scale([low, value, high]: [f64; 3], factors: [f64; 3]) -> Bounded<Watts> {
    let [low_factor, factor, high_factor] = factors;
    Bounded {
        value: Watts::new(value * factor),
        low: Watts::new(low * low_factor),
        high: Watts::new(high * high_factor),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sys_root::MemoryRoot;

    fn model(cpu: &str, cpus: u32, is_virtual: bool) -> PowerModel {
        let flags = if is_virtual { "fpu hypervisor" } else { "fpu" };
        let root = MemoryRoot::new();
        root.set("proc/cpuinfo", &format!("model name\t: {cpu}\nflags\t\t: {flags}\n"));
        root.set("sys/devices/system/cpu/online", &format!("0-{}\n", cpus - 1));
        for n in 0..cpus {
            let package = if n < cpus / 2 { "0\n" } else { "1\n" };
            root.set(&format!("sys/devices/system/cpu/cpu{n}/topology/physical_package_id"), package);
        }
        PowerModel::for_machine(&Topology::read(&root))
    }

    /// A known processor gets its profile, scaled by its packages.
    #[test]
    fn known_processors_have_a_profile() {
        let model = model("Intel(R) Xeon(R) Platinum 8260 CPU @ 2.40GHz", 48, false);
        assert_eq!(model.profile(), "xeon-platinum-8260");
        let idle = model.power(Bounded::exact(Ratio::new(0.0)));
        assert!((idle.value.get() - 84.0).abs() < 1e-9, "{idle:?}");
        let full = model.power(Bounded::exact(Ratio::new(1.0)));
        assert!((full.value.get() - 2.0 * 0.85 * 165.0).abs() < 1e-9, "{full:?}");
    }

    /// A near name is not a match, and an unknown processor has bounds a factor of ten apart at least.
    #[test]
    fn unknown_processors_have_wide_bounds() {
        for name in ["AMD EPYC", "Intel(R) Xeon(R) Platinum 8358P CPU", "Quantum 9000", ""] {
            let model = model(name, 2, true);
            assert_eq!(model.profile(), "unknown-cpu", "{name}");
            for share in [0.0, 0.5, 1.0] {
                let power = model.power(Bounded::exact(Ratio::new(share)));
                assert!(power.high > power.low * 10.0 && power.low > Watts::ZERO, "{power:?}");
            }
        }
    }

    /// A virtual machine with two CPUs of a known processor is not charged for two packages.
    #[test]
    fn virtual_machines_get_their_share() {
        let power =
            model("Intel(R) Xeon(R) Platinum 8260 CPU", 2, true).power(Bounded::exact(Ratio::new(1.0)));
        assert!(power.high < Watts::new(30.0), "{power:?}");
    }

    proptest! {
        /// The value lies between its bounds and grows with utilisation, for every profile.
        #[test]
        fn power_is_bounded_and_rising(low in 0.0_f64..1.0, more in 0.0_f64..1.0, row in 0_usize..8, n in 1.0_f64..9.0) {
            let model = PowerModel::scaled(&PROFILES[row], [n; 3]);
            let at = |share: f64| model.power(Bounded::exact(Ratio::new(share)));
            let (a, b) = (at(low), at((low + more).min(1.0)));
            prop_assert!(a.low <= a.value && a.value <= a.high);
            prop_assert!(b.value >= a.value && b.low >= a.low && b.high >= a.high);
        }
    }
}
