//! The node manager's rules over any machine: leases, access, read-back, re-assertion and restoration.
//!
//! Pure: time is an argument, the machine is a trait.

mod managed;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use units::{Instant, Timestamp};

use super::access::AllowList;
use super::machine::{Identity, KnobDescription, Machine, MachineError, Observation};
use super::{Call, ManagedNode, Metrics, NodeManager, NodeManagerError, RestoreLeases, Select, SetConf};
use crate::lease::{Authority, Change, ClampedBy, KnobKey, Lease, LeaseTable, ReleaseError, TableLimits};
use crate::message::{
    DeviceRef, Event, Header, NmInfo, NmSetting, NodeTelemetry, Operation, Severity, Status, event_code,
};
use crate::metric::MetricId;

/// What is configured of a node manager.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagerConfig {
    /// Who may set what.
    pub access: AllowList,
    /// How often sensors are read; a value older than two periods is read anew for whoever asks.
    pub period: Duration,
    /// How often bound knobs are compared with what was written.
    pub look_period: Duration,
    /// Bounds of the lease table.
    pub bounds: TableLimits,
}

/// A node manager over one machine.
#[derive(Debug)]
pub struct Manager<M: Machine> {
    machine: M,
    identity: Identity,
    knobs: BTreeMap<KnobKey, KnobDescription>,
    table: LeaseTable,
    config: ManagerConfig,
    latest: Option<(Instant, Observation)>,
    /// What the hardware made of the last write to each knob that was written.
    applied: BTreeMap<KnobKey, f64>,
    failing: BTreeSet<KnobKey>,
    events: VecDeque<Event>,
    next_look: Option<Instant>,
    denied: u64,
    /// Denials that were told since the last look.
    denied_told: u32,
}

/// Denials that are told in one look period; further ones are counted in the status only, so that whoever asks for
/// what is not allowed cannot make the node flood the bus.
const DENIALS_TOLD_MAX: u32 = 16;

/// Events that wait for the next tick; the oldest is dropped beyond it.
const EVENTS_MAX: usize = 256;

impl Default for ManagerConfig {
    fn default() -> Self {
        Self {
            access: AllowList::deny_all(),
            period: Duration::from_secs(1),
            look_period: Duration::from_secs(10),
            bounds: TableLimits::default(),
        }
    }
}

impl<M: Machine> Manager<M> {
    /// A node manager that has not changed anything yet.
    pub fn new(machine: M, config: ManagerConfig) -> Self {
        let identity = machine.identity();
        let knobs: BTreeMap<KnobKey, KnobDescription> =
            machine.knobs().into_iter().map(|knob| (knob.model.key, knob)).collect();
        let models = knobs.values().map(|knob| knob.model);
        let table = LeaseTable::new(identity.boot_id, models, config.bounds);
        Self {
            machine,
            identity,
            knobs,
            table,
            config,
            latest: None,
            applied: BTreeMap::new(),
            failing: BTreeSet::new(),
            events: VecDeque::new(),
            next_look: None,
            denied: 0,
            denied_told: 0,
        }
    }

    /// The machine that it stands on.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine that it stands on, for a test that moves it.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Sets or lifts a bound that no lease can pass.
    pub fn set_limit(&mut self, knob: KnobKey, source: ClampedBy, limit: Option<f64>) {
        let mut changes = Vec::new();
        self.table.set_limit(knob, source, limit, &mut changes);
        self.carry_out(&changes);
    }

    fn selected(&self, select: &Select) -> Result<Vec<KnobKey>, NodeManagerError> {
        let keys: Vec<KnobKey> =
            self.knobs.keys().filter(|key| select.selects(key.control, key.device)).copied().collect();
        if !keys.is_empty() {
            return Ok(keys);
        }
        let known: BTreeSet<String> = self.knobs.keys().map(|key| key.control.to_string()).collect();
        let known: Vec<String> = known.into_iter().collect();
        let host = &self.identity.host;
        Err(NodeManagerError::Unsupported(match known.as_slice() {
            [] => format!("{host} has no knobs"),
            known => format!("{host} has no knob for {select}; it has {}", known.join(", ")),
        }))
    }

    /// Takes the lease on one knob. When the hardware refuses, the knob keeps its former leases and value.
    fn set_one(&mut self, call: &Call, wish: &SetConf, key: KnobKey) -> Result<NmSetting, NodeManagerError> {
        let lease = Lease {
            holder: call.caller.holder(),
            authority: wish.authority,
            knob: key,
            value: wish.value,
            sequence: wish.sequence,
            term: wish.term,
            boot_id: wish.boot_id,
            ttl: wish.ttl,
        };
        if wish.is_dry_run {
            let decision = self.table.try_grant(call.now, &lease)?;
            return Ok(NmSetting {
                requested: wish.value,
                applied: decision.target,
                clamped_by: decision.clamped_by.code(),
                ..setting(key, call, Some(decision.until))
            });
        }
        let before = self.table.clone();
        let mut changes = Vec::new();
        let granted = self.table.grant(call.now, &lease, &mut changes);
        let failed = self.carry_out(&changes);
        let decision = granted?;
        if let Some((_, error)) = failed.into_iter().find(|(failed, _)| *failed == key) {
            self.roll_back(call.now, before, &changes);
            return Err(NodeManagerError::Failed(error.to_string()));
        }
        let applied = self.applied.get(&key).copied().unwrap_or(decision.target);
        if !decision.is_duplicate {
            let text = format!("{} asked for {}", call.caller.principal, wish.value);
            self.note(event_code::LEASE_GRANTED, Severity::Info, key, applied, &text);
        }
        Ok(NmSetting {
            requested: wish.value,
            applied,
            clamped_by: decision.clamped_by.code(),
            ..setting(key, call, Some(decision.until))
        })
    }

