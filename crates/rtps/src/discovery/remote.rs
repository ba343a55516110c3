//! The table of remote participants and their endpoints.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use units::Instant;

use super::data::{EndpointData, ParticipantData};
use super::endpoints::{Names, OwnAddress, RemoteEndpoint, RemoteEndpoints};
use crate::guard::Guard;
use crate::{Guid, GuidPrefix, Lease, Limits, Locator};

/// A remote participant.
#[derive(Clone, Debug)]
pub struct RemoteParticipant {
    /// What it announced.
    pub data: ParticipantData,
    /// When we stop believing in it.
    pub(crate) expires_at: Instant,
    /// Whether it has ever sent more than announcements to us.
    pub(crate) is_confirmed: bool,
    pub(crate) discovered_at: Instant,
    /// Where its built-in endpoints are reached.
    pub(crate) metatraffic: Vec<Locator>,
    /// Where its user endpoints are reached unless they say otherwise.
    pub(crate) default: Vec<Locator>,
    /// How many endpoints of it are known.
    endpoints: usize,
}

impl RemoteParticipant {
    /// A participant that has announced itself now.
    pub(crate) fn new(
        now: Instant,
        data: ParticipantData,
        metatraffic: Vec<Locator>,
        default: Vec<Locator>,
    ) -> Self {
        Self {
            expires_at: expiry(now, data.lease),
            data,
            is_confirmed: false,
            discovered_at: now,
            metatraffic,
            default,
            endpoints: 0,
        }
    }

    /// Its addresses, each once.
    pub(crate) fn addresses(&self) -> Vec<Locator> {
        let others = self.default.iter().filter(|locator| !self.metatraffic.contains(locator));
        self.metatraffic.iter().chain(others).copied().collect()
    }

    fn release(&self, guard: &mut Guard) {
        match self.is_confirmed {
            true => guard.distrust(&self.addresses()),
            false => guard.clear(&self.addresses()),
        }
    }
}

/// Remote participants and endpoints, bounded. Operations cost at most the logarithm of their number, except where
/// said.
#[derive(Debug)]
pub(crate) struct RemoteTable {
    pub(crate) participants: BTreeMap<GuidPrefix, RemoteParticipant>,
    writers: RemoteEndpoints,
    readers: RemoteEndpoints,
    names: Names,
    /// Those that have only announced themselves, the oldest first.
    unconfirmed: BTreeSet<(Instant, GuidPrefix)>,
    /// Never later than the next expiry.
    next_expiry: Instant,
}

impl Default for RemoteTable {
    fn default() -> Self {
        Self {
            participants: BTreeMap::new(),
            writers: RemoteEndpoints::default(),
            readers: RemoteEndpoints::default(),
            names: Names::default(),
            unconfirmed: BTreeSet::new(),
            next_expiry: Instant::MAX,
        }
    }
}

/// What to do with an announcement of a new participant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Welcome,
    /// Room is made by forgetting this one.
    Evict(GuidPrefix),
    Refused,
}

impl RemoteTable {
    /// Whether a new participant may be added.
    pub(crate) fn admit(&self, limits: &Limits) -> Admission {
        let is_full = self.participants.len() >= limits.participants_max;
        if self.unconfirmed.len() >= limits.unconfirmed_max || is_full {
            return match self.unconfirmed.first() {
                Some((_, prefix)) => Admission::Evict(*prefix),
                None => Admission::Refused,
            };
        }
        Admission::Welcome
    }

    /// Adds a participant that has not answered yet.
    pub(crate) fn insert(&mut self, prefix: GuidPrefix, remote: RemoteParticipant, guard: &mut Guard) {
        self.unconfirmed.insert((remote.discovered_at, prefix));
        guard.suspect(&remote.addresses());
        self.next_expiry = self.next_expiry.min(remote.expires_at);
        self.participants.insert(prefix, remote);
    }

    pub(crate) fn remove(&mut self, prefix: GuidPrefix, guard: &mut Guard) -> Option<RemoteParticipant> {
        let remote = self.participants.remove(&prefix)?;
        remote.release(guard);
        self.unconfirmed.remove(&(remote.discovered_at, prefix));
        Some(remote)
    }

    /// Notes that a participant is alive.
    pub(crate) fn touch(&mut self, prefix: GuidPrefix, now: Instant) {
        let Some(remote) = self.participants.get_mut(&prefix) else { return };
        remote.expires_at = expiry(now, remote.data.lease);
        self.next_expiry = self.next_expiry.min(remote.expires_at);
    }

