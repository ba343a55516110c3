#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes; a failure in a helper is a failed test"
)]
//! Processes of one machine that share memory: exchange, loss and repair, death, strangers.

mod process;

use process::{Process, topic};

/// Samples of every size cross by shared memory, reliably and not, whole and in order.
#[test]
fn samples_of_every_size_cross() {
    for (domain, reliable) in [(91, true), (92, false)] {
        let topic = topic("every-size");
        let mut common = vec!["--topic", topic.as_str()];
        if reliable {
            common.extend(["--reliable", "--all"]);
        }
        let mut publisher = Process::start("pub", domain, &common);
        let mut subscriber = Process::start("sub", domain, &common);
        publisher.share_with(&mut [&mut subscriber], 1);
        for size in [0, 1, 7, 8, 64, 1000, 64_000, 70_000, 500_000] {
            // What is best effort must fit the ring, or the rest is lost.
            let count = if size > 100_000 { 1 } else { 3 };
            let first = publisher.write(count, size);
            for number in first..first + count {
                let sample = subscriber.line();
                assert_eq!(
                    (&sample["number"], &sample["size"], &sample["whole"], &sample["by"]),
                    (&number.into(), &size.into(), &true.into(), &"SharedMemory".into()),
                );
            }
        }
        if reliable {
            assert_eq!(publisher.ask("acknowledge")["acknowledged"], true);
        }
    }
}
