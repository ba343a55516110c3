//! The bus that every power tool plugs into: DDS participants, publishers and subscribers.
//!
//! ```no_run
//! use bus::{DdsType, Participant};
//!
//! #[derive(Clone, Debug, Default, DdsType)]
//! #[dds(name = "demo::Power")]
//! struct Power {
//!     #[dds(key)]
//!     host: String,
//!     power_watts: f64,
//! }
//!
//! let participant = Participant::builder().domain(0).name("demo").build()?;
//! let publisher = participant.publisher::<Power>("demo/power").reliable().build()?;
//! let subscriber = participant.subscriber::<Power>("demo/power").reliable().build()?;
//! publisher.write(&Power { host: "n1".into(), power_watts: 250.0 })?;
//! while let Some(sample) = subscriber.recv_timeout(std::time::Duration::from_secs(1))? {
//!     println!("{:?}", sample.data);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All participants of a process share one engine: its sockets and at most four threads, whatever their number.
//! Samples are delivered in the thread that received them; an idle engine only wakes for announcements. The protocol
//! itself is in the crate `rtps`; this crate moves its bytes.

mod config;
mod core;
mod endpoint;
mod engine;
mod error;
mod event;
mod filter;
mod info;
mod keys;
mod participant;
mod publisher;
mod sample;
mod subscriber;
mod transport;
mod transports;
mod untyped;
pub mod xml;

pub use config::{EndpointBuilder, EndpointRequest, Target};
pub use error::{CreateError, JoinError, PublishError, ReceiveError};
pub use event::ParticipantEvent;
pub use filter::FilterRequest;
pub use info::{BusStatistics, EndpointInfo, ParticipantInfo, TcpInfo};
pub use participant::{Participant, ParticipantBuilder};
pub use publisher::Publisher;
pub use rtps::cdr::{Cdr, DdsType, Representation};
pub use rtps::filter::{FilterError, FilterFault};
pub use rtps::{EndpointStatus, RejectReason};
pub use sample::{Data, Matched, Sample};
pub use subscriber::{Needs, Subscriber};
pub use transport::{TcpError, TcpTransport, TlsError, TlsFiles, TransportKind};
pub use transports::Transports;
pub use untyped::{
    DynamicData, DynamicSample, Name as UntypedName, UntypedPublisher, UntypedSample, UntypedSubscriber,
};

/// The threads that this crate may start, for thread lists and tests.
pub use engine::THREAD_ROLES;
