#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the configuration file")]
//! The configuration file: TOML 1.0, each quantity a text with its unit. Touches the one file that is named.
//!
//! [`Config::parse`] is pure; a mistake is reported with file, line, field and remedy.

use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::report::{Exit, Failure};
use crate::transport_choice::{TransportChoice, TransportName};

/// The largest configuration file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// Everything that a file can say. What it does not say has the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `[bus]`
    pub bus: BusSection,
    /// `[node]`
    pub node: NodeSection,
    /// `[dashboard]`
    pub dashboard: DashboardSection,
    /// `[monitor]`
    pub monitor: MonitorSection,
}

/// `[bus]`: how this process takes part in the bus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusSection {
    /// `domain = 0`: the DDS domain, 0 to 232.
    #[serde(deserialize_with = "domain")]
    pub domain: Option<u32>,
    /// `peers = ["192.0.2.7"]`: hosts to look for participants on, for networks without multicast.
    pub peers: Vec<IpAddr>,
    /// `transports = ["udp", "shm", "tcp"]`: of `udp`, `udp6`, `shm` and `tcp`; by default UDP and shared memory, and TCP
    /// where one of the next two settings is given.
    pub transports: Vec<TransportName>,
    /// `tcp_listen = ["0.0.0.0:7400"]`: where to accept TCP connections.
    pub tcp_listen: Vec<SocketAddr>,
    /// `tcp_connect = ["192.0.2.7:7400"]`: processes to connect to by TCP.
    pub tcp_connect: Vec<SocketAddr>,
    /// `tls_certificate = "node.pem"`: TCP, and TCP only, is secured by TLS; our certificate.
    pub tls_certificate: Option<PathBuf>,
    /// `tls_key = "node.key"`: its private key.
    pub tls_key: Option<PathBuf>,
    /// `tls_ca = "site.pem"`: the authority that the certificates of others must come from.
    pub tls_ca: Option<PathBuf>,
    /// `tls_server_name = "head.site"`: the name in the certificate of whom we connect to; by default the address.
    pub tls_server_name: Option<String>,
}

impl BusSection {
    /// What it says about transports.
    pub fn transport(&self) -> TransportChoice {
        TransportChoice {
            transports: self.transports.clone(),
            tcp_listen: self.tcp_listen.clone(),
            tcp_connect: self.tcp_connect.clone(),
            tls_certificate: self.tls_certificate.clone(),
            tls_key: self.tls_key.clone(),
            tls_ca: self.tls_ca.clone(),
            tls_server_name: self.tls_server_name.clone(),
        }
    }
}

/// `[node]`: which machine is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeSection {
    /// `simulated = "xeon-8260-2s"`: a simulated node of this profile in place of this machine.
    #[serde(deserialize_with = "profile")]
    pub simulated: Option<String>,
}

/// `[dashboard]`: the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DashboardSection {
    /// `port = 8470`: the port on loopback; without it the first free one of a few.
    pub port: Option<u16>,
}

/// `[monitor]`: what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MonitorSection {
    /// `record = "telemetry.csv"`: a file that telemetry is appended to.
    pub record: Option<PathBuf>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is larger than 1 MiB, or is not right; then with line, field and remedy.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let fault = |error: std::io::Error| {
            Failure::new(Exit::Usage, format!("cannot read the configuration file {}", path.display()))
                .with_remedy("name a TOML file that you may read, or leave --config away")
                .with_source(error)
        };
        // A device or a pipe may never end, and opening a pipe may wait for ever.
        if !std::fs::metadata(path).map_err(fault)?.is_file() {
            let text = format!("the configuration {} is not a regular file", path.display());
            return Err(Failure::new(Exit::Usage, text).with_remedy("name a TOML file"));
        }
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(fault)?;
        file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(fault)?;
        if text.len() as u64 > BYTES_MAX {
            let text = format!("the configuration file {} is too large", path.display());
            return Err(Failure::new(Exit::Usage, text).with_remedy("a configuration file has at most 1 MiB"));
        }
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of a file called `name`.
    ///
    /// # Errors
    /// When it is not TOML, names a field that does not exist, or a value is not of its kind; with line and remedy.
    pub fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let line = text.get(..span.start).unwrap_or("").matches('\n').count() + 1;
            let said = error.message().trim_end().replace('\n', ", ");
            Failure::new(Exit::Usage, format!("{name}, line {line}: {said}"))
                .with_remedy(remedy(&said))
                .with_place(name, text.to_owned(), span, &said)
        })
    }
}

