//! The participant discovery protocol: who is there (RTPS 8.5.3).
//!
//! A newcomer is answered by unicast before anything else is sent to it: some implementations otherwise wait for
//! our next periodic announcement, seconds later.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use super::data::ParticipantData;
use super::remote::{Admission, RemoteParticipant};
use crate::event::{Event, LostReason};
use crate::message::{Data, InlineQos, MessageWriter, Payload, StatusInfo};
use crate::outbox::Context;
use crate::parameter::pid;
use crate::participant::{FRAGMENT_SIZE_MAX, Participant, context};
use crate::{EntityId, GuidPrefix, Lease, Locator, SequenceNumber, VENDOR_STILLWATT};

/// The built-in endpoints that we have: announcer and detector of participants, publications and
/// subscriptions, and those by which participants speak for their writers.
pub(crate) const BUILTIN_ENDPOINTS: u32 = 0xc3f;
/// The protocol version that we speak.
const VERSION: [u8; 2] = [2, 3];

impl Participant {
    fn announcement(&self) -> ParticipantData {
        ParticipantData {
            guid: self.guid(),
            version: VERSION,
            vendor: VENDOR_STILLWATT,
            domain: Some(self.config.domain),
            builtin_endpoints: BUILTIN_ENDPOINTS,
            lease: Lease::Finite(self.config.timing.lease),
            metatraffic_unicast: self.config.metatraffic_unicast.clone(),
            metatraffic_multicast: Vec::new(),
            default_unicast: self.config.default_unicast.clone(),
            default_multicast: Vec::new(),
            name: Some(self.config.name.clone()),
            user_data: Vec::new(),
            machine_address: self.config.machine_address,
        }
    }

    fn send_announcement(&mut self, now: Instant, destination: Option<GuidPrefix>, to: &[Locator]) {
        let mut payload = Vec::new();
        self.announcement().encode(&mut payload);
        self.send_spdp(now, destination, to, StatusInfo::default(), Payload::Data(&payload));
    }

    fn send_spdp(
        &mut self,
        now: Instant,
        destination: Option<GuidPrefix>,
        to: &[Locator],
        status: StatusInfo,
        payload: Payload<'_>,
    ) {
        let inline = match payload {
            Payload::Key(_) => InlineQos { key_hash: Some(self.guid().to_bytes()), status },
            _ => InlineQos::default(),
        };
        let mut cx: Context<'_> = context!(self, now);
        let mut datagram = cx.outbox.start();
        datagram.to.extend_from_slice(to);
        let mut message = MessageWriter::new(&mut datagram.bytes, cx.prefix);
        if let Some(prefix) = destination {
            message.info_destination(prefix);
        }
        message.data(EntityId::UNKNOWN, EntityId::SPDP_WRITER, SequenceNumber::FIRST, &inline, payload);
        cx.send(datagram);
    }

    pub(crate) fn announce_when_due(&mut self, now: Instant) {
        if now < self.announce_at {
            return;
        }
        let to = self.announce_to();
        self.send_announcement(now, None, &to);
        self.announcements = self.announcements.saturating_add(1);
        self.announce_at = now + self.announce_interval();
    }

    /// Where an announcement goes. Who knows of us by unicast only, because we announce ourselves so or because we are the
    /// relay that it asks, has to hear it there.
    fn announce_to(&self) -> Vec<Locator> {
        let mut to = self.config.announce_to.clone();
        if !to.iter().any(Locator::is_multicast) || self.config.is_relay {
            let named: BTreeSet<Locator> = to.iter().copied().collect();
            let known = self.remote.participants.values().filter(|known| known.is_confirmed);
            let known: BTreeSet<Locator> =
                known.flat_map(|known| known.metatraffic.iter().copied()).collect();
            to.extend(known.difference(&named));
        }
        to
    }

