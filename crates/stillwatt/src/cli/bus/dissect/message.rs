//! One RTPS message as parts (RTPS 2.5, 8.3 and 9.4). Goes on after a malformed submessage, where a receiver stops.

use rtps::discovery::data::{EndpointData, ParticipantData};
use rtps::message::{MessageReader, Payload, Submessage};
use rtps::{Endianness, EntityId};
use serde_json::Value as Json;

use super::super::vendor_name;
use super::parameter::{self, Fields};
use super::part::{Part, hex};

/// The parts of a datagram.
pub(super) fn dissect(bytes: &[u8]) -> Part {
    let mut message = Part::new(0, bytes.len(), "RTPS");
    let header = match MessageReader::new(bytes) {
        Ok((header, _)) => header,
        Err(error) => {
            message.name = "datagram".into();
            message.field("octets", hex(bytes));
            message.malformed = Some(error.to_string());
            return message;
        }
    };
    let [major, minor] = header.version;
    message.field("version", format!("{major}.{minor}"));
    message.field("from", header.prefix.to_string());
    message.field("vendor", vendor_name(header.vendor));
    if bytes.len() > OCTETS_MAX {
        message.malformed = Some(format!("only its first {OCTETS_MAX} octets are shown"));
    }
    let bytes = bytes.get(..OCTETS_MAX).unwrap_or(bytes);
    let mut at = HEADER_LEN;
    while at < bytes.len() {
        let (part, end) = submessage(bytes, at);
        message.parts.push(part);
        at = end;
    }
    message
}

/// The messages of a captured datagram: usually one. Where the kernel cuts datagrams late or joins them early (UDP
/// segmentation offload), a capture holds several as one.
pub(super) fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    let (mut start, mut at) = (0, HEADER_LEN);
    while let Some([kind, flags, low, high]) = bytes.get(at..).and_then(<[u8]>::first_chunk).copied() {
        // No submessage starts like this: the kind is not assigned.
        if [kind, flags, low, high] == *b"RTPS" {
            messages.push(bytes.get(start..at).unwrap_or_default());
            (start, at) = (at, at + HEADER_LEN);
            continue;
        }
        let Some(length) = body_length(kind, flags, [low, high]) else { break };
        at += 4 + length;
    }
    messages.push(bytes.get(start..).unwrap_or_default());
    messages
}

/// The octets of a submessage's body; `None` when it ends with its message.
fn body_length(kind: u8, flags: u8, octets: [u8; 2]) -> Option<usize> {
    let stated = Fields { bytes: &octets, order: order(flags) }.u16().map_or(0, usize::from);
    // Zero stands for the rest of the message, except where an empty body makes sense (RTPS 9.4.5.1.3).
    (stated != 0 || matches!(kind, PAD | INFO_TS)).then_some(stated)
}

fn order(flags: u8) -> Endianness {
    if flags & LITTLE_ENDIAN == 0 { Endianness::Big } else { Endianness::Little }
}

/// Octets of a message that are shown; UDP carries 65,507.
const OCTETS_MAX: usize = 1 << 20;
const HEADER_LEN: usize = rtps::message::HEADER_LEN;
const LITTLE_ENDIAN: u8 = 0x01;
const INLINE_QOS: u8 = 0x02;
const PAD: u8 = 0x01;
const INFO_TS: u8 = 0x09;
const DATA: u8 = 0x15;
const DATA_FRAG: u8 = 0x16;

/// The submessage at `at`, and where it ends.
fn submessage(bytes: &[u8], at: usize) -> (Part, usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    let [kind, flags, low, high] = rest.first_chunk().copied().unwrap_or_default();
    if rest.len() < 4 {
        let mut part = Part::new(at, rest.len(), "octets");
        part.field("octets", hex(rest));
        part.malformed = Some("shorter than a submessage header".into());
        return (part, bytes.len());
    }
    let order = order(flags);
    let length = body_length(kind, flags, [low, high]).unwrap_or(rest.len() - 4);
    let end = (at + 4 + length).min(bytes.len());
    let mut part = Part::new(at, end - at, name(kind));
    part.field("flags", format!("{flags:#04x}"));
    let whole =
        [bytes.get(..HEADER_LEN).unwrap_or_default(), bytes.get(at..end).unwrap_or_default()].concat();
    let read = MessageReader::new(&whole).ok().and_then(|(_, mut submessages)| submessages.next());
    match read {
        Some(Ok(submessage)) => fields(&mut part, &submessage),
        Some(Err(error)) => part.malformed = Some(error.reason.to_owned()),
        None => {}
    }
    if matches!(kind, DATA | DATA_FRAG) {
        let payload = inline_qos(&mut part, bytes, at, end, flags, order);
        if let Some(Ok(Submessage::Data(data))) = read {
            content(&mut part, bytes, payload, end, data.writer, &data.payload);
        }
    }
    (part, end)
}

