//! What the service on the bus needs of a [`Manager`]: capabilities, status, time.
//!
//! Pure.

use units::{Instant, Timestamp};

use super::{Manager, blank};
use crate::device::DeviceKind;
use crate::lease::{KnobKey, KnobRule};
use crate::message::{
    DeviceRef, Event, Header, MetricDescriptor, NmCapability, NmSetting, NmStatus, NodeState, NodeTelemetry,
    Severity, Status, WRITABLE_BY_NOBODY, event_code,
};
use crate::metric::MetricId;
use crate::node_manager::ManagedNode;
use crate::node_manager::machine::{KnobDescription, Machine};

const NODE: DeviceRef = DeviceRef { kind: DeviceKind::Node.code(), id: 0 };

impl<M: Machine> ManagedNode for Manager<M> {
    fn host(&self) -> &str {
        &self.identity.host
    }

    fn capabilities(&self) -> Vec<NmCapability> {
        let capability = |knob: &KnobDescription| {
            let key = knob.model.key;
            let writable_by = self.config.access.writable_by(key.control);
            NmCapability {
                header: Header::default(),
                host: self.identity.host.clone(),
                control: key.control.get(),
                device: key.device.into(),
                name: key.control.to_string(),
                unit: key.control.canonical().map_or(0, |metric| metric.unit.code()),
                min: knob.model.min,
                max: knob.model.max,
                step: knob.step,
                default: knob.model.snapshot,
                settle_ns: u64::try_from(knob.settle.as_nanos()).unwrap_or(u64::MAX),
                source: knob.source.clone(),
                writable_by: writable_by.map_or(WRITABLE_BY_NOBODY, |authority| authority.code()),
                safe: match knob.model.rule {
                    KnobRule::PowerCap { safe } => safe,
                    _ => 0.0,
                },
            }
        };
        self.knobs.values().map(capability).collect()
    }

    fn descriptors(&self) -> Vec<MetricDescriptor> {
        self.machine.descriptors()
    }

    fn observe(&mut self, now: Instant, wall: Timestamp) -> NodeTelemetry {
        let observation = self.machine.observe(now, wall);
        let telemetry = Self::telemetry(&observation);
        self.latest = Some((now, observation));
        telemetry
    }

    fn status(&self, now: Instant, wall: Timestamp) -> NmStatus {
        let bound = self.knobs.keys().filter_map(|key| {
            let effective = self.table.effective(*key)?;
            let by = effective.decided_by?;
            let until = effective.until.map(|until| (until, now, wall));
            let applied = self.applied.get(key).copied().unwrap_or(effective.value);
            Some(NmSetting {
                requested: effective.value,
                applied,
                clamped_by: by.code(),
                status: if self.failing.contains(key) { Status::Failed } else { Status::Ok }.code(),
                ..blank(*key, until)
            })
        });
        let settings: Vec<NmSetting> = bound.collect();
        let is_stale = self.latest.as_ref().is_some_and(|(at, _)| now - *at > self.config.period * 3);
        let state = match (self.failing.is_empty(), is_stale, settings.is_empty()) {
            (false, ..) => NodeState::Error,
            (true, true, _) => NodeState::Stale,
            (true, false, false) => NodeState::Bound,
            (true, false, true) => NodeState::Ok,
        };
        let latest = self.latest.as_ref().map(|(_, latest)| latest);
        let best = |metric: MetricId| {
            latest.and_then(|latest| {
                latest.samples.iter().find(|sample| sample.metric == metric.get() && sample.device == NODE)
            })
        };
        let power = best(MetricId::NODE_POWER).or_else(|| best(MetricId::COVERED_POWER));
        NmStatus {
            header: Header::default(),
            host: self.identity.host.clone(),
            boot_id: self.identity.boot_id.bytes(),
            state: state.code(),
            period_ns: u64::try_from(self.config.period.as_nanos()).unwrap_or(u64::MAX),
            source: self.identity.description.clone(),
            power: power.cloned().into_iter().collect(),
            lease_count: u32::try_from(self.table.lease_count()).unwrap_or(u32::MAX),
            settings,
            absent: latest
                .map(|latest| latest.absent.iter().take(256).cloned().collect())
                .unwrap_or_default(),
            requests_total: 0,
            denied_total: self.denied,
        }
    }

    fn tick(&mut self, now: Instant, events: &mut Vec<Event>) {
        let mut changes = Vec::new();
        self.table.expire(now, &mut changes);
        self.carry_out(&changes);
        if self.next_look.is_none_or(|next| next <= now) {
            self.next_look = Some(now + self.config.look_period);
            self.denied_told = 0;
            self.look(now);
        }
        for ended in self.table.take_ended() {
            let in_force = self.table.effective(ended.knob).map_or(f64::NAN, |effective| effective.value);
            let value = self.applied.get(&ended.knob).copied().unwrap_or(in_force);
            let text = format!("the time of {} is over", ended.holder);
            self.note(event_code::LEASE_EXPIRED, Severity::Info, ended.knob, value, &text);
        }
        events.extend(self.events.drain(..));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.table.poll_timeout()
    }

    fn end(&mut self, now: Instant, events: &mut Vec<Event>) -> usize {
        let mut changes = Vec::new();
        self.table.end(now, &mut changes);
        let failed = self.carry_out(&changes).len();
        let is_bound = |key: &&KnobKey| {
            self.table.effective(**key).is_some_and(|effective| effective.decided_by.is_some())
        };
        let bound: Vec<KnobKey> = self.knobs.keys().filter(is_bound).copied().collect();
        self.machine.leave(&bound);
        events.extend(self.events.drain(..));
        failed
    }
}
