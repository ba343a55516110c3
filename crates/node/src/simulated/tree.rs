//! The files of a simulated machine: which there are, and what each shows. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::physics::Package;
use super::profile::Profile;
use super::{STEP, State};

/// What a file shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Always the same.
    Text(String),
    /// What the model says now.
    Signal(Signal),
}

/// A value of the model. Packages and CPUs are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Energy counter of a package (0) or its memory (1).
    Energy(usize, usize),
    /// Long-term (0) or short-term (1) limit of a package.
    Limit(usize, usize),
    Window(usize),
    Enabled(usize),
    FrequencyNow(usize),
    FrequencyMax(usize),
    FrequencyMin(usize),
    PackageTemperature(usize),
    CoreTemperature(usize),
    Stat,
    CpuInfo,
    MemInfo,
    LoadAverage,
    Uptime,
}

const CPU: &str = "sys/devices/system/cpu";

/// Collects files.
struct Tree(BTreeMap<String, Content>);

impl Tree {
    fn text(&mut self, path: impl Into<String>, text: impl std::fmt::Display) {
        self.0.insert(path.into(), Content::Text(format!("{text}\n")));
    }

    fn signal(&mut self, path: impl Into<String>, signal: Signal) {
        self.0.insert(path.into(), Content::Signal(signal));
    }
}

/// All files of a machine.
pub(super) fn files(profile: &Profile, seed: u64) -> BTreeMap<String, Content> {
    let mut tree = Tree(BTreeMap::new());
    proc_files(&mut tree, profile, seed);
    for package in 0..profile.packages {
        package_files(&mut tree, profile, package);
    }
    for cpu in 0..profile.cpus() {
        cpu_files(&mut tree, profile, cpu);
    }
    let last = profile.cpus() - 1;
    for list in ["online", "present", "possible"] {
        tree.text(format!("{CPU}/{list}"), format!("0-{last}"));
    }
    tree.0
}

fn proc_files(tree: &mut Tree, profile: &Profile, seed: u64) {
    tree.text("proc/sys/kernel/hostname", format!("simulated-{}", profile.name));
    tree.text("proc/sys/kernel/osrelease", "6.1.0-simulated");
    tree.text(
        "proc/sys/kernel/random/boot_id",
        format!("00000000-0000-4000-8000-{:012x}", seed & 0xffff_ffff_ffff),
    );
    tree.text("proc/mounts", "sysfs /sys sysfs rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0");
    for (name, signal) in [
        ("stat", Signal::Stat),
        ("cpuinfo", Signal::CpuInfo),
        ("meminfo", Signal::MemInfo),
        ("loadavg", Signal::LoadAverage),
        ("uptime", Signal::Uptime),
    ] {
        tree.signal(format!("proc/{name}"), signal);
    }
}

fn package_files(tree: &mut Tree, profile: &Profile, package: usize) {
    let zone = format!("sys/class/powercap/intel-rapl:{package}");
    tree.text(format!("{zone}/name"), format!("package-{package}"));
    tree.text(format!("{zone}/max_energy_range_uj"), Package::range_uj(0));
    tree.signal(format!("{zone}/energy_uj"), Signal::Energy(package, 0));
    tree.signal(format!("{zone}/enabled"), Signal::Enabled(package));
    for (constraint, name, watts) in
        [(0, "long_term", profile.watts_design), (1, "short_term", profile.watts_short)]
    {
        tree.text(format!("{zone}/constraint_{constraint}_name"), name);
        tree.text(format!("{zone}/constraint_{constraint}_max_power_uw"), (watts * 1e6) as u64);
        tree.signal(
            format!("{zone}/constraint_{constraint}_power_limit_uw"),
            Signal::Limit(package, constraint),
        );
    }
    tree.signal(format!("{zone}/constraint_0_time_window_us"), Signal::Window(package));
    tree.text(format!("{zone}/constraint_1_time_window_us"), 7808);
    let memory = format!("{zone}:0");
    tree.text(format!("{memory}/name"), "dram");
    tree.text(format!("{memory}/max_energy_range_uj"), Package::range_uj(1));
    tree.signal(format!("{memory}/energy_uj"), Signal::Energy(package, 1));

    let thermal = format!("sys/class/thermal/thermal_zone{package}");
    tree.text(format!("{thermal}/type"), "x86_pkg_temp");
    tree.signal(format!("{thermal}/temp"), Signal::PackageTemperature(package));
    let chip = format!("sys/class/hwmon/hwmon{package}");
    tree.text(format!("{chip}/name"), "coretemp");
    tree.text(format!("{chip}/temp1_label"), format!("Package id {package}"));
    tree.signal(format!("{chip}/temp1_input"), Signal::PackageTemperature(package));
    for core in 0..profile.cores {
        tree.text(format!("{chip}/temp{}_label", core + 2), format!("Core {core}"));
        let cpu = package * profile.cores + core;
        tree.signal(format!("{chip}/temp{}_input", core + 2), Signal::CoreTemperature(cpu));
    }
    let (first, last) = (package * profile.cores, (package + 1) * profile.cores - 1);
    tree.text(format!("sys/devices/system/node/node{package}/cpulist"), format!("{first}-{last}"));
}