fn name(kind: u8) -> String {
    let name = match kind {
        0x01 => "PAD",
        0x06 => "ACKNACK",
        0x07 => "HEARTBEAT",
        0x08 => "GAP",
        0x09 => "INFO_TS",
        0x0c => "INFO_SRC",
        0x0d => "INFO_REPLY_IP4",
        0x0e => "INFO_DST",
        0x0f => "INFO_REPLY",
        0x12 => "NACK_FRAG",
        0x13 => "HEARTBEAT_FRAG",
        0x15 => "DATA",
        0x16 => "DATA_FRAG",
        0x30 => "SEC_BODY",
        0x31 => "SEC_PREFIX",
        0x32 => "SEC_POSTFIX",
        0x33 => "SRTPS_PREFIX",
        0x34 => "SRTPS_POSTFIX",
        kind if kind >= 0x80 => return format!("of the vendor {kind:#04x}"),
        kind => return format!("unknown {kind:#04x}"),
    };
    name.to_owned()
}

fn ends(part: &mut Part, reader: EntityId, writer: EntityId) {
    part.field("reader", entity_name(reader));
    part.field("writer", entity_name(writer));
}

/// An entity's id, with the name of a built-in one.
fn entity_name(entity: EntityId) -> String {
    let name = match entity {
        EntityId::UNKNOWN => "all",
        EntityId::PARTICIPANT => "participant",
        EntityId::SPDP_WRITER => "participants writer",
        EntityId::SPDP_READER => "participants reader",
        EntityId::SEDP_PUBLICATIONS_WRITER => "publications writer",
        EntityId::SEDP_PUBLICATIONS_READER => "publications reader",
        EntityId::SEDP_SUBSCRIPTIONS_WRITER => "subscriptions writer",
        EntityId::SEDP_SUBSCRIPTIONS_READER => "subscriptions reader",
        _ => return entity.to_string(),
    };
    format!("{entity} ({name})")
}

fn fields(part: &mut Part, submessage: &Submessage<'_>) {
    match submessage {
        Submessage::Data(data) => {
            ends(part, data.reader, data.writer);
            part.field("sequence", data.sequence.0);
        }
        Submessage::DataFrag(frag) => {
            ends(part, frag.reader, frag.writer);
            part.field("sequence", frag.sequence.0);
            part.field("first_fragment", frag.first_fragment.0);
            part.field("fragments", frag.fragment_count);
            part.field("fragment_size", frag.fragment_size);
            part.field("sample_size", frag.sample_size);
        }
        Submessage::Heartbeat(heartbeat) => {
            ends(part, heartbeat.reader, heartbeat.writer);
            part.field("first", heartbeat.first.0);
            part.field("last", heartbeat.last.0);
            part.field("count", heartbeat.count);
            part.field("final", heartbeat.is_final);
            part.field("liveliness", heartbeat.is_liveliness);
        }
        Submessage::HeartbeatFrag(heartbeat) => {
            ends(part, heartbeat.reader, heartbeat.writer);
            part.field("sequence", heartbeat.sequence.0);
            part.field("last_fragment", heartbeat.last_fragment.0);
            part.field("count", heartbeat.count);
        }
        Submessage::AckNack(acknack) => {
            ends(part, acknack.reader, acknack.writer);
            part.field("base", acknack.missing.base().0);
            part.field(
                "missing",
                acknack.missing.iter().map(|number| Json::from(number.0)).collect::<Vec<_>>(),
            );
            part.field("count", acknack.count);
            part.field("final", acknack.is_final);
        }
        Submessage::NackFrag(nack) => {
            ends(part, nack.reader, nack.writer);
            part.field("sequence", nack.sequence.0);
            part.field("missing", nack.missing.iter().map(|number| Json::from(number.0)).collect::<Vec<_>>());
            part.field("count", nack.count);
        }
        Submessage::Gap(gap) => {
            ends(part, gap.reader, gap.writer);
            part.field("start", gap.start.0);
            part.field("base", gap.list.base().0);
            part.field("more", gap.list.iter().map(|number| Json::from(number.0)).collect::<Vec<_>>());
        }
        Submessage::InfoTimestamp(time) => {
            let seconds =
                time.and_then(rtps::WireTime::to_timestamp).map(|time| time.unix_nanos() as f64 / 1e9);
            part.field("unix_seconds", seconds.map_or(Json::Null, Json::from));
        }
        Submessage::InfoDestination(prefix) => part.field("to", prefix.to_string()),
        Submessage::InfoSource { vendor, prefix, .. } => {
            part.field("from", prefix.to_string());
            part.field("vendor", vendor_name(*vendor));
        }
        Submessage::InfoReply { unicast, multicast } => {
            let shown = |list: &rtps::message::LocatorList<'_>| -> Vec<String> {
                list.iter().map(|locator| locator.to_string()).collect()
            };
            part.field("unicast", shown(unicast));
            part.field("multicast", shown(multicast));
        }
        Submessage::Pad | Submessage::Unknown(_) => {}
    }
}

