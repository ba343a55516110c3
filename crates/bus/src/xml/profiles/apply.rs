//! Makes participants, publishers and subscribers as profiles describe them.

use std::time::Duration;

use rtps::{FRAGMENT_SIZE_MAX, Lease, Timing};

use super::{EndpointProfile, ParticipantProfile};
use crate::config::Target;
use crate::xml::locator::{Host, LocatorFamily};
use crate::{EndpointBuilder, ParticipantBuilder};

/// What RTPS and the submessages around a fragment may take of a datagram.
const DATAGRAM_OVERHEAD: u32 = 200;
/// The lease that travels as an infinite one.
const LEASE_INFINITE: Duration = Duration::from_secs(i32::MAX as u64);

impl ParticipantProfile {
    /// The protocol's periods with this profile's in their place.
    pub fn timing(&self) -> Timing {
        let default = Timing::default();
        let lease = match self.lease {
            None => default.lease,
            Some(Lease::Finite(lease)) => lease,
            Some(Lease::Infinite) => LEASE_INFINITE,
        };
        Timing {
            lease,
            // A short lease needs announcements that come often enough.
            announce_period: self.announce_period.unwrap_or_else(|| default.announce_period.min(lease / 3)),
            burst_count: self.burst_count.unwrap_or(default.burst_count),
            burst_period: self.burst_period.unwrap_or(default.burst_period),
            ..default
        }
    }

    /// The size of fragments that keeps datagrams within [`ParticipantProfile::message_bytes_max`].
    pub fn fragment_size(&self) -> u16 {
        let bytes = self.message_bytes_max.map(|bytes| bytes.saturating_sub(DATAGRAM_OVERHEAD));
        bytes.and_then(|bytes| u16::try_from(bytes).ok()).unwrap_or(FRAGMENT_SIZE_MAX).min(FRAGMENT_SIZE_MAX)
    }
}

impl ParticipantBuilder {
    /// As the profile says: domain, name, periods, peers, transports and fragments. What was set before and the
    /// profile has is replaced; peers are added.
    pub fn profile(self, profile: &ParticipantProfile) -> Self {
        let mut builder = self
            .domain(profile.domain)
            .timing(profile.timing())
            .fragment_size(profile.fragment_size())
            .transports(profile.transports.clone());
        if let Some(name) = &profile.name {
            builder = builder.name(name);
        }
        let is_udp = |family| matches!(family, LocatorFamily::UdpV4 | LocatorFamily::UdpV6);
        for peer in profile.peers.iter().filter(|peer| is_udp(peer.family)) {
            if let Some(Host::Address(address)) = peer.host {
                builder = builder.peer(address, peer.port.filter(|port| *port != 0));
            }
        }
        builder
    }
}

impl<E: Target> EndpointBuilder<'_, E> {
    /// With the quality of service of the profile, partitions included.
    pub fn profile(self, profile: &EndpointProfile) -> Self {
        self.qos(profile.qos.clone())
    }
}
