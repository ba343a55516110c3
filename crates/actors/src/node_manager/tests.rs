//! Goals: the rules hold whatever the machine does: refused writes roll back, foreign writes are undone, an exit
//! restores, and every denial is an event.

use std::time::Duration;

use units::{Instant, Timestamp};

use super::access::{AllowList, AllowRule};
use super::manager::ManagerConfig;
use super::*;
use crate::conformance::{self, NodeManagerSubject};
use crate::lease::{Authority, BootId, ClampedBy};
use crate::message::{NmRequest, NodeState, Status, event_code};
use crate::metric::MetricId;
use crate::synthetic::{self, Fault, SyntheticHandle, SyntheticNodeManager};

/// Lets two operators do everything.
pub(crate) fn operators() -> AllowList {
    let rule = |principal: &str, control| AllowRule {
        principal: principal.into(),
        control,
        authority: Authority::Administrator,
        min: 0.0,
        max: f64::INFINITY,
    };
    let controls = crate::metric::METRICS
        .iter()
        .filter(|metric| metric.kind == crate::metric::Kind::Control)
        .map(|metric| metric.id);
    AllowList::new(
        controls.flat_map(|control| [rule("operator", control), rule("operator2", control)]).collect(),
    )
    .unwrap()
}

struct Subject {
    node: SyntheticNodeManager,
    handle: SyntheticHandle,
    now: Instant,
}

fn subject() -> Subject {
    let node =
        synthetic::node_manager("n01", ManagerConfig { access: operators(), ..ManagerConfig::default() });
    let handle = node.machine().handle();
    Subject { node, handle, now: Instant::from_nanos(1_000_000_000) }
}

impl NodeManagerSubject for Subject {
    fn node(&mut self) -> &mut dyn NodeManager {
        &mut self.node
    }

    fn call(&mut self, principal: &str) -> Call {
        Call::local(principal, [7; 16], self.now, Timestamp::from_unix_nanos(1_700_000_000_000_000_000))
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.node.tick(self.now, &mut Vec::new());
    }
}

fn cap(value: f64, sequence: u64) -> SetConf {
    SetConf {
        control: MetricId::NODE_POWER_LIMIT_CONTROL,
        device: crate::device::Device::NODE,
        value,
        ttl: Duration::from_secs(10),
        authority: Authority::Administrator,
        job: 0,
        term: 0,
        boot_id: BootId::UNKNOWN,
        sequence,
        is_dry_run: false,
    }
}

/// The synthetic node manager keeps every promise of a node manager.
#[test]
fn synthetic_conforms() {
    conformance::node_manager(&mut subject()).unwrap();
}

/// When the hardware refuses or ignores a write, the caller is told, nothing stays behind, and the knob works again
/// afterwards.
#[test]
fn refused_writes_roll_back() {
    for fault in [Fault::WriteFails, Fault::Sticks] {
        let mut subject = subject();
        let call = subject.call("operator");
        subject.handle.set_fault(SyntheticHandle::CAP, Some(fault));
        let error = subject.node.set_conf(&call, &cap(250.0, 1)).unwrap_err();
        assert_eq!(error.status(), Status::Failed, "{error}");
        assert_eq!(subject.node.status(call.now, call.wall).lease_count, 0);
        subject.handle.set_fault(SyntheticHandle::CAP, None);
        let mut events = Vec::new();
        subject.node.tick(call.now, &mut events);
        assert!(subject.handle.is_as_at_start());
        assert!(events.iter().any(|event| event.code == event_code::KNOB_FAILED));
        let setting = subject.node.set_conf(&call, &cap(250.06, 2)).unwrap();
        assert_eq!((setting[0].requested, setting[0].applied), (250.06, 250.0));
    }
}

/// What another program writes to a bound knob is undone within the look period, and said; an unbound knob is
/// nobody's business.
#[test]
fn foreign_writes_are_undone() {
    let mut subject = subject();
    let call = subject.call("operator");
    let long = SetConf { ttl: Duration::from_secs(60), ..cap(250.0, 1) };
    subject.node.set_conf(&call, &long).unwrap();
    subject.wait(Duration::from_secs(1));
    subject.handle.overwrite(SyntheticHandle::CAP, 390.0);
    subject.handle.overwrite(SyntheticHandle::CEILING, 2.0e9);
    subject.now = subject.now + Duration::from_secs(11);
    let mut events = Vec::new();
    subject.node.tick(subject.now, &mut events);
    assert_eq!(subject.handle.value(SyntheticHandle::CAP), Some(250.0));
    assert_eq!(subject.handle.value(SyntheticHandle::CEILING), Some(2.0e9));
    assert!(events.iter().any(|event| event.text.contains("390")), "{events:?}");
}

/// An exit restores every knob, past one that fails, and says how many did.
#[test]
fn end_restores_past_failures() {
    let mut subject = subject();
    let call = subject.call("operator");
    let mut job = cap(250.0, 1);
    job.authority = Authority::Job;
    subject.node.set_conf(&call, &job).unwrap();
    let frequency = SetConf {
        control: MetricId::CPU_FREQUENCY_MAX_CONTROL,
        device: SyntheticHandle::CEILING.device,
        value: 2.0e9,
        ..cap(0.0, 2)
    };
    subject.node.set_conf(&call, &frequency).unwrap();
    subject.handle.set_fault(SyntheticHandle::CAP, Some(Fault::WriteFails));
    assert_eq!(subject.node.end(call.now, &mut Vec::new()), 1);
    assert_eq!(subject.handle.value(SyntheticHandle::CEILING), Some(3.7e9));
    subject.handle.set_fault(SyntheticHandle::CAP, None);
    assert_eq!(subject.node.end(call.now, &mut Vec::new()), 0);
    assert!(subject.handle.is_as_at_start());
}

