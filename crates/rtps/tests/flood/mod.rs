//! A seeded source of hostile datagrams: noise, damaged copies of real traffic, and lies by a matched participant.
#![allow(clippy::unwrap_used, reason = "test harness: a failure here is a failed test")]

use crate::puppet::{Puppet, heartbeat};
use crate::world::{Random, durable, reliable};
use rtps::discovery::data::{EndpointData, EndpointKind};
use rtps::message::{
    AckNack, DataFrag, Gap, Heartbeat, HeartbeatFrag, InlineQos, NackFrag, Payload, StatusInfo,
};
use rtps::{
    EntityId, FragmentNumber, FragmentNumberSet, Guid, GuidPrefix, Locator, SequenceNumber, SequenceNumberSet,
};

/// The writers and the reader that the liar announces; each matches an endpoint of the target.
pub(crate) const LIARS: [EntityId; 2] = [EntityId::user_writer(1, false), EntityId::user_writer(2, false)];
pub(crate) const LIAR_READER: EntityId = EntityId::user_reader(3, false);

/// Where the liar says that it is.
pub(crate) const ADDRESS: Locator = Locator::udp_v4([10, 0, 0, 200], 7410);

/// Makes hostile datagrams.
pub(crate) struct Flood {
    pub(crate) random: Random,
    pub(crate) liar: Puppet,
    /// Real datagrams to damage.
    pub(crate) pool: Vec<Vec<u8>>,
    target: GuidPrefix,
    /// The target's writer that the liar's reader listens to.
    writer: EntityId,
    count: u32,
}

impl Flood {
    pub(crate) fn new(seed: u64, target: GuidPrefix, writer: EntityId, pool: Vec<Vec<u8>>) -> Self {
        let liar = Puppet::new(GuidPrefix([0x66; 12]));
        Self { random: Random(seed), liar, pool, target, writer, count: 0 }
    }

    /// The liar leaves; the next [`Flood::introduction`] is another's.
    pub(crate) fn goodbye(&mut self) -> Vec<u8> {
        let status = StatusInfo { disposed: true, unregistered: true };
        let goodbye = self.liar.message(|message| {
            let (reader, writer) = (EntityId::UNKNOWN, EntityId::SPDP_WRITER);
            let inline = InlineQos { key_hash: None, status };
            message.data(reader, writer, SequenceNumber(2), &inline, Payload::None);
        });
        let prefix = self.octets(12);
        self.liar = Puppet::new(GuidPrefix(prefix.try_into().unwrap()));
        goodbye
    }

    /// The announcements that make the liar a matched peer.
    pub(crate) fn introduction(&mut self) -> Vec<Vec<u8>> {
        let to = self.target;
        vec![
            self.liar.announce(ADDRESS),
            self.liar.publish(to, LIARS[0], "reliable", &reliable()),
            self.liar.publish(to, LIARS[1], "best effort", &crate::world::best_effort()),
            self.liar.publish(to, LIAR_READER, "durable", &durable()),
        ]
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn octets(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.random.next().to_le_bytes()[0]).collect()
    }

    /// A number that is small, anything, or near the end of its range.
    fn extreme(&mut self, max: u64) -> u64 {
        match self.below(4) {
            0 => 1 + self.below(20),
            1 => max - self.below(20),
            2 => 1 + self.below(2000),
            _ => 1 + self.below(max),
        }
    }

    /// Mostly a number near those in use: one far ahead makes all that follow look old.
    fn sequence(&mut self) -> SequenceNumber {
        let is_extreme = self.random.chance(2);
        SequenceNumber(if is_extreme { self.extreme(i64::MAX.cast_unsigned()) } else { 1 + self.below(600) })
    }

    fn short(&mut self) -> u32 {
        u32::try_from(self.extreme(u64::from(u32::MAX))).unwrap()
    }

    fn next_count(&mut self) -> u32 {
        self.count = self.count.wrapping_add(1);
        // Now and then a jump, behind which honest counts look old.
        if self.random.below(2000) == 0 { self.short() } else { self.count }
    }

    fn a_writer(&mut self) -> EntityId {
        let all =
            [LIARS[0], LIARS[1], EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_WRITER];
        all[usize::try_from(self.below(4)).unwrap()]
    }

