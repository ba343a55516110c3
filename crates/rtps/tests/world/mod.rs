//! A virtual network of participants on a virtual clock: loss, duplication, delay and reordering from one seed.
//!
//! The core harness of this crate's tests. Nothing here waits: time jumps to the next thing that happens, and the
//! same seed always gives the same run.
#![allow(dead_code, reason = "each test binary uses a part of the harness")]
#![allow(
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "test harness: a failure here is a failed test"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use rtps::qos::{Durability, History, Qos, Reliability};
use rtps::{
    EndpointConfig, EntityId, Event, GuidPrefix, Limits, Locator, Participant, ParticipantConfig, RawSample,
    Timing, WriteSample,
};
use units::Instant;

/// A small seeded generator (SplitMix64): every run is repeatable from its seed.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the network does to datagrams.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Per cent of copies lost.
    pub(crate) loss: u64,
    /// Per cent delivered twice.
    pub(crate) duplication: u64,
    /// Per cent delayed by up to 5 ms, so that later ones overtake.
    pub(crate) reordering: u64,
}

struct Host {
    participant: Participant,
    address: Locator,
    events: Vec<Event>,
    is_alive: bool,
}

/// The virtual network.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    /// Nanoseconds by which datagrams that are sent together may overtake each other.
    pub(crate) jitter: u64,
    hosts: Vec<Host>,
    /// Deliveries by time and a tie-breaking number.
    flight: BTreeMap<(Instant, u64), (usize, Locator, Vec<u8>)>,
    sent: u64,
    /// Called with every datagram sent: (sender, bytes).
    pub(crate) tap: Vec<(usize, Vec<u8>)>,
    pub(crate) is_tapped: bool,
    /// Drops matching datagrams: (sender, bytes) -> drop.
    pub(crate) filter: Option<Box<dyn FnMut(usize, &[u8]) -> bool>>,
}

