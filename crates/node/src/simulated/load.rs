//! The work of a simulated machine: phases of an application from a seeded generator, or a steady load. Pure.

/// What a simulated machine works on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Phases of 3 to 15 s as of a parallel application: waiting, scalar, typical, vector-heavy, communicating.
    Phases,
    /// The same work on every core for ever.
    Steady {
        /// Share of time that each core works, 0 to 1.
        utilisation: f64,
        /// How hard it works: 0.45 busy waiting, 0.6 scalar, 0.85 typical, 1 vector-heavy.
        activity: f64,
        /// Share of the memory bandwidth in use, 0 to 1.
        bandwidth: f64,
    },
}

/// What the work asks of the cores and of the memory, in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) activity: f64,
    pub(super) bandwidth: f64,
}

/// The generator and its present phase.
#[derive(Debug)]
pub(super) struct Pattern {
    random: u64,
    load: Load,
    utilisation: f64,
    demand: Demand,
    steps_left: u64,
    phase: u64,
}

/// Utilisation, activity and bandwidth of the kinds of phases.
const PHASES: [[f64; 3]; 5] =
    [[0.03, 0.45, 0.02], [0.55, 0.60, 0.15], [0.92, 0.85, 0.50], [0.97, 1.00, 0.70], [0.80, 0.45, 0.10]];

impl Pattern {
    pub(super) fn new(seed: u64) -> Self {
        let demand = Demand { activity: 0.45, bandwidth: 0.0 };
        Self { random: seed, load: Load::Phases, utilisation: 0.0, demand, steps_left: 0, phase: 0 }
    }

    pub(super) fn set_load(&mut self, load: Load) {
        self.load = load;
        self.steps_left = 0;
    }

    pub(super) fn step(&mut self) {
        if let Load::Steady { utilisation, activity, bandwidth } = self.load {
            self.utilisation = utilisation.clamp(0.0, 1.0);
            self.demand = Demand { activity: activity.clamp(0.0, 1.0), bandwidth: bandwidth.clamp(0.0, 1.0) };
            return;
        }
        if self.steps_left > 0 {
            self.steps_left -= 1;
            return;
        }
        let kind = (self.uniform() * PHASES.len() as f64) as usize;
        let [utilisation, activity, bandwidth] = PHASES.get(kind).copied().unwrap_or_default();
        self.utilisation = utilisation;
        self.demand = Demand { activity, bandwidth };
        self.steps_left = 300 + (self.uniform() * 1200.0) as u64;
        self.phase = self.next();
    }

    pub(super) const fn demand(&self) -> Demand {
        self.demand
    }

    /// The share of time that a core works in this phase: the phase's, a few percent up or down by core.
    pub(super) fn utilisation(&self, core: usize) -> f64 {
        if self.load != Load::Phases {
            return self.utilisation;
        }
        let spread = share(mix(self.phase ^ core as u64)) - 0.5;
        (self.utilisation + spread * 0.06).clamp(0.0, 1.0)
    }

    /// A number from 0 up to but not including 1.
    pub(super) fn uniform(&mut self) -> f64 {
        share(self.next())
    }

    /// A number from a bell curve with mean 0 and standard deviation 1 (sum of twelve uniform numbers).
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }
}

/// The upper 53 bits as a number from 0 up to but not including 1.
fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / 9_007_199_254_740_992.0
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
