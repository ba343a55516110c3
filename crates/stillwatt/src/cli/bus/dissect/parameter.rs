//! Parameters of discovery data and inline QoS (RTPS 9.6.3 and 9.6.4), one by one and as far as they go.

use rtps::parameter::{StatusInfo, pid};
use rtps::{Endianness, Guid, Lease, WireTime};
use serde_json::Value as Json;

use super::part::{Part, hex};

/// The parameters from `start` of `message` on, up to the sentinel, and where the list ends; what is wrong ends it.
pub(super) fn list(message: &[u8], start: usize, end: usize, order: Endianness) -> (Part, usize) {
    let mut list = Part::new(start, 0, "parameters");
    let mut at = start;
    let bytes = message.get(..end.min(message.len())).unwrap_or_default();
    loop {
        let mut header = Fields { bytes: bytes.get(at..).unwrap_or_default(), order };
        let (Some(id), Some(length)) = (header.u16(), header.u16()) else {
            list.malformed = Some("parameter list without an end".into());
            break;
        };
        let length = usize::from(length);
        if id == pid::SENTINEL {
            list.parts.push(Part::new(at, 4, "SENTINEL"));
            at += 4;
            break;
        }
        let mut part = Part::new(at, 4 + length, name(id));
        part.field("id", format!("{id:#06x}"));
        let Some(value) = header.bytes.get(..length) else {
            part.malformed = Some(format!("parameter of {length} octets, longer than its list"));
            list.parts.push(part);
            break;
        };
        if length % 4 != 0 {
            part.malformed = Some("parameter length that is not a multiple of 4".into());
            list.parts.push(part);
            break;
        }
        read(&mut part, id, Fields { bytes: value, order }, value);
        list.parts.push(part);
        at += 4 + length;
    }
    list.length = at.saturating_sub(start);
    (list, at)
}

fn read(part: &mut Part, id: u16, mut fields: Fields<'_>, value: &[u8]) {
    if id == pid::PAD {
        return;
    }
    match decode(id, &mut fields) {
        Some(Some(json)) => part.field("value", json),
        Some(None) => {
            part.field("octets", hex(value));
            part.malformed = Some("shorter than its fields, or no text".into());
        }
        None => part.field("octets", hex(value)),
    }
}

