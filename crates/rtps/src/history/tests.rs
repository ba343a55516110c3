//! Properties of histories under random use.

use super::*;
use crate::qos::ResourceLimits;
use crate::{EntityId, GuidPrefix};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NOW: Instant = Instant::ZERO;

fn key(instance: u8) -> Option<KeyHash> {
    (instance > 0).then_some(KeyHash([instance; 16]))
}

fn keep_last(depth: u32) -> Qos {
    Qos { history: History::KeepLast(depth), ..Qos::default() }
}

fn keep_all(max_samples: u32) -> Qos {
    let resource_limits = ResourceLimits { max_samples: Some(max_samples), ..ResourceLimits::default() };
    Qos { history: History::KeepAll, resource_limits, ..Qos::default() }
}

/// One use of a writer's history.
#[derive(Clone, Debug)]
enum Use {
    Push { instance: u8, is_end: bool },
    Prune(u64),
    PruneEnded(u64),
}

fn uses() -> impl Strategy<Value = Vec<Use>> {
    let one = prop_oneof![
        6 => (1_u8..5, prop::bool::weighted(0.2)).prop_map(|(instance, is_end)| Use::Push { instance, is_end }),
        1 => (0_u64..100).prop_map(Use::Prune),
        1 => (0_u64..100).prop_map(Use::PruneEnded),
    ];
    prop::collection::vec(one, 1..100)
}

fn of_instance(history: &WriterHistory) -> BTreeMap<Option<KeyHash>, Vec<SequenceNumber>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    history.iter().for_each(|change| all.entry(change.instance).or_default().push(change.sequence));
    all
}

proptest! {
    /// A writer's history ascends, keeps the newest changes of each instance and no more than its depth, and forgets
    /// exactly what it is told to.
    #[test]
    fn writer_history_keeps_the_newest(uses in uses(), depth in 1_u32..4) {
        let mut history = WriterHistory::new(&keep_last(depth), &Limits::default());
        let (mut last, mut pushed) = (SequenceNumber::ZERO, BTreeMap::<_, Vec<_>>::new());
        let mut ended = BTreeMap::new();
        for step in uses {
            match step {
                Use::Push { instance, is_end } => {
                    last = last.next();
                    let status = StatusInfo { disposed: is_end, unregistered: false };
                    history.push(NOW, last, key(instance), status, None, &[instance]);
                    pushed.entry(key(instance)).or_default().push(last);
                    ended.insert(key(instance), is_end);
                }
                Use::Prune(upto) => {
                    history.prune(SequenceNumber(upto));
                    pushed.values_mut().for_each(|all| all.retain(|number| number.0 > upto));
                }
                Use::PruneEnded(upto) => {
                    history.prune_ended(SequenceNumber(upto));
                    let is_gone = |all: &[SequenceNumber]| all.last().is_none_or(|newest| newest.0 <= upto);
                    pushed.retain(|key, all| !(ended[key] && is_gone(all)));
                }
            }
            let expected: BTreeMap<_, _> = pushed
                .iter()
                .map(|(key, all)| (*key, all[all.len().saturating_sub(depth as usize)..].to_vec()))
                .filter(|(_, all)| !all.is_empty())
                .collect();
            prop_assert_eq!(of_instance(&history), expected);
            let numbers: Vec<_> = history.iter().map(|change| change.sequence).collect();
            prop_assert!(numbers.is_sorted() && history.first() == numbers.first().copied());
            prop_assert_eq!(history.len(), numbers.len());
            let known: BTreeSet<_> = numbers.iter().copied().collect();
            for number in (0..=last.0 + 1).map(SequenceNumber) {
                prop_assert_eq!(history.get(number).is_some(), known.contains(&number));
            }
        }
    }

    /// A reader's history hands out in order of arrival what keep-last has not overwritten, and says what it did.
    #[test]
    fn reader_history_overwrites_the_oldest(
        steps in prop::collection::vec((prop::bool::weighted(0.8), 0_u8..4), 1..100),
        depth in 1_u32..4,
        is_keyed: bool,
    ) {
        let mut history = ReaderHistory::new(&keep_last(depth), &Limits::default());
        let mut model: Vec<(u64, Option<KeyHash>)> = Vec::new();
        for (number, (is_push, instance)) in (1..).zip(steps) {
            if is_push {
                let instance = if is_keyed { key(instance + 1) } else { None };
                let same = |(_, other): &(u64, Option<KeyHash>)| *other == instance;
                let is_full = model.iter().filter(|entry| same(entry)).count() >= depth as usize;
                if is_full {
                    let oldest = model.iter().position(same).unwrap();
                    model.remove(oldest);
                }
                model.push((number, instance));
                prop_assert_eq!(history.push(sample(number, instance)).unwrap(), is_full);
            } else {
                let expected = (!model.is_empty()).then(|| model.remove(0).0);
                prop_assert_eq!(history.pop().map(|sample| sample.sequence.0), expected);
            }
            prop_assert_eq!(history.len(), model.len());
        }
        let rest: Vec<_> = std::iter::from_fn(|| history.pop()).map(|sample| sample.sequence.0).collect();
        prop_assert_eq!(rest, model.into_iter().map(|(number, _)| number).collect::<Vec<_>>());
    }

    /// Keep-all refuses instead of overwriting, and takes again when there is room.
    #[test]
    fn keep_all_refuses(max in 1_u32..20, more in 1_u64..20) {
        let mut writer = WriterHistory::new(&keep_all(max), &Limits::default());
        let mut reader = ReaderHistory::new(&keep_all(max), &Limits::default());
        for number in 1..=u64::from(max) {
            prop_assert_eq!(writer.check(None), Ok(()));
            writer.push(NOW, SequenceNumber(number), None, StatusInfo::default(), None, &[]);
            prop_assert!(matches!(reader.push(sample(number, None)), Ok(false)));
        }
        for number in 0..more {
            let number = u64::from(max) + 1 + number;
            prop_assert_eq!(writer.check(None), Err(Refused::Full));
            let refused = reader.push(sample(number, None));
            prop_assert!(matches!(refused, Err((Refused::Full, sample)) if sample.sequence.0 == number));
        }
        writer.prune(SequenceNumber(1));
        prop_assert!(reader.is_full() && reader.pop().is_some());
        prop_assert_eq!(writer.check(None), Ok(()));
        prop_assert!(reader.push(sample(100, None)).is_ok());
    }
}

