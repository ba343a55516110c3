//! One node manager's endpoints and what it says on them.
//!
//! May touch: the bus and the clocks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bus::{CreateError, DdsType, Publisher, TransportKind};
use node::clock;
use units::{Instant, Timestamp};

use super::service::{Counters, Member};
use super::{Call, Caller, ManagedNode, Origin, answer};
use crate::message::{
    Actor, Event, Header, MetricDescriptor, NmCapability, NmReply, NmRequest, NmStatus, NodeTelemetry,
    Sender, Severity, WriterId, event_code,
};
use crate::topic;

/// One node manager on the bus.
pub(super) struct Server {
    node: Box<dyn ManagedNode>,
    sender: Sender,
    replies: Channel<NmReply>,
    status: Channel<NmStatus>,
    capabilities: Channel<NmCapability>,
    descriptors: Channel<MetricDescriptor>,
    telemetry: Channel<NodeTelemetry>,
    events: Channel<Event>,
    counters: Arc<Counters>,
    status_periods: u32,
    periods_since_status: u32,
    last_status: Option<NmStatus>,
    /// What was said about metrics, by their numbers.
    described: BTreeMap<u32, MetricDescriptor>,
    answered: u64,
}

/// A publisher with its own count of messages.
struct Channel<T> {
    publisher: Publisher<T>,
    sequence: AtomicU64,
}

