//! The cases that are tables: ports (A23), partitions (A25), requested and offered QoS (A27).
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;

use rtps::Lease;
use rtps::partition::{PartitionRule, is_matched};
use rtps::ports::ports;
use rtps::qos::{Durability, History, LivelinessKind, Ownership, Policy, Qos, Reliability, incompatible};
use serde_json::Value;
use std::time::Duration;

/// The port table's row as we compute it; `None` is a refusal.
fn port_row(domain: u32, participant: u32) -> Option<[u16; 4]> {
    let found = ports(domain, participant).ok()?;
    Some([found.metatraffic_multicast, found.user_multicast, found.metatraffic_unicast, found.user_unicast])
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

/// Case A23: every row of the table has exactly its ports, or is refused.
#[test]
fn ports_follow_the_table() {
    for row in case::json("A23", "ports.json").as_array().unwrap() {
        let expected: Option<Vec<u32>> =
            row["ports"].as_array().map(|ports| ports.iter().map(number).collect());
        let found = port_row(number(&row["domain"]), number(&row["participant"]));
        assert_eq!(found.map(|ports| ports.map(u32::from).to_vec()), expected, "{row}");
    }
}

/// Case A23, mutated: the next domain's ports are 250 higher, up to the end of the port range.
#[test]
fn ports_move_with_the_domain() {
    for row in case::json("A23", "ports.json").as_array().unwrap() {
        let Some(ports) = row["ports"].as_array() else { continue };
        let moved: Option<Vec<u16>> =
            ports.iter().map(|port| u16::try_from(number(port) + 250).ok()).collect();
        let found = port_row(number(&row["domain"]) + 1, number(&row["participant"]));
        assert_eq!(found.map(|ports| ports.to_vec()), moved, "{row}");
    }
}

/// A refusal names the domain and the index, and says what to do.
#[test]
fn refused_ports_name_the_remedy() {
    let text = ports(7, 120).unwrap_err().to_string();
    assert!(text.contains("index 120 in domain 7") && text.contains("ephemeral"), "{text}");
    let text = ports(300, 0).unwrap_err().to_string();
    assert!(text.contains("index 0 in domain 300") && text.contains("at most 231"), "{text}");
    assert!((0..=119).all(|index| ports(231, index).is_ok()));
}

/// Case A25: every row of the table has its answer under both rules.
#[test]
fn partitions_follow_the_table() {
    for row in case::json("A25", "partitions.json").as_array().unwrap() {
        let (writer, reader) = (case::strings(&row["writer"]), case::strings(&row["reader"]));
        for (rule, key) in [(PartitionRule::FastDds, "fastdds"), (PartitionRule::Dds, "dds_spec")] {
            assert_eq!(is_matched(rule, &writer, &reader), row[key].as_bool().unwrap(), "{key} {row}");
        }
    }
}

/// Case A25, mutated: with one octet put before each of the reader's names, only names that a leading wildcard takes
/// in still match.
#[test]
fn changed_partitions_no_longer_match() {
    for row in case::json("A25", "partitions.json").as_array().unwrap() {
        let writer = case::strings(&row["writer"]);
        let mut reader = case::strings(&row["reader"]);
        if reader.is_empty() {
            reader.push(String::new());
        }
        let reader: Vec<String> = reader.iter().map(|name| format!("~{name}")).collect();
        let expected = writer.iter().any(|name| name.starts_with('*'));
        for rule in [PartitionRule::FastDds, PartitionRule::Dds] {
            assert_eq!(is_matched(rule, &writer, &reader), expected, "{row}");
        }
    }
}

fn lease(value: &Value) -> Lease {
    value.as_u64().map_or(Lease::Infinite, |ms| Lease::Finite(Duration::from_millis(ms)))
}

/// The QoS of one side of a row: what is named there, defaults for the rest.
fn qos(side: &Value) -> Qos {
    let mut qos = Qos::default();
    for (key, value) in side.as_object().unwrap() {
        match (key.as_str(), value.as_str().unwrap_or_default()) {
            ("reliability", "RELIABLE") => qos.reliability = Reliability::Reliable,
            ("reliability", "BEST_EFFORT") => qos.reliability = Reliability::BestEffort,
            ("durability", "VOLATILE") => qos.durability = Durability::Volatile,
            ("durability", "TRANSIENT_LOCAL") => qos.durability = Durability::TransientLocal,
            ("deadline_ms", _) => qos.deadline = lease(value),
            ("lease_ms", _) => qos.liveliness.lease = lease(value),
            ("liveliness", "AUTOMATIC") => qos.liveliness.kind = LivelinessKind::Automatic,
            ("liveliness", "MANUAL_BY_TOPIC") => qos.liveliness.kind = LivelinessKind::ManualByTopic,
            ("ownership", "SHARED") => qos.ownership = Ownership::Shared,
            ("ownership", "EXCLUSIVE") => qos.ownership = Ownership::Exclusive,
            ("history", "KEEP_ALL") => qos.history = History::KeepAll,
            ("history", "KEEP_LAST") => {}
            ("depth", _) => qos.history = History::KeepLast(number(value)),
            other => panic!("unknown policy {other:?}"),
        }
    }
    qos
}

fn incompatible_names(offered: &Value, requested: &Value) -> Vec<String> {
    let policies = incompatible(&qos(offered), &qos(requested));
    policies.into_iter().map(|policy| policy.name().to_owned()).collect()
}

/// Case A27: every row names exactly the policies that do not fit.
#[test]
fn incompatible_policies_follow_the_table() {
    for row in case::json("A27", "rxo.json").as_array().unwrap() {
        let found = incompatible_names(&row["offered"], &row["requested"]);
        assert_eq!(found, case::strings(&row["incompatible"]), "{row}");
    }
}

/// Case A27, mutated: with offer and request exchanged, what did not fit does, and what fitted with room to spare does
/// not; ownership must be equal, and history never matters.
#[test]
fn exchanged_offers_have_the_opposite_answer() {
    for row in case::json("A27", "rxo.json").as_array().unwrap() {
        let found = incompatible_names(&row["requested"], &row["offered"]);
        let is_symmetric =
            row["offered"].get("ownership").is_some() || row["offered"].get("history").is_some();
        if is_symmetric {
            assert_eq!(found, case::strings(&row["incompatible"]), "{row}");
        } else {
            assert_ne!(found.is_empty(), case::strings(&row["incompatible"]).is_empty(), "{row}");
        }
    }
}

/// Presentation, destination order, latency budget and representation are part of the rule; partitions are not.
#[test]
fn the_other_policies_are_checked_too() {
    let mut requested = Qos { representations: vec![2], ..Qos::default() };
    requested.presentation.ordered = true;
    requested.destination_order = rtps::qos::DestinationOrder::BySource;
    let offered = Qos {
        latency_budget: Lease::Finite(Duration::from_millis(5)),
        partitions: vec![String::from("elsewhere")],
        ..Qos::default()
    };
    let expected =
        [Policy::LatencyBudget, Policy::DestinationOrder, Policy::Presentation, Policy::DataRepresentation];
    assert_eq!(incompatible(&offered, &requested), expected);
}

/// Vendors round a period's fraction up or down by less than a nanosecond; that must not keep endpoints apart.
#[test]
fn rounded_periods_still_match() {
    let offered = Qos { deadline: Lease::Finite(Duration::from_millis(100)), ..Qos::default() };
    let requested = Qos { deadline: Lease::Finite(Duration::from_nanos(99_999_999)), ..Qos::default() };
    assert_eq!(incompatible(&offered, &requested), []);
}
