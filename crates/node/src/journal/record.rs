//! The journal's lines: check sum, kind and percent-encoded fields, one record a line. Pure.

use super::Owner;

/// One line of the journal after its first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// What a setting held before its first change.
    Snapshot { path: String, old: String },
    /// What will be written next.
    Intend { path: String, text: String },
    /// What the setting showed after the write.
    Applied { path: String, text: String },
    /// The old value is back; the setting is no longer journalled.
    Restored { path: String },
}

/// What a journal file holds.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) owner: Option<Owner>,
    pub(super) records: Vec<Record>,
    pub(super) lines_damaged: usize,
}

impl Record {
    /// The record as one line with its line end.
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Snapshot { path, old } => line(&["snapshot", path, old]),
            Self::Intend { path, text } => line(&["intend", path, text]),
            Self::Applied { path, text } => line(&["applied", path, text]),
            Self::Restored { path } => line(&["restored", path]),
        }
    }

    fn decode(fields: &[String]) -> Option<Self> {
        match fields {
            [kind, path, text] => {
                let (path, text) = (path.clone(), text.clone());
                match kind.as_str() {
                    "snapshot" => Some(Self::Snapshot { path, old: text }),
                    "intend" => Some(Self::Intend { path, text }),
                    "applied" => Some(Self::Applied { path, text }),
                    _ => None,
                }
            }
            [kind, path] if kind == "restored" => Some(Self::Restored { path: path.clone() }),
            _ => None,
        }
    }
}

/// Reads a journal file. A line whose check sum or form is wrong is counted and passed over; the others stand on
/// their own.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut parsed = Parsed::default();
    for bytes in bytes.split(|byte| *byte == b'\n').filter(|bytes| !bytes.is_empty()) {
        let fields = std::str::from_utf8(bytes).ok().and_then(fields);
        let owner = fields.as_deref().and_then(Owner::decode);
        match (owner, fields.as_deref().and_then(Record::decode)) {
            (Some(owner), _) => parsed.owner = Some(owner),
            (None, Some(record)) => parsed.records.push(record),
            (None, None) => parsed.lines_damaged += 1,
        }
    }
    parsed
}

/// A line of fields with its check sum in front.
pub(super) fn line(fields: &[&str]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| escape(field)).collect();
    let body = fields.join(" ");
    format!("{:08x} {body}\n", checksum(body.as_bytes()))
}

fn fields(line: &str) -> Option<Vec<String>> {
    let (sum, body) = line.split_once(' ')?;
    if sum.len() != 8 || u32::from_str_radix(sum, 16).ok()? != checksum(body.as_bytes()) {
        return None;
    }
    body.split(' ').map(unescape).collect()
}

/// Encodes all but the plain characters of paths and numbers, so that a field has no blank and no line end.
fn escape(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    for byte in field.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b':' | b'_' | b'-' | b'.' | b',') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

fn unescape(field: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let (hex, tail) = tail.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

/// CRC-32 as of IEEE 802.3, bit by bit: lines are short.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = sum & 1;
            sum = (sum >> 1) ^ (0xedb8_8320 * carry);
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The check sum is the common one.
    #[test]
    fn checksum_is_crc32() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    proptest! {
        /// Any path and text come back, whatever bytes they hold.
        #[test]
        fn records_come_back(path in ".*", text in "(?s).*") {
            let record = Record::Snapshot { path, old: text };
            let parsed = parse(record.encode().as_bytes());
            prop_assert_eq!(parsed.records, vec![record]);
        }

        /// A cut or changed file is read up to the damage and beyond it, and never as something that was not written.
        #[test]
        fn damage_is_noticed(cut in 0_usize..200, flip in 0_usize..200, bit in 0_u8..8) {
            let records: Vec<Record> = (0..4)
                .map(|n| Record::Intend { path: format!("sys/knob{n}"), text: format!("{n}00000\n") })
                .collect();
            let mut bytes: Vec<u8> = records.iter().flat_map(|record| record.encode().into_bytes()).collect();
            bytes.truncate(cut.max(1));
            let index = flip % bytes.len();
            bytes[index] ^= 1 << bit;
            for record in parse(&bytes).records {
                prop_assert!(records.contains(&record), "{:?}", record);
            }
        }

        /// Garbage is damage, not a panic.
        #[test]
        fn garbage_is_damage(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let parsed = parse(&bytes);
            prop_assert!(parsed.records.is_empty() && parsed.owner.is_none());
        }
    }
}
