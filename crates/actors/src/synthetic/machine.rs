//! A made-up machine: one node power cap, a frequency range and an energy preference, with faults on demand.
//!
//! Pure. Power follows `min(cap, idle + load · (peak − idle))`, so a test knows every value beforehand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use units::{Instant, Ratio, Timestamp, Watts};

use crate::device::{Device, DeviceKind};
use crate::lease::{BootId, KnobKey, KnobModel, KnobRule};
use crate::message::{AbsentMetric, MetricDescriptor, Quality, Sample};
use crate::metric::MetricId;
use crate::node_manager::machine::{Identity, KnobDescription, Machine, MachineError, Observation};

/// What a synthetic machine is like.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticProfile {
    /// Its host name.
    pub host: String,
    /// Its boot.
    pub boot_id: BootId,
    /// Power without load.
    pub idle: Watts,
    /// Power at full load without a cap.
    pub peak: Watts,
    /// Load at the start.
    pub load: Ratio,
}

/// Something that goes wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The knob cannot be read.
    ReadFails,
    /// The knob cannot be written.
    WriteFails,
    /// Writes are accepted and do nothing.
    Sticks,
}

/// A made-up machine.
#[derive(Debug)]
pub struct SyntheticMachine {
    state: Arc<Mutex<State>>,
}

/// Looks into a synthetic machine and moves it while a manager holds it.
#[derive(Clone, Debug)]
pub struct SyntheticHandle {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    profile: SyntheticProfile,
    values: BTreeMap<KnobKey, f64>,
    faults: BTreeMap<KnobKey, Fault>,
    missing: BTreeMap<MetricId, String>,
    energy_joules: f64,
    observed: Option<(Instant, Timestamp)>,
    writes: u64,
}

const CORE: Device = Device::new(DeviceKind::Core, 0);
/// The node's power cap.
const CAP: KnobKey = KnobKey { control: MetricId::NODE_POWER_LIMIT_CONTROL, device: Device::NODE };
/// The highest frequency.
const CEILING: KnobKey = KnobKey { control: MetricId::CPU_FREQUENCY_MAX_CONTROL, device: CORE };
/// The lowest frequency.
const FLOOR: KnobKey = KnobKey { control: MetricId::CPU_FREQUENCY_MIN_CONTROL, device: CORE };
/// The energy preference.
const PREFERENCE: KnobKey = KnobKey { control: MetricId::CPU_ENERGY_PREFERENCE_CONTROL, device: CORE };

fn knob(control: MetricId) -> Option<KnobDescription> {
    let description = |key, rule, (min, max, step), snapshot, settle_ms| KnobDescription {
        model: KnobModel { key, rule, min, max, snapshot },
        step,
        settle: Duration::from_millis(settle_ms),
        source: "synthetic".into(),
    };
    let hertz = (1.0e9, 3.7e9, 1.0e8);
    Some(match control {
        MetricId::NODE_POWER_LIMIT_CONTROL => {
            description(CAP, KnobRule::PowerCap { safe: 200.0 }, (100.0, 500.0, 0.125), 400.0, 1000)
        }
        MetricId::CPU_FREQUENCY_MAX_CONTROL => description(CEILING, KnobRule::Ceiling, hertz, 3.7e9, 1),
        MetricId::CPU_FREQUENCY_MIN_CONTROL => {
            description(FLOOR, KnobRule::Floor { ceiling: Some(CEILING) }, hertz, 1.0e9, 1)
        }
        MetricId::CPU_ENERGY_PREFERENCE_CONTROL => {
            description(PREFERENCE, KnobRule::Setting, (0.0, 255.0, 1.0), 128.0, 1)
        }
        _ => return None,
    })
}

fn knobs() -> impl Iterator<Item = KnobDescription> {
    [CAP, CEILING, FLOOR, PREFERENCE].into_iter().filter_map(|key| knob(key.control))
}

impl SyntheticProfile {
    /// A node of 100 W idle and 400 W at full load, half loaded.
    pub fn named(host: &str) -> Self {
        let mut boot_id = [0x5a; 16];
        for (slot, byte) in boot_id.iter_mut().zip(host.bytes()) {
            *slot ^= byte;
        }
        Self {
            host: host.to_owned(),
            boot_id: BootId::new(boot_id),
            idle: Watts::new(100.0),
            peak: Watts::new(400.0),
            load: Ratio::new(0.5),
        }
    }
}

