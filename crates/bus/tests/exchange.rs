//! Participants of one process over the real engine: typed exchange, callbacks, history, threads, idleness.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers: a failure here is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use bus::xml::{Document, Types};
use bus::{CreateError, Data, DdsType, DynamicData, Participant, Representation, TransportKind};
use rtps::types::{DynamicValue, Value};

const LONG: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "test::Item")]
struct Item {
    #[dds(key)]
    id: u32,
    value: f64,
    name: String,
}

fn item(id: u32, value: f64) -> Item {
    Item { id, value, name: format!("item {id}") }
}

/// Every test has a domain of its own, so that they can run side by side.
fn join(name: &str, domain: u32) -> Participant {
    Participant::builder().domain(domain).name(name).build().unwrap()
}

/// A reliable sample crosses the process without leaving it.
#[test]
fn exchange_in_process() {
    let (a, b) = (join("a", 41), join("b", 41));
    let publisher = a.publisher::<Item>("items").reliable().build().unwrap();
    let subscriber = b.subscriber::<Item>("items").reliable().keep_all().build().unwrap();
    assert!(publisher.wait_for_match(1, LONG) && subscriber.wait_for_match(1, LONG));
    publisher.write(&item(1, 2.5)).unwrap();
    let sample = subscriber.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(sample.data, Data::Valid(item(1, 2.5)));
    assert_eq!(
        (sample.transport, sample.publisher, sample.sequence),
        (TransportKind::InProcess, publisher.guid(), 1)
    );
    assert!(sample.source_timestamp.is_some());
    publisher.dispose(&item(1, 0.0)).unwrap();
    let sample = subscriber.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(sample.data, Data::Disposed(Some(Item { id: 1, ..Item::default() })));
    assert!(publisher.wait_for_acknowledgements(LONG));
}

/// A publisher writes in the representation that it was told, which a subscriber accepts unless it was told another; one
/// that nobody writes is refused.
#[test]
fn representations_are_chosen() {
    let (a, b) = (join("a", 54), join("b", 54));
    let of = |representation| {
        a.publisher::<Item>("items").reliable().representation(representation).build().unwrap()
    };
    let accepting = |representation| {
        let builder = b.subscriber::<Item>("items").reliable().keep_all();
        match representation {
            Some(representation) => builder.representation(representation).build().unwrap(),
            None => builder.build().unwrap(),
        }
    };
    let (old, new) = (of(Representation::Xcdr1), of(Representation::Xcdr2));
    let (any, only_new) = (accepting(None), accepting(Some(Representation::Xcdr2)));
    let raw = b.raw_subscriber("items", "test::Item", true).reliable().keep_all().build().unwrap();
    assert!(old.wait_for_match(2, LONG) && new.wait_for_match(3, LONG));
    assert!(any.wait_for_match(2, LONG) && only_new.wait_for_match(1, LONG) && raw.wait_for_match(2, LONG));
    old.write(&item(1, 1.0)).unwrap();
    new.write(&item(2, 2.0)).unwrap();
    let mut came =
        [any.recv_timeout(LONG), any.recv_timeout(LONG)].map(|sample| sample.unwrap().unwrap().data);
    came.sort_by_key(|data| data.clone().valid().unwrap().id);
    assert_eq!(came, [Data::Valid(item(1, 1.0)), Data::Valid(item(2, 2.0))]);
    assert_eq!(only_new.recv_timeout(LONG).unwrap().unwrap().data, Data::Valid(item(2, 2.0)));
    let mut encapsulations = [raw.recv_timeout(LONG), raw.recv_timeout(LONG)].map(|sample| {
        let Data::Valid(DynamicData::Bytes(payload)) = sample.unwrap().unwrap().data else { panic!("bytes") };
        payload[1]
    });
    encapsulations.sort_unstable();
    assert_eq!(encapsulations, [1, 7]);
    let xml = rtps::qos::Qos { representations: vec![1], ..rtps::qos::Qos::default() };
    let refused = a.publisher::<Item>("items").qos(xml).build().unwrap_err();
    assert!(matches!(refused, CreateError::Representation { id: 1, .. }));
}

/// Endpoints of one participant exchange data too, as DDS demands.
#[test]
fn a_participant_hears_itself() {
    let a = join("a", 42);
    let publisher = a.publisher::<Item>("items").build().unwrap();
    let subscriber = a.subscriber::<Item>("items").build().unwrap();
    assert!(subscriber.wait_for_match(1, LONG) && publisher.wait_for_match(1, LONG));
    publisher.write(&item(3, 1.0)).unwrap();
    assert_eq!(subscriber.recv_timeout(LONG).unwrap().unwrap().data, Data::Valid(item(3, 1.0)));
}

