//! Writers and readers (RTPS 8.5.4.4).

use super::{
    DiscoveryDataError, NAME_MAX, PARTITIONS_MAX, PL_CDR_LE, add_locator, base_pid, name, parse_key,
    parse_list, policy, read, skip_unknown,
};
use crate::Endianness;
use crate::message::Cursor;
use crate::parameter::{ParameterListWriter, pid};
use crate::qos::{Qos, Reliability};
use crate::{EntityId, Guid, Locator};
use alloc::string::String;
use alloc::vec::Vec;

/// Which side of a topic an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndpointKind {
    /// It writes.
    Writer,
    /// It reads.
    Reader,
}

/// What an endpoint's participant says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointData {
    /// The endpoint.
    pub guid: Guid,
    /// Its topic.
    pub topic: String,
    /// The name of its type.
    pub type_name: String,
    /// Its quality of service.
    pub qos: Qos,
    /// Where it hears data; none means its participant's default.
    pub unicast: Vec<Locator>,
    /// Where it and others hear data; none means its participant's default.
    pub multicast: Vec<Locator>,
    /// Whether it is a reader that wants parameters with each sample.
    pub expects_inline_qos: bool,
}

impl EndpointData {
    /// Whether it writes or reads, by its entity id; neither for other entities.
    pub fn kind(&self) -> Option<EndpointKind> {
        kind_of(self.guid.entity)
    }

    /// Checks the bounds that a receiver of ours applies: names of at most [`NAME_MAX`] octets without a zero, at most
    /// [`PARTITIONS_MAX`] partitions. To be called before an endpoint is created.
    ///
    /// # Errors
    /// Names the parameter that breaks a bound.
    pub fn check(&self) -> Result<(), DiscoveryDataError> {
        let is_name = |name: &String| name.len() <= NAME_MAX && !name.contains('\0');
        let wrong = |pid, reason| Err(DiscoveryDataError::Parameter { pid, reason });
        if !is_name(&self.topic) {
            return wrong(pid::TOPIC_NAME, NAME_BOUND);
        }
        if !is_name(&self.type_name) {
            return wrong(pid::TYPE_NAME, NAME_BOUND);
        }
        if self.qos.partitions.len() > PARTITIONS_MAX {
            return wrong(pid::PARTITION, policy::MANY_PARTITIONS);
        }
        if !self.qos.partitions.iter().all(is_name) {
            return wrong(pid::PARTITION, NAME_BOUND);
        }
        Ok(())
    }

    /// Appends the announcement: encapsulation header, parameters, sentinel. Lifespan and ownership strength are
    /// written for writers only, the wish for inline QoS for readers only.
    pub fn encode(&self, kind: EndpointKind, out: &mut Vec<u8>) {
        self.encode_with(kind, None, out);
    }

    /// [`EndpointData::encode`] with what is to be said of the type besides its name.
    pub fn encode_with(&self, kind: EndpointKind, type_information: Option<&[u8]>, out: &mut Vec<u8>) {
        out.extend_from_slice(&PL_CDR_LE);
        let mut list = ParameterListWriter::new(out);
        list.guid(pid::ENDPOINT_GUID, self.guid);
        list.guid(pid::KEY_HASH, self.guid);
        list.guid(pid::PARTICIPANT_GUID, Guid::new(self.guid.prefix, EntityId::PARTICIPANT));
        list.string(pid::TOPIC_NAME, &self.topic);
        list.string(pid::TYPE_NAME, &self.type_name);
        self.unicast.iter().for_each(|locator| list.locator(pid::UNICAST_LOCATOR, locator));
        self.multicast.iter().for_each(|locator| list.locator(pid::MULTICAST_LOCATOR, locator));
        policy::encode(&self.qos, kind, &mut list);
        if let Some(information) = type_information {
            list.bytes(pid::TYPE_INFORMATION, information);
        }
        if kind == EndpointKind::Reader && self.expects_inline_qos {
            list.u32(pid::EXPECTS_INLINE_QOS, 1);
        }
        list.finish();
    }

