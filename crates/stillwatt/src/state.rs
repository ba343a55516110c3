#![expect(clippy::disallowed_methods, reason = "I/O shell: finds and probes the state directory")]
//! Where the program keeps what must outlive it: the journal of changed knobs. Touches the environment and the
//! directory.
//!
//! Follows systemd.exec(5) `StateDirectory=` and the XDG base directory specification 0.8.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Where the state directory is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `$STATE_DIRECTORY`, set by systemd.
    pub state_directory: Option<OsString>,
    /// `$XDG_STATE_HOME`.
    pub xdg_state_home: Option<OsString>,
    /// `$HOME`.
    pub home: Option<OsString>,
    /// Whether the program runs as root.
    pub is_root: bool,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            state_directory: variable("STATE_DIRECTORY"),
            xdg_state_home: variable("XDG_STATE_HOME"),
            home: variable("HOME"),
            is_root: rustix::process::geteuid().is_root(),
        }
    }

    /// The state directory, which need not exist; `None` when nothing says where it could be.
    pub fn directory(&self) -> Option<PathBuf> {
        if let Some(path) = &self.state_directory {
            // systemd separates several by colons; ours is the first.
            return path.to_string_lossy().split(':').next().map(PathBuf::from);
        }
        if self.is_root {
            return Some(PathBuf::from("/var/lib/stillwatt"));
        }
        // The specification says that a path that is not absolute is to be ignored.
        let absolute = |path: &OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let xdg = self.xdg_state_home.as_ref().and_then(absolute);
        let home = || self.home.as_ref().and_then(absolute).map(|home| home.join(".local/state"));
        xdg.or_else(home).map(|parent| parent.join("stillwatt"))
    }
}

/// Makes the directory if it is missing and tries to write in it.
///
/// # Errors
/// What the system says.
pub fn probe(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let probe = directory.join(format!(".probe-{}", std::process::id()));
    std::fs::write(&probe, "stillwatt looks whether it can write here\n")?;
    std::fs::remove_file(&probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(state: &str, xdg: &str, home: &str, is_root: bool) -> Surroundings {
        let some = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
        Surroundings { state_directory: some(state), xdg_state_home: some(xdg), home: some(home), is_root }
    }

    /// systemd's word comes first, then the system's place for root, then the user's own places.
    #[test]
    fn order_of_places() {
        let place = |state, xdg, home, is_root| surroundings(state, xdg, home, is_root).directory();
        assert_eq!(place("/s/a:/s/b", "/x", "/h", true), Some("/s/a".into()));
        assert_eq!(place("", "/x", "/h", true), Some("/var/lib/stillwatt".into()));
        assert_eq!(place("", "/x", "/h", false), Some("/x/stillwatt".into()));
        assert_eq!(place("", "x", "/h", false), Some("/h/.local/state/stillwatt".into()));
        assert_eq!(place("", "", "", false), None);
    }

    /// A directory is made and can be written to; below a file none can be made.
    #[test]
    fn probe_tells_whether_writing_works() {
        let parent = std::env::temp_dir().join(format!("stillwatt-state-{}", std::process::id()));
        probe(&parent.join("a/b")).unwrap();
        std::fs::write(parent.join("file"), "x").unwrap();
        assert!(probe(&parent.join("file/b")).is_err());
        std::fs::remove_dir_all(&parent).unwrap();
    }
}
