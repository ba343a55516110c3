//! Whom we connect to, and when again.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use units::Instant;

use super::connection::{Connection, Fault, Origin};
use super::{CONNECTIONS_MAX, State, Tcp, backoff, socket};
use crate::engine::lock;

/// An address that we connect to.
#[derive(Debug, Default)]
pub(super) struct Dial {
    /// Participants that want a connection all the time; with none, it is made when something is to be sent.
    pub(super) users: usize,
    has_connection: bool,
    /// In a row.
    failures: u32,
    /// Not before then, again.
    next: Instant,
    /// Why there is no connection.
    pub(super) error: Option<String>,
    /// It leads to ourselves, so it is not tried again.
    is_own: bool,
}

/// Addresses dialled.
const DIALS_MAX: usize = 512;
/// A connection that lived longer was a good one.
const GOOD: Duration = Duration::from_secs(5);

impl Tcp {
    /// Connects to an address, unless that has been done or is to wait.
    pub(super) fn dial(&self, state: &mut State, address: SocketAddr) {
        let now = node::clock::monotonic();
        let count = state.connections.len();
        let Some(dial) = state.dials.get_mut(&address) else { return };
        if dial.has_connection || dial.is_own || dial.next > now {
            return;
        }
        if count >= CONNECTIONS_MAX {
            return self.put_off(state, address, &Fault::Full(count));
        }
        let session = state.tls.as_ref().map(|tls| tls.client(address)).transpose();
        let made = session.map_err(Fault::from).and_then(|session| Ok((session, socket::connect(address)?)));
        match made {
            Ok((session, socket)) => {
                if let Some(dial) = state.dials.get_mut(&address) {
                    dial.has_connection = true;
                }
                self.add(state, socket, address, Origin::Dialled(address), session);
            }
            Err(fault) => self.put_off(state, address, &fault),
        }
    }

    /// Connects to an address to which something is to be sent.
    pub(super) fn dial_on_demand(&self, address: SocketAddr) -> Option<Arc<Connection>> {
        let mut state = lock(&self.state);
        if state.users == 0 {
            return None;
        }
        if !state.dials.contains_key(&address) && state.dials.len() >= DIALS_MAX {
            let idle = state.dials.iter().find(|(_, dial)| dial.users == 0 && !dial.has_connection);
            let idle = idle.map(|(address, _)| *address)?;
            state.dials.remove(&idle);
        }
        state.dials.entry(address).or_default();
        self.dial(&mut state, address);
        drop(state);
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.addresses.get(&address).cloned()
    }

    /// Connects to the addresses whose time has come; returns when the next one's comes.
    pub(super) fn dial_due(&self, state: &mut State, now: Instant) -> Instant {
        let wanted =
            |(_, dial): &(&SocketAddr, &Dial)| dial.users > 0 && !dial.has_connection && !dial.is_own;
        let due: Vec<SocketAddr> = state
            .dials
            .iter()
            .filter(wanted)
            .filter(|(_, dial)| dial.next <= now)
            .map(|(to, _)| *to)
            .collect();
        for address in due {
            self.dial(state, address);
        }
        state.dials.iter().filter(wanted).map(|(_, dial)| dial.next).min().unwrap_or(Instant::MAX)
    }

    /// A connection that we made has ended, or was never one.
    pub(super) fn dial_failed(
        &self,
        state: &mut State,
        address: SocketAddr,
        connection: &Connection,
        fault: &Fault,
    ) {
        let was_good = connection.peer().is_some()
            && node::clock::monotonic().saturating_since(connection.made_at) > GOOD;
        if let Some(dial) = state.dials.get_mut(&address) {
            dial.has_connection = false;
            dial.is_own = matches!(fault, Fault::Itself);
            if was_good {
                dial.failures = 0;
            }
            if connection.peer().is_some() {
                tracing::info!(%address, %fault, "a TCP connection ended");
            }
        }
        self.put_off(state, address, fault);
    }

    fn put_off(&self, state: &mut State, address: SocketAddr, fault: &Fault) {
        let random = backoff::random(&mut state.seed);
        let Some(dial) = state.dials.get_mut(&address) else { return };
        dial.failures = dial.failures.saturating_add(1);
        dial.next = node::clock::monotonic() + backoff::wait(dial.failures, random);
        // One line tells; later ones would only repeat it.
        if dial.failures == 1 && !dial.is_own {
            tracing::warn!(%address, %fault, "no TCP connection; trying again");
        }
        dial.error = Some(fault.to_string());
        if dial.users > 0 && !dial.is_own {
            self.arm(dial.next);
        }
    }

    /// The peer at an address has greeted.
    pub(super) fn dial_succeeded(state: &mut State, address: SocketAddr) {
        if let Some(dial) = state.dials.get_mut(&address) {
            dial.error = None;
        }
    }
}
