#![expect(clippy::disallowed_methods, reason = "I/O shell: looks for the programs of the other DDS")]
//! Who is compared: our bus, other DDS, and the floor. Each takes part with a process of the same command line.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;

use super::cpus::Placement;
use super::network::Network;
use super::process::Process;
use super::transport::BenchTransport;
use crate::report::{Exit, Failure};

/// One side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Contestant {
    /// The operating system alone: bare blocking sockets, or shared memory and a futex.
    Floor,
    /// Our bus.
    Stillwatt,
    /// Our bus, samples of a stream waiting up to 0.5 ms for others (latency budget).
    StillwattBatched,
    /// Fast DDS 2.9, which the papers' tools are built on.
    Fastdds,
    /// Fast DDS 3.2.
    Fastdds3,
    /// Cyclone DDS 0.10 with its defaults.
    Cyclone,
    /// Cyclone DDS 0.10 with large datagrams and buffers, synchronous delivery and write batching.
    CycloneTuned,
}

impl Contestant {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Stillwatt => "stillwatt",
            Self::StillwattBatched => "stillwatt-batched",
            Self::Fastdds => "fastdds",
            Self::Fastdds3 => "fastdds3",
            Self::Cyclone => "cyclone",
            Self::CycloneTuned => "cyclone-tuned",
        }
    }

    /// As shown in figures.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Floor => "Floor",
            Self::Stillwatt => "Stillwatt",
            Self::StillwattBatched => "Stillwatt, batched",
            Self::Fastdds => "Fast DDS",
            Self::Fastdds3 => "Fast DDS 3",
            Self::Cyclone => "Cyclone DDS",
            Self::CycloneTuned => "Cyclone DDS, tuned",
        }
    }

    /// Whether it knows the transport at all.
    pub(crate) fn speaks(self, transport: BenchTransport) -> bool {
        match self {
            Self::Stillwatt | Self::StillwattBatched => true,
            Self::Floor | Self::Fastdds | Self::Fastdds3 => transport != BenchTransport::Inproc,
            Self::Cyclone | Self::CycloneTuned => {
                matches!(transport, BenchTransport::Udp | BenchTransport::Udpm)
            }
        }
    }

    /// Its program where it is not this one.
    fn program_name(self) -> Option<&'static str> {
        match self {
            Self::Floor | Self::Stillwatt | Self::StillwattBatched => None,
            Self::Fastdds => Some("bench_fastdds"),
            Self::Fastdds3 => Some("bench_fastdds3"),
            Self::Cyclone | Self::CycloneTuned => Some("bench_cyclone"),
        }
    }

    fn is_tuned(self) -> bool {
        matches!(self, Self::StillwattBatched | Self::CycloneTuned)
    }
}

/// Where the programs of the contestants are.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    own: PathBuf,
    /// Folders that may have the others, in order.
    folders: Vec<PathBuf>,
}

impl Programs {
    /// `folder` is where the user says that they are; without it `target/peers` here and beside this program is tried.
    pub(crate) fn find(folder: Option<&Path>) -> Result<Self, Failure> {
        let own = std::env::current_exe().map_err(|error| Failure::from_error(Exit::Failed, error))?;
        let folders = match folder {
            Some(folder) => vec![folder.to_owned()],
            None => {
                let beside = own.ancestors().nth(2).map(|target| target.join("peers"));
                std::iter::once(PathBuf::from("target/peers")).chain(beside).collect()
            }
        };
        let absolute = folders.iter().filter_map(|folder| std::path::absolute(folder).ok()).collect();
        Ok(Self { own, folders: absolute })
    }

    fn program(&self, contestant: Contestant) -> Result<PathBuf, Failure> {
        let Some(name) = contestant.program_name() else { return Ok(self.own.clone()) };
        let found = self.folders.iter().map(|folder| folder.join(name)).find(|path| path.exists());
        found.ok_or_else(|| {
            let folders: Vec<_> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
            Failure::new(Exit::NotAvailable, format!("{name} is not in {}", folders.join(", or in ")))
                .with_remedy(
                    "`cargo xtask setup` builds it; --peers-dir says where it is; --peer leaves it out",
                )
        })
    }

    /// Whether it can take part.
    pub(crate) fn has(&self, contestant: Contestant) -> bool {
        self.program(contestant).is_ok()
    }

    /// The version that it says it has.
    pub(crate) fn version(&self, contestant: Contestant) -> Result<String, Failure> {
        if contestant.program_name().is_none() {
            return Ok(env!("CARGO_PKG_VERSION").to_owned());
        }
        let mut command = Command::new(self.program(contestant)?);
        command.arg("version");
        let mut process = Process::start(contestant.name().to_owned(), command, None)?;
        let line = process.line("version", Duration::from_secs(10))?;
        Ok(line.get("version").and_then(|version| version.as_str()).unwrap_or_default().to_owned())
    }
}

/// What the processes of one run have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage<'a> {
    /// The programs.
    pub(crate) programs: &'a Programs,
    /// The hosts.
    pub(crate) network: &'a Network,
    /// The CPUs that there are.
    pub(crate) online: &'a [u32],
    /// The DDS domain.
    pub(crate) domain: u32,
}

/// What one process of a run is to do.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) contestant: Contestant,
    pub(super) transport: BenchTransport,
    pub(super) is_reliable: bool,
    pub(super) placement: Placement,
    pub(super) verb: &'static str,
    /// On which host, counted round.
    pub(super) host: usize,
    /// More of the command line.
    pub(super) arguments: Vec<String>,
}

/// Where the master listens when the transport is TCP.
const SERVER_PORT: u16 = 15_100;

impl Stage<'_> {
    /// Starts a process.
    pub(super) fn start(&self, task: &Task) -> Result<Process, Failure> {
        let program = self.programs.program(task.contestant)?;
        let mut command = self.network.command(task.host, &program);
        if task.contestant.program_name().is_none() {
            let side = if task.contestant == Contestant::Floor { "floor" } else { "stillwatt" };
            command.args(["bus", "bench-peer", side]);
        }
        command.args([task.verb, "--transport", task.transport.name(), "--domain", &self.domain.to_string()]);
        if self.network.is_shared() || self.network.hosts() > 1 {
            command.args(["--address", &self.network.address(task.host).to_string()]);
        }
        if task.transport == BenchTransport::Tcp {
            command.args(["--server", &format!("{}:{SERVER_PORT}", self.network.address(0))]);
        }
        if task.is_reliable {
            command.arg("--reliable");
        }
        if task.contestant.is_tuned() {
            command.arg("--tuned");
        }
        command.args(&task.arguments);
        let is_master = matches!(task.verb, "ping" | "tx" | "dpub");
        let cpus =
            if is_master { task.placement.master(self.online) } else { task.placement.others(self.online) };
        Process::start(format!("{} ({})", task.contestant.name(), task.verb), command, cpus.as_deref())
    }
}
