//! Files in memory with injected faults, for tests, captured trees and replays. Touches nothing outside the process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use units::Instant;

use super::{PerfEvent, SysRoot, check_path, sort_names};

/// A tree of files in memory. Its clock stands still until [`MemoryRoot::set_now`] or [`MemoryRoot::advance`].
#[derive(Debug, Default)]
pub struct MemoryRoot {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
    folders: BTreeSet<String>,
    read_faults: BTreeMap<String, i32>,
    write_faults: BTreeMap<String, i32>,
    stuck: BTreeSet<String>,
    perf: BTreeMap<(String, String, u32), Result<u64, i32>>,
    now: Instant,
    reads: Vec<String>,
    writes: Vec<(String, String)>,
}

impl MemoryRoot {
    /// An empty tree at [`Instant::ZERO`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file, or replaces its text.
    pub fn set(&self, path: &str, text: &str) {
        self.state().files.insert(path.to_string(), text.to_string());
    }

    /// Takes a file, link or folder and all below it away.
    pub fn remove(&self, path: &str) {
        let below = format!("{path}/");
        let keeps = |name: &String| name != path && !name.starts_with(&below);
        let mut state = self.state();
        state.files.retain(|name, _| keeps(name));
        state.links.retain(|name, _| keeps(name));
        state.folders.retain(keeps);
        state.read_faults.retain(|name, _| keeps(name));
    }

    /// Puts a folder that may stay empty.
    pub fn set_folder(&self, path: &str) {
        self.state().folders.insert(path.to_string());
    }

    /// Puts a symbolic link of which only the last component of its target is known.
    pub fn set_link(&self, path: &str, target_name: &str) {
        self.state().links.insert(path.to_string(), target_name.to_string());
    }

    /// Makes every read of a file fail with a kernel error number; the file is listed in its folder.
    pub fn fail_read(&self, path: &str, errno: i32) {
        self.state().read_faults.insert(path.to_string(), errno);
    }

    /// Makes every write of a file fail with a kernel error number.
    pub fn fail_write(&self, path: &str, errno: i32) {
        self.state().write_faults.insert(path.to_string(), errno);
    }

    /// Makes a file accept writes without keeping them, as a locked register does.
    pub fn stick(&self, path: &str) {
        self.state().stuck.insert(path.to_string());
    }

    /// Takes all injected faults of a file away.
    pub fn heal(&self, path: &str) {
        let mut state = self.state();
        state.read_faults.remove(path);
        state.write_faults.remove(path);
        state.stuck.remove(path);
    }

    /// Sets what a perf event counts, or the kernel error number with which it fails.
    pub fn set_perf_count(&self, unit: &str, name: &str, cpu: u32, count: Result<u64, i32>) {
        self.state().perf.insert((unit.to_string(), name.to_string(), cpu), count);
    }

    /// Sets the clock; it may go back, as a test wants it.
    pub fn set_now(&self, now: Instant) {
        self.state().now = now;
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.now = state.now + by;
    }

    /// Every path read since the last call, in order.
    pub fn take_reads(&self) -> Vec<String> {
        std::mem::take(&mut self.state().reads)
    }

    /// Every write that succeeded since the last call, in order.
    pub fn take_writes(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.state().writes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Into<String>, T: Into<String>> FromIterator<(P, T)> for MemoryRoot {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(files: I) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        Self { state: Mutex::new(State { files, ..State::default() }) }
    }
}

impl State {
    /// Whether `path` is a folder, by name or because something lies below it.
    fn is_folder(&self, path: &str) -> bool {
        !self.children(path).is_empty() || self.folders.contains(path)
    }

    fn children(&self, path: &str) -> BTreeSet<String> {
        let below = format!("{path}/");
        let files = self.files.keys().chain(self.read_faults.keys());
        files
            .chain(self.links.keys())
            .chain(&self.folders)
            .filter_map(|name| name.strip_prefix(&below))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_string)
            .collect()
    }

    fn missing(&self, path: &str) -> io::Error {
        if self.is_folder(path) { Errno::ISDIR.into() } else { Errno::NOENT.into() }
    }
}

impl SysRoot for MemoryRoot {
    fn read(&self, path: &str) -> io::Result<String> {
        check_path(path)?;
        let mut state = self.state();
        state.reads.push(path.to_string());
        if let Some(&errno) = state.read_faults.get(path) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        state.files.get(path).cloned().ok_or_else(|| state.missing(path))
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        check_path(path)?;
        let mut state = self.state();
        if let Some(&errno) = state.write_faults.get(path) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        if !state.files.contains_key(path) {
            return Err(state.missing(path));
        }
        state.writes.push((path.to_string(), text.to_string()));
        if !state.stuck.contains(path) {
            // The kernel shows a value with a line end, whether it was written with one or not.
            let shown = format!("{}\n", text.trim_end_matches('\n'));
            state.files.insert(path.to_string(), shown);
        }
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        check_path(path)?;
        let state = self.state();
        if state.files.contains_key(path) {
            return Err(Errno::NOTDIR.into());
        }
        if let Some(&errno) = state.read_faults.get(path) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        if !state.is_folder(path) {
            return Err(Errno::NOENT.into());
        }
        let mut names: Vec<String> = state.children(path).into_iter().collect();
        sort_names(&mut names);
        Ok(names)
    }

    fn link_name(&self, path: &str) -> io::Result<String> {
        check_path(path)?;
        self.state().links.get(path).cloned().ok_or_else(|| Errno::NOENT.into())
    }

    fn perf_count(&self, event: &PerfEvent) -> io::Result<u64> {
        match self.state().perf.get(&(event.unit.clone(), event.name.clone(), event.cpu)) {
            Some(Ok(count)) => Ok(*count),
            Some(Err(errno)) => Err(io::Error::from_raw_os_error(*errno)),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn now(&self) -> Instant {
        self.state().now
    }

    fn describe(&self) -> String {
        "files in memory".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders come from the paths below them, faults are listed, and a write never creates a file.
    #[test]
    fn behaves_like_a_tree_of_attributes() {
        let root: MemoryRoot =
            [("sys/a/b", "1\n"), ("sys/a/c2", "x"), ("sys/a/c10", "y")].into_iter().collect();
        root.fail_read("sys/a/d", Errno::ACCESS.raw_os_error());
        assert_eq!(root.list("sys/a").unwrap(), ["b", "c2", "c10", "d"]);
        assert_eq!(root.read("sys/a/d").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(root.read("sys/a").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(root.exists("sys/a/d") && root.exists("sys/a/b") && !root.exists("sys/e"));
        assert_eq!(root.write("sys/a/new", "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        root.write("sys/a/b", "2").unwrap();
        assert_eq!(root.read("sys/a/b").unwrap(), "2\n");
        root.stick("sys/a/b");
        root.write("sys/a/b", "3").unwrap();
        assert_eq!(root.read("sys/a/b").unwrap(), "2\n");
        assert_eq!(root.take_writes().len(), 2);
    }
}
