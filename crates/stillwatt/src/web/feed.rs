//! What the dashboard shows: the last snapshots and events, and the pages that follow them.
//!
//! Pure but for memory: reads no clock and no socket. Every buffer is bounded, and what a bound costs is counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::snapshot::{DashboardActivity, Snapshot};

/// Snapshots kept for a page that opens: ten minutes at one a second. The oldest goes first.
pub const SNAPSHOTS_MAX: usize = 600;
/// Events kept for a page that opens. The oldest goes first.
pub const EVENTS_MAX: usize = 500;
/// Pages that may follow the stream at once. One more is turned away with status 503.
pub const PAGES_MAX: usize = 32;
/// Messages that wait for a page that reads slowly. Past it the oldest are dropped, counted, and the page is told.
const MESSAGES_WAITING_MAX: usize = 64;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A rare fact worth knowing.
    Info,
    /// Recovered, but not as asked.
    Warning,
    /// Failed.
    Error,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts up by one from 1; given by the [`Feed`].
    pub sequence: u64,
    /// Wall-clock time in seconds since 1970-01-01T00:00:00Z.
    pub time_unix_seconds: f64,
    /// How much it matters.
    pub severity: Severity,
    /// What it concerns: a role, a topic, a participant.
    pub subject: String,
    /// One sentence for a person.
    pub message: String,
}

/// A snapshot or event could not be turned into text.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the {what} as JSON")]
pub struct FeedError {
    what: &'static str,
    source: serde_json::Error,
}

/// One message of the stream, already as text.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Snapshot(Arc<str>),
    Event(Arc<str>),
}

#[derive(Debug, Default)]
struct Kept {
    snapshots: VecDeque<Arc<str>>,
    snapshots_dropped_total: u64,
    events: VecDeque<Arc<str>>,
    events_dropped_total: u64,
    event_sequence: u64,
}

/// The meeting point of the producer (one call a second from any thread) and the pages.
///
/// Calls take a lock for the time of a few pointer moves and never wait for a page.
#[derive(Debug)]
pub struct Feed {
    kept: Mutex<Kept>,
    live: broadcast::Sender<Message>,
    places: Arc<Semaphore>,
    refused_total: AtomicU64,
    dropped_total: AtomicU64,
}

/// The place of one page; it is free again when this goes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) messages: broadcast::Receiver<Message>,
    _permit: OwnedSemaphorePermit,
}

impl Default for Feed {
    fn default() -> Self {
        Self::new()
    }
}

impl Feed {
    /// An empty feed.
    pub fn new() -> Self {
        Self {
            kept: Mutex::default(),
            live: broadcast::Sender::new(MESSAGES_WAITING_MAX),
            places: Arc::new(Semaphore::new(PAGES_MAX)),
            refused_total: AtomicU64::new(0),
            dropped_total: AtomicU64::new(0),
        }
    }

