#![expect(clippy::disallowed_methods, reason = "I/O shell: walks the source tree and looks for programs")]
//! The workspace's folders and the programs on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The workspace root: the folder above this package.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Where peers, their Python environment and the list of skipped tests live.
pub(crate) fn peers_dir() -> PathBuf {
    root().join("target/peers")
}

/// The first program of this name on the search path.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// Every file of the project, relative to the root and sorted: no build output, no hidden folder except `.ci` and
/// `.cargo`, no test data (`cases`, `fixtures`).
///
/// # Errors
/// When a folder cannot be read.
pub(crate) fn files() -> io::Result<Vec<PathBuf>> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let relative = folder.join(name.as_ref());
            if entry.file_type()?.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
                if !hidden && !matches!(name.as_ref(), "target" | "cases" | "fixtures" | "__pycache__") {
                    folders.push(relative);
                }
            } else if name != ".git" {
                found.push(relative);
            }
        }
    }
    found.sort();
    Ok(found)
}
