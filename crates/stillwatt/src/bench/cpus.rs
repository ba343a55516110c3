//! The CPUs of the benches' processes. May touch: the calling thread's affinity.

use clap::ValueEnum;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use units::CpuList;

use crate::report::{Exit, Failure};

/// Where the processes of a bench run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    /// All on one CPU.
    OneCore,
    /// The master on one CPU, the others on other ones.
    Across,
    /// Wherever the kernel puts them.
    Free,
}

impl Placement {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneCore => "one-core",
            Self::Across => "across",
            Self::Free => "free",
        }
    }

    /// Whether this many CPUs are enough for it.
    pub(super) fn is_possible(self, online: &[u32]) -> bool {
        self != Self::Across || online.len() > 1
    }

    /// The CPUs of the master.
    pub(super) fn master(self, online: &[u32]) -> Option<Vec<u32>> {
        match self {
            Self::OneCore | Self::Across => online.first().map(|cpu| vec![*cpu]),
            Self::Free => None,
        }
    }

    /// The CPUs of the other processes.
    pub(super) fn others(self, online: &[u32]) -> Option<Vec<u32>> {
        match self {
            Self::OneCore => self.master(online),
            Self::Across => online.get(1..).map(<[u32]>::to_vec),
            Self::Free => None,
        }
    }
}

/// The CPUs that this process may use.
pub(super) fn online_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    listed(&set)
}

fn listed(set: &CpuSet) -> Vec<u32> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// CPUs as a list such as `0-3`.
pub(super) fn shown(cpus: &[u32]) -> String {
    CpuList::from_iter(cpus.iter().copied()).to_string()
}

/// Where the calling thread was before.
#[derive(Debug)]
pub(super) struct Before(CpuSet);

impl Before {
    /// Moves it back.
    pub(super) fn restore(self) {
        // It was allowed before; a CPU that went away meanwhile is the kernel's to replace.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// Moves the calling thread, and what it starts from now on, to these CPUs.
pub(super) fn move_to(cpus: &[u32]) -> Result<Before, Failure> {
    let failed = |errno: rustix::io::Errno| {
        Failure::from_error(Exit::NotAvailable, std::io::Error::from(errno))
            .with_remedy(format!("CPUs {} must be online and allowed for this process", shown(cpus)))
    };
    let before = sched_getaffinity(None).map_err(failed)?;
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    sched_setaffinity(None, &set).map_err(failed)?;
    Ok(Before(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On one core all share a CPU; across, the master has one of its own; with one CPU there is no across.
    #[test]
    fn placements() {
        let online = [2, 3, 5];
        assert_eq!(Placement::OneCore.others(&online), Some(vec![2]));
        assert_eq!(Placement::Across.master(&online), Some(vec![2]));
        assert_eq!(Placement::Across.others(&online), Some(vec![3, 5]));
        assert_eq!(Placement::Free.master(&online), None);
        assert!(!Placement::Across.is_possible(&online[..1]) && Placement::OneCore.is_possible(&online[..1]));
    }
}