    /// Shows `snapshot` to all pages and keeps it. Returns its text, which is what `up --json` prints.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn publish(&self, snapshot: &Snapshot) -> Result<Arc<str>, FeedError> {
        let text: Arc<str> =
            snapshot.to_json().map_err(|source| FeedError { what: "snapshot", source })?.into();
        let mut kept = self.kept();
        if keep(&mut kept.snapshots, Arc::clone(&text), SNAPSHOTS_MAX) {
            kept.snapshots_dropped_total += 1;
        }
        drop(kept);
        // No page listens: nothing to do.
        let _ = self.live.send(Message::Snapshot(Arc::clone(&text)));
        Ok(text)
    }

    /// Shows an event to all pages and keeps it. Returns its text.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn record(
        &self,
        time_unix_seconds: f64,
        severity: Severity,
        subject: &str,
        message: &str,
    ) -> Result<Arc<str>, FeedError> {
        let mut kept = self.kept();
        let event = Event {
            sequence: kept.event_sequence + 1,
            time_unix_seconds,
            severity,
            subject: subject.to_owned(),
            message: message.to_owned(),
        };
        let text = serde_json::to_string(&event).map_err(|source| FeedError { what: "event", source })?;
        let text: Arc<str> = text.into();
        kept.event_sequence += 1;
        if keep(&mut kept.events, Arc::clone(&text), EVENTS_MAX) {
            kept.events_dropped_total += 1;
        }
        drop(kept);
        let _ = self.live.send(Message::Event(Arc::clone(&text)));
        Ok(text)
    }

    /// What the pages cost so far.
    pub fn activity(&self) -> DashboardActivity {
        let free = self.places.available_permits();
        DashboardActivity {
            clients: PAGES_MAX.saturating_sub(free) as u64,
            clients_max: PAGES_MAX as u64,
            clients_refused_total: self.refused_total.load(Ordering::Relaxed),
            messages_dropped_total: self.dropped_total.load(Ordering::Relaxed),
        }
    }

    /// The latest snapshot's text.
    pub(super) fn latest(&self) -> Option<Arc<str>> {
        self.kept().snapshots.back().cloned()
    }

    /// All snapshots kept, oldest first, as one JSON object.
    pub(super) fn history_json(&self) -> String {
        let kept = self.kept();
        let list = join(&kept.snapshots);
        let dropped = kept.snapshots_dropped_total;
        drop(kept);
        format!(
            r#"{{"schema":"stillwatt.history/1","snapshots_max":{SNAPSHOTS_MAX},"dropped_total":{dropped},"snapshots":[{list}]}}"#
        )
    }

    /// All events kept, oldest first, as one JSON object.
    pub(super) fn events_json(&self) -> String {
        let kept = self.kept();
        let list = join(&kept.events);
        let dropped = kept.events_dropped_total;
        drop(kept);
        format!(
            r#"{{"schema":"stillwatt.events/1","events_max":{EVENTS_MAX},"dropped_total":{dropped},"events":[{list}]}}"#
        )
    }

    /// A place for one more page, or `None` when all [`PAGES_MAX`] are taken.
    pub(super) fn join(&self) -> Option<Place> {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => Some(Place { messages: self.live.subscribe(), _permit: permit }),
            Err(_) => {
                self.refused_total.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Counts messages that a slow page missed.
    pub(super) fn count_dropped(&self, messages: u64) {
        self.dropped_total.fetch_add(messages, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while the lock was held leaves whole values only, so they can be used on.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends and returns whether the oldest had to go.
fn keep(list: &mut VecDeque<Arc<str>>, text: Arc<str>, most: usize) -> bool {
    let is_full = list.len() >= most;
    if is_full {
        list.pop_front();
    }
    list.push_back(text);
    is_full
}

fn join(list: &VecDeque<Arc<str>>) -> String {
    let mut text = String::with_capacity(list.iter().map(|item| item.len() + 1).sum());
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(item);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The oldest event goes when the list is full; the count says so and numbers go on.
    #[test]
    fn events_are_bounded_and_counted() {
        let feed = Feed::new();
        for index in 0..EVENTS_MAX + 3 {
            feed.record(index as f64, Severity::Info, "test", "x").unwrap();
        }
        let list: serde_json::Value = serde_json::from_str(&feed.events_json()).unwrap();
        assert_eq!(list["dropped_total"], 3);
        assert_eq!(list["events"].as_array().unwrap().len(), EVENTS_MAX);
        assert_eq!(list["events"][0]["sequence"], 4);
    }

    /// One page too many is refused and counted, and a page that leaves makes room.
    #[test]
    fn pages_are_bounded_and_counted() {
        let feed = Feed::new();
        let mut places: Vec<_> = (0..PAGES_MAX).map(|_| feed.join().unwrap()).collect();
        assert!(feed.join().is_none());
        assert_eq!(feed.activity().clients_refused_total, 1);
        assert_eq!(feed.activity().clients, PAGES_MAX as u64);
        places.pop();
        assert!(feed.join().is_some());
    }

    /// A page that does not read loses the oldest messages and learns how many.
    #[test]
    fn slow_page_loses_the_oldest() {
        let feed = Feed::new();
        let mut place = feed.join().unwrap();
        for _ in 0..MESSAGES_WAITING_MAX + 5 {
            feed.record(0.0, Severity::Info, "test", "x").unwrap();
        }
        let lagged = place.messages.try_recv().unwrap_err();
        assert!(matches!(lagged, broadcast::error::TryRecvError::Lagged(5)), "{lagged:?}");
        let Message::Event(text) = place.messages.try_recv().unwrap() else { panic!("not an event") };
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap().sequence, 6);
    }
}
