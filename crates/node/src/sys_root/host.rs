#![expect(clippy::disallowed_methods, reason = "I/O shell: files of this machine or of a directory")]
//! This machine, or any directory that looks like one. May touch: files below the root.
//!
//! Below `/` the kernel's own links are followed. Below another directory no link leads outside: `openat2(2)` with
//! `RESOLVE_IN_ROOT` where the kernel has it, else the resolved path is compared with the root.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use units::Instant;

use super::perf::PerfCounters;
use super::{FILE_BYTES_MAX, PerfEvent, SysRoot, check_path, into_text, sort_names};
use crate::clock;

/// Files of this machine or of a directory.
///
/// Of this machine's `/sys` and `/proc` up to [`HostRoot::KEPT_MAX`] files stay open between reads, which saves the
/// kernel the path look-up on every sample.
#[derive(Debug)]
pub struct HostRoot {
    root: PathBuf,
    is_machine: bool,
    kept: Mutex<BTreeMap<String, Arc<File>>>,
    counters: PerfCounters,
}

impl HostRoot {
    /// How many files stay open between reads; further files are opened for each read.
    pub const KEPT_MAX: usize = 256;

    /// This machine.
    pub fn machine() -> Self {
        Self {
            root: PathBuf::from("/"),
            is_machine: true,
            kept: Mutex::default(),
            counters: PerfCounters::default(),
        }
    }

