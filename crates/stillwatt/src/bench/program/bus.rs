//! Ping and pong on our bus.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bus::{DdsType, Participant, Publisher, Sample, Subscriber, TcpTransport, TransportKind, Transports};
use rtps::Lease;
use rtps::qos::{History, Qos, Reliability, ResourceLimits};

use super::line::{self, now_ns};
use super::rounds::{Progress, Rounds};
use super::{PeerOptions, failed};
use crate::bench::transport::BenchTransport;
use crate::report::{Exit, Failure};

/// The sample of every bench: two numbers and a payload.
#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Msg")]
pub(super) struct Message {
    pub(super) id: u32,
    pub(super) seq: u32,
    pub(super) data: Vec<u8>,
}

pub(super) const PING: &str = "bench/ping";
pub(super) const PONG: &str = "bench/pong";
/// The longest wait for the matches of a few processes.
pub(super) const MATCH_MAX: Duration = Duration::from_secs(60);
/// Each process more may take so much longer: they all look for each other.
const MATCH_MAX_EACH: Duration = Duration::from_secs(1);
/// The longest wait for the matches of any number of processes.
const MATCH_MAX_ALL: Duration = Duration::from_secs(240);
/// Other processes may still be matching when this one is done.
pub(super) const SETTLE: Duration = Duration::from_millis(300);
/// How often the main thread looks whether rounds go on.
const LOOK: Duration = Duration::from_millis(50);
/// Looks without progress after which a round is sent again.
const STILL_MAX: u32 = 10;
/// Rounds sent again after which the run is given up.
const REPEATED_MAX: u32 = 50;
/// Samples kept by either side of a round trip.
const DEPTH: u32 = 64;
/// Samples that a stream keeps until they are acknowledged.
const STREAM_SAMPLES_MAX: u32 = 5000;
/// How long a stream's write may wait for room.
const STREAM_BLOCKING: Duration = Duration::from_secs(10);
/// How long a stream's sample may wait for others, when batching.
const BATCH_BUDGET: Duration = Duration::from_micros(500);

/// Joins the domain with the transport asked for.
pub(super) fn join(options: &PeerOptions, name: &str) -> Result<Participant, Failure> {
    let mut transports = match options.transport {
        BenchTransport::Udp | BenchTransport::Inproc => Transports::udp(),
        BenchTransport::Udpm => Transports::udp_multicast(),
        BenchTransport::Shm => Transports::shared_memory(),
        BenchTransport::Tcp => Transports::tcp(tcp(options)?),
    };
    if let Some(address) = options.address {
        transports.interfaces = vec![address.to_string()];
    }
    let builder = Participant::builder().domain(options.domain).name(name).transports(transports);
    builder.build().map_err(failed)
}

fn tcp(options: &PeerOptions) -> Result<TcpTransport, Failure> {
    let server = options.server.ok_or_else(|| Failure::new(Exit::Usage, "--transport tcp needs --server"))?;
    if options.is_server() {
        return Ok(TcpTransport { listen: vec![server], ..TcpTransport::default() });
    }
    Ok(TcpTransport { connect: vec![server], ..TcpTransport::default() })
}

/// The QoS of a bench's endpoint; a stream keeps all samples when it is reliable.
pub(super) fn qos(options: &PeerOptions, is_stream: bool) -> Qos {
    let mut qos = Qos { history: History::KeepLast(DEPTH), ..Qos::default() };
    if options.reliable {
        qos.reliability = Reliability::Reliable;
    }
    if is_stream && options.reliable {
        qos.history = History::KeepAll;
        qos.max_blocking = STREAM_BLOCKING;
        qos.resource_limits =
            ResourceLimits { max_samples: Some(STREAM_SAMPLES_MAX), ..ResourceLimits::default() };
    }
    if is_stream && options.tuned {
        qos.latency_budget = Lease::Finite(BATCH_BUDGET);
    }
    qos
}

/// Whether a sample came as asked; where it could not, the bus had to take another transport.
pub(super) fn came_as_asked<T>(options: &PeerOptions, sample: &Sample<T>) -> bool {
    let wanted = match options.transport {
        BenchTransport::Udp | BenchTransport::Udpm => TransportKind::Udp,
        BenchTransport::Tcp => TransportKind::Tcp,
        BenchTransport::Shm => TransportKind::SharedMemory,
        BenchTransport::Inproc => TransportKind::InProcess,
    };
    sample.transport == wanted
}

pub(super) fn other_transport(options: &PeerOptions) -> Failure {
    let title = options.transport.title();
    Failure::new(Exit::NotAvailable, format!("samples came by another transport than {title}"))
        .with_remedy(format!("{title} cannot be used between these processes here: see `stillwatt doctor`"))
}

/// Endpoints that answer, kept until the process ends.
#[derive(Debug)]
struct Answering {
    _participant: Participant,
    _subscriber: Subscriber<Message>,
}

