//! By which transports the domain is joined, from the command line or the configuration file.

use std::net::SocketAddr;
use std::path::PathBuf;

use bus::{TcpTransport, TlsFiles, Transports};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::report::{Exit, Failure};

const HEADING: &str = "Transports";

/// A way to reach other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportName {
    /// UDP over IPv4
    Udp,
    /// UDP over IPv6
    Udp6,
    /// Data by shared memory within a machine, beside another one
    Shm,
    /// TCP over IPv4 and IPv6
    Tcp,
}

/// The transports of a command.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportChoice {
    /// Transports to use, separated by commas [default: udp,shm, and tcp with --tcp-listen or --tcp-connect]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', hide_short_help = true, help_heading = HEADING)]
    pub transports: Vec<TransportName>,
    /// Accept TCP connections at this address and port, such as 0.0.0.0:7400; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", hide_short_help = true, help_heading = HEADING)]
    pub tcp_listen: Vec<SocketAddr>,
    /// Connect to a process that accepts TCP connections here; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", hide_short_help = true, help_heading = HEADING)]
    pub tcp_connect: Vec<SocketAddr>,
    /// Secure TCP, and TCP only, by TLS: this process's certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_key", requires = "tls_ca", hide_short_help = true, help_heading = HEADING)]
    pub tls_certificate: Option<PathBuf>,
    /// The private key of --tls-certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate", hide_short_help = true, help_heading = HEADING)]
    pub tls_key: Option<PathBuf>,
    /// The authority that the certificates of others must come from
    #[arg(long, value_name = "FILE", requires = "tls_certificate", hide_short_help = true, help_heading = HEADING)]
    pub tls_ca: Option<PathBuf>,
    /// The name in the certificate of whom we connect to [default: the address]
    #[arg(long, value_name = "NAME", requires = "tls_certificate", hide_short_help = true, help_heading = HEADING)]
    pub tls_server_name: Option<String>,
}

impl TransportChoice {
    /// What was chosen, or else what `other` chose, one setting at a time.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let list = |own: Vec<SocketAddr>, other| if own.is_empty() { other } else { own };
        Self {
            transports: if self.transports.is_empty() { other.transports } else { self.transports },
            tcp_listen: list(self.tcp_listen, other.tcp_listen),
            tcp_connect: list(self.tcp_connect, other.tcp_connect),
            tls_certificate: self.tls_certificate.or(other.tls_certificate),
            tls_key: self.tls_key.or(other.tls_key),
            tls_ca: self.tls_ca.or(other.tls_ca),
            tls_server_name: self.tls_server_name.or(other.tls_server_name),
        }
    }

    /// As the bus wants it.
    ///
    /// # Errors
    /// When settings contradict each other.
    pub fn transports(&self) -> Result<Transports, Failure> {
        let uses = |name| self.transports.contains(&name);
        let has_address = !self.tcp_listen.is_empty() || !self.tcp_connect.is_empty();
        let has_tcp = uses(TransportName::Tcp) || (self.transports.is_empty() && has_address);
        let fault = |text: &str, remedy| Failure::new(Exit::Usage, text).with_remedy(remedy);
        if !has_tcp && (has_address || self.tls_certificate.is_some()) {
            return Err(fault("TCP is set up but not used", "add tcp to the transports, or use the default"));
        }
        if uses(TransportName::Tcp) && !has_address {
            return Err(fault(
                "TCP needs an address to listen at or to connect to",
                "give --tcp-listen ADDRESS:PORT or --tcp-connect ADDRESS:PORT",
            ));
        }
        if self.transports == [TransportName::Shm] {
            return Err(fault("shared memory alone finds nobody", "add udp, udp6 or tcp for discovery"));
        }
        let tcp = TcpTransport {
            listen: self.tcp_listen.clone(),
            connect: self.tcp_connect.clone(),
            tls: self.tls()?,
        };
        let default = Transports::default();
        let or_default = |name, default| if self.transports.is_empty() { default } else { uses(name) };
        Ok(Transports {
            udp_v4: or_default(TransportName::Udp, default.udp_v4),
            udp_v6: or_default(TransportName::Udp6, default.udp_v6),
            shared_memory: or_default(TransportName::Shm, default.shared_memory),
            tcp: has_tcp.then_some(tcp),
            ..default
        })
    }

    fn tls(&self) -> Result<Option<TlsFiles>, Failure> {
        match (&self.tls_certificate, &self.tls_key, &self.tls_ca) {
            (None, None, None) if self.tls_server_name.is_none() => Ok(None),
            (Some(certificate), Some(key), Some(ca)) => Ok(Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                ca: ca.clone(),
                server_name: self.tls_server_name.clone(),
            })),
            _ => Err(Failure::new(Exit::Usage, "TLS needs a certificate, its key and an authority")
                .with_remedy("set tls_certificate, tls_key and tls_ca, or none of them")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(names: &[TransportName]) -> TransportChoice {
        TransportChoice { transports: names.to_vec(), ..TransportChoice::default() }
    }

    /// Nothing chosen is the default; an address brings TCP with it; names mean just those.
    #[test]
    fn names_and_addresses_make_transports() {
        assert_eq!(choice(&[]).transports().unwrap(), Transports::default());
        let address: SocketAddr = "192.0.2.7:7400".parse().unwrap();
        let tcp = TransportChoice { tcp_connect: vec![address], ..choice(&[]) };
        let made = tcp.transports().unwrap();
        assert!(made.udp_v4 && made.tcp.unwrap().connect == [address]);
        let only = TransportChoice { tcp_listen: vec![address], ..choice(&[TransportName::Tcp]) };
        let made = only.clone().transports().unwrap();
        assert!(!made.udp_v4 && !made.shared_memory && made.tcp.unwrap().listen == [address]);
        let made = choice(&[TransportName::Udp6]).transports().unwrap();
        assert!(!made.udp_v4 && made.udp_v6 && made.tcp.is_none());
        // The command line wins over the file, one setting at a time.
        let both = choice(&[TransportName::Udp, TransportName::Tcp]).or(only);
        assert_eq!((both.transports.len(), both.tcp_listen), (2, vec![address]));
    }

    /// What contradicts itself is refused with what to do.
    #[test]
    fn contradictions_are_refused() {
        let address: SocketAddr = "192.0.2.7:7400".parse().unwrap();
        let file = || Some(PathBuf::from("x.pem"));
        let wrong = [
            choice(&[TransportName::Tcp]),
            choice(&[TransportName::Shm]),
            TransportChoice { tcp_listen: vec![address], ..choice(&[TransportName::Udp]) },
            TransportChoice { tls_certificate: file(), tls_key: file(), tls_ca: file(), ..choice(&[]) },
            TransportChoice { tcp_listen: vec![address], tls_key: file(), ..choice(&[]) },
        ];
        for choice in wrong {
            assert_eq!(choice.transports().unwrap_err().exit(), Exit::Usage, "{choice:?}");
        }
    }
}
