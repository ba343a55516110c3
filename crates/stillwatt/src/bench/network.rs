#![expect(clippy::disallowed_methods, reason = "I/O shell: makes private networks with unshare(1) and ip(8)")]
//! Private networks for the benches: nothing leaves the machine, nothing disturbs, every run starts clean.
//!
//! A host is a network namespace and a mount namespace with a `/dev/shm` of its own, held by one process that ends when
//! its standard input closes. So nothing is left behind, however this process ends: there are no named namespaces.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::report::{Exit, Failure};

/// Most hosts of one network.
pub(super) const HOSTS_MAX: u32 = 64;

/// One host: the namespaces live as long as this value.
#[derive(Debug)]
struct Host {
    holder: Child,
    /// Its end ends the holder.
    _input: ChildStdin,
}

impl Host {
    /// `setup` is run inside by sh(1).
    fn create(setup: &str) -> Result<Self, Failure> {
        let script = format!("{setup} && echo ready && exec cat >/dev/null");
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--", "sh", "-c", &script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.spawn().map_err(|error| not_here(&error.to_string()))?;
        let (input, output) = (holder.stdin.take(), holder.stdout.take());
        let mut line = String::new();
        if let Some(output) = output {
            let _ = BufReader::new(output).read_line(&mut line);
        }
        match (input, line.trim()) {
            (Some(input), "ready") => Ok(Self { holder, _input: input }),
            _ => {
                let output = holder.wait_with_output();
                let text = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
                Err(not_here(text.unwrap_or_default().trim()))
            }
        }
    }

    fn id(&self) -> u32 {
        self.holder.id()
    }

    fn command(&self, program: &Path) -> Command {
        let id = self.id();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{id}/ns/net")).arg(format!("--mount=/proc/{id}/ns/mnt"));
        command.arg("--").arg(program);
        command
    }

    /// Runs ip(8) inside.
    fn ip(&self, arguments: &str) -> Result<(), Failure> {
        let mut command = self.command(Path::new("ip"));
        let output = command.args(arguments.split_whitespace()).stdin(Stdio::null()).output();
        let output = output.map_err(|error| not_here(&error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(not_here(&format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim())))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn not_here(reason: &str) -> Failure {
    Failure::new(Exit::NotAvailable, format!("a private network cannot be made: {reason}")).with_remedy(
        "run as root with iproute2 and util-linux installed; without --hosts the machine's loopback is used",
    )
}

/// Where the processes of a bench run.
#[derive(Debug)]
pub(crate) enum Network {
    /// On the machine's own loopback interface, which others use as well.
    Loopback,
    /// One private host with nothing but loopback, or several on one wire.
    Private(Private),
}

/// Private hosts.
#[derive(Debug)]
pub(crate) struct Private {
    hosts: Vec<Host>,
    /// Holds the bridge. Dropped last.
    _wire: Option<Host>,
}

/// Sets up what every host has.
const OWN_MEMORY: &str = "mount -t tmpfs shm /dev/shm && ip link set lo up";

impl Network {
    /// Private hosts where this user may make them; otherwise loopback, when one host is enough.
    ///
    /// # Errors
    /// When several hosts are asked for and cannot be made.
    pub(crate) fn create(hosts: u32) -> Result<Self, Failure> {
        if hosts > HOSTS_MAX {
            return Err(Failure::new(Exit::Usage, format!("{hosts} hosts are more than {HOSTS_MAX}")));
        }
        if hosts > 1 {
            return Private::joined(hosts).map(Self::Private);
        }
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Loopback);
        }
        let setup = format!("{OWN_MEMORY} && ip link set lo multicast on && ip route add 224.0.0.0/4 dev lo");
        match Host::create(&setup) {
            Ok(host) => Ok(Self::Private(Private { hosts: vec![host], _wire: None })),
            Err(_) => Ok(Self::Loopback),
        }
    }

    /// Hosts that there are.
    pub(crate) fn hosts(&self) -> usize {
        match self {
            Self::Loopback => 1,
            Self::Private(private) => private.hosts.len(),
        }
    }

    /// What a reader of the numbers must know of it.
    pub(crate) fn remark(&self) -> String {
        match self {
            Self::Loopback => "on the machine's own loopback interface: not root, or no ip(8)".to_owned(),
            Self::Private(private) if private.hosts.len() == 1 => {
                "in a private network namespace with loopback only".to_owned()
            }
            Self::Private(private) => {
                format!("on {} network namespaces joined by a bridge of this machine", private.hosts.len())
            }
        }
    }

    /// A command that will run `program` on that host, counted round.
    pub(crate) fn command(&self, host: usize, program: &Path) -> Command {
        match self {
            Self::Loopback => Command::new(program),
            Self::Private(private) => match private.hosts.get(host % private.hosts.len().max(1)) {
                Some(host) => host.command(program),
                None => Command::new(program),
            },
        }
    }

    /// The address of that host, counted round.
    pub(crate) fn address(&self, host: usize) -> Ipv4Addr {
        match self {
            Self::Private(private) if private.hosts.len() > 1 => {
                address_of(u32::try_from(host % private.hosts.len()).unwrap_or(0))
            }
            _ => Ipv4Addr::LOCALHOST,
        }
    }

    /// Whether processes must be told to keep to the interface, since others lead out of the machine.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Loopback)
    }
}

fn address_of(host: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, u8::try_from(host + 1).unwrap_or(u8::MAX))
}

impl Private {
    /// Hosts with an Ethernet interface `eth0` each, joined by a bridge. Multicast leaves by `eth0`.
    fn joined(count: u32) -> Result<Self, Failure> {
        // Without snooping the bridge floods multicast, as a switch without a querier does.
        let wire = Host::create(
            "ip link set lo up && ip link add wire type bridge mcast_snooping 0 && ip link set wire up",
        )?;
        let mut hosts = Vec::new();
        for number in 0..count {
            let host = Host::create(OWN_MEMORY)?;
            let (port, address) = (format!("port{number}"), address_of(number));
            wire.ip(&format!("link add {port} type veth peer name eth0 netns {}", host.id()))?;
            wire.ip(&format!("link set {port} master wire up"))?;
            host.ip(&format!("addr add {address}/24 dev eth0"))?;
            host.ip("link set eth0 up")?;
            host.ip("route add 224.0.0.0/4 dev eth0")?;
            hosts.push(host);
        }
        Ok(Self { hosts, _wire: Some(wire) })
    }
}
