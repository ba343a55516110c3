//! The end of local endpoints.

use alloc::vec::Vec;
use core::time::Duration;
use units::Instant;

use super::{Participant, WriteSample};
use crate::EntityId;
use crate::message::StatusInfo;
use crate::writer::Writer;

/// How long a deleted writer waits until its readers have acknowledged that it disposed of its instances.
const DISPOSAL_MAX: Duration = Duration::from_secs(2);

impl Participant {
    /// Removes a writer and tells its peers. One that disposes of its instances then is announced as gone when its
    /// reliable readers have acknowledged that, or after two seconds: who hears first that it is gone would take no
    /// more from it.
    pub fn delete_writer(&mut self, now: Instant, writer: EntityId) {
        if writer.is_builtin() {
            return;
        }
        let is_disposing = self.dispose_registered(now, writer);
        self.flush(now, writer);
        let Some(endpoint) = self.writers.get_mut(&writer) else { return };
        if is_disposing && !endpoint.is_acknowledged() {
            endpoint.closes_at = Some(now + DISPOSAL_MAX);
            self.note_deadline(Some(now + DISPOSAL_MAX));
        } else {
            self.remove_writer(now, writer);
        }
        self.events.forget(writer);
    }

    /// Whether a deleted writer still waits for its readers. Whoever closes the participant before tells them that it
    /// is gone without that they have heard what it disposed of.
    pub fn is_deleting(&self) -> bool {
        self.writers.values().any(|writer| writer.closes_at.is_some())
    }

    /// Disposes of what a writer still writes, when its QoS says so; false when there is nothing.
    fn dispose_registered(&mut self, now: Instant, writer: EntityId) -> bool {
        let registered = self.writers.get_mut(&writer).map(Writer::take_registered).unwrap_or_default();
        let status = StatusInfo { disposed: true, unregistered: true };
        let samples = registered.iter().map(|(key, payload)| {
            let sample = WriteSample { instance: Some(*key), status, payload, ..WriteSample::default() };
            // A full history: a reader that lags so far learns of the end when the writer is gone.
            self.write(now, writer, sample).is_ok()
        });
        samples.filter(|is_written| *is_written).count() > 0
    }

    /// Removes the deleted writers that have nothing left to wait for.
    pub(super) fn finish_deletions(&mut self, now: Instant) {
        let is_done = |writer: &&Writer| {
            writer.closes_at.is_some_and(|closes_at| closes_at <= now || writer.is_acknowledged())
        };
        let done: Vec<_> = self.writers.values().filter(is_done).map(|writer| writer.entity).collect();
        done.into_iter().for_each(|writer| self.remove_writer(now, writer));
    }

    fn remove_writer(&mut self, now: Instant, writer: EntityId) {
        if self.writers.remove(&writer).is_some() {
            self.events.forget(writer);
            self.liveliness.withdraw(writer);
            self.retract_writer(now, writer);
            self.forget_own(writer);
        }
    }

    /// Removes a reader and tells its peers.
    pub fn delete_reader(&mut self, now: Instant, reader: EntityId) {
        if !reader.is_builtin() && self.readers.remove(&reader).is_some() {
            self.events.forget(reader);
            for route in self.routes.values_mut() {
                route.retain(|entity| *entity != reader);
            }
            self.routes.retain(|_, route| !route.is_empty());
            self.retract_reader(now, reader);
            self.forget_own(reader);
        }
    }

    /// Takes a deleted endpoint off its topic.
    fn forget_own(&mut self, entity: EntityId) {
        self.topics.retain(|_, own| {
            own.writers.retain(|writer| *writer != entity);
            own.readers.retain(|reader| *reader != entity);
            !own.writers.is_empty() || !own.readers.is_empty()
        });
    }
}
