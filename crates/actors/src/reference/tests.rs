//! Goals: the real node manager conforms on a simulated node, leaves nothing behind however it ends, and names what a
//! power figure covers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use node::simulated::{SimulatedClock, SimulatedNode};

use super::*;
use crate::conformance::{self, NodeManagerSubject};
use crate::device::{Device, DeviceKind};
use crate::lease::Authority;
use crate::message::{SampleFlags, Status};
use crate::node_manager::manager::ManagerConfig;
use crate::node_manager::operators;
use crate::node_manager::{Call, ManagedNode, NodeManager, Select, SetConf};

/// A state folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    #[expect(clippy::disallowed_methods, reason = "test scratch folder")]
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stillwatt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Subject {
    manager: ReferenceNodeManager,
    simulated: Arc<SimulatedNode>,
}

fn simulated() -> Arc<SimulatedNode> {
    Arc::new(SimulatedNode::new("xeon-8260-2s", 7, SimulatedClock::Virtual).unwrap())
}

fn subject(simulated: &Arc<SimulatedNode>, folder: &Folder) -> (Subject, Vec<Event>) {
    let root: Arc<dyn SysRoot> = Arc::clone(simulated) as Arc<dyn SysRoot>;
    let config = ReferenceConfig { host: Some("n01".into()), safe_package_power: Some(Watts::new(80.0)) };
    let (machine, events) = ReferenceMachine::open(Node::open(root), Some(&folder.0), &config);
    let config = ManagerConfig { access: operators(), ..ManagerConfig::default() };
    (Subject { manager: Manager::new(machine, config), simulated: Arc::clone(simulated) }, events)
}

impl NodeManagerSubject for Subject {
    fn node(&mut self) -> &mut dyn NodeManager {
        &mut self.manager
    }

    fn call(&mut self, principal: &str) -> Call {
        Call::local(
            principal,
            [1; 16],
            self.simulated.now(),
            Timestamp::from_unix_nanos(1_700_000_000_000_000_000),
        )
    }

    fn wait(&mut self, time: Duration) {
        self.simulated.advance(time);
        self.manager.tick(self.simulated.now(), &mut Vec::new());
    }
}

fn cap(value: f64, sequence: u64, authority: Authority) -> SetConf {
    SetConf {
        control: MetricId::CPU_POWER_LIMIT_CONTROL,
        device: Device::all(DeviceKind::Cpu),
        value,
        ttl: Duration::from_secs(10),
        authority,
        job: 0,
        term: 0,
        boot_id: BootId::UNKNOWN,
        sequence,
        is_dry_run: false,
    }
}

/// What every knob of the machine's files holds.
fn settings(simulated: &Arc<SimulatedNode>) -> Vec<(String, String)> {
    let root: &dyn SysRoot = &**simulated;
    let knobs = node::knob::discover(root);
    knobs.iter().map(|knob| (knob.path().to_owned(), root.read(knob.path()).unwrap())).collect()
}

/// The real node manager over a simulated node keeps every promise of a node manager.
#[test]
fn reference_conforms() {
    let folder = Folder::new("conforms");
    let simulated = simulated();
    let before = settings(&simulated);
    let (mut subject, events) = subject(&simulated, &folder);
    assert_eq!(events, []);
    subject.wait(Duration::from_secs(1));
    conformance::node_manager(&mut subject).unwrap();
    assert_eq!(settings(&simulated), before);
}

/// A wish for all packages sets each, and an end, a drop, and a killed process's successor restore the files'
/// very texts.
#[test]
fn nothing_is_left_behind() {
    let folder = Folder::new("left");
    let simulated = simulated();
    let before = settings(&simulated);
    for end in ["end", "drop"] {
        let (mut subject, _) = subject(&simulated, &folder);
        let call = subject.call("operator");
        let set = subject.manager.set_conf(&call, &cap(100.2, 1, Authority::Job)).unwrap();
        assert_eq!(set.iter().map(|setting| setting.applied).collect::<Vec<_>>(), [100.125, 100.125]);
        assert_ne!(settings(&simulated), before);
        if end == "end" {
            assert_eq!(subject.manager.end(call.now, &mut Vec::new()), 0);
        } else {
            drop(subject);
        }
        assert_eq!(settings(&simulated), before, "{end}");
    }
}

/// At an orderly exit a live cap of the system manager stays, as the budget still counts on it.
#[test]
fn a_live_budget_outlives_the_exit() {
    let folder = Folder::new("budget");
    let simulated = simulated();
    let (mut subject, _) = subject(&simulated, &folder);
    let call = subject.call("operator");
    subject.manager.set_conf(&call, &cap(100.0, 1, Authority::System)).unwrap();
    subject.manager.end(call.now, &mut Vec::new());
    drop(subject);
    let limits: Vec<String> = settings(&simulated)
        .into_iter()
        .filter(|(path, _)| path.contains("power_limit"))
        .map(|(_, text)| text.trim().to_owned())
        .collect();
    assert_eq!(limits, ["100000000", "100000000"]);
}

