//! What a participant tells about its domain and itself.

use std::net::SocketAddr;

use rtps::qos::Qos;
use rtps::{Guid, GuidPrefix, Locator};

/// A remote participant.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticipantInfo {
    /// Its identity.
    pub prefix: GuidPrefix,
    /// The name it gave.
    pub name: Option<String>,
    /// Who made its DDS.
    pub vendor: rtps::VendorId,
    /// Where it receives user data.
    pub locators: Vec<Locator>,
}

/// A remote writer or reader.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointInfo {
    /// Its identity.
    pub guid: Guid,
    /// Writer or reader.
    pub is_writer: bool,
    /// Its topic.
    pub topic: String,
    /// Its type's name.
    pub type_name: String,
    /// Its quality of service, partitions included.
    pub qos: Qos,
}

/// Counters since the participant was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusStatistics {
    /// What the protocol counted for this participant.
    pub protocol: rtps::Statistics,
    /// Events that gave way to newer ones before [`crate::Participant::take_events`] took them.
    pub events_dropped: u64,
    /// Datagrams of this process that the system refused to send.
    pub send_failures: u64,
    /// Datagrams between participants of this process that found their queue full.
    pub local_overflows: u64,
    /// Messages of this process that a TCP peer was too slow to take; [`BusStatistics::send_failures`] has them too.
    pub tcp_overflows: u64,
    /// TCP connections that this process refused: strangers, peers without the right certificate, or too many.
    pub tcp_refusals: u64,
    /// How often this process was too slow to read another one's shared memory, which lost it some datagrams.
    pub shared_memory_overruns: u64,
}

/// How it stands with the TCP connections of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Where connections are accepted, with the ports that the system chose.
    pub listening: Vec<SocketAddr>,
    /// The peers of the open connections.
    pub connected: Vec<SocketAddr>,
    /// The addresses that were to be connected to and are not, each with the reason of the last failure.
    pub failing: Vec<(SocketAddr, String)>,
    /// The last 16 peers that were refused, oldest first, each with the reason.
    pub refused: Vec<(SocketAddr, String)>,
}
