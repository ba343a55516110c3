//! In place of TLS where it was not built in: connections are never secured, and asking for it is an error.

use std::net::SocketAddr;

use super::{TlsError, TlsFiles};

/// Never happens.
#[derive(Debug, thiserror::Error)]
#[error("TLS is not built in")]
pub(super) enum TlsFault {}

/// Never made.
#[derive(Debug)]
pub(super) enum Tls {}

impl Tls {
    pub(super) fn new(_files: &TlsFiles) -> Result<Self, TlsError> {
        Err(TlsError::NotBuilt)
    }

    pub(super) fn is_of(&self, _files: &TlsFiles) -> bool {
        match *self {}
    }

    pub(super) fn client(&self, _address: SocketAddr) -> Result<Session, TlsFault> {
        match *self {}
    }

    pub(super) fn server(&self) -> Result<Session, TlsFault> {
        match *self {}
    }
}

/// Never made.
#[derive(Debug)]
pub(super) enum Session {}

impl Session {
    pub(super) fn is_handshaking(&self) -> bool {
        match *self {}
    }

    pub(super) fn start(&mut self, _out: &mut Vec<u8>) -> Result<(), TlsFault> {
        match *self {}
    }

    pub(super) fn encrypt(&mut self, _: &[u8], _: &[u8], _out: &mut Vec<u8>) -> Result<(), TlsFault> {
        match *self {}
    }

    pub(super) fn decrypt(
        &mut self,
        _raw: &[u8],
        _plain: &mut Vec<u8>,
        _out: &mut Vec<u8>,
    ) -> Result<(), TlsFault> {
        match *self {}
    }
}
