//! How datagrams travel. The protocol decides what to send where; a transport moves bytes to one locator.

mod in_process;
mod interfaces;
mod udp;

use std::io;

use rtps::Locator;

pub(crate) use in_process::InProcess;
pub(crate) use interfaces::addresses;
pub(crate) use udp::{DomainSockets, GROUP, Multicast, UdpSender, bind_user};

/// Which way a sample came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// From a participant of this process; the bytes never left it.
    InProcess,
    /// Over UDP, from this machine or another.
    Udp,
}

impl TransportKind {
    pub(crate) fn of(from: Locator) -> Self {
        if from == Locator::IN_PROCESS { Self::InProcess } else { Self::Udp }
    }
}

/// Moves datagrams to locators.
pub(crate) trait Transport: Send + Sync {
    /// Whether this transport leads to `to`.
    fn reaches(&self, to: &Locator) -> bool;

    /// Sends one datagram. Never blocks for long: what cannot be queued is an error, and reliable protocols above
    /// repair it.
    fn send(&self, to: &Locator, bytes: &[u8]) -> io::Result<()>;
}
