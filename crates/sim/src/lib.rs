//! The production protocol machine, [`rtps::Participant`], on a virtual network and clock.
//!
//! Pure: no socket, clock, thread or file. All chance comes from one seed, so a run is repeated exactly by its seed and
//! configuration, on every machine. [`World`] is the network; [`scale`] and [`churn`] are the scenarios that commands and
//! tests run on it. Virtual time costs nothing: a day of a quiet network takes as long as its datagrams need.

#![forbid(unsafe_code)]

pub mod churn;
mod drift;
mod network;
mod queue;
mod random;
pub mod scale;
mod world;

pub use drift::Drift;
pub use network::{NetworkConfig, NetworkCounts};
pub use random::Random;
pub use world::{DISCOVERY_GROUP, HOSTS_MAX, HostId, HostState, World, WorldError};
