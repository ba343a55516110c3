#![expect(clippy::disallowed_methods, reason = "I/O shell: reads certificate files")]
//! TLS 1.3 with certificates of both sides (RFC 8446), by rustls. May touch: the certificate files.

use std::io::{IoSlice, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};

use super::{TlsError, TlsFiles};

/// TLS refuses the peer, or the peer us.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsFault {
    #[error("TLS: the peer refuses us, look at what it says: {0}")]
    Refused(rustls::Error),
    #[error("TLS: it does not speak TLS, or is no TLS peer of ours: {0}")]
    Foreign(rustls::Error),
    #[error("TLS: {0}")]
    Protocol(rustls::Error),
    #[error("TLS: {0}")]
    Io(#[from] std::io::Error),
}

impl From<rustls::Error> for TlsFault {
    fn from(error: rustls::Error) -> Self {
        match error {
            rustls::Error::AlertReceived(_) => Self::Refused(error),
            rustls::Error::InvalidMessage(_) => Self::Foreign(error),
            error => Self::Protocol(error),
        }
    }
}

/// What a process needs to make its connections secure.
#[derive(Debug)]
pub(super) struct Tls {
    files: TlsFiles,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: Option<ServerName<'static>>,
}

impl Tls {
    pub(super) fn new(files: &TlsFiles) -> Result<Self, TlsError> {
        let TlsFiles { certificate, key, ca, server_name } = files;
        let chain = certificates(certificate)?;
        let (private, again) = (private_key(key)?, private_key(key)?);
        let mut roots = RootCertStore::empty();
        for root in certificates(ca)? {
            roots.add(root).map_err(|source| TlsError::refused(ca, source))?;
        }
        let name = server_name.as_ref().map(|name| {
            ServerName::try_from(name.clone()).map_err(|_| TlsError::ServerName { name: name.clone() })
        });
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots.clone()), Arc::clone(&provider))
                .build()
                .map_err(|source| TlsError::refused(ca, source))?;
        let versions = &[&rustls::version::TLS13];
        let of_pair = |source| TlsError::refused(certificate, source);
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(of_pair)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain.clone(), private)
            .map_err(of_pair)?;
        // Connections last; a resumed one would save nothing and skip the look at the certificates.
        client.resumption = Resumption::disabled();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(of_pair)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, again)
            .map_err(of_pair)?;
        server.send_tls13_tickets = 0;
        Ok(Self {
            files: files.clone(),
            client: Arc::new(client),
            server: Arc::new(server),
            name: name.transpose()?,
        })
    }

    pub(super) fn is_of(&self, files: &TlsFiles) -> bool {
        self.files == *files
    }

    /// The side that dials, and checks that the certificate is the server's.
    pub(super) fn client(&self, address: SocketAddr) -> Result<Session, TlsFault> {
        let name = self.name.clone().unwrap_or_else(|| ServerName::IpAddress(address.ip().into()));
        Ok(Session::new(ClientConnection::new(Arc::clone(&self.client), name)?.into()))
    }

    /// The side that accepts.
    pub(super) fn server(&self) -> Result<Session, TlsFault> {
        Ok(Session::new(ServerConnection::new(Arc::clone(&self.server))?.into()))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = std::fs::read(path).map_err(|source| TlsError::Read { path: path.into(), source })?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(TlsError::Pem { path: path.into(), what: "certificate" }),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = std::fs::read(path).map_err(|source| TlsError::Read { path: path.into(), source })?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| TlsError::Pem { path: path.into(), what: "private key" })
}

/// One secured connection: octets in, octets out.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
}

impl Session {
    fn new(mut connection: Connection) -> Self {
        // What it buffers is taken out at once; our own queue has the bound.
        connection.set_buffer_limit(None);
        Self { connection }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// What the side that dials says first.
    pub(super) fn start(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFault> {
        self.take_out(out)
    }

    /// Appends what carries these octets, one after the other.
    pub(super) fn encrypt(&mut self, head: &[u8], rest: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFault> {
        let mut writer = self.connection.writer();
        let both = [IoSlice::new(head), IoSlice::new(rest)];
        let mut written = writer.write_vectored(&both)?;
        while written < head.len() + rest.len() {
            let left = match head.get(written..) {
                Some(left) if !left.is_empty() => left,
                _ => rest.get(written - head.len()..).unwrap_or_default(),
            };
            written += writer.write(left)?;
        }
        self.take_out(out)
    }

    /// Takes what came, and appends the peer's octets in it and what is to be answered, which there may be on errors
    /// too.
    pub(super) fn decrypt(
        &mut self,
        mut raw: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), TlsFault> {
        while !raw.is_empty() {
            if self.connection.read_tls(&mut raw)? == 0 {
                break;
            }
            let state = match self.connection.process_new_packets() {
                Ok(state) => state,
                Err(fault) => {
                    self.take_out(out)?;
                    return Err(fault.into());
                }
            };
            let before = plain.len();
            // As much as was decrypted from what has come, not as much as somebody claims.
            plain.resize(before + state.plaintext_bytes_to_read(), 0);
            self.connection.reader().read_exact(plain.get_mut(before..).unwrap_or_default())?;
        }
        self.take_out(out)
    }

    fn take_out(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFault> {
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }
}
