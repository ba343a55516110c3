//! What a participant tells about its domain and itself.

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
}