/// Adds the inline QoS of DATA and DATA_FRAG; tells where the payload starts.
fn inline_qos(part: &mut Part, bytes: &[u8], at: usize, end: usize, flags: u8, order: Endianness) -> usize {
    let body = at + 4;
    let to_inline =
        Fields { bytes: bytes.get(body + 2..end).unwrap_or_default(), order }.u16().unwrap_or_default();
    let start = (body + 4).saturating_add(usize::from(to_inline));
    if flags & INLINE_QOS == 0 || start > end {
        return start;
    }
    let (mut list, after) = parameter::list(bytes, start, end, order);
    list.name = "inline QoS".into();
    part.parts.push(list);
    after
}

/// Adds what a DATA submessage carries.
fn content(part: &mut Part, bytes: &[u8], start: usize, end: usize, writer: EntityId, payload: &Payload<'_>) {
    let (name, octets) = match payload {
        Payload::None => return,
        Payload::Data(octets) => ("sample", octets),
        Payload::Key(octets) => ("key", octets),
    };
    let mut sample = Part::new(start, end.saturating_sub(start), name);
    let [a, b, _, _] = octets.first_chunk().copied().unwrap_or_default();
    let form = u16::from_be_bytes([a, b]);
    sample.field("encapsulation", encapsulation_name(form));
    match form {
        2 | 3 => {
            let order = if form == 2 { Endianness::Big } else { Endianness::Little };
            let (list, _) = parameter::list(bytes, start + 4, end, order);
            sample.parts.push(list);
        }
        _ => sample.field("octets", hex(octets.get(4..).unwrap_or_default())),
    }
    if matches!(payload, Payload::Data(_)) {
        sample.malformed = announcement_fault(writer, octets);
    }
    part.parts.push(sample);
}

/// What keeps an announcement from being used.
fn announcement_fault(writer: EntityId, octets: &[u8]) -> Option<String> {
    match writer {
        EntityId::SPDP_WRITER => ParticipantData::decode(octets).err().map(|error| error.to_string()),
        EntityId::SEDP_PUBLICATIONS_WRITER | EntityId::SEDP_SUBSCRIPTIONS_WRITER => {
            EndpointData::decode(octets).err().map(|error| error.to_string())
        }
        _ => None,
    }
}

