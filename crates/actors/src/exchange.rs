//! Request fan-in: one request may reach many servers; their answers are collected until a deadline.
//!
//! Pure: no clock, no bus. The shell sends what [`Action::Send`] names, feeds answers and time back, and hands each
//! [`Outcome`] to whoever asked. A server answers once; what else arrives is counted, never delivered twice.

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;

/// Names one request of one client. Ascending and never reused by that client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u64);

/// When a request is complete before its deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The first answer, whoever gives it.
    First,
    /// An answer from each of these servers. Answers of others are kept too. An empty set means that it is not
    /// known who should answer, so everything until the deadline is collected.
    All(BTreeSet<String>),
}

/// What happens to an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<R> {
    /// Somebody asks. The id must be above all ids submitted before.
    Submit {
        /// Names the request in all later events and actions.
        request: RequestId,
        /// Whose answers complete it.
        want: Want,
        /// When to stop waiting.
        deadline: Instant,
    },
    /// An answer arrived.
    Reply {
        /// The request that it answers, as the server copied it.
        request: RequestId,
        /// Who answers.
        server: String,
        /// The answer.
        reply: R,
    },
    /// A server said goodbye: nobody needs to wait for it any longer.
    ServerLeft(String),
    /// Whoever asked lost interest.
    Cancel(RequestId),
    /// The deadline of [`Exchange::poll_timeout`] has come.
    Timeout,
}

/// What the shell has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<R> {
    /// Send this request now.
    Send(RequestId),
    /// Hand this over to whoever asked; the request is forgotten.
    Complete(RequestId, Outcome<R>),
    /// The request was not taken.
    Refuse(RequestId, RefuseError),
}

/// The answers to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<R> {
    /// Who answered what, ascending by server.
    pub replies: Vec<(String, R)>,
    /// Who was expected and did not answer, ascending.
    pub missing: Vec<String>,
    /// Whether the deadline ended the waiting.
    pub timed_out: bool,
}

/// Why a request was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefuseError {
    /// Too many requests wait for answers.
    #[error("{max} requests already wait for answers; wait for one of them, or raise the limit")]
    TooMany {
        /// The bound that was reached.
        max: usize,
    },
    /// The id is not above the last one, so late answers could be taken for new ones.
    #[error("request id {id} is not above the last one, {last}")]
    OutOfOrder {
        /// The id that was offered.
        id: u64,
        /// The highest id so far.
        last: u64,
    },
}

/// Bounds of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that may wait at once; more are refused.
    pub outstanding_max: usize,
    /// Answers kept for one request; more are counted as `overflowed` and dropped.
    pub replies_max: usize,
}

/// What was not delivered, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Second and further answers of one server to one request.
    pub duplicate: u64,
    /// Answers to requests that were already complete or cancelled.
    pub late: u64,
    /// Answers to requests that were never sent.
    pub unknown: u64,
    /// Answers above [`Limits::replies_max`].
    pub overflowed: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that ended at their deadline with somebody missing or nobody answering.
    pub timed_out: u64,
}

/// The requests of one client that wait for answers.
#[derive(Debug)]
pub struct Exchange<R> {
    limits: Limits,
    pending: BTreeMap<RequestId, Pending<R>>,
    last: u64,
    counters: Counters,
}

#[derive(Debug)]
struct Pending<R> {
    want: Want,
    /// Expected servers that have not answered yet.
    open: BTreeSet<String>,
    replies: BTreeMap<String, R>,
    deadline: Instant,
}

impl RequestId {
    /// From the number on the wire.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The number on the wire.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { outstanding_max: 64, replies_max: 200_000 }
    }
}

impl<R> Exchange<R> {
    /// An exchange without requests.
    pub fn new(limits: Limits) -> Self {
        Self { limits, pending: BTreeMap::new(), last: 0, counters: Counters::default() }
    }