    /// Notes that a participant did more than announce itself: it hears us.
    pub(crate) fn confirm(&mut self, prefix: GuidPrefix, guard: &mut Guard) {
        let Some(remote) = self.participants.get_mut(&prefix).filter(|remote| !remote.is_confirmed) else {
            return;
        };
        remote.is_confirmed = true;
        self.unconfirmed.remove(&(remote.discovered_at, prefix));
        guard.trust(&remote.addresses());
        guard.clear(&remote.addresses());
    }

    /// Takes a participant's new addresses, which have to be confirmed anew.
    pub(crate) fn readdress(
        &mut self,
        prefix: GuidPrefix,
        (metatraffic, default): (Vec<Locator>, Vec<Locator>),
        guard: &mut Guard,
    ) {
        let Some(remote) = self.participants.get_mut(&prefix) else { return };
        remote.release(guard);
        remote.is_confirmed = false;
        (remote.metatraffic, remote.default) = (metatraffic, default);
        guard.suspect(&remote.addresses());
        self.unconfirmed.insert((remote.discovered_at, prefix));
    }

    /// The participants whose lease has ended. Looks at all of them, but only when one may have.
    pub(crate) fn expired(&mut self, now: Instant) -> Vec<GuidPrefix> {
        if now < self.next_expiry {
            return Vec::new();
        }
        let is_over = |remote: &RemoteParticipant| remote.expires_at <= now;
        let others = self.participants.values().filter(|remote| !is_over(remote));
        self.next_expiry = others.map(|remote| remote.expires_at).min().unwrap_or(Instant::MAX);
        self.participants.iter().filter(|(_, remote)| is_over(remote)).map(|(prefix, _)| *prefix).collect()
    }

    /// When [`RemoteTable::expired`] wants to look; never later than the next end of a lease.
    pub(crate) fn next_expiry(&self) -> Instant {
        self.next_expiry
    }

    // Endpoints.

    /// The remote endpoints that write, or those that read.
    pub(crate) fn endpoints(&self, is_writer: bool) -> &RemoteEndpoints {
        if is_writer { &self.writers } else { &self.readers }
    }

    fn is_known(&self, guid: Guid) -> bool {
        self.writers.contains(guid) || self.readers.contains(guid)
    }

    /// Whether this endpoint is known already or may be added.
    pub(crate) fn has_room_for(&self, guid: Guid, limits: &Limits) -> bool {
        let of_its_participant = self.participants.get(&guid.prefix).map_or(0, |remote| remote.endpoints);
        self.is_known(guid)
            || (self.writers.len() + self.readers.len() < limits.endpoints_max
                && of_its_participant < limits.endpoints_per_participant_max)
    }

    /// Adds an endpoint, a remote one or one of ours, with its address where that is not its participant's.
    pub(crate) fn learn(&mut self, data: &EndpointData, address: Option<OwnAddress>) {
        let is_new = !self.is_known(data.guid);
        if let Some(remote) = self.participants.get_mut(&data.guid.prefix).filter(|_| is_new) {
            remote.endpoints += 1;
        }
        let endpoints = if data.guid.entity.is_writer() { &mut self.writers } else { &mut self.readers };
        endpoints.insert(&mut self.names, data, address);
    }

    /// Forgets an endpoint; returns what was known of it.
    pub(crate) fn forget(&mut self, guid: Guid) -> Option<RemoteEndpoint> {
        let endpoints = if guid.entity.is_writer() { &mut self.writers } else { &mut self.readers };
        let endpoint = endpoints.remove(&mut self.names, guid)?;
        if let Some(remote) = self.participants.get_mut(&guid.prefix) {
            remote.endpoints = remote.endpoints.saturating_sub(1);
        }
        Some(endpoint)
    }

    /// Endpoints known of one participant, first those that write.
    pub(crate) fn endpoints_of(&self, prefix: GuidPrefix) -> Vec<Guid> {
        self.writers.of_participant(prefix).chain(self.readers.of_participant(prefix)).collect()
    }
}

/// When a lease granted now ends.
pub(crate) fn expiry(now: Instant, lease: Lease) -> Instant {
    match lease {
        Lease::Finite(duration) => now + duration,
        Lease::Infinite => Instant::MAX,
    }
}
