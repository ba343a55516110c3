//! Whether writers are alive: what ours promise, and what those of others promised (DDS 2.2.3.11, RTPS 8.4.13).
//!
//! A writer with a finite lease promises to be heard of within it. Data and heartbeats are such news of a writer by
//! themselves; between them, a participant speaks for its *automatic* writers, and for its *manual-by-participant* ones
//! when the application says so, by messages of a built-in writer; a *manual-by-topic* writer speaks for itself, by a
//! heartbeat. Writers without a finite lease cost neither traffic nor timers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use crate::cdr::KeyHash;
use crate::event::Event;
use crate::outbox::Context;
use crate::participant::{FRAGMENT_SIZE_MAX, Participant, WriteSample, context};
use crate::qos::{Liveliness as LivelinessQos, LivelinessKind};
use crate::{EntityId, Guid, GuidPrefix, Lease};

/// What our writers promise, and the writers that we watch.
#[derive(Debug)]
pub(crate) struct Liveliness {
    /// Our writers with a finite lease.
    promises: BTreeMap<EntityId, Promise>,
    /// When the participant last spoke for its automatic writers.
    spoke_at: Option<Instant>,
    /// Matched writers with a finite lease.
    watched: BTreeMap<Guid, Watched>,
    /// Never later than the next thing to do.
    next: Instant,
}

impl Default for Liveliness {
    fn default() -> Self {
        Self { promises: BTreeMap::new(), spoke_at: None, watched: BTreeMap::new(), next: Instant::MAX }
    }
}

/// One of our writers.
#[derive(Debug)]
struct Promise {
    kind: LivelinessKind,
    lease: Duration,
    /// When it, or for it, was last asserted.
    asserted_at: Instant,
    /// A manual assertion that was not sent yet, because one was sent a moment ago.
    is_owed: bool,
    sent_at: Option<Instant>,
    /// It has broken its promise, and was told so.
    is_lost: bool,
}

/// A matched writer.
#[derive(Debug)]
struct Watched {
    kind: LivelinessKind,
    lease: Duration,
    until: Instant,
    is_alive: bool,
    /// Our readers that hear it.
    readers: Vec<EntityId>,
}

/// A lease has so many assertions.
const PARTS: u32 = 3;
/// A lease below this counts as this: it could not be kept.
const LEASE_MIN: Duration = Duration::from_millis(1);

/// Kinds of participant messages (RTPS 9.6.3.1).
const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
const MANUAL: [u8; 4] = [0, 0, 0, 2];

fn finite(qos: &LivelinessQos) -> Option<Duration> {
    match qos.lease {
        Lease::Finite(lease) => Some(lease.max(LEASE_MIN)),
        Lease::Infinite => None,
    }
}

impl Liveliness {
    /// When [`Participant::handle_liveliness_timeout`] has work.
    pub(crate) fn deadline(&self) -> Instant {
        self.next
    }

    fn note(&mut self, at: Instant) {
        self.next = self.next.min(at);
    }

    /// A writer of ours was made.
    pub(crate) fn promise(&mut self, now: Instant, writer: EntityId, qos: &LivelinessQos) {
        let Some(lease) = finite(qos) else { return };
        let promise = Promise {
            kind: qos.kind,
            lease,
            asserted_at: now,
            is_owed: false,
            sent_at: None,
            is_lost: false,
        };
        self.note(if qos.kind == LivelinessKind::Automatic { now } else { now + lease });
        self.promises.insert(writer, promise);
    }

    /// A writer of ours is gone.
    pub(crate) fn withdraw(&mut self, writer: EntityId) {
        self.promises.remove(&writer);
    }

    /// A reader of ours hears a remote writer from now on.
    pub(crate) fn watch(&mut self, now: Instant, writer: Guid, reader: EntityId, qos: &LivelinessQos) {
        let Some(lease) = finite(qos) else { return };
        let until = now + lease;
        let (kind, is_alive, readers) = (qos.kind, true, Vec::new());
        let watched = self.watched.entry(writer).or_insert(Watched { kind, lease, until, is_alive, readers });
        (watched.kind, watched.lease) = (kind, lease);
        if !watched.readers.contains(&reader) {
            watched.readers.push(reader);
        }
        self.note(until);
    }

    /// A reader of ours hears a remote writer no more.
    pub(crate) fn unwatch(&mut self, writer: Guid, reader: EntityId) {
        let Some(watched) = self.watched.get_mut(&writer) else { return };
        watched.readers.retain(|known| *known != reader);
        if watched.readers.is_empty() {
            self.watched.remove(&writer);
        }
    }

