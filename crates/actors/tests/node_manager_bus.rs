//! Node managers over the real bus. Goals: every answer is attributed or its node named as missing, leases end by
//! themselves, nothing changes on an unsigned word from the network, and replacing a node manager goes unnoticed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actors::conformance::{self, NodeManagerSubject};
use actors::device::{Device, DeviceKind};
use actors::lease::Authority;
use actors::message::{NmStatus, Status, WRITABLE_BY_NOBODY, event_code};
use actors::metric::{Kind, METRICS, MetricId};
use actors::node_manager::access::{AllowList, AllowRule};
use actors::node_manager::client::{Client, ClientConfig, SettingWish};
use actors::node_manager::manager::{Manager, ManagerConfig};
use actors::node_manager::service::{Member, Service, ServiceConfig};
use actors::node_manager::{Call, ManagedNode, NodeManager, NodeManagerError, Select};
use actors::reference::{ReferenceConfig, ReferenceMachine};
use actors::synthetic::{self, SyntheticHandle};
use actors::topic;
use bus::Participant;
use node::simulated::{SimulatedClock, SimulatedNode};
use node::thread::{Placement, Role, spawn};
use node::{Node, SysRoot, clock};

const PATIENCE: Duration = Duration::from_secs(20);

fn participant(domain: u32) -> Participant {
    Participant::builder().domain(domain).name("actors-test").build().unwrap()
}

/// A host name of this test process's own, so that other runs of these tests on the network do not meet it.
fn own(host: &str) -> String {
    format!("{host}-{}", family())
}

fn operators() -> AllowList {
    let rule = |principal: &str, control| AllowRule {
        principal: principal.into(),
        control,
        authority: Authority::Administrator,
        min: 0.0,
        max: f64::INFINITY,
    };
    let controls = METRICS.iter().filter(|metric| metric.kind == Kind::Control).map(|metric| metric.id);
    let rules = controls.flat_map(|id| [rule("operator", id), rule("operator2", id)]).collect();
    AllowList::new(rules).unwrap()
}

fn config() -> ManagerConfig {
    ManagerConfig { access: operators(), ..ManagerConfig::default() }
}

fn synthetic_member(participant: &Participant, host: &str) -> (Member, SyntheticHandle) {
    let manager = synthetic::node_manager(host, config());
    let handle = manager.machine().handle();
    (Member { participant: participant.clone(), node: Box::new(manager) }, handle)
}

fn reference_member(participant: &Participant, host: &str, folder: &Scratch) -> Member {
    reference_member_with(participant, host, folder, config())
}

fn reference_member_with(
    participant: &Participant,
    host: &str,
    folder: &Scratch,
    config: ManagerConfig,
) -> Member {
    let simulated = SimulatedNode::new("xeon-8260-2s", 3, SimulatedClock::Host).unwrap();
    let root: Arc<dyn SysRoot> = Arc::new(simulated);
    let reference = ReferenceConfig { host: Some(host.into()), safe_package_power: None };
    let (machine, _) = ReferenceMachine::open(Node::open(root), Some(&folder.0), &reference);
    let node: Box<dyn ManagedNode> = Box::new(Manager::new(machine, config));
    Member { participant: participant.clone(), node }
}

fn serve(members: Vec<Member>) -> Service {
    let config = ServiceConfig { period: Duration::from_millis(100), ..ServiceConfig::default() };
    Service::start(members, config).unwrap()
}

fn cap(value: f64, ttl: Duration) -> SettingWish {
    SettingWish {
        control: MetricId::NODE_POWER_LIMIT_CONTROL,
        device: Device::NODE,
        value,
        ttl,
        authority: Authority::Administrator,
        is_dry_run: false,
    }
}

/// Waits until a condition holds; the watchdog is patient and asserts no speed.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = clock::monotonic() + PATIENCE;
    while !holds() {
        assert!(clock::monotonic() < deadline, "never happened: {what}");
        clock::sleep(Duration::from_millis(10));
    }
}

/// A state folder that is removed at the end of the test.
struct Scratch(std::path::PathBuf);

