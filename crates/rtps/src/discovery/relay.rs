//! The discovery relay: a participant that all others announce themselves to, and that introduces those to each other
//! that have a topic in common.
//!
//! An introduction is the announcement of one participant, unchanged, sent to the other as if that one had sent it
//! (RTPS 8.5.3): whoever hears it needs to know nothing of relays, whatever its vendor. From then on the two talk
//! directly. A participant that announces itself by unicast only announces itself to everyone it knows, so they stay
//! known to each other without the relay; for participants of other vendors, which do not, the relay keeps sending their
//! announcements on.
//!
//! Nothing is sent on for a participant that has not answered the relay, so forged announcements end here.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use units::Instant;

use crate::message::{Data, InlineQos, MessageWriter, Payload, StatusInfo};
use crate::outbox::Context;
use crate::parameter::pid;
use crate::participant::{FRAGMENT_SIZE_MAX, Participant, context};
use crate::{EntityId, Guid, GuidPrefix, SequenceNumber, VENDOR_STILLWATT, VendorId};

/// What the relay knows of a participant besides what every participant does.
#[derive(Debug, Default)]
struct Client {
    announcement: Option<Announcement>,
    /// Whom it was introduced to, and who was introduced to it.
    acquaintances: BTreeSet<GuidPrefix>,
    /// How many of its next announcements are sent on, in case an introduction was lost.
    repeats: u8,
}

/// An announcement as it came.
#[derive(Clone, Debug)]
struct Announcement {
    sequence: SequenceNumber,
    payload: Box<[u8]>,
}

/// How many announcements of a participant are sent on after its last introduction.
const REPEATS: u8 = 3;
/// Octets of an announcement that is kept to be sent on. Who announces more is known to the relay, but introduced to
/// nobody.
pub(crate) const ANNOUNCEMENT_MAX: usize = 2048;

/// The participants that a relay introduces to each other.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    clients: BTreeMap<GuidPrefix, Client>,
    /// Pairs to introduce when what came has been read.
    pending: BTreeSet<(GuidPrefix, GuidPrefix)>,
}

impl Relay {
    /// Notes that two participants have a topic in common.
    fn note_common_topic(&mut self, one: GuidPrefix, other: GuidPrefix) {
        let is_known = |client: &Client| client.acquaintances.contains(&other);
        if one != other && !self.clients.get(&one).is_some_and(is_known) {
            self.pending.insert((one.min(other), one.max(other)));
        }
    }

    fn introduce(&mut self, one: GuidPrefix, other: GuidPrefix) {
        for (who, to) in [(one, other), (other, one)] {
            let client = self.clients.entry(who).or_default();
            client.acquaintances.insert(to);
            client.repeats = REPEATS;
        }
    }

    fn forget(&mut self, prefix: GuidPrefix) {
        let acquaintances = self.clients.remove(&prefix).map(|client| client.acquaintances);
        for other in acquaintances.unwrap_or_default() {
            if let Some(client) = self.clients.get_mut(&other) {
                client.acquaintances.remove(&prefix);
            }
        }
        self.pending.retain(|(one, other)| *one != prefix && *other != prefix);
    }
}

impl Participant {
    /// Keeps what a participant announces, and sends it on to those that know it when they may have missed it, or when
    /// they need it to go on believing in that participant.
    pub(crate) fn relay_announcement(&mut self, now: Instant, prefix: GuidPrefix, data: &Data<'_>) {
        let Some(relay) = &mut self.relay else { return };
        let (Some(known), Payload::Data(payload)) = (self.remote.participants.get(&prefix), data.payload)
        else {
            return;
        };
        if payload.len() > ANNOUNCEMENT_MAX {
            return;
        }
        let client = relay.clients.entry(prefix).or_default();
        let is_same = |kept: &Announcement| kept.sequence == data.sequence && *kept.payload == *payload;
        if !client.announcement.as_ref().is_some_and(is_same) {
            client.repeats = REPEATS;
            client.announcement = Some(Announcement { sequence: data.sequence, payload: payload.into() });
        }
        let announces_itself = known.data.vendor == VENDOR_STILLWATT;
        if announces_itself && client.repeats == 0 {
            return;
        }
        client.repeats = client.repeats.saturating_sub(1);
        let to: Vec<GuidPrefix> = client.acquaintances.iter().copied().collect();
        for other in to {
            self.send_announcement_on(now, prefix, other);
        }
    }