    /// The time until the next announcement: short at first, so that a loss heals soon, then doubling up to the period.
    /// Participants that were started together do not announce themselves together for ever.
    fn announce_interval(&self) -> Duration {
        let timing = &self.config.timing;
        let Some(doublings) = self.announcements.checked_sub(timing.burst_count) else {
            return timing.burst_period;
        };
        let factor = 2_u32.saturating_pow(doublings.saturating_add(1));
        let interval = timing.burst_period.saturating_mul(factor).min(timing.announce_period);
        let [.., spread] = self.config.prefix.0;
        interval - interval * u32::from(spread) / (u32::from(u8::MAX) * 8)
    }

    /// Adds a destination for announcements, and announces to it at once. Known ones are ignored.
    pub fn add_peer(&mut self, now: Instant, peer: Locator) {
        if !self.config.announce_to.contains(&peer) {
            self.config.announce_to.push(peer);
            self.send_announcement(now, None, &[peer]);
        }
    }

    /// Announces once to `to`, such as a peer that has just connected.
    pub fn announce(&mut self, now: Instant, to: Locator) {
        if !self.is_closed {
            self.send_announcement(now, None, &[to]);
        }
    }

    /// Says goodbye to everyone. Drain the transmissions afterwards; the participant neither hears nor says anything
    /// more, since whatever it said would bring it back to life at its peers.
    pub fn close(&mut self, now: Instant) {
        for writer in self.writers.keys().copied().collect::<Vec<_>>() {
            self.flush(now, writer);
        }
        let mut to = self.config.announce_to.clone();
        for locator in self.remote.participants.values().flat_map(|remote| &remote.metatraffic) {
            if !to.contains(locator) {
                to.push(*locator);
            }
        }
        let payload = super::key_payload(pid::PARTICIPANT_GUID, self.guid());
        let status = StatusInfo { disposed: true, unregistered: true };
        self.send_spdp(now, None, &to, status, Payload::Key(&payload));
        self.is_closed = true;
    }

    pub(crate) fn handle_announcement(
        &mut self,
        now: Instant,
        source: GuidPrefix,
        (from, length): (Locator, usize),
        data: &Data<'_>,
        is_directed: bool,
    ) {
        let status = data.inline_qos.as_ref().map(|inline| inline.status_info()).unwrap_or_default();
        if status.disposed || status.unregistered || matches!(data.payload, Payload::Key(_)) {
            self.relay_goodbye(now, source);
            self.forget_participant(source, LostReason::Left);
            return;
        }
        let Payload::Data(payload) = data.payload else { return };
        let Ok(announced) = ParticipantData::decode(payload) else {
            self.statistics.malformed += 1;
            return;
        };
        let prefix = announced.guid.prefix;
        let is_foreign = announced.domain.is_some_and(|domain| domain != self.config.domain);
        if is_foreign || prefix == self.config.prefix || prefix != source {
            return;
        }
        match self.remote.participants.contains_key(&prefix) {
            true => self.refresh(now, from, announced),
            false => self.welcome(now, (from, length), announced),
        }
        if is_directed {
            self.confirm_participant(now, prefix);
        }
        self.relay_announcement(now, prefix, data);
    }

    /// A participant has answered what only a receiver of ours can know.
    pub(crate) fn confirm_participant(&mut self, now: Instant, prefix: GuidPrefix) {
        if self.remote.confirm(prefix, &mut self.outbox.guard) {
            self.match_builtin_endpoints(now, prefix);
        }
    }

    /// Takes what a known participant announces again, and its new addresses if they have changed.
    fn refresh(&mut self, now: Instant, from: Locator, announced: ParticipantData) {
        let prefix = announced.guid.prefix;
        let (metatraffic, default) = self.addresses(&announced, from);
        let Some(known) = self.remote.participants.get_mut(&prefix) else { return };
        // Compared as announced: where an announcement comes from differs from one network to the next.
        let has_moved = known.data.metatraffic_unicast != announced.metatraffic_unicast
            || known.data.default_unicast != announced.default_unicast;
        known.data = announced;
        let may_be_new = known.note_announcement(now) && known.is_confirmed;
        if has_moved {
            let addresses = (metatraffic.clone(), default);
            self.remote.readdress(prefix, addresses, &mut self.outbox.guard);
            self.readdress_builtin_endpoints(prefix, &metatraffic);
            self.readdress_endpoints(now, prefix);
        }
        self.remote.touch(prefix, now);
        if may_be_new {
            // It may have begun anew and not know us: what it then says to us shows whether it has.
            self.send_announcement(now, Some(prefix), &metatraffic);
        }
        self.ask_to_confirm(now, prefix);
        self.note_deadline(Some(self.remote.next_expiry()));
    }

