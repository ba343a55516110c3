#![expect(clippy::disallowed_methods, reason = "I/O shell: the other process of the benchmark")]
//! The benchmark's other process: answers, idles or holds many participants, until its standard input closes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Command, Stdio};

use bus::{DdsType, Participant};
use clap::{Args, ValueEnum};

use crate::report::{Exit, Failure};

/// What the other process is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    /// Answer best-effort samples.
    BestEffort,
    /// Answer reliable samples.
    Reliable,
    /// Answer raw datagrams.
    Floor,
    /// One participant that does nothing.
    Idle,
    /// 40 participants that do nothing.
    Crowd,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "best-effort",
            Self::Reliable => "reliable",
            Self::Floor => "floor",
            Self::Idle => "idle",
            Self::Crowd => "crowd",
        }
    }
}

/// Arguments of the benchmark's other process; not for people.
#[derive(Clone, Debug, Args)]
pub struct PeerOptions {
    /// What to do
    #[arg(value_enum)]
    role: Role,
    /// The DDS domain
    #[arg(long)]
    domain: u32,
    /// The CPU to stay on
    #[arg(long)]
    cpu: Option<u32>,
}

/// The sample of the latency measurement: two numbers and a payload.
#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Msg")]
pub(super) struct Message {
    pub(super) id: u32,
    pub(super) seq: u32,
    pub(super) data: Vec<u8>,
}

pub(super) const PING: &str = "bench/ping";
pub(super) const PONG: &str = "bench/pong";
/// Participants in the crowd.
pub(super) const CROWD: usize = 40;

impl PeerOptions {
    /// Runs until standard input closes; prints one line when ready.
    ///
    /// # Errors
    /// When the bus cannot be joined.
    pub fn run(&self) -> Result<Exit, Failure> {
        if let Some(cpu) = self.cpu {
            super::cpus::pin(cpu)?;
        }
        let held = match self.role {
            Role::Floor => return answer_datagrams(),
            Role::BestEffort | Role::Reliable => vec![answer_samples(self.domain, self.role)?],
            Role::Idle => vec![join(self.domain, "idle")?],
            Role::Crowd => (0..CROWD)
                .map(|index| join(self.domain, &format!("crowd {index}")))
                .collect::<Result<_, _>>()?,
        };
        ready("ready");
        wait_for_end();
        drop(held);
        Ok(Exit::Done)
    }
}

fn join(domain: u32, name: &str) -> Result<Participant, Failure> {
    Participant::builder()
        .domain(domain)
        .name(name)
        .build()
        .map_err(|error| Failure::from_error(Exit::Failed, error))
}

fn ready(line: &str) {
    // The parent reads this line or has gone; both are fine.
    let _ = writeln!(std::io::stdout(), "{line}").and_then(|()| std::io::stdout().flush());
}

fn wait_for_end() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn answer_samples(domain: u32, role: Role) -> Result<Participant, Failure> {
    let participant = join(domain, "bench pong")?;
    let fault = |error| Failure::from_error(Exit::Failed, error);
    let publisher = participant.publisher::<Message>(PONG).keep_last(64);
    let subscriber = participant.subscriber::<Message>(PING).keep_last(64);
    let (publisher, subscriber) = match role {
        Role::Reliable => (publisher.reliable(), subscriber.reliable()),
        _ => (publisher, subscriber),
    };
    let publisher = publisher.build().map_err(fault)?;
    let subscriber = subscriber
        .on_sample(move |sample| {
            if let Some(message) = sample.data.valid() {
                // A failed answer shows as a lost round trip at the other side.
                let _ = publisher.write(&message);
            }
        })
        .build()
        .map_err(fault)?;
    // The process ends with its standard input; until then the endpoints stay.
    std::mem::forget(subscriber);
    Ok(participant)
}

fn answer_datagrams() -> Result<Exit, Failure> {
    let fault = |error| Failure::from_error(Exit::Failed, error);
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(fault)?;
    ready(&socket.local_addr().map_err(fault)?.port().to_string());
    let mut buffer = [0; 65_536];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).map_err(fault)?;
        if length == 0 {
            return Ok(Exit::Done);
        }
        socket.send_to(buffer.get(..length).unwrap_or_default(), from).map_err(fault)?;
    }
}

/// The other process, ended when dropped.
#[derive(Debug)]
pub(super) struct PeerProcess {
    child: Child,
    /// What it printed when it was ready.
    pub(super) line: String,
    _stdout: BufReader<ChildStdout>,
}

impl PeerProcess {
    /// Starts this program again as the benchmark's other process, and waits until it is ready.
    pub(super) fn start(role: Role, domain: u32, cpu: Option<u32>) -> Result<Self, Failure> {
        let fault = |error| Failure::from_error(Exit::Failed, error);
        let program = std::env::current_exe().map_err(fault)?;
        let mut command = Command::new(program);
        command.args(["bus", "bench-peer", role.name(), "--domain", &domain.to_string()]);
        if let Some(cpu) = cpu {
            command.args(["--cpu", &cpu.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(fault)?;
        let stdout =
            child.stdout.take().ok_or_else(|| Failure::new(Exit::Failed, "the peer has no output"))?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line).map_err(fault)?;
        let line = line.trim().to_string();
        if line.is_empty() {
            let _ = child.wait();
            return Err(Failure::new(Exit::Failed, "the benchmark's other process did not start")
                .with_remedy(format!(
                    "run it by hand: stillwatt bus bench-peer {} --domain {domain}",
                    role.name()
                )));
        }
        Ok(Self { child, line, _stdout: stdout })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // Closing its input ends it; one that does not listen is ended.
        drop(self.child.stdin.take());
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
