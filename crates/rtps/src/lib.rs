//! The DDS/RTPS protocol as a state machine without I/O.
//!
//! Bytes, instants and application calls go in; bytes, events and deadlines come out. There is no socket, clock,
//! thread or random source in this crate (`no_std` with `alloc` keeps them out), so the same code runs behind real
//! sockets in `bus` and on a virtual network in tests. Follows DDSI-RTPS 2.5 (message versions 2.x are understood)
//! and DDS-XTypes 1.3 for CDR; section numbers in the modules refer to those documents.
//!
//! Bytes from the network are never trusted: no length claimed by a datagram sizes an allocation, every set, cache
//! and table has a bound in [`Limits`], and what is refused is counted.
//! Senders are not authenticated, though: who copies another participant's GUID can disturb what that one says, but
//! nobody else.

#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

extern crate alloc;
extern crate self as rtps;
#[cfg(test)]
extern crate std;

pub mod cdr;
mod deadline;
pub mod discovery;
mod endianness;
mod event;
pub mod filter;
mod fragment;
mod guard;
mod guid;
mod history;
mod limits;
mod liveliness;
mod locator;
pub mod message;
mod network;
mod outbox;
pub mod parameter;
mod participant;
pub mod partition;
pub mod ports;
pub mod qos;
mod reach;
mod reader;
mod sequence;
mod status;
mod time;
pub mod types;
mod writer;

pub use discovery::endpoints::RemoteEndpoint;
pub use discovery::remote::RemoteParticipant;
pub use endianness::Endianness;
pub use event::{Event, LostReason};
pub use fragment::fragment_total;
pub use guid::{EntityId, Guid, GuidPrefix, VENDOR_STILLWATT, VendorId};
pub use history::RawSample;
pub use limits::{Limits, Statistics, Timing};
pub use locator::{Locator, LocatorKind};
pub use network::{Network, NetworkError};
pub use outbox::Datagram;
pub use participant::{
    CreateEndpointError, EndpointConfig, FRAGMENT_SIZE_MAX, Participant, ParticipantConfig,
    TYPE_INFORMATION_MAX, WriteError, WriteSample,
};
pub use reach::{MachineAddress, Reach};
pub use reader::{HashKey, KeyHasher};
pub use sequence::{FragmentNumber, FragmentNumberSet, NumberSetError, SequenceNumber, SequenceNumberSet};
pub use status::{EndpointStatus, RejectReason};
pub use time::{Lease, WireTime};
pub use writer::{KeySerializer, SerializeKey};
