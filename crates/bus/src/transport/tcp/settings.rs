//! What a participant says about its use of TCP, and what can be wrong with it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A participant's use of TCP. Participants of one process share connections, so they have the same TLS files or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpTransport {
    /// Where to accept connections. Port 0 lets the system choose. `[::]` accepts IPv6 only; name `0.0.0.0` besides for
    /// both.
    pub listen: Vec<SocketAddr>,
    /// Whom to connect to; tried again while they do not answer, after 100 ms at first and 5 s in the end.
    pub connect: Vec<SocketAddr>,
    /// TLS 1.3 on every connection, with certificates of both sides. Without it whoever reaches a port can take part.
    pub tls: Option<TlsFiles>,
}

/// Files in PEM format for TLS. They are read when the first participant of the process joins with them. Only TCP is
/// secured: a participant that uses UDP or shared memory besides can be reached there without a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// This process's certificate, followed by those between it and the authority, if any.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the authorities that peers' certificates must come from.
    pub ca: PathBuf,
    /// The name that the certificate of whoever we connect to must have; without it, the address that we connect to.
    pub server_name: Option<String>,
}

/// The TLS files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read.
    #[error("cannot read {path:?} for TLS")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file does not have what it should.
    #[error("{path:?} has no {what} in PEM format: it needs a part -----BEGIN …----- of that kind")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// A certificate or key is not usable, or they do not belong together.
    #[error("the certificate or key of {path:?} cannot be used: {reason}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The server's name is not a name.
    #[error("{name:?} is no DNS name or address that a certificate could have")]
    ServerName {
        /// The name given.
        name: String,
    },
    /// Another participant of this process uses TCP with other files, or one of them without TLS.
    #[error(
        "another participant of this process uses TCP with other TLS files or without TLS; participants of a process \
         share their connections: give all of them the same"
    )]
    Differs,
    /// This program was built without TLS.
    #[error("this program was built without TLS: build it with the feature tls")]
    NotBuilt,
}

impl TlsError {
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only TLS refuses certificates"))]
    pub(super) fn refused(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::Refused { path: path.into(), reason: why.to_string() }
    }
}

/// TCP could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// An address cannot be listened at.
    #[error("cannot accept TCP connections at {address}: name another port, or an address of this machine")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system refused what all connections share.
    #[error("cannot prepare for TCP connections: {what}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}
