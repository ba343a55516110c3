//! Drives live DDS programs in private network namespaces, for tests only.
//!
//! [`Namespace`] is a network of its own that ends with the value; [`Peer`] starts one of the programs of
//! `peers/README.md` in it and collects what it prints. A test that lacks something says so with [`skip`]. Starts
//! processes and threads, and changes the network only inside namespaces that it made.

mod namespace;
mod peer;
mod record;
mod skip;

pub use namespace::{Link, Namespace};
pub use peer::{Durability, Finished, Kind, Peer, Reliability, Running, StartPeerError};
pub use record::{record, repeats};
pub use skip::{Skip, skip};
