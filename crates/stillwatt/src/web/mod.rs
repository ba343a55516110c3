//! The dashboard: one page on loopback that shows each [`Snapshot`](crate::snapshot::Snapshot) as it is made.
//!
//! [`Feed`] takes snapshots and events from whoever produces them and keeps the last ten minutes; [`bind`] and
//! [`Dashboard::start`] offer them to browsers. Read-only: nothing that a browser sends changes anything.

mod assets;
mod connection;
mod dashboard;
mod feed;
mod guard;
mod server;

pub use dashboard::{Dashboard, ROLE};
pub use feed::{EVENTS_MAX, Event, Feed, FeedError, PAGES_MAX, SNAPSHOTS_MAX, Severity};
pub use server::{BindError, Bound, PORT_DEFAULT, PORTS_TRIED, bind};