    fn roll_back(&mut self, now: Instant, before: LeaseTable, changes: &[Change]) {
        self.table = before;
        for change in changes {
            self.table.mark_unwritten(change.key);
        }
        let mut back = Vec::new();
        self.table.expire(now, &mut back);
        self.carry_out(&back);
    }

    /// Writes changes in their order and past failures; returns the failures.
    fn carry_out(&mut self, changes: &[Change]) -> Vec<(KnobKey, MachineError)> {
        let mut failures = Vec::new();
        for change in changes {
            let written = if change.is_restore {
                self.machine.restore(change.key)
            } else {
                self.machine.write(change.key, change.target)
            };
            match written {
                Ok(applied) => {
                    self.table.confirm(change.key, applied);
                    self.applied.insert(change.key, applied);
                    self.failing.remove(&change.key);
                }
                Err(error) => {
                    self.table.mark_unwritten(change.key);
                    if self.failing.insert(change.key) {
                        let text = error.to_string();
                        self.note(event_code::KNOB_FAILED, Severity::Error, change.key, change.target, &text);
                    }
                    failures.push((change.key, error));
                }
            }
        }
        failures
    }

    /// Compares the bound knobs with what was written and writes again what somebody else changed.
    fn look(&mut self, now: Instant) {
        let written: Vec<(KnobKey, f64)> = self.applied.iter().map(|(key, value)| (*key, *value)).collect();
        for (key, applied) in written {
            let is_bound = self.table.effective(key).is_some_and(|effective| effective.decided_by.is_some());
            if !is_bound {
                continue;
            }
            let Ok(found) = self.machine.read(key) else { continue };
            if found.total_cmp(&applied).is_ne() {
                let text = format!("somebody else wrote {found}; it is written again");
                self.note(event_code::KNOB_FAILED, Severity::Warning, key, applied, &text);
                self.table.mark_unwritten(key);
            }
        }
        let mut changes = Vec::new();
        self.table.expire(now, &mut changes);
        self.carry_out(&changes);
    }

    fn current(&mut self, key: KnobKey, call: &Call) -> NmSetting {
        let effective = self.table.effective(key);
        let until = effective.and_then(|effective| effective.until);
        let by = effective.and_then(|effective| effective.decided_by).unwrap_or(ClampedBy::None);
        let mut setting = NmSetting { clamped_by: by.code(), ..setting(key, call, until) };
        match self.machine.read(key) {
            Ok(value) => (setting.requested, setting.applied) = (value, value),
            Err(_) => {
                (setting.requested, setting.applied) = (f64::NAN, f64::NAN);
                setting.status = Status::Failed.code();
            }
        }
        setting
    }

    fn note(&mut self, code: u32, severity: Severity, key: KnobKey, value: f64, text: &str) {
        self.push(Event::new(code, severity, &key.to_string(), value, text));
    }

    fn push(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Checks the allow list for one knob; the value is absent where any will do.
    fn allow(
        &mut self,
        call: &Call,
        key: KnobKey,
        operation: Operation,
        (authority, value): (Authority, Option<f64>),
    ) -> Result<(), NodeManagerError> {
        let allowed = self.config.access.check(&call.caller, key.control, authority, value);
        allowed.inspect_err(|error| self.tell_denial(call, &key.to_string(), operation, error))
    }

    /// Checks the way of a request that would change something: one denial, however many knobs it selects.
    fn allow_origin(
        &mut self,
        call: &Call,
        select: &Select,
        operation: Operation,
    ) -> Result<(), NodeManagerError> {
        let allowed = super::access::check_origin(&call.caller);
        allowed.inspect_err(|error| self.tell_denial(call, &select.to_string(), operation, error))
    }

    fn tell_denial(&mut self, call: &Call, subject: &str, operation: Operation, error: &NodeManagerError) {
        self.denied += 1;
        if self.denied_told >= DENIALS_TOLD_MAX {
            return;
        }
        self.denied_told += 1;
        let text = format!("{}: {}", call.caller.principal, error.detail());
        let (code, value) = (event_code::REQUEST_DENIED, f64::from(operation.code()));
        self.push(Event::new(code, Severity::Warning, subject, value, &text));
    }

    fn telemetry(observation: &Observation) -> NodeTelemetry {
        NodeTelemetry {
            header: Header::default(),
            window_start_ns: observation.start.unix_nanos(),
            window_end_ns: observation.end.unix_nanos(),
            samples: observation.samples.clone(),
            dropped: 0,
        }
    }
}

impl<M: Machine> NodeManager for Manager<M> {
    fn get_info(&mut self, _call: &Call) -> Result<NmInfo, NodeManagerError> {
        let number = |text: &str| text.parse().unwrap_or(0);
        Ok(NmInfo {
            tool_name: "stillwatt".into(),
            version: number(env!("CARGO_PKG_VERSION_MAJOR")),
            subversion: number(env!("CARGO_PKG_VERSION_MINOR")),
            info_string: self.identity.description.clone(),
            boot_id: self.identity.boot_id.bytes(),
            operations: 0b1_1111,
        })
    }

