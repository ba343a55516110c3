//! `stillwatt bus …`: look at the bus, and measure it.

use clap::Subcommand;

use super::Output;
use crate::bench::{BenchOptions, PeerOptions};
use crate::report::{Exit, Failure};

/// The verbs of `stillwatt bus`.
#[derive(Debug, Subcommand)]
pub(crate) enum BusCommand {
    /// Measure the bus beside the floor of this machine: latency, wake-ups, threads
    Bench(BenchOptions),
    /// The other process of the benchmark
    #[command(hide = true)]
    BenchPeer(PeerOptions),
}

/// Runs one of them.
pub(crate) fn run(command: &BusCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        BusCommand::Bench(options) => options.run(output),
        BusCommand::BenchPeer(options) => options.run(),
    }
}
