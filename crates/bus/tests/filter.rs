//! Subscribers that want only some samples, over the real engine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

use std::sync::mpsc;
use std::time::Duration;

use bus::{CreateError, Data, DdsType, DynamicData, Participant};

const LONG: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "test::Place")]
struct Place {
    rack: String,
    slot: u8,
}

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "test::Reading")]
struct Reading {
    #[dds(key)]
    host: String,
    place: Place,
    power_watts: f64,
}

fn reading(host: &str, rack: &str, power_watts: f64) -> Reading {
    Reading { host: host.into(), place: Place { rack: rack.into(), slot: 1 }, power_watts }
}

fn join(name: &str, domain: u32) -> Participant {
    Participant::builder().domain(domain).name(name).build().unwrap()
}

const READINGS: [(&str, &str, f64); 5] = [
    ("n1", "rack1", 100.0),
    ("n2", "rack2", 300.0),
    ("n3", "row1", 400.0),
    ("n4", "rack4", 250.0),
    ("n5", "rack5", 260.0),
];

/// A typed subscriber, one with a callback and one of a described type get the same samples; the others are counted;
/// the end of an instance always arrives.
#[test]
fn only_wanted_samples_are_handed_out() {
    let (a, b) = (join("a", 71), join("b", 71));
    let publisher = a.publisher::<Reading>("readings").reliable().build().unwrap();
    let expression = "power_watts > %0 AND place.rack LIKE %1";
    let parameters = ["250", "rack%"];
    let typed = || b.subscriber::<Reading>("readings").reliable().keep_all().filter(expression, &parameters);
    let subscriber = typed().build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let called = typed().on_sample(move |sample| sender.send(sample).unwrap()).build().unwrap();
    let dynamic = b.dynamic_subscriber("readings", Reading::structure()).reliable().keep_all();
    let dynamic = dynamic.filter(expression, &parameters).build().unwrap();
    assert!(publisher.wait_for_match(3, LONG));
    for (host, rack, power_watts) in READINGS {
        publisher.write(&reading(host, rack, power_watts)).unwrap();
    }
    publisher.dispose(&reading("n1", "", 0.0)).unwrap();
    for host in ["n2", "n5"] {
        let is_host = |data: Data<Reading>| data.valid().is_some_and(|reading| reading.host == host);
        assert!(is_host(subscriber.recv_timeout(LONG).unwrap().unwrap().data));
        assert!(is_host(receiver.recv_timeout(LONG).unwrap().data));
        let Data::Valid(DynamicData::Value(value)) = dynamic.recv_timeout(LONG).unwrap().unwrap().data else {
            panic!("a value")
        };
        assert_eq!(value.get("host").unwrap().as_str(), Some(host));
    }
    assert!(matches!(subscriber.recv_timeout(LONG).unwrap().unwrap().data, Data::Disposed(_)));
    assert_eq!((subscriber.filtered(), called.filtered(), dynamic.filtered()), (3, 3, 3));
    assert_eq!(b.statistics().protocol.samples_filtered, 9);
}

/// A subscriber's wish may change; a wrong one changes nothing.
#[test]
fn filters_are_replaced() {
    let (a, b) = (join("a", 72), join("b", 72));
    let publisher = a.publisher::<Reading>("readings").reliable().build().unwrap();
    let subscriber = b.subscriber::<Reading>("readings").reliable().keep_all().build().unwrap();
    assert!(publisher.wait_for_match(1, LONG) && subscriber.wait_for_match(1, LONG));
    let write = || {
        for (host, rack, power_watts) in READINGS {
            publisher.write(&reading(host, rack, power_watts)).unwrap();
        }
        assert!(publisher.wait_for_acknowledgements(LONG));
        subscriber.iter().filter_map(|sample| sample.unwrap().data.valid()).count()
    };
    assert_eq!(write(), 5);
    subscriber.set_filter("host = %0", &["n3"]).unwrap();
    assert_eq!(write(), 1);
    assert!(subscriber.set_filter::<&str>("hosts = 'n3'", &[]).is_err());
    assert_eq!(write(), 1);
    subscriber.clear_filter();
    assert_eq!(write(), 5);
}

/// What is wrong is told when the subscriber is built: the topic, the place in the expression and the remedy.
#[test]
fn wrong_filters_are_refused() {
    let participant = join("a", 73);
    let build =
        |expression: &str| participant.subscriber::<Reading>("readings").filter(expression, &["1"]).build();
    let Err(CreateError::Filter { topic, source }) = build("host = 'a' AND watts > %0") else {
        panic!("refused")
    };
    assert_eq!((topic.as_str(), source.position), ("readings", 16));
    assert!(source.to_string().contains("its members are host, place, power_watts"), "{source}");
    assert!(build("host = 'a' AND power_watts > %0").is_ok());
    let raw = participant.raw_subscriber("readings", "test::Reading", true).filter::<&str>("host = 'a'", &[]);
    assert!(matches!(raw.build(), Err(CreateError::FilterUntyped { .. })));
}
