//! Cases of participants that come, go and share addresses, on the virtual clock: a restart within the lease (A29),
//! prefixes (A31), a stepped wall clock (A35).
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;
mod world;

use rtps::{
    EntityId, Event, GuidPrefix, LocatorKind, ParticipantConfig, Timing, VENDOR_STILLWATT, WireTime,
    WriteSample,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::{Instant, Timestamp};
use world::{Random, World, number, numbers, reliable};

fn timing(lease: Duration) -> Timing {
    Timing { lease, announce_period: lease / 3, ..Timing::default() }
}

/// One name of a scenario: its host now, its endpoint, and the prefixes of all its lives.
struct Actor {
    host: usize,
    is_writer: bool,
    endpoint: EntityId,
    prefixes: Vec<GuidPrefix>,
    started: Instant,
    got: usize,
}

/// Plays the steps of A29: writers write ten samples a second, readers take them.
struct Scenario {
    world: World,
    begin: Instant,
    lease: Duration,
    actors: BTreeMap<String, Actor>,
    written: u64,
}

impl Scenario {
    /// # Errors
    /// The expectation that was not met.
    fn play(scenario: &Value) -> Result<(), String> {
        let world = World::new(29);
        let lease = Duration::from_secs_f64(scenario["lease_s"].as_f64().unwrap());
        let mut play = Self { begin: world.now, world, lease, actors: BTreeMap::new(), written: 0 };
        for step in scenario["steps"].as_array().unwrap() {
            let at = play.begin + Duration::from_secs_f64(step["t"].as_f64().unwrap());
            play.run_to(at);
            match (step["do"].as_str(), step["expect"].as_str()) {
                (Some(action), None) => play.act(action),
                (None, Some(expected)) => expected.split("; ").try_for_each(|part| play.expect(part))?,
                _ => panic!("neither an action nor an expectation: {step}"),
            }
        }
        Ok(())
    }

    fn run_to(&mut self, at: Instant) {
        while self.world.now < at {
            let writers = self.actors.values().filter(|actor| actor.is_writer);
            for (host, writer) in writers.map(|actor| (actor.host, actor.endpoint)).collect::<Vec<_>>() {
                self.written += 1;
                self.world.write(host, writer, &number(self.written));
            }
            self.world.run_for(Duration::from_millis(100));
            for actor in self.actors.values_mut().filter(|actor| !actor.is_writer) {
                actor.got += self.world.take_all(actor.host, actor.endpoint).len();
            }
        }
    }

    /// `start NAME (role) ...` or `kill -9 NAME`. Who starts again has the role and the addresses that it had; its
    /// process number is no part of its identity here.
    fn act(&mut self, action: &str) {
        let words: Vec<_> = action.split([' ', '(', ')']).filter(|word| !word.is_empty()).collect();
        match words[..] {
            ["kill", "-9", name] => self.world.kill(self.actors[name].host),
            ["start", name, ..] => {
                let before = self.actors.remove(name);
                let is_writer = before.as_ref().map_or(words.contains(&"writer"), |actor| actor.is_writer);
                let address = name.bytes().next().unwrap();
                let config = ParticipantConfig { timing: timing(self.lease), ..self.world.config(address) };
                let mut prefixes = before.map_or(Vec::new(), |actor| actor.prefixes);
                prefixes.push(config.prefix);
                let host = self.world.add_configured(config);
                let endpoint = if is_writer {
                    self.world.writer(host, "t", &reliable())
                } else {
                    self.world.reader(host, "t", &reliable())
                };
                let started = self.world.now;
                self.actors
                    .insert(name.into(), Actor { host, is_writer, endpoint, prefixes, started, got: 0 });
            }
            _ => panic!("no such action: {action}"),
        }
    }

    /// `NAME receives samples` or `prefix of NAME differs from first run`.
    fn expect(&mut self, expected: &str) -> Result<(), String> {
        let unmet = |found: String| Err(format!("{expected}: {found}"));
        match expected.split(' ').collect::<Vec<_>>()[..] {
            [name, "receives", "samples"] => {
                let actor = &self.actors[name];
                let lived = (self.world.now - actor.started).as_millis() / 100;
                // All of the last second's, or since its start.
                let least = usize::try_from(lived).unwrap().saturating_sub(5);
                if actor.got > 0 && actor.got >= least {
                    Ok(())
                } else {
                    unmet(format!("{} samples", actor.got))
                }
            }
            ["prefix", "of", name, "differs", "from", "first", "run"] => {
                let prefixes = &self.actors[name].prefixes;
                match prefixes[..] {
                    [first, .., last] if first != last => Ok(()),
                    _ => unmet(format!("{prefixes:?}")),
                }
            }
            _ => panic!("no such expectation: {expected}"),
        }
    }
}

/// Case A29: who restarts within its lease, at the same address, is served as the newcomer that it is.
#[test]
fn a_restart_within_the_lease_is_served() {
    assert_eq!(Scenario::play(&case::json("A29", "scenario.json")), Ok(()));
}

/// Case A29, mutated: it is served within a tenth of a second of an immediate restart; without a restart the
/// expectations are not met.
#[test]
fn restarts_decide_whether_samples_are_received() {
    let mut scenario = case::json("A29", "scenario.json");
    let steps = scenario["steps"].as_array_mut().unwrap();
    steps[4]["t"] = json!(6.0);
    steps[5]["t"] = json!(6.2);
    assert_eq!(Scenario::play(&scenario), Ok(()));
    scenario["steps"].as_array_mut().unwrap().remove(4);
    assert!(Scenario::play(&scenario).is_err());
}

/// How many different prefixes so many participants get, and with which first octets. What a case says of their hosts
/// and processes is the same for all and no part of a prefix.
fn prefixes(instances: u64, mut octet: impl FnMut() -> u8) -> (usize, BTreeSet<[u8; 2]>) {
    let all: BTreeSet<_> =
        (0..instances).map(|_| GuidPrefix::from_random([(); 10].map(|()| octet()))).collect();
    (all.len(), all.iter().map(|prefix| [prefix.0[0], prefix.0[1]]).collect())
}

/// Case A31: participants that share everything but their random octets have different prefixes. Mutated: without
/// randomness they would not, so the count says something.
#[test]
fn prefixes_differ_where_nothing_else_does() {
    let case = case::json("A31", "guid.json");
    let expected = &case["expect"];
    let instances = case["instances"].as_u64().unwrap();
    let mut random = Random(31);
    let (distinct, starts) = prefixes(instances, || random.next().to_le_bytes()[0]);
    assert_eq!(distinct as u64, expected["distinct_prefixes"].as_u64().unwrap());
    assert_eq!(expected["first_two_bytes"], "vendor id");
    assert_eq!(starts, BTreeSet::from([VENDOR_STILLWATT.0]));
    assert_eq!(prefixes(instances, || 7).0, 1);
    assert_eq!(prefixes(17, || random.next().to_le_bytes()[0]).0, 17);
}

/// Case A31: two participants with the very same addresses discover each other and exchange data by UDP.
#[test]
fn participants_with_the_same_addresses_meet() {
    let mut world = World::new(31);
    let configs = [world.config(1), world.config(1)];
    assert_eq!(configs[0].metatraffic_unicast, configs[1].metatraffic_unicast);
    let [a, b] = configs.map(|config| world.add_configured(config));
    let writer = world.writer(a, "t", &reliable());
    let reader = world.reader(b, "t", &reliable());
    world.run_for(Duration::from_secs(1));
    assert_eq!(
        (world.participant(a).matched(writer).len(), world.participant(b).matched(reader).len()),
        (1, 1)
    );
    world.write(a, writer, &number(31));
    world.run_for(Duration::from_millis(10));
    let sample = world.take(b, reader).unwrap();
    assert_eq!((numbers(&[sample.payload]), sample.from.kind), (vec![31], LocatorKind::UdpV4));
}

/// What A35 counts.
#[derive(Debug, PartialEq)]
struct Stepped {
    unmatched: u64,
    lost: u64,
    received: u64,
    /// Steps of the wall clock in whole seconds as the reader sees them in the time stamps.
    seen: Vec<i64>,
}

/// Runs a pair while the wall clock, which only labels samples, is stepped.
fn step_wall_clock(scenario: &Value) -> Stepped {
    let number_of = |key: &str| scenario[key].as_u64().unwrap();
    let (rate, run) = (number_of("rate_hz"), number_of("run_s"));
    let mut world = World::new(35);
    let [a, b] = [1, 2].map(|host| {
        let timing = timing(Duration::from_secs(number_of("lease_s")));
        let config = ParticipantConfig { timing, ..world.config(host) };
        world.add_configured(config)
    });
    let writer = world.writer(a, "t", &reliable());
    let reader = world.reader(b, "t", &reliable());
    world.run_for(Duration::from_secs(1));
    let mut stamps: Vec<i64> = Vec::new();
    let mut received = Vec::new();
    for tick in 0..rate * run {
        let elapsed_ns = tick * 1_000_000_000 / rate;
        let steps = scenario["steps"].as_array().unwrap().iter();
        let past = steps.filter(|step| step["t"].as_u64().unwrap() * 1_000_000_000 <= elapsed_ns);
        let step: i64 = past.map(|step| step["wall_step_s"].as_i64().unwrap()).sum();
        let wall = (1_700_000_000_000_000_000 + elapsed_ns).strict_add_signed(step * 1_000_000_000);
        let timestamp = Some(WireTime::from_timestamp(Timestamp::from_unix_nanos(wall)));
        let (now, payload) = (world.now, number(tick));
        let sample = WriteSample { timestamp, payload: &payload, ..WriteSample::default() };
        world.participant(a).write(now, writer, sample).unwrap();
        world.run_for(Duration::from_nanos(1_000_000_000 / rate));
        while let Some(sample) = world.take(b, reader) {
            let labelled = sample.timestamp.unwrap().to_timestamp().unwrap().unix_nanos();
            stamps.push(i64::try_from(labelled / 1_000_000).unwrap());
            received.push(sample.payload);
        }
    }
    assert_eq!(numbers(&received), (0..received.len() as u64).collect::<Vec<_>>(), "in order");
    let events = [world.events(a), world.events(b)].concat();
    let is_unmatched =
        |event: &&Event| matches!(event, Event::Unmatched { .. } | Event::ParticipantLost { .. });
    let period_ms = i64::try_from(1000 / rate).unwrap();
    let jumps =
        stamps.windows(2).map(|pair| (pair[1] - pair[0] - period_ms) / 1000).filter(|jump| *jump != 0);
    Stepped {
        unmatched: events.iter().filter(is_unmatched).count() as u64,
        lost: world.participant(b).lost(reader),
        received: received.len() as u64,
        seen: jumps.collect(),
    }
}

fn check_steps(scenario: &Value) {
    let expected = &scenario["expect"];
    let steps = scenario["steps"].as_array().unwrap().iter();
    assert_eq!(expected["crash"], false, "a crash would have ended this test");
    assert_eq!(
        step_wall_clock(scenario),
        Stepped {
            unmatched: expected["unmatched_events"].as_u64().unwrap(),
            lost: expected["lost"].as_u64().unwrap(),
            received: scenario["rate_hz"].as_u64().unwrap() * scenario["run_s"].as_u64().unwrap(),
            seen: steps.map(|step| step["wall_step_s"].as_i64().unwrap()).collect(),
        }
    );
}

/// Case A35: a stepped wall clock changes time stamps and nothing else.
#[test]
fn a_stepped_wall_clock_changes_labels_only() {
    check_steps(&case::json("A35", "scenario.json"));
}

/// Case A35, mutated: other steps, a shorter lease and another rate change nothing either.
#[test]
fn other_wall_clock_steps_change_labels_only() {
    let mut scenario = case::json("A35", "scenario.json");
    scenario["lease_s"] = json!(2);
    scenario["rate_hz"] = json!(20);
    scenario["steps"] = json!([{ "t": 3, "wall_step_s": 86_400 }, { "t": 4, "wall_step_s": -172_800 }]);
    check_steps(&scenario);
}
