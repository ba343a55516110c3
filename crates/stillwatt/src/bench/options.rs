//! The command lines of the benches.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::contestant::Contestant;
use super::cpus::Placement;
use super::transport::BenchTransport;

/// What to measure; without a name, a summary: latency over UDP beside the floor, and what an idle process costs.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchOptions {
    #[command(subcommand)]
    pub(super) bench: Option<Bench>,
    #[command(flatten)]
    pub(super) summary: SummaryOptions,
}

/// The benches.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Bench {
    /// Half round trip: one master, N subscribers that reply
    Latency(LatencyOptions),
    /// One-way rate between two processes, in order
    Throughput(ThroughputOptions),
    /// Time until all endpoints of many participants are matched
    Discovery(DiscoveryOptions),
    /// Wake-ups, CPU time, memory and threads of a process that does nothing
    Idle(IdleOptions),
    /// Memory of an endpoint, of a remote endpoint, and of many participants together
    Scale(ScaleOptions),
}

/// Who is compared, how often, and how it is printed.
#[derive(Clone, Debug, Args)]
pub(super) struct Setting {
    /// Whom to compare with; the floor and every DDS found here when not given
    #[arg(long = "peer", value_enum, value_delimiter = ',')]
    pub(super) peers: Vec<Contestant>,
    /// Runs of each, alternating
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// The DDS domain to use
    #[arg(long, default_value_t = 99, value_parser = clap::value_parser!(u32).range(0..=230))]
    pub(super) domain: u32,
    /// The folder with the programs of the other DDS; target/peers when not given
    #[arg(long)]
    pub(super) peers_dir: Option<PathBuf>,
    /// Spread processes over this many private network namespaces joined by a bridge (root)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) hosts: u32,
    /// Print one JSON object with all runs instead of tables
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,
    /// Print the summary as comma-separated values
    #[arg(long)]
    pub(super) csv: bool,
    /// End with 3 when an aim is missed
    #[arg(long)]
    pub(super) check: bool,
}

/// Options of `bus bench latency`.
#[derive(Clone, Debug, Args)]
pub(super) struct LatencyOptions {
    /// How data travels, one or several
    #[arg(long = "transport", value_enum, value_delimiter = ',', default_value = "udp")]
    pub(super) transports: Vec<BenchTransport>,
    /// Payload bytes of a sample, one or several
    #[arg(long = "size", value_delimiter = ',', default_value = "64", value_parser = clap::value_parser!(u32).range(0..=16_000_000))]
    pub(super) sizes: Vec<u32>,
    /// Rounds in each run
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(20..=10_000_000))]
    pub(super) samples: u32,
    /// Processes that reply, one or several numbers
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) subscribers: Vec<u32>,
    /// Lost samples are repaired
    #[arg(long)]
    pub(super) reliable: bool,
    /// Where processes run, one or several; both ends on one core, and across two, when not given
    #[arg(long = "placement", value_enum, value_delimiter = ',')]
    pub(super) placements: Vec<Placement>,
    #[command(flatten)]
    pub(super) setting: Setting,
}

/// Options of `bus bench throughput`.
#[derive(Clone, Debug, Args)]
pub(super) struct ThroughputOptions {
    /// How data travels, one or several
    #[arg(long = "transport", value_enum, value_delimiter = ',', default_value = "udp")]
    pub(super) transports: Vec<BenchTransport>,
    /// Payload bytes of a sample, one or several
    #[arg(long = "size", value_delimiter = ',', default_value = "64,1024", value_parser = clap::value_parser!(u32).range(0..=16_000_000))]
    pub(super) sizes: Vec<u32>,
    /// Samples in each run
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    pub(super) samples: u32,
    /// Lost samples stay lost; otherwise every sample arrives in order
    #[arg(long)]
    pub(super) best_effort: bool,
    /// Where processes run, one or several; wherever the kernel puts them when not given
    #[arg(long = "placement", value_enum, value_delimiter = ',')]
    pub(super) placements: Vec<Placement>,
    #[command(flatten)]
    pub(super) setting: Setting,
}

/// How many endpoints there are, and in how many processes.
#[derive(Clone, Debug, Args)]
pub(super) struct Crowd {
    /// Participants of all processes together
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(super) participants: u32,
    /// Endpoints of all participants together, readers and writers in turn
    #[arg(long, default_value_t = 2560, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(super) endpoints: u32,
    /// Processes that they are spread over
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) processes: u32,
}

/// Options of `bus bench discovery`.
#[derive(Clone, Debug, Args)]
pub(super) struct DiscoveryOptions {
    /// How discovery travels
    #[arg(long, value_enum, default_value_t = BenchTransport::Udp)]
    pub(super) transport: BenchTransport,
    #[command(flatten)]
    pub(super) crowd: Crowd,
    #[command(flatten)]
    pub(super) setting: Setting,
}

/// Options of `bus bench idle`.
#[derive(Clone, Debug, Args)]
pub(super) struct IdleOptions {
    /// How data would travel
    #[arg(long, value_enum, default_value_t = BenchTransport::Udp)]
    pub(super) transport: BenchTransport,
    /// Participants of the process, one or several numbers
    #[arg(long, value_delimiter = ',', default_value = "1,40", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) participants: Vec<u32>,
    /// Endpoints of a process with several participants, together; one with a single participant has none
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(super) endpoints: u32,
    /// Seconds to watch each process
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(super) seconds: u32,
    #[command(flatten)]
    pub(super) setting: Setting,
}

/// Options of `bus bench scale`.
#[derive(Clone, Debug, Args)]
pub(super) struct ScaleOptions {
    /// How data would travel
    #[arg(long, value_enum, default_value_t = BenchTransport::Udp)]
    pub(super) transport: BenchTransport,
    #[command(flatten)]
    pub(super) crowd: Crowd,
    #[command(flatten)]
    pub(super) setting: Setting,
}

/// Options of the summary.
#[derive(Clone, Debug, Args)]
pub(super) struct SummaryOptions {
    /// The part to measure; both when not given
    #[arg(long, value_enum)]
    pub(super) only: Option<Only>,
    /// Payload bytes of a latency sample
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub(super) size: u32,
    /// Round trips in each run
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub(super) samples: u32,
    /// Runs of each kind, alternating
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// The DDS domain to use
    #[arg(long, default_value_t = 99, value_parser = clap::value_parser!(u32).range(0..=230))]
    pub(super) domain: u32,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

/// The parts of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Only {
    /// Half round trip over UDP, best effort and reliable, beside the raw socket
    Latency,
    /// Wake-ups of an idle process, threads with 40 participants
    Footprint,
}