fn encapsulation_name(form: u16) -> String {
    let name = match form {
        0 => "CDR_BE",
        1 => "CDR_LE",
        2 => "PL_CDR_BE",
        3 => "PL_CDR_LE",
        6 => "CDR2_BE",
        7 => "CDR2_LE",
        8 => "D_CDR2_BE",
        9 => "D_CDR2_LE",
        10 => "PL_CDR2_BE",
        11 => "PL_CDR2_LE",
        form => return format!("{form:#06x}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(submessages: &[(u8, u8, &[u8])]) -> Vec<u8> {
        let mut bytes = b"RTPS\x02\x03\x01\x0f".to_vec();
        bytes.extend_from_slice(&[9; 12]);
        for (kind, flags, body) in submessages {
            bytes.extend_from_slice(&[*kind, *flags, u8::try_from(body.len()).unwrap(), 0]);
            bytes.extend_from_slice(body);
        }
        bytes
    }

    /// A DATA with inline QoS and an announcement in its sample.
    fn announcement() -> Vec<u8> {
        let mut body = vec![0, 0, 16, 0, 0, 0, 0, 0];
        body.extend_from_slice(&EntityId::SEDP_PUBLICATIONS_WRITER.0);
        body.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        body.extend_from_slice(&[0x71, 0, 4, 0, 0, 0, 0, 1, 1, 0, 0, 0]);
        body.extend_from_slice(&[0, 3, 0, 0, 0x05, 0, 12, 0, 4, 0, 0, 0, b'p', b'w', b'r', 0, 0, 0, 0, 0]);
        body.extend_from_slice(&[0x1a, 0, 12, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        message(&[(0x0e, 1, &[7; 12]), (0x15, 0x07, &body)])
    }

    /// Offsets, names and values of an announcement, and what it lacks.
    #[test]
    fn announcements_are_shown() {
        let shown = dissect(&announcement()).json();
        assert_eq!(shown["parts"][0]["to"], "07".repeat(12));
        let data = &shown["parts"][1];
        assert_eq!((&data["offset"], &data["sequence"]), (&Json::from(36), &Json::from(1)));
        assert_eq!(data["parts"][0]["parts"][0]["value"], "disposed");
        let sample = &data["parts"][1];
        assert_eq!((&sample["name"], &sample["offset"]), (&Json::from("sample"), &Json::from(72)));
        let parameters = &sample["parts"][0]["parts"];
        assert_eq!(
            (&parameters[0]["value"], &parameters[0]["offset"]),
            (&Json::from("pwr"), &Json::from(76))
        );
        assert_eq!(parameters[1]["value"], "RELIABLE");
        assert_eq!(sample["malformed"], "announcement without parameter 0x005a");
    }

    /// A malformed submessage is named, and the next one shown all the same.
    #[test]
    fn goes_on_after_a_fault() {
        let shown = dissect(&message(&[(0x07, 1, &[0; 4]), (0x09, 3, &[]), (0x33, 1, &[1; 4])]));
        assert_eq!(shown.parts[0].malformed.as_deref(), Some("shorter than its fields"));
        assert_eq!((shown.parts[1].name.as_str(), shown.parts[2].name.as_str()), ("INFO_TS", "SRTPS_PREFIX"));
        assert!(shown.has_fault() && !shown.parts[1].has_fault());
        assert!(dissect(b"RTPX").malformed.is_some());
        let cut = dissect(&announcement()[..50]);
        assert!(cut.parts[1].has_fault());
    }

    /// Messages that the kernel joined are told apart.
    #[test]
    fn joined_messages_are_split() {
        let one = message(&[(0x0e, 1, &[7; 12]), (0x07, 1, &[0; 4])]);
        let joined = [one.clone(), announcement(), one.clone()].concat();
        assert_eq!(split(&joined), [&one[..], &announcement(), &one]);
        assert_eq!(split(&one), [&one[..]]);
        assert_eq!(split(b"RTPS"), [b"RTPS"]);
    }

    proptest! {
        /// Any octets are shown without harm, none beyond their end.
        #[test]
        fn anything_is_shown(
            edits in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..24),
            length in 0_usize..200,
            tail in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut bytes = [announcement(), announcement()[20..].to_vec()].concat();
            bytes.truncate(length);
            bytes.extend(tail);
            for (at, octet) in edits {
                let at = usize::from(at) % bytes.len().max(1);
                bytes.get_mut(at).into_iter().for_each(|place| *place = octet);
            }
            prop_assert_eq!(split(&bytes).concat(), bytes.clone());
            let shown = dissect(&bytes);
            prop_assert!(shown.parts.iter().all(|part| part.offset + part.length <= bytes.len()));
            shown.lines(0, &mut Vec::new());
            let _ = shown.json().to_string();
        }
    }
}