    /// Sends a participant's goodbye on, when it does not say it to everyone itself.
    pub(crate) fn relay_goodbye(&mut self, now: Instant, prefix: GuidPrefix) {
        let (Some(relay), Some(known)) = (&self.relay, self.remote.participants.get(&prefix)) else { return };
        let Some(client) = relay.clients.get(&prefix).filter(|_| known.data.vendor != VENDOR_STILLWATT)
        else {
            return;
        };
        let vendor = known.data.vendor;
        let guid = Guid::new(prefix, EntityId::PARTICIPANT);
        let payload = super::key_payload(pid::PARTICIPANT_GUID, guid);
        let status = StatusInfo { disposed: true, unregistered: true };
        let inline = InlineQos { key_hash: Some(guid.to_bytes()), status };
        let sequence =
            client.announcement.as_ref().map_or(SequenceNumber::FIRST, |kept| kept.sequence.next());
        for other in client.acquaintances.clone() {
            self.send_as(now, (prefix, vendor), other, sequence, &inline, Payload::Key(&payload));
        }
    }

    /// Forgets a participant that is gone.
    pub(crate) fn relay_forget(&mut self, prefix: GuidPrefix) {
        if let Some(relay) = &mut self.relay {
            relay.forget(prefix);
        }
    }

    /// Notes whom a participant has to know because of an endpoint of its. Costs the number of endpoints on that topic.
    pub(crate) fn relay_endpoint(&mut self, guid: Guid) {
        let Some(relay) = &mut self.relay else { return };
        let is_writer = guid.entity.is_writer();
        let Some(endpoint) = self.remote.endpoints(is_writer).get(guid) else { return };
        let mut last = guid.prefix;
        for other in self.remote.endpoints(!is_writer).of_topic(endpoint.topic()) {
            // Those of one participant follow each other.
            if other.prefix != last && other.prefix != self.config.prefix {
                last = other.prefix;
                relay.note_common_topic(guid.prefix, last);
            }
        }
    }

    /// Introduces those to each other that have been found to have a topic in common.
    pub(crate) fn relay_introductions(&mut self, now: Instant) {
        let Some(relay) = &mut self.relay else { return };
        for (one, other) in core::mem::take(&mut relay.pending) {
            let Some(relay) = &mut self.relay else { return };
            relay.introduce(one, other);
            self.send_announcement_on(now, one, other);
            self.send_announcement_on(now, other, one);
        }
    }

    fn send_announcement_on(&mut self, now: Instant, of: GuidPrefix, to: GuidPrefix) {
        let client = self.relay.as_ref().and_then(|relay| relay.clients.get(&of));
        let Some(announcement) = client.and_then(|client| client.announcement.clone()) else { return };
        let confirmed = self.remote.participants.get(&of).filter(|known| known.is_confirmed);
        let Some(vendor) = confirmed.map(|known| known.data.vendor) else { return };
        let payload = Payload::Data(&announcement.payload);
        self.send_as(now, (of, vendor), to, announcement.sequence, &InlineQos::default(), payload);
    }

    /// Sends a participant's change of its announcement to another, as if it came from that participant.
    fn send_as(
        &mut self,
        now: Instant,
        (prefix, vendor): (GuidPrefix, VendorId),
        to: GuidPrefix,
        sequence: SequenceNumber,
        inline: &InlineQos,
        payload: Payload<'_>,
    ) {
        let Some(receiver) = self.remote.participants.get(&to).filter(|receiver| receiver.is_confirmed)
        else {
            return;
        };
        let mut cx: Context<'_> = context!(self, now);
        let mut datagram = cx.outbox.start();
        datagram.to.extend_from_slice(&receiver.metatraffic);
        let mut message = MessageWriter::of_vendor(&mut datagram.bytes, vendor, prefix);
        message.info_destination(to);
        message.data(EntityId::UNKNOWN, EntityId::SPDP_WRITER, sequence, inline, payload);
        cx.statistics.announcements_relayed += 1;
        cx.send(datagram);
    }
}
