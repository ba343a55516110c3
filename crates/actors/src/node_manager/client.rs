//! Asking node managers over the bus: one of them, or all that a partition pattern reaches.
//!
//! May touch: the bus and the clocks; no thread of its own. Answers arrive on a thread of the bus, the caller waits in
//! its own.

mod directory;
mod typed;

pub use typed::{Attributed, SettingWish};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bus::{CreateError, Data, Participant, PublishError, Publisher, Subscriber, TransportKind};
use node::clock;
use units::Instant;

use super::{NodeManagerError, Request};
use crate::exchange::{Action, Counters, Event, Exchange, Limits, Outcome, RefuseError, RequestId, Want};
use crate::message::{Actor, NmReply, NmRequest, NmStatus, Sender};
use crate::topic;
use directory::Directory;

/// What is configured of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// The partitions in which to ask; patterns such as `NodeManager*` reach many.
    pub partitions: Vec<String>,
    /// Who asks, as the nodes' allow lists name it.
    pub principal: String,
    /// The machine that the client runs on.
    pub host: String,
    /// How long a call waits, unless it says otherwise.
    pub timeout: Duration,
    /// Bounds of what waits.
    pub limits: Limits,
}

/// Asks node managers. May be shared between threads; calls of several threads wait independently.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    sender: Sender,
    requests: Publisher<NmRequest>,
    shared: Arc<Shared>,
    last_request: AtomicU64,
    last_sequence: AtomicU64,
    /// Kept for their callbacks.
    _subscriptions: (Subscriber<NmReply>, Subscriber<NmStatus>),
}

/// The answers to one request, by node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Who answered, ascending.
    pub replies: Vec<(String, NmReply)>,
    /// Known nodes that did not answer, ascending.
    pub missing: Vec<String>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    exchange: Exchange<NmReply>,
    actions: Vec<Action<NmReply>>,
    done: BTreeMap<RequestId, Result<Outcome<NmReply>, RefuseError>>,
    directory: Directory,
    from_rivals: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            exchange: Exchange::new(Limits::default()),
            actions: Vec::new(),
            done: BTreeMap::new(),
            directory: Directory::default(),
            from_rivals: 0,
        }
    }
}

impl ClientConfig {
    /// Asks every node manager in `principal`'s name.
    pub fn every_node(principal: &str, host: &str) -> Self {
        Self {
            partitions: vec![topic::PARTITION_EVERY_NODE.into()],
            principal: principal.into(),
            host: host.into(),
            timeout: Duration::from_secs(1),
            limits: Limits::default(),
        }
    }

    /// Asks the node manager of one node.
    pub fn one_node(principal: &str, host: &str, node: &str) -> Self {
        Self { partitions: vec![topic::node_partition(node)], ..Self::every_node(principal, host) }
    }
}

impl Client {
    /// Joins the topics. Does not wait for servers.
    ///
    /// # Errors
    /// When a partition breaks a bound of the wire.
    pub fn connect(participant: &Participant, config: ClientConfig) -> Result<Self, CreateError> {
        let shared = Arc::new(Shared::default());
        shared.lock().exchange = Exchange::new(config.limits);
        let partitions = &config.partitions;
        let requests = topic::NM_REQUEST.publisher(participant, partitions)?;
        let client = requests.guid().to_bytes();
        let to_shared = Arc::clone(&shared);
        let replies = topic::NM_REPLY.on_sample(participant, partitions, move |sample| {
            if let Data::Valid(reply) = sample.data
                && reply.client == client
            {
                to_shared.take_reply(reply, sample.transport);
            }
        })?;
        let to_shared = Arc::clone(&shared);
        let status = topic::NM_STATUS.on_sample(participant, partitions, move |sample| {
            to_shared.take_status(sample);
        })?;
        let sender = Sender { actor: Actor::Tool, host: config.host.clone(), writer: client };
        Ok(Self {
            config,
            sender,
            requests,
            shared,
            last_request: AtomicU64::new(0),
            last_sequence: AtomicU64::new(0),
            _subscriptions: (replies, status),
        })
    }

    /// The nodes that are known to serve in the client's partitions, ascending.
    pub fn servers(&self) -> Vec<String> {
        self.shared.lock().directory.hosts()
    }

    /// The last status of a node.
    pub fn status(&self, host: &str) -> Option<NmStatus> {
        self.shared.lock().directory.status(host).cloned()
    }

    /// Waits until at least `count` nodes are known and take requests; false after `timeout`.
    pub fn wait_for_servers(&self, count: usize, timeout: Duration) -> bool {
        let deadline = clock::monotonic() + timeout;
        let is_known =
            self.shared.wait(deadline, |state| (state.directory.len() >= count).then_some(())).is_some();
        is_known && self.requests.wait_for_match(count, deadline - clock::monotonic())
    }

    /// No longer expects an answer of a node that fell silent for good.
    pub fn forget(&self, host: &str) {
        let mut state = self.shared.lock();
        state.directory.forget(host);
        state.apply(clock::monotonic(), Event::ServerLeft(host.to_owned()));
        self.shared.changed.notify_all();
    }

    /// What was not delivered so far.
    pub fn counters(&self) -> Counters {
        self.shared.lock().exchange.counters()
    }

    /// Answers that were not taken, as a second manager of a node gave them that has one in this process.
    pub fn from_rivals(&self) -> u64 {
        self.shared.lock().from_rivals
    }

