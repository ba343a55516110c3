//! The processes of the benches: what each does, whether on our bus or on bare sockets and memory (the floor). Their
//! command line and the lines they print are those of `peers/README.md`, "Benches", so that other DDS take part with
//! programs of their own. Touches the network through its parts.

mod bus;
mod crowd;
mod floor;
mod line;
mod rounds;
mod stream;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::transport::BenchTransport;
use crate::report::{Exit, Failure};

/// Whose process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    /// Our bus.
    Stillwatt,
    /// Bare sockets, or memory and a futex.
    Floor,
}

/// What the process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verb {
    /// Answer every sample.
    Pong,
    /// Send rounds and take the time of the answers.
    Ping,
    /// Receive a stream.
    Rx,
    /// Send a stream.
    Tx,
    /// Create many endpoints when told to, and say when all are matched.
    Dsub,
    /// Create one writer and one reader when told to, and say when all are matched.
    Dpub,
    /// Create many endpoints at once and do nothing.
    Idle,
}

/// Arguments of a process of the benches; not for people.
#[derive(Clone, Debug, Args)]
pub struct PeerOptions {
    /// Whose process
    #[arg(value_enum)]
    side: Side,
    /// What to do
    #[arg(value_enum)]
    verb: Verb,
    /// The DDS domain
    #[arg(long, default_value_t = 0)]
    domain: u32,
    /// The transport of the data
    #[arg(long, value_enum, default_value_t = BenchTransport::Udp)]
    transport: BenchTransport,
    /// The address of the network interface to use
    #[arg(long)]
    address: Option<Ipv4Addr>,
    /// Where the master listens when the transport is TCP
    #[arg(long)]
    server: Option<SocketAddr>,
    /// The floor's answering sockets
    #[arg(long, value_delimiter = ',')]
    to: Vec<SocketAddr>,
    /// The memory that the floor's processes share
    #[arg(long)]
    memory: Option<PathBuf>,
    /// This process's number among those that answer
    #[arg(long, default_value_t = 0)]
    id: u32,
    /// Payload bytes of a sample
    #[arg(long, default_value_t = 64)]
    size: u32,
    /// Rounds, or samples of a stream
    #[arg(long, default_value_t = 1000)]
    samples: u32,
    /// Processes that answer; for dpub, peers that each of its endpoints has
    #[arg(long, default_value_t = 1)]
    subscribers: u32,
    /// Participants to create
    #[arg(long, default_value_t = 1)]
    participants: u32,
    /// Endpoints in each of them
    #[arg(long, default_value_t = 2)]
    endpoints: u32,
    /// Lost samples are repaired
    #[arg(long)]
    reliable: bool,
    /// Samples may wait for others and travel with them
    #[arg(long)]
    tuned: bool,
}

impl PeerOptions {
    /// Does it, until standard input closes or the measurement is over.
    ///
    /// # Errors
    /// When the bus cannot be joined, a socket cannot be made, or the other processes do not answer.
    pub fn run(&self) -> Result<Exit, Failure> {
        match (self.side, self.verb) {
            (Side::Stillwatt, Verb::Pong) => bus::pong(self),
            (Side::Stillwatt, Verb::Ping) => bus::ping(self),
            (Side::Stillwatt, Verb::Rx) => stream::rx(self),
            (Side::Stillwatt, Verb::Tx) => stream::tx(self),
            (Side::Stillwatt, Verb::Dsub | Verb::Idle) => crowd::crowd(self),
            (Side::Stillwatt, Verb::Dpub) => crowd::hub(self),
            (Side::Floor, verb) => floor::run(self, verb),
        }
    }

    /// Whether the others connect to this process.
    fn is_server(&self) -> bool {
        matches!(self.verb, Verb::Ping | Verb::Tx | Verb::Dpub)
    }

    fn local_address(&self) -> IpAddr {
        IpAddr::V4(self.address.unwrap_or(Ipv4Addr::LOCALHOST))
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::from_error(Exit::Failed, error)
}
