//! Why a value is not there. Touches nothing.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// A missing value: the reason as a class, the file that says so, and what can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unavailable ({reason}): {file}: {detail}{}", Remedy(.remedy))]
pub struct Absent {
    /// The class of the reason.
    pub reason: AbsentReason,
    /// The file that was asked, relative to the machine's root, or the sensor's name where no file is to blame.
    pub file: String,
    /// What happened.
    pub detail: String,
    /// What an administrator can do, when that is known.
    pub remedy: Option<&'static str>,
}

/// The class of a reason for a missing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AbsentReason {
    /// The kernel refuses this user.
    Permission,
    /// This machine has no such file or device.
    NotPresent,
    /// The sensor is there and switched off, or has no data.
    Disabled,
    /// The driver is busy.
    Busy,
    /// The file's text is not what its format says, or the value is impossible.
    Malformed,
    /// This build or this root cannot do it.
    Unsupported,
    /// The value needs an earlier sample, or the time between two was zero.
    NotYet,
    /// The value cannot be trusted: the counter started again or cannot be unwrapped.
    Unreliable,
    /// Any other error of the kernel.
    Failed,
}

impl AbsentReason {
    /// The reason as one word in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::NotPresent => "not-present",
            Self::Disabled => "disabled",
            Self::Busy => "busy",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::NotYet => "not-yet",
            Self::Unreliable => "unreliable",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for AbsentReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Absent {
    /// A reason with the file to blame and what happened.
    pub fn new(reason: AbsentReason, file: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { reason, file: file.into(), detail: detail.into(), remedy: None }
    }

    /// The same with what an administrator can do.
    #[must_use]
    pub fn with_remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// What an error of the kernel says about `file`.
    pub fn from_io(file: &str, error: &io::Error) -> Self {
        Self::new(classify(error), file, error.to_string())
    }

    /// A text that is not what the file's format says; the text is shown shortened.
    pub fn malformed(file: &str, text: &str, expected: &str) -> Self {
        let shown: String = text.trim().chars().take(40).collect();
        Self::new(AbsentReason::Malformed, file, format!("{shown:?} is not {expected}"))
    }
}

/// Prints a remedy as a last clause.
struct Remedy<'a>(&'a Option<&'static str>);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

fn classify(error: &io::Error) -> AbsentReason {
    if crate::sys_root::is_missing(error) {
        return AbsentReason::NotPresent;
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => return AbsentReason::Permission,
        io::ErrorKind::Unsupported => return AbsentReason::Unsupported,
        io::ErrorKind::InvalidData => return AbsentReason::Malformed,
        _ => {}
    }
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::BUSY | Errno::AGAIN) => AbsentReason::Busy,
        Some(Errno::NODATA) => AbsentReason::Disabled,
        Some(Errno::NOTSUP) => AbsentReason::Unsupported,
        _ => AbsentReason::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each error number of the kernel becomes the class that tells an operator what to do.
    #[test]
    fn error_numbers_have_classes() {
        for (errno, reason) in [
            (Errno::ACCESS, AbsentReason::Permission),
            (Errno::PERM, AbsentReason::Permission),
            (Errno::NOENT, AbsentReason::NotPresent),
            (Errno::NODEV, AbsentReason::NotPresent),
            (Errno::BUSY, AbsentReason::Busy),
            (Errno::NODATA, AbsentReason::Disabled),
            (Errno::IO, AbsentReason::Failed),
        ] {
            let absent = Absent::from_io("sys/x", &errno.into());
            assert_eq!(absent.reason, reason, "{errno:?}");
        }
    }

    /// The text names class, file, cause and remedy.
    #[test]
    fn text_names_the_file_and_the_remedy() {
        let absent = Absent::from_io("sys/energy_uj", &Errno::ACCESS.into()).with_remedy("run as root");
        let text = absent.to_string();
        assert!(text.starts_with("unavailable (permission): sys/energy_uj: "), "{text}");
        assert!(text.ends_with("; run as root"), "{text}");
    }
}
