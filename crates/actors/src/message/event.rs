//! Something that happened and that an operator may want to know.
//!
//! Pure data.

use rtps::cdr::DdsType;

use super::{Header, TEXT_MAX, bounded};

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::Event")]
pub struct Event {
    /// Who says so.
    pub header: Header,
    /// What happened, a constant of [`event_code`].
    pub code: u32,
    /// A code of [`Severity`].
    pub severity: u8,
    /// What it happened to: a host, a knob, a file.
    #[dds(max = 128)]
    pub subject: String,
    /// A number that belongs to it; its meaning is the code's.
    pub value: f64,
    /// One sentence for people.
    #[dds(max = 256)]
    pub text: String,
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Severity {
    /// Worth keeping.
    Info = 0,
    /// Something is not as asked, and work goes on.
    Warning = 1,
    /// Something failed.
    Error = 2,
}

/// What happened. The numbers are never reused.
pub mod event_code {
    /// A node manager began to serve. Value: always 0.
    pub const NODE_MANAGER_STARTED: u32 = 1;
    /// A node manager ended in order. Value: knobs that could not be restored.
    pub const NODE_MANAGER_ENDED: u32 = 2;
    /// Another node manager serves the same node on this domain. Value: always 0.
    pub const NODE_MANAGER_RIVAL: u32 = 3;
    /// A lease was granted. Value: what is in force.
    pub const LEASE_GRANTED: u32 = 10;
    /// A lease ran out. Value: what is in force now.
    pub const LEASE_EXPIRED: u32 = 11;
    /// Leases were released. Value: what is in force now.
    pub const LEASE_RELEASED: u32 = 12;
    /// A request was denied. Value: the operation's code. At most a few are told in a while; the status counts all.
    pub const REQUEST_DENIED: u32 = 13;
    /// A knob could not be written or holds another value than was written. Value: what was to be written.
    pub const KNOB_FAILED: u32 = 20;
    /// What a former run left behind was restored at start. Value: how many knobs.
    pub const JOURNAL_RECOVERED: u32 = 21;
    /// A recording could not be written. Value: records lost so far.
    pub const RECORDING_FAILED: u32 = 30;
    /// A recording goes on after a failure. Value: records lost in between.
    pub const RECORDING_RESUMED: u32 = 31;
}

impl Severity {
    const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Error];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The severity of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl Event {
    /// An event with an empty header, which whoever publishes it fills in.
    pub fn new(code: u32, severity: Severity, subject: &str, value: f64, text: &str) -> Self {
        Self {
            header: Header::default(),
            code,
            severity: severity.code(),
            subject: bounded(subject, 128).to_owned(),
            value,
            text: bounded(text, TEXT_MAX).to_owned(),
        }
    }
}