    /// A remote writer was heard of; returns those of its participant that are alive again.
    fn hear(&mut self, now: Instant, writer: Guid) -> Vec<Guid> {
        let Some(watched) = self.watched.get_mut(&writer) else { return Vec::new() };
        if watched.kind == LivelinessKind::ManualByParticipant {
            return self.hear_participant(now, writer.prefix, LivelinessKind::ManualByParticipant);
        }
        let (is_new, until) = (revive(watched, now), watched.until);
        self.note(until);
        is_new.then_some(writer).into_iter().collect()
    }

    /// A participant spoke for its writers of a kind; returns those that are alive again.
    fn hear_participant(&mut self, now: Instant, prefix: GuidPrefix, kind: LivelinessKind) -> Vec<Guid> {
        let (first, last) = (Guid::new(prefix, EntityId([0; 4])), Guid::new(prefix, EntityId([0xff; 4])));
        let of_kind = self.watched.range_mut(first..=last).filter(|(_, watched)| watched.kind == kind);
        let (mut revived, mut next) = (Vec::new(), self.next);
        for (guid, watched) in of_kind {
            if revive(watched, now) {
                revived.push(*guid);
            }
            next = next.min(watched.until);
        }
        self.next = next;
        revived
    }

    /// The application asserts writers of ours of a kind, or one; returns whether the promise has to be sent now.
    fn assert(&mut self, now: Instant, is_meant: impl Fn(EntityId, &Promise) -> bool) -> bool {
        let mut must_send = false;
        let mut next = self.next;
        for (writer, promise) in &mut self.promises {
            if !is_meant(*writer, promise) {
                continue;
            }
            promise.asserted_at = now;
            promise.is_lost = false;
            next = next.min(now + promise.lease);
            let part = promise.lease / PARTS;
            let may_at = promise.sent_at.map_or(now, |sent| sent + part);
            promise.is_owed = may_at > now;
            if promise.is_owed {
                next = next.min(may_at);
            } else {
                promise.sent_at = Some(now);
                must_send = true;
            }
        }
        self.next = next;
        must_send
    }
}

/// Extends the lease of a writer; true when it had ended.
fn revive(watched: &mut Watched, now: Instant) -> bool {
    watched.until = now + watched.lease;
    !core::mem::replace(&mut watched.is_alive, true)
}

impl Participant {
    /// Says that the application is alive, for its writers whose liveliness is manual by participant.
    pub fn assert_liveliness(&mut self, now: Instant) {
        let is_meant = |_: EntityId, promise: &Promise| promise.kind == LivelinessKind::ManualByParticipant;
        if self.liveliness.assert(now, is_meant) {
            self.speak(now, MANUAL);
        }
        // Our own readers hear no built-in message of ours.
        let (own, kind) = (self.config.prefix, LivelinessKind::ManualByParticipant);
        let revived = self.liveliness.hear_participant(now, own, kind);
        self.tell_alive(&revived, true);
        self.note_deadline(Some(self.liveliness.deadline()));
    }

    /// Says that a writer is alive, whose liveliness is manual by topic or by participant.
    pub fn assert_writer(&mut self, now: Instant, writer: EntityId) {
        let Some(kind) = self.liveliness.promises.get(&writer).map(|promise| promise.kind) else { return };
        match kind {
            LivelinessKind::Automatic => {}
            LivelinessKind::ManualByParticipant => self.assert_liveliness(now),
            LivelinessKind::ManualByTopic => {
                if self.liveliness.assert(now, |other, _| other == writer) {
                    self.speak_for(now, writer);
                }
                self.hear_writer(now, Guid::new(self.config.prefix, writer));
                self.note_deadline(Some(self.liveliness.deadline()));
            }
        }
    }

    /// Writing is an assertion, too, and what was written tells of it.
    pub(crate) fn note_written(&mut self, now: Instant, writer: EntityId) {
        let Some(kind) = self.liveliness.promises.get(&writer).map(|promise| promise.kind) else { return };
        let by_participant = LivelinessKind::ManualByParticipant;
        for (other, promise) in &mut self.liveliness.promises {
            if *other == writer || (kind == by_participant && promise.kind == by_participant) {
                promise.asserted_at = now;
                promise.is_lost = false;
                promise.sent_at = Some(now);
                promise.is_owed = false;
                self.liveliness.next = self.liveliness.next.min(now + promise.lease);
            }
        }
        self.note_deadline(Some(self.liveliness.deadline()));
    }

    /// Sends the built-in message of a kind.
    fn speak(&mut self, now: Instant, kind: [u8; 4]) {
        let mut payload = Vec::from([0, 1, 0, 0]);
        payload.extend_from_slice(&self.config.prefix.0);
        payload.extend_from_slice(&kind);
        // No further data.
        payload.extend_from_slice(&[0; 4]);
        let mut key = [0; 16];
        let (prefix, tail) = key.split_at_mut(12);
        prefix.copy_from_slice(&self.config.prefix.0);
        tail.copy_from_slice(&kind);
        let sample =
            WriteSample { instance: Some(KeyHash(key)), payload: &payload, ..WriteSample::default() };
        // Two instances at most, so no limit can refuse it.
        let _ = self.write(now, EntityId::PARTICIPANT_MESSAGE_WRITER, sample);
    }

