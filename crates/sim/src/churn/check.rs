//! What must hold after quiet time.

use std::collections::BTreeSet;
use std::time::Duration;

use rtps::{Guid, GuidPrefix, WriteSample};

use super::{Churn, FAULTS_KEPT, Member};

/// Something that did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A participant is known although it could not be heard for longer than its lease.
    #[error("host {host} still knows {prefix}, which it has not been able to hear for longer than the lease")]
    Stale {
        /// Who knows it.
        host: usize,
        /// Whom.
        prefix: GuidPrefix,
    },
    /// A participant is not known although it could be heard all the time.
    #[error("host {host} does not know {prefix}, which it can hear")]
    Unknown {
        /// Who does not.
        host: usize,
        /// Whom.
        prefix: GuidPrefix,
    },
    /// A writer or reader is not matched with what it should be.
    #[error(
        "{local} of host {host} is not matched with exactly what it can hear: {missing} missing, {surplus} too many"
    )]
    Matched {
        /// The host.
        host: usize,
        /// Its endpoint.
        local: Guid,
        /// Remote endpoints missing.
        missing: usize,
        /// Remote endpoints that should not be there.
        surplus: usize,
    },
    /// A sample did not arrive in time.
    #[error("host {host} did not get the sample of {prefix}")]
    Sample {
        /// Who did not get it.
        host: usize,
        /// Whose.
        prefix: GuidPrefix,
    },
    /// Remote endpoints are known beyond those of the participants known.
    #[error("host {host} holds {held} remote endpoints, not the {expected} of those it can hear")]
    Endpoints {
        /// The host.
        host: usize,
        /// How many it holds.
        held: usize,
        /// How many it should.
        expected: usize,
    },
    /// Datagrams or deadlines pile up although nothing happens.
    #[error("{len} datagrams and deadlines wait on a quiet network, more than {max}")]
    Queue {
        /// How many.
        len: usize,
        /// How many there may be.
        max: usize,
    },
    /// Events or datagrams were dropped.
    #[error("host {host} dropped {dropped} events or datagrams")]
    Dropped {
        /// The host.
        host: usize,
        /// How many.
        dropped: u64,
    },
}

impl Churn<'_> {
    /// Checks everything; takes [`DELIVERY`] of virtual time for the samples.
    pub(super) fn check(&mut self) {
        self.report.checks += 1;
        let max = self.members.len() * QUEUE_PER_HOST;
        if self.world.queue_len() > max {
            self.note(Fault::Queue { len: self.world.queue_len(), max });
        }
        for member in self.running() {
            self.check_discovery(member);
        }
        self.check_samples();
    }

    fn note(&mut self, fault: Fault) {
        self.report.faults += 1;
        if self.report.first_faults.len() < FAULTS_KEPT {
            self.report.first_faults.push((self.world.now(), fault));
        }
    }

    fn running(&self) -> Vec<Member> {
        self.members.iter().filter(|member| self.world.is_up(member.host)).copied().collect()
    }

    /// Those that run and hear `member`, itself included.
    fn heard_by(&self, member: Member) -> Vec<Member> {
        let mut heard = self.running();
        heard.retain(|other| self.world.is_connected(member.host, other.host));
        heard
    }

    fn check_discovery(&mut self, member: Member) {
        let host = member.host.index();
        let heard = self.heard_by(member);
        let others = heard.iter().filter(|other| other.host != member.host);
        let expected: BTreeSet<GuidPrefix> = others.map(|other| other.prefix).collect();
        let participant = self.world.participant(member.host);
        let known: BTreeSet<GuidPrefix> =
            participant.remote_participants().map(|remote| remote.data.guid.prefix).collect();
        let mut faults: Vec<Fault> =
            known.difference(&expected).map(|prefix| Fault::Stale { host, prefix: *prefix }).collect();
        faults.extend(expected.difference(&known).map(|prefix| Fault::Unknown { host, prefix: *prefix }));
        let readers = heard.iter().map(|other| Guid::new(other.prefix, other.reader)).collect();
        let writers = heard.iter().map(|other| Guid::new(other.prefix, other.writer)).collect();
        for (local, expected) in [(member.writer, readers), (member.reader, writers)] {
            let expected: BTreeSet<Guid> = expected;
            let matched: BTreeSet<Guid> = participant.matched(local).into_iter().collect();
            let missing = expected.difference(&matched).count();
            let surplus = matched.difference(&expected).count();
            if missing + surplus > 0 {
                let local = Guid::new(member.prefix, local);
                faults.push(Fault::Matched { host, local, missing, surplus });
            }
        }
        let held = participant.remote_writers().count() + participant.remote_readers().count();
        let endpoints = 2 * expected.len();
        if held != endpoints {
            faults.push(Fault::Endpoints { host, held, expected: endpoints });
        }
        let statistics = participant.statistics();
        let dropped = statistics.events_dropped + statistics.outbox_dropped;
        if dropped > 0 {
            faults.push(Fault::Dropped { host, dropped });
        }
        faults.into_iter().for_each(|fault| self.note(fault));
    }

    /// Everyone writes, and everyone has to get it from all that it hears.
    fn check_samples(&mut self) {
        let round = self.report.checks.to_le_bytes();
        for member in self.running() {
            let mut payload = vec![0, 1, 0, 0];
            payload.extend_from_slice(&round);
            payload.extend_from_slice(&member.prefix.0);
            let sample = WriteSample { payload: &payload, ..WriteSample::default() };
            // What cannot be written is missing at the other end.
            let _ =
                self.world.act(member.host, |participant, now| participant.write(now, member.writer, sample));
        }
        self.world.run_for(DELIVERY);
        for member in self.running() {
            let got: BTreeSet<GuidPrefix> = self.world.act(member.host, |participant, now| {
                let mut got = BTreeSet::new();
                while let Some(sample) = participant.take(now, member.reader) {
                    let numbers = sample.payload.get(4..12).zip(sample.payload.get(12..24));
                    if let Some((_, prefix)) = numbers.filter(|(number, _)| *number == round) {
                        got.insert(GuidPrefix(prefix.try_into().unwrap_or_default()));
                    }
                    participant.recycle_sample(member.reader, sample.payload);
                }
                got
            });
            for other in self.heard_by(member) {
                match got.contains(&other.prefix) {
                    true => self.report.samples += 1,
                    false => {
                        self.note(Fault::Sample { host: member.host.index(), prefix: other.prefix });
                    }
                }
            }
        }
    }
}

/// How long a sample may take on a lossy network, repairs included.
const DELIVERY: Duration = Duration::from_secs(5);
/// A quiet host has one deadline that counts and a few that were put off; little is under way to it.
const QUEUE_PER_HOST: usize = 16;
