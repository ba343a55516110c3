//! What the virtual network does to datagrams, and what it counts.

use std::time::Duration;

use units::Ratio;

use crate::Random;

/// The faults and times of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Share of copies lost, 0 to 1.
    pub loss: Ratio,
    /// Share of copies that arrive twice.
    pub duplication: Ratio,
    /// Share of copies held up by up to [`NetworkConfig::hold_up`], so that later ones overtake them.
    pub reordering: Ratio,
    /// The least time under way.
    pub delay: Duration,
    /// What chance adds to it at most, evenly spread.
    pub jitter: Duration,
    /// What the held-up ones take longer at most.
    pub hold_up: Duration,
    /// Host clocks run fast or slow by up to this many parts in a million.
    pub drift_parts_max: u32,
}

impl Default for NetworkConfig {
    /// A healthy cluster network: 50 µs and up to 20 µs more, nothing lost, clocks within 50 parts in a million.
    fn default() -> Self {
        Self {
            loss: Ratio::new(0.0),
            duplication: Ratio::new(0.0),
            reordering: Ratio::new(0.0),
            delay: Duration::from_micros(50),
            jitter: Duration::from_micros(20),
            hold_up: Duration::from_millis(5),
            drift_parts_max: 50,
        }
    }
}

impl NetworkConfig {
    /// How long one copy is under way.
    pub(crate) fn draw_delay(&self, random: &mut Random) -> Duration {
        let mut delay = self.delay + random.duration(self.jitter);
        if random.chance(self.reordering) {
            delay += random.duration(self.hold_up);
        }
        delay
    }
}

/// What happened on the network. A datagram for several receivers is sent once and copied by the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Datagrams that hosts gave to the network, one for each destination.
    pub datagrams_sent: u64,
    /// Their octets.
    pub bytes_sent: u64,
    /// Copies handed to hosts.
    pub copies_delivered: u64,
    /// Their octets.
    pub bytes_delivered: u64,
    /// Copies lost by chance.
    pub copies_lost: u64,
    /// Copies that were made twice.
    pub copies_duplicated: u64,
    /// Copies not made because the network was split between sender and receiver.
    pub copies_split: u64,
    /// Copies that found nobody: the host was down, or had no such address.
    pub copies_undeliverable: u64,
    /// The most copies and deadlines that waited at once.
    pub queue_max: u64,
}
