//! Hosts on a virtual network, one participant each.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rtps::partition::PartitionRule;
use rtps::{
    Event, FRAGMENT_SIZE_MAX, GuidPrefix, Limits, Locator, Participant, ParticipantConfig, Reach, Timing,
};
use units::Instant;

use crate::queue::{Entry, Happening, Packet, Queue};
use crate::{Drift, NetworkConfig, NetworkCounts, Random};

/// A host of one [`World`], numbered from 0 in the order of their making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(u32);

impl HostId {
    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What has become of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// Running.
    Up,
    /// Said goodbye and ended.
    Left,
    /// Ended without a word.
    Crashed,
}

/// The group that every host listens to and announces itself at, unless configured otherwise.
pub const DISCOVERY_GROUP: Locator = Locator::udp_v4([239, 255, 0, 1], 7400);
/// Hosts in one world: as many as there are addresses in 10.0.0.0/8.
pub const HOSTS_MAX: usize = (1 << 24) - 2;
const METATRAFFIC_PORT: u16 = 7410;
const USER_PORT: u16 = 7411;

/// Why there is no further host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the virtual network has addresses for {HOSTS_MAX} hosts only: add fewer")]
pub struct WorldError;

#[derive(Debug)]
struct Host {
    participant: Participant,
    /// What it is made from again at a restart.
    config: ParticipantConfig,
    address: Locator,
    drift: Drift,
    state: HostState,
    state_since: Instant,
    /// Hosts of different parts do not hear each other.
    part: u32,
    /// The deadline that counts among those in the queue.
    wake_at: Instant,
    /// Pairs of an endpoint of its and another that it believes in.
    matches: u64,
}

/// A virtual network: see the crate's text.
///
/// After every input a host's outputs are taken at once, as an engine does. Events are counted and forgotten.
#[derive(Debug)]
pub struct World {
    now: Instant,
    random: Random,
    network: NetworkConfig,
    hosts: Vec<Host>,
    groups: BTreeMap<Locator, Vec<u32>>,
    queue: Queue,
    counts: NetworkCounts,
    matches: u64,
}

impl World {
    /// An empty network.
    pub fn new(seed: u64, network: NetworkConfig) -> Self {
        Self {
            now: Instant::ZERO,
            random: Random::new(seed),
            network,
            hosts: Vec::new(),
            groups: BTreeMap::new(),
            queue: Queue::default(),
            counts: NetworkCounts::default(),
            matches: 0,
        }
    }

    /// Adds a host whose participant announces itself at [`DISCOVERY_GROUP`] and has the protocol's defaults.
    ///
    /// # Errors
    /// When there are [`HOSTS_MAX`] already.
    pub fn add_host(&mut self) -> Result<HostId, WorldError> {
        self.add_host_with(|_| {})
    }

    /// Adds a host after `change` was made to what its participant is told. Addresses and prefix are the world's to
    /// choose and should stay.
    ///
    /// # Errors
    /// When there are [`HOSTS_MAX`] already.
    pub fn add_host_with(
        &mut self,
        change: impl FnOnce(&mut ParticipantConfig),
    ) -> Result<HostId, WorldError> {
        if self.hosts.len() >= HOSTS_MAX {
            return Err(WorldError);
        }
        let index = u32::try_from(self.hosts.len()).map_err(|_| WorldError)?;
        let ip = address_of(index);
        let prefix = self.draw_prefix();
        let mut config = ParticipantConfig {
            prefix,
            domain: 0,
            name: format!("host {index}"),
            metatraffic_unicast: vec![Locator::udp_v4(ip, METATRAFFIC_PORT)],
            default_unicast: vec![Locator::udp_v4(ip, USER_PORT)],
            announce_to: vec![DISCOVERY_GROUP],
            reach: Reach { local_addresses: vec![ip.into()], ..Reach::default() },
            machine_address: None,
            allowed_networks: Vec::new(),
            is_relay: false,
            partition_rule: PartitionRule::FastDds,
            fragment_size: FRAGMENT_SIZE_MAX,
            limits: Limits::default(),
            timing: Timing::default(),
        };
        change(&mut config);
        let drift = self.draw_drift();
        let host = Host {
            participant: Participant::new(config.clone(), drift.local(self.now)),
            config,
            address: Locator::udp_v4(ip, METATRAFFIC_PORT),
            drift,
            state: HostState::Up,
            state_since: self.now,
            part: 0,
            wake_at: Instant::MAX,
            matches: 0,
        };
        self.hosts.push(host);
        let host = HostId(index);
        self.join_group(host, DISCOVERY_GROUP);
        self.drain(index);
        Ok(host)
    }

    fn draw_prefix(&mut self) -> GuidPrefix {
        let mut random = [0; 10];
        let (high, low) = (self.random.next_bits().to_le_bytes(), self.random.next_bits().to_le_bytes());
        for (byte, drawn) in random.iter_mut().zip(high.into_iter().chain(low)) {
            *byte = drawn;
        }
        GuidPrefix::from_random(random)
    }