    fn sequences(&mut self, base: SequenceNumber) -> SequenceNumberSet {
        let mut set = SequenceNumberSet::empty(base);
        let span = self.below(257);
        (0..span).for_each(|offset| {
            set.insert(SequenceNumber(base.0.saturating_add(offset)));
        });
        set
    }

    /// The next hostile datagram.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        match self.below(12) {
            0 => {
                let length = self.below(1500);
                self.octets(length)
            }
            1..=3 => self.damaged(),
            4 => self.lying_fragment(),
            5 => self.lying_heartbeat(),
            6 => self.lying_gap(),
            7 => self.storm_of_acknacks(),
            8 => self.storm_of_nackfrags(),
            9 => self.changing_announcement(),
            10 => self.damaged_endpoint(),
            _ => self.early_sample(),
        }
    }

    fn damage(&mut self, bytes: &mut Vec<u8>, from: u64) {
        for _ in 0..=self.below(8) {
            let length = bytes.len() as u64;
            if length <= from {
                return;
            }
            let place = usize::try_from(from + self.below(length - from)).unwrap();
            match self.below(4) {
                0 => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][usize::try_from(self.below(5)).unwrap()],
                1 => bytes.truncate(place),
                2 => bytes.insert(place, 0),
                _ => bytes[place] ^= 1 << self.below(8),
            }
        }
    }

    fn damaged(&mut self) -> Vec<u8> {
        let index = usize::try_from(self.below(self.pool.len() as u64)).unwrap();
        let mut bytes = self.pool[index].clone();
        if self.random.chance(50) && bytes.len() > 20 {
            // As if the liar had said it.
            bytes[8..20].copy_from_slice(&self.liar.prefix.0);
        }
        self.damage(&mut bytes, 20);
        bytes
    }

    fn lying_fragment(&mut self) -> Vec<u8> {
        let length = 1 + self.below(1400);
        let bytes = self.octets(length);
        let (writer, sequence) = (self.a_writer(), self.sequence());
        // Half of them fit together, some in fragments of a single octet; the others claim anything.
        let is_wild = self.random.chance(50);
        let fragment_size = if is_wild {
            self.extreme(65_535)
        } else {
            [1, 2, 100, 1000][usize::try_from(self.below(4)).unwrap()]
        };
        let sample_size = if is_wild { self.short() } else { 90_000 };
        let count = bytes.len().div_ceil(usize::try_from(fragment_size).unwrap());
        let fragments = u64::from(sample_size).div_ceil(fragment_size);
        let first_fragment = 1 + self.below(fragments.saturating_sub(count as u64));
        let fragment = DataFrag {
            reader: EntityId::UNKNOWN,
            writer,
            sequence,
            first_fragment: FragmentNumber(u32::try_from(first_fragment).unwrap()),
            fragment_count: u16::try_from(count).unwrap(),
            fragment_size: u16::try_from(fragment_size).unwrap(),
            sample_size,
            inline_qos: None,
            is_key: self.random.chance(5),
            bytes: &bytes,
        };
        let last_fragment = FragmentNumber(self.short());
        let count = self.next_count();
        self.liar.message(|message| {
            message.data_frag(&fragment, &InlineQos::default());
            message.heartbeat_frag(&HeartbeatFrag {
                reader: EntityId::UNKNOWN,
                writer,
                sequence,
                last_fragment,
                count,
            });
        })
    }

    fn lying_heartbeat(&mut self) -> Vec<u8> {
        let (writer, count) = (self.a_writer(), self.next_count());
        let (first, last) = (self.sequence(), self.sequence());
        let first = first.min(last);
        let heartbeat =
            Heartbeat { is_final: self.random.chance(50), ..heartbeat(writer, first.0, last.0, count) };
        self.liar.message(|message| message.heartbeat(&heartbeat))
    }

    fn lying_gap(&mut self) -> Vec<u8> {
        let (writer, start, base) = (self.a_writer(), self.sequence(), self.sequence());
        let gap = Gap { reader: EntityId::UNKNOWN, writer, start, list: self.sequences(base) };
        self.liar.message(|message| message.gap(&gap))
    }

    fn a_local_writer(&mut self) -> (EntityId, EntityId) {
        match self.below(3) {
            0 => (EntityId::SEDP_PUBLICATIONS_READER, EntityId::SEDP_PUBLICATIONS_WRITER),
            _ => (LIAR_READER, self.writer),
        }
    }

    fn storm_of_acknacks(&mut self) -> Vec<u8> {
        let asks: Vec<_> = (0..=self.below(60))
            .map(|_| {
                let (reader, writer) = self.a_local_writer();
                let base = if self.random.chance(70) { SequenceNumber::FIRST } else { self.sequence() };
                let missing = self.sequences(base);
                AckNack {
                    reader,
                    writer,
                    missing,
                    count: self.next_count(),
                    is_final: self.random.chance(50),
                }
            })
            .collect();
        let to = self.target;
        self.liar.message(|message| {
            message.info_destination(to);
            asks.iter().for_each(|ask| message.ack_nack(ask));
        })
    }

    fn storm_of_nackfrags(&mut self) -> Vec<u8> {
        let asks: Vec<_> = (0..=self.below(60))
            .map(|_| {
                let (reader, writer) = self.a_local_writer();
                let mut missing = FragmentNumberSet::empty(FragmentNumber(1));
                (1..256).for_each(|number| {
                    missing.insert(FragmentNumber(number));
                });
                let sequence = SequenceNumber(1 + self.below(40));
                NackFrag { reader, writer, sequence, missing, count: self.next_count() }
            })
            .collect();
        let to = self.target;
        self.liar.message(|message| {
            message.info_destination(to);
            asks.iter().for_each(|ask| message.nack_frag(ask));
        })
    }

    fn changing_announcement(&mut self) -> Vec<u8> {
        let is_known = self.random.chance(50);
        let prefix = if is_known { self.liar.prefix.0.to_vec() } else { self.octets(12) };
        let puppet = Puppet::new(GuidPrefix(prefix.try_into().unwrap()));
        let mut data = puppet.participant(ADDRESS);
        let (port, user_data, locators) = (self.below(65_536), self.below(3000), self.below(30));
        data.user_data = self.octets(user_data);
        data.name = Some("x".repeat(usize::try_from(self.below(257)).unwrap()));
        data.builtin_endpoints = self.short();
        let port = u16::try_from(port).unwrap();
        data.default_unicast =
            (0..locators).map(|host| Locator::udp_v4([10, 1, 0, host.to_le_bytes()[0]], port)).collect();
        let mut payload = Vec::new();
        data.encode(&mut payload);
        let sample = Payload::Data(&payload);
        puppet.message(|message| {
            let (reader, writer) = (EntityId::UNKNOWN, EntityId::SPDP_WRITER);
            message.data(reader, writer, SequenceNumber::FIRST, &InlineQos::default(), sample);
        })
    }

    fn damaged_endpoint(&mut self) -> Vec<u8> {
        let kind = if self.random.chance(50) { EndpointKind::Writer } else { EndpointKind::Reader };
        let entity = u32::try_from(10 + self.below(2000)).unwrap();
        let entity = match kind {
            EndpointKind::Writer => EntityId::user_writer(entity, false),
            EndpointKind::Reader => EntityId::user_reader(entity, false),
        };
        let mut qos = durable();
        qos.partitions = (0..self.below(70)).map(|number| format!("p{number}*")).collect();
        let topic = ["reliable", "best effort", "durable"][usize::try_from(self.below(3)).unwrap()];
        let data = EndpointData {
            guid: Guid::new(self.liar.prefix, entity),
            topic: topic.into(),
            type_name: "Number".into(),
            qos,
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
        };
        let mut payload = Vec::new();
        data.encode(kind, &mut payload);
        if self.random.chance(50) {
            self.damage(&mut payload, 4);
        }
        payload.resize(payload.len().max(4), 0);
        self.liar.publish_payload(self.target, kind, &payload)
    }

    fn early_sample(&mut self) -> Vec<u8> {
        let length = 4 + self.below(1200);
        let (writer, sequence, payload) = (self.a_writer(), self.sequence(), self.octets(length));
        let status = StatusInfo { disposed: self.random.chance(10), unregistered: self.random.chance(10) };
        let key: [u8; 16] = self.octets(16).try_into().unwrap();
        let inline = InlineQos { key_hash: self.random.chance(30).then_some(key), status };
        let is_key = self.random.chance(10);
        self.liar.message(|message| {
            let payload = if is_key { Payload::Key(&payload) } else { Payload::Data(&payload) };
            message.data(EntityId::UNKNOWN, writer, sequence, &inline, payload);
        })
    }
}
