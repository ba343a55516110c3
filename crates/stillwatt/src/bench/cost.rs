//! What processes cost while they do nothing: wake-ups, CPU time, threads, memory. Reads `/proc` of other processes.

use node::{HostRoot, SysRoot};

use super::failed;
use crate::report::Failure;

/// What a process has used up to now, all threads together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Times that a thread stopped running: each is followed by a wake-up.
    pub(super) switches: u64,
    /// Time on a CPU, in ns.
    pub(super) cpu_ns: u64,
}

/// What a process holds now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Memory in RAM, its program and libraries included.
    pub(super) resident_bytes: u64,
    /// Memory in RAM that is no file's: what its data takes.
    pub(super) anonymous_bytes: u64,
    /// Threads.
    pub(super) threads: u64,
    /// Threads of our bus.
    pub(super) bus_threads: u64,
}

/// Reads about one process.
#[derive(Debug)]
pub(super) struct Watched {
    root: HostRoot,
    process: u32,
}

impl Watched {
    pub(super) fn new(process: u32) -> Self {
        Self { root: HostRoot::machine(), process }
    }

    fn tasks(&self) -> Result<Vec<String>, Failure> {
        self.root.list(&format!("proc/{}/task", self.process)).map_err(failed)
    }

    fn of_task(&self, task: &str, file: &str) -> String {
        // A thread that has just ended has nothing to tell.
        self.root.read(&format!("proc/{}/task/{task}/{file}", self.process)).unwrap_or_default()
    }

    /// Up to now.
    pub(super) fn used(&self) -> Result<Used, Failure> {
        let mut used = Used::default();
        for task in self.tasks()? {
            used.switches += field_sum(&self.of_task(&task, "status"), "ctxt_switches");
            let schedstat = self.of_task(&task, "schedstat");
            used.cpu_ns += schedstat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        }
        Ok(used)
    }

    /// Now.
    pub(super) fn held(&self) -> Result<Held, Failure> {
        let tasks = self.tasks()?;
        let status = self.root.read(&format!("proc/{}/status", self.process)).map_err(failed)?;
        let is_bus = |task: &&String| self.of_task(task, "comm").starts_with("stw-bus");
        Ok(Held {
            resident_bytes: field_sum(&status, "VmRSS") * 1024,
            anonymous_bytes: field_sum(&status, "RssAnon") * 1024,
            threads: tasks.len() as u64,
            bus_threads: tasks.iter().filter(is_bus).count() as u64,
        })
    }
}

/// The sum of the numbers in the lines whose name contains `name`.
fn field_sum(status: &str, name: &str) -> u64 {
    let lines = status.lines().filter_map(|line| line.split_once(':')).filter(|(key, _)| key.contains(name));
    lines.filter_map(|(_, value)| value.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both kinds of switches count; memory is read by its name.
    #[test]
    fn fields() {
        let status = "Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t 512 kB\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(field_sum(status, "ctxt_switches"), 10);
        assert_eq!(field_sum(status, "VmRSS"), 2048);
        assert_eq!(field_sum(status, "absent"), 0);
    }

    /// This process has a thread and memory.
    #[test]
    fn own_process() {
        let held = Watched::new(std::process::id()).held().unwrap();
        assert!(held.threads >= 1 && held.resident_bytes > held.anonymous_bytes && held.anonymous_bytes > 0);
    }
}