    fn draw_drift(&mut self) -> Drift {
        let max = self.network.drift_parts_max.min(100_000);
        let drawn = self.random.below(2 * u64::from(max) + 1);
        let parts = i32::try_from(drawn).unwrap_or(0) - i32::try_from(max).unwrap_or(0);
        // Machines booted within the last day.
        let origin = self.random.duration(Duration::from_secs(86_400));
        Drift::new(Instant::ZERO + origin, parts)
    }

    // What can be seen.

    /// Where host `index`, counted from 0, hears discovery, whether it exists yet or not.
    pub fn discovery_address(index: u32) -> Locator {
        Locator::udp_v4(address_of(index), METATRAFFIC_PORT)
    }

    /// The world's time, which begins at zero.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Every host ever added.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)).map(HostId)
    }

    /// A host's participant; of a host that is down, as it was at its end.
    pub fn participant(&self, host: HostId) -> &Participant {
        &self.hosts[host.index()].participant
    }

    /// What has become of a host, and since when.
    pub fn state(&self, host: HostId) -> (HostState, Instant) {
        let host = &self.hosts[host.index()];
        (host.state, host.state_since)
    }

    /// Whether a host runs.
    pub fn is_up(&self, host: HostId) -> bool {
        self.hosts[host.index()].state == HostState::Up
    }

    /// Whether two hosts hear each other.
    pub fn is_connected(&self, one: HostId, other: HostId) -> bool {
        self.hosts[one.index()].part == self.hosts[other.index()].part
    }

    /// Pairs of endpoints that one of both believes in, over all hosts that run: a pair that both know counts twice.
    pub fn matches(&self) -> u64 {
        self.matches
    }

    /// The pairs that one host believes in.
    pub fn matches_of(&self, host: HostId) -> u64 {
        self.hosts[host.index()].matches
    }

    /// What the network has counted.
    pub fn counts(&self) -> NetworkCounts {
        self.counts
    }

    /// Copies and deadlines that wait.
    pub fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// The source of chance, for scenarios that want theirs from the same seed.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    // What can be done.

    /// Changes what the network does to datagrams from now on.
    pub fn set_network(&mut self, network: NetworkConfig) {
        self.network = network;
    }

    /// An application's call on a host that runs: `act` gets the participant and what its clock reads.
    pub fn act<T>(&mut self, host: HostId, act: impl FnOnce(&mut Participant, Instant) -> T) -> T {
        let one = &mut self.hosts[host.index()];
        let result = act(&mut one.participant, one.drift.local(self.now));
        self.drain(host.0);
        result
    }

    /// Makes a host hear what is sent to a group.
    pub fn join_group(&mut self, host: HostId, group: Locator) {
        let members = self.groups.entry(group).or_default();
        if let Err(place) = members.binary_search(&host.0) {
            members.insert(place, host.0);
        }
    }

    /// Ends a host in order: it says goodbye.
    pub fn leave(&mut self, host: HostId) {
        if self.is_up(host) {
            self.act(host, |participant, now| participant.close(now));
            self.end(host, HostState::Left);
        }
    }

    /// Ends a host without a word, as `kill -9` or a power cut does.
    pub fn crash(&mut self, host: HostId) {
        if self.is_up(host) {
            self.end(host, HostState::Crashed);
        }
    }

    fn end(&mut self, host: HostId, state: HostState) {
        let one = &mut self.hosts[host.index()];
        (one.state, one.state_since, one.wake_at) = (state, self.now, Instant::MAX);
        self.matches -= std::mem::take(&mut one.matches);
    }

    /// Starts a host again, with an empty participant of the same address and identity (GUID prefix), or with a new
    /// identity, as most implementations do. Ends it first, without a word, when it runs.
    pub fn restart(&mut self, host: HostId, is_same_identity: bool) {
        self.crash(host);
        let prefix = self.draw_prefix();
        let one = &mut self.hosts[host.index()];
        if !is_same_identity {
            one.config.prefix = prefix;
        }
        one.participant = Participant::new(one.config.clone(), one.drift.local(self.now));
        (one.state, one.state_since) = (HostState::Up, self.now);
        self.drain(host.0);
    }

    /// Puts hosts into part `part` of the network; all begin in part 0. Different parts do not hear each other. What is
    /// under way still arrives.
    pub fn split(&mut self, hosts: &[HostId], part: u32) {
        for host in hosts {
            self.hosts[host.index()].part = part;
        }
    }

    /// Makes the network whole again.
    pub fn heal(&mut self) {
        for host in &mut self.hosts {
            host.part = 0;
        }
    }

    /// Lets time pass until `end`.
    pub fn run_until(&mut self, end: Instant) {
        self.run_while(end, |_| true);
    }

    /// Lets time pass for `time`.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Lets time pass until `end`, or only as long as `goes_on` says so, which is asked after every happening and should
    /// cost little. False when it was stopped by that.
    pub fn run_while(&mut self, end: Instant, mut goes_on: impl FnMut(&Self) -> bool) -> bool {
        loop {
            if !goes_on(self) {
                return false;
            }
            let Some(entry) = self.queue.pop_until(end) else {
                self.now = self.now.max(end);
                return true;
            };
            self.happen(entry);
        }
    }

    fn happen(&mut self, entry: Entry) {
        self.now = entry.at;
        let host = &mut self.hosts[entry.host as usize];
        match entry.what {
            Happening::Arrival(packet) if host.state == HostState::Up => {
                self.counts.copies_delivered += 1;
                self.counts.bytes_delivered += packet.bytes.len() as u64;
                host.participant.handle_datagram(host.drift.local(entry.at), packet.from, &packet.bytes);
            }
            Happening::Arrival(_) => {
                self.counts.copies_undeliverable += 1;
                return;
            }
            Happening::Deadline if host.wake_at == entry.at => {
                host.wake_at = Instant::MAX;
                host.participant.handle_timeout(host.drift.local(entry.at));
            }
            Happening::Deadline => return,
        }
        self.drain(entry.host);
    }

    /// Takes everything that a host has to say.
    fn drain(&mut self, index: u32) {
        let host = index as usize;
        while let Some(event) = self.hosts[host].participant.poll_event() {
            let change = match event {
                Event::Matched { .. } => 1,
                Event::Unmatched { .. } => -1,
                _ => 0,
            };
            self.hosts[host].matches = self.hosts[host].matches.saturating_add_signed(change);
            self.matches = self.matches.saturating_add_signed(change);
        }
        while let Some(mut datagram) = self.hosts[host].participant.poll_transmit() {
            let from = self.hosts[host].address;
            let packet = Arc::new(Packet { from, bytes: datagram.bytes.as_slice().into() });
            for to in &std::mem::take(&mut datagram.to) {
                self.send(index, *to, &packet);
            }
            self.hosts[host].participant.recycle_datagram(datagram);
        }
        let one = &mut self.hosts[host];
        if one.state == HostState::Up {
            let wake_at = one.drift.world(one.participant.poll_timeout()).max(self.now);
            // A deadline that has moved away is found out when the earlier one has come.
            if wake_at < one.wake_at {
                one.wake_at = wake_at;
                self.queue.push(wake_at, index, Happening::Deadline);
            }
        }
        self.counts.queue_max = self.counts.queue_max.max(self.queue.len() as u64);
    }

    fn send(&mut self, from: u32, to: Locator, packet: &Arc<Packet>) {
        self.counts.datagrams_sent += 1;
        self.counts.bytes_sent += packet.bytes.len() as u64;
        if to.is_multicast() {
            let Some(members) = self.groups.remove(&to) else { return };
            for member in members.iter().filter(|member| **member != from) {
                self.copy(from, *member, packet);
            }
            self.groups.insert(to, members);
            return;
        }
        let port = to.as_udp().map(|address| address.port());
        match host_at(to).filter(|host| (*host as usize) < self.hosts.len()) {
            Some(host) if matches!(port, Some(METATRAFFIC_PORT | USER_PORT)) => self.copy(from, host, packet),
            _ => self.counts.copies_undeliverable += 1,
        }
    }

    /// Puts one copy on its way, or two or none.
    fn copy(&mut self, from: u32, to: u32, packet: &Arc<Packet>) {
        let target = &self.hosts[to as usize];
        if target.state != HostState::Up {
            self.counts.copies_undeliverable += 1;
            return;
        }
        if target.part != self.hosts[from as usize].part {
            self.counts.copies_split += 1;
            return;
        }
        if self.random.chance(self.network.loss) {
            self.counts.copies_lost += 1;
            return;
        }
        let is_twice = self.random.chance(self.network.duplication);
        self.counts.copies_duplicated += u64::from(is_twice);
        for _ in 0..1 + usize::from(is_twice) {
            let at = self.now + self.network.draw_delay(&mut self.random);
            self.queue.push(at, to, Happening::Arrival(Arc::clone(packet)));
        }
    }
}

/// The address of a host: 10.0.0.1 is the first.
fn address_of(index: u32) -> [u8; 4] {
    let [_, a, b, c] = index.wrapping_add(1).to_be_bytes();
    [10, a, b, c]
}

fn host_at(locator: Locator) -> Option<u32> {
    match locator.ip()? {
        IpAddr::V4(ip) => match ip.octets() {
            [10, a, b, c] => u32::from_be_bytes([0, a, b, c]).checked_sub(1),
            _ => None,
        },
        IpAddr::V6(_) => None,
    }
}
