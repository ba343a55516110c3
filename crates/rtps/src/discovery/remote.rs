//! The table of remote participants and their endpoints.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::Instant;

use super::data::{EndpointData, ParticipantData};
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
}

/// Remote participants and endpoints, bounded.
#[derive(Debug, Default)]
pub(crate) struct RemoteTable {
    pub(crate) participants: BTreeMap<GuidPrefix, RemoteParticipant>,
    pub(crate) writers: BTreeMap<Guid, EndpointData>,
    pub(crate) readers: BTreeMap<Guid, EndpointData>,
    unconfirmed: usize,
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
        if self.unconfirmed >= limits.unconfirmed_max || is_full {
            let unconfirmed = self.participants.iter().filter(|(_, remote)| !remote.is_confirmed);
            return match unconfirmed.min_by_key(|(_, remote)| remote.discovered_at) {
                Some((prefix, _)) => Admission::Evict(*prefix),
                None => Admission::Refused,
            };
        }
        Admission::Welcome
    }

    pub(crate) fn insert(&mut self, prefix: GuidPrefix, remote: RemoteParticipant) {
        self.unconfirmed += usize::from(!remote.is_confirmed);
        self.participants.insert(prefix, remote);
    }

    pub(crate) fn remove(&mut self, prefix: GuidPrefix) -> Option<RemoteParticipant> {
        let remote = self.participants.remove(&prefix)?;
        self.unconfirmed -= usize::from(!remote.is_confirmed);
        Some(remote)
    }

    /// Notes that a participant is alive; `confirms` when it did more than announce itself.
    pub(crate) fn touch(&mut self, prefix: GuidPrefix, now: Instant, confirms: bool) {
        let Some(remote) = self.participants.get_mut(&prefix) else { return };
        remote.expires_at = expiry(now, remote.data.lease);
        if confirms && !remote.is_confirmed {
            remote.is_confirmed = true;
            self.unconfirmed -= 1;
        }
    }

    /// Whether this endpoint is known already or may be added.
    pub(crate) fn has_room_for(&self, guid: Guid, limits: &Limits) -> bool {
        if self.writers.contains_key(&guid) || self.readers.contains_key(&guid) {
            return true;
        }
        if self.writers.len() + self.readers.len() >= limits.endpoints_max {
            return false;
        }
        let known = of(&self.writers, guid.prefix).count() + of(&self.readers, guid.prefix).count();
        known < limits.endpoints_per_participant_max
    }

    /// Endpoints known of one participant.
    pub(crate) fn endpoints_of(&self, prefix: GuidPrefix) -> (Vec<Guid>, Vec<Guid>) {
        (of(&self.writers, prefix).collect(), of(&self.readers, prefix).collect())
    }

    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.participants.values().map(|remote| remote.expires_at).min()
    }
}

fn of(endpoints: &BTreeMap<Guid, EndpointData>, prefix: GuidPrefix) -> impl Iterator<Item = Guid> + '_ {
    let first = Guid::new(prefix, crate::EntityId([0; 4]));
    let last = Guid::new(prefix, crate::EntityId([0xff; 4]));
    endpoints.range(first..=last).map(|(guid, _)| *guid)
}

/// When a lease granted now ends.
pub(crate) fn expiry(now: Instant, lease: Lease) -> Instant {
    match lease {
        Lease::Finite(duration) => now + duration,
        Lease::Infinite => Instant::MAX,
    }
}