fn cpu_files(tree: &mut Tree, profile: &Profile, cpu: usize) {
    let folder = format!("{CPU}/cpu{cpu}");
    if cpu > 0 {
        tree.text(format!("{folder}/online"), 1);
    }
    tree.text(format!("{folder}/topology/physical_package_id"), cpu / profile.cores);
    tree.text(format!("{folder}/topology/core_id"), cpu % profile.cores);
    tree.text(format!("{folder}/topology/thread_siblings_list"), cpu);
    let policy = format!("{CPU}/cpufreq/policy{cpu}");
    let (low, high) = profile.kilohertz_range();
    let [_, base, _] = profile.gigahertz;
    for (name, text) in [
        ("affected_cpus", cpu.to_string()),
        ("related_cpus", cpu.to_string()),
        ("cpuinfo_min_freq", low.to_string()),
        ("cpuinfo_max_freq", high.to_string()),
        ("base_frequency", format!("{}", (base * 1e6) as u64)),
        ("scaling_driver", "intel_cpufreq".to_string()),
        ("scaling_governor", "performance".to_string()),
        ("scaling_available_governors", "performance schedutil".to_string()),
    ] {
        tree.text(format!("{policy}/{name}"), text);
    }
    tree.signal(format!("{policy}/scaling_cur_freq"), Signal::FrequencyNow(cpu));
    tree.signal(format!("{policy}/scaling_max_freq"), Signal::FrequencyMax(cpu));
    tree.signal(format!("{policy}/scaling_min_freq"), Signal::FrequencyMin(cpu));
}

/// What a file shows now. A number of a package or CPU that is not there shows nothing; the tree has none.
pub(super) fn show(signal: Signal, profile: &Profile, state: &State) -> String {
    let package = |index: usize| state.packages.get(index);
    let core = |index: usize| state.cores.get(index);
    let number = match signal {
        Signal::Energy(index, which) => package(index).map(|package| package.counter_uj(which)),
        Signal::Limit(index, constraint) => package(index).map(|package| package.limit_uw(constraint)),
        Signal::Window(index) => package(index).map(|package| package.window_us),
        Signal::Enabled(index) => package(index).map(|package| u64::from(package.is_limited)),
        Signal::FrequencyNow(cpu) => core(cpu).map(|core| (core.gigahertz * 1e6).round() as u64),
        Signal::FrequencyMax(cpu) => core(cpu).map(|core| core.kilohertz_max),
        Signal::FrequencyMin(cpu) => core(cpu).map(|core| core.kilohertz_min),
        // The sensor shows whole degrees.
        Signal::PackageTemperature(index) => {
            package(index).map(|package| package.celsius.round() as u64 * 1000)
        }
        Signal::CoreTemperature(cpu) => package(cpu / profile.cores)
            .zip(core(cpu))
            .map(|(package, core)| (package.celsius - 6.0 + 5.0 * core.utilisation).round() as u64 * 1000),
        Signal::Stat => return stat(state),
        Signal::CpuInfo => return cpu_info(profile, state),
        Signal::MemInfo => return memory_info(profile, state),
        Signal::LoadAverage => return load_average(state),
        Signal::Uptime => return format!("{:.2} 0.00\n", state.steps as f64 * STEP.as_secs_f64()),
    };
    number.map_or_else(String::new, |number| format!("{number}\n"))
}

/// One step is one tick of the kernel's statistics; a tenth of the busy time is the system's.
fn stat(state: &State) -> String {
    let mut lines = String::new();
    let mut sums = [0, 0, 0];
    for (cpu, core) in state.cores.iter().enumerate() {
        let busy = (core.busy_steps as u64).min(state.steps);
        let times = [busy - busy / 10, busy / 10, state.steps - busy];
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time;
        }
        let [user, system, idle] = times;
        // Writing to a string does not fail.
        let _ = writeln!(lines, "cpu{cpu} {user} 0 {system} {idle} 0 0 0 0 0 0");
    }
    let [user, system, idle] = sums;
    format!("cpu  {user} 0 {system} {idle} 0 0 0 0 0 0\n{lines}")
}

fn cpu_info(profile: &Profile, state: &State) -> String {
    let mut text = String::new();
    for (cpu, core) in state.cores.iter().enumerate() {
        let (package, number) = (cpu / profile.cores, cpu % profile.cores);
        let _ = write!(
            text,
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: {}\ncpu MHz\t\t: {:.3}\nphysical id\t: {package}\n\
             siblings\t: {}\ncore id\t\t: {number}\ncpu cores\t: {}\nflags\t\t: fpu tsc msr avx512f\n\n",
            profile.cpu_model,
            core.gigahertz * 1e3,
            profile.cores,
            profile.cores,
        );
    }
    text
}

/// An application's memory grows with the bandwidth that it uses.
fn memory_info(profile: &Profile, state: &State) -> String {
    let total = profile.memory_kibibytes;
    let used = (total as f64 * (0.05 + 0.4 * state.pattern.demand().bandwidth)) as u64;
    let free = total - used;
    format!(
        "MemTotal: {total} kB\nMemFree: {free} kB\nMemAvailable: {free} kB\nBuffers: 0 kB\nCached: 0 kB\n"
    )
}

fn load_average(state: &State) -> String {
    let [one, five, fifteen] = state.load_averages;
    let running = state.cores.iter().filter(|core| core.utilisation > 0.5).count();
    format!("{one:.2} {five:.2} {fifteen:.2} {running}/400 4000\n")
}