/// Without a usable journal the knobs can be read and not set, and the reason is said.
#[test]
fn no_journal_no_writes() {
    let simulated = simulated();
    let root: Arc<dyn SysRoot> = Arc::clone(&simulated) as Arc<dyn SysRoot>;
    let unusable = PathBuf::from("/proc/no/such/folder");
    let (machine, events) =
        ReferenceMachine::open(Node::open(root), Some(&unusable), &ReferenceConfig::default());
    assert!(events[0].text.contains("/proc/no/such/folder"), "{events:?}");
    let config = ManagerConfig { access: operators(), ..ManagerConfig::default() };
    let mut subject = Subject { manager: Manager::new(machine, config), simulated };
    let call = subject.call("operator");
    assert!(!subject.manager.get_current_conf(&call, &Select::ALL).unwrap().is_empty());
    let error = subject.manager.set_conf(&call, &cap(100.0, 1, Authority::Job)).unwrap_err();
    assert_eq!(error.status(), Status::Failed);
    assert!(error.to_string().contains("journal"), "{error}");
}

/// RAPL is never called the node's power; energies are totals; package and memory have their own samples; every
/// sample has a descriptor with its unit.
#[test]
fn readings_say_what_they_are() {
    let folder = Folder::new("readings");
    let simulated = simulated();
    let (mut subject, _) = subject(&simulated, &folder);
    let mut totals = Vec::new();
    for _ in 0..3 {
        subject.wait(Duration::from_secs(1));
        let call = subject.call("operator");
        subject.manager.observe(call.now, call.wall);
        let metrics = subject.manager.get_metric(&call, &Select::ALL).unwrap();
        let of = |metric: MetricId| metrics.samples.iter().filter(move |s| s.metric_id() == metric);
        assert_eq!(of(MetricId::CPU_POWER).count(), 2);
        assert_eq!(of(MetricId::CPU_FREQUENCY_STATUS).filter(|s| s.device.kind == 0).count(), 1);
        assert!(metrics.absent.iter().any(|absent| absent.reason.contains("COVERED_POWER")));
        totals.push(of(MetricId::COVERED_ENERGY).next().unwrap().value);
        let descriptors = subject.manager.descriptors();
        for sample in &metrics.samples {
            let described = descriptors.iter().find(|descriptor| descriptor.id == sample.metric);
            assert!(Unit::from_code(described.unwrap().unit).is_some(), "{sample:?}");
        }
    }
    assert!(totals.windows(2).all(|pair| pair[1] > pair[0]), "{totals:?}");
    let status = subject.manager.status(simulated.now(), Timestamp::EPOCH);
    assert_eq!(status.power[0].metric_id(), MetricId::COVERED_POWER);
}

/// What a power figure became: the energy's value, its quality and whether it is flagged as begun anew.
fn metered_energy(
    subject: &mut ReferenceNodeManager,
    root: &node::MemoryRoot,
    counters: [&str; 2],
) -> (f64, u8, bool) {
    for (package, counter) in counters.iter().enumerate() {
        let file = format!("sys/class/powercap/intel-rapl:{package}/energy_uj");
        match *counter {
            "refused" => root.fail_read(&file, 13),
            counter => {
                root.heal(&file);
                root.set(&file, counter);
            }
        }
    }
    root.advance(Duration::from_secs(1));
    let busy = root.now().as_nanos() / 20_000_000;
    root.set("proc/stat", &format!("cpu0 {busy} 0 0 {busy}\n"));
    subject.observe(root.now(), Timestamp::EPOCH);
    let call = Call::local("operator", [1; 16], root.now(), Timestamp::EPOCH);
    let metrics = subject.get_metric(&call, &Select::metric(MetricId::COVERED_ENERGY)).unwrap();
    let sample = &metrics.samples[0];
    (sample.value, sample.quality, SampleFlags::from_bits(sample.flags).contains(SampleFlags::RESET))
}

/// A total that changes its source is flagged and described anew, so that nobody takes the step for a use of energy.
#[test]
fn a_change_of_source_is_flagged() {
    let root = Arc::new(node::MemoryRoot::new());
    for package in 0..2 {
        let zone = format!("sys/class/powercap/intel-rapl:{package}");
        root.set(&format!("{zone}/name"), &format!("package-{package}\n"));
        root.set(&format!("{zone}/energy_uj"), "0\n");
        root.set(&format!("{zone}/max_energy_range_uj"), "262143328850\n");
    }
    root.set("proc/stat", "cpu0 0 0 0 0\n");
    let node = Node::open(Arc::clone(&root) as Arc<dyn SysRoot>);
    let (machine, _) = ReferenceMachine::open(node, None, &ReferenceConfig::default());
    let mut manager = Manager::new(machine, ManagerConfig::default());
    let source = |manager: &ReferenceNodeManager| {
        let descriptors = manager.descriptors();
        let metered = descriptors.iter().find(|d| d.id == MetricId::COVERED_ENERGY.get()).unwrap();
        metered.source.clone()
    };
    let measured = crate::message::Quality::Measured.code();
    assert_eq!(metered_energy(&mut manager, &root, ["50000000", "50000000"]), (100.0, measured, false));
    assert_eq!(metered_energy(&mut manager, &root, ["100000000", "100000000"]), (200.0, measured, false));
    assert!(source(&manager).contains("powercap"), "{}", source(&manager));
    let (value, quality, is_reset) = metered_energy(&mut manager, &root, ["150000000", "refused"]);
    assert!(value < 100.0 && is_reset, "{value}");
    assert_eq!(quality, crate::message::Quality::Modelled.code());
    assert!(source(&manager).contains("modelled"), "{}", source(&manager));
    assert!(!metered_energy(&mut manager, &root, ["200000000", "refused"]).2);
}