fn remedy(said: &str) -> &'static str {
    if said.contains("unknown field") {
        "correct the name or delete the line; nothing is ignored silently"
    } else if said.contains("invalid type") || said.contains("invalid value") {
        "write a value of the kind asked for; quantities are texts with a unit, such as \"200 ms\""
    } else {
        "the file is TOML: [section], then name = value lines"
    }
}

fn domain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let domain = u32::deserialize(deserializer)?;
    if domain > DOMAIN_MAX {
        let text = format!("invalid value: domain {domain} has no ports; the highest is {DOMAIN_MAX}");
        return Err(serde::de::Error::custom(text));
    }
    Ok(Some(domain))
}

fn profile<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = node::simulated::profiles();
    if known.iter().any(|profile| *profile == name) {
        return Ok(Some(name));
    }
    let text = format!("invalid value: no simulated node is called {name:?}; there is {}", known.join(", "));
    Err(serde::de::Error::custom(text))
}

/// The highest domain whose well-known ports are below 65,536 (RTPS 2.5 section 9.6.2.3).
pub const DOMAIN_MAX: u32 = 232;

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        let failure = Config::parse("site.toml", text).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        format!("{:?}", miette::Report::new(failure))
    }

    /// Each field is read, and what is not said keeps its default.
    #[test]
    fn reads_every_field() {
        let text = "[bus]\ndomain = 7\npeers = [\"192.0.2.7\"]\ntransports = [\"tcp\"]\ntcp_listen = [\"[::]:7\"]\ntls_key = \"k\"\n[node]\nsimulated = \"xeon-8260-2s\"\n[dashboard]\nport = 1\n[monitor]\nrecord = \"f\"\n";
        let config = Config::parse("site.toml", text).unwrap();
        assert_eq!(config.bus.domain, Some(7));
        assert_eq!(config.bus.peers, [IpAddr::from([192, 0, 2, 7])]);
        let transport = config.bus.transport();
        assert_eq!(transport.transports, [TransportName::Tcp]);
        assert_eq!(transport.tcp_listen, ["[::]:7".parse().unwrap()]);
        assert_eq!(transport.tls_key, Some(PathBuf::from("k")));
        assert_eq!(config.node.simulated.as_deref(), Some("xeon-8260-2s"));
        assert_eq!(config.dashboard.port, Some(1));
        assert_eq!(config.monitor.record, Some(PathBuf::from("f")));
        assert_eq!(Config::parse("site.toml", "").unwrap(), Config::default());
    }

    /// A wrong name is an error that names file, line, field and what to do.
    #[test]
    fn unknown_field_is_named() {
        let text = complaint("[bus]\n\ndomian = 7\n");
        for part in ["site.toml, line 3", "domian", "`domain`", "nothing is ignored"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    /// A value of another kind, out of range or that is not TOML names its line.
    #[test]
    fn wrong_values_name_their_line() {
        assert!(complaint("[dashboard]\nport = \"x\"\n").contains("line 2"));
        assert!(complaint("[dashboard]\nport = 70000\n").contains("line 2"));
        assert!(complaint("[bus]\ndomain = 233\n").contains("the highest is 232"));
        assert!(complaint("[bus]\npeers = [\"192.0.2\"]\n").contains("line 2"));
        assert!(complaint("[bus]\ntransports = [\"tcp\", \"rdma\"]\n").contains("`udp6`"));
        assert!(complaint("[bus]\ntcp_listen = [\"7400\"]\n").contains("line 2"));
        assert!(complaint("[bus\n").contains("line 1"));
        assert!(complaint("[bus]\ndomain = 1\ndomain = 2\n").contains("line 3"));
    }
}
