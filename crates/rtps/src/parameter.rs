//! Parameter lists: the extensible form of discovery data and inline QoS (RTPS 9.4.2.11).

use crate::Endianness;
use crate::message::{Cursor, Parsed};
use crate::{Guid, Locator, WireTime};
use alloc::vec::Vec;

/// What happened to an instance (RTPS 9.6.4.9). Both false: a sample was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusInfo {
    /// The instance was disposed.
    pub disposed: bool,
    /// The writer no longer writes the instance.
    pub unregistered: bool,
}

impl StatusInfo {
    /// As it travels: the flags are in the last octet, whatever the byte order of the message.
    pub fn to_bytes(self) -> [u8; 4] {
        [0, 0, 0, u8::from(self.disposed) | u8::from(self.unregistered) << 1]
    }

    /// From the four octets as they travel.
    pub fn from_bytes([_, _, _, flags]: [u8; 4]) -> Self {
        Self { disposed: flags & 1 != 0, unregistered: flags & 2 != 0 }
    }
}

/// A list whose lengths were checked up to its sentinel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterList<'a> {
    /// From the first parameter up to the sentinel.
    bytes: &'a [u8],
    order: Endianness,
}

impl<'a> ParameterList<'a> {
    /// Reads a list and gives the octets after its sentinel as well.
    ///
    /// # Errors
    /// When a length passes the end or is not a multiple of 4, or when there is no sentinel.
    pub fn parse(bytes: &'a [u8], order: Endianness) -> Result<(Self, &'a [u8]), ParameterListError> {
        let mut cursor = Cursor::new(bytes, order);
        let list = Self::read(&mut cursor).map_err(ParameterListError)?;
        Ok((list, cursor.rest()))
    }

    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Parsed<Self> {
        let start = cursor.rest();
        loop {
            let length = start.len() - cursor.rest().len();
            let (id, value_len) = (cursor.u16(), cursor.u16());
            let (Ok(id), Ok(value_len)) = (id, value_len) else {
                return Err("parameter list without an end");
            };
            if id == pid::SENTINEL {
                return Ok(Self { bytes: start.get(..length).unwrap_or_default(), order: cursor.order() });
            }
            if value_len % 4 != 0 {
                return Err("parameter length that is not a multiple of 4");
            }
            cursor.bytes(usize::from(value_len)).map_err(|_| "parameter longer than its list")?;
        }
    }

    /// The order of the octets of the list's numbers.
    pub fn order(&self) -> Endianness {
        self.order
    }

    /// Identifiers and values in the order sent, padding parameters left out.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + 'a {
        let mut cursor = Cursor::new(self.bytes, self.order);
        core::iter::from_fn(move || {
            let (id, length) = (cursor.u16().ok()?, cursor.u16().ok()?);
            Some((id, cursor.bytes(usize::from(length)).ok()?))
        })
        .filter(|(id, _)| *id != pid::PAD)
    }

    /// The value of the first parameter with this identifier.
    pub fn get(&self, id: u16) -> Option<&'a [u8]> {
        self.iter().find(|(found, _)| *found == id).map(|(_, value)| value)
    }

    /// The instance that a change belongs to, when it was sent whole.
    pub fn key_hash(&self) -> Option<[u8; 16]> {
        self.get(pid::KEY_HASH)?.first_chunk().copied()
    }

    /// What happened to the instance; a sample was written when nothing is said.
    pub fn status_info(&self) -> StatusInfo {
        let value = self.get(pid::STATUS_INFO).and_then(<[u8]>::first_chunk);
        value.copied().map(StatusInfo::from_bytes).unwrap_or_default()
    }
}

/// Bytes that are not a parameter list, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParameterListError(pub &'static str);

/// Appends a little-endian parameter list to a buffer.
#[derive(Debug)]
pub struct ParameterListWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> ParameterListWriter<'a> {
    /// Starts a list at the buffer's end.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Ends the list.
    pub fn finish(self) {
        self.out.extend_from_slice(&pid::SENTINEL.to_le_bytes());
        self.out.extend_from_slice(&[0, 0]);
    }

    /// Octets, padded with zeros to a multiple of 4. Longer than 65,532 octets cannot travel: it is left out.
    pub fn bytes(&mut self, id: u16, bytes: &[u8]) {
        self.value(id, |value| value.bytes(bytes));
    }

    /// A number.
    pub fn u32(&mut self, id: u16, number: u32) {
        self.bytes(id, &number.to_le_bytes());
    }

    /// A duration or time.
    pub fn time(&mut self, id: u16, time: WireTime) {
        self.value(id, |value| value.time(time));
    }

    /// A string with length and closing zero.
    pub fn string(&mut self, id: u16, text: &str) {
        self.value(id, |value| value.string(text));
    }

    /// A sequence of octets with its length.
    pub fn octets(&mut self, id: u16, octets: &[u8]) {
        self.value(id, |value| {
            value.count(octets.len());
            value.bytes(octets);
        });
    }

    /// A GUID.
    pub fn guid(&mut self, id: u16, guid: Guid) {
        self.bytes(id, &guid.to_bytes());
    }

    /// A locator.
    pub fn locator(&mut self, id: u16, locator: &Locator) {
        self.value(id, |value| {
            value.u32(locator.kind.number().cast_unsigned());
            value.u32(locator.port);
            value.bytes(&locator.address);
        });
    }

    /// A parameter of several parts.
    pub(crate) fn value(&mut self, id: u16, write: impl FnOnce(&mut ValueWriter<'_>)) {
        let begin = self.out.len();
        self.out.extend_from_slice(&id.to_le_bytes());
        self.out.extend_from_slice(&[0, 0]);
        let start = self.out.len();
        let mut value = ValueWriter { out: self.out, start };
        write(&mut value);
        value.pad();
        match (u16::try_from(self.out.len() - start), self.out.get_mut(start - 2..start)) {
            (Ok(length), Some(field)) => field.copy_from_slice(&length.to_le_bytes()),
            _ => self.out.truncate(begin),
        }
    }
}

