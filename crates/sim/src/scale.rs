//! Scenario: many participants start, and find and match each other.

use std::time::Duration;

use rtps::qos::{Durability, History, Qos, Reliability};
use rtps::{EndpointConfig, Participant};
use units::{Instant, Ratio};

use crate::{HostId, NetworkConfig, NetworkCounts, World, WorldError};

/// Who looks for whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Everyone announces to the multicast group, and thus knows everyone. Of the writers on a topic there are two, of the
    /// readers too: with half of its endpoints a participant writes `endpoints / 2` topics, one of them shared with one
    /// other participant, and reads as many of participants a quarter of the way round. Work and memory for knowing each
    /// other grow with the square of the participants.
    #[default]
    Mesh,
    /// Participants announce to the first only, by unicast, as node managers with one monitor do: it writes and reads the
    /// topics of all, and they know nobody else. The first announces to all others, since a participant that is not heard
    /// from is forgotten when its lease ends. Grows with the number of participants.
    Star,
    /// The first is a discovery relay, the others share topics as in a mesh and announce themselves to the relay only, so
    /// that each knows those it shares a topic with and the relay. Grows with the number of participants.
    Relay,
}

/// What the scenario is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleConfig {
    /// Participants, each on a host of its own.
    pub participants: u32,
    /// Endpoints of each: half writers, half readers.
    pub endpoints: u32,
    /// Who looks for whom.
    pub layout: Layout,
    /// The network.
    pub network: NetworkConfig,
    /// Participants start at random within this time.
    pub start_within: Duration,
    /// How long after the last start to wait for the last match.
    pub patience: Duration,
    /// The source of all chance.
    pub seed: u64,
}

