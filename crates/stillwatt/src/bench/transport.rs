//! The transports that the benches compare, as every contestant is asked for them.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// How the data of a bench travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BenchTransport {
    /// UDP, one datagram for each receiver.
    Udp,
    /// UDP, one datagram to a group.
    Udpm,
    /// TCP.
    Tcp,
    /// Shared memory.
    Shm,
    /// Within one process.
    Inproc,
}

impl BenchTransport {
    /// As the papers write it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::Udpm => "UDPM",
            Self::Tcp => "TCP",
            Self::Shm => "SHM",
            Self::Inproc => "in-process",
        }
    }

    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Udpm => "udpm",
            Self::Tcp => "tcp",
            Self::Shm => "shm",
            Self::Inproc => "inproc",
        }
    }
}

impl fmt::Display for BenchTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
