#![expect(clippy::disallowed_methods, reason = "I/O shell: asks /proc whether a process lives")]
//! Who owns a journal: a process by its number, its start and the machine's boot, so that a number that was given to
//! another process later is not mistaken. Reads `/proc` of this machine, also for a simulated node's journal.

use std::fmt;

use super::record::line;

/// A process that owns a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process number.
    pub pid: u32,
    /// When the process started, in the kernel's ticks since boot.
    start_ticks: u64,
    /// The boot in which it ran; empty when the kernel does not tell.
    boot_id: String,
}

const MARK: &str = "stillwatt-journal-1";

impl Owner {
    /// This process.
    pub(super) fn this_process() -> Self {
        let pid = std::process::id();
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { pid, start_ticks: start_ticks(pid).unwrap_or(0), boot_id: boot_id.trim().to_string() }
    }

    /// A living process that has not written its name yet.
    pub(super) const fn unknown() -> Self {
        Self { pid: 0, start_ticks: 0, boot_id: String::new() }
    }

    pub(super) fn encode(&self) -> String {
        line(&[MARK, &self.pid.to_string(), &self.start_ticks.to_string(), &self.boot_id])
    }

    pub(super) fn decode(fields: &[String]) -> Option<Self> {
        match fields {
            [mark, pid, start_ticks, boot_id] if mark == MARK => {
                let (pid, start_ticks) = (pid.parse().ok()?, start_ticks.parse().ok()?);
                Some(Self { pid, start_ticks, boot_id: boot_id.clone() })
            }
            _ => None,
        }
    }

    /// Whether the machine has started again between this owner and `now`.
    pub(super) fn is_other_boot(&self, now: &Self) -> bool {
        !self.boot_id.is_empty() && !now.boot_id.is_empty() && self.boot_id != now.boot_id
    }

    /// Whether this is another process than the calling one and still runs.
    pub(super) fn is_other_and_alive(&self) -> bool {
        let this = Self::this_process();
        self.pid != this.pid
            && !self.is_other_boot(&this)
            && self.start_ticks != 0
            && start_ticks(self.pid) == Some(self.start_ticks)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => f.write_str("a process that is just starting"),
            pid => write!(f, "process {pid}"),
        }
    }
}

/// When a process started; `None` when it is not there or only its exit status is left of it.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold blanks and parentheses; the fields after it do not.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    // The start is field 22 of proc(5), the state field 3.
    let start = fields.nth(18)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process lives but is no other; process 1 lives; a reused number is not the same process.
    #[test]
    fn living_and_dead_owners() {
        let this = Owner::this_process();
        assert!(!this.is_other_and_alive());
        let init = Owner { pid: 1, start_ticks: start_ticks(1).unwrap(), ..this.clone() };
        // Process 1 may have started at tick 0, which counts as unknown.
        assert!(init.is_other_and_alive() || init.start_ticks == 0);
        assert!(!Owner { start_ticks: init.start_ticks + 7, ..init }.is_other_and_alive());
        assert!(!Owner { pid: 4_194_305, ..this.clone() }.is_other_and_alive());
        assert!(this.is_other_boot(&Owner { boot_id: "x".to_string(), ..this.clone() }));
    }
}