    /// Sends a heartbeat that asserts its writer.
    fn speak_for(&mut self, now: Instant, writer: EntityId) {
        let mut cx: Context<'_> = context!(self, now);
        if let Some(writer) = self.writers.get_mut(&writer) {
            writer.assert_liveliness(&mut cx);
        }
    }

    /// Data or a heartbeat of a remote writer arrived.
    pub(crate) fn hear_writer(&mut self, now: Instant, writer: Guid) {
        if !self.liveliness.watched.is_empty() {
            let revived = self.liveliness.hear(now, writer);
            self.tell_alive(&revived, true);
            self.note_deadline(Some(self.liveliness.deadline()));
        }
    }

    /// Takes what the built-in reader has received of participants that speak for their writers.
    pub(crate) fn handle_participant_messages(&mut self, now: Instant) {
        let reader = EntityId::PARTICIPANT_MESSAGE_READER;
        while let Some(sample) = self.take(now, reader) {
            let prefix = sample.writer.prefix;
            let kind = match sample.payload.get(4..20).map(|key| key.split_at(12)) {
                Some((about, kind)) if about == prefix.0 && kind == AUTOMATIC => {
                    Some(LivelinessKind::Automatic)
                }
                Some((about, kind)) if about == prefix.0 && kind == MANUAL => {
                    Some(LivelinessKind::ManualByParticipant)
                }
                // Vendors have kinds of their own.
                _ => None,
            };
            if let Some(kind) = kind {
                let revived = self.liveliness.hear_participant(now, prefix, kind);
                self.tell_alive(&revived, true);
            }
            self.recycle_sample(reader, sample.payload);
        }
        self.note_deadline(Some(self.liveliness.deadline()));
    }

    fn tell_alive(&mut self, writers: &[Guid], is_alive: bool) {
        for remote in writers {
            let readers = self.liveliness.watched.get(remote).map(|watched| watched.readers.clone());
            for local in readers.unwrap_or_default() {
                let reader = self.readers.get_mut(&local);
                let has_news = reader.is_some_and(|reader| {
                    reader.note_alive(*remote, is_alive);
                    reader.take_news()
                });
                self.tell(Event::LivelinessChanged { local, remote: *remote, is_alive });
                if has_news {
                    self.tell(Event::SamplesAvailable(local));
                }
            }
        }
    }

    /// Keeps the promises of our automatic writers, sends assertions that were owed, and notices who has fallen silent.
    pub(crate) fn handle_liveliness_timeout(&mut self, now: Instant) {
        if now < self.liveliness.next {
            return;
        }
        let (mut next, mut lost, mut owed) = (Instant::MAX, Vec::new(), Vec::new());
        let automatic = self.liveliness.promises.values().filter(|one| one.kind == LivelinessKind::Automatic);
        if let Some(part) = automatic.map(|promise| promise.lease / PARTS).min() {
            let due = self.liveliness.spoke_at.map_or(now, |spoke| spoke + part);
            if due <= now {
                self.speak(now, AUTOMATIC);
                self.liveliness.spoke_at = Some(now);
            }
            next = next.min(if due <= now { now + part } else { due });
        }
        let manual =
            self.liveliness.promises.iter_mut().filter(|(_, one)| one.kind != LivelinessKind::Automatic);
        for (writer, promise) in manual {
            let may_at = promise.sent_at.map_or(now, |sent| sent + promise.lease / PARTS);
            if promise.is_owed && may_at <= now {
                promise.is_owed = false;
                promise.sent_at = Some(now);
                owed.push((*writer, promise.kind));
            } else if promise.is_owed {
                next = next.min(may_at);
            }
            let until = promise.asserted_at + promise.lease;
            if until > now {
                next = next.min(until);
            } else if !promise.is_lost {
                promise.is_lost = true;
                lost.push(*writer);
            }
        }
        let mut silent = Vec::new();
        for (guid, watched) in self.liveliness.watched.iter_mut().filter(|(_, watched)| watched.is_alive) {
            if watched.until > now {
                next = next.min(watched.until);
            } else {
                watched.is_alive = false;
                silent.push(*guid);
            }
        }
        self.liveliness.next = next;
        if owed.iter().any(|(_, kind)| *kind == LivelinessKind::ManualByParticipant) {
            self.speak(now, MANUAL);
        }
        for (writer, _) in owed.iter().filter(|(_, kind)| *kind == LivelinessKind::ManualByTopic) {
            self.speak_for(now, *writer);
        }
        lost.into_iter().for_each(|writer| self.tell(Event::LivelinessLost(writer)));
        self.tell_alive(&silent, false);
    }
}
