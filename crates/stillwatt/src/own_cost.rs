#![expect(clippy::disallowed_methods, reason = "I/O shell: reads /proc/self/status")]
//! What this process costs the machine. Touches the CPU-time clock and `/proc/self/status` (proc(5)).

use rustix::time::{ClockId, clock_gettime};

use crate::snapshot::SelfCost;

/// The cost so far. One clock read and one small file.
pub fn read() -> SelfCost {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    SelfCost {
        cpu_seconds_total: Some(used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9),
        threads: field(&status, "Threads:"),
        resident_bytes: field(&status, "VmRSS:").map(|kibibytes| kibibytes * 1024),
    }
}

fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A running process has used some time, has a thread and lives in some memory.
    #[test]
    fn reads_this_process() {
        let cost = read();
        assert!(cost.cpu_seconds_total.unwrap() > 0.0);
        assert!(cost.threads.unwrap() >= 1);
        assert!(cost.resident_bytes.unwrap() > 100_000);
    }

    /// A field that is not there is absent.
    #[test]
    fn missing_fields_are_absent() {
        assert_eq!(field("Threads:\t7\n", "Threads:"), Some(7));
        assert_eq!(field("Threads:\tmany\n", "Threads:"), None);
        assert_eq!(field("", "VmRSS:"), None);
    }
}