/// Callbacks run on a bus thread, may publish, and do not run once their subscriber is gone.
#[test]
fn callbacks_answer() {
    let (a, b) = (join("a", 43), join("b", 43));
    let answers = b.publisher::<Item>("pong").reliable().build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let count = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&count);
    let echo = b
        .subscriber::<Item>("ping")
        .reliable()
        .keep_all()
        .on_sample(move |sample| {
            counter.fetch_add(1, Ordering::SeqCst);
            if let Some(value) = sample.data.valid() {
                answers.write(&value).unwrap();
            }
            sender.send(std::thread::current().name().map(str::to_string)).unwrap();
        })
        .build()
        .unwrap();
    let publisher = a.publisher::<Item>("ping").reliable().keep_all().build().unwrap();
    let subscriber = a.subscriber::<Item>("pong").reliable().keep_all().build().unwrap();
    assert!(publisher.wait_for_match(1, LONG) && subscriber.wait_for_match(1, LONG));
    for id in 0..100 {
        publisher.write(&item(id, 0.0)).unwrap();
    }
    for id in 0..100 {
        let sample = subscriber.recv_timeout(LONG).unwrap().unwrap();
        assert_eq!(sample.data, Data::Valid(item(id, 0.0)));
        let thread = receiver.recv_timeout(LONG).unwrap().unwrap();
        assert!(bus::THREAD_ROLES.iter().any(|role| role.name() == thread), "{thread}");
    }
    drop(echo);
    let before = count.load(Ordering::SeqCst);
    let _ = publisher.write(&item(7, 0.0));
    std::thread::yield_now();
    assert_eq!(count.load(Ordering::SeqCst), before);
}

/// A callback runs on a bus thread, also when the application uses the participant while another callback of the same
/// datagram runs: the application's locks and the callback's must never meet on one stack.
#[test]
fn callbacks_stay_on_bus_threads() {
    let (a, b) = (join("a", 52), join("b", 52));
    let (entered, is_entered) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (told, names) = mpsc::channel();
    let first = b
        .subscriber::<Item>("items")
        .on_sample(move |_| {
            // Called for the end of the publisher, too: then nobody listens any more, and nothing holds it up.
            let _ = entered.send(());
            let _ = may_go.recv_timeout(LONG);
        })
        .build()
        .unwrap();
    let second = b
        .subscriber::<Item>("items")
        .on_sample(move |_| told.send(std::thread::current().name().map(str::to_string)).unwrap())
        .build()
        .unwrap();
    let other = b.publisher::<Item>("other").build().unwrap();
    let publisher = a.publisher::<Item>("items").build().unwrap();
    assert!(publisher.wait_for_match(2, LONG) && first.wait_for_match(1, LONG));
    assert!(second.wait_for_match(1, LONG));
    publisher.write(&item(1, 0.0)).unwrap();
    is_entered.recv_timeout(LONG).unwrap();
    other.write(&item(2, 0.0)).unwrap();
    go.send(()).unwrap();
    drop(go);
    let name = names.recv_timeout(LONG).unwrap().unwrap();
    assert!(bus::THREAD_ROLES.iter().any(|role| role.name() == name), "ran on {name}");
}

/// A callback may drop its own subscriber and, with itself, what it owns: here a publisher of the same participant.
#[test]
fn a_callback_may_drop_its_subscriber() {
    let (a, b) = (join("a", 53), join("b", 53));
    let own = Arc::new(std::sync::Mutex::new(None));
    let held = Arc::clone(&own);
    let answers = b.publisher::<Item>("pong").build().unwrap();
    let (told, is_told) = mpsc::channel();
    let subscriber = b
        .subscriber::<Item>("ping")
        .on_sample(move |_| {
            let dropped: Option<bus::Subscriber<Item>> = held.lock().unwrap().take();
            told.send((dropped.is_some(), answers.matched())).unwrap();
        })
        .build()
        .unwrap();
    *own.lock().unwrap() = Some(subscriber);
    let publisher = a.publisher::<Item>("ping").build().unwrap();
    // Best effort: a subscriber that does not know the publisher yet would miss the sample.
    assert!(own.lock().unwrap().as_ref().unwrap().wait_for_match(1, LONG));
    assert!(publisher.wait_for_match(1, LONG));
    publisher.write(&item(1, 0.0)).unwrap();
    assert!(is_told.recv_timeout(LONG).unwrap().0);
    // The participant still works: the callback's end took neither its thread nor its lock.
    let end = node::clock::monotonic() + LONG;
    while publisher.matched().current > 0 && node::clock::monotonic() < end {
        std::thread::yield_now();
    }
    assert_eq!(publisher.matched().current, 0);
    assert!(is_told.recv_timeout(LONG).is_err(), "the callback and what it owned are gone");
}