    /// A directory with `sys` and `proc` in it, such as a captured tree. `/` is this machine.
    ///
    /// # Errors
    /// When the directory cannot be resolved.
    pub fn directory(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let is_machine = root == Path::new("/");
        Ok(Self { root, is_machine, kept: Mutex::default(), counters: PerfCounters::default() })
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<File> {
        check_path(path)?;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        if self.is_machine {
            return open_plain(&self.root.join(path), flags);
        }
        let root =
            rustix::fs::open(&self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&root, path, flags, Mode::empty(), resolve) {
            Ok(file) => Ok(File::from(file)),
            // Before Linux 5.6, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => self.open_resolved(path, flags),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Without `openat2`: resolve first, then refuse what lies outside.
    fn open_resolved(&self, path: &str, flags: OFlags) -> io::Result<File> {
        let resolved = self.root.join(path).canonicalize()?;
        if !resolved.starts_with(&self.root) {
            let text = format!("{path} leads outside {}", self.root.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        open_plain(&resolved, flags | OFlags::NOFOLLOW)
    }

    fn kept(&self, path: &str) -> Option<Arc<File>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn keep(&self, path: &str, file: File) -> Arc<File> {
        let file = Arc::new(file);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < Self::KEPT_MAX {
            kept.insert(path.to_string(), Arc::clone(&file));
        }
        file
    }

    fn forget(&self, path: &str) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }
}

impl SysRoot for HostRoot {
    fn read(&self, path: &str) -> io::Result<String> {
        let is_keepable = self.is_machine && is_setting(path);
        if !is_keepable {
            let mut bytes = Vec::new();
            let limit = u64::try_from(FILE_BYTES_MAX + 1).unwrap_or(u64::MAX);
            self.open(path, OFlags::RDONLY)?.take(limit).read_to_end(&mut bytes)?;
            return into_text(path, bytes);
        }
        if let Some(file) = self.kept(path) {
            match read_from_start(&file) {
                Ok(bytes) => return into_text(path, bytes),
                // The device went away and may have come back under the same name.
                Err(_) => self.forget(path),
            }
        }
        let file = self.keep(path, self.open(path, OFlags::RDONLY)?);
        match read_from_start(&file) {
            Ok(bytes) => into_text(path, bytes),
            Err(error) => {
                self.forget(path);
                Err(error)
            }
        }
    }

    /// On this machine settings are below `sys` and `proc` only; anything else is refused, whoever asks.
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        if self.is_machine && !is_setting(path) {
            let text = format!("{path} is no setting: those are below sys and proc");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // A captured tree's file is emptied as the kernel's attribute would be; an attribute ignores the flag.
        let mut file = self.open(path, OFlags::WRONLY | OFlags::TRUNC)?;
        let written = file.write(text.as_bytes())?;
        if written == text.len() {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::WriteZero,
            format!("{path} took {written} of {} bytes", text.len()),
        ))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        sort_names(&mut names);
        Ok(names)
    }

    fn link_name(&self, path: &str) -> io::Result<String> {
        check_path(path)?;
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        let target = if folder == "." {
            std::fs::read_link(self.root.join(name))?
        } else {
            let folder = self.open(folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
            PathBuf::from(target.to_string_lossy().into_owned())
        };
        let last = target.file_name().map(|last| last.to_string_lossy().into_owned());
        last.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{path} points at no name")))
    }

    fn perf_count(&self, event: &PerfEvent) -> io::Result<u64> {
        if self.is_machine {
            return self.counters.count(event);
        }
        Err(io::Error::new(io::ErrorKind::Unsupported, "a captured tree has no perf events"))
    }

    fn now(&self) -> Instant {
        clock::monotonic()
    }

    fn describe(&self) -> String {
        if self.is_machine {
            "this machine".to_string()
        } else {
            format!("directory {}", self.root.display())
        }
    }
}

/// Whether a path is below the kernel's own file systems.
fn is_setting(path: &str) -> bool {
    path.starts_with("sys/") || path.starts_with("proc/")
}

fn open_plain(path: &Path, flags: OFlags) -> io::Result<File> {
    let is_write = flags.contains(OFlags::WRONLY);
    let mut options = OpenOptions::new();
    options.read(!is_write).write(is_write).truncate(flags.contains(OFlags::TRUNC));
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

/// Reads a kept file again from its first byte.
fn read_from_start(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let mut filled = 0;
    loop {
        let Some(free) = bytes.get_mut(filled..).filter(|free| !free.is_empty()) else {
            if bytes.len() > FILE_BYTES_MAX {
                break;
            }
            bytes.resize(bytes.len() * 2, 0);
            continue;
        };
        match file.read_at(free, u64::try_from(filled).unwrap_or(u64::MAX)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("stw-host-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("tree/sys/inner")).unwrap();
        folder
    }

    /// A link that leads outside the root is not followed to the outside, with and without `openat2`.
    #[test]
    fn links_do_not_leave_the_root() {
        let folder = scratch("links");
        std::fs::write(folder.join("secret"), "outside").unwrap();
        std::fs::write(folder.join("tree/sys/inner/value"), "inside\n").unwrap();
        let _ = std::os::unix::fs::symlink(folder.join("secret"), folder.join("tree/sys/absolute"));
        let _ = std::os::unix::fs::symlink("../../secret", folder.join("tree/sys/relative"));
        let _ = std::os::unix::fs::symlink("inner", folder.join("tree/sys/good"));
        let root = HostRoot::directory(&folder.join("tree")).unwrap();
        assert!(root.read("sys/absolute").is_err());
        assert!(root.read("sys/relative").is_err());
        assert!(root.open_resolved("sys/absolute", OFlags::RDONLY).is_err());
        assert!(root.open_resolved("sys/relative", OFlags::RDONLY).is_err());
        assert_eq!(root.read("sys/good/value").unwrap(), "inside\n");
        assert!(root.open_resolved("sys/good/value", OFlags::RDONLY).is_ok());
        assert_eq!(root.link_name("sys/good").unwrap(), "inner");
        root.write("sys/inner/value", "new").unwrap();
        assert_eq!(root.read("sys/inner/value").unwrap(), "new");
        assert!(root.write("sys/inner/absent", "x").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// This machine's kernel answers, again and again through the kept file, and the values move.
    #[test]
    fn this_machine_answers() {
        let root = HostRoot::machine();
        let first = root.read("proc/uptime").unwrap();
        clock::sleep(std::time::Duration::from_millis(30));
        assert_ne!(first, root.read("proc/uptime").unwrap());
        assert!(root.list("proc").unwrap().contains(&"stat".to_string()));
        assert!(root.read("proc/no-such-file").is_err());
    }

    /// Nothing but a setting is written on this machine, so that a damaged journal cannot reach other files.
    #[test]
    fn only_settings_are_written() {
        let folder = scratch("settings");
        let file = folder.join("file");
        std::fs::write(&file, "kept").unwrap();
        let path = file.to_str().unwrap().trim_start_matches('/');
        let error = HostRoot::machine().write(path, "lost").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