    /// Where a participant's built-in endpoints and its others are reached.
    fn addresses(&self, announced: &ParticipantData, from: Locator) -> (Vec<Locator>, Vec<Locator>) {
        let reach = &self.config.reach;
        let metatraffic = reach.choose(&announced.metatraffic_unicast, Some(from));
        let default = reach.choose(&announced.default_unicast, Some(from));
        if metatraffic.is_empty() { (default.clone(), default) } else { (metatraffic, default) }
    }

    pub(crate) fn welcome(
        &mut self,
        now: Instant,
        (from, length): (Locator, usize),
        mut announced: ParticipantData,
    ) {
        match self.remote.admit(&self.config.limits) {
            Admission::Welcome => {}
            Admission::Evict(victim) => {
                self.statistics.discovery_refused += 1;
                self.forget_participant(victim, LostReason::LeaseExpired);
            }
            Admission::Refused => {
                self.statistics.discovery_refused += 1;
                return;
            }
        }
        let prefix = announced.guid.prefix;
        let (metatraffic, default) = self.addresses(&announced, from);
        let name = announced.name.clone();
        // Kept of the next announcement: whoever has not answered is not worth much memory.
        announced.user_data = Vec::new();
        let remote = RemoteParticipant::new(now, announced, metatraffic.clone(), default);
        let addresses = remote.addresses();
        self.remote.insert(prefix, remote, &mut self.outbox.guard);
        self.outbox.guard.allow(&addresses, length);
        self.note_deadline(self.remote.participants.get(&prefix).map(|remote| remote.expires_at));
        // One reply, since there is only one until the newcomer answers.
        self.outbox.join_begin();
        self.send_announcement(now, Some(prefix), &metatraffic);
        if self.remote.match_early(prefix) {
            self.match_builtin_endpoints(now, prefix);
        }
        self.outbox.join_end(now, &self.config.limits, &mut self.statistics);
        self.tell(Event::ParticipantDiscovered { prefix, name });
    }

    /// A participant that has not answered has sent so many octets: as many, times three, may be sent to it.
    pub(crate) fn allow_replies(&mut self, prefix: GuidPrefix, octets: usize) {
        if !self.outbox.guard.is_idle()
            && let Some(known) = self.remote.participants.get(&prefix).filter(|known| !known.is_confirmed)
        {
            self.outbox.guard.allow(&known.addresses(), octets);
        }
    }

    /// Asks a participant that has not answered once more: until it does, little is sent to it.
    fn ask_to_confirm(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(known) = self.remote.participants.get(&prefix).filter(|known| !known.is_confirmed) else {
            return;
        };
        let to = known.metatraffic.clone();
        self.outbox.join_begin();
        self.send_announcement(now, Some(prefix), &to);
        self.knock_at_builtin_endpoints(now, prefix);
        self.outbox.join_end(now, &self.config.limits, &mut self.statistics);
    }

    pub(crate) fn expire_participants(&mut self, now: Instant) {
        for prefix in self.remote.expired(now) {
            self.forget_participant(prefix, LostReason::LeaseExpired);
        }
    }

    pub(crate) fn forget_participant(&mut self, prefix: GuidPrefix, reason: LostReason) {
        if self.remote.remove(prefix, &mut self.outbox.guard).is_none() {
            return;
        }
        for guid in self.remote.endpoints_of(prefix) {
            self.forget_remote(guid);
        }
        self.unmatch_builtin_endpoints(prefix);
        self.relay_forget(prefix);
        self.tell(Event::ParticipantLost { prefix, reason });
    }
}
