//! `bus …`: look at a DDS domain, read and write its topics, measure it. Touches the network through `bus` only.

mod check;
mod coding;
mod dissect;
mod echo;
mod list;
mod matching;
mod profile_json;
mod publish;
mod sample_type;
mod type_json;

use clap::Subcommand;
use rtps::qos::{Durability, Reliability};

use crate::bench::{BenchOptions, PeerOptions};
use crate::output::Output;
use crate::report::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum BusCommand {
    /// List the participants and topics of a domain
    Ls(list::ListArguments),
    /// Print the samples of a topic
    Echo(echo::EchoArguments),
    /// Write samples to a topic
    Pub(publish::PublishArguments),
    /// Tell what XML profiles of the Fast DDS dialect mean here, and what of them has no effect
    Check(check::CheckArguments),
    /// Explain why a writer and a reader match, or what prevents it
    Match(matching::MatchArguments),
    /// Show the RTPS messages of a packet capture, hexadecimal text or raw octets, and what is malformed in them
    Dissect(dissect::DissectArguments),
    /// Turn a value as JSON into the octets that travel
    Encode(coding::EncodeArguments),
    /// Turn the octets of a sample into JSON
    Decode(coding::DecodeArguments),
    /// Measure the bus beside the floor of this machine: latency, wake-ups, threads
    Bench(BenchOptions),
    /// The other process of the benchmark
    #[command(hide = true)]
    BenchPeer(PeerOptions),
}

/// Runs the command.
pub(super) fn run(command: &BusCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        BusCommand::Ls(arguments) => list::run(arguments, output),
        BusCommand::Echo(arguments) => echo::run(arguments, output),
        BusCommand::Pub(arguments) => publish::run(arguments, output),
        BusCommand::Check(arguments) => check::run(arguments, output),
        BusCommand::Dissect(arguments) => dissect::run(arguments, output),
        BusCommand::Match(arguments) => matching::run(arguments, output),
        BusCommand::Encode(arguments) => coding::encode(arguments, output),
        BusCommand::Decode(arguments) => coding::decode(arguments, output),
        BusCommand::Bench(options) => options.run(output),
        BusCommand::BenchPeer(options) => options.run(),
    }
}

/// Who made a DDS, for people (ids from the OMG's list of vendors).
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