/// A change from the network is denied with the reason, signed or not; reading is not.
#[test]
fn network_writes_are_denied() {
    let mut subject = subject();
    let mut call = subject.call("operator");
    for is_signed in [false, true] {
        call.caller.origin = Origin::Network { is_signed };
        let mut request = NmRequest::default();
        Request::SetConf(cap(250.0, 1)).write(&mut request);
        let reply = answer(&mut subject.node, &call, &request);
        assert_eq!(reply.status, Status::Denied.code());
        assert!(reply.detail.contains("network"), "{}", reply.detail);
        assert!(subject.node.get_metric(&call, &Select::ALL).is_ok());
        let release = RestoreLeases {
            select: Select::ALL,
            sequence: 1,
            authority: Authority::Administrator,
            every_holder: true,
        };
        assert_eq!(subject.node.restore(&call, &release).unwrap_err().status(), Status::Denied);
    }
    assert_eq!(subject.handle.writes(), 0);
    let status = subject.node.status(call.now, call.wall);
    assert_eq!(status.denied_total, 4);
    let mut events = Vec::new();
    subject.node.tick(call.now, &mut events);
    assert!(events.iter().any(|event| event.code == event_code::REQUEST_DENIED));
}

/// A flood of denied requests is counted and not passed on: a datagram must not become a message for every knob.
#[test]
fn denials_are_told_in_measure() {
    let mut subject = subject();
    let mut call = subject.call("operator");
    call.caller.origin = Origin::Network { is_signed: false };
    for sequence in 0..1000 {
        subject.node.set_conf(&call, &cap(250.0, sequence)).unwrap_err();
    }
    let mut events = Vec::new();
    subject.node.tick(call.now, &mut events);
    assert!((1..50).contains(&events.len()), "{}", events.len());
    let value = f64::from(crate::message::Operation::SetConf.code());
    assert!(events.iter().all(|event| event.code == event_code::REQUEST_DENIED && event.value == value));
    assert_eq!(subject.node.status(call.now, call.wall).denied_total, 1000);
}

/// A cap at the value of the snapshot is put in force although somebody else has changed the knob since.
#[test]
fn a_cap_at_the_snapshot_is_enforced() {
    let mut subject = subject();
    let former = subject.handle.value(SyntheticHandle::CAP).unwrap();
    subject.handle.overwrite(SyntheticHandle::CAP, former - 50.0);
    let call = subject.call("operator");
    let setting = subject.node.set_conf(&call, &cap(former, 1)).unwrap();
    assert_eq!(setting[0].applied, former);
    assert_eq!(subject.handle.value(SyntheticHandle::CAP), Some(former));
}

/// A lease that ran out is told once, also when the knob then refuses every write.
#[test]
fn an_end_is_told_once() {
    let mut subject = subject();
    let call = subject.call("operator");
    subject.node.set_conf(&call, &cap(250.0, 1)).unwrap();
    subject.handle.set_fault(SyntheticHandle::CAP, Some(Fault::WriteFails));
    let mut events = Vec::new();
    for second in 11..20 {
        subject.node.tick(call.now + Duration::from_secs(second), &mut events);
    }
    let ends: Vec<_> = events.iter().filter(|event| event.code == event_code::LEASE_EXPIRED).collect();
    assert_eq!(ends.len(), 1, "{events:?}");
    assert!(ends[0].text.contains("operator"), "{}", ends[0].text);
}

/// An administrator ends everybody's leases; the status shows what binds a knob and for how long.
#[test]
fn status_and_orders() {
    let mut subject = subject();
    let (call, other) = (subject.call("operator"), subject.call("operator2"));
    subject.node.set_conf(&call, &cap(250.0, 1)).unwrap();
    subject.node.set_conf(&other, &cap(300.0, 1)).unwrap();
    let status = subject.node.status(call.now, call.wall);
    assert_eq!((status.state, status.lease_count), (NodeState::Bound.code(), 2));
    let [setting] = status.settings.as_slice() else { panic!("{:?}", status.settings) };
    assert_eq!((setting.applied, setting.remaining_ns), (250.0, 10_000_000_000));
    assert_eq!(setting.clamped_by, ClampedBy::Administrator.code());
    let order = RestoreLeases {
        select: Select::ALL,
        sequence: 2,
        authority: Authority::Administrator,
        every_holder: true,
    };
    subject.node.restore(&call, &order).unwrap();
    assert_eq!(subject.node.status(call.now, call.wall).lease_count, 0);
    assert!(subject.handle.is_as_at_start());
}

/// A reading that is missing is absent with its reason, and an old one is read anew for whoever asks.
#[test]
fn readings() {
    let mut subject = subject();
    subject.handle.set_missing(MetricId::NODE_ENERGY, Some("permission: run as root"));
    let call = subject.call("operator");
    let metrics = subject.node.get_metric(&call, &Select::metric(MetricId::NODE_ENERGY)).unwrap();
    assert_eq!((metrics.samples.len(), metrics.absent.len()), (0, 1));
    let power = |subject: &mut Subject, call: &Call| {
        subject.node.get_metric(call, &Select::metric(MetricId::NODE_POWER)).unwrap().samples[0].value
    };
    assert_eq!(power(&mut subject, &call), 250.0);
    subject.handle.set_load(units::Ratio::new(1.0));
    assert_eq!(power(&mut subject, &call), 250.0, "within two periods the last reading is the answer");
    subject.wait(Duration::from_secs(5));
    let call = subject.call("operator");
    assert_eq!(power(&mut subject, &call), 400.0);
}
