//! The machine that a real node manager stands on: sensors, knobs and the journal of `node`.
//!
//! May touch the machine only through `node`. Nothing is written before its old value is in the journal; without a
//! journal the knobs can be read and not set.

mod readings;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use node::journal::{Journal, JournalError, Recovery, UndoOutcome};
use node::knob::{FileKnob, Knob, KnobError, KnobInfo, KnobValue};
use node::{Domain, Node, SysRoot};
use units::{Hertz, Instant, Timestamp, Watts};

use crate::lease::{BootId, KnobKey, KnobModel, KnobRule};
use crate::message::{Event, MetricDescriptor, Severity, event_code};
use crate::metric::{MetricId, Unit};
use crate::node_manager::machine::{Identity, KnobDescription, Machine, MachineError, Observation};
use crate::node_manager::manager::Manager;
use readings::Readings;

/// The real node manager.
pub type ReferenceNodeManager = Manager<ReferenceMachine>;

/// What is configured of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceConfig {
    /// The node's name on the bus; the kernel's host name when `None`.
    pub host: Option<String>,
    /// What a package's power cap falls back to when its manager falls silent. Without one the cap stays where it
    /// was, which is safe for the budget too, but keeps a node slower than it need be.
    pub safe_package_power: Option<Watts>,
}

/// A machine with sensors, knobs and a journal.
#[derive(Debug)]
pub struct ReferenceMachine {
    node: Node,
    identity: Identity,
    journal: Result<Journal, String>,
    knobs: BTreeMap<KnobKey, (FileKnob, KnobDescription)>,
    readings: Readings,
}

impl ReferenceMachine {
    /// Takes over a machine: restores first what a former process left in the journal, then looks at the knobs.
    ///
    /// It restores to the snapshot, caps of the system manager included: the leases died with the process that counted
    /// their time, so nobody can tell whether one would still live. A system manager counts on that: what a node may
    /// draw after an unannounced restart is its snapshot, until the node has taken a new lease.
    ///
    /// `state` is the folder of the journal; without one, or when it cannot be used, no knob can be set and the
    /// events say why. Blocks for a few reads a knob.
    pub fn open(node: Node, state: Option<&Path>, config: &ReferenceConfig) -> (Self, Vec<Event>) {
        let root = Arc::clone(node.root());
        let (journal, events) = match state {
            None => (Err("no state folder is configured, so no knob is set".to_owned()), Vec::new()),
            Some(folder) => open_journal(folder, Arc::clone(&root)),
        };
        let knobs = node::knob::discover(&*root).into_iter();
        let knobs = knobs.filter_map(|knob| describe(knob, &*root, config)).collect();
        let identity = identity(&*root, config);
        let readings = Readings::new(&identity.description);
        (Self { node, identity, journal, knobs, readings }, events)
    }

    /// The machine's sensors.
    pub fn node(&self) -> &Node {
        &self.node
    }

    fn knob(&self, key: KnobKey) -> Result<&FileKnob, MachineError> {
        self.knobs.get(&key).map(|(knob, _)| knob).ok_or(MachineError::Unknown(key))
    }
}

impl Machine for ReferenceMachine {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn knobs(&self) -> Vec<KnobDescription> {
        self.knobs.values().map(|(_, description)| description.clone()).collect()
    }

    fn descriptors(&self) -> Vec<MetricDescriptor> {
        self.readings.descriptors()
    }

    fn observe(&mut self, _now: Instant, wall: Timestamp) -> Observation {
        let sample = self.node.sample();
        self.readings.observe(&sample, wall)
    }

    fn read(&mut self, key: KnobKey) -> Result<f64, MachineError> {
        let knob = self.knob(key)?;
        knob.read(&**self.node.root()).map(number).map_err(|error| refused(key, &error))
    }

    fn write(&mut self, key: KnobKey, value: f64) -> Result<f64, MachineError> {
        let knob = self.knobs.get(&key).map(|(knob, _)| knob).ok_or(MachineError::Unknown(key))?;
        let journal = self.journal.as_mut().map_err(|reason| refused(key, reason))?;
        let value = match knob.info().low {
            KnobValue::Frequency(_) => KnobValue::Frequency(Hertz::new(value)),
            KnobValue::Power(_) => KnobValue::Power(Watts::new(value)),
        };
        match journal.set(knob, value) {
            Ok(applied) => Ok(number(applied.value)),
            Err(JournalError::Knob(KnobError::NotApplied { wanted, found, .. })) => {
                Err(MachineError::Mismatch { knob: key, expected: number(wanted), found: number(found) })
            }
            Err(error) => Err(refused(key, &error)),
        }
    }