impl ScaleConfig {
    /// Multicast discovery, all started within a second, a minute of patience.
    pub fn new(participants: u32, endpoints: u32, loss: Ratio, seed: u64) -> Self {
        Self {
            participants,
            endpoints,
            layout: Layout::default(),
            network: NetworkConfig { loss, ..NetworkConfig::default() },
            start_within: Duration::from_secs(1),
            patience: Duration::from_secs(60),
            seed,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleReport {
    /// Pairs of endpoints that have to match, each counted at both ends.
    pub matches_expected: u64,
    /// Those that did.
    pub matches: u64,
    /// From the last start to the last match, in virtual time; `None` when the patience was not enough.
    pub time_to_match: Option<Duration>,
    /// What the network saw until then.
    pub network: NetworkCounts,
    /// Remote participants known, summed over all participants.
    pub remote_participants: u64,
    /// Remote endpoints known, summed over all participants.
    pub remote_endpoints: u64,
    /// Announcements refused or evicted because a table was full, summed.
    pub discovery_refused: u64,
    /// Datagrams withheld from addresses not confirmed yet, summed.
    pub replies_withheld: u64,
}

/// Runs the scenario. The world is returned as it is then, for who wants to look further or measure its memory.
///
/// Costs time and memory by the layout; nothing is read or written.
///
/// # Errors
/// When there are more participants than addresses.
pub fn scale(config: &ScaleConfig) -> Result<(World, ScaleReport), WorldError> {
    let mut world = World::new(config.seed, config.network.clone());
    let mut starts: Vec<Duration> =
        (0..config.participants).map(|_| world.random().duration(config.start_within)).collect();
    starts.sort_unstable();
    for (index, start) in (0..).zip(starts) {
        world.run_until(Instant::ZERO + start);
        let host = add(&mut world, config)?;
        world.act(host, |participant, now| create_endpoints(participant, now, config, index));
    }
    let started_at = world.now();
    let expected = matches_expected(config);
    let is_cut_short = world.run_while(started_at + config.patience, |world| world.matches() < expected);
    let time_to_match = (!is_cut_short || world.matches() >= expected).then(|| world.now() - started_at);
    let report = report(&world, expected, time_to_match);
    Ok((world, report))
}

fn add(world: &mut World, config: &ScaleConfig) -> Result<HostId, WorldError> {
    let is_first = world.hosts().next().is_none();
    world.add_host_with(|participant| {
        let participants = config.participants as usize;
        let limits = &mut participant.limits;
        limits.participants_max = limits.participants_max.max(participants);
        limits.endpoints_max = limits.endpoints_max.max(participants * (config.endpoints as usize + 2));
        if config.layout != Layout::Mesh {
            let first = World::discovery_address(0);
            let others = (1..config.participants).map(World::discovery_address);
            participant.announce_to = if is_first { others.collect() } else { vec![first] };
        }
        if config.layout == Layout::Relay && is_first {
            participant.is_relay = true;
            participant.announce_to.clear();
            // All of them may start at once.
            limits.unconfirmed_max = limits.unconfirmed_max.max(participants);
        }
    })
}

fn create_endpoints(participant: &mut Participant, now: Instant, config: &ScaleConfig, index: u32) {
    let endpoint =
        |topic| EndpointConfig { topic, type_name: "Number".into(), qos: qos(), ..EndpointConfig::default() };
    if config.layout == Layout::Relay && index == 0 {
        return;
    }
    for number in 0..config.endpoints / 2 {
        let (written, read) = topics(config, index, number);
        // Names and partitions are short and the keys of a participant are not used up.
        let _ = participant.create_writer(now, endpoint(written));
        let _ = participant.create_reader(now, endpoint(read), None);
    }
}

fn qos() -> Qos {
    Qos {
        reliability: Reliability::Reliable,
        durability: Durability::TransientLocal,
        history: History::KeepLast(1),
        ..Qos::default()
    }
}

/// The topics that writer and reader `number` of participant `index` are on.
fn topics(config: &ScaleConfig, index: u32, number: u32) -> (String, String) {
    match (config.layout, index) {
        (Layout::Star, 0) => (format!("down/{number}"), format!("up/{number}")),
        (Layout::Star, _) => (format!("up/{number}"), format!("down/{number}")),
        (Layout::Mesh | Layout::Relay, _) => {
            let groups = groups(config);
            let index = index.saturating_sub(config.participants - members(config));
            let name = |index: u32| format!("group{}/{number}", index % groups);
            (name(index), name(index.wrapping_add(groups.div_ceil(2))))
        }
    }
}

/// Participants that write the same topics form a group; there are two in each.
fn groups(config: &ScaleConfig) -> u32 {
    members(config).div_ceil(2).max(1)
}

/// How many participants share topics.
fn members(config: &ScaleConfig) -> u32 {
    config.participants.saturating_sub(u32::from(config.layout == Layout::Relay))
}

fn matches_expected(config: &ScaleConfig) -> u64 {
    let half = u64::from(config.endpoints / 2);
    if config.layout == Layout::Star {
        return 4 * half * u64::from(config.participants.saturating_sub(1));
    }
    let (groups, all) = (groups(config), members(config));
    let members = |group: u32| u64::from(all / groups) + u64::from(group < all % groups);
    // The readers of a group's topics are those for which it is half of all groups further on.
    let shift = groups.div_ceil(2);
    (0..groups).map(|group| 2 * half * members((group + shift) % groups) * members(group)).sum()
}

fn report(world: &World, matches_expected: u64, time_to_match: Option<Duration>) -> ScaleReport {
    let mut report = ScaleReport {
        matches_expected,
        matches: world.matches(),
        time_to_match,
        network: world.counts(),
        remote_participants: 0,
        remote_endpoints: 0,
        discovery_refused: 0,
        replies_withheld: 0,
    };
    for host in world.hosts() {
        let participant = world.participant(host);
        report.remote_participants += participant.remote_participants().count() as u64;
        report.remote_endpoints += participant.remote_writers().count() as u64;
        report.remote_endpoints += participant.remote_readers().count() as u64;
        let statistics = participant.statistics();
        report.discovery_refused += statistics.discovery_refused;
        report.replies_withheld += statistics.replies_withheld;
    }
    report
}