impl<T: DdsType + 'static> Channel<T> {
    fn new(publisher: Publisher<T>) -> Self {
        Self { publisher, sequence: AtomicU64::new(0) }
    }

    fn header(&self, sender: &Sender, now: Instant, wall: Timestamp) -> Header {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        sender.header(sequence, now, wall)
    }

    fn write(&self, value: &T, counters: &Counters) {
        if self.publisher.write(value).is_err() {
            counters.unsent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Server {
    pub(super) fn new(
        member: Member,
        partitions: &[String],
        writer: WriterId,
        status_periods: u32,
        counters: Arc<Counters>,
    ) -> Result<Self, CreateError> {
        let Member { participant, node } = member;
        let mut shown = partitions.to_vec();
        shown.push(topic::PARTITION_MONITOR.into());
        let host = node.host().to_owned();
        Ok(Self {
            sender: Sender { actor: Actor::NodeManager, host, writer },
            replies: Channel::new(topic::NM_REPLY.publisher(&participant, partitions)?),
            status: Channel::new(topic::NM_STATUS.publisher(&participant, &shown)?),
            capabilities: Channel::new(topic::NM_CAPABILITY.publisher(&participant, &shown)?),
            descriptors: Channel::new(topic::METRIC_DESCRIPTOR.publisher(&participant, &shown)?),
            telemetry: Channel::new(topic::NODE_TELEMETRY.publisher(&participant, &shown)?),
            events: Channel::new(topic::EVENT.publisher(&participant, &shown)?),
            node,
            counters,
            status_periods,
            periods_since_status: 0,
            last_status: None,
            described: BTreeMap::new(),
            answered: 0,
        })
    }

    /// Announces what can be set and how the node is.
    pub(super) fn begin(&mut self) {
        let (now, wall) = (clock::monotonic(), clock::wall());
        for mut capability in self.node.capabilities() {
            capability.header = self.capabilities.header(&self.sender, now, wall);
            self.capabilities.write(&capability, &self.counters);
        }
        let text = "the node manager serves";
        let event = Event::new(event_code::NODE_MANAGER_STARTED, Severity::Info, self.node.host(), 0.0, text);
        self.publish_events(vec![event], now, wall);
        // The first reading comes with the first period; it must not delay the first answers.
        self.publish_status(now, wall);
    }

    pub(super) fn answer(&mut self, request: &NmRequest, transport: TransportKind) {
        let (now, wall) = (clock::monotonic(), clock::wall());
        let origin = match transport {
            // Shared memory comes from processes of the same user only.
            TransportKind::InProcess | TransportKind::SharedMemory => Origin::Local,
            TransportKind::Udp | TransportKind::Tcp => {
                Origin::Network { is_signed: !request.signature.is_empty() }
            }
        };
        let caller = Caller { principal: request.principal.clone(), client: request.header.writer, origin };
        let call = Call { now, wall, caller };
        let mut reply = answer(&mut *self.node, &call, request);
        reply.header = self.replies.header(&self.sender, now, wall);
        self.replies.write(&reply, &self.counters);
        self.counters.answered.fetch_add(1, Ordering::Relaxed);
        self.answered += 1;
        if crate::message::Operation::from_code(request.operation).is_some_and(|op| op.is_write()) {
            self.tick(now);
        }
    }

    /// Samples, publishes and does what is due.
    pub(super) fn period(&mut self) {
        let (now, wall) = (clock::monotonic(), clock::wall());
        let mut telemetry = self.node.observe(now, wall);
        telemetry.header = self.telemetry.header(&self.sender, now, wall);
        self.telemetry.write(&telemetry, &self.counters);
        self.periods_since_status += 1;
        self.tick(now);
        if self.periods_since_status >= self.status_periods {
            self.publish_status(now, wall);
        }
    }

    /// Does what is due and says what changed.
    pub(super) fn tick(&mut self, now: Instant) {
        let wall = clock::wall();
        let mut events = Vec::new();
        self.node.tick(now, &mut events);
        self.publish_events(events, now, wall);
        let status = self.node.status(now, wall);
        if self.last_status.as_ref().is_none_or(|last| is_news(last, &status)) {
            self.publish_status(now, wall);
        }
    }

    /// Warns of another node manager for the same node.
    pub(super) fn tell_rival(&self, writer: WriterId) {
        let (now, wall) = (clock::monotonic(), clock::wall());
        let host = self.node.host();
        let name: String = writer.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(
            "another node manager ({name}) serves {host} too, so requests get two answers: stop one of them, or give \
             it another domain or host name"
        );
        let event = Event::new(event_code::NODE_MANAGER_RIVAL, Severity::Warning, host, 0.0, &text);
        self.publish_events(vec![event], now, wall);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.node.poll_timeout()
    }

    /// Restores the node and says goodbye; returns how many knobs could not be restored.
    pub(super) fn end(mut self) -> usize {
        let (now, wall) = (clock::monotonic(), clock::wall());
        let mut events = Vec::new();
        let failed = self.node.end(now, &mut events);
        let text = match failed {
            0 => "the node manager has ended and every knob is restored".to_owned(),
            failed => format!("the node manager has ended and {failed} knobs could not be restored"),
        };
        let severity = if failed == 0 { Severity::Info } else { Severity::Error };
        let host = self.node.host().to_owned();
        events.push(Event::new(event_code::NODE_MANAGER_ENDED, severity, &host, failed as f64, &text));
        self.publish_events(events, now, wall);
        // Unregistered and not disposed: a successor may already serve this node under the same key.
        if let Some(status) = &self.last_status {
            let _ = self.status.publisher.unregister(status);
        }
        for capability in self.node.capabilities() {
            let _ = self.capabilities.publisher.unregister(&capability);
        }
        failed
    }

    fn publish_events(&self, events: Vec<Event>, now: Instant, wall: Timestamp) {
        for mut event in events {
            event.header = self.events.header(&self.sender, now, wall);
            self.events.write(&event, &self.counters);
        }
    }

    fn publish_status(&mut self, now: Instant, wall: Timestamp) {
        self.periods_since_status = 0;
        let mut status = self.node.status(now, wall);
        status.header = self.status.header(&self.sender, now, wall);
        status.requests_total = self.answered;
        self.status.write(&status, &self.counters);
        self.last_status = Some(status);
        for descriptor in self.node.descriptors() {
            if self.described.get(&descriptor.id) == Some(&descriptor) {
                continue;
            }
            let header = self.descriptors.header(&self.sender, now, wall);
            self.descriptors.write(&MetricDescriptor { header, ..descriptor.clone() }, &self.counters);
            self.described.insert(descriptor.id, descriptor);
        }
    }
}

/// Whether the status says more than that time has passed.
fn is_news(last: &NmStatus, now: &NmStatus) -> bool {
    let bound = |status: &NmStatus| -> Vec<(u32, u8, u32, u64, u8, i32)> {
        let knob = |s: &crate::message::NmSetting| {
            (s.control, s.device.kind, s.device.id, s.applied.to_bits(), s.clamped_by, s.status)
        };
        status.settings.iter().map(knob).collect()
    };
    (last.state, last.lease_count, bound(last)) != (now.state, now.lease_count, bound(now))
        || last.absent.len() != now.absent.len()
        || last.power.is_empty() != now.power.is_empty()
}
