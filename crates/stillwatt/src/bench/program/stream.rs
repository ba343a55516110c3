//! One-way streams on our bus.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::bus::{MATCH_MAX, Message, PING, SETTLE, came_as_asked, join, not_found, other_transport, qos};
use super::line::{self, Received, Sent, now_ns};
use super::{PeerOptions, failed};
use crate::report::{Exit, Failure};

/// A stream counts as broken off after so much silence.
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// How often the main thread looks whether the stream is over.
const LOOK: Duration = Duration::from_millis(10);
/// The longest wait for the last acknowledgement.
const ACKNOWLEDGE_MAX: Duration = Duration::from_secs(30);

/// A refused sample is written again; a stream with more refusals goes on without them.
const REFUSED_MAX: u32 = 10_000;

/// What the receive callback tells the main thread.
#[derive(Debug, Default)]
struct Seen {
    received: Mutex<Received>,
    next: AtomicU32,
    last_ns: AtomicU64,
    is_astray: AtomicBool,
}

impl Seen {
    fn handle(&self, message: &Message, now_ns: u64) {
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        if received.received == 0 {
            received.first_ns = now_ns;
        }
        received.last_ns = now_ns;
        received.disordered += u64::from(message.seq != self.next.load(Ordering::Relaxed));
        received.received += 1;
        received.bytes += message.data.len() as u64;
        self.last_ns.store(now_ns, Ordering::Relaxed);
        self.next.store(message.seq.wrapping_add(1), Ordering::Relaxed);
    }

    fn is_over(&self, samples: u32) -> bool {
        let last = self.last_ns.load(Ordering::Relaxed);
        let silence = u128::from(now_ns().saturating_sub(last));
        self.next.load(Ordering::Relaxed) >= samples || last > 0 && silence > SILENCE_MAX.as_nanos()
    }
}

/// Receives until the last sample or silence, then says what came.
pub(super) fn rx(options: &PeerOptions) -> Result<Exit, Failure> {
    let participant = join(options, "bench rx")?;
    let seen = Arc::new(Seen::default());
    let (counted, asked) = (Arc::clone(&seen), options.clone());
    let subscriber =
        participant.subscriber::<Message>(PING).qos(qos(options, true)).on_sample(move |sample| {
            let now = now_ns();
            if !came_as_asked(&asked, &sample) {
                counted.is_astray.store(true, Ordering::Relaxed);
            }
            if let Some(message) = sample.data.valid() {
                counted.handle(&message, now);
            }
        });
    let subscriber = subscriber.build().map_err(failed)?;
    line::say(&line::Ready::new(None));
    while !seen.is_over(options.samples) {
        node::clock::sleep(LOOK);
    }
    if seen.is_astray.load(Ordering::Relaxed) {
        return Err(other_transport(options));
    }
    line::say(&*seen.received.lock().unwrap_or_else(PoisonError::into_inner));
    line::wait_for_end();
    drop(subscriber);
    Ok(Exit::Done)
}

/// Sends all samples without pause, then waits until they are acknowledged.
pub(super) fn tx(options: &PeerOptions) -> Result<Exit, Failure> {
    let participant = join(options, "bench tx")?;
    let publisher = participant.publisher::<Message>(PING).qos(qos(options, true)).build().map_err(failed)?;
    if !publisher.wait_for_match(1, MATCH_MAX) {
        return Err(not_found(MATCH_MAX));
    }
    node::clock::sleep(SETTLE);
    let mut message = Message { id: 0, seq: 0, data: vec![1; options.size as usize] };
    let mut refused = 0;
    let first_ns = now_ns();
    for number in 0..options.samples {
        message.seq = number;
        while publisher.write(&message).is_err() && refused < REFUSED_MAX {
            refused += 1;
        }
    }
    let last_ns = now_ns();
    let acknowledged = publisher.wait_for_acknowledgements(ACKNOWLEDGE_MAX);
    line::say(&Sent { sent: options.samples, refused, first_ns, last_ns, acknowledged });
    line::wait_for_end();
    Ok(Exit::Done)
}
