//! The floor: what the operating system charges for the same exchange without any bus. Blocking calls only, since a
//! spinning process takes a core from the job.

mod memory;
mod tcp;
mod udp;

use super::rounds::{Progress, Rounds};
use super::{PeerOptions, Verb, line};
use crate::bench::transport::BenchTransport;
use crate::report::{Exit, Failure};

/// The part of a floor's sample that the bench reads: id and number.
const HEADER: usize = 8;

pub(super) fn run(options: &PeerOptions, verb: Verb) -> Result<Exit, Failure> {
    match (options.transport, verb) {
        (BenchTransport::Udp | BenchTransport::Udpm, Verb::Pong) => udp::pong(options),
        (BenchTransport::Udp | BenchTransport::Udpm, Verb::Ping) => udp::ping(options),
        (BenchTransport::Udp, Verb::Rx) => udp::rx(options),
        (BenchTransport::Udp, Verb::Tx) => udp::tx(options),
        (BenchTransport::Tcp, Verb::Pong) => tcp::pong(options),
        (BenchTransport::Tcp, Verb::Ping) => tcp::ping(options),
        (BenchTransport::Tcp, Verb::Rx) => tcp::rx(options),
        (BenchTransport::Tcp, Verb::Tx) => tcp::tx(options),
        (BenchTransport::Shm, Verb::Pong) => memory::pong(options),
        (BenchTransport::Shm, Verb::Ping) => memory::ping(options),
        (transport, _) => Err(Failure::new(
            Exit::NotAvailable,
            format!("the floor has no such exchange over {}", transport.title()),
        )),
    }
}

/// A sample as bytes: id, number, payload.
fn sample(size: u32) -> Vec<u8> {
    vec![1; HEADER + size as usize]
}

fn set_header(sample: &mut [u8], id: u32, number: u32) {
    if let Some((head, _)) = sample.split_first_chunk_mut::<4>() {
        *head = id.to_ne_bytes();
    }
    if let Some(number_at) = sample.get_mut(4..HEADER) {
        number_at.copy_from_slice(&number.to_ne_bytes());
    }
}

fn header(sample: &[u8]) -> Option<(u32, u32)> {
    let (id, rest) = sample.split_first_chunk::<4>()?;
    let (number, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*id), u32::from_ne_bytes(*number)))
}

/// Runs all rounds: `send` gives a round's sample to everyone, `receive` waits for one answer and says whose it is and
/// of which round, `None` after a wait without one.
fn drive(
    options: &PeerOptions,
    mut send: impl FnMut(u32) -> Result<(), Failure>,
    mut receive: impl FnMut() -> Result<Option<(u32, u32)>, Failure>,
) -> Result<Exit, Failure> {
    let mut rounds = Rounds::new(options.samples, options.subscribers);
    let mut repeated = 0;
    loop {
        rounds.start(line::now_ns());
        send(rounds.number())?;
        let progress = loop {
            let Some((id, number)) = receive()? else { break Progress::Waiting };
            let progress = rounds.handle_answer(id, number, line::now_ns());
            if matches!(progress, Progress::Next | Progress::Done) {
                break progress;
            }
        };
        match progress {
            Progress::Done => break,
            Progress::Next => {}
            _ if repeated < REPEATED_MAX => repeated += 1,
            _ => return Err(Failure::new(Exit::Failed, "answers keep getting lost, without any bus")),
        }
    }
    line::say_rounds(&rounds, repeated);
    Ok(Exit::Done)
}

/// Rounds sent again after which the run is given up.
const REPEATED_MAX: u32 = 50;
