//! Scenario: hours of joining, leaving, crashing, restarting and network splits, and what must hold afterwards.
//!
//! Rounds of a few disturbances are followed by quiet as long as the lease and a little more. Then every participant that
//! runs must know exactly those that it can hear, be matched with exactly their endpoints, get a sample from each, and
//! hold nothing that grew.

mod check;

use std::time::Duration;

use rtps::qos::{Durability, History, Qos, Reliability};
use rtps::{EndpointConfig, EntityId, GuidPrefix, Timing};
use units::{Instant, Ratio};

pub use check::Fault;

use crate::{HostId, HostState, NetworkConfig, NetworkCounts, World, WorldError};

/// What the scenario is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct ChurnConfig {
    /// Hosts, of which some are down at any time.
    pub participants: u32,
    /// Virtual time; the round that is under way then is still ended.
    pub duration: Duration,
    /// The network.
    pub network: NetworkConfig,
    /// The most disturbances of a round.
    pub disturbances_max: u32,
    /// The longest time between two of a round.
    pub gap_max: Duration,
    /// Share of the restarts with the identity (GUID prefix) that the host had, against new ones.
    pub same_identity: Ratio,
    /// Whether the network is split now and then.
    pub has_splits: bool,
    /// The longest rest between two rounds.
    pub rest_max: Duration,
    /// The source of all chance.
    pub seed: u64,
}

impl ChurnConfig {
    /// A network that loses, doubles and reorders one datagram in a hundred each; a round takes some minutes.
    pub fn new(participants: u32, duration: Duration, seed: u64) -> Self {
        let share = Ratio::new(0.01);
        Self {
            participants,
            duration,
            network: NetworkConfig {
                loss: share,
                duplication: share,
                reordering: share,
                ..NetworkConfig::default()
            },
            disturbances_max: 6,
            gap_max: Duration::from_secs(40),
            same_identity: Ratio::new(0.5),
            has_splits: true,
            rest_max: Duration::from_secs(600),
            seed,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChurnReport {
    /// Hosts started with a new identity, the first start not counted.
    pub joins: u64,
    /// Hosts that said goodbye.
    pub leaves: u64,
    /// Hosts that ended without a word.
    pub crashes: u64,
    /// Hosts started again with the identity that they had, at once or later.
    pub restarts: u64,
    /// Times the network was split.
    pub splits: u64,
    /// Times it was made whole.
    pub heals: u64,
    /// Rounds after each of which everything was checked.
    pub checks: u64,
    /// Samples that had to arrive, and did.
    pub samples: u64,
    /// What did not hold.
    pub faults: u64,
    /// The first of it, at most [`FAULTS_KEPT`], with when it was found.
    pub first_faults: Vec<(Instant, Fault)>,
    /// What the network saw.
    pub network: NetworkCounts,
}

/// Faults that a report describes; further ones are counted.
pub const FAULTS_KEPT: usize = 32;

/// A host as the scenario knows it.
#[derive(Clone, Copy, Debug)]
struct Member {
    host: HostId,
    prefix: GuidPrefix,
    writer: EntityId,
    reader: EntityId,
}

struct Churn<'a> {
    config: &'a ChurnConfig,
    world: World,
    members: Vec<Member>,
    report: ChurnReport,
}

/// Runs the scenario.
///
/// # Errors
/// When there are more participants than addresses.
pub fn churn(config: &ChurnConfig) -> Result<ChurnReport, WorldError> {
    let mut churn = Churn {
        config,
        world: World::new(config.seed, config.network.clone()),
        members: Vec::new(),
        report: ChurnReport::default(),
    };
    for _ in 0..config.participants {
        let host = churn.world.add_host()?;
        churn.members.push(Member {
            host,
            prefix: GuidPrefix::UNKNOWN,
            writer: EntityId::UNKNOWN,
            reader: EntityId::UNKNOWN,
        });
        churn.furnish(host.index());
    }
    let end = Instant::ZERO + config.duration;
    while churn.world.now() < end {
        churn.round();
    }
    churn.report.network = churn.world.counts();
    Ok(churn.report)
}

impl Churn<'_> {
    fn round(&mut self) {
        let disturbances = 1 + self.world.random().below(u64::from(self.config.disturbances_max));
        for _ in 0..disturbances {
            self.disturb();
            let gap = self.world.random().duration(self.config.gap_max);
            self.world.run_for(gap);
        }
        let lease = Timing::default().lease;
        self.world.run_for(lease + lease / 1000 + MARGIN);
        self.check();
        let rest = self.world.random().duration(self.config.rest_max);
        self.world.run_for(rest);
    }

    fn disturb(&mut self) {
        let chosen = self.world.random().below(self.members.len() as u64);
        let Some(member) = self.members.get(usize::try_from(chosen).unwrap_or(0)).copied() else { return };
        let (host, dice) = (member.host, self.world.random().below(100));
        match (self.world.state(host).0, dice) {
            (_, 0..10) if self.config.has_splits => self.split(),
            (_, 0..25) => {
                self.world.heal();
                self.report.heals += 1;
            }
            (HostState::Up, 25..50) => {
                self.world.leave(host);
                self.report.leaves += 1;
            }
            (HostState::Up, 50..75) => {
                self.world.crash(host);
                self.report.crashes += 1;
            }
            // Either down, or killed and at once started again.
            _ => {
                let is_same_identity = self.world.random().chance(self.config.same_identity);
                self.world.restart(host, is_same_identity);
                self.furnish(host.index());
                match is_same_identity {
                    true => self.report.restarts += 1,
                    false => self.report.joins += 1,
                }
            }
        }
    }

    /// Cuts a third of the hosts off, on average.
    fn split(&mut self) {
        let cut: Vec<HostId> = self.members.iter().map(|member| member.host).collect();
        let cut: Vec<HostId> = cut.into_iter().filter(|_| self.world.random().below(3) == 0).collect();
        let part = u32::try_from(1 + self.world.random().below(2)).unwrap_or(1);
        self.world.split(&cut, part);
        self.report.splits += 1;
    }

    /// Gives a participant that has just started its endpoints.
    fn furnish(&mut self, index: usize) {
        let Some(member) = self.members.get_mut(index) else { return };
        let endpoint = |depth| EndpointConfig {
            topic: "power".into(),
            type_name: "Number".into(),
            qos: Qos {
                reliability: Reliability::Reliable,
                durability: Durability::TransientLocal,
                history: History::KeepLast(depth),
                ..Qos::default()
            },
            ..EndpointConfig::default()
        };
        let depth = self.config.participants.saturating_mul(4);
        let made = self.world.act(member.host, |participant, now| {
            let writer = participant.create_writer(now, endpoint(1));
            (writer, participant.create_reader(now, endpoint(depth), None))
        });
        // Names are short and the keys of a participant are not used up.
        if let (Ok(writer), Ok(reader)) = made {
            (member.writer, member.reader) = (writer, reader);
        }
        member.prefix = self.world.participant(member.host).guid().prefix;
    }
}

/// What the last announcement before silence may have been late by, with room.
const MARGIN: Duration = Duration::from_secs(1);
