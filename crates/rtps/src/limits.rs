//! Every bound of the protocol machine, in one place.

use core::time::Duration;

/// The bounds of one participant. What reaching a bound does is said with each; refusals are counted in
/// [`crate::Statistics`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Remote participants known at once. A further one takes the place of the oldest that never answered, and is
    /// ignored when all have.
    pub participants_max: usize,
    /// Remote participants that announced themselves but never answered. The oldest makes room for a new one, so
    /// forged announcements cost little memory and cannot keep real ones out. Should exceed the number of participants
    /// that may start at once.
    pub unconfirmed_max: usize,
    /// Remote endpoints known of one participant. Further ones are ignored.
    pub endpoints_per_participant_max: usize,
    /// Endpoints known of all participants, our own included. Further remote ones are ignored.
    pub endpoints_max: usize,
    /// Samples kept out of order for one writer while earlier ones are missing. Later ones are asked for again.
    pub reorder_max: usize,
    /// Incomplete fragmented samples for one writer. Of a reliable writer the newest gives way and is repaired later,
    /// of a best-effort one the oldest, which counts as lost.
    pub partial_samples_max: usize,
    /// Bytes of one sample, sent or received. A larger write is an error, a larger sample is dropped.
    pub sample_bytes_max: usize,
    /// Bytes that one reader holds for samples that are incomplete or early. The writer of which most is held gives
    /// way; of a reliable one it is repaired later. Should exceed [`Limits::sample_bytes_max`] by the 64 bytes that
    /// each fragment costs.
    pub partial_bytes_max: usize,
    /// Bytes that one reader can make a writer send again in one heartbeat period. Further requests are not answered
    /// until the next period, so that forged requests cannot flood the network.
    pub repair_bytes_max: usize,
    /// Octets that a reliable keep-all writer has on their way before any is acknowledged, datagrams counting about 768
    /// octets more than they hold. Further samples wait in its history.
    pub flight_bytes_max: usize,
    /// Samples in a keep-all history without resource limits. A reliable write then waits, a reader stops
    /// acknowledging.
    pub keep_all_max: usize,
    /// Instances with samples in the history of one reader or writer. Samples of further instances are dropped, writes
    /// of them are an error.
    pub instances_max: usize,
    /// Datagrams waiting to be sent. Further ones are dropped; reliable samples are repaired later.
    pub outbox_max: usize,
    /// Events waiting to be polled. The oldest is dropped, but none of samples or acknowledgements, of which there is
    /// at most one an endpoint.
    pub events_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            participants_max: 4096,
            unconfirmed_max: 200,
            endpoints_per_participant_max: 4096,
            endpoints_max: 65_536,
            reorder_max: 1024,
            partial_samples_max: 8,
            sample_bytes_max: 64 << 20,
            partial_bytes_max: 96 << 20,
            repair_bytes_max: 8 << 20,
            flight_bytes_max: 256 << 10,
            keep_all_max: 4096,
            instances_max: 65_536,
            outbox_max: 65_536,
            events_max: 4096,
        }
    }
}

/// The protocol's periods. A participant takes one below [`Timing::PERIOD_MIN`], zero too, for that: it would never
/// rest. Those of heartbeats and requests end at [`Timing::PERIOD_MAX`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long peers believe in us after an announcement.
    pub lease: Duration,
    /// Time between announcements once start-up is long over, up to an eighth less: after the start-up burst it doubles
    /// until it is so long. At most a third of the lease is sensible; more than half of it is taken for half.
    pub announce_period: Duration,
    /// Announcements sent at start, [`Timing::burst_period`] apart.
    pub burst_count: u32,
    /// Time between the announcements of the start-up burst.
    pub burst_period: Duration,
    /// Time after which a reliable writer asks for an acknowledgement that has not come, doubling up to
    /// [`Timing::heartbeat_period_max`] while nothing changes.
    pub heartbeat_period: Duration,
    /// The slowest repetition of that question.
    pub heartbeat_period_max: Duration,
    /// A reader does not repeat a request for the same sample within this time.
    pub nack_suppression: Duration,
}

impl Timing {
    /// The shortest period between two announcements or heartbeats.
    pub const PERIOD_MIN: Duration = Duration::from_millis(1);
    /// The longest period between two heartbeats or requests for the same sample: later, loss is not repaired.
    pub const PERIOD_MAX: Duration = Duration::from_secs(3600);

    /// The same periods, each within its range and in order.
    pub(crate) fn bounded(self) -> Self {
        let heartbeat_period = self.heartbeat_period.clamp(Self::PERIOD_MIN, Self::PERIOD_MAX);
        Self {
            announce_period: self.announce_period.min(self.lease / 2).max(Self::PERIOD_MIN),
            burst_period: self.burst_period.max(Self::PERIOD_MIN),
            heartbeat_period,
            heartbeat_period_max: self.heartbeat_period_max.clamp(heartbeat_period, Self::PERIOD_MAX),
            nack_suppression: self.nack_suppression.min(Self::PERIOD_MAX),
            ..self
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            announce_period: Duration::from_secs(10),
            burst_count: 5,
            burst_period: Duration::from_millis(100),
            heartbeat_period: Duration::from_millis(20),
            heartbeat_period_max: Duration::from_secs(2),
            nack_suppression: Duration::from_millis(3),
        }
    }
}

/// What a participant has counted since it was made. Counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Datagrams handled.
    pub datagrams_received: u64,
    /// Datagrams handed out for sending, counted once per destination.
    pub datagrams_sent: u64,
    /// Datagrams or submessages refused as malformed.
    pub malformed: u64,
    /// Samples of user topics written.
    pub samples_written: u64,
    /// Samples of user topics put into a reader's history.
    pub samples_received: u64,
    /// Samples that a reader will never get: a best-effort gap, a fragment set given up, or overwritten at the
    /// writer before it could be repaired.
    pub samples_lost: u64,
    /// Samples that arrived but were overwritten in a keep-last history before the application took them.
    pub samples_overwritten: u64,
    /// Samples refused because they were too large, were none of the reader's type, or had no room in its instance
    /// table.
    pub samples_rejected: u64,
    /// Samples that a reader's filter or QoS did not let pass, see [`crate::EndpointStatus::samples_filtered`].
    pub samples_filtered: u64,
    /// Samples that arrived again.
    pub duplicates: u64,
    /// Samples sent again on request.
    pub repairs: u64,
    /// Datagrams dropped because the outbox was full.
    pub outbox_dropped: u64,
    /// Announcements ignored because a table was full, or evicted from it.
    pub discovery_refused: u64,
    /// Datagrams withheld from addresses that have not shown that they hear us.
    pub replies_withheld: u64,
    /// Datagrams ignored because they came from a network that is not allowed.
    pub network_refused: u64,
    /// Announcements of participants sent on to others, see [`crate::ParticipantConfig::is_relay`].
    pub announcements_relayed: u64,
    /// Events dropped because nobody polled them.
    pub events_dropped: u64,
}
