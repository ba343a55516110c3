//! Goals: every request ends exactly once, answers are attributed to who gave them, and nothing is delivered twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use units::Instant;

use super::*;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn hosts(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

fn submit(id: u64, want: Want, deadline: u64) -> Event<u32> {
    Event::Submit { request: RequestId::new(id), want, deadline: at(deadline) }
}

fn reply(id: u64, server: &str, reply: u32) -> Event<u32> {
    Event::Reply { request: RequestId::new(id), server: server.into(), reply }
}

fn run(exchange: &mut Exchange<u32>, now: u64, event: Event<u32>) -> Vec<Action<u32>> {
    let mut actions = Vec::new();
    exchange.apply(at(now), event, &mut actions);
    actions
}

/// A wildcard request ends as soon as the last expected server has answered, ascending by server.
#[test]
fn completes_when_all_answered() {
    let mut exchange = Exchange::new(Limits::default());
    let id = RequestId::new(1);
    let want = Want::All(hosts(&["n01", "n02"]));
    assert_eq!(run(&mut exchange, 0, submit(1, want, 100)), [Action::Send(id)]);
    assert_eq!(exchange.poll_timeout(), Some(at(100)));
    assert_eq!(run(&mut exchange, 1, reply(1, "n02", 2)), []);
    let outcome =
        Outcome { replies: vec![("n01".into(), 1), ("n02".into(), 2)], missing: vec![], timed_out: false };
    assert_eq!(run(&mut exchange, 2, reply(1, "n01", 1)), [Action::Complete(id, outcome)]);
    assert_eq!(exchange.poll_timeout(), None);
}

/// At the deadline the missing are named, and what comes later is counted and not delivered.
#[test]
fn names_the_missing() {
    let mut exchange = Exchange::new(Limits::default());
    run(&mut exchange, 0, submit(1, Want::All(hosts(&["n01", "n02", "n03"])), 100));
    run(&mut exchange, 1, reply(1, "n02", 2));
    let outcome = Outcome {
        replies: vec![("n02".into(), 2)],
        missing: vec!["n01".into(), "n03".into()],
        timed_out: true,
    };
    let done = run(&mut exchange, 100, Event::Timeout);
    assert_eq!(done, [Action::Complete(RequestId::new(1), outcome)]);
    assert_eq!(run(&mut exchange, 101, reply(1, "n01", 1)), []);
    let counters = exchange.counters();
    assert_eq!((counters.late, counters.timed_out, counters.unknown), (1, 1, 0));
}

/// Without a known set the request collects everything until its deadline; the first answer ends a single one.
#[test]
fn unknown_set_and_single() {
    let mut exchange = Exchange::new(Limits::default());
    run(&mut exchange, 0, submit(1, Want::All(BTreeSet::new()), 100));
    assert_eq!(run(&mut exchange, 1, reply(1, "n01", 1)), []);
    let done = run(&mut exchange, 100, Event::Timeout);
    let [Action::Complete(_, outcome)] = done.as_slice() else { panic!("{done:?}") };
    assert_eq!(outcome.replies.len(), 1);
    assert_eq!(exchange.counters().timed_out, 0, "somebody answered and nobody is known to be missing");

    run(&mut exchange, 200, submit(2, Want::First, 300));
    assert_eq!(run(&mut exchange, 201, reply(2, "n01", 7)).len(), 1);
}

/// A server that left in order is not waited for.
#[test]
fn server_that_left() {
    let mut exchange = Exchange::new(Limits::default());
    run(&mut exchange, 0, submit(1, Want::All(hosts(&["n01", "n02"])), 100));
    run(&mut exchange, 1, reply(1, "n01", 1));
    let done = run(&mut exchange, 2, Event::ServerLeft("n02".into()));
    let [Action::Complete(_, outcome)] = done.as_slice() else { panic!("{done:?}") };
    assert!(outcome.missing.is_empty() && !outcome.timed_out);
}

/// Requests and answers are bounded, and an id cannot be used twice.
#[test]
fn bounds() {
    let mut exchange = Exchange::new(Limits { outstanding_max: 1, replies_max: 2 });
    run(&mut exchange, 0, submit(5, Want::All(BTreeSet::new()), 100));
    let refused = run(&mut exchange, 0, submit(6, Want::First, 100));
    assert_eq!(refused, [Action::Refuse(RequestId::new(6), RefuseError::TooMany { max: 1 })]);
    for server in ["a", "b", "c"] {
        run(&mut exchange, 1, reply(5, server, 0));
    }
    assert_eq!(exchange.counters().overflowed, 1);
    let refused = run(&mut exchange, 1, submit(5, Want::First, 100));
    assert_eq!(refused, [Action::Refuse(RequestId::new(5), RefuseError::OutOfOrder { id: 5, last: 5 })]);
    run(&mut exchange, 1, reply(99, "a", 0));
    assert_eq!(exchange.counters().unknown, 1);
}

/// One delivery of an answer: which request, which server, at which millisecond.
type Delivery = (u64, u8, u64);

proptest! {
    /// Under loss, duplicates and reordering every request completes exactly once by its deadline; each delivered
    /// answer is the one its server gave; answered and missing together are the expected set; the counters account
    /// for every other delivery.
    #[test]
    fn every_request_ends_once(
        requests in 1_u64..8,
        servers in 1_u8..6,
        mut deliveries in prop::collection::vec((1_u64..8, 0_u8..6, 0_u64..200), 0..120),
    ) {
        let deliveries: &mut Vec<Delivery> = &mut deliveries;
        deliveries.sort_by_key(|delivery| delivery.2);
        let expected: BTreeSet<String> = (0..servers).map(|server| format!("n{server}")).collect();
        let answer = |request: u64, server: u8| (request * 100 + u64::from(server)) as u32;
        let mut exchange = Exchange::new(Limits::default());
        let mut actions = Vec::new();
        for id in 1..=requests {
            exchange.apply(at(0), submit(id, Want::All(expected.clone()), 100), &mut actions);
        }
        for &(request, server, when) in deliveries.iter() {
            let event = reply(request, &format!("n{server}"), answer(request, server));
            exchange.apply(at(when), event, &mut actions);
        }
        exchange.apply(at(200), Event::Timeout, &mut actions);

        let mut outcomes: BTreeMap<u64, Outcome<u32>> = BTreeMap::new();
        let mut delivered = 0_u64;
        for action in actions {
            if let Action::Complete(id, outcome) = action {
                delivered += outcome.replies.len() as u64;
                prop_assert!(outcomes.insert(id.get(), outcome).is_none(), "completed twice");
            }
        }
        prop_assert_eq!(outcomes.len() as u64, requests);
        prop_assert_eq!(exchange.outstanding(), 0);
        for (id, outcome) in &outcomes {
            let answered: BTreeSet<String> = outcome.replies.iter().map(|(server, _)| server.clone()).collect();
            prop_assert_eq!(answered.len(), outcome.replies.len());
            let missing: BTreeSet<String> = outcome.missing.iter().cloned().collect();
            prop_assert!(answered.is_disjoint(&missing));
            prop_assert!(expected.is_subset(&answered.union(&missing).cloned().collect()));
            for (server, value) in &outcome.replies {
                let server: u8 = server[1..].parse().unwrap();
                prop_assert_eq!(*value, answer(*id, server));
            }
            for server in 0..servers {
                let in_time = deliveries.iter().any(|d| d.0 == *id && d.1 == server && d.2 < 100);
                prop_assert_eq!(answered.contains(&format!("n{server}")), in_time);
            }
        }
        let counters = exchange.counters();
        let counted = counters.duplicate + counters.late + counters.unknown + counters.overflowed;
        prop_assert_eq!(delivered + counted, deliveries.len() as u64);
    }
}