    fn restore(&mut self, key: KnobKey) -> Result<f64, MachineError> {
        let path = self.knob(key)?.path().to_owned();
        if let Ok(journal) = &mut self.journal {
            let undone = journal.restore(&path).map_err(|error| refused(key, &error))?;
            if let Some(undone) = undone
                && matches!(undone.outcome, UndoOutcome::Failed { .. } | UndoOutcome::ChangedByOther { .. })
            {
                return Err(refused(key, &undone));
            }
        }
        self.read(key)
    }

    fn leave(&mut self, bound: &[KnobKey]) {
        let left = Err("the node manager has ended".to_owned());
        if let Ok(journal) = std::mem::replace(&mut self.journal, left)
            && !bound.is_empty()
        {
            // Dropping it would raise the bound knobs to their snapshots. The next start does that, by what is on disk.
            journal.leave();
        }
    }
}

fn refused(knob: KnobKey, reason: &dyn ToString) -> MachineError {
    MachineError::Refused { knob, reason: reason.to_string() }
}

const fn number(value: KnobValue) -> f64 {
    match value {
        KnobValue::Frequency(frequency) => frequency.get(),
        KnobValue::Power(power) => power.get(),
    }
}

fn open_journal(folder: &Path, root: Arc<dyn SysRoot>) -> (Result<Journal, String>, Vec<Event>) {
    let subject = folder.display().to_string();
    match Journal::open(folder, root) {
        Ok((journal, recovery)) => (Ok(journal), recovered(&subject, &recovery)),
        Err(error) => {
            let text = error.to_string();
            let event = Event::new(event_code::KNOB_FAILED, Severity::Warning, &subject, 0.0, &text);
            (Err(text), vec![event])
        }
    }
}

/// What a former process left behind, as events.
fn recovered(subject: &str, recovery: &Recovery) -> Vec<Event> {
    let failed = recovery.undone.iter().filter(|undone| undone.is_pending());
    let mut events: Vec<Event> = failed
        .map(|undone| {
            let text = undone.to_string();
            Event::new(event_code::KNOB_FAILED, Severity::Error, &undone.path, 0.0, &text)
        })
        .collect();
    let restored = recovery.undone.iter().filter(|undone| undone.outcome == UndoOutcome::Restored).count();
    if restored > 0 {
        let text = format!("{restored} settings that a former process left were restored");
        let code = event_code::JOURNAL_RECOVERED;
        events.push(Event::new(code, Severity::Warning, subject, restored as f64, &text));
    }
    events
}

fn identity(root: &dyn SysRoot, config: &ReferenceConfig) -> Identity {
    let line = |path: &str| root.read(path).ok().map(|text| text.trim().to_owned());
    let kernel = line("proc/sys/kernel/hostname").filter(|host| !host.is_empty());
    let host = config.host.clone().or(kernel).unwrap_or_else(|| "localhost".into());
    let boot_id = line("proc/sys/kernel/random/boot_id").and_then(|text| boot_id(&text));
    Identity { host, description: root.describe(), boot_id: boot_id.unwrap_or(BootId::UNKNOWN) }
}

/// The kernel's boot id, 32 hexadecimal digits with dashes between them.
fn boot_id(text: &str) -> Option<BootId> {
    let digits: String = text.chars().filter(|digit| *digit != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then(|| BootId::new(number.to_be_bytes()))
}

/// The knob's place in the actors' vocabulary and the value that it has now.
fn describe(
    knob: FileKnob,
    root: &dyn SysRoot,
    config: &ReferenceConfig,
) -> Option<(KnobKey, (FileKnob, KnobDescription))> {
    let snapshot = number(knob.read(root).ok()?);
    let KnobInfo { id, scope, low, high, quantum, .. } = knob.info();
    let device = readings::device(scope)?;
    let key = |control| KnobKey { control, device };
    let (control, rule, source) = match (scope, id.ends_with(".max")) {
        (Domain::Package { .. }, _) => {
            let safe = config.safe_package_power.map_or(snapshot, Watts::get);
            (MetricId::CPU_POWER_LIMIT_CONTROL, KnobRule::PowerCap { safe }, "powercap")
        }
        (_, true) => (MetricId::CPU_FREQUENCY_MAX_CONTROL, KnobRule::Ceiling, "cpufreq"),
        (_, false) => {
            let ceiling = Some(key(MetricId::CPU_FREQUENCY_MAX_CONTROL));
            (MetricId::CPU_FREQUENCY_MIN_CONTROL, KnobRule::Floor { ceiling }, "cpufreq")
        }
    };
    let is_power = control.canonical().is_some_and(|metric| metric.unit == Unit::Watt);
    let model = KnobModel { key: key(control), rule, min: number(*low), max: number(*high), snapshot };
    let description = KnobDescription {
        model,
        step: number(*quantum),
        settle: Duration::from_millis(if is_power { 1000 } else { 1 }),
        source: source.into(),
    };
    Some((model.key, (knob, description)))
}

#[cfg(test)]
mod tests;
