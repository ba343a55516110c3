//! Goals: no operation raises a power cap above a live one, silence never raises one, everything returns exactly to
//! where it was, and old or foreign requests change nothing.

use std::time::Duration;

use proptest::prelude::*;
use units::Instant;

use super::*;
use crate::device::{Device, DeviceKind};

const CAP: KnobKey = KnobKey { control: MetricId::NODE_POWER_LIMIT_CONTROL, device: Device::NODE };
const MAX: KnobKey =
    KnobKey { control: MetricId::CPU_FREQUENCY_MAX_CONTROL, device: Device::new(DeviceKind::Core, 0) };
const MIN: KnobKey =
    KnobKey { control: MetricId::CPU_FREQUENCY_MIN_CONTROL, device: Device::new(DeviceKind::Core, 0) };
const EPP: KnobKey =
    KnobKey { control: MetricId::CPU_ENERGY_PREFERENCE_CONTROL, device: Device::new(DeviceKind::Core, 0) };
const SNAPSHOT_CAP: f64 = 400.1;
const SAFE: f64 = 200.0;

fn models() -> [KnobModel; 4] {
    let knob = |key, rule, min, max, snapshot| KnobModel { key, rule, min, max, snapshot };
    [
        knob(CAP, KnobRule::PowerCap { safe: SAFE }, 100.0, 500.0, SNAPSHOT_CAP),
        knob(MAX, KnobRule::Ceiling, 1.0e9, 3.7e9, 3.5e9),
        knob(MIN, KnobRule::Floor { ceiling: Some(MAX) }, 1.0e9, 3.7e9, 1.2e9),
        knob(EPP, KnobRule::Setting, 0.0, 255.0, 128.0),
    ]
}