    /// Reads an announcement. What is absent has the standard's default; a writer's reliability is then reliable, a
    /// reader's best effort.
    ///
    /// # Errors
    /// When it is not a parameter list, has no GUID of a writer or reader, no topic or type, a parameter with a wrong
    /// value, or one that must be understood and is not.
    pub fn decode(payload: &[u8]) -> Result<Self, DiscoveryDataError> {
        let list = parse_list(payload)?;
        let mut parts = Parts::default();
        for (id, value) in list.iter() {
            parts.set(id, value, list.order())?;
        }
        let guid = parts.guid.or(parts.key).ok_or(DiscoveryDataError::Missing(pid::ENDPOINT_GUID))?;
        let kind = kind_of(guid.entity).ok_or(DiscoveryDataError::Parameter {
            pid: pid::ENDPOINT_GUID,
            reason: "not the GUID of a writer or reader",
        })?;
        let mut qos = parts.qos;
        if !parts.has_reliability && kind == EndpointKind::Writer {
            qos.reliability = Reliability::Reliable;
        }
        Ok(Self {
            guid,
            topic: parts.topic.ok_or(DiscoveryDataError::Missing(pid::TOPIC_NAME))?,
            type_name: parts.type_name.ok_or(DiscoveryDataError::Missing(pid::TYPE_NAME))?,
            qos,
            unicast: parts.unicast,
            multicast: parts.multicast,
            expects_inline_qos: parts.expects_inline_qos,
        })
    }

    /// Reads the key that is sent when an endpoint is deleted.
    ///
    /// # Errors
    /// When there is none in the payload.
    pub fn decode_key(payload: &[u8]) -> Result<Guid, DiscoveryDataError> {
        parse_key(payload, pid::ENDPOINT_GUID)
    }
}

fn kind_of(entity: EntityId) -> Option<EndpointKind> {
    match (entity.is_writer(), entity.is_reader()) {
        (true, _) => Some(EndpointKind::Writer),
        (_, true) => Some(EndpointKind::Reader),
        _ => None,
    }
}

/// What has been read of an announcement.
#[derive(Default)]
struct Parts {
    guid: Option<Guid>,
    key: Option<Guid>,
    topic: Option<String>,
    type_name: Option<String>,
    qos: Qos,
    has_reliability: bool,
    unicast: Vec<Locator>,
    multicast: Vec<Locator>,
    expects_inline_qos: bool,
}

impl Parts {
    fn set(&mut self, id: u16, value: &[u8], order: Endianness) -> Result<(), DiscoveryDataError> {
        match base_pid(id) {
            pid::ENDPOINT_GUID => self.guid = Some(read(id, value, order, Cursor::guid)?),
            pid::KEY_HASH => self.key = Some(read(id, value, order, Cursor::guid)?),
            pid::TOPIC_NAME => self.topic = Some(read(id, value, order, name)?),
            pid::TYPE_NAME => self.type_name = Some(read(id, value, order, name)?),
            pid::UNICAST_LOCATOR => {
                read(id, value, order, |cursor| add_locator(&mut self.unicast, cursor))?;
            }
            pid::MULTICAST_LOCATOR => {
                read(id, value, order, |cursor| add_locator(&mut self.multicast, cursor))?;
            }
            pid::EXPECTS_INLINE_QOS => self.expects_inline_qos = read(id, value, order, Cursor::bool)?,
            // Known, and of no use here: the endpoint's GUID says which participant it belongs to.
            pid::PARTICIPANT_GUID | pid::PROTOCOL_VERSION | pid::VENDOR => {}
            // Types match by name. What a peer says of its type besides cannot spoil that, right or wrong.
            pid::TYPE_INFORMATION => {}
            base => {
                self.has_reliability |= base == pid::RELIABILITY;
                let is_policy = read(id, value, order, |cursor| policy::decode(&mut self.qos, base, cursor))?;
                if !is_policy {
                    skip_unknown(id)?;
                }
            }
        }
        Ok(())
    }
}

const NAME_BOUND: &str = "name of more than 256 octets or with a zero";
