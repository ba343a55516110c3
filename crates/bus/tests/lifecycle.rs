#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: counts the process's open files; a failure in a helper is a failed test"
)]
//! Joining and leaving, alone in a process: nothing stays behind.

use std::sync::mpsc;
use std::time::Duration;

use bus::{DdsType, Participant};

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "test::Number")]
struct Number {
    value: u32,
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn bus_threads() -> usize {
    node::thread::list().iter().filter(|thread| thread.role.name().starts_with("stw-bus")).count()
}

fn join(domain: u32) -> Participant {
    Participant::builder().domain(domain).name("lifecycle").build().unwrap()
}

/// After the last participant has left, its threads and sockets are gone; joining again works, with another identity.
/// A participant dropped in a bus callback ends the engine as well. One test, because it looks at the whole process.
#[test]
fn nothing_stays_behind() {
    let long = Duration::from_secs(10);
    let files = open_files();
    let mut identities = std::collections::BTreeSet::new();
    for _ in 0..30 {
        let (a, b) = (join(51), join(51));
        let publisher = a.publisher::<Number>("t").reliable().build().unwrap();
        let subscriber = b.subscriber::<Number>("t").reliable().keep_all().build().unwrap();
        assert!(publisher.wait_for_match(1, long) && subscriber.wait_for_match(1, long));
        publisher.write(&Number { value: 1 }).unwrap();
        assert!(subscriber.recv_timeout(long).unwrap().is_some());
        identities.insert(a.guid());
        assert!(bus_threads() >= 2);
    }
    assert_eq!(identities.len(), 30);
    assert_eq!((bus_threads(), open_files()), (0, files));

    // The callback's thread drops the last owner of the participant.
    let a = join(51);
    let publisher = a.publisher::<Number>("t").build().unwrap();
    let (dropped, is_dropped) = mpsc::channel();
    let mut held = Some(a.clone());
    let subscriber = a
        .subscriber::<Number>("t")
        .on_sample(move |_| {
            drop(held.take());
            dropped.send(()).unwrap();
        })
        .build()
        .unwrap();
    assert!(publisher.wait_for_match(1, long));
    publisher.write(&Number { value: 2 }).unwrap();
    is_dropped.recv_timeout(long).unwrap();
    drop((publisher, subscriber, a));
    assert_eq!(bus_threads(), 0);
}