    /// Takes one event and appends what has to be done about it, in order. What arrives at the deadline is late.
    ///
    /// Cost: logarithmic in requests and servers, except `Timeout` and `ServerLeft`, which look at every request.
    pub fn apply(&mut self, now: Instant, event: Event<R>, actions: &mut Vec<Action<R>>) {
        self.expire(now, actions);
        match event {
            Event::Submit { request, want, deadline } => self.submit(request, want, deadline, actions),
            Event::Reply { request, server, reply } => self.reply(request, server, reply, actions),
            Event::ServerLeft(server) => self.server_left(&server, actions),
            Event::Cancel(request) => {
                self.pending.remove(&request);
            }
            Event::Timeout => {}
        }
        self.expire(now, actions);
    }

    /// When to call with [`Event::Timeout`] at the latest; `None` while nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.pending.values().map(|pending| pending.deadline).min()
    }

    /// What was not delivered so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How many requests wait.
    pub fn outstanding(&self) -> usize {
        self.pending.len()
    }

    fn submit(&mut self, request: RequestId, want: Want, deadline: Instant, actions: &mut Vec<Action<R>>) {
        let refusal = if request.0 <= self.last {
            Some(RefuseError::OutOfOrder { id: request.0, last: self.last })
        } else if self.pending.len() >= self.limits.outstanding_max {
            Some(RefuseError::TooMany { max: self.limits.outstanding_max })
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.counters.refused += 1;
            actions.push(Action::Refuse(request, refusal));
            return;
        }
        self.last = request.0;
        let open = match &want {
            Want::First => BTreeSet::new(),
            Want::All(servers) => servers.clone(),
        };
        self.pending.insert(request, Pending { want, open, replies: BTreeMap::new(), deadline });
        actions.push(Action::Send(request));
    }

    fn reply(&mut self, request: RequestId, server: String, reply: R, actions: &mut Vec<Action<R>>) {
        let Some(pending) = self.pending.get_mut(&request) else {
            let counter =
                if request.0 <= self.last { &mut self.counters.late } else { &mut self.counters.unknown };
            *counter += 1;
            return;
        };
        if pending.replies.contains_key(&server) {
            self.counters.duplicate += 1;
            return;
        }
        if pending.replies.len() >= self.limits.replies_max {
            self.counters.overflowed += 1;
            return;
        }
        pending.open.remove(&server);
        pending.replies.insert(server, reply);
        self.complete_if_answered(request, actions);
    }

    fn server_left(&mut self, server: &str, actions: &mut Vec<Action<R>>) {
        let waiting: Vec<RequestId> = self
            .pending
            .iter_mut()
            .filter_map(|(request, pending)| pending.open.remove(server).then_some(*request))
            .collect();
        for request in waiting {
            self.complete_if_answered(request, actions);
        }
    }

    fn complete_if_answered(&mut self, request: RequestId, actions: &mut Vec<Action<R>>) {
        let answered = self.pending.get(&request).is_some_and(|pending| match &pending.want {
            Want::First => !pending.replies.is_empty(),
            Want::All(expected) => !expected.is_empty() && pending.open.is_empty(),
        });
        if answered {
            self.complete(request, false, actions);
        }
    }

    fn expire(&mut self, now: Instant, actions: &mut Vec<Action<R>>) {
        while let Some(request) =
            self.pending.iter().find(|(_, pending)| pending.deadline <= now).map(|(request, _)| *request)
        {
            self.complete(request, true, actions);
        }
    }

    fn complete(&mut self, request: RequestId, timed_out: bool, actions: &mut Vec<Action<R>>) {
        let Some(pending) = self.pending.remove(&request) else { return };
        let outcome = Outcome {
            replies: pending.replies.into_iter().collect(),
            missing: pending.open.into_iter().collect(),
            timed_out,
        };
        if timed_out && (outcome.replies.is_empty() || !outcome.missing.is_empty()) {
            self.counters.timed_out += 1;
        }
        actions.push(Action::Complete(request, outcome));
    }
}

#[cfg(test)]
mod tests;