#[expect(clippy::disallowed_methods, reason = "test scratch folder")]
fn scratch(name: &str) -> Scratch {
    let path = std::env::temp_dir().join(format!("stillwatt-bus-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    Scratch(path)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One request through a wildcard partition gives one attributed answer for each of thirty nodes; a node that is
/// known and silent is named; a node that left in order is not expected.
#[test]
fn a_wildcard_reaches_every_node() {
    let domain = 71;
    let hosts: Vec<String> = (0..30).map(|index| own(&format!("n{index:02}"))).collect();
    let participants: Vec<Participant> = hosts.iter().map(|_| participant(domain)).collect();
    let member = |(host, participant): (&String, &Participant)| synthetic_member(participant, host).0;
    let service = serve(hosts.iter().zip(&participants).map(member).collect());
    let asking = participant(domain);
    let partitions = vec![topic::node_partition(&own("*"))];
    let config = ClientConfig { partitions, ..ClientConfig::every_node("operator", "login") };
    let client = Client::connect(&asking, config).unwrap();
    assert!(client.wait_for_servers(30, PATIENCE));

    let power = Select::metric(MetricId::NODE_POWER);
    let answers = client.get_metric_all(&power, PATIENCE).unwrap();
    assert_eq!(answers.iter().map(|(host, _)| host.clone()).collect::<Vec<_>>(), hosts);
    for (host, metrics) in &answers {
        assert_eq!(metrics.as_ref().unwrap().samples[0].value, 250.0, "{host}");
    }

    let ghost = own("silent");
    let silent = topic::NM_STATUS.publisher(&asking, &[topic::node_partition(&ghost)]).unwrap();
    silent.write(&NmStatus { host: ghost.clone(), ..NmStatus::default() }).unwrap();
    eventually("the silent node is known", || client.servers().len() == 31);
    let answers = client.get_metric_all(&power, Duration::from_secs(2)).unwrap();
    let failed: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_err()).collect();
    let [(host, Err(error))] = failed.as_slice() else { panic!("{failed:?}") };
    assert_eq!((host, error.status()), (&ghost, Status::Timeout));
    assert_eq!(answers.len(), 31);
    client.forget(&ghost);

    assert_eq!(service.stop(), 0);
    eventually("all nodes said goodbye", || client.servers().is_empty());
}

/// A pattern for one island reaches only the nodes there.
#[test]
fn a_scope_reaches_its_nodes() {
    let participant = participant(72);
    let serve_in = |host: &str, island: &str| {
        let place = topic::Place { cluster: own("alpha"), island: island.into() };
        let config = ServiceConfig { place, ..ServiceConfig::default() };
        Service::start(vec![synthetic_member(&participant, host).0], config).unwrap()
    };
    let _services = [serve_in("a1", "1"), serve_in("b1", "2")];
    let config = ClientConfig {
        partitions: vec![topic::scoped_partition(&own("alpha"), "1", "*")],
        ..ClientConfig::every_node("operator", "login")
    };
    let client = Client::connect(&participant, config).unwrap();
    assert!(client.wait_for_servers(1, PATIENCE));
    let answers = client.get_info_all(Duration::from_secs(1)).unwrap();
    assert_eq!(answers.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>(), ["a1"]);
}

struct Subject {
    client: Client,
}

impl NodeManagerSubject for Subject {
    fn node(&mut self) -> &mut dyn NodeManager {
        &mut self.client
    }

    fn call(&mut self, principal: &str) -> Call {
        Call::local(principal, [0; 16], clock::monotonic(), clock::wall())
    }

    fn wait(&mut self, time: Duration) {
        clock::sleep(time);
    }
}

fn client_of(participant: &Participant, host: &str) -> Client {
    let config = ClientConfig { timeout: PATIENCE, ..ClientConfig::one_node("operator", "login", host) };
    let client = Client::connect(participant, config).unwrap();
    assert!(client.wait_for_servers(1, PATIENCE));
    client
}

/// A node manager behind the bus keeps the same promises as one in hand, leases that end by themselves included.
#[test]
fn a_client_conforms() {
    let participant = participant(73);
    let (member, handle) = synthetic_member(&participant, &own("n01"));
    let service = serve(vec![member]);
    let client = client_of(&participant, &own("n01"));
    conformance::node_manager(&mut Subject { client }).unwrap();
    assert!(handle.is_as_at_start());
    assert!(service.statistics().answered > 20);
    assert_eq!(service.stop(), 0);
}

/// A lease on the real node manager over a simulated node ends by itself and the setting is as before; the statuses,
/// capabilities and telemetry that it publishes meanwhile say what is in force.
#[test]
fn a_lease_ends_by_itself() {
    let participant = participant(74);
    let folder = scratch("lease");
    let service = serve(vec![reference_member(&participant, &own("n01"), &folder)]);
    let monitor = [topic::PARTITION_MONITOR.to_owned()];
    let telemetry = topic::NODE_TELEMETRY.subscriber(&participant, &monitor).unwrap();
    let capabilities = topic::NM_CAPABILITY.subscriber(&participant, &monitor).unwrap();
    let client = client_of(&participant, &own("n01"));

    let ceiling = Device::new(DeviceKind::Core, 0);
    let select = Select::one(MetricId::CPU_FREQUENCY_MAX_CONTROL, ceiling);
    let former = client.get_current_conf(&select).unwrap()[0].applied;
    let wish = SettingWish {
        control: MetricId::CPU_FREQUENCY_MAX_CONTROL,
        device: ceiling,
        ..cap(2.0e9, Duration::from_millis(700))
    };
    let set = client.set_conf(&wish).unwrap();
    assert_eq!((set[0].applied, set[0].status), (2.0e9, 0));
    eventually("the status tells of the lease", || client.status(&own("n01")).unwrap().lease_count == 1);
    eventually("the status tells of its end", || client.status(&own("n01")).unwrap().lease_count == 0);
    assert_eq!(client.get_current_conf(&select).unwrap()[0].applied, former);

    eventually("telemetry names its node", || {
        let sample = telemetry.take().unwrap().and_then(|sample| sample.data.valid());
        sample.is_some_and(|telemetry| telemetry.header.host == own("n01"))
    });
    let mut controls = std::collections::BTreeSet::new();
    eventually("every kind of knob is announced", || {
        while let Some(sample) = capabilities.take().unwrap() {
            let capability = sample.data.valid().filter(|capability| capability.host == own("n01"));
            controls.extend(capability.map(|capability| capability.name));
        }
        controls.len() == 3
    });
    assert!(controls.contains("CPU_POWER_LIMIT_CONTROL"), "{controls:?}");
    assert_eq!(service.stop(), 0);
}

/// A client that keeps asking while the synthetic node manager is replaced by the real one sees at most one
/// timeout and no other error.
#[test]
fn a_replacement_goes_unnoticed() {
    const ASKING: Role = Role::new("stw-test-ask", "asks a node manager all the time");
    let domain = 75;
    let asking = participant(domain);
    let client = Client::connect(&asking, ClientConfig::one_node("operator", "login", &own("n01"))).unwrap();
    let serving = participant(domain);
    let (member, _) = synthetic_member(&serving, &own("n01"));
    let synthetic = serve(vec![member]);
    assert!(client.wait_for_servers(1, PATIENCE));
    eventually("the synthetic one answers", || client.get_info().is_ok());

    let client = Arc::new(client);
    let is_over = Arc::new(AtomicBool::new(false));
    let (asker, over) = (Arc::clone(&client), Arc::clone(&is_over));
    let asked = spawn(ASKING, Placement::Inherit, move || {
        let (mut answers, mut errors) = (0_u32, Vec::new());
        while !over.load(Ordering::Relaxed) {
            match asker.get_metric(&Select::metric(MetricId::CPU_UTILIZATION)) {
                Ok(_) => answers += 1,
                Err(error) => errors.push(error),
            }
            clock::sleep(Duration::from_millis(5));
        }
        (answers, errors)
    })
    .unwrap();

    clock::sleep(Duration::from_millis(300));
    assert_eq!(synthetic.stop(), 0);
    let folder = scratch("replace");
    let real = serve(vec![reference_member(&serving, &own("n01"), &folder)]);
    eventually("the real one answers", || {
        client.get_info().is_ok_and(|info| info.info_string.contains("xeon"))
    });
    clock::sleep(Duration::from_millis(300));
    is_over.store(true, Ordering::Relaxed);
    let (answers, errors) = asked.join().unwrap();
    assert!(answers > 20, "{answers}");
    assert!(errors.len() <= 1, "{errors:?}");
    assert!(errors.iter().all(|error| matches!(error, NodeManagerError::Timeout { .. })), "{errors:?}");
    assert_eq!(client.servers(), [own("n01")]);
    drop(real);
}

/// A setting and a release that arrive over UDP, from another process, are denied with the reason, and nothing has
/// changed; reading is allowed.
#[test]
fn the_network_changes_nothing() {
    let participant = participant(76);
    let (member, handle) = synthetic_member(&participant, &own("n01"));
    let _service = serve(vec![member]);
    let output = child("network_child").wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("read 250"), "{text}");
    assert!(text.contains("set DENIED") && text.contains("must be signed"), "{text}");
    assert!(text.contains("restore DENIED"), "{text}");
    assert_eq!(handle.writes(), 0);
    assert!(handle.is_as_at_start());
}

/// Not a test by itself: the other process of [`the_network_changes_nothing`], which asks over UDP.
#[test]
fn network_child() {
    if !is_child() {
        return;
    }
    // Shared memory would prove that we are the same user, and then we may.
    let participant = Participant::builder().domain(76).transports(bus::Transports::udp()).build().unwrap();
    let client = client_of(&participant, &own("n01"));
    let metrics = client.get_metric(&Select::metric(MetricId::NODE_POWER)).unwrap();
    println!("read {}", metrics.samples[0].value);
    let error = client.set_conf(&cap(200.0, PATIENCE)).unwrap_err();
    println!("set {}: {error}", error.status().name());
    let error = client.restore(&Select::ALL).unwrap_err();
    println!("restore {}: {error}", error.status().name());
}

/// A second node manager for a node, in another process, is warned of once, and a client beside the first one gets the
/// first one's answers however fast the second one denies.
#[test]
fn a_rival_is_noticed_and_not_believed() {
    let participant = participant(77);
    let events = topic::EVENT.subscriber(&participant, &[topic::PARTITION_MONITOR.to_owned()]).unwrap();
    let (member, handle) = synthetic_member(&participant, &own("n01"));
    let service = serve(vec![member]);
    let client = client_of(&participant, &own("n01"));
    let mut rival = child("rival_child");
    let mut warnings = Vec::new();
    let take = |warnings: &mut Vec<String>| {
        while let Some(sample) = events.take().unwrap() {
            let event = sample.data.valid().filter(|event| event.code == event_code::NODE_MANAGER_RIVAL);
            let own =
                event.filter(|event| event.subject == own("n01") && event.header.writer == writer(&client));
            warnings.extend(own.map(|event| event.text));
        }
    };
    eventually("the rival is told of", || {
        take(&mut warnings);
        !warnings.is_empty()
    });
    eventually("the rival's answers are not taken", || {
        let set = client.set_conf(&cap(200.0, PATIENCE)).unwrap();
        assert_eq!((set[0].applied, set[0].status), (200.0, Status::Ok.code()));
        client.from_rivals() > 10
    });
    drop(rival.stdin.take());
    assert!(rival.wait().unwrap().success());
    take(&mut warnings);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    client.restore(&Select::ALL).unwrap();
    assert!(handle.is_as_at_start());
    assert_eq!(service.stop(), 0);
}

/// The sender of the statuses that a client believes.
fn writer(client: &Client) -> [u8; 16] {
    client.status(&own("n01")).unwrap().header.writer
}

/// Not a test by itself: the second node manager of [`a_rival_is_noticed_and_not_believed`], until its input ends.
#[test]
fn rival_child() {
    if !is_child() {
        return;
    }
    let participant = participant(77);
    let service = serve(vec![synthetic_member(&participant, &own("n01")).0]);
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    service.stop();
}

/// Whoever joins late and asks for it gets every knob of a node, in this process and over the network; where the allow
/// list is empty, each says that nobody may set it.
#[test]
fn capabilities_reach_late_joiners() {
    let participant = participant(78);
    let folder = scratch("capabilities");
    let member = reference_member_with(&participant, &own("n01"), &folder, ManagerConfig::default());
    assert_eq!(member.node.capabilities().len(), KNOBS);
    let service = serve(vec![member]);
    clock::sleep(Duration::from_millis(200));
    assert_eq!(closed_knobs(&participant), KNOBS);
    let output = child("capability_child").wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("closed {KNOBS}\n")), "{text}");
    assert_eq!(service.stop(), 0);
}

