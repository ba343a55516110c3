//! Clock frequency of each cpufreq policy (Linux, `admin-guide/pm/cpufreq.rst`). Reads below
//! `sys/devices/system/cpu` and, where there is no cpufreq, `proc/cpuinfo`.

use std::time::Duration;

use units::{CpuList, Hertz};

use super::{Sampling, Sensor, SensorInfo, Slot};
use crate::absent::{Absent, AbsentReason};
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};
use crate::sys_root::SysRoot;
use crate::topology::cpus_online;

const FOLDER: &str = "sys/devices/system/cpu";
const CPUINFO: &str = "proc/cpuinfo";
const METRIC: &str = "cpu.frequency";
/// No processor runs faster; a higher number is damage.
const KILOHERTZ_MAX: u64 = 20_000_000;

/// A group of CPUs whose frequency is set together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The policy's number.
    pub number: u32,
    /// The policy's folder, relative to the root.
    pub folder: String,
    /// The online CPUs that it rules, or why it cannot be used.
    pub cpus: Result<CpuList, Absent>,
}

/// The policies of a machine, in order of their numbers, usable or not.
///
/// A policy is usable when its `scaling_cur_freq` can be read and it rules at least one CPU that is online. Kernels
/// before 4.3 have one folder a CPU instead; those count as one policy a CPU.
///
/// # Errors
/// Why the folder of policies cannot be read, or that it is empty.
pub fn policies(root: &dyn SysRoot) -> Result<Vec<Policy>, Absent> {
    let online = cpus_online(root)?;
    let folder = format!("{FOLDER}/cpufreq");
    let listed = root.list(&folder).map_err(|error| Absent::from_io(&folder, &error));
    let names = listed.clone().unwrap_or_default();
    let number = |name: &String| name.strip_prefix("policy")?.parse::<u32>().ok();
    let mut policies: Vec<Policy> = names
        .iter()
        .filter_map(number)
        .map(|number| {
            let folder = format!("{folder}/policy{number}");
            Policy { number, cpus: policy_cpus(root, &folder, &online), folder }
        })
        .collect();
    if policies.is_empty() {
        let with_folder = |cpu: u32| {
            let folder = format!("{FOLDER}/cpu{cpu}/cpufreq");
            root.exists(&folder).then(|| Policy {
                number: cpu,
                cpus: policy_cpus(root, &folder, &online),
                folder,
            })
        };
        policies = online.iter().filter_map(with_folder).collect();
    }
    if policies.is_empty() {
        let empty = || Absent::new(AbsentReason::NotPresent, folder.clone(), "no frequency policy");
        let remedy = "the kernel has no frequency driver for this processor, as in most virtual machines";
        return Err(listed.err().unwrap_or_else(empty).with_remedy(remedy));
    }
    Ok(policies)
}

/// The CPUs whose frequency can be read and set: those online that a usable policy rules.
pub fn managed_cpus(policies: &[Policy]) -> CpuList {
    policies.iter().filter_map(|policy| policy.cpus.as_ref().ok()).flat_map(CpuList::iter).collect()
}

fn policy_cpus(root: &dyn SysRoot, folder: &str, online: &CpuList) -> Result<CpuList, Absent> {
    let read = |name: &str| {
        let path = format!("{folder}/{name}");
        root.read(&path).map_err(|error| Absent::from_io(&path, &error)).map(|text| (path, text))
    };
    let (path, text) = match read("affected_cpus") {
        Err(absent) if absent.reason == AbsentReason::NotPresent => read("related_cpus")?,
        other => other?,
    };
    let cpus: CpuList = text.parse().map_err(|_| Absent::malformed(&path, &text, "a list of CPUs"))?;
    let cpus: CpuList = cpus.iter().filter(|&cpu| online.contains(cpu)).collect();
    if cpus.is_empty() {
        return Err(Absent::new(AbsentReason::Disabled, path, "none of the policy's CPUs is online"));
    }
    read("scaling_cur_freq")?;
    Ok(cpus)
}

/// Clock frequency of each policy, or of each CPU as `proc/cpuinfo` shows it where there is no cpufreq.
///
/// `scaling_cur_freq` is what the driver last asked for or last measured, depending on the driver: quality
/// `estimated`. The lines `cpu MHz` are an approximation too, and constant in most virtual machines.
#[derive(Debug)]
pub struct FrequencySensor {
    info: SensorInfo,
    policies: Result<Vec<Policy>, Absent>,
}

impl FrequencySensor {
    /// Finds the machine's policies.
    pub fn discover(root: &dyn SysRoot) -> Self {
        let policies = policies(root);
        let (source, cost, notes) = match &policies {
            Ok(_) => (
                Source::Cpufreq,
                "one small file a policy; some drivers read a register of the policy's CPU, which interrupts it",
                "what the driver asked for or last saw, not a cycle count",
            ),
            Err(_) => (
                Source::Proc,
                "one file, about 2 kB a CPU; on x86 the kernel uses counts of its last tick",
                "no cpufreq here: the lines `cpu MHz` of proc/cpuinfo, constant in most virtual machines",
            ),
        };
        Self {
            info: SensorInfo {
                id: "frequency".to_string(),
                source,
                quantities: vec![Quantity::Frequency],
                update_period: Duration::from_millis(10),
                permission: "none",
                cost,
                notes,
            },
            policies,
        }
    }

