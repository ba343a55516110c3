//! Listens to the whole domain for the dashboard and `up --json`: what nodes say, what happens, and how busy each
//! topic is. Touches the network through `bus` only.
//!
//! Reads the topics of the product in every partition, but for requests: a client counts the readers of its requests
//! as node managers. Topics of others are listed and not read: reading them would load their writers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use actors::message::{self, Event, MetricDescriptor, NmStatus, NodeTelemetry};
use actors::topic::{self, Topic};
use bus::{
    BusStatistics, CreateError, Data, DdsType, EndpointBuilder, Participant, ParticipantEvent, Subscriber,
    Target, UntypedSubscriber,
};
use rtps::GuidPrefix;
use units::Instant;

use crate::known_types;
use crate::snapshot::{BusActivity, TopicActivity};
use crate::view::NodeView;
use crate::web::Severity;

/// Nodes that are followed at once; telemetry of further ones is counted and not kept.
const NODES_MAX: usize = 64;
/// Happenings that wait to be taken; the oldest goes first.
const HAPPENINGS_MAX: usize = 1024;
/// Participants whose names are remembered for their goodbye.
const NAMES_MAX: usize = 1024;
/// Samples of one topic that wait for the next poll.
const DEPTH: u32 = 1024;

/// Something to show in the event list.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// How much it matters.
    pub severity: Severity,
    /// What it concerns.
    pub subject: String,
    /// One sentence.
    pub message: String,
}

impl Happening {
    /// Something that is not as it should be.
    pub fn warning(subject: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, subject: subject.to_owned(), message: message.into() }
    }

    /// Something worth knowing.
    pub fn info(subject: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Info, ..Self::warning(subject, message) }
    }

    /// What an event of the bus says.
    pub fn of(event: &Event) -> Self {
        let severity = match message::Severity::from_code(event.severity) {
            Some(message::Severity::Info) => Severity::Info,
            Some(message::Severity::Warning) => Severity::Warning,
            Some(message::Severity::Error) | None => Severity::Error,
        };
        let subject = if event.subject.is_empty() { &event.header.host } else { &event.subject };
        Self { severity, subject: subject.clone(), message: event.text.clone() }
    }
}

/// A member of the domain that only listens.
#[derive(Debug)]
pub struct Observer {
    participant: Participant,
    telemetry: Subscriber<NodeTelemetry>,
    status: Subscriber<NmStatus>,
    descriptors: Subscriber<MetricDescriptor>,
    events: Subscriber<Event>,
    others: Vec<(&'static str, UntypedSubscriber)>,
    counts: BTreeMap<&'static str, Count>,
    nodes: BTreeMap<String, NodeView>,
    happenings: VecDeque<Happening>,
    /// Names of participants, for when they go.
    names: BTreeMap<GuidPrefix, String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    samples: u64,
    samples_before: u64,
    per_second: f64,
    since: Option<Instant>,
}

impl Observer {
    /// Subscribes to everything.
    ///
    /// # Errors
    /// When a topic cannot be subscribed to.
    pub fn new(participant: Participant) -> Result<Self, CreateError> {
        let own = [
            topic::NODE_TELEMETRY.name,
            topic::NM_STATUS.name,
            topic::METRIC_DESCRIPTOR.name,
            topic::EVENT.name,
        ];
        let known = known_types::topics();
        let read = |known: &&known_types::KnownTopic| known.name != topic::NM_REQUEST.name;
        let others = known.iter().filter(read).filter(|known| !own.contains(&known.name)).map(|known| {
            let type_name = known.structure.name();
            let builder = participant.raw_subscriber(known.name, type_name, known.structure.is_keyed());
            // With the topic's own QoS, so that what was said before we came counts as well.
            let builder = everywhere(builder, known.is_reliable, known.is_transient_local);
            Ok((known.name, builder.build()?))
        });
        Ok(Self {
            telemetry: typed(&participant, &topic::NODE_TELEMETRY)?,
            status: typed(&participant, &topic::NM_STATUS)?,
            descriptors: typed(&participant, &topic::METRIC_DESCRIPTOR)?,
            events: typed(&participant, &topic::EVENT)?,
            others: others.collect::<Result<_, CreateError>>()?,
            counts: known.iter().filter(read).map(|known| (known.name, Count::default())).collect(),
            nodes: BTreeMap::new(),
            happenings: VecDeque::new(),
            names: BTreeMap::new(),
            participant,
        })
    }

