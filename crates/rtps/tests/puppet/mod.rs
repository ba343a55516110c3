//! A participant that a test plays by hand: it says exactly what the test wants, also what no real one would say.
#![allow(dead_code, reason = "each test binary uses a part of the puppet")]
#![allow(clippy::unwrap_used, reason = "test harness: a failure here is a failed test")]

use rtps::discovery::data::{EndpointData, EndpointKind, ParticipantData};
use rtps::message::{
    Gap, Heartbeat, InlineQos, MessageReader, MessageWriter, Payload, StatusInfo, Submessage,
};
use rtps::qos::Qos;
use rtps::{EntityId, Guid, GuidPrefix, Lease, Locator, SequenceNumber, SequenceNumberSet, VendorId};
use std::time::Duration;

/// The vendor that a puppet claims: another implementation than ours.
pub(crate) const FOREIGN: VendorId = VendorId([0x01, 0x10]);

/// What a participant said that this puppet's test heard: a submessage without borrowed parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) acknacks: Vec<rtps::message::AckNack>,
    pub(crate) nackfrags: Vec<rtps::message::NackFrag>,
    pub(crate) heartbeats: Vec<Heartbeat>,
    /// Sequence number of each whole sample.
    pub(crate) samples: Vec<SequenceNumber>,
    /// Sequence number and first number of each fragment submessage.
    pub(crate) fragments: Vec<(SequenceNumber, u32)>,
}

/// Sorts what user endpoints said in these datagrams.
pub(crate) fn hear<'a>(datagrams: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    let mut heard = Heard::default();
    for bytes in datagrams {
        for submessage in MessageReader::new(bytes).unwrap().1 {
            match submessage.unwrap() {
                Submessage::AckNack(it) if !it.reader.is_builtin() => heard.acknacks.push(it),
                Submessage::NackFrag(it) if !it.reader.is_builtin() => heard.nackfrags.push(it),
                Submessage::Heartbeat(it) if !it.writer.is_builtin() => heard.heartbeats.push(it),
                Submessage::Data(it) if !it.writer.is_builtin() => heard.samples.push(it.sequence),
                Submessage::DataFrag(it) if !it.writer.is_builtin() => {
                    heard.fragments.push((it.sequence, it.first_fragment.0));
                }
                _ => {}
            }
        }
    }
    heard
}

/// The puppet: a prefix and the counters of its discovery writers.
pub(crate) struct Puppet {
    pub(crate) prefix: GuidPrefix,
    /// Announced writers and readers.
    announced: [u64; 2],
    count: u32,
}

impl Puppet {
    pub(crate) fn new(prefix: GuidPrefix) -> Self {
        Self { prefix, announced: [0; 2], count: 0 }
    }

    /// One datagram.
    pub(crate) fn message(&self, build: impl FnOnce(&mut MessageWriter<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        build(&mut MessageWriter::new(&mut bytes, self.prefix));
        bytes
    }

    /// What a participant announces that is heard at `locator`.
    pub(crate) fn participant(&self, locator: Locator) -> ParticipantData {
        ParticipantData {
            guid: Guid::new(self.prefix, EntityId::PARTICIPANT),
            version: [2, 3],
            vendor: FOREIGN,
            domain: Some(0),
            builtin_endpoints: 0x3f,
            lease: Lease::Finite(Duration::from_secs(100)),
            metatraffic_unicast: vec![locator],
            metatraffic_multicast: Vec::new(),
            default_unicast: vec![locator],
            default_multicast: Vec::new(),
            name: None,
            user_data: Vec::new(),
            machine_address: None,
        }
    }

    /// The announcement of a participant.
    pub(crate) fn announce(&self, locator: Locator) -> Vec<u8> {
        let mut payload = Vec::new();
        self.participant(locator).encode(&mut payload);
        self.message(|message| {
            message.data(
                EntityId::UNKNOWN,
                EntityId::SPDP_WRITER,
                SequenceNumber::FIRST,
                &InlineQos::default(),
                Payload::Data(&payload),
            );
        })
    }

    /// Its goodbye, as some say it: with the key in the inline QoS only.
    pub(crate) fn leave(&self) -> Vec<u8> {
        let guid = Guid::new(self.prefix, EntityId::PARTICIPANT);
        let status = StatusInfo { disposed: true, unregistered: true };
        let inline = InlineQos { key_hash: Some(guid.to_bytes()), status };
        self.message(|message| {
            let sequence = SequenceNumber::FIRST.next();
            message.data(EntityId::UNKNOWN, EntityId::SPDP_WRITER, sequence, &inline, Payload::None);
        })
    }

    /// The announcement of a writer or reader, addressed to one participant, with the heartbeat that completes it.
    pub(crate) fn publish(&mut self, to: GuidPrefix, entity: EntityId, topic: &str, qos: &Qos) -> Vec<u8> {
        self.publish_at(to, entity, topic, qos, Vec::new())
    }

    /// [`Puppet::publish`] for an endpoint with addresses of its own.
    pub(crate) fn publish_at(
        &mut self,
        to: GuidPrefix,
        entity: EntityId,
        topic: &str,
        qos: &Qos,
        unicast: Vec<Locator>,
    ) -> Vec<u8> {
        let data = EndpointData {
            guid: Guid::new(self.prefix, entity),
            topic: topic.into(),
            type_name: "Number".into(),
            qos: qos.clone(),
            unicast,
            multicast: Vec::new(),
            expects_inline_qos: false,
        };
        let kind = data.kind().unwrap();
        let mut payload = Vec::new();
        data.encode(kind, &mut payload);
        self.publish_payload(to, kind, &payload)
    }

    /// [`Puppet::publish`] with any octets in the place of the announcement.
    pub(crate) fn publish_payload(&mut self, to: GuidPrefix, kind: EndpointKind, payload: &[u8]) -> Vec<u8> {
        let writer = match kind {
            EndpointKind::Writer => EntityId::SEDP_PUBLICATIONS_WRITER,
            EndpointKind::Reader => EntityId::SEDP_SUBSCRIPTIONS_WRITER,
        };
        let announced = &mut self.announced[usize::from(kind == EndpointKind::Reader)];
        *announced += 1;
        self.count += 1;
        let (sequence, count) = (SequenceNumber(*announced), self.count);
        self.message(|message| {
            message.info_destination(to);
            message.data(EntityId::UNKNOWN, writer, sequence, &InlineQos::default(), Payload::Data(payload));
            message.heartbeat(&Heartbeat {
                reader: EntityId::UNKNOWN,
                writer,
                first: SequenceNumber::FIRST,
                last: sequence,
                count,
                is_final: true,
                is_liveliness: false,
            });
        })
    }
}

/// A heartbeat of a user writer that asks for an answer.
pub(crate) fn heartbeat(writer: EntityId, first: u64, last: u64, count: u32) -> Heartbeat {
    Heartbeat {
        reader: EntityId::UNKNOWN,
        writer,
        first: SequenceNumber(first),
        last: SequenceNumber(last),
        count,
        is_final: false,
        is_liveliness: false,
    }
}

/// A gap over `[1, end)`.
pub(crate) fn gap_to(writer: EntityId, end: u64) -> Gap {
    Gap {
        reader: EntityId::UNKNOWN,
        writer,
        start: SequenceNumber::FIRST,
        list: SequenceNumberSet::empty(SequenceNumber(end)),
    }
}