    fn get_metric(&mut self, call: &Call, select: &Select) -> Result<Metrics, NodeManagerError> {
        let age_max = self.config.period * 2;
        if self.latest.as_ref().is_none_or(|(at, _)| call.now - *at > age_max) {
            self.observe(call.now, call.wall);
        }
        let selects = |metric: u32, device: DeviceRef| {
            device.device().is_some_and(|device| select.selects(MetricId::new(metric), device))
        };
        let mut metrics = Metrics::default();
        if let Some((_, latest)) = &self.latest {
            let samples = latest.samples.iter().filter(|sample| selects(sample.metric, sample.device));
            metrics.samples.extend(samples.cloned());
            let absent = latest.absent.iter().filter(|absent| selects(absent.metric, absent.device));
            metrics.absent.extend(absent.cloned());
        }
        if metrics == Metrics::default() {
            let host = &self.identity.host;
            return Err(NodeManagerError::Unsupported(format!("{host} has no metric {select}")));
        }
        Ok(metrics)
    }

    fn get_current_conf(&mut self, call: &Call, select: &Select) -> Result<Vec<NmSetting>, NodeManagerError> {
        let keys = self.selected(select)?;
        Ok(keys.into_iter().map(|key| self.current(key, call)).collect())
    }

    fn set_conf(&mut self, call: &Call, wish: &SetConf) -> Result<Vec<NmSetting>, NodeManagerError> {
        let select = Select::one(wish.control, wish.device);
        let keys = self.selected(&select)?;
        self.allow_origin(call, &select, Operation::SetConf)?;
        let mut settings = Vec::with_capacity(keys.len());
        let mut first_error = None;
        let mut all_failed = true;
        for key in keys {
            let allowed = self.allow(call, key, Operation::SetConf, (wish.authority, Some(wish.value)));
            match allowed.and_then(|()| self.set_one(call, wish, key)) {
                Ok(setting) => {
                    all_failed = false;
                    settings.push(setting);
                }
                Err(error) => {
                    let now = self.current(key, call);
                    let status = error.status().code();
                    settings.push(NmSetting { requested: wish.value, status, ..now });
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            Some(error) if all_failed => Err(error),
            _ => Ok(settings),
        }
    }

    fn restore(&mut self, call: &Call, wish: &RestoreLeases) -> Result<Vec<NmSetting>, NodeManagerError> {
        let keys = self.selected(&wish.select)?;
        self.allow_origin(call, &wish.select, Operation::Restore)?;
        if wish.every_holder {
            let administrator = wish.authority.max(Authority::Administrator);
            for key in &keys {
                self.allow(call, *key, Operation::Restore, (administrator, None))?;
            }
        }
        let holder = call.caller.holder();
        let mut changes = Vec::new();
        for key in &keys {
            if wish.every_holder {
                self.table.clear(call.now, *key, &mut changes);
            } else {
                match self.table.release(call.now, &holder, wish.sequence, *key, &mut changes) {
                    // Nothing held is nothing to do: a repeated release must not fail.
                    Ok(()) | Err(ReleaseError::NotHeld { .. }) => {}
                    Err(error) => {
                        self.carry_out(&changes);
                        return Err(error.into());
                    }
                }
            }
        }
        let failed: BTreeSet<KnobKey> = self.carry_out(&changes).into_iter().map(|(key, _)| key).collect();
        for change in &changes {
            let text = format!("{} released", call.caller.principal);
            self.note(event_code::LEASE_RELEASED, Severity::Info, change.key, change.target, &text);
        }
        let settings = keys.into_iter().map(|key| {
            let mut setting = self.current(key, call);
            if failed.contains(&key) {
                setting.status = Status::Failed.code();
            }
            setting
        });
        Ok(settings.collect())
    }
}

fn setting(key: KnobKey, call: &Call, until: Option<Instant>) -> NmSetting {
    blank(key, until.map(|until| (until, call.now, call.wall)))
}

/// A setting with its knob and, from the lease's end and both clocks now, the end as a label and as a rest.
fn blank(key: KnobKey, until: Option<(Instant, Instant, Timestamp)>) -> NmSetting {
    let mut setting =
        NmSetting { control: key.control.get(), device: key.device.into(), ..NmSetting::default() };
    if let Some((until, now, wall)) = until {
        setting.remaining_ns = u64::try_from((until - now).as_nanos()).unwrap_or(u64::MAX);
        setting.effective_until_ns = wall.unix_nanos().saturating_add(setting.remaining_ns);
    }
    setting
}
