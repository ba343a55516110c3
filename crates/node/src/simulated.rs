//! A simulated node: a [`SysRoot`] whose files come from a model of a machine. Deterministic for a seed.
//! Touches nothing but, when asked to run with the host, the monotonic clock.
//!
//! The model moves in steps of 10 ms of its own clock, whatever the pattern of reads, so that two runs of one seed
//! show the same values at the same times. Equations and parameters are stated in `physics` and `profile` below.

mod load;
mod physics;
mod profile;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use units::{Instant, Joules, Watts};

use crate::clock;
use crate::sys_root::{PerfEvent, SysRoot, check_path, sort_names};
pub use load::Load;
use load::Pattern;
use physics::{Core, Package};
use profile::Profile;
use tree::{Content, Signal};

/// The model moves in steps of this length.
pub const STEP: Duration = Duration::from_millis(10);

/// With the host's clock the model catches up at most this many steps (a quarter of an hour) in one read; a longer
/// pause counts as a suspended machine.
const STEPS_BEHIND_MAX: u64 = 90_000;

/// What drives a simulated node's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedClock {
    /// Time stands still until [`SimulatedNode::advance`].
    Virtual,
    /// Time runs with the host's monotonic clock.
    Host,
}

/// A simulated node.
#[derive(Debug)]
pub struct SimulatedNode {
    profile: &'static Profile,
    clock: SimulatedClock,
    files: BTreeMap<String, Content>,
    state: Mutex<State>,
}

/// No profile has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no simulated node is called {name:?}; there is {}", profiles().join(", "))]
pub struct UnknownProfile {
    /// The name that was asked for.
    pub name: String,
}

#[derive(Debug)]
struct State {
    origin: Instant,
    now: Instant,
    steps: u64,
    packages: Vec<Package>,
    cores: Vec<Core>,
    pattern: Pattern,
    load_averages: [f64; 3],
}

/// The names of all profiles.
pub fn profiles() -> Vec<&'static str> {
    profile::PROFILES.iter().map(|profile| profile.name).collect()
}

impl SimulatedNode {
    /// A node of a profile. The seed decides the load, the spread of parts and where counters start; package 0's
    /// counter starts shortly before its end, so that a run of a minute sees a wrap.
    ///
    /// # Errors
    /// When no profile has that name; the error lists those that there are.
    pub fn new(name: &str, seed: u64, clock: SimulatedClock) -> Result<Self, UnknownProfile> {
        let profile = profile::PROFILES.iter().find(|profile| profile.name == name);
        let profile = profile.ok_or_else(|| UnknownProfile { name: name.to_string() })?;
        let origin = match clock {
            SimulatedClock::Virtual => Instant::ZERO,
            SimulatedClock::Host => clock::monotonic(),
        };
        let mut pattern = Pattern::new(seed);
        let packages =
            (0..profile.packages).map(|index| Package::new(profile, index, &mut pattern)).collect();
        let cores = (0..profile.cpus()).map(|_| Core::new(profile)).collect();
        let state =
            State { origin, now: origin, steps: 0, packages, cores, pattern, load_averages: [0.0; 3] };
        Ok(Self { profile, clock, files: tree::files(profile, seed), state: Mutex::new(state) })
    }

    /// Moves virtual time on; does nothing when time runs with the host. Costs about 1 ms for a minute.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        if self.clock == SimulatedClock::Virtual {
            state.now = state.now + by;
            state.catch_up(self.profile, u64::MAX);
        }
    }

    /// Replaces the load from now on.
    pub fn set_load(&self, load: Load) {
        self.current().pattern.set_load(load);
    }

    /// The model's own energy since the start, without the counters' units and wraps: packages and memory. For tests
    /// of what sensors make of it.
    pub fn true_energy(&self) -> Joules {
        self.current()
            .packages
            .iter()
            .map(|package| Joules::new(package.energy + package.memory_energy))
            .sum()
    }

    /// The model's own power of packages and memory in the last step.
    pub fn true_power(&self) -> Watts {
        self.current().packages.iter().map(|package| Watts::new(package.power + package.memory_power)).sum()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state at the clock's time.
    fn current(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if self.clock == SimulatedClock::Host {
            state.now = clock::monotonic();
            state.catch_up(self.profile, STEPS_BEHIND_MAX);
        }
        state
    }
}

