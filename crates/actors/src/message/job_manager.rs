//! Messages of the job manager.
//!
//! Pure data.

use rtps::cdr::DdsType;

use super::Header;

/// How a job is on one node.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::JmState")]
pub struct JmState {
    /// Who says so.
    pub header: Header,
    /// The batch system's job.
    #[dds(key)]
    pub job: u64,
    /// The job step.
    #[dds(key)]
    pub step: u32,
    /// Nodes of the job.
    pub node_count: u32,
    /// Ranks of the job.
    pub rank_count: u32,
    /// The policy that steers it.
    #[dds(max = 64)]
    pub policy: String,
    /// A code of [`JobPhase`].
    pub phase: u8,
    /// Mean clock over the last interval.
    pub frequency_hertz: f64,
    /// Share of the last interval inside MPI calls, 0 to 1.
    pub mpi_ratio: f64,
}

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum JobPhase {
    /// Computing.
    Application = 0,
    /// Communicating or waiting.
    Communication = 1,
    /// It has ended.
    Ended = 2,
}

impl JobPhase {
    const ALL: [Self; 3] = [Self::Application, Self::Communication, Self::Ended];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The phase of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}
