//! Node managers on the bus: one thread serves any number of them.
//!
//! May touch: the bus, the clocks, one thread. The thread wakes for requests, for the end of leases and once a
//! period, aligned to multiples of the period on the wall clock so that all nodes are sampled at the same moment.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use bus::{CreateError, Data, Participant, Subscriber, TransportKind};
use node::clock;
use node::thread::{JoinHandle, Placement, Role, spawn};
use units::Instant;

use super::ManagedNode;
use super::server::Server;
use crate::message::{NmRequest, NmStatus, WriterId};
use crate::topic::{self, Place};

/// The thread that serves node managers.
pub const ROLE: Role = Role::new("stw-nm", "answers requests to node managers and samples their sensors");

/// What is configured of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceConfig {
    /// Where the nodes stand.
    pub place: Place,
    /// How often sensors are sampled and telemetry is published; at least [`PERIOD_MIN`].
    pub period: Duration,
    /// After how many periods the status is published at the latest.
    pub status_periods: u32,
    /// Requests that may wait; further ones are dropped and counted, and their clients see a timeout.
    pub queue_max: usize,
    /// Where the thread runs.
    pub placement: Placement,
}

/// Sampling more often than this would disturb the node.
pub const PERIOD_MIN: Duration = Duration::from_millis(10);

/// One node manager to serve.
pub struct Member {
    /// Its place on the bus.
    pub participant: Participant,
    /// The node manager.
    pub node: Box<dyn ManagedNode>,
}

/// Serves node managers until it is stopped or dropped; then every knob is restored.
#[derive(Debug)]
pub struct Service {
    queue: SyncSender<Message>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<usize>>,
}

/// What a service has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceStatistics {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that found the queue full.
    pub dropped: u64,
    /// Answers and reports that the bus refused.
    pub unsent: u64,
    /// Periods in which sensors were not sampled because the one before took too long.
    pub periods_missed: u64,
}

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An endpoint could not be made.
    #[error("the node manager of {host} cannot join the bus: {source}")]
    Endpoint {
        /// The node.
        host: String,
        /// The bus's reason.
        source: CreateError,
    },
    /// The thread could not be started.
    #[error("the node manager's thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    /// The period is too short.
    #[error("a period of {0:?} is too short: it must be at least {PERIOD_MIN:?}")]
    Period(Duration),
}

/// Shared with the bus's callbacks.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) answered: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) unsent: AtomicU64,
    pub(super) periods_missed: AtomicU64,
}

enum Message {
    Request {
        member: usize,
        request: Box<NmRequest>,
        transport: TransportKind,
    },
    /// Another node manager says that it serves the same node.
    Rival {
        member: usize,
        writer: WriterId,
    },
    Stop,
}

/// Rivals of one node manager that are told of; further ones go unsaid.
const RIVALS_MAX: usize = 16;

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            place: Place::default(),
            period: Duration::from_secs(1),
            status_periods: 10,
            queue_max: 1024,
            placement: Placement::Inherit,
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("host", &self.node.host()).finish_non_exhaustive()
    }
}

impl Service {
    /// Starts to serve. Returns when every node manager takes requests and has published its capabilities.
    ///
    /// # Errors
    /// When an endpoint or the thread cannot be made; nothing is served then.
    pub fn start(members: Vec<Member>, config: ServiceConfig) -> Result<Self, StartError> {
        if config.period < PERIOD_MIN {
            return Err(StartError::Period(config.period));
        }
        let counters = Arc::new(Counters::default());
        let (queue, requests) = sync_channel(config.queue_max.max(1));
        let mut served = Vec::with_capacity(members.len());
        for (index, member) in members.into_iter().enumerate() {
            let host = member.node.host().to_owned();
            let fault = |source| StartError::Endpoint { host: host.clone(), source };
            let partitions = topic::node_manager_partitions(&host, &config.place);
            let participant = member.participant.clone();
            let requests = listen(&participant, &partitions, index, queue.clone(), Arc::clone(&counters))
                .map_err(fault)?;
            let writer = requests.guid().to_bytes();
            let mut server =
                Server::new(member, &partitions, writer, config.status_periods, Arc::clone(&counters))
                    .map_err(fault)?;
            server.begin();
            let rivals =
                watch(&participant, &partitions, (index, &host, writer), queue.clone()).map_err(fault)?;
            served.push((server, Ears { _requests: requests, _rivals: rivals }));
        }
        let serving = Serving { served, requests, period: config.period, counters: Arc::clone(&counters) };
        let thread = spawn(ROLE, config.placement, move || serving.run()).map_err(StartError::Thread)?;
        Ok(Self { queue, counters, thread: Some(thread) })
    }

