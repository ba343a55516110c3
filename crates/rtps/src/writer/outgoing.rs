//! Changes on their way out: whole, in fragments or packed together, and gaps in their place.

use alloc::vec::Vec;

use crate::cdr::KeyHash;
use crate::fragment::fragment_total;
use crate::history::Change;
use crate::message::{DataFrag, Gap, InlineQos, MessageWriter, Payload, StatusInfo};
use crate::outbox::{Context, Datagram};
use crate::{EntityId, FragmentNumber, Guid, Locator, SequenceNumber, SequenceNumberSet, WireTime};

/// Small submessages are packed into datagrams of about this size.
pub(super) const PACK_BYTES: usize = 1400;

/// A change on its way out, borrowed from the application or the history.
pub(super) struct Outgoing<'a> {
    pub(super) sequence: SequenceNumber,
    pub(super) instance: Option<KeyHash>,
    pub(super) status: StatusInfo,
    pub(super) timestamp: Option<WireTime>,
    pub(super) payload: &'a [u8],
}

impl<'a> From<&'a Change> for Outgoing<'a> {
    fn from(change: &'a Change) -> Self {
        Self {
            sequence: change.sequence,
            instance: change.instance,
            status: change.status,
            timestamp: change.timestamp,
            payload: &change.payload,
        }
    }
}

impl Outgoing<'_> {
    fn is_key(&self) -> bool {
        self.status.disposed || self.status.unregistered
    }

    /// Whether it is too large for one datagram.
    pub(super) fn is_fragmented(&self, cx: &Context<'_>) -> bool {
        self.payload.len() > usize::from(cx.fragment_size)
    }

    /// How many fragments it has.
    pub(super) fn total(&self, cx: &Context<'_>) -> u32 {
        fragment_total(self.payload.len(), cx.fragment_size)
    }

    fn inline(&self) -> InlineQos {
        InlineQos { key_hash: self.instance.map(|key| key.0), status: self.status }
    }

    fn body(&self) -> Payload<'_> {
        match self.payload {
            // The key hash among the parameters says which instance ends.
            [] if self.is_key() => Payload::None,
            payload if self.is_key() => Payload::Key(payload),
            payload => Payload::Data(payload),
        }
    }
}

/// To whom something is sent: to every matched reader, or to one.
#[derive(Clone, Copy)]
pub(super) struct Audience<'a> {
    pub(super) writer: EntityId,
    /// `None` for every reader at these locators.
    pub(super) reader: Option<Guid>,
    pub(super) to: &'a [Locator],
}

impl Audience<'_> {
    /// The reader's entity, as submessages name it.
    pub(super) fn entity(&self) -> EntityId {
        self.reader.map_or(EntityId::UNKNOWN, |reader| reader.entity)
    }

    /// Builds one message and queues it.
    pub(super) fn send(&self, cx: &mut Context<'_>, build: impl FnOnce(&mut MessageWriter<'_>)) {
        let mut datagram = cx.outbox.start();
        datagram.to.extend_from_slice(self.to);
        let mut message = MessageWriter::new(&mut datagram.bytes, cx.prefix);
        if let Some(reader) = self.reader {
            message.info_destination(reader.prefix);
        }
        build(&mut message);
        cx.send(datagram);
    }

    /// Sends a change in one datagram, followed by what `then` adds.
    pub(super) fn send_whole(
        &self,
        cx: &mut Context<'_>,
        change: &Outgoing<'_>,
        then: impl FnOnce(&mut MessageWriter<'_>),
    ) {
        self.send(cx, |message| {
            if let Some(time) = change.timestamp {
                message.info_timestamp(time);
            }
            message.data(self.entity(), self.writer, change.sequence, &change.inline(), change.body());
            then(message);
        });
    }

    /// Sends one fragment in a datagram of its own.
    pub(super) fn send_fragment(&self, cx: &mut Context<'_>, change: &Outgoing<'_>, number: u32) {
        let size = usize::from(cx.fragment_size);
        let start = (number as usize - 1) * size;
        let end = (start + size).min(change.payload.len());
        let Some(bytes) = change.payload.get(start..end) else { return };
        let Ok(sample_size) = u32::try_from(change.payload.len()) else { return };
        let fragment = DataFrag {
            reader: self.entity(),
            writer: self.writer,
            sequence: change.sequence,
            first_fragment: FragmentNumber(number),
            fragment_count: 1,
            fragment_size: cx.fragment_size,
            sample_size,
            inline_qos: None,
            is_key: change.is_key(),
            bytes,
        };
        self.send(cx, |message| {
            if let Some(time) = change.timestamp {
                message.info_timestamp(time);
            }
            message.data_frag(&fragment, &change.inline());
        });
    }
}