    fn sample_policy(policy: &Policy, sampling: &mut Sampling<'_>) -> Result<Measurement, Absent> {
        policy.cpus.as_ref().map_err(Clone::clone)?;
        let path = format!("{}/scaling_cur_freq", policy.folder);
        let kilohertz: u64 = sampling.read_number(&path)?;
        if kilohertz == 0 || kilohertz > KILOHERTZ_MAX {
            return Err(Absent::malformed(&path, &kilohertz.to_string(), "a frequency in kHz"));
        }
        Ok(estimated(kilohertz as f64 * 1e3, 500.0))
    }

    fn sample_cpuinfo(sampling: &mut Sampling<'_>, no_cpufreq: &Absent, readings: &mut Vec<Reading>) {
        let text = sampling.read(CPUINFO);
        let now = sampling.now();
        let slot = |domain| Slot { metric: METRIC, domain, source: Source::Proc };
        let found = readings.len();
        for (cpu, megahertz) in text.iter().flat_map(|text| cpuinfo_frequencies(text)) {
            let outcome = match megahertz.parse::<f64>() {
                Ok(mhz) if mhz > 0.0 && mhz * 1e3 <= KILOHERTZ_MAX as f64 => Ok(estimated(mhz * 1e6, 500.0)),
                _ => Err(Absent::malformed(CPUINFO, megahertz, "a frequency in MHz")),
            };
            readings.push(slot(Domain::Cpu(cpu)).reading((now, now), outcome));
        }
        if readings.len() == found {
            readings.push(slot(Domain::Node).reading((now, now), Err(no_cpufreq.clone())));
        }
    }
}

impl Sensor for FrequencySensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn sample(&mut self, sampling: &mut Sampling<'_>, readings: &mut Vec<Reading>) {
        let policies = match &self.policies {
            Ok(policies) => policies,
            Err(absent) => return Self::sample_cpuinfo(sampling, absent, readings),
        };
        let mut has_vanished = false;
        for policy in policies {
            let outcome = Self::sample_policy(policy, sampling);
            has_vanished |= outcome.as_ref().is_err_and(|absent| absent.reason == AbsentReason::NotPresent);
            let now = sampling.now();
            let slot =
                Slot { metric: METRIC, domain: Domain::Policy(policy.number), source: Source::Cpufreq };
            readings.push(slot.reading((now, now), outcome));
        }
        if has_vanished {
            // A CPU went offline or came back: policies follow it.
            self.policies = self::policies(sampling.root());
        }
    }
}

fn estimated(hertz: f64, half_step: f64) -> Measurement {
    let bounds = Bounded { value: hertz, low: hertz - half_step, high: hertz + half_step };
    Measurement {
        value: Value::Frequency(bounds.map(Hertz::new)),
        quality: Quality::Estimated,
        flags: Flags::NONE,
    }
}

/// The CPU number and the text after `cpu MHz` of each block.
fn cpuinfo_frequencies(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut cpu = None;
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        match key.trim() {
            "processor" => {
                cpu = value.trim().parse().ok();
                None
            }
            "cpu MHz" => Some((cpu?, value.trim())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    fn sample(root: &MemoryRoot) -> Vec<Reading> {
        let mut readings = Vec::new();
        FrequencySensor::discover(root).sample(&mut Sampling::new(root), &mut readings);
        readings
    }

    /// Without cpufreq the lines of proc/cpuinfo are taken and called estimated.
    #[test]
    fn falls_back_to_cpuinfo() {
        let cpuinfo = "processor : 0\ncpu MHz : 2596.098\n\nprocessor : 1\ncpu MHz : bad\n";
        let files = [("proc/stat", "cpu0 1\ncpu1 1\n"), ("proc/cpuinfo", cpuinfo)];
        let root: MemoryRoot = files.into_iter().collect();
        let readings = sample(&root);
        let first = readings[0].measurement().unwrap();
        assert_eq!(first.quality, Quality::Estimated);
        assert!((first.value.numbers().value - 2.596_098e9).abs() < 1.0);
        assert_eq!(readings[1].outcome.as_ref().unwrap_err().reason, AbsentReason::Malformed);
    }

    /// Where neither is there, one reading says so.
    #[test]
    fn nothing_is_a_reason() {
        let root: MemoryRoot = [("proc/stat", "cpu0 1\n"), ("proc/cpuinfo", "x : y\n")].into_iter().collect();
        let readings = sample(&root);
        assert_eq!(readings.len(), 1);
        assert_eq!(readings[0].outcome.as_ref().unwrap_err().reason, AbsentReason::NotPresent);
    }

    /// Old kernels have a folder a CPU; impossible numbers are refused.
    #[test]
    fn per_cpu_folders_and_impossible_values() {
        let files = [
            ("proc/stat", "cpu0 1\ncpu1 1\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/affected_cpus", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1800000\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/affected_cpus", "1\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "4294967295\n"),
        ];
        let readings = sample(&files.into_iter().collect());
        assert_eq!(readings[0].measurement().unwrap().value.numbers().value, 1.8e9);
        assert!(readings[1].outcome.is_err());
    }
}