const GROUP: Locator = Locator::udp_v4([239, 255, 0, 1], 7400);

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: Instant::from_nanos(1_000_000_000),
            random: Random(seed),
            faults: Faults::default(),
            jitter: 5_000,
            hosts: Vec::new(),
            flight: BTreeMap::new(),
            sent: 0,
            tap: Vec::new(),
            is_tapped: false,
            filter: None,
        }
    }

    pub(crate) fn config(&mut self, host: u8) -> ParticipantConfig {
        let mut random = [0; 10];
        for byte in &mut random {
            *byte = u8::try_from(self.random.below(256)).unwrap();
        }
        ParticipantConfig {
            prefix: GuidPrefix::from_random(random),
            domain: 0,
            name: format!("host {host}"),
            metatraffic_unicast: vec![Locator::udp_v4([10, 0, 0, host], 7410)],
            default_unicast: vec![Locator::udp_v4([10, 0, 0, host], 7411)],
            announce_to: vec![GROUP],
            reach: rtps::Reach { local_addresses: vec![[10, 0, 0, host].into()], ..rtps::Reach::default() },
            machine_address: None,
            allowed_networks: Vec::new(),
            is_relay: false,
            partition_rule: rtps::partition::PartitionRule::FastDds,
            fragment_size: rtps::FRAGMENT_SIZE_MAX,
            limits: Limits::default(),
            timing: Timing::default(),
        }
    }

    /// Adds a participant with the standard configuration; hosts are numbered from 0.
    pub(crate) fn add(&mut self) -> usize {
        let host = u8::try_from(self.hosts.len() + 1).unwrap();
        let config = self.config(host);
        self.add_configured(config)
    }

    pub(crate) fn add_configured(&mut self, config: ParticipantConfig) -> usize {
        let address = config.metatraffic_unicast[0];
        let participant = Participant::new(config, self.now);
        self.hosts.push(Host { participant, address, events: Vec::new(), is_alive: true });
        self.hosts.len() - 1
    }

    /// Stops a participant without a word, as `kill -9` does.
    pub(crate) fn kill(&mut self, host: usize) {
        self.hosts[host].is_alive = false;
    }

    pub(crate) fn participant(&mut self, host: usize) -> &mut Participant {
        &mut self.hosts[host].participant
    }

    pub(crate) fn events(&mut self, host: usize) -> Vec<Event> {
        self.drain(host);
        std::mem::take(&mut self.hosts[host].events)
    }

    fn drain(&mut self, host: usize) {
        while let Some(datagram) = self.hosts[host].participant.poll_transmit() {
            for to in datagram.to.clone() {
                self.send(host, to, &datagram.bytes);
            }
            self.hosts[host].participant.recycle_datagram(datagram);
        }
        while let Some(event) = self.hosts[host].participant.poll_event() {
            self.hosts[host].events.push(event);
        }
    }

    fn send(&mut self, from: usize, to: Locator, bytes: &[u8]) {
        if !self.hosts[from].is_alive || self.filter.as_mut().is_some_and(|filter| filter(from, bytes)) {
            return;
        }
        if self.is_tapped {
            self.tap.push((from, bytes.to_vec()));
        }
        let source = self.hosts[from].address;
        for host in 0..self.hosts.len() {
            let is_target =
                if to.is_multicast() { host != from } else { to.ip() == self.hosts[host].address.ip() };
            if !is_target || self.random.chance(self.faults.loss) {
                continue;
            }
            let copies = 1 + usize::from(self.random.chance(self.faults.duplication));
            for _ in 0..copies {
                let mut delay = 50_000 + self.random.below(self.jitter);
                if self.random.chance(self.faults.reordering) {
                    delay += self.random.below(5_000_000);
                }
                self.sent += 1;
                let at = self.now + Duration::from_nanos(delay);
                self.flight.insert((at, self.sent), (host, source, bytes.to_vec()));
            }
        }
    }

    /// Delivers a datagram from outside at once.
    pub(crate) fn inject(&mut self, host: usize, bytes: &[u8]) {
        let now = self.now;
        self.hosts[host].participant.handle_datagram(now, Locator::udp_v4([127, 0, 0, 1], 40_000), bytes);
        self.drain(host);
    }

    /// Runs until `end`, or until `done` says so.
    pub(crate) fn run_until(&mut self, end: Instant, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            for host in 0..self.hosts.len() {
                self.drain(host);
            }
            if done(self) {
                return true;
            }
            let flight = self.flight.keys().next().map(|(at, _)| *at);
            let alive = self.hosts.iter().filter(|host| host.is_alive);
            let timeout = alive.map(|host| host.participant.poll_timeout()).min();
            let next = flight.into_iter().chain(timeout).min().unwrap_or(end);
            if next > end {
                self.now = end;
                return false;
            }
            self.now = self.now.max(next);
            while let Some(entry) = self.flight.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (host, from, bytes) = entry.remove();
                if self.hosts[host].is_alive {
                    self.hosts[host].participant.handle_datagram(self.now, from, &bytes);
                    self.drain(host);
                }
            }
            for host in 0..self.hosts.len() {
                if self.hosts[host].is_alive {
                    let now = self.now;
                    self.hosts[host].participant.handle_timeout(now);
                }
            }
        }
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.run_until(end, |_| false);
    }

    pub(crate) fn writer(&mut self, host: usize, topic: &str, qos: &Qos) -> EntityId {
        let now = self.now;
        self.hosts[host].participant.create_writer(now, endpoint(topic, qos)).unwrap()
    }

    pub(crate) fn reader(&mut self, host: usize, topic: &str, qos: &Qos) -> EntityId {
        let now = self.now;
        self.hosts[host].participant.create_reader(now, endpoint(topic, qos), None).unwrap()
    }

    pub(crate) fn write(&mut self, host: usize, writer: EntityId, payload: &[u8]) {
        let now = self.now;
        self.hosts[host]
            .participant
            .write(now, writer, WriteSample { payload, ..WriteSample::default() })
            .unwrap();
        self.drain(host);
    }

    pub(crate) fn take(&mut self, host: usize, reader: EntityId) -> Option<RawSample> {
        let now = self.now;
        let sample = self.hosts[host].participant.take(now, reader);
        self.drain(host);
        sample
    }

    pub(crate) fn take_all(&mut self, host: usize, reader: EntityId) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.take(host, reader)).map(|sample| sample.payload).collect()
    }
}

pub(crate) fn endpoint(topic: &str, qos: &Qos) -> EndpointConfig {
    EndpointConfig {
        topic: topic.into(),
        type_name: "Number".into(),
        qos: qos.clone(),
        ..EndpointConfig::default()
    }
}

pub(crate) fn best_effort() -> Qos {
    Qos { history: History::KeepLast(1000), ..Qos::default() }
}

pub(crate) fn reliable() -> Qos {
    Qos { reliability: Reliability::Reliable, history: History::KeepAll, ..Qos::default() }
}

pub(crate) fn durable() -> Qos {
    Qos { durability: Durability::TransientLocal, ..reliable() }
}

/// A payload that carries a number.
pub(crate) fn number(value: u64) -> Vec<u8> {
    let mut payload = vec![0, 1, 0, 0];
    payload.extend_from_slice(&value.to_le_bytes());
    payload
}

/// The numbers in payloads made by [`number`].
pub(crate) fn numbers(payloads: &[Vec<u8>]) -> Vec<u64> {
    payloads.iter().map(|payload| u64::from_le_bytes(payload[4..12].try_into().unwrap())).collect()
}