    /// What it has done so far.
    pub fn statistics(&self) -> ServiceStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServiceStatistics {
            answered: read(&self.counters.answered),
            dropped: read(&self.counters.dropped),
            unsent: read(&self.counters.unsent),
            periods_missed: read(&self.counters.periods_missed),
        }
    }

    /// Ends the service in order: knobs are restored, the nodes say goodbye. Returns how many knobs could not be
    /// restored; a service that had ended by a panic, whose journal restored what it could, counts as one. Blocks
    /// until then.
    pub fn stop(mut self) -> usize {
        self.end()
    }

    fn end(&mut self) -> usize {
        let Some(thread) = self.thread.take() else { return 0 };
        // The thread always takes from the queue, so this waits at most for the requests before it.
        let _ = self.queue.send(Message::Stop);
        thread.join().unwrap_or(1)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

/// Puts the requests of one node into the queue.
fn listen(
    participant: &Participant,
    partitions: &[String],
    member: usize,
    queue: SyncSender<Message>,
    counters: Arc<Counters>,
) -> Result<Subscriber<NmRequest>, CreateError> {
    topic::NM_REQUEST.on_sample(participant, partitions, move |sample| {
        let Data::Valid(request) = sample.data else { return };
        let message = Message::Request { member, request: Box::new(request), transport: sample.transport };
        if queue.try_send(message).is_err() {
            counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    })
}

/// Tells of other node managers that say they serve `host`, each once.
fn watch(
    participant: &Participant,
    partitions: &[String],
    (member, host, own): (usize, &str, WriterId),
    queue: SyncSender<Message>,
) -> Result<Subscriber<NmStatus>, CreateError> {
    let host = host.to_owned();
    let mut told = BTreeSet::new();
    topic::NM_STATUS.on_sample(participant, partitions, move |sample| {
        let Data::Valid(status) = sample.data else { return };
        let writer = status.header.writer;
        if status.host != host || writer == own || told.len() >= RIVALS_MAX || told.contains(&writer) {
            return;
        }
        // When the queue is full, the rival's next status tells.
        if queue.try_send(Message::Rival { member, writer }).is_ok() {
            told.insert(writer);
        }
    })
}

/// What a node manager hears. Kept for the callbacks.
struct Ears {
    _requests: Subscriber<NmRequest>,
    _rivals: Subscriber<NmStatus>,
}

/// What the thread owns.
struct Serving {
    served: Vec<(Server, Ears)>,
    requests: Receiver<Message>,
    period: Duration,
    counters: Arc<Counters>,
}

impl Serving {
    fn run(mut self) -> usize {
        let mut next_period = self.next_period();
        loop {
            let leases = self.served.iter().filter_map(|(server, _)| server.poll_timeout());
            let deadline = leases.min().map_or(next_period, |lease| lease.min(next_period));
            match self.requests.recv_timeout(deadline - clock::monotonic()) {
                Ok(Message::Request { member, request, transport }) => {
                    if let Some((server, _)) = self.served.get_mut(member) {
                        server.answer(&request, transport);
                    }
                }
                Ok(Message::Rival { member, writer }) => {
                    if let Some((server, _)) = self.served.get(member) {
                        server.tell_rival(writer);
                    }
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = clock::monotonic();
            if now >= next_period {
                for (server, _) in &mut self.served {
                    server.period();
                }
                next_period = self.next_period();
                self.count_missed(now, next_period);
            } else if now >= deadline {
                for (server, _) in &mut self.served {
                    server.tick(now);
                }
            }
        }
        // No further requests: whoever asks from now on gets no answer instead of a setting that is undone at once.
        self.served.into_iter().map(|(server, ears)| (drop(ears), server.end()).1).sum()
    }

    /// The next multiple of the period on the wall clock, on the monotonic clock.
    fn next_period(&self) -> Instant {
        let period = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX);
        let mut left = period - clock::wall().unix_nanos() % period;
        // Waking a little early must not give two samples for one multiple.
        if left < period / 8 {
            left += period;
        }
        clock::monotonic() + Duration::from_nanos(left)
    }

    fn count_missed(&self, begun: Instant, next: Instant) {
        let periods = (next - begun).as_nanos() / self.period.as_nanos().max(1);
        let missed = u64::try_from(periods.saturating_sub(1)).unwrap_or(u64::MAX);
        self.counters.periods_missed.fetch_add(missed, Ordering::Relaxed);
    }
}
