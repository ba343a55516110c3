//! Joining a domain, and what a participant knows about the others.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rtps::partition::PartitionRule;
use rtps::types::StructType;
use rtps::{
    EntityId, FRAGMENT_SIZE_MAX, Guid, GuidPrefix, Limits, Locator, Network, ParticipantConfig, Timing,
};

use crate::config::EndpointBuilder;
use crate::core::Core;
use crate::engine::{Engine, Member, MemberPlace, well_known_peers};
use crate::event::ParticipantEvent;
use crate::info::{BusStatistics, EndpointInfo, ParticipantInfo, TcpInfo};
use crate::subscriber::Needs;
use crate::untyped::Name;
use crate::{DdsType, JoinError, Publisher, Subscriber, Transports, UntypedPublisher, UntypedSubscriber};

/// Settings of a participant; see [`Participant::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens until build()"]
pub struct ParticipantBuilder {
    domain: u32,
    name: String,
    peers: Vec<(IpAddr, Option<u16>)>,
    partition_rule: PartitionRule,
    fragment_size: u16,
    limits: Limits,
    timing: Timing,
    allowed_networks: Vec<Network>,
    transports: Transports,
}

impl Default for ParticipantBuilder {
    fn default() -> Self {
        Self {
            domain: 0,
            name: "stillwatt".into(),
            peers: Vec::new(),
            partition_rule: PartitionRule::FastDds,
            fragment_size: FRAGMENT_SIZE_MAX,
            limits: Limits::default(),
            timing: Timing::default(),
            allowed_networks: Vec::new(),
            transports: Transports::default(),
        }
    }
}

/// Discovery ports tried on a peer host for which no port was given.
const PEER_INDEX_MAX: u32 = 9;

impl ParticipantBuilder {
    /// The DDS domain, 0 to 232, of which the last has ports for 63 processes a machine instead of 120. Default 0.
    pub fn domain(mut self, domain: u32) -> Self {
        self.domain = domain;
        self
    }

    /// A name for people, shown by every discovery tool.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// A host to announce to by unicast, for networks without multicast. Without a port, the discovery ports of the
    /// first ten processes there are tried. May be called repeatedly. For UDP; hosts to reach by TCP are named in
    /// [`crate::TcpTransport`].
    pub fn peer(mut self, host: impl Into<IpAddr>, port: Option<u16>) -> Self {
        self.peers.push((host.into(), port));
        self
    }

    /// How partition names match: as in Fast DDS (the default), or by the OMG's rule.
    pub fn partition_rule(mut self, rule: PartitionRule) -> Self {
        self.partition_rule = rule;
        self
    }

    /// Samples above this many bytes travel in fragments of this size; at most 65,000, the default. Networks that lose
    /// IP fragments do better with 1,344.
    pub fn fragment_size(mut self, bytes: u16) -> Self {
        self.fragment_size = bytes.clamp(64, FRAGMENT_SIZE_MAX);
        self
    }

    /// The protocol's bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The protocol's periods.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Heeds only datagrams from these networks, everything else being counted in
    /// [`rtps::Statistics::network_refused`]; without any, the default, all are heeded. TCP peers are told apart by their
    /// certificates, and other processes of this machine by their user, not by this.
    pub fn allow_networks(mut self, networks: impl IntoIterator<Item = Network>) -> Self {
        self.allowed_networks = networks.into_iter().collect();
        self
    }

    /// Which transports it uses.
    pub fn transports(mut self, transports: Transports) -> Self {
        self.transports = transports;
        self
    }

    /// How long peers believe in this participant after it fell silent. Announcements come every third of it, but never
    /// faster than [`Timing::PERIOD_MIN`].
    pub fn lease(mut self, lease: Duration) -> Self {
        self.timing.announce_period = lease / 3;
        self.timing.lease = lease;
        self
    }

    /// Joins the domain. The first participant of a process starts the bus engine, the last one ends it.
    ///
    /// # Errors
    /// When the domain has no ports, no port is free, or the system refuses a socket or thread.
    pub fn build(self) -> Result<Participant, JoinError> {
        let domain = self.domain;
        let mut random = [0; 10];
        getrandom::fill(&mut random)
            .map_err(|error| JoinError::Random { domain, reason: error.to_string() })?;
        let (engine, mut place) = Engine::enter(domain, &self.transports)?;
        for (host, port) in &self.peers {
            match port {
                _ if !self.transports.has_udp(host) => {}
                Some(port) => place.announce_to.push(Locator::udp(SocketAddr::new(*host, *port))),
                None => place.announce_to.extend(well_known_peers(domain, *host, PEER_INDEX_MAX)),
            }
        }
        if self.transports.udp_v4 && !place.has_multicast {
            tracing::info!(
                domain,
                "no multicast here: looking for peers by unicast on this machine's well-known ports"
            );
        }
        let prefix = GuidPrefix::from_random(random);
        let config = ParticipantConfig {
            prefix,
            domain,
            name: self.name,
            metatraffic_unicast: place.metatraffic,
            default_unicast: place.user,
            announce_to: place.announce_to,
            reach: place.reach,
            machine_address: place.shared_memory.as_ref().map(|shared| shared.address),
            allowed_networks: self.allowed_networks,
            is_relay: false,
            partition_rule: self.partition_rule,
            fragment_size: self.fragment_size,
            limits: self.limits,
            timing: self.timing,
        };
        let use_of = MemberPlace {
            listens_to_groups: config.reach.multicast_min.is_some(),
            interfaces: place.interfaces,
            interfaces_v6: place.interfaces_v6,
            kinds: config.reach.kinds.clone(),
            tcp: place.tcp,
            shared_memory: place.shared_memory,
        };
        let machine = rtps::Participant::new(config, node::clock::monotonic());
        let member = Arc::new(Member::new(prefix, domain, use_of, machine));
        engine.add_member(Arc::clone(&member));
        member.handle_timeout(&engine);
        Ok(Participant { core: Arc::new(Core { engine, member }) })
    }
}