/// A callback that panics is dropped; the bus goes on.
#[test]
fn a_panicking_callback_harms_nobody_else() {
    let (a, b) = (join("a", 44), join("b", 44));
    let publisher = a.publisher::<Item>("items").reliable().keep_all().build().unwrap();
    let _bad = b.subscriber::<Item>("items").reliable().on_sample(|_| panic!("on purpose")).build().unwrap();
    let good = b.subscriber::<Item>("items").reliable().keep_all().build().unwrap();
    assert!(publisher.wait_for_match(2, LONG) && good.wait_for_match(1, LONG));
    for id in 0..3 {
        publisher.write(&item(id, 0.0)).unwrap();
        assert!(good.recv_timeout(LONG).unwrap().is_some());
    }
}

/// A keep-all publisher waits for a slow subscriber and loses nothing.
#[test]
fn keep_all_waits() {
    let (a, b) = (join("a", 45), join("b", 45));
    let limits = rtps::qos::ResourceLimits { max_samples: Some(16), ..Default::default() };
    let publisher = a
        .publisher::<Item>("items")
        .reliable()
        .keep_all()
        .resource_limits(limits)
        .max_blocking(LONG)
        .build()
        .unwrap();
    let subscriber =
        b.subscriber::<Item>("items").reliable().keep_all().resource_limits(limits).build().unwrap();
    assert!(publisher.wait_for_match(1, LONG));
    let writer = node::thread::spawn(
        node::thread::Role::new("stw-test-writer", "writes while the test reads"),
        node::thread::Placement::Inherit,
        move || (0..500).for_each(|id| publisher.write(&item(id, 0.0)).unwrap()),
    );
    for id in 0..500 {
        let sample = subscriber.recv_timeout(LONG).unwrap().unwrap();
        assert_eq!(sample.data, Data::Valid(item(id, 0.0)));
    }
    writer.unwrap().join().unwrap();
    assert_eq!(subscriber.lost(), 0);
}

/// 40 participants in one process find each other; the bus starts at most four threads for all of them.
#[test]
fn forty_participants_share_one_engine() {
    let participants: Vec<_> = (0..40).map(|index| join(&format!("p{index}"), 46)).collect();
    let subscribers: Vec<_> = participants
        .iter()
        .map(|participant| participant.subscriber::<Item>("items").reliable().keep_last(8).build().unwrap())
        .collect();
    let publisher = participants[0].publisher::<Item>("items").reliable().build().unwrap();
    assert!(publisher.wait_for_match(40, LONG), "{:?}", publisher.matched());
    publisher.write(&item(1, 1.0)).unwrap();
    for subscriber in &subscribers {
        assert!(subscriber.recv_timeout(LONG).unwrap().is_some());
    }
    let threads = node::thread::list();
    let of_bus = threads.iter().filter(|thread| thread.role.name().starts_with("stw-bus")).count();
    assert!((1..=4).contains(&of_bus), "{threads:?}");
}

/// A sample of 200 kB arrives whole.
#[test]
fn big_samples_arrive() {
    #[derive(Clone, Debug, PartialEq, DdsType)]
    #[dds(name = "test::Blob")]
    struct Blob {
        data: Vec<u8>,
    }
    let (a, b) = (join("a", 47), join("b", 47));
    let publisher = a.publisher::<Blob>("blobs").reliable().build().unwrap();
    let subscriber = b.subscriber::<Blob>("blobs").reliable().keep_all().build().unwrap();
    assert!(publisher.wait_for_match(1, LONG) && subscriber.wait_for_match(1, LONG));
    let blob = Blob { data: (0..200_000_u32).map(|i| (i % 251).to_le_bytes()[0]).collect() };
    publisher.write(&blob).unwrap();
    assert_eq!(subscriber.recv_timeout(LONG).unwrap().unwrap().data, Data::Valid(blob));
}

/// Wrong domain numbers and names are refused with the reason.
#[test]
fn bad_settings_are_refused() {
    let error = Participant::builder().domain(233).build().unwrap_err().to_string();
    assert!(error.contains("233"), "{error}");
    let a = join("a", 48);
    assert!(a.publisher::<Item>("").build().is_err());
    let long = "x".repeat(300);
    assert!(a.publisher::<Item>(&long).build().is_err());
    assert!(a.subscriber::<Item>("t").partitions([long]).build().is_err());
}