    /// Takes everything that has arrived. Never waits.
    pub fn poll(&mut self, now: Instant) {
        let Self { counts, happenings, nodes, names, .. } = self;
        for sample in take(&self.telemetry, topic::NODE_TELEMETRY.name, counts, happenings) {
            if let Some(view) = node(nodes, &sample.header.host) {
                view.take_telemetry(now, sample);
            }
        }
        for sample in take(&self.status, topic::NM_STATUS.name, counts, happenings) {
            if let Some(view) = node(nodes, &sample.host) {
                view.take_status(sample);
            }
        }
        for sample in take(&self.descriptors, topic::METRIC_DESCRIPTOR.name, counts, happenings) {
            if let Some(view) = node(nodes, &sample.header.host) {
                view.take_descriptor(&sample);
            }
        }
        for event in take(&self.events, topic::EVENT.name, counts, happenings) {
            push(happenings, Happening::of(&event));
        }
        for (name, subscriber) in &self.others {
            let count = counts.entry(name).or_default();
            while let Ok(Some(_)) = subscriber.recv_timeout(Duration::ZERO) {
                count.samples += 1;
            }
        }
        for event in self.participant.take_events() {
            if let Some(happening) = happening_in(&event, names) {
                push(happenings, happening);
            }
        }
        for count in counts.values_mut() {
            count.rate(now);
        }
    }

    /// Counters of the participant that listens.
    pub fn statistics(&self) -> BusStatistics {
        self.participant.statistics()
    }

    /// What is known of a node.
    pub fn node(&self, host: &str) -> Option<&NodeView> {
        self.nodes.get(host)
    }

    /// What happened since the last call, oldest first.
    pub fn take_happenings(&mut self) -> Vec<Happening> {
        self.happenings.drain(..).collect()
    }

    /// The state of the bus. `statistics` are those of all participants of this process.
    pub fn activity(&self, statistics: &[BusStatistics]) -> BusActivity {
        let sum = |pick: fn(&BusStatistics) -> u64| statistics.iter().map(pick).sum();
        BusActivity {
            domain: self.participant.domain(),
            participants: self.participant.participants().len() as u64 + 1,
            topics: self.topics(),
            samples_received_total: sum(|statistics| statistics.protocol.samples_received),
            samples_sent_total: sum(|statistics| statistics.protocol.samples_written),
            samples_lost_total: sum(|statistics| statistics.protocol.samples_lost),
            // Every participant of the process is offered the same datagrams.
            malformed_datagrams_total: statistics.iter().map(|s| s.protocol.malformed).max().unwrap_or(0),
        }
    }

    fn topics(&self) -> Vec<TopicActivity> {
        let mut topics: BTreeMap<(String, String), TopicActivity> = BTreeMap::new();
        for known in known_types::topics().into_iter().filter(|known| self.counts.contains_key(known.name)) {
            let key = (known.name.to_owned(), known.structure.name().to_owned());
            let entry =
                topics.entry(key).or_insert_with_key(|(name, type_name)| self.counted(name, type_name));
            // Our own reader, which the participant does not list among the others'.
            entry.readers += 1;
        }
        for end in self.participant.endpoints() {
            let key = (end.topic, end.type_name);
            let entry =
                topics.entry(key).or_insert_with_key(|(name, type_name)| self.counted(name, type_name));
            if end.is_writer { entry.writers += 1 } else { entry.readers += 1 }
        }
        // A topic that only we read is no news.
        let is_own_only = |topic: &TopicActivity| {
            topic.writers == 0 && topic.readers == u64::from(topic.samples_total.is_some())
        };
        topics.into_values().filter(|topic| !is_own_only(topic)).collect()
    }

    fn counted(&self, name: &str, type_name: &str) -> TopicActivity {
        let known = known_types::topic(name).filter(|known| known.structure.name() == type_name);
        let count = known.and_then(|known| self.counts.get(known.name));
        TopicActivity {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            samples_total: count.map(|count| count.samples),
            samples_per_second: count.map(|count| count.per_second),
            lost_total: count.map(|_| self.lost(name)),
            ..TopicActivity::default()
        }
    }

    fn lost(&self, name: &str) -> u64 {
        let other =
            || self.others.iter().find(|(other, _)| *other == name).map(|(_, subscriber)| subscriber.lost());
        match name {
            name if name == topic::NODE_TELEMETRY.name => self.telemetry.lost(),
            name if name == topic::NM_STATUS.name => self.status.lost(),
            name if name == topic::METRIC_DESCRIPTOR.name => self.descriptors.lost(),
            name if name == topic::EVENT.name => self.events.lost(),
            _ => other().unwrap_or(0),
        }
    }
}

impl Count {
    /// Works out the rate since the last call.
    fn rate(&mut self, now: Instant) {
        let passed = self.since.map_or(0.0, |since| (now - since).as_secs_f64());
        self.per_second =
            if passed > 0.0 { (self.samples - self.samples_before) as f64 / passed } else { 0.0 };
        self.samples_before = self.samples;
        self.since = Some(now);
    }
}

fn everywhere<E: Target>(
    builder: EndpointBuilder<'_, E>,
    is_reliable: bool,
    is_transient_local: bool,
) -> EndpointBuilder<'_, E> {
    let builder = builder.keep_last(DEPTH).partitions(["*", ""]);
    let builder = if is_reliable { builder.reliable() } else { builder };
    if is_transient_local { builder.transient_local() } else { builder }
}

