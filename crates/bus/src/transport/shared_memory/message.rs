//! What the processes of a machine tell each other about shared memory. Pure: bytes in, bytes out.
//!
//! A reader's process connects to the writer's and says:
//!
//! * *bell*: what wakes us; the memory file is attached. Once, before anything else.
//! * *ask*: which ring has this writer's data? The answer is *ring*, with the memory file, or *refused*.
//! * *ready*: this participant reads that ring from now on; send it nothing else.
//! * *leave*: it no longer does.
//!
//! Every message has 36 bytes: `SWR`, version 1, kind and three zero octets, the writer's GUID, the reader's prefix.

use rtps::{Guid, GuidPrefix};

/// The length of every message.
pub(crate) const MESSAGE_BYTES: usize = 36;
const MAGIC: [u8; 4] = *b"SWR\x01";

/// What a message means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reader to writer: this wakes us.
    Bell,
    /// Reader to writer: may I have the ring?
    Ask,
    /// Writer to reader: here it is.
    Ring,
    /// Writer to reader: no.
    Refused,
    /// Reader to writer: this participant reads the ring.
    Ready,
    /// Reader to writer: this participant no longer reads it.
    Leave,
}

const KINDS: [Kind; 6] = [Kind::Bell, Kind::Ask, Kind::Ring, Kind::Refused, Kind::Ready, Kind::Leave];

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) writer: Guid,
    /// The participant that has the readers.
    pub(crate) reader: GuidPrefix,
}

impl Message {
    pub(crate) fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        let kind = KINDS.iter().position(|kind| *kind == self.kind).map_or(0, |index| index as u8);
        let parts = [&MAGIC[..], &[kind, 0, 0, 0], &self.writer.to_bytes(), &self.reader.0];
        bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, from)| *to = *from);
        bytes
    }

    /// The message that a connection begins with.
    pub(crate) fn bell() -> Self {
        Self { kind: Kind::Bell, writer: Guid::default(), reader: GuidPrefix::UNKNOWN }
    }

    /// `None` when it is not one of this version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().ok()?;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let ([kind, 0, 0, 0], rest) = rest.split_first_chunk::<4>()? else { return None };
        let (writer, rest) = rest.split_first_chunk::<16>()?;
        let reader = rest.first_chunk::<12>()?;
        let kind = *KINDS.get(usize::from(*kind))?;
        let message = Self { kind, writer: Guid::from_bytes(*writer), reader: GuidPrefix(*reader) };
        (*magic == MAGIC).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind survives, and whatever is not exactly a message is none.
    #[test]
    fn messages_survive() {
        let writer = Guid::from_bytes(core::array::from_fn(|index| index as u8));
        for kind in KINDS {
            let message = Message { kind, writer, reader: GuidPrefix([7; 12]) };
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            assert_eq!(Message::decode(&bytes[1..]), None);
            assert_eq!(Message::decode(&[&bytes[..], &[0]].concat()), None);
            for (index, value) in [(0, 0), (3, 2), (4, 6), (5, 1)] {
                let mut changed = bytes;
                changed[index] = value;
                assert_eq!(Message::decode(&changed), None);
            }
        }
    }
}