/// Two domains of one process do not hear each other.
#[test]
fn domains_are_apart() {
    let (a, b, c) = (join("a", 49), join("b", 50), join("c", 50));
    let publisher = a.publisher::<Item>("items").reliable().build().unwrap();
    let other = c.publisher::<Item>("items").reliable().build().unwrap();
    let subscriber = b.subscriber::<Item>("items").reliable().keep_all().build().unwrap();
    assert!(subscriber.wait_for_match(1, LONG) && other.wait_for_match(1, LONG));
    publisher.write(&item(1, 0.0)).unwrap();
    other.write(&item(2, 0.0)).unwrap();
    assert_eq!(subscriber.recv_timeout(LONG).unwrap().unwrap().data, Data::Valid(item(2, 0.0)));
    assert_eq!(publisher.matched().current, 0);
}

/// A publisher that disposes of its instances when it is deleted does so also when its participant leaves right after;
/// subscribers get the whole key.
#[test]
fn instances_end_with_their_publisher() {
    let b = join("b", 59);
    let subscriber = b.subscriber::<Item>("items").reliable().keep_all().build().unwrap();
    {
        let a = join("a", 59);
        let publisher = a.publisher::<Item>("items").reliable().keep_all().autodispose(true).build().unwrap();
        assert!(publisher.wait_for_match(1, LONG) && subscriber.wait_for_match(1, LONG));
        for id in [3, 4, 3] {
            publisher.write(&item(id, 1.0)).unwrap();
        }
    }
    let next = || subscriber.recv_timeout(LONG).unwrap().unwrap().data;
    assert_eq!([next(), next(), next()], [3, 4, 3].map(|id| Data::Valid(item(id, 1.0))));
    let mut ended: Vec<u32> = (0..2)
        .map(|_| match next() {
            Data::Disposed(Some(key)) => key.id,
            other => panic!("a disposal, not {other:?}"),
        })
        .collect();
    ended.sort_unstable();
    assert_eq!(ended, [3, 4]);
}

/// Values of a type described in XML are those of the derived type of the same name, and end their instances as those
/// do.
#[test]
fn xml_types_meet_derived_ones() {
    let text = "<types xmlns='http://www.eprosima.com'><type><struct name='test::Item'>\
                <member name='id' type='uint32' key='true'/><member name='value' type='float64'/>\
                <member name='name' type='string'/></struct></type></types>";
    let document = Document::parse("item.xml", text, &|_| None).unwrap();
    let structure = Types::load(&[document]).unwrap().structure("test::Item").unwrap();
    let (a, b) = (join("a", 58), join("b", 58));
    let described = a.dynamic_publisher("items", Arc::clone(&structure)).reliable().build().unwrap();
    let derived = b.subscriber::<Item>("items").reliable().keep_all().build().unwrap();
    assert!(described.wait_for_match(1, LONG) && derived.wait_for_match(1, LONG));
    let mut value = DynamicValue::zero(Arc::clone(&structure));
    value.set("id", Value::Uint32(7)).unwrap();
    value.set("name", Value::String("item 7".into())).unwrap();
    described.write(&value).unwrap();
    described.dispose(&value).unwrap();
    described.unregister(&value).unwrap();
    let next = || derived.recv_timeout(LONG).unwrap().unwrap().data;
    let key = Item { id: 7, ..Item::default() };
    assert_eq!(next(), Data::Valid(item(7, 0.0)));
    assert_eq!(next(), Data::Disposed(Some(key.clone())));
    assert_eq!(next(), Data::Unregistered(Some(key)));

    let (back, forth) = ("back", b.publisher::<Item>("back").reliable().build().unwrap());
    let described = a.dynamic_subscriber(back, structure).reliable().keep_all().build().unwrap();
    assert!(described.wait_for_match(1, LONG) && forth.wait_for_match(1, LONG));
    forth.write(&item(9, 1.5)).unwrap();
    forth.dispose(&item(9, 0.0)).unwrap();
    let next = || described.recv_timeout(LONG).unwrap().unwrap().data;
    let Data::Valid(DynamicData::Value(value)) = next() else { panic!("a value") };
    assert_eq!(value.get("name").and_then(Value::as_str), Some("item 9"));
    let Data::Disposed(Some(DynamicData::Value(key))) = next() else { panic!("a disposal with its key") };
    assert_eq!((key.get("id"), key.get("value")), (Some(&Value::Uint32(9)), Some(&Value::Float64(0.0))));
}
