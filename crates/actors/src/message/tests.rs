//! Goals: messages come back from the wire as they were sent, keys select instances, texts stay in their bounds.

use proptest::prelude::*;
use rtps::cdr::{self, DdsType};

use super::*;

fn round_trip<T: DdsType + PartialEq + std::fmt::Debug>(value: &T) {
    let mut payload = Vec::new();
    cdr::to_payload(value, &mut payload).unwrap();
    assert_eq!(&cdr::from_payload::<T>(&payload).unwrap(), value);
}

fn header() -> Header {
    let sender = Sender { actor: Actor::NodeManager, host: "n007".into(), writer: [9; 16] };
    sender.header(3, Instant::from_nanos(5), Timestamp::from_unix_nanos(7))
}

/// Every message survives the wire.
#[test]
fn messages_round_trip() {
    let device = DeviceRef { kind: 1, id: u32::MAX };
    let sample = Sample::measured(MetricId::CPU_POWER, Device::new(DeviceKind::Cpu, 1), 151.5);
    let absent = AbsentMetric { metric: 1, device, reason: "permission: run as root".into() };
    let setting =
        NmSetting { control: 3, device, requested: 300.0, applied: 299.875, ..NmSetting::default() };
    round_trip(&NmRequest {
        header: header(),
        request: 12,
        operation: Operation::SetConf.code(),
        device,
        metric: 3,
        values: vec![300.0],
        lease_ns: 10_000_000_000,
        principal: "operator".into(),
        signature: vec![1, 2, 3],
        ..NmRequest::default()
    });
    round_trip(&NmReply {
        header: header(),
        client: [4; 16],
        status: Status::Denied.code(),
        detail: "not in the allow list".into(),
        info: vec![NmInfo { tool_name: "stillwatt".into(), ..NmInfo::default() }],
        samples: vec![sample.clone(), Sample::default()],
        absent: vec![absent.clone()],
        settings: vec![setting.clone()],
        ..NmReply::default()
    });
    round_trip(&NmCapability { host: "n007".into(), control: 3, device, ..NmCapability::default() });
    round_trip(&NmStatus {
        host: "n007".into(),
        power: vec![sample.clone()],
        settings: vec![setting],
        absent: vec![absent],
        ..NmStatus::default()
    });
    round_trip(&NodeTelemetry { samples: vec![sample], dropped: 2, ..NodeTelemetry::default() });
    round_trip(&JobTelemetry { job: 4711, value: 1.433e9, ..JobTelemetry::default() });
    round_trip(&JmState { job: 4711, step: 1, ..JmState::default() });
    round_trip(&Event::new(event_code::REQUEST_DENIED, Severity::Warning, "n007", 3.0, "unsigned"));
    for metric in crate::metric::METRICS {
        round_trip(&MetricDescriptor::of(header(), metric, "test"));
    }
}

/// The key of a status is its host and nothing else; of a capability also the knob.
#[test]
fn keys_select_instances() {
    let status = |host: &str, state| NmStatus { host: host.into(), state, ..NmStatus::default() };
    assert_eq!(status("a", 0).key_hash().unwrap(), status("a", 3).key_hash().unwrap());
    assert_ne!(status("a", 0).key_hash().unwrap(), status("b", 0).key_hash().unwrap());
    let knob = |control, id| NmCapability {
        host: "a".into(),
        control,
        device: DeviceRef { kind: 1, id },
        ..NmCapability::default()
    };
    assert_ne!(knob(3, 0).key_hash().unwrap(), knob(3, 1).key_hash().unwrap());
    assert_ne!(knob(3, 0).key_hash().unwrap(), knob(4, 0).key_hash().unwrap());
}

/// Every code is read back, and an unknown one is no error of the message.
#[test]
fn codes() {
    for code in 0..=6 {
        assert_eq!(Actor::from_code(code).unwrap().code(), code);
    }
    for code in -10..=0 {
        assert_eq!(Status::from_code(code).unwrap().code(), code);
    }
    for code in 0..=4 {
        assert_eq!(Operation::from_code(code).unwrap().code(), code);
    }
    assert_eq!(Status::from_code(1), None);
    assert_eq!(Operation::from_code(99), None);
    let flags = SampleFlags::WRAP.with(SampleFlags::STALE);
    assert_eq!(flags.names().collect::<Vec<_>>(), ["wrap", "stale"]);
    let all = ["wrap", "reset", "gap", "stale", "clamped", "no-range"];
    for (bit, name) in all.into_iter().enumerate() {
        let flag = SampleFlags::from_bits(1 << bit);
        assert_eq!(flag.names().collect::<Vec<_>>(), [name]);
    }
    assert_eq!(SampleFlags::from_bits(0xc1).bits(), 0xc1);
}

proptest! {
    /// A text is cut between characters and never gets longer than its bound.
    #[test]
    fn texts_are_bounded(text in ".{0,80}", max in 0_usize..80) {
        let cut = bounded(&text, max);
        prop_assert!(cut.len() <= max);
        prop_assert!(text.starts_with(cut));
        prop_assert!(!cut.contains('\0'));
    }
}
