//! A monitor on the bus: takes what arrives on its own thread, so that a slow disk never holds up the bus.
//!
//! May touch: the bus, the clocks, one thread; the recording through the monitor. The thread sleeps until something
//! arrives.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bus::{CreateError, Data, DdsType, Participant, Publisher, Sample, Subscriber};
use node::clock;
use node::thread::{JoinHandle, Placement, Role, spawn};

use super::{Monitor, MonitorError, ReferenceMonitor};
use crate::message::{Actor, Event, JobTelemetry, MetricDescriptor, NodeTelemetry, Sender};
use crate::topic;

/// The thread that takes telemetry.
pub const ROLE: Role = Role::new("stw-monitor", "keeps and records the telemetry that arrives");

/// What is configured of a monitor's service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorServiceConfig {
    /// The machine that it runs on.
    pub host: String,
    /// The partition to listen in.
    pub partition: String,
    /// Reports that may wait; further ones are dropped and counted.
    pub queue_max: usize,
    /// Where the thread runs.
    pub placement: Placement,
}

/// What a monitor's service has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorStatistics {
    /// Reports that were taken.
    pub taken: u64,
    /// Reports that the monitor refused; its history counts why.
    pub rejected: u64,
    /// Reports that found the queue full.
    pub dropped: u64,
    /// Samples that the bus lost before they arrived.
    pub lost: u64,
}

/// Why a monitor's service did not start.
#[derive(Debug, thiserror::Error)]
pub enum MonitorStartError {
    /// An endpoint could not be made.
    #[error("the monitor cannot join the bus: {0}")]
    Endpoint(#[from] CreateError),
    /// The thread could not be started.
    #[error("the monitor's thread cannot be started: {0}")]
    Thread(#[source] io::Error),
}

/// Takes telemetry until it is dropped.
#[derive(Debug)]
pub struct MonitorService {
    monitor: Arc<Mutex<ReferenceMonitor>>,
    counters: Arc<Counters>,
    nodes: Option<Subscriber<NodeTelemetry>>,
    jobs: Option<Subscriber<JobTelemetry>>,
    descriptors: Option<Subscriber<MetricDescriptor>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counters {
    taken: AtomicU64,
    rejected: AtomicU64,
    dropped: AtomicU64,
}

enum Report {
    Node(Box<NodeTelemetry>),
    Job(Box<JobTelemetry>),
    Descriptor(Box<MetricDescriptor>),
}

impl MonitorServiceConfig {
    /// Listens in [`topic::PARTITION_MONITOR`].
    pub fn on(host: &str) -> Self {
        Self {
            host: host.into(),
            partition: topic::PARTITION_MONITOR.into(),
            queue_max: 4096,
            placement: Placement::Inherit,
        }
    }
}

impl MonitorService {
    /// Starts to listen.
    ///
    /// # Errors
    /// When an endpoint or the thread cannot be made.
    pub fn start(
        participant: &Participant,
        monitor: ReferenceMonitor,
        config: MonitorServiceConfig,
    ) -> Result<Self, MonitorStartError> {
        let partitions = [config.partition];
        let counters = Arc::new(Counters::default());
        let (queue, reports) = sync_channel(config.queue_max.max(1));
        let events = topic::EVENT.publisher(participant, &partitions)?;
        let writer = events.guid().to_bytes();
        let sender = Sender { actor: Actor::Monitor, host: config.host, writer };
        let nodes = topic::NODE_TELEMETRY.on_sample(
            participant,
            &partitions,
            into_queue(&queue, &counters, |report| Report::Node(Box::new(report))),
        )?;
        let jobs = topic::JOB_TELEMETRY.on_sample(
            participant,
            &partitions,
            into_queue(&queue, &counters, |report| Report::Job(Box::new(report))),
        )?;
        let descriptors = topic::METRIC_DESCRIPTOR.on_sample(
            participant,
            &partitions,
            into_queue(&queue, &counters, |report| Report::Descriptor(Box::new(report))),
        )?;
        let monitor = Arc::new(Mutex::new(monitor));
        let taking = Taking {
            monitor: Arc::clone(&monitor),
            counters: Arc::clone(&counters),
            events,
            sender,
            sequence: 0,
        };
        let thread = spawn(ROLE, config.placement, move || taking.run(&reports));
        Ok(Self {
            monitor,
            counters,
            nodes: Some(nodes),
            jobs: Some(jobs),
            descriptors: Some(descriptors),
            thread: Some(thread.map_err(MonitorStartError::Thread)?),
        })
    }

    /// Looks into the monitor. While `look` runs, arriving reports wait in the queue.
    pub fn with<T>(&self, look: impl FnOnce(&ReferenceMonitor) -> T) -> T {
        look(&lock(&self.monitor))
    }

    /// What it has done so far.
    pub fn statistics(&self) -> MonitorStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let lost = self.nodes.as_ref().map_or(0, Subscriber::lost);
        MonitorStatistics {
            taken: read(&self.counters.taken),
            rejected: read(&self.counters.rejected),
            dropped: read(&self.counters.dropped),
            lost: lost + self.jobs.as_ref().map_or(0, Subscriber::lost),
        }
    }
}

impl Drop for MonitorService {
    /// Takes what is in the queue, then ends.
    fn drop(&mut self) {
        // The callbacks own the queue's senders; without them the thread runs out of reports and ends.
        (self.nodes, self.jobs, self.descriptors) = (None, None, None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn into_queue<T: DdsType>(
    queue: &SyncSender<Report>,
    counters: &Arc<Counters>,
    wrap: impl Fn(T) -> Report + Send + 'static,
) -> impl FnMut(Sample<T>) + Send + 'static {
    let (queue, counters) = (queue.clone(), Arc::clone(counters));
    move |sample| {
        let Data::Valid(report) = sample.data else { return };
        if queue.try_send(wrap(report)).is_err() {
            counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn lock(monitor: &Mutex<ReferenceMonitor>) -> MutexGuard<'_, ReferenceMonitor> {
    monitor.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread owns.
struct Taking {
    monitor: Arc<Mutex<ReferenceMonitor>>,
    counters: Arc<Counters>,
    events: Publisher<Event>,
    sender: Sender,
    sequence: u64,
}

impl Taking {
    fn run(mut self, reports: &Receiver<Report>) {
        while let Ok(report) = reports.recv() {
            let (taken, events) = {
                let mut monitor = lock(&self.monitor);
                (take(&mut monitor, report), monitor.take_events())
            };
            let counter = if taken.is_ok() { &self.counters.taken } else { &self.counters.rejected };
            counter.fetch_add(1, Ordering::Relaxed);
            for mut event in events {
                self.sequence += 1;
                event.header = self.sender.header(self.sequence, clock::monotonic(), clock::wall());
                // The recording's own counters tell the same, should the bus refuse it.
                let _ = self.events.write(&event);
            }
        }
    }
}

fn take(monitor: &mut ReferenceMonitor, report: Report) -> Result<(), MonitorError> {
    let now = clock::monotonic();
    match report {
        Report::Node(telemetry) => monitor.report_node_telemetry(now, &telemetry),
        Report::Job(telemetry) => monitor.report_job_telemetry(now, &telemetry),
        Report::Descriptor(descriptor) => {
            monitor.learn(&descriptor);
            Ok(())
        }
    }
}