/// The value of a parameter; `None` for one that is not known, `Some(None)` for one that its octets cannot hold.
fn decode(id: u16, fields: &mut Fields<'_>) -> Option<Option<Json>> {
    let base = if id == pid::DOMAIN_TAG { id } else { id & !pid::MUST_UNDERSTAND };
    Some(match base {
        pid::TOPIC_NAME | pid::TYPE_NAME | pid::ENTITY_NAME | pid::DOMAIN_TAG => {
            fields.string().map(Json::from)
        }
        pid::PARTICIPANT_GUID | pid::ENDPOINT_GUID => {
            fields.array().map(|octets| Guid::from_bytes(octets).to_string().into())
        }
        pid::KEY_HASH => fields.array::<16>().map(|octets| hex(&octets).into()),
        pid::UNICAST_LOCATOR
        | pid::MULTICAST_LOCATOR
        | pid::DEFAULT_UNICAST_LOCATOR
        | pid::DEFAULT_MULTICAST_LOCATOR
        | pid::METATRAFFIC_UNICAST_LOCATOR
        | pid::METATRAFFIC_MULTICAST_LOCATOR => fields.locator(),
        pid::PARTICIPANT_LEASE | pid::DEADLINE | pid::LATENCY_BUDGET | pid::LIFESPAN => fields.duration(),
        pid::DOMAIN_ID => fields.u32().map(Json::from),
        pid::OWNERSHIP_STRENGTH => fields.u32().map(|number| number.cast_signed().into()),
        pid::BUILTIN_ENDPOINTS => fields.u32().map(|set| format!("{set:#010x}").into()),
        pid::PROTOCOL_VERSION => fields.array().map(|[major, minor]| format!("{major}.{minor}").into()),
        pid::VENDOR => fields.array().map(|id| super::super::vendor_name(rtps::VendorId(id)).into()),
        pid::EXPECTS_INLINE_QOS => fields.array().map(|[flag]| Json::from(flag != 0)),
        pid::STATUS_INFO => fields.array().map(|octets| status(StatusInfo::from_bytes(octets)).into()),
        pid::RELIABILITY => fields.word(&["", "BEST_EFFORT", "RELIABLE"]),
        pid::DURABILITY => fields.word(&["VOLATILE", "TRANSIENT_LOCAL", "TRANSIENT", "PERSISTENT"]),
        pid::OWNERSHIP => fields.word(&["SHARED", "EXCLUSIVE"]),
        pid::DESTINATION_ORDER => fields.word(&["BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP"]),
        pid::PRESENTATION => fields.word(&["INSTANCE", "TOPIC", "GROUP"]),
        pid::LIVELINESS => fields
            .word(&["AUTOMATIC", "MANUAL_BY_PARTICIPANT", "MANUAL_BY_TOPIC"])
            .and_then(|kind| Some(Json::from(vec![kind, fields.duration()?]))),
        pid::HISTORY => fields
            .word(&["KEEP_LAST", "KEEP_ALL"])
            .and_then(|kind| Some(Json::from(vec![kind, fields.u32()?.into()]))),
        pid::PARTITION => fields.sequence(4, |fields| fields.string().map(Json::from)),
        pid::DATA_REPRESENTATION => fields.sequence(2, |fields| fields.u16().map(Json::from)),
        _ => return None,
    })
}

fn status(status: StatusInfo) -> &'static str {
    match (status.disposed, status.unregistered) {
        (false, false) => "alive",
        (true, false) => "disposed",
        (false, true) => "unregistered",
        (true, true) => "disposed and unregistered",
    }
}

fn name(id: u16) -> String {
    let base = if id == pid::DOMAIN_TAG { id } else { id & !pid::MUST_UNDERSTAND };
    match NAMES.iter().find(|(known, _)| *known == base) {
        Some((_, name)) => (*name).to_owned(),
        None if id & 0x8000 != 0 => "of the vendor".to_owned(),
        None => "unknown".to_owned(),
    }
}

const NAMES: &[(u16, &str)] = &[
    (pid::PAD, "PAD"),
    (pid::PARTICIPANT_LEASE, "PARTICIPANT_LEASE_DURATION"),
    (pid::TOPIC_NAME, "TOPIC_NAME"),
    (pid::OWNERSHIP_STRENGTH, "OWNERSHIP_STRENGTH"),
    (pid::TYPE_NAME, "TYPE_NAME"),
    (pid::DOMAIN_ID, "DOMAIN_ID"),
    (pid::PROTOCOL_VERSION, "PROTOCOL_VERSION"),
    (pid::VENDOR, "VENDORID"),
    (pid::RELIABILITY, "RELIABILITY"),
    (pid::LIVELINESS, "LIVELINESS"),
    (pid::DURABILITY, "DURABILITY"),
    (pid::OWNERSHIP, "OWNERSHIP"),
    (pid::PRESENTATION, "PRESENTATION"),
    (pid::DEADLINE, "DEADLINE"),
    (pid::DESTINATION_ORDER, "DESTINATION_ORDER"),
    (pid::LATENCY_BUDGET, "LATENCY_BUDGET"),
    (pid::PARTITION, "PARTITION"),
    (pid::LIFESPAN, "LIFESPAN"),
    (pid::USER_DATA, "USER_DATA"),
    (pid::UNICAST_LOCATOR, "UNICAST_LOCATOR"),
    (pid::MULTICAST_LOCATOR, "MULTICAST_LOCATOR"),
    (pid::DEFAULT_UNICAST_LOCATOR, "DEFAULT_UNICAST_LOCATOR"),
    (pid::METATRAFFIC_UNICAST_LOCATOR, "METATRAFFIC_UNICAST_LOCATOR"),
    (pid::METATRAFFIC_MULTICAST_LOCATOR, "METATRAFFIC_MULTICAST_LOCATOR"),
    (pid::HISTORY, "HISTORY"),
    (pid::RESOURCE_LIMITS, "RESOURCE_LIMITS"),
    (pid::EXPECTS_INLINE_QOS, "EXPECTS_INLINE_QOS"),
    (pid::DEFAULT_MULTICAST_LOCATOR, "DEFAULT_MULTICAST_LOCATOR"),
    (pid::PARTICIPANT_GUID, "PARTICIPANT_GUID"),
    (pid::BUILTIN_ENDPOINTS, "BUILTIN_ENDPOINT_SET"),
    (pid::ENDPOINT_GUID, "ENDPOINT_GUID"),
    (pid::ENTITY_NAME, "ENTITY_NAME"),
    (pid::KEY_HASH, "KEY_HASH"),
    (pid::STATUS_INFO, "STATUS_INFO"),
    (pid::DATA_REPRESENTATION, "DATA_REPRESENTATION"),
    (pid::DOMAIN_TAG, "DOMAIN_TAG"),
];