/// Not a test by itself: the late joiner over the network of [`capabilities_reach_late_joiners`].
#[test]
fn capability_child() {
    if is_child() {
        println!("closed {}", closed_knobs(&participant(78)));
    }
}

/// The knobs of the simulated node: both ends of the frequency of 48 CPUs, and the cap of two packages.
const KNOBS: usize = 2 * 48 + 2;

/// Waits for every knob of the node to say that nobody may set it.
fn closed_knobs(participant: &Participant) -> usize {
    let monitor = [topic::PARTITION_MONITOR.to_owned()];
    let capabilities = topic::NM_CAPABILITY.subscriber(participant, &monitor).unwrap();
    let mut closed = std::collections::BTreeSet::new();
    eventually("every knob is announced", || {
        while let Some(sample) = capabilities.take().unwrap() {
            let knob = sample.data.valid().filter(|knob| knob.host == own("n01"));
            let knob = knob.filter(|knob| knob.writable_by == WRITABLE_BY_NOBODY);
            closed.extend(knob.map(|knob| (knob.control, knob.device.kind, knob.device.id)));
        }
        closed.len() >= KNOBS
    });
    closed.len()
}

const CHILD: &str = "STILLWATT_TEST_NETWORK_CHILD";

#[expect(clippy::disallowed_methods, reason = "the test's second process")]
fn child(test: &str) -> std::process::Child {
    use std::process::Stdio;
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, std::process::id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[expect(clippy::disallowed_methods, reason = "tells the test's second process from the first")]
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The process id of the first process of this run of the tests.
#[expect(clippy::disallowed_methods, reason = "tells the test's second process from the first")]
fn family() -> String {
    std::env::var(CHILD).unwrap_or_else(|_| std::process::id().to_string())
}