impl State {
    fn catch_up(&mut self, profile: &Profile, behind_max: u64) {
        let passed = self.now.saturating_since(self.origin).as_nanos() / STEP.as_nanos();
        let behind = u64::try_from(passed).unwrap_or(u64::MAX).saturating_sub(self.steps);
        let skipped = behind.saturating_sub(behind_max);
        self.origin = self.origin + STEP * u32::try_from(skipped).unwrap_or(u32::MAX);
        for _ in 0..behind.min(behind_max) {
            self.step(profile);
        }
    }

    fn step(&mut self, profile: &Profile) {
        let dt = STEP.as_secs_f64();
        self.steps += 1;
        self.pattern.step();
        let demand = self.pattern.demand();
        let cores_each = profile.cores;
        for (index, (package, cores)) in
            self.packages.iter_mut().zip(self.cores.chunks_mut(cores_each)).enumerate()
        {
            for (core, number) in cores.iter_mut().zip(index * cores_each..) {
                core.utilisation = self.pattern.utilisation(number);
                core.busy_steps += core.utilisation;
            }
            package.step(profile, cores, demand, dt);
        }
        let running: f64 = self.cores.iter().map(|core| core.utilisation).sum();
        for (average, seconds) in self.load_averages.iter_mut().zip([60.0, 300.0, 900.0]) {
            *average += (running - *average) * dt / seconds;
        }
    }
}

impl SysRoot for SimulatedNode {
    fn read(&self, path: &str) -> io::Result<String> {
        check_path(path)?;
        match self.files.get(path) {
            Some(Content::Text(text)) => Ok(text.clone()),
            Some(Content::Signal(signal)) => Ok(tree::show(*signal, self.profile, &self.current())),
            None if self.list(path).is_ok() => Err(Errno::ISDIR.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        check_path(path)?;
        match self.files.get(path) {
            Some(Content::Signal(signal)) => store(*signal, text, self.profile, &mut self.current()),
            Some(Content::Text(_)) => Err(Errno::ACCESS.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        check_path(path)?;
        if self.files.contains_key(path) {
            return Err(Errno::NOTDIR.into());
        }
        let below = format!("{path}/");
        let inside = self.files.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
        let first = |name: &str| name.strip_prefix(&below)?.split('/').next().map(str::to_string);
        let mut names: Vec<String> = inside.filter_map(|(name, _)| first(name)).collect();
        names.dedup();
        if names.is_empty() {
            return Err(Errno::NOENT.into());
        }
        sort_names(&mut names);
        names.dedup();
        Ok(names)
    }

    fn link_name(&self, path: &str) -> io::Result<String> {
        check_path(path)?;
        let package =
            path.strip_prefix("sys/class/hwmon/hwmon").and_then(|rest| rest.strip_suffix("/device"));
        package.map(|package| format!("coretemp.{package}")).ok_or_else(|| Errno::NOENT.into())
    }

    fn perf_count(&self, _event: &PerfEvent) -> io::Result<u64> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a simulated node has no perf events"))
    }

    fn now(&self) -> Instant {
        self.current().now
    }

    fn describe(&self) -> String {
        format!("simulated {}", self.profile.name)
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// Takes a written setting as the hardware does: rounded to its step, refused where the kernel refuses it.
fn store(signal: Signal, text: &str, profile: &Profile, state: &mut State) -> io::Result<()> {
    let count: u64 = text.trim().parse().map_err(|_| io::Error::from(Errno::INVAL))?;
    let (low, high) = profile.kilohertz_range();
    let stepped = count.clamp(low, high) / 100_000 * 100_000;
    let refused = || Err(Errno::INVAL.into());
    match signal {
        Signal::FrequencyMax(cpu) => {
            let Some(core) = state.cores.get_mut(cpu) else { return refused() };
            if stepped < core.kilohertz_min {
                return refused();
            }
            core.kilohertz_max = stepped;
        }
        Signal::FrequencyMin(cpu) => {
            let Some(core) = state.cores.get_mut(cpu) else { return refused() };
            if stepped > core.kilohertz_max {
                return refused();
            }
            core.kilohertz_min = stepped;
        }
        Signal::Limit(package, constraint) => {
            let Some(package) = state.packages.get_mut(package) else { return refused() };
            package.set_limit(constraint, count);
        }
        Signal::Window(package) => {
            let Some(package) = state.packages.get_mut(package) else { return refused() };
            package.window_us = physics::window_as_stored(count);
        }
        Signal::Enabled(package) => {
            let Some(package) = state.packages.get_mut(package).filter(|_| count <= 1) else {
                return refused();
            };
            package.is_limited = count == 1;
        }
        _ => return Err(Errno::ACCESS.into()),
    }
    Ok(())
}
