//! `bus bench`: figures of the bus beside the floor of this machine, measured in the same run.
//!
//! Every figure is a ratio or a count that can be repeated with the command that is printed with it. Runs alternate
//! between what is compared, so that both see the same neighbours.

mod cpus;
mod footprint;
mod latency;
mod peer;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::output::Output;
use crate::report::{Exit, Failure};

pub use peer::PeerOptions;

/// What to measure, how often.
#[derive(Clone, Debug, Args)]
pub struct BenchOptions {
    /// What to measure; everything when not given
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Payload bytes of a latency sample
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    size: u32,
    /// Round trips in each run
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    samples: u32,
    /// Runs of each kind, alternating
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// The DDS domain to use
    #[arg(long, default_value_t = 99)]
    domain: u32,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// The parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Half round trip over UDP, best effort and reliable, beside the raw socket
    Latency,
    /// Wake-ups of an idle process, threads with 40 participants
    Footprint,
}

/// Everything measured, as printed with `--json`.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    command: String,
    host: Host,
    latency: Vec<latency::Row>,
    footprint: Option<footprint::Footprint>,
}

#[derive(Debug, Serialize)]
struct Host {
    name: String,
    kernel: String,
    online_cpus: usize,
    version: &'static str,
}

impl BenchOptions {
    fn command(&self) -> String {
        let only = match self.only {
            None => "",
            Some(Only::Latency) => " --only latency",
            Some(Only::Footprint) => " --only footprint",
        };
        format!(
            "stillwatt bus bench{only} --size {} --samples {} --runs {}",
            self.size, self.samples, self.runs
        )
    }

    /// Measures and prints.
    ///
    /// # Errors
    /// When the peer process cannot be started, the bus cannot be joined, or a run does not end.
    pub fn run(&self, output: &mut Output) -> Result<Exit, Failure> {
        let latency = match self.only {
            Some(Only::Footprint) => Vec::new(),
            _ => latency::measure(self)?,
        };
        let footprint = match self.only {
            Some(Only::Latency) => None,
            _ => Some(footprint::measure(self.domain)?),
        };
        let report = Report {
            schema: "stillwatt.bus-bench/1",
            command: self.command(),
            host: host(),
            latency,
            footprint,
        };
        if self.json {
            let text =
                serde_json::to_string(&report).map_err(|error| Failure::from_error(Exit::Failed, error))?;
            output.line(&text)?;
        } else {
            report.print(output)?;
        }
        Ok(Exit::Done)
    }
}

fn host() -> Host {
    let root = node::HostRoot::machine();
    let read =
        |path| node::SysRoot::read(&root, path).map(|text| text.trim().to_string()).unwrap_or_default();
    Host {
        name: read("proc/sys/kernel/hostname"),
        kernel: read("proc/sys/kernel/osrelease"),
        online_cpus: cpus::online_cpus().len(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

impl Report {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(&format!(
            "{}   (kernel {}, {} CPUs)",
            self.command, self.host.kernel, self.host.online_cpus
        ))?;
        if !self.latency.is_empty() {
            output.line("")?;
            output
                .line("half round trip, µs       median of runs   (lowest .. highest)   p99     x floor")?;
            for row in &self.latency {
                output.line(&row.to_string())?;
            }
        }
        if let Some(footprint) = &self.footprint {
            output.line("")?;
            output.line(&footprint.to_string())?;
        }
        Ok(())
    }
}