    /// A number above all that this client has used for settings and releases.
    pub fn next_sequence(&self) -> u64 {
        self.last_sequence.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Asks, and returns the first answer. Blocks up to `timeout`.
    ///
    /// # Errors
    /// When nobody answers or the answer is a failure.
    pub fn ask(&self, request: &Request, timeout: Duration) -> Result<NmReply, NodeManagerError> {
        self.ask_as(&self.config.principal, request, timeout)
    }

    /// Asks every node, and returns each answer by its node and the known nodes that did not answer. Blocks until all
    /// known nodes have answered, or up to `timeout`.
    ///
    /// # Errors
    /// When the request cannot be sent. Silence is no error: it is in the answer.
    pub fn ask_all(&self, request: &Request, timeout: Duration) -> Result<Answers, NodeManagerError> {
        let outcome = self.exchange(&self.config.principal, request, timeout, false)?;
        Ok(Answers { replies: outcome.replies, missing: outcome.missing })
    }

    /// Asks in another principal's name.
    fn ask_as(
        &self,
        principal: &str,
        request: &Request,
        timeout: Duration,
    ) -> Result<NmReply, NodeManagerError> {
        let outcome = self.exchange(principal, request, timeout, true)?;
        let operation = request.operation();
        let Some((host, reply)) = outcome.replies.into_iter().next() else {
            let (operation, target) = (operation.name(), self.target());
            return Err(NodeManagerError::Timeout { operation, target, waited: timeout });
        };
        match NodeManagerError::from_reply(operation, &host, reply.status, &reply.detail) {
            Some(error) => Err(error),
            None => Ok(reply),
        }
    }

    fn exchange(
        &self,
        principal: &str,
        request: &Request,
        timeout: Duration,
        is_first: bool,
    ) -> Result<Outcome<NmReply>, NodeManagerError> {
        let deadline = clock::monotonic() + timeout;
        // A request that is written while nobody is matched reaches nobody.
        self.requests.wait_for_match(1, timeout);
        let id = RequestId::new(self.last_request.fetch_add(1, Ordering::Relaxed) + 1);
        let fault = |detail: String| NodeManagerError::NotSent {
            operation: request.operation().name(),
            target: self.target(),
            detail,
        };
        {
            let mut state = self.shared.lock();
            let want =
                if is_first { Want::First } else { Want::All(state.directory.hosts().into_iter().collect()) };
            state.apply(clock::monotonic(), Event::Submit { request: id, want, deadline });
            if let Some(Err(refusal)) = state.done.remove(&id) {
                return Err(match refusal {
                    RefuseError::TooMany { .. } => NodeManagerError::Busy(refusal.to_string()),
                    RefuseError::OutOfOrder { .. } => fault(refusal.to_string()),
                });
            }
        }
        // Without the lock: within one process the answer may arrive before this returns.
        if let Err(error) = self.send(principal, id, request, timeout) {
            self.shared.lock().apply(clock::monotonic(), Event::Cancel(id));
            return Err(fault(error.to_string()));
        }
        match self.shared.wait(deadline, |state| state.done.remove(&id)) {
            Some(Ok(outcome)) => Ok(outcome),
            Some(Err(refusal)) => Err(fault(refusal.to_string())),
            None => {
                let mut state = self.shared.lock();
                state.apply(clock::monotonic(), Event::Timeout);
                let outcome = state.done.remove(&id).and_then(Result::ok);
                Ok(outcome.unwrap_or(Outcome { replies: vec![], missing: vec![], timed_out: true }))
            }
        }
    }

    fn send(
        &self,
        principal: &str,
        id: RequestId,
        request: &Request,
        timeout: Duration,
    ) -> Result<(), PublishError> {
        let (now, wall) = (clock::monotonic(), clock::wall());
        let mut wire = NmRequest {
            header: self.sender.header(id.get(), now, wall),
            request: id.get(),
            deadline_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            principal: principal.to_owned(),
            issued_at_ns: wall.unix_nanos(),
            ..NmRequest::default()
        };
        request.write(&mut wire);
        self.requests.write(&wire)
    }

    fn target(&self) -> String {
        self.config.partitions.join(", ")
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer from elsewhere in the name of a node whose manager is in this process is not taken: it comes from a
    /// second manager, which denies what the first one grants.
    fn take_reply(&self, reply: NmReply, transport: TransportKind) {
        let mut state = self.lock();
        if transport != TransportKind::InProcess && state.directory.is_in_process(&reply.header.host) {
            state.from_rivals += 1;
            return;
        }
        let event =
            Event::Reply { request: RequestId::new(reply.request), server: reply.header.host.clone(), reply };
        state.apply(clock::monotonic(), event);
        drop(state);
        self.changed.notify_all();
    }

    fn take_status(&self, sample: bus::Sample<NmStatus>) {
        let mut state = self.lock();
        if let Some(left) = state.directory.apply(sample) {
            state.apply(clock::monotonic(), Event::ServerLeft(left));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until `pick` finds what it looks for, or the deadline.
    fn wait<T>(&self, deadline: Instant, mut pick: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(found) = pick(&mut state) {
                return Some(found);
            }
            let left = deadline - clock::monotonic();
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn apply(&mut self, now: Instant, event: Event<NmReply>) {
        let mut actions = std::mem::take(&mut self.actions);
        self.exchange.apply(now, event, &mut actions);
        for action in actions.drain(..) {
            match action {
                // Whoever submits sends by itself.
                Action::Send(_) => {}
                Action::Complete(id, outcome) => {
                    self.done.insert(id, Ok(outcome));
                }
                Action::Refuse(id, error) => {
                    self.done.insert(id, Err(error));
                }
            }
        }
        self.actions = actions;
    }
}