/// A member of a DDS domain: makes publishers and subscribers, and knows who else is there.
///
/// Cheap to clone; the participant leaves its domain when the last clone, publisher and subscriber is gone.
#[derive(Clone, Debug)]
pub struct Participant {
    pub(crate) core: Arc<Core>,
}

impl Participant {
    /// Starts describing a participant.
    pub fn builder() -> ParticipantBuilder {
        ParticipantBuilder::default()
    }

    /// The participant's identity.
    pub fn guid(&self) -> Guid {
        Guid::new(self.core.member.prefix, EntityId::PARTICIPANT)
    }

    /// The domain.
    pub fn domain(&self) -> u32 {
        self.core.member.domain
    }

    /// Starts describing a publisher of type `T`.
    pub fn publisher<T: DdsType>(&self, topic: &str) -> EndpointBuilder<'_, Publisher<T>> {
        EndpointBuilder::new(self, topic, ())
    }

    /// Starts describing a subscriber of type `T`, polled by [`Subscriber::take`] or called back after
    /// [`EndpointBuilder::on_sample`].
    pub fn subscriber<T: DdsType + 'static>(&self, topic: &str) -> EndpointBuilder<'_, Subscriber<T>> {
        EndpointBuilder::new(self, topic, Needs::default())
    }

    /// Starts describing a publisher of a type known only at run time.
    pub fn dynamic_publisher(
        &self,
        topic: &str,
        structure: Arc<StructType>,
    ) -> EndpointBuilder<'_, UntypedPublisher> {
        EndpointBuilder::new(self, topic, structure)
    }

    /// Starts describing a subscriber of a type known only at run time.
    pub fn dynamic_subscriber(
        &self,
        topic: &str,
        structure: Arc<StructType>,
    ) -> EndpointBuilder<'_, UntypedSubscriber> {
        EndpointBuilder::new(self, topic, Name::Structure(structure))
    }

    /// Starts describing a subscriber that gets the bytes of a type of which only the name is known.
    pub fn raw_subscriber(
        &self,
        topic: &str,
        type_name: &str,
        is_keyed: bool,
    ) -> EndpointBuilder<'_, UntypedSubscriber> {
        EndpointBuilder::new(self, topic, Name::Bytes { type_name: type_name.to_string(), is_keyed })
    }

    /// Says that this application is alive, for its publishers whose liveliness is manual by participant.
    pub fn assert_liveliness(&self) {
        self.core.with(|state| state.machine.assert_liveliness(node::clock::monotonic()));
    }

    /// The other participants of the domain, those of this process included.
    pub fn participants(&self) -> Vec<ParticipantInfo> {
        let state = self.core.member.lock();
        let remote = state.machine.remote_participants();
        remote
            .map(|remote| ParticipantInfo {
                prefix: remote.data.guid.prefix,
                name: remote.data.name.clone(),
                vendor: remote.data.vendor,
                locators: remote.data.default_unicast.clone(),
            })
            .collect()
    }

    /// The writers and readers of the other participants, matched with ours or not.
    pub fn endpoints(&self) -> Vec<EndpointInfo> {
        let state = self.core.member.lock();
        let info = |(guid, endpoint): (Guid, &rtps::RemoteEndpoint)| EndpointInfo {
            guid,
            is_writer: guid.entity.is_writer(),
            topic: endpoint.topic().to_string(),
            type_name: endpoint.type_name().to_string(),
            qos: endpoint.qos().clone(),
        };
        state.machine.remote_writers().chain(state.machine.remote_readers()).map(info).collect()
    }

    /// What happened since the last call, oldest first; at most the newest 1,024, the others being counted in
    /// [`BusStatistics::events_dropped`].
    pub fn take_events(&self) -> Vec<ParticipantEvent> {
        self.core.member.lock().events.drain(..).collect()
    }

    /// This participant's counters, with those that all participants of the process share.
    pub fn statistics(&self) -> BusStatistics {
        let counters = &self.core.engine.counters;
        let tcp = self.core.engine.tcp();
        let state = self.core.member.lock();
        BusStatistics {
            protocol: state.machine.statistics(),
            events_dropped: state.events_dropped,
            send_failures: counters.send_failures.load(Ordering::Relaxed),
            local_overflows: counters.local_overflows.load(Ordering::Relaxed),
            tcp_overflows: tcp.map_or(0, |tcp| tcp.overflows()),
            tcp_refusals: tcp.map_or(0, |tcp| tcp.refusals()),
            shared_memory_overruns: counters.shared_memory_overruns.load(Ordering::Relaxed),
        }
    }

    /// How it stands with the TCP connections of this process; nothing when none of its participants uses TCP.
    pub fn tcp(&self) -> TcpInfo {
        self.core.engine.tcp().map(|tcp| tcp.info()).unwrap_or_default()
    }

    /// The UDP port at which this process receives user data.
    pub fn user_port(&self) -> u16 {
        self.core.engine.user_port()
    }

    /// Why this process has no shared memory; `None` when it has, or when no participant wanted it.
    pub fn shared_memory_fault(&self) -> Option<&str> {
        self.core.engine.shared_memory.fault()
    }
}