fn sample(number: u64, instance: Option<KeyHash>) -> RawSample {
    RawSample {
        writer: Guid::new(GuidPrefix([1; 12]), EntityId::user_writer(1, false)),
        sequence: SequenceNumber(number),
        timestamp: None,
        instance,
        status: StatusInfo::default(),
        from: Locator::IN_PROCESS,
        payload: Vec::new(),
        expires_at: None,
        then: StatusInfo::default(),
    }
}

/// A writer and a reader accept no more instances than their limit, and an ended one makes room.
#[test]
fn instances_are_bounded() {
    let limits = Limits { instances_max: 2, ..Limits::default() };
    let mut writer = WriterHistory::new(&keep_last(1), &limits);
    let mut reader = ReaderHistory::new(&keep_last(1), &limits);
    for instance in [1, 2] {
        writer.push(
            NOW,
            SequenceNumber(u64::from(instance)),
            key(instance),
            StatusInfo::default(),
            None,
            &[],
        );
        assert!(reader.push(sample(u64::from(instance), key(instance))).is_ok());
    }
    assert_eq!((writer.check(key(1)), writer.check(key(3))), (Ok(()), Err(Refused::Instances)));
    assert!(matches!(reader.push(sample(3, key(3))), Err((Refused::Instances, _))));
    let end = StatusInfo { disposed: true, unregistered: true };
    writer.push(NOW, SequenceNumber(3), key(1), end, None, &[]);
    writer.prune_ended(SequenceNumber(2));
    assert_eq!(writer.check(key(3)), Err(Refused::Instances), "its end is not acknowledged yet");
    writer.prune_ended(SequenceNumber(3));
    assert_eq!(writer.check(key(3)), Ok(()));
    assert!(reader.pop().is_some() && reader.push(sample(4, key(3))).is_ok());
}