impl SyntheticMachine {
    /// A machine at its start.
    pub fn new(profile: SyntheticProfile) -> Self {
        let values = knobs().map(|knob| (knob.model.key, knob.model.snapshot)).collect();
        let state = State {
            profile,
            values,
            faults: BTreeMap::new(),
            missing: BTreeMap::new(),
            energy_joules: 0.0,
            observed: None,
            writes: 0,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Looks into the machine from outside.
    pub fn handle(&self) -> SyntheticHandle {
        SyntheticHandle { state: Arc::clone(&self.state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SyntheticHandle {
    /// The node's power cap.
    pub const CAP: KnobKey = CAP;
    /// The highest frequency.
    pub const CEILING: KnobKey = CEILING;
    /// The lowest frequency.
    pub const FLOOR: KnobKey = FLOOR;
    /// The energy preference.
    pub const PREFERENCE: KnobKey = PREFERENCE;

    /// Sets the load, 0 to 1.
    pub fn set_load(&self, load: Ratio) {
        self.state().profile.load = load;
    }

    /// Makes a knob fail, or work again.
    pub fn set_fault(&self, knob: KnobKey, fault: Option<Fault>) {
        match fault {
            Some(fault) => self.state().faults.insert(knob, fault),
            None => self.state().faults.remove(&knob),
        };
    }

    /// Takes a metric away, with the reason, or gives it back.
    pub fn set_missing(&self, metric: MetricId, reason: Option<&str>) {
        match reason {
            Some(reason) => self.state().missing.insert(metric, reason.to_owned()),
            None => self.state().missing.remove(&metric),
        };
    }

    /// What the hardware holds.
    pub fn value(&self, knob: KnobKey) -> Option<f64> {
        self.state().values.get(&knob).copied()
    }

    /// Writes a knob past the manager, as another program on the node would.
    pub fn overwrite(&self, knob: KnobKey, value: f64) {
        self.state().values.insert(knob, value);
    }

    /// Every knob holds what it held at the start.
    pub fn is_as_at_start(&self) -> bool {
        let state = self.state();
        knobs().all(|knob| {
            state
                .values
                .get(&knob.model.key)
                .is_some_and(|value| value.total_cmp(&knob.model.snapshot).is_eq())
        })
    }

    /// How often a knob was written.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, key: KnobKey, value: f64) -> Result<f64, MachineError> {
        let description = knob(key.control).filter(|knob| knob.model.key == key);
        let description = description.ok_or(MachineError::Unknown(key))?;
        let is_snapshot = value.total_cmp(&description.model.snapshot).is_eq();
        let rounded = if is_snapshot { value } else { (value / description.step).floor() * description.step };
        let refused = |reason: &str| MachineError::Refused { knob: key, reason: reason.into() };
        match self.faults.get(&key) {
            Some(Fault::WriteFails) => return Err(refused("made to fail")),
            Some(Fault::Sticks) => {}
            _ => {
                self.values.insert(key, rounded);
                self.writes += 1;
            }
        }
        let found = self.read(key)?;
        if found.total_cmp(&rounded).is_ne() {
            return Err(MachineError::Mismatch { knob: key, expected: rounded, found });
        }
        Ok(found)
    }

    fn read(&self, key: KnobKey) -> Result<f64, MachineError> {
        if self.faults.get(&key) == Some(&Fault::ReadFails) {
            return Err(MachineError::Refused { knob: key, reason: "made to fail".into() });
        }
        self.values.get(&key).copied().ok_or(MachineError::Unknown(key))
    }

    fn power(&self) -> Watts {
        let SyntheticProfile { idle, peak, load, .. } = self.profile;
        let wanted = idle + (peak - idle) * load.get();
        let cap = self.values.get(&CAP).copied().unwrap_or(f64::INFINITY);
        wanted.min(Watts::new(cap))
    }
}

impl Machine for SyntheticMachine {
    fn identity(&self) -> Identity {
        let profile = self.state().profile.clone();
        Identity { host: profile.host, description: "synthetic test double".into(), boot_id: profile.boot_id }
    }

    fn knobs(&self) -> Vec<KnobDescription> {
        knobs().collect()
    }

    fn descriptors(&self) -> Vec<MetricDescriptor> {
        METRICS
            .iter()
            .filter_map(|metric| metric.canonical())
            .map(|metric| MetricDescriptor::of(Default::default(), metric, "synthetic"))
            .collect()
    }

    fn observe(&mut self, now: Instant, wall: Timestamp) -> Observation {
        let mut state = self.state();
        let (before, start) = state.observed.replace((now, wall)).unwrap_or((now, wall));
        let power = state.power();
        state.energy_joules += (power * (now - before)).get();
        let ceiling = state.values.get(&CEILING).copied().unwrap_or(0.0);
        let values = [power.get(), state.energy_joules, state.profile.load.get(), ceiling];
        let devices = [Device::NODE, Device::NODE, Device::NODE, CORE];
        let mut observation = Observation { start, end: wall, ..Observation::default() };
        for ((metric, device), value) in METRICS.into_iter().zip(devices).zip(values) {
            if let Some(reason) = state.missing.get(&metric) {
                let (metric, reason) = (metric.get(), reason.clone());
                observation.absent.push(AbsentMetric { metric, device: device.into(), reason });
                continue;
            }
            let quality = Quality::Modelled.code();
            observation.samples.push(Sample { quality, ..Sample::measured(metric, device, value) });
        }
        observation
    }

    fn read(&mut self, knob: KnobKey) -> Result<f64, MachineError> {
        self.state().read(knob)
    }

    fn write(&mut self, knob: KnobKey, value: f64) -> Result<f64, MachineError> {
        self.state().write(knob, value)
    }

    fn restore(&mut self, key: KnobKey) -> Result<f64, MachineError> {
        let description = knob(key.control).ok_or(MachineError::Unknown(key))?;
        self.state().write(key, description.model.snapshot)
    }

    fn leave(&mut self, _bound: &[KnobKey]) {}
}

const METRICS: [MetricId; 4] =
    [MetricId::NODE_POWER, MetricId::NODE_ENERGY, MetricId::CPU_UTILIZATION, MetricId::CPU_FREQUENCY_STATUS];
