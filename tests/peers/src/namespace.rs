#![expect(clippy::disallowed_methods, reason = "I/O shell: makes network namespaces with ip(8)")]
//! Private networks: one network namespace each, made with `ip netns` and removed with the value.

use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skip::Skip;

/// A network namespace with a working loopback interface, removed when dropped.
///
/// Nothing in it reaches the machine's own network, and two namespaces do not see each other unless a [`Link`] joins
/// them.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

/// Most namespaces that one process may have made; a test that loops for ever is ended here.
const NAMESPACES_MAX: u32 = 1000;

static MADE: AtomicU32 = AtomicU32::new(0);

impl Namespace {
    /// A namespace whose loopback interface carries multicast, as a cluster's network does.
    ///
    /// # Errors
    /// When this user or system cannot make network namespaces.
    pub fn create() -> Result<Self, Skip> {
        let namespace = Self::without_multicast()?;
        namespace.ip(&["link", "set", "lo", "multicast", "on"])?;
        namespace.ip(&["route", "add", "224.0.0.0/4", "dev", "lo"])?;
        Ok(namespace)
    }

    /// A namespace with loopback only and no route for multicast: sending to a group fails there.
    ///
    /// # Errors
    /// As [`Namespace::create`].
    pub fn without_multicast() -> Result<Self, Skip> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        if number >= NAMESPACES_MAX {
            return Err(Skip::new(format!("this process already made {NAMESPACES_MAX} network namespaces")));
        }
        let name = format!("stw-{}-{number}", process::id());
        ip(&["netns", "add", &name])?;
        // From here on, an error removes the namespace.
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// The namespace's name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command that will run `program` inside. Killing it kills the program: no process stands in between.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name)).arg("--").arg(program.as_ref());
        command
    }

    fn ip(&self, arguments: &[&str]) -> Result<(), Skip> {
        let inside = [&["-n", self.name.as_str()], arguments].concat();
        ip(&inside)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "del", &self.name]) {
            eprintln!("namespace {} stays behind: {error}", self.name);
        }
    }
}

/// Several namespaces on one wire: each is a host with an Ethernet interface `eth0` and the
/// addresses `10.77.0.N` and `fd77::N`, N from 1 (in hexadecimal for IPv6).
#[derive(Debug)]
pub struct Link {
    hosts: Vec<Namespace>,
    /// Holds the bridge, so that the machine's own network is not touched. Dropped last.
    _wire: Namespace,
}

impl Link {
    /// Most hosts on one wire.
    pub const HOSTS_MAX: u8 = 100;

    /// `hosts` namespaces joined by a bridge. Multicast leaves by `eth0`.
    ///
    /// # Errors
    /// When this user or system cannot make them, or more than [`Link::HOSTS_MAX`] are asked for.
    pub fn create(hosts: u8) -> Result<Self, Skip> {
        if hosts > Self::HOSTS_MAX {
            return Err(Skip::new(format!("{hosts} hosts are more than {}", Self::HOSTS_MAX)));
        }
        let wire = Namespace::without_multicast()?;
        // Without snooping the bridge floods multicast, as a switch without a querier does.
        wire.ip(&["link", "add", "wire", "type", "bridge", "mcast_snooping", "0"])?;
        wire.ip(&["link", "set", "wire", "up"])?;
        let mut link = Self { hosts: Vec::new(), _wire: wire };
        for number in 1..=hosts {
            let host = Namespace::without_multicast()?;
            let (port, address) = (format!("port{number}"), format!("10.77.0.{number}/24"));
            let wire = &link._wire;
            wire.ip(&["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", host.name()])?;
            wire.ip(&["link", "set", &port, "master", "wire", "up"])?;
            host.ip(&["addr", "add", &address, "dev", "eth0"])?;
            host.ip(&["link", "set", "eth0", "up"])?;
            // Nobody else has it, so nobody needs to be asked for a second.
            host.ip(&["-6", "addr", "add", &format!("fd77::{number:x}/64"), "dev", "eth0", "nodad"])?;
            host.ip(&["route", "add", "224.0.0.0/4", "dev", "eth0"])?;
            link.hosts.push(host);
        }
        Ok(link)
    }

    /// The hosts, in the order of their addresses.
    pub fn hosts(&self) -> &[Namespace] {
        &self.hosts
    }
}

fn ip(arguments: &[&str]) -> Result<(), Skip> {
    let shown = format!("ip {}", arguments.join(" "));
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Skip::new(format!("{shown}: {error} (package iproute2)")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Skip::new(format!("{shown}: {} (network namespaces need root)", text.trim())))
}
