//! What an idle process costs: wake-ups, threads, memory. Reads `/proc` of the benchmark's other process.

use std::fmt;
use std::time::Duration;

use node::{HostRoot, SysRoot};
use serde::Serialize;

use super::peer::{CROWD, PeerProcess, Role};
use crate::report::{Exit, Failure};

/// Wake-ups and threads of idle processes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Footprint {
    /// Context switches of all threads of a process with one participant.
    idle_wakeups_per_second: f64,
    /// The same with 40 participants.
    crowd_wakeups_per_second: f64,
    /// Threads started by the bus in a process with 40 participants.
    crowd_bus_threads: usize,
    /// Resident memory of the process with one participant.
    idle_resident_bytes: u64,
    /// How long was watched.
    watched_seconds: f64,
}

/// Start-up announcements are over by then.
const SETTLE: Duration = Duration::from_secs(3);
/// Longer than an announcement period, so that those are counted.
const WATCH: Duration = Duration::from_secs(20);

/// Starts idle processes and watches them.
pub(super) fn measure(domain: u32) -> Result<Footprint, Failure> {
    let root = HostRoot::machine();
    // One after the other, each alone in its domain: an idle process, not one that others keep busy.
    let idle = PeerProcess::start(Role::Idle, domain, None)?;
    let idle_wakeups_per_second = watch(&root, idle.id())?;
    let idle_resident_bytes = resident(&root, idle.id())?;
    drop(idle);
    let crowd = PeerProcess::start(Role::Crowd, domain, None)?;
    let crowd_wakeups_per_second = watch(&root, crowd.id())?;
    let names = threads(&root, crowd.id())?;
    let crowd_bus_threads = names.iter().filter(|(_, name)| name.starts_with("stw-bus")).count();
    Ok(Footprint {
        idle_wakeups_per_second,
        crowd_wakeups_per_second,
        crowd_bus_threads,
        idle_resident_bytes,
        watched_seconds: WATCH.as_secs_f64(),
    })
}

fn gone(error: std::io::Error) -> Failure {
    Failure::from_error(Exit::Failed, error)
        .with_remedy("the benchmark's other process ended early: run it again")
}

/// Thread ids and names of a process.
fn threads(root: &HostRoot, process: u32) -> Result<Vec<(String, String)>, Failure> {
    let base = format!("proc/{process}/task");
    let ids = root.list(&base).map_err(gone)?;
    let named = ids.into_iter().filter_map(|id| {
        let name = root.read(&format!("{base}/{id}/comm")).ok()?;
        Some((id, name.trim().to_string()))
    });
    Ok(named.collect())
}

fn switches(root: &HostRoot, process: u32) -> Result<u64, Failure> {
    let count = |(id, _): &(String, String)| {
        let status = root.read(&format!("proc/{process}/task/{id}/status")).unwrap_or_default();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>()
    };
    Ok(threads(root, process)?.iter().map(count).sum())
}

fn watch(root: &HostRoot, process: u32) -> Result<f64, Failure> {
    node::clock::sleep(SETTLE);
    let (start, before) = (node::clock::monotonic(), switches(root, process)?);
    node::clock::sleep(WATCH);
    let after = switches(root, process)?;
    Ok((after - before) as f64 / (node::clock::monotonic() - start).as_secs_f64())
}

fn resident(root: &HostRoot, process: u32) -> Result<u64, Failure> {
    let status = root.read(&format!("proc/{process}/status")).map_err(gone)?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0);
    Ok(kilobytes * 1024)
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "idle, one participant     {:8.2} wake-ups/s", self.idle_wakeups_per_second)?;
        writeln!(
            f,
            "                          {:8.2} MiB resident",
            self.idle_resident_bytes as f64 / 1_048_576.0
        )?;
        writeln!(f, "idle, {CROWD} participants     {:8.2} wake-ups/s", self.crowd_wakeups_per_second)?;
        write!(f, "                          {:8} bus threads", self.crowd_bus_threads)
    }
}