fn typed<T: DdsType + 'static>(
    participant: &Participant,
    topic: &Topic<T>,
) -> Result<Subscriber<T>, CreateError> {
    everywhere(participant.subscriber(topic.name), topic.is_reliable, topic.is_transient_local).build()
}

/// Takes what has arrived on one topic. What is not of its type becomes a happening.
fn take<T: DdsType>(
    subscriber: &Subscriber<T>,
    name: &'static str,
    counts: &mut BTreeMap<&'static str, Count>,
    happenings: &mut VecDeque<Happening>,
) -> Vec<T> {
    let count = counts.entry(name).or_default();
    let mut values = Vec::new();
    for sample in subscriber.iter() {
        count.samples += 1;
        match sample.map(|sample| sample.data) {
            Ok(Data::Valid(value)) => values.push(value),
            Ok(_) => {}
            Err(error) => push(happenings, Happening::warning(name, error.to_string())),
        }
    }
    values
}

fn node<'a>(nodes: &'a mut BTreeMap<String, NodeView>, host: &str) -> Option<&'a mut NodeView> {
    if !nodes.contains_key(host) && nodes.len() >= NODES_MAX {
        return None;
    }
    Some(nodes.entry(host.to_owned()).or_default())
}

fn push(happenings: &mut VecDeque<Happening>, happening: Happening) {
    if happenings.len() >= HAPPENINGS_MAX {
        happenings.pop_front();
    }
    happenings.push_back(happening);
}

/// What a person wants to know of the domain; that endpoints of the dashboard matched is not among it.
fn happening_in(event: &ParticipantEvent, names: &mut BTreeMap<GuidPrefix, String>) -> Option<Happening> {
    let (severity, message) = match event {
        ParticipantEvent::Discovered { prefix, name } => {
            let name = name.as_deref().unwrap_or("without a name");
            if names.len() < NAMES_MAX {
                names.insert(*prefix, name.to_owned());
            }
            (Severity::Info, format!("participant {name} joined ({prefix})"))
        }
        ParticipantEvent::Lost { prefix, reason } => {
            let (severity, how) = match reason {
                rtps::LostReason::Left => (Severity::Info, "left"),
                rtps::LostReason::LeaseExpired => (Severity::Warning, "fell silent"),
                rtps::LostReason::Restarted => (Severity::Warning, "began anew"),
            };
            let name = names.remove(prefix).unwrap_or_default();
            (severity, format!("participant {name} {how} ({prefix})"))
        }
        ParticipantEvent::Matched { .. } | ParticipantEvent::Unmatched { .. } => return None,
        ParticipantEvent::LivelinessChanged { remote, is_alive: false, .. } => {
            (Severity::Warning, format!("publisher {remote} does not keep its liveliness lease"))
        }
        ParticipantEvent::LivelinessChanged { remote, is_alive: true, .. } => {
            (Severity::Info, format!("publisher {remote} is alive again"))
        }
        ParticipantEvent::LivelinessLost { local } => {
            (Severity::Warning, format!("our publisher {local} was not asserted within its liveliness lease"))
        }
        ParticipantEvent::IncompatibleQos { remote, policies, .. } => {
            let names: Vec<_> = policies.iter().map(|policy| policy.name()).collect();
            (Severity::Warning, format!("{remote} is kept apart by its {}", names.join(", ")))
        }
        ParticipantEvent::DeadlineMissed { local, total, .. } => {
            (Severity::Warning, format!("samples of our endpoint {local} are late, {total} periods so far"))
        }
        ParticipantEvent::SampleRejected { remote, total, .. } => {
            (Severity::Warning, format!("samples of {remote} were refused, {total} so far"))
        }
        ParticipantEvent::SamplesLost { local, total } => {
            (Severity::Warning, format!("our subscriber {local} has lost {total} samples so far"))
        }
        ParticipantEvent::InconsistentType { remote, type_name, .. } => {
            (Severity::Warning, format!("{remote} uses the topic with another type, {type_name}"))
        }
    };
    Some(Happening { severity, subject: "bus".to_owned(), message })
}
