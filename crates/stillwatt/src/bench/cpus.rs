//! The CPUs of the benchmark's processes. May touch: the calling thread's affinity.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::report::{Exit, Failure};

/// The CPUs that this process may use.
pub(super) fn online_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// Keeps the calling thread, and threads it starts from now on, on one CPU.
pub(super) fn pin(cpu: u32) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).map_err(|errno| {
        Failure::from_error(Exit::NotAvailable, std::io::Error::from(errno))
            .with_remedy(format!("CPU {cpu} must be online and allowed for this process"))
    })
}
