//! The one way in which this crate touches a machine: text files below a root, two counters' clocks and nothing else.
//!
//! A path is relative to the root and written as on Linux: `sys/class/powercap`, `proc/stat`. Implementations are
//! the machine itself or a captured tree ([`HostRoot`]), files in memory with injected faults ([`MemoryRoot`]) and
//! the simulated node ([`crate::simulated`]). May touch: only what an implementation says.

mod host;
mod memory;
mod perf;

use std::fmt;
use std::io;

use units::Instant;

pub use host::HostRoot;
pub use memory::MemoryRoot;
pub use perf::PerfEvent;

/// A machine as text files below a root.
///
/// Every method may block for as long as the kernel's driver behind the file takes (some hwmon chips: milliseconds).
pub trait SysRoot: Send + Sync + fmt::Debug {
    /// The whole text of a file, at most [`FILE_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// The kernel's error; `InvalidInput` for a path that leaves the root; `InvalidData` for text that is too long
    /// or not UTF-8.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Writes `text` to an existing file in one call, as the kernel's attribute files want it. Never creates a file.
    ///
    /// # Errors
    /// The kernel's error; `InvalidInput` for a path that leaves the root.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// The names in a directory, sorted, numbers inside names by their value (`cpu2` before `cpu10`).
    ///
    /// # Errors
    /// The kernel's error; `InvalidInput` for a path that leaves the root.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// The last component of what a symbolic link points at (`coretemp.1` for a hwmon chip's `device`).
    ///
    /// # Errors
    /// `Unsupported` where the root has no links; otherwise the kernel's error.
    fn link_name(&self, path: &str) -> io::Result<String>;

    /// The count of a system-wide perf event on one CPU. The first call starts the counter.
    ///
    /// # Errors
    /// `Unsupported` where the root has no counters, `PermissionDenied` without `CAP_PERFMON`, else the kernel's.
    fn perf_count(&self, event: &PerfEvent) -> io::Result<u64>;

    /// The monotonic clock of this machine: virtual for a simulated one.
    fn now(&self) -> Instant;

    /// What the root is, for people and for provenance: `this machine`, `directory /tmp/tree`, `simulated …`.
    fn describe(&self) -> String;

    /// Whether values come from a model of a machine and not from a machine.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Whether a file or directory is there, readable or not.
    fn exists(&self, path: &str) -> bool {
        let there = |error: &io::Error| !is_missing(error) && error.kind() != io::ErrorKind::InvalidInput;
        match self.list(path) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => true,
            Err(error) => there(&error),
        }
    }
}

/// No file that this crate reads is longer; a longer one is refused and not cut.
pub const FILE_BYTES_MAX: usize = 4 << 20;

/// Whether an error says that there is no such file or device (`ENOENT`, `ENOTDIR`, `ENODEV`, `ENXIO`).
pub fn is_missing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error
            .raw_os_error()
            .is_some_and(|code| code == Errno::NODEV.raw_os_error() || code == Errno::NXIO.raw_os_error())
}

/// Checks that a path stays below its root by its text: relative, no empty, `.` or `..` component, no NUL.
pub(crate) fn check_path(path: &str) -> io::Result<()> {
    let is_bad = |part: &str| part.is_empty() || part == "." || part == "..";
    if path.contains('\0') || path.split('/').any(is_bad) {
        let text = format!("{path:?} is not a path below the root (write for example sys/class/powercap)");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

/// Turns what a file holds into text.
fn into_text(path: &str, bytes: Vec<u8>) -> io::Result<String> {
    if bytes.len() > FILE_BYTES_MAX {
        let text = format!("{path} is longer than {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{path} is not UTF-8 text")))
}

/// Sorts names so that numbers inside them count by value.
pub(crate) fn sort_names(names: &mut [String]) {
    names.sort_by(|a, b| name_key(a).cmp(&name_key(b)).then_with(|| a.cmp(b)));
}

/// A name split into its text and number parts, in order; numbers are padded so that text order is value order.
fn name_key(name: &str) -> String {
    let mut key = String::with_capacity(name.len() + 20);
    let mut digits = String::new();
    for c in name.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            key.push_str(&format!("{:0>20}", digits.trim_start_matches('0')));
            digits.clear();
        }
        key.push(c);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that could leave the root are refused before any file is touched.
    #[test]
    fn paths_stay_below_the_root() {
        for path in ["/etc/passwd", "..", "sys/../../etc", "sys//class", "", "sys/./x", "a\0b", "sys/"] {
            assert_eq!(check_path(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
        check_path("sys/class/powercap/intel-rapl:0:1/energy_uj").unwrap();
    }

    /// CPU 10 comes after CPU 2.
    #[test]
    fn names_sort_by_number() {
        let mut names = ["cpu10", "cpu2", "cpuidle", "cpu1"].map(str::to_string);
        sort_names(&mut names);
        assert_eq!(names, ["cpu1", "cpu2", "cpu10", "cpuidle"]);
    }
}