/// Small changes for one reader, packed together.
pub(super) struct Batch<'a> {
    audience: Audience<'a>,
    datagram: Option<Datagram>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(audience: Audience<'a>) -> Self {
        Self { audience, datagram: None }
    }

    /// Whether a change is small enough to be packed.
    pub(super) fn fits(change: &Outgoing<'_>, cx: &Context<'_>) -> bool {
        change.payload.len() <= PACK_BYTES && !change.is_fragmented(cx)
    }

    pub(super) fn add(&mut self, cx: &mut Context<'_>, change: &Outgoing<'_>) {
        let full = |datagram: &Datagram| datagram.bytes.len() + change.payload.len() > PACK_BYTES;
        if self.datagram.as_ref().is_some_and(full) {
            self.flush(cx);
        }
        let mut datagram = match self.datagram.take() {
            Some(datagram) => datagram,
            None => {
                let mut datagram = cx.outbox.start();
                let mut message = MessageWriter::new(&mut datagram.bytes, cx.prefix);
                if let Some(reader) = self.audience.reader {
                    message.info_destination(reader.prefix);
                }
                datagram
            }
        };
        append(&mut datagram, self.audience.writer, self.audience.entity(), change);
        self.datagram = Some(datagram);
    }

    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        if let Some(mut datagram) = self.datagram.take() {
            datagram.to.extend_from_slice(self.audience.to);
            cx.send(datagram);
        }
    }
}

/// Adds a change to a datagram that may hold others.
pub(super) fn append(datagram: &mut Datagram, writer: EntityId, reader: EntityId, change: &Outgoing<'_>) {
    let mut message = MessageWriter::append(&mut datagram.bytes);
    // Without a time stamp the previous one in this datagram must not apply.
    message.info_timestamp(change.timestamp.unwrap_or(WireTime::INVALID));
    message.data(reader, writer, change.sequence, &change.inline(), change.body());
}

/// Says that `[start, end)` will never come.
pub(super) fn gap(reader: EntityId, writer: EntityId, start: SequenceNumber, end: SequenceNumber) -> Gap {
    Gap { reader, writer, start, list: SequenceNumberSet::empty(end) }
}

/// As few gaps as name exactly the numbers in `gone` (ascending).
pub(super) fn gaps(reader: EntityId, writer: EntityId, gone: &[SequenceNumber]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    for sequence in gone {
        match gaps.last_mut() {
            Some(last) if last.list.bit_count() == 0 && last.list.base() == *sequence => {
                last.list = SequenceNumberSet::empty(sequence.next());
            }
            Some(last) => {
                if !last.list.insert(*sequence) {
                    gaps.push(gap(reader, writer, *sequence, sequence.next()));
                }
            }
            None => gaps.push(gap(reader, writer, *sequence, sequence.next())),
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps name exactly the given numbers, whatever their pattern.
    #[test]
    fn gaps_name_exactly_what_is_gone() {
        let patterns: [&[u64]; 5] = [&[], &[4], &[1, 2, 3], &[1, 3, 4, 250, 256], &[1, 2, 9, 400, 401, 700]];
        for pattern in patterns {
            let gone: Vec<_> = pattern.iter().copied().map(SequenceNumber).collect();
            let mut named = Vec::new();
            for gap in gaps(EntityId::UNKNOWN, EntityId::UNKNOWN, &gone) {
                named.extend((gap.start.0..gap.list.base().0).map(SequenceNumber));
                named.extend(gap.list.iter());
            }
            assert_eq!(named, gone);
        }
    }
}
