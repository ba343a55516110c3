//! The table of remote participants and their endpoints.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;
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
    /// Whether our built-in endpoints know it.
    pub(crate) is_matched: bool,
    pub(crate) discovered_at: Instant,
    /// When it announced itself last.
    announced_at: Instant,
    /// Whether the announcement before was long ago.
    is_calm: bool,
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
            is_matched: false,
            discovered_at: now,
            announced_at: now,
            is_calm: false,
            metatraffic,
            default,
            endpoints: 0,
        }
    }

    /// Notes that it announces itself; true when it does so as newcomers do, in a burst, although it has been known for
    /// long. Copies of one announcement that came different ways are no burst.
    pub(crate) fn note_announcement(&mut self, now: Instant) -> bool {
        let gap = now.saturating_since(self.announced_at);
        self.announced_at = now;
        let is_burst = self.is_calm && gap > COPY_MAX && gap < BURST_MAX;
        if gap > COPY_MAX {
            self.is_calm = gap >= BURST_MAX;
        }
        is_burst
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
    /// How many of them our built-in endpoints know.
    unconfirmed_matched: usize,
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
            unconfirmed_matched: 0,
            next_expiry: Instant::MAX,
        }
    }
}

/// Participants that have not answered and are known to our built-in endpoints. With others more is only exchanged when
/// they have answered.
const MATCHED_EARLY_MAX: usize = 48;

/// Copies of one datagram come within this time.
const COPY_MAX: Duration = Duration::from_millis(20);
/// Announcements at start-up come within this time of each other.
const BURST_MAX: Duration = Duration::from_secs(1);

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
        if self.unconfirmed.remove(&(remote.discovered_at, prefix)) {
            self.unconfirmed_matched -= usize::from(remote.is_matched);
        }
        Some(remote)
    }

    /// Whether a newcomer that has not answered may have our built-in endpoints know it, which costs more memory than
    /// the rest; notes that they do.
    pub(crate) fn match_early(&mut self, prefix: GuidPrefix) -> bool {
        let Some(remote) = self.participants.get_mut(&prefix) else { return false };
        remote.is_matched = self.unconfirmed_matched < MATCHED_EARLY_MAX;
        self.unconfirmed_matched += usize::from(remote.is_matched);
        remote.is_matched
    }

    /// Notes that a participant is alive.
    pub(crate) fn touch(&mut self, prefix: GuidPrefix, now: Instant) {
        let Some(remote) = self.participants.get_mut(&prefix) else { return };
        remote.expires_at = expiry(now, remote.data.lease);
        self.next_expiry = self.next_expiry.min(remote.expires_at);
    }

    /// Notes that a participant did more than announce itself: it hears us. True when our built-in endpoints do not know
    /// it yet, and have to.
    pub(crate) fn confirm(&mut self, prefix: GuidPrefix, guard: &mut Guard) -> bool {
        let Some(remote) = self.participants.get_mut(&prefix).filter(|remote| !remote.is_confirmed) else {
            return false;
        };
        remote.is_confirmed = true;
        self.unconfirmed.remove(&(remote.discovered_at, prefix));
        self.unconfirmed_matched -= usize::from(remote.is_matched);
        guard.trust(&remote.addresses());
        guard.clear(&remote.addresses());
        !core::mem::replace(&mut remote.is_matched, true)
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
        self.unconfirmed_matched += usize::from(remote.is_confirmed);
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
