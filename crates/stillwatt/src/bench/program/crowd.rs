//! Many endpoints in one process: readers of ping and writers of pong, for discovery, idle cost and memory.

use bus::{Participant, Publisher, Subscriber};

use super::bus::{MATCH_MAX, Message, PING, PONG, join, qos};
use super::line::{self, Created, MatchedAll, now_ns};
use super::{PeerOptions, Verb, failed};
use crate::report::{Exit, Failure};

/// One member of the crowd.
struct Member {
    participant: Participant,
    publishers: Vec<Publisher<Message>>,
    subscribers: Vec<Subscriber<Message>>,
}

impl Member {
    fn join(options: &PeerOptions, number: u32) -> Result<Self, Failure> {
        let participant = join(options, &format!("bench crowd {number}"))?;
        Ok(Self { participant, publishers: Vec::new(), subscribers: Vec::new() })
    }

    fn add_endpoint(&mut self, options: &PeerOptions, number: u32) -> Result<(), Failure> {
        let qos = rtps::qos::Qos { history: rtps::qos::History::KeepLast(1), ..qos(options, false) };
        if number.is_multiple_of(2) {
            let subscriber = self.participant.subscriber::<Message>(PING).qos(qos).build().map_err(failed)?;
            self.subscribers.push(subscriber);
        } else {
            let publisher = self.participant.publisher::<Message>(PONG).qos(qos).build().map_err(failed)?;
            self.publishers.push(publisher);
        }
        Ok(())
    }

    fn wait_for_matches(&self) -> bool {
        let left = |started: u64| {
            let spent = std::time::Duration::from_nanos(now_ns().saturating_sub(started));
            MATCH_MAX.saturating_sub(spent)
        };
        let started = now_ns();
        self.subscribers.iter().all(|subscriber| subscriber.wait_for_match(1, left(started)))
            && self.publishers.iter().all(|publisher| publisher.wait_for_match(1, left(started)))
    }
}

/// Creates the crowd: when told to, with a wait for matches, or at once and without.
pub(super) fn crowd(options: &PeerOptions) -> Result<Exit, Failure> {
    let is_watched = options.verb == Verb::Dsub;
    if is_watched {
        line::wait_for_go();
    }
    let started_ns = now_ns();
    let mut members = Vec::new();
    for number in 0..options.participants {
        let mut member = Member::join(options, number)?;
        for endpoint in 0..options.endpoints {
            member.add_endpoint(options, endpoint)?;
        }
        members.push(member);
    }
    line::say(&Created { started_ns, created_ns: now_ns() });
    if is_watched {
        let matched = members.iter().all(Member::wait_for_matches);
        line::say(&MatchedAll { matched, matched_ns: now_ns() });
    }
    line::wait_for_end();
    drop(members);
    Ok(Exit::Done)
}

/// The one that the crowd talks to.
pub(super) fn hub(options: &PeerOptions) -> Result<Exit, Failure> {
    line::wait_for_go();
    let started_ns = now_ns();
    let participant = join(options, "bench hub")?;
    let qos = || rtps::qos::Qos { history: rtps::qos::History::KeepLast(1), ..qos(options, false) };
    let publisher = participant.publisher::<Message>(PING).qos(qos()).build().map_err(failed)?;
    let subscriber = participant.subscriber::<Message>(PONG).qos(qos()).build().map_err(failed)?;
    line::say(&Created { started_ns, created_ns: now_ns() });
    let wanted = options.subscribers as usize;
    let matched = publisher.wait_for_match(wanted, MATCH_MAX) && subscriber.wait_for_match(wanted, MATCH_MAX);
    line::say(&MatchedAll { matched, matched_ns: now_ns() });
    line::wait_for_end();
    Ok(Exit::Done)
}