fn answer(options: &PeerOptions, id: u32) -> Result<Answering, Failure> {
    let participant = join(options, "bench pong")?;
    let publisher =
        participant.publisher::<Message>(PONG).qos(qos(options, false)).build().map_err(failed)?;
    let subscriber = participant.subscriber::<Message>(PING).qos(qos(options, false));
    let subscriber = subscriber.on_sample(move |sample| {
        if let Some(mut message) = sample.data.valid() {
            message.id = id;
            // A failed answer shows as a repeated round at the other side.
            let _ = publisher.write(&message);
        }
    });
    let subscriber = subscriber.build().map_err(failed)?;
    Ok(Answering { _participant: participant, _subscriber: subscriber })
}

/// Answers every sample from within the callback.
pub(super) fn pong(options: &PeerOptions) -> Result<Exit, Failure> {
    let answering = answer(options, options.id)?;
    line::say(&line::Ready::new(None));
    line::wait_for_end();
    drop(answering);
    Ok(Exit::Done)
}

/// What the receive callback and the main thread share.
struct Master {
    rounds: Rounds,
    message: Message,
    publisher: Publisher<Message>,
    is_astray: bool,
}

impl Master {
    fn send(&mut self) {
        self.message.seq = self.rounds.number();
        self.rounds.start(now_ns());
        // A failed write shows as a repeated round.
        let _ = self.publisher.write(&self.message);
    }

    fn handle_answer(&mut self, answer: &Message, now_ns: u64) {
        if self.rounds.handle_answer(answer.id, answer.seq, now_ns) == Progress::Next {
            self.send();
        }
    }
}

fn locked(master: &Mutex<Master>) -> MutexGuard<'_, Master> {
    master.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends each round from within the callback of the last answer of the one before, as an actor on the bus would.
pub(super) fn ping(options: &PeerOptions) -> Result<Exit, Failure> {
    let answering: Vec<Answering> = match options.transport {
        BenchTransport::Inproc => {
            (0..options.subscribers).map(|id| answer(options, id)).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    let participant = join(options, "bench ping")?;
    let publisher =
        participant.publisher::<Message>(PING).qos(qos(options, false)).build().map_err(failed)?;
    let master = Arc::new(Mutex::new(Master {
        rounds: Rounds::new(options.samples, options.subscribers),
        message: Message { id: 0, seq: 0, data: vec![1; options.size as usize] },
        publisher,
        is_astray: false,
    }));
    let (seen, asked) = (Arc::clone(&master), options.clone());
    let subscriber =
        participant.subscriber::<Message>(PONG).qos(qos(options, false)).on_sample(move |sample| {
            let now = now_ns();
            let mut master = locked(&seen);
            master.is_astray |= !came_as_asked(&asked, &sample);
            if let Some(answer) = sample.data.valid() {
                master.handle_answer(&answer, now);
            }
        });
    let subscriber = subscriber.build().map_err(failed)?;
    let wanted = options.subscribers as usize;
    let longest = (MATCH_MAX + MATCH_MAX_EACH * options.subscribers).min(MATCH_MAX_ALL);
    if !subscriber.wait_for_match(wanted, longest) || !wait_for_readers(&master, wanted) {
        return Err(not_found(longest));
    }
    node::clock::sleep(SETTLE);
    locked(&master).send();
    let repeated = watch(&master, options)?;
    if locked(&master).is_astray {
        return Err(other_transport(options));
    }
    line::say_rounds(&locked(&master).rounds, repeated);
    drop(answering);
    Ok(Exit::Done)
}

fn wait_for_readers(master: &Mutex<Master>, wanted: usize) -> bool {
    let looks = MATCH_MAX.as_millis() / LOOK.as_millis();
    (0..looks).any(|_| {
        let is_matched = locked(master).publisher.matched().current >= wanted;
        if !is_matched {
            node::clock::sleep(LOOK);
        }
        is_matched
    })
}

pub(super) fn not_found(longest: Duration) -> Failure {
    Failure::new(Exit::Failed, format!("the processes did not find each other in {} s", longest.as_secs()))
        .with_remedy("see what `stillwatt doctor` says of multicast")
}

/// Waits for the last round; gives how many were sent again.
fn watch(master: &Mutex<Master>, options: &PeerOptions) -> Result<u32, Failure> {
    let (mut last, mut still, mut repeated) = (0, 0, 0);
    loop {
        node::clock::sleep(LOOK);
        let mut master = locked(master);
        let finished = master.rounds.finished();
        if finished == options.samples as usize {
            return Ok(repeated);
        }
        still = if finished == last { still + 1 } else { 0 };
        last = finished;
        if still == STILL_MAX {
            still = 0;
            repeated += 1;
            if repeated > REPEATED_MAX {
                return Err(Failure::new(Exit::Failed, "answers keep getting lost")
                    .with_remedy("run it again when the machine is less busy, or with fewer --subscribers"));
            }
            master.send();
        }
    }
}
