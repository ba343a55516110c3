//! The paper's study of transports: table 2 and figures 5 to 7, with our bus, Fast DDS, Cyclone DDS and the floor.

mod drawing;
mod paper;
mod plan;
mod transports;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::bench::contestant::Contestant;
use crate::output::Output;
use crate::report::{Exit, Failure};

/// The paper's studies.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RegaleCommand {
    /// Latency and rate of the transports, on one node and over many (table 2, figures 5, 6 and 7)
    Transports(TransportsOptions),
}

/// Options of `lab regale transports`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TransportsOptions {
    /// Few nodes, few runs, few samples: minutes instead of an hour
    #[arg(long)]
    quick: bool,
    /// The folder for tables and figures
    #[arg(long, default_value = "regale-transports")]
    out: PathBuf,
    /// Whom to compare with; the floor and every DDS found here when not given
    #[arg(long = "peer", value_enum, value_delimiter = ',')]
    peers: Vec<Contestant>,
    /// Runs of each, alternating; 5, or 2 with --quick, when not given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: Option<u32>,
    /// The most processes at once; what needs more is left out
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=20_000))]
    processes_max: u32,
    /// The folder with the programs of the other DDS; target/peers when not given
    #[arg(long)]
    peers_dir: Option<PathBuf>,
    /// The DDS domain to use
    #[arg(long, default_value_t = 99, value_parser = clap::value_parser!(u32).range(0..=230))]
    domain: u32,
    /// Print the record as JSON instead of tables
    #[arg(long)]
    json: bool,
}

impl RegaleCommand {
    pub(super) fn run(&self, output: &mut Output) -> Result<Exit, Failure> {
        match self {
            Self::Transports(options) => transports::run(options, output),
        }
    }
}