/// Appends the parts of one parameter's value.
pub(crate) struct ValueWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl ValueWriter<'_> {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    /// A length; one that does not fit makes the parameter too long as well.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(crate) fn time(&mut self, time: WireTime) {
        self.u32(time.seconds.cast_unsigned());
        self.u32(time.fraction);
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.count(text.len().saturating_add(1));
        self.bytes(text.as_bytes());
        self.bytes(&[0]);
        self.pad();
    }

    fn pad(&mut self) {
        let length = self.out.len() - self.start;
        self.out.resize(self.start + length.next_multiple_of(4), 0);
    }
}

pub mod pid {
    //! Parameter identifiers (RTPS 9.6.3 and 9.6.4; DDS-XTypes 7.6.3 for the type system's).

    /// Filler.
    pub const PAD: u16 = 0x00;
    /// End of the list.
    pub const SENTINEL: u16 = 0x01;
    /// How long a silent participant is believed alive.
    pub const PARTICIPANT_LEASE: u16 = 0x02;
    /// Shortest time between samples of a reader.
    pub const TIME_BASED_FILTER: u16 = 0x04;
    /// Topic of an endpoint.
    pub const TOPIC_NAME: u16 = 0x05;
    /// Strength of an exclusive owner.
    pub const OWNERSHIP_STRENGTH: u16 = 0x06;
    /// Type of an endpoint.
    pub const TYPE_NAME: u16 = 0x07;
    /// Domain of a participant.
    pub const DOMAIN_ID: u16 = 0x0f;
    /// Protocol version of a participant.
    pub const PROTOCOL_VERSION: u16 = 0x15;
    /// Implementation of a participant.
    pub const VENDOR: u16 = 0x16;
    /// Reliability of an endpoint.
    pub const RELIABILITY: u16 = 0x1a;
    /// Liveliness of an endpoint.
    pub const LIVELINESS: u16 = 0x1b;
    /// Durability of an endpoint.
    pub const DURABILITY: u16 = 0x1d;
    /// Ownership of an endpoint.
    pub const OWNERSHIP: u16 = 0x1f;
    /// Presentation of an endpoint.
    pub const PRESENTATION: u16 = 0x21;
    /// Deadline of an endpoint.
    pub const DEADLINE: u16 = 0x23;
    /// Destination order of an endpoint.
    pub const DESTINATION_ORDER: u16 = 0x25;
    /// Latency budget of an endpoint.
    pub const LATENCY_BUDGET: u16 = 0x27;
    /// Partitions of an endpoint.
    pub const PARTITION: u16 = 0x29;
    /// Lifespan of a writer's samples.
    pub const LIFESPAN: u16 = 0x2b;
    /// Free octets of an application.
    pub const USER_DATA: u16 = 0x2c;
    /// A unicast address of an endpoint.
    pub const UNICAST_LOCATOR: u16 = 0x2f;
    /// A multicast address of an endpoint.
    pub const MULTICAST_LOCATOR: u16 = 0x30;
    /// A unicast address for user data of a participant.
    pub const DEFAULT_UNICAST_LOCATOR: u16 = 0x31;
    /// A unicast address for discovery of a participant.
    pub const METATRAFFIC_UNICAST_LOCATOR: u16 = 0x32;
    /// A multicast address for discovery of a participant.
    pub const METATRAFFIC_MULTICAST_LOCATOR: u16 = 0x33;
    /// History of an endpoint.
    pub const HISTORY: u16 = 0x40;
    /// Resource limits of an endpoint.
    pub const RESOURCE_LIMITS: u16 = 0x41;
    /// Whether a reader wants parameters with each sample.
    pub const EXPECTS_INLINE_QOS: u16 = 0x43;
    /// A multicast address for user data of a participant.
    pub const DEFAULT_MULTICAST_LOCATOR: u16 = 0x48;
    /// Priority of a writer's samples.
    pub const TRANSPORT_PRIORITY: u16 = 0x49;
    /// GUID of a participant.
    pub const PARTICIPANT_GUID: u16 = 0x50;
    /// Which built-in endpoints a participant has.
    pub const BUILTIN_ENDPOINTS: u16 = 0x58;
    /// GUID of an endpoint.
    pub const ENDPOINT_GUID: u16 = 0x5a;
    /// Name of a participant.
    pub const ENTITY_NAME: u16 = 0x62;
    /// Which instance a change belongs to.
    pub const KEY_HASH: u16 = 0x70;
    /// What happened to an instance.
    pub const STATUS_INFO: u16 = 0x71;
    /// Data representations of an endpoint.
    pub const DATA_REPRESENTATION: u16 = 0x73;
    /// Type information of an endpoint.
    pub const TYPE_INFORMATION: u16 = 0x75;
    /// Tag of the domain; only participants with the same tag talk.
    pub const DOMAIN_TAG: u16 = 0x4014;
    /// Ours: where on its machine a participant is.
    pub const MACHINE_ADDRESS: u16 = 0xb501;
    /// Set in an identifier whose parameter must be understood to understand the list.
    pub const MUST_UNDERSTAND: u16 = 0x4000;
}