/// Values read one after the other.
pub(super) struct Fields<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: Endianness,
}

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*array)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let octets = self.array()?;
        Some(match self.order {
            Endianness::Big => u16::from_be_bytes(octets),
            Endianness::Little => u16::from_le_bytes(octets),
        })
    }

    fn u32(&mut self) -> Option<u32> {
        let octets = self.array()?;
        Some(match self.order {
            Endianness::Big => u32::from_be_bytes(octets),
            Endianness::Little => u32::from_le_bytes(octets),
        })
    }

    fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.u32()?).ok()?;
        let text = self.bytes.get(..length)?;
        self.bytes = self.bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        String::from_utf8(text.strip_suffix(&[0]).unwrap_or(text).to_vec()).ok()
    }

    fn duration(&mut self) -> Option<Json> {
        let time = WireTime { seconds: self.u32()?.cast_signed(), fraction: self.u32()? };
        Some(match Lease::from_wire(time) {
            Lease::Finite(duration) => format!("{duration:?}").into(),
            Lease::Infinite => "infinite".into(),
        })
    }

    fn word(&mut self, words: &[&str]) -> Option<Json> {
        let number = self.u32()?;
        let word =
            usize::try_from(number).ok().and_then(|index| words.get(index)).filter(|word| !word.is_empty());
        Some(word.map_or_else(|| Json::from(number), |word| Json::from(*word)))
    }

    /// A counted sequence whose items take at least `least` octets.
    fn sequence(&mut self, least: usize, item: impl Fn(&mut Self) -> Option<Json>) -> Option<Json> {
        let count = usize::try_from(self.u32()?).ok()?;
        if count > self.bytes.len() / least {
            return None;
        }
        (0..count).map(|_| item(self)).collect::<Option<Vec<_>>>().map(Json::from)
    }

    fn locator(&mut self) -> Option<Json> {
        let (kind, port, address) = (self.u32()?, self.u32()?, self.array::<16>()?);
        let [.., a, b, c, d] = address;
        let v6 = std::net::Ipv6Addr::from(address);
        Some(match kind {
            1 => format!("udpv4://{a}.{b}.{c}.{d}:{port}").into(),
            2 => format!("udpv6://[{v6}]:{port}").into(),
            // The vendor's TCP locators have the physical port in the low half.
            4 => format!("tcpv4://{a}.{b}.{c}.{d}:{port:#x}").into(),
            8 => format!("tcpv6://[{v6}]:{port:#x}").into(),
            16 => format!("shm://{port}").into(),
            kind => format!("kind {kind} port {port} address {}", hex(&address)).into(),
        })
    }
}
