//! What can go wrong, one enum for each operation.

use std::io;
use std::time::Duration;

/// A participant could not join the domain.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The domain has no ports.
    #[error("cannot join domain {domain}")]
    Domain {
        /// The domain asked for.
        domain: u32,
        /// Why it has none.
        source: rtps::ports::PortError,
    },
    /// All well-known ports of the domain are taken and there is no multicast to find another one.
    #[error(
        "cannot join domain {domain}: {taken} processes of this machine use it, which takes every well-known port, and \
         without multicast a process on another port would never be found: end some, use another domain, or allow \
         multicast on an interface (ip link set dev IFACE multicast on)"
    )]
    NoPort {
        /// The domain asked for.
        domain: u32,
        /// Ports found taken.
        taken: u32,
    },
    /// Another program has the port at which everyone in the domain listens for the discovery group.
    #[error(
        "cannot join domain {domain}: another program uses UDP port {port}, at which everyone in this domain listens for \
         the discovery group: end that program, or use another domain (up to 101, none of the ports is one that Linux \
         gives to programs that ask for any)"
    )]
    GroupPort {
        /// The domain asked for.
        domain: u32,
        /// The port.
        port: u16,
    },
    /// None of the interfaces that it may use is here.
    #[error(
        "cannot join domain {domain}: none of the interfaces {} is up here: name others, or none to use all",
        interfaces.join(", ")
    )]
    NoInterface {
        /// The domain asked for.
        domain: u32,
        /// The interfaces named, by name or address.
        interfaces: Vec<String>,
    },
    /// A socket could not be made.
    #[error("cannot join domain {domain}: {what}")]
    Socket {
        /// The domain asked for.
        domain: u32,
        /// What was attempted.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// TCP could not be set up.
    #[error("cannot join domain {domain} by TCP")]
    Tcp {
        /// The domain asked for.
        domain: u32,
        /// Why.
        source: crate::TcpError,
    },
    /// The system gave no random bits for the participant's identity.
    #[error("cannot join domain {domain}: the system gives no random bits: {reason}")]
    Random {
        /// The domain asked for.
        domain: u32,
        /// The system's answer.
        reason: String,
    },
    /// A thread could not be started.
    #[error("cannot start the bus thread {name}")]
    Thread {
        /// Its name.
        name: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

/// A publisher or subscriber could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The protocol refused it.
    #[error("cannot use topic {topic:?}")]
    Endpoint {
        /// The topic.
        topic: String,
        /// Why.
        source: rtps::CreateEndpointError,
    },
    /// A name or partition breaks a bound of the wire.
    #[error("cannot use topic {topic:?}")]
    Bound {
        /// The topic.
        topic: String,
        /// Which bound.
        source: rtps::discovery::data::DiscoveryDataError,
    },
    /// The filter's expression is none on the type.
    #[error("cannot subscribe to topic {topic:?}")]
    Filter {
        /// The topic.
        topic: String,
        /// Where and why.
        source: Box<rtps::filter::FilterError>,
    },
    /// A filter without the description of the type whose members it names.
    #[error(
        "cannot filter topic {topic:?}: its type's members are not known; subscribe with the type's description"
    )]
    FilterUntyped {
        /// The topic.
        topic: String,
    },
    /// The type cannot be described to peers.
    #[error("cannot announce the type of topic {topic:?}")]
    Type {
        /// The topic.
        topic: String,
        /// Why.
        source: rtps::types::object::TypeObjectError,
    },
    /// The QoS has a representation that we do not write.
    #[error("topic {topic:?}: no publisher of ours writes representation {id}; use 0 (XCDR1) or 2 (XCDR2)")]
    Representation {
        /// The topic.
        topic: String,
        /// The first representation of the QoS.
        id: i16,
    },
}

/// A sample could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The value does not fit its type's bounds.
    #[error("cannot encode a sample for topic {topic:?}")]
    Encode {
        /// The topic.
        topic: String,
        /// Which bound.
        source: rtps::cdr::CdrError,
    },
    /// The protocol refused it.
    #[error("cannot write to topic {topic:?}")]
    Write {
        /// The topic.
        topic: String,
        /// Why.
        source: rtps::WriteError,
    },
    /// A keep-all history stayed full: a reliable reader does not acknowledge.
    #[error(
        "topic {topic:?} stayed full for {waited:?}: a reliable reader does not keep up; take its samples faster, use \
         keep-last, or a longer max_blocking"
    )]
    Timeout {
        /// The topic.
        topic: String,
        /// How long it waited.
        waited: Duration,
    },
}

/// A sample could not be received.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Its bytes are not of the subscriber's type. The sample is gone; the next one may be good.
    #[error("a sample on topic {topic:?} from {publisher} is not of type {type_name}")]
    Decode {
        /// The topic.
        topic: String,
        /// The expected type.
        type_name: String,
        /// Who wrote it.
        publisher: rtps::Guid,
        /// What was wrong.
        source: rtps::cdr::CdrError,
    },
}
