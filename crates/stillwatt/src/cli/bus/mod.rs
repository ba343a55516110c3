//! `bus …`: look at a DDS domain, read and write its topics, measure it. Touches the network through `bus` only.

mod echo;
mod list;
mod publish;

use std::net::Ipv4Addr;

use bus::Participant;
use clap::{Args, Subcommand};
use rtps::qos::{Durability, Reliability};

use super::Output;
use crate::bench::{BenchOptions, PeerOptions};
use crate::report::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum BusCommand {
    /// List the participants and topics of a domain
    Ls(list::ListArguments),
    /// Print the samples of a topic
    Echo(echo::EchoArguments),
    /// Write samples to a topic
    Pub(publish::PublishArguments),
    /// Measure the bus beside the floor of this machine: latency, wake-ups, threads
    Bench(BenchOptions),
    /// The other process of the benchmark
    #[command(hide = true)]
    BenchPeer(PeerOptions),
}

/// Which domain, and how to find it.
#[derive(Args, Debug)]
struct DomainChoice {
    /// DDS domain, 0 to 232
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(crate::config::DOMAIN_MAX)))]
    domain: u32,
    /// Also look for participants on this host, for networks without multicast; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    peer: Vec<Ipv4Addr>,
}

/// Runs the command.
pub(super) fn run(command: &BusCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        BusCommand::Ls(arguments) => list::run(arguments, output),
        BusCommand::Echo(arguments) => echo::run(arguments, output),
        BusCommand::Pub(arguments) => publish::run(arguments, output),
        BusCommand::Bench(options) => options.run(output),
        BusCommand::BenchPeer(options) => options.run(),
    }
}

impl DomainChoice {
    fn join(&self, name: &str) -> Result<Participant, Failure> {
        let mut builder = Participant::builder().domain(self.domain).name(name);
        for host in &self.peer {
            builder = builder.peer(*host, None);
        }
        builder.build().map_err(|error| {
            Failure::from_error(Exit::Failed, error)
                .with_remedy("run `stillwatt doctor` to see what the network allows")
        })
    }
}

/// A participant or endpoint name for people.
fn vendor_name(vendor: rtps::VendorId) -> String {
    match vendor.0 {
        [0x01, 0x01] => "RTI Connext DDS".to_owned(),
        [0x01, 0x02] => "OpenSplice".to_owned(),
        [0x01, 0x03] => "OpenDDS".to_owned(),
        [0x01, 0x0f] => "Fast DDS".to_owned(),
        [0x01, 0x10] => "Cyclone DDS".to_owned(),
        [0x01, 0x12] => "RustDDS".to_owned(),
        [0x01, 0x14] => "Dust DDS".to_owned(),
        _ if vendor == rtps::VENDOR_STILLWATT => "Stillwatt".to_owned(),
        [a, b] => format!("vendor {a:02x}{b:02x}"),
    }
}

fn reliability_name(reliability: Reliability) -> &'static str {
    match reliability {
        Reliability::BestEffort => "best-effort",
        Reliability::Reliable => "reliable",
    }
}

fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::Volatile => "volatile",
        Durability::TransientLocal => "transient-local",
        Durability::Transient => "transient",
        Durability::Persistent => "persistent",
    }
}
