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

/// Which of the announced addresses to send to.
///
/// Machines announce every address they have, and only some lead there. In order of trust: the address that the
/// announcement came from, an address of this very machine, then any address that is not loopback, then loopback.
pub(crate) fn choose(announced: &[Locator], from: Option<Locator>, local: &[[u8; 4]]) -> Vec<Locator> {
    let usable = || {
        let unicast =
            announced.iter().filter_map(|locator| locator.as_udp_v4().map(|(ip, _)| (ip, *locator)));
        unicast.filter(|(ip, locator)| !locator.is_multicast() && !matches!(ip, [0, ..] | [240..=255, ..]))
    };
    let source = from.and_then(|from| from.as_udp_v4()).map(|(ip, _)| ip);
    let is_loopback = |ip: [u8; 4]| matches!(ip, [127, ..]);
    usable()
        .find(|(ip, _)| Some(*ip) == source)
        .or_else(|| usable().find(|(ip, _)| local.contains(ip) && !is_loopback(*ip)))
        .or_else(|| usable().find(|(ip, _)| !is_loopback(*ip)))
        .or_else(|| usable().next())
        .map(|(_, locator)| locator)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: Locator = Locator::udp_v4([127, 0, 0, 1], 7411);
    const FABRIC: Locator = Locator::udp_v4([10, 0, 0, 5], 7411);
    const OTHER: Locator = Locator::udp_v4([192, 0, 2, 9], 7411);

    /// The address that a datagram came from wins; another host's loopback never does.
    #[test]
    fn the_source_address_wins() {
        let announced = [LOOPBACK, OTHER, FABRIC];
        let from = Locator::udp_v4([10, 0, 0, 5], 40_000);
        assert_eq!(choose(&announced, Some(from), &[]), [FABRIC]);
        assert_eq!(choose(&announced, None, &[[10, 0, 0, 5]]), [FABRIC]);
        assert_eq!(choose(&announced, None, &[]), [OTHER]);
        assert_eq!(choose(&[LOOPBACK], None, &[]), [LOOPBACK]);
        assert!(choose(&[Locator::udp_v4([10, 0, 0, 5], 0)], None, &[]).is_empty());
    }

    /// Nobody makes us send to a group, to everyone or to nobody by announcing that as its own address.
    #[test]
    fn only_unicast_addresses_are_sent_to() {
        for ip in [[239, 255, 0, 1], [255, 255, 255, 255], [240, 0, 0, 1], [0, 0, 0, 0]] {
            assert!(choose(&[Locator::udp_v4(ip, 7411)], None, &[]).is_empty());
            assert_eq!(choose(&[Locator::udp_v4(ip, 7411), FABRIC], None, &[]), [FABRIC]);
        }
    }
}
