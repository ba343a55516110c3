#![expect(clippy::disallowed_methods, reason = "I/O shell: reads XML files and the environment")]
//! Reads a file with this process's environment.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::scan::BYTES_MAX;
use super::{Document, Finding, Layout, Place, Profiles, Severity, Types, XmlError};

/// Reads the file at `path`, with variables from this process's environment.
///
/// # Errors
/// When the file cannot be read, is too large or not UTF-8, and when [`Document::parse`] refuses it.
pub fn read(path: &Path) -> Result<Document, XmlError> {
    let file = path.display().to_string();
    Document::parse(&file, &text(path, &file)?, &variable)
}

/// Reads the profiles of some files, which may refer to each other.
///
/// # Errors
/// When [`read`] or [`Profiles::load`] refuses one.
pub fn read_profiles<P: AsRef<Path>>(paths: &[P]) -> Result<Profiles, XmlError> {
    let documents: Vec<_> = paths.iter().map(|path| read(path.as_ref())).collect::<Result<_, _>>()?;
    Profiles::load(&documents)
}

/// Reads the types of some files, which may use each other's.
///
/// # Errors
/// When [`read`] or [`Types::load_as`] refuses one.
pub fn read_types<P: AsRef<Path>>(paths: &[P], layout: Layout) -> Result<Types, XmlError> {
    let documents: Vec<_> = paths.iter().map(|path| read(path.as_ref())).collect::<Result<_, _>>()?;
    Types::load_as(&documents, layout)
}

/// Puts findings into the log.
pub fn log(findings: &[Finding]) {
    for finding in findings {
        let (place, what) = (&finding.place, &finding.what);
        match finding.severity {
            Severity::Error => tracing::error!(%place, what, "XML file used, but hardly as meant"),
            Severity::Warning => tracing::warn!(%place, what, "XML file used, but not as written"),
        }
    }
}

/// An environment variable; one that is not Unicode counts as not set.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn text(path: &Path, file: &str) -> Result<String, XmlError> {
    let refuse = |what: String, remedy: &str| XmlError::new(Place::whole(file), what, remedy);
    let cannot =
        |error: std::io::Error| refuse(format!("cannot be read: {error}"), "check the path and its rights");
    let opened = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    // One byte more than is allowed, so that a longer file is refused instead of cut.
    opened.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8".into(), "convert it, for example with iconv"))
}
