//! A monitor over the real bus. Goals: it keeps what nodes and jobs report, and says so when its recording fails.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::Path;
use std::time::Duration;

use actors::conformance::{self, MonitorSubject};
use actors::message::{Actor, Sender, event_code};
use actors::metric::MetricId;
use actors::monitor::client::MonitorClient;
use actors::monitor::history::{Limits, Query};
use actors::monitor::recorder::Recorder;
use actors::monitor::service::{MonitorService, MonitorServiceConfig};
use actors::monitor::{Monitor, ReferenceMonitor};
use actors::node_manager::manager::ManagerConfig;
use actors::node_manager::service::{Member, Service, ServiceConfig};
use actors::{synthetic, topic};
use bus::Participant;
use node::clock;

const PATIENCE: Duration = Duration::from_secs(20);

fn participant(domain: u32) -> Participant {
    Participant::builder().domain(domain).name("monitor-test").build().unwrap()
}

/// A partition or host name of this process's own, so that other runs of these tests do not meet it.
fn own(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = clock::monotonic() + PATIENCE;
    while !holds() {
        assert!(clock::monotonic() < deadline, "never happened: {what}");
        clock::sleep(Duration::from_millis(10));
    }
}

fn reporter(participant: &Participant) -> MonitorClient {
    let sender = Sender { actor: Actor::JobManager, host: "n1".into(), writer: [0; 16] };
    let client = MonitorClient::connect(participant, &own("monitor"), sender).unwrap();
    eventually("a monitor listens", || client.monitors() > 0);
    client
}

struct Subject {
    client: MonitorClient,
    service: MonitorService,
}

impl Subject {
    fn values(&self, query: &Query) -> Vec<f64> {
        self.service.with(|monitor| {
            let slices = monitor.history().query(query);
            slices.iter().flat_map(|slice| &slice.points).map(|point| point.value).collect()
        })
    }
}

impl MonitorSubject for Subject {
    fn monitor(&mut self) -> &mut dyn Monitor {
        &mut self.client
    }

    fn node_values(&mut self, host: &str, metric: MetricId) -> Vec<f64> {
        let arrived = |service: &MonitorService| service.statistics().taken >= 15;
        eventually("everything arrived", || arrived(&self.service));
        self.values(&Query { metric: Some(metric), host: Some(host.into()), ..Query::default() })
    }

    fn job_values(&mut self, job: u64, metric: MetricId) -> Vec<f64> {
        self.values(&Query { metric: Some(metric), job: Some(job), ..Query::default() })
    }
}

/// A monitor behind the bus keeps the promises of one in hand.
#[test]
fn a_client_conforms() {
    let participant = participant(81);
    let monitor = ReferenceMonitor::new(Limits::default());
    let config = MonitorServiceConfig { partition: own("monitor"), ..MonitorServiceConfig::on("n1") };
    let service = MonitorService::start(&participant, monitor, config).unwrap();
    let client = reporter(&participant);
    let mut subject = Subject { client, service };
    conformance::monitor(&mut subject).unwrap();
    assert_eq!(subject.service.statistics().dropped, 0);
}

/// What node managers publish by themselves arrives in the monitor with its meaning, and a recording that cannot be
/// written is an event on the bus while the history goes on.
#[test]
fn node_managers_are_monitored() {
    let participant = participant(82);
    let events = topic::EVENT.subscriber(&participant, &[topic::PARTITION_MONITOR.to_owned()]).unwrap();
    let monitor = ReferenceMonitor::new(Limits::default())
        .with_recorder(Recorder::at(Path::new("/proc/no/such/recording.csv")));
    let service = MonitorService::start(&participant, monitor, MonitorServiceConfig::on("m1")).unwrap();
    let node = synthetic::node_manager(&own("n01"), ManagerConfig::default());
    let member = Member { participant: participant.clone(), node: Box::new(node) };
    let config =
        ServiceConfig { period: Duration::from_millis(50), status_periods: 2, ..ServiceConfig::default() };
    let _node_manager = Service::start(vec![member], config).unwrap();
    let query = Query { metric: Some(MetricId::NODE_POWER), host: Some(own("n01")), ..Query::default() };
    eventually("five readings are kept", || {
        let slices = service.with(|monitor| monitor.history().query(&query));
        slices.first().is_some_and(|slice| slice.points.len() >= 5)
    });
    eventually("the metric is described", || {
        service.with(|monitor| monitor.descriptor(MetricId::NODE_POWER).is_some())
    });
    service.with(|monitor| {
        assert!(monitor.recorder().unwrap().lost() > 0);
        assert_eq!(monitor.history().counters().lost, 0);
    });
    eventually("the failure is an event", || {
        let event = events.take().unwrap().and_then(|sample| sample.data.valid());
        event.is_some_and(|event| event.code == event_code::RECORDING_FAILED)
    });
}
