//! What a participant and its endpoints are told, and why they may refuse.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

#[cfg(doc)]
use crate::Event;
use crate::cdr::KeyHash;
use crate::discovery::data::DiscoveryDataError;
use crate::message::StatusInfo;
use crate::partition::PartitionRule;
use crate::qos::Qos;
use crate::{EntityId, GuidPrefix, Limits, Locator, MachineAddress, Network, Reach, Timing, WireTime};

/// Everything a participant is told at its start.
#[derive(Clone, Debug)]
pub struct ParticipantConfig {
    /// Its identity, from [`GuidPrefix::from_random`].
    pub prefix: GuidPrefix,
    /// The DDS domain. Announcements of other domains are ignored.
    pub domain: u32,
    /// A name for people.
    pub name: String,
    /// Where its discovery traffic is received.
    pub metatraffic_unicast: Vec<Locator>,
    /// Where its user data is received.
    pub default_unicast: Vec<Locator>,
    /// Where announcements are sent: the discovery multicast group and initial peers. Without a group, they are also sent
    /// to every participant that is known, since those may hear of us no other way.
    pub announce_to: Vec<Locator>,
    /// What it can send to.
    pub reach: Reach,
    /// Where on its machine it is, for transports within the machine.
    pub machine_address: Option<MachineAddress>,
    /// The networks whose datagrams it heeds; none for all. Does not concern transports without IP addresses, nor open
    /// TCP connections.
    pub allowed_networks: Vec<Network>,
    /// Whether it introduces participants to each other that have a topic in common, for those that announce themselves to
    /// it only.
    pub is_relay: bool,
    /// How partition names match.
    pub partition_rule: PartitionRule,
    /// Samples above this many bytes travel in fragments of this size; at most 65,000 fits a UDP datagram.
    pub fragment_size: u16,
    /// Bounds.
    pub limits: Limits,
    /// Periods.
    pub timing: Timing,
}

/// The largest fragment that fits a UDP datagram together with everything that may accompany it.
pub const FRAGMENT_SIZE_MAX: u16 = 65_000;

/// What a local writer or reader is.
#[derive(Clone, Debug, Default)]
pub struct EndpointConfig {
    /// Topic name.
    pub topic: String,
    /// Type name: peers match by it.
    pub type_name: String,
    /// Whether the topic has instances.
    pub is_keyed: bool,
    /// Quality of service.
    pub qos: Qos,
    /// Groups at which a reader hears data besides its participant's unicast address; ignored for a writer.
    pub multicast: Vec<Locator>,
    /// What is announced about the type besides its name: [`TypeInformation::to_bytes`], at most
    /// [`TYPE_INFORMATION_MAX`] octets. Without, peers match by the type's name alone.
    ///
    /// [`TypeInformation::to_bytes`]: crate::types::object::TypeInformation::to_bytes
    pub type_information: Option<Vec<u8>>,
}

/// Octets of a local endpoint's type information: what a parameter of its announcement holds with room to spare.
pub const TYPE_INFORMATION_MAX: usize = 32_000;

/// Why an endpoint was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateEndpointError {
    /// Topic or type name is empty or longer than 255 bytes.
    #[error("the {what} name {name:?} must have 1 to 255 bytes")]
    Name {
        /// "topic" or "type".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name or the list of partitions is one that peers would refuse.
    #[error(
        "the endpoint on topic {topic:?} could not be announced: {reason}; choose other names or partitions"
    )]
    Announcement {
        /// Its topic.
        topic: String,
        /// What peers would refuse.
        #[source]
        reason: DiscoveryDataError,
    },
    /// The type information is too long for an announcement.
    #[error(
        "type information of {octets} octets on topic {topic:?} exceeds {TYPE_INFORMATION_MAX}: do not announce it"
    )]
    TypeInformation {
        /// Its topic.
        topic: String,
        /// Its length.
        octets: usize,
    },
    /// A reader whose time-based filter lets fewer samples pass than its deadline asks for.
    #[error(
        "the reader on topic {topic:?} takes a sample every {separation:?} at most and wants one every {deadline:?}: \
         choose a time-based filter of at most the deadline"
    )]
    Inconsistent {
        /// Its topic.
        topic: String,
        /// Its time-based filter.
        separation: Duration,
        /// Its deadline.
        deadline: Duration,
    },
    /// All 2^24 entity keys have been used.
    #[error("this participant has made 2^24 endpoints: make a new participant")]
    Exhausted,
}

/// Why a sample was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// There is no such writer.
    #[error("no writer {0} in this participant")]
    NoWriter(EntityId),
    /// The keep-all history is full of unacknowledged samples; wait for [`Event::Acknowledged`].
    #[error("the history is full of samples that a reader has not acknowledged: wait, or use keep-last")]
    Full,
    /// Too many instances.
    #[error("the writer has as many instances as its limit allows: dispose some, or raise max_instances")]
    Instances,
    /// The sample is larger than [`Limits::sample_bytes_max`].
    #[error("a sample of {bytes} bytes exceeds the limit of {max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
}

/// One sample to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteSample<'a> {
    /// The instance, for keyed topics.
    pub instance: Option<KeyHash>,
    /// Whether this ends the instance; the payload is then the serialized key.
    pub status: StatusInfo,
    /// When it was written, by the wall clock.
    pub timestamp: Option<WireTime>,
    /// The serialized sample with its 4-byte encapsulation header.
    pub payload: &'a [u8],
}