fn table() -> LeaseTable {
    LeaseTable::new(BootId::new([7; 16]), models(), TableLimits::default())
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn lease(holder: &str, authority: Authority, knob: KnobKey, value: f64, sequence: u64) -> Lease {
    let ttl = Duration::from_secs(10);
    Lease { holder: holder.into(), authority, knob, value, sequence, term: 1, boot_id: BootId::UNKNOWN, ttl }
}

fn grant(table: &mut LeaseTable, now: u64, lease: &Lease) -> (Decision, Vec<Change>) {
    let mut changes = Vec::new();
    let decision = table.grant(at(now), lease, &mut changes).unwrap();
    (decision, changes)
}

fn value(table: &LeaseTable, knob: KnobKey) -> f64 {
    table.effective(knob).unwrap().value
}

/// The lowest cap wins, the reply says who clamped, and a release makes the next live cap active by itself.
#[test]
fn lowest_cap_wins() {
    let mut table = table();
    let (decision, _) = grant(&mut table, 0, &lease("sm", Authority::System, CAP, 300.0, 1));
    assert_eq!((decision.target, decision.clamped_by), (300.0, ClampedBy::None));
    let (decision, changes) = grant(&mut table, 1, &lease("jm", Authority::Job, CAP, 350.0, 1));
    assert_eq!((decision.target, decision.clamped_by), (300.0, ClampedBy::Budget));
    assert_eq!(changes, []);
    let mut changes = Vec::new();
    table.release(at(2), "sm", 2, CAP, &mut changes).unwrap();
    assert_eq!(changes, [Change { key: CAP, target: 350.0, is_restore: false }]);
    changes.clear();
    table.release(at(3), "jm", 2, CAP, &mut changes).unwrap();
    assert_eq!(changes, [Change { key: CAP, target: SNAPSHOT_CAP, is_restore: true }]);
}

/// A silent system manager leaves the lower of the cap in force and the safe value, also against a job's wish;
/// its return or its release ends that.
#[test]
fn expiry_of_a_cap_falls_back() {
    for (cap, fallback) in [(300.0, SAFE), (150.0, 150.0)] {
        let mut table = table();
        grant(&mut table, 0, &lease("sm", Authority::System, CAP, cap, 1));
        grant(&mut table, 5, &lease("jm", Authority::Job, CAP, 350.0, 1));
        let mut changes = Vec::new();
        table.expire(at(10), &mut changes);
        assert_eq!(value(&table, CAP), fallback);
        table.expire(at(100), &mut changes);
        assert_eq!(value(&table, CAP), fallback, "the job's lease ended too");
        let (decision, _) = grant(&mut table, 101, &lease("jm", Authority::Job, CAP, 390.0, 2));
        assert_eq!(decision.clamped_by, ClampedBy::Fallback);

        let mut again = table.clone();
        grant(&mut again, 102, &lease("sm", Authority::System, CAP, 320.0, 2));
        assert_eq!(value(&again, CAP), 320.0);
        table.release(at(103), "sm", 2, CAP, &mut changes).unwrap();
        assert_eq!(value(&table, CAP), 390.0);
    }
}

/// Frequency limits return to the snapshot when the last lease expires, and a floor stays below its ceiling; writes
/// come in an order in which the floor never passes the ceiling.
#[test]
fn performance_knobs_return() {
    let mut table = table();
    grant(&mut table, 0, &lease("a", Authority::Job, MIN, 2.0e9, 1));
    let (_, changes) = grant(&mut table, 1, &lease("a", Authority::Job, MAX, 1.5e9, 2));
    let order: Vec<_> = changes.iter().map(|change| (change.key, change.target)).collect();
    assert_eq!(order, [(MIN, 1.5e9), (MAX, 1.5e9)]);
    let (decision, _) = grant(&mut table, 2, &lease("b", Authority::Job, MIN, 1.8e9, 1));
    assert_eq!((decision.target, decision.clamped_by), (1.5e9, ClampedBy::Ceiling));
    let mut changes = Vec::new();
    table.expire(at(11), &mut changes);
    let order: Vec<_> = changes.iter().map(|change| (change.key, change.target)).collect();
    assert_eq!(order, [(MAX, 3.5e9), (MIN, 1.8e9)]);
    table.expire(at(12), &mut changes);
    assert_eq!(value(&table, MIN), 1.2e9);
}

/// A setting follows the highest authority, then the latest; a user may not raise a cap above its snapshot but the
/// system manager may, up to the hardware.
#[test]
fn authority_decides() {
    let mut table = table();
    grant(&mut table, 0, &lease("admin", Authority::Administrator, EPP, 10.0, 1));
    let (decision, _) = grant(&mut table, 1, &lease("user", Authority::User, EPP, 200.0, 1));
    assert_eq!((decision.target, decision.clamped_by), (10.0, ClampedBy::Administrator));
    grant(&mut table, 1, &lease("admin2", Authority::Administrator, EPP, 20.0, 1));
    assert_eq!(value(&table, EPP), 20.0);

    let (decision, _) = grant(&mut table, 2, &lease("user", Authority::User, CAP, 450.0, 1));
    assert_eq!((decision.target, decision.clamped_by), (SNAPSHOT_CAP, ClampedBy::Snapshot));
    let mut changes = Vec::new();
    table.release(at(3), "user", 2, CAP, &mut changes).unwrap();
    let (decision, _) = grant(&mut table, 4, &lease("sm", Authority::System, CAP, 900.0, 1));
    assert_eq!((decision.target, decision.clamped_by), (500.0, ClampedBy::Hardware));
    table.set_limit(CAP, ClampedBy::Thermal, Some(180.0), &mut changes);
    assert_eq!(table.effective(CAP).unwrap().decided_by, Some(ClampedBy::Thermal));
}

/// Requests that are older, of another boot, of a former manager, damaged or without end are refused, and the same
/// request twice is one lease whose time is not extended.
#[test]
fn refusals_change_nothing() {
    let mut table = table();
    let first = Lease { term: 5, ..lease("sm", Authority::System, CAP, 300.0, 10) };
    grant(&mut table, 0, &first);
    let (again, changes) = grant(&mut table, 5, &first);
    assert!(again.is_duplicate && changes.is_empty());
    assert_eq!(again.until, at(10));

    let mut refused = |lease: &Lease| table.grant(at(5), lease, &mut Vec::new()).unwrap_err();
    let older = Lease { sequence: 9, value: 400.0, ..first.clone() };
    assert!(matches!(refused(&older), GrantError::StaleSequence { asked: 9, last: 10, .. }));
    let former = Lease { holder: "old-sm".into(), term: 4, ..first.clone() };
    assert!(matches!(refused(&former), GrantError::StaleTerm { asked: 4, current: 5 }));
    let rebooted = Lease { boot_id: BootId::new([1; 16]), sequence: 11, ..first.clone() };
    assert_eq!(refused(&rebooted), GrantError::OtherBoot);
    let damaged = Lease { value: f64::NAN, sequence: 11, ..first.clone() };
    assert!(matches!(refused(&damaged), GrantError::NotFinite { .. }));
    let endless = Lease { ttl: Duration::ZERO, sequence: 11, ..first.clone() };
    assert!(matches!(refused(&endless), GrantError::Ttl { .. }));
    let nowhere = KnobKey { control: MetricId::GPU_POWER_LIMIT_CONTROL, device: Device::NODE };
    assert_eq!(refused(&Lease { knob: nowhere, ..first }), GrantError::UnknownKnob(nowhere));
    assert_eq!(value(&table, CAP), 300.0);
}

/// Leases and remembered holders are bounded.
#[test]
fn bounds() {
    let bounds = TableLimits { leases_max: 2, holders_max: 3, ..TableLimits::default() };
    let mut table = LeaseTable::new(BootId::UNKNOWN, models(), bounds);
    grant(&mut table, 0, &lease("a", Authority::Job, CAP, 300.0, 1));
    grant(&mut table, 0, &lease("b", Authority::Job, CAP, 300.0, 1));
    let error = table.grant(at(0), &lease("c", Authority::Job, CAP, 300.0, 1), &mut Vec::new());
    assert_eq!(error.unwrap_err(), GrantError::Full { knob: CAP, max: 2 });
    grant(&mut table, 1, &lease("a", Authority::Job, CAP, 290.0, 2));
    for (index, holder) in ["c", "d", "e", "f"].iter().enumerate() {
        grant(&mut table, 20 * (index as u64 + 1), &lease(holder, Authority::Job, CAP, 300.0, 1));
    }
    assert_eq!(table.leases(CAP).count(), 1);
}

/// A lease for the snapshot's very value is commanded too, for somebody may have changed the knob since the snapshot;
/// its end restores.
#[test]
fn a_lease_at_the_snapshot_is_written() {
    let mut table = table();
    let (_, changes) = grant(&mut table, 0, &lease("sm", Authority::System, CAP, SNAPSHOT_CAP, 1));
    assert_eq!(changes, [Change { key: CAP, target: SNAPSHOT_CAP, is_restore: false }]);
    let mut changes = Vec::new();
    table.release(at(1), "sm", 2, CAP, &mut changes).unwrap();
    assert_eq!(changes, [Change { key: CAP, target: SNAPSHOT_CAP, is_restore: true }]);
}

/// A wish that arrives after the release that followed it binds nothing, whether its holder was known or not.
#[test]
fn a_release_overtakes_a_wish() {
    let mut table = table();
    let released = table.release(at(0), "jm", 6, CAP, &mut Vec::new());
    assert!(matches!(released, Err(ReleaseError::NotHeld { .. })));
    let late = table.grant(at(0), &lease("jm", Authority::Job, CAP, 300.0, 5), &mut Vec::new());
    assert!(matches!(late, Err(GrantError::StaleSequence { asked: 5, last: 6, .. })));
    grant(&mut table, 0, &lease("jm", Authority::Job, CAP, 300.0, 7));
}

/// Each lease that ran out is told once with its holder, in whatever operation it was noticed; a release is no end.
#[test]
fn ends_are_told_once() {
    let mut table = table();
    grant(&mut table, 0, &lease("a", Authority::Job, CAP, 300.0, 1));
    grant(&mut table, 0, &lease("b", Authority::Job, MAX, 2.0e9, 1));
    table.release(at(1), "b", 2, MAX, &mut Vec::new()).unwrap();
    grant(&mut table, 20, &lease("c", Authority::Job, CAP, 300.0, 1));
    assert_eq!(table.take_ended(), [Ended { knob: CAP, holder: "a".into() }]);
    table.mark_unwritten(CAP);
    table.expire(at(21), &mut Vec::new());
    assert_eq!(table.take_ended(), []);
}

/// Asking without doing gives the same answer and changes nothing.
#[test]
fn dry_run() {
    let mut table = table();
    let wish = lease("sm", Authority::System, CAP, 300.0, 1);
    let dry = table.try_grant(at(0), &wish).unwrap();
    assert_eq!(value(&table, CAP), SNAPSHOT_CAP);
    assert_eq!(dry, grant(&mut table, 0, &wish).0);
}

/// At an orderly exit every knob returns to its snapshot, a power cap bounded by the live system caps only.
#[test]
fn exit_is_bounded_by_system_caps() {
    let mut table = table();
    grant(&mut table, 0, &lease("sm", Authority::System, CAP, 300.0, 1));
    grant(&mut table, 0, &lease("jm", Authority::Job, CAP, 150.0, 1));
    grant(&mut table, 0, &lease("jm", Authority::Job, MAX, 1.5e9, 2));
    let mut changes = Vec::new();
    table.end(at(1), &mut changes);
    assert!(changes.contains(&Change { key: CAP, target: 300.0, is_restore: false }));
    assert!(changes.contains(&Change { key: MAX, target: 3.5e9, is_restore: true }));
    table.set_limit(CAP, ClampedBy::Budget, None, &mut changes);
    assert_eq!(changes.last(), Some(&Change { key: CAP, target: SNAPSHOT_CAP, is_restore: true }));
}

/// A change that could not be written is asked for again.
#[test]
fn unwritten_changes_come_again() {
    let mut table = table();
    let (_, changes) = grant(&mut table, 0, &lease("sm", Authority::System, CAP, 300.0, 1));
    table.mark_unwritten(CAP);
    let mut again = Vec::new();
    table.expire(at(1), &mut again);
    assert_eq!(again, changes);
    again.clear();
    table.expire(at(1), &mut again);
    assert_eq!(again, []);
}

#[derive(Clone, Debug)]
enum Step {
    Grant { holder: u8, knob: u8, value: f64, ttl: u64, sequence: u64 },
    Release { holder: u8, knob: u8, sequence: u64 },
    Thermal(Option<f64>),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let value = 0.0_f64..1.2;
    prop_oneof![
        4 => (0_u8..5, 0_u8..4, value, 1_u64..20, 0_u64..50).prop_map(
            |(holder, knob, value, ttl, sequence)| Step::Grant { holder, knob, value, ttl, sequence }
        ),
        1 => (0_u8..5, 0_u8..4, 0_u64..50)
            .prop_map(|(holder, knob, sequence)| Step::Release { holder, knob, sequence }),
        1 => prop::option::of(50.0_f64..450.0).prop_map(Step::Thermal),
        2 => (0_u64..15).prop_map(Step::Wait),
    ]
}

/// Carries out one step; holders 0 to 4 speak with rising authority, two of them as jobs.
fn carry_out(table: &mut LeaseTable, now: &mut u64, step: &Step, changes: &mut Vec<Change>) {
    let model = |knob: u8| models()[usize::from(knob)];
    match *step {
        Step::Grant { holder, knob, value, ttl, sequence } => {
            let authority = [0, 1, 1, 2, 3].map(|code| Authority::from_code(code).unwrap());
            let wish = Lease {
                ttl: Duration::from_secs(ttl),
                ..lease(
                    &format!("h{holder}"),
                    authority[usize::from(holder)],
                    model(knob).key,
                    value * model(knob).max,
                    sequence,
                )
            };
            let _ = table.grant(at(*now), &wish, changes);
        }
        Step::Release { holder, knob, sequence } => {
            let _ = table.release(at(*now), &format!("h{holder}"), sequence, model(knob).key, changes);
        }
        Step::Thermal(limit) => table.set_limit(CAP, ClampedBy::Thermal, limit, changes),
        Step::Wait(seconds) => {
            *now += seconds;
            table.expire(at(*now), changes);
        }
    }
}

proptest! {
    /// Whatever happens, the power cap is at most every live cap (hardware permitting), expiry alone never raises
    /// it when no lease is left, the floor is at most the ceiling, and what was commanded is what is in force.
    #[test]
    fn caps_hold(steps in prop::collection::vec(step(), 0..80)) {
        let (mut table, mut now, mut changes) = (table(), 0, Vec::new());
        let mut hardware: std::collections::BTreeMap<KnobKey, f64> =
            models().iter().map(|model| (model.key, model.snapshot)).collect();
        let mut bound = std::collections::BTreeMap::new();
        for step in &steps {
            let before = value(&table, CAP);
            carry_out(&mut table, &mut now, step, &mut changes);
            for change in changes.drain(..) {
                let is_new = hardware.insert(change.key, change.target) != Some(change.target);
                let was_bound = bound.insert(change.key, !change.is_restore) == Some(true);
                prop_assert!(is_new || was_bound == change.is_restore, "{:?} changes nothing", change);
                prop_assert!(hardware[&MIN] <= hardware[&MAX].max(1.0e9), "floor passed ceiling");
            }
            let cap = value(&table, CAP);
            for (lease, until) in table.leases(CAP) {
                prop_assert!(cap <= lease.value.max(100.0));
                prop_assert!(until > at(now));
            }
            if matches!(step, Step::Wait(_)) && table.leases(CAP).next().is_none() {
                prop_assert!(cap <= before);
            }
            for model in models() {
                prop_assert_eq!(hardware[&model.key].to_bits(), value(&table, model.key).to_bits());
            }
        }
    }

    /// After every holder has released and every limit is lifted, each knob holds exactly its snapshot.
    #[test]
    fn restore_is_exact(steps in prop::collection::vec(step(), 0..80)) {
        let (mut table, mut now, mut changes) = (table(), 0, Vec::new());
        for step in &steps {
            carry_out(&mut table, &mut now, step, &mut changes);
        }
        table.set_limit(CAP, ClampedBy::Thermal, None, &mut changes);
        for holder in 0..5 {
            table.release_holder(at(now), &format!("h{holder}"), &mut changes);
        }
        for model in models() {
            prop_assert_eq!(value(&table, model.key).to_bits(), model.snapshot.to_bits());
            let last = changes.iter().rev().find(|change| change.key == model.key);
            prop_assert!(last.is_none_or(|change| change.is_restore && change.target == model.snapshot));
        }
    }
}
