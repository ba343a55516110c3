//! One energy counter as readings of energy and mean power. Touches nothing.

use units::{Instant, Joules};

use super::Slot;
use crate::absent::{Absent, AbsentReason};
use crate::counter::{CounterSpec, EnergyCounter, Step};
use crate::reading::{Bounded, Domain, Flags, Measurement, Quality, Reading, Source, Value};

/// A counter with its place in the machine.
#[derive(Debug)]
pub(crate) struct EnergyMeter {
    domain: Domain,
    source: Source,
    metrics: [&'static str; 2],
    file: String,
    counter: EnergyCounter,
}

impl EnergyMeter {
    pub(crate) fn new(
        domain: Domain,
        source: Source,
        metrics: [&'static str; 2],
        file: String,
        spec: CounterSpec,
    ) -> Self {
        Self { domain, source, metrics, file, counter: EnergyCounter::new(spec) }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Appends a reading of energy and one of power for the interval since the last counter value.
    pub(crate) fn sample(&mut self, raw: Result<u64, Absent>, now: Instant, readings: &mut Vec<Reading>) {
        let outcome = raw.and_then(|raw| self.step(now, raw)).inspect_err(|absent| {
            if absent.reason == AbsentReason::NotPresent {
                // The device may come back as another one, whose counter says nothing about this interval.
                self.counter.forget();
            }
        });
        let interval = outcome.as_ref().map_or((now, now), |(interval, _)| *interval);
        let [energy, power] = self.metrics;
        let slot = |metric| Slot { metric, domain: self.domain.clone(), source: self.source };
        let measured = |value, flags| Measurement { value, quality: Quality::Measured, flags };
        let energy_outcome =
            outcome.clone().map(|(_, (joules, flags))| measured(Value::Energy(joules), flags));
        let power_outcome = outcome.map(|((start, end), (joules, flags))| {
            measured(Value::Power(joules.map(|joules| joules / (end - start))), flags)
        });
        readings.push(slot(energy).reading(interval, energy_outcome));
        readings.push(slot(power).reading(interval, power_outcome));
    }

    fn step(&mut self, now: Instant, raw: u64) -> Result<Increase, Absent> {
        let absent = |reason, text: &str| Err(Absent::new(reason, self.file.clone(), text));
        match self.counter.step(now, raw) {
            Step::First => absent(AbsentReason::NotYet, "energy needs two samples"),
            Step::NoTime => absent(AbsentReason::NotYet, "no time has passed since the last sample"),
            Step::Dropped(flags) if flags.contains(Flags::NO_RANGE) => absent(
                AbsentReason::Unreliable,
                "the counter went back and its range is not readable (no-range)",
            ),
            Step::Dropped(_) => {
                absent(AbsentReason::Unreliable, "the counter started again within the interval (reset)")
            }
            Step::Counted(increment) => {
                let quantum = self.counter.spec().quantum();
                let energy = Bounded {
                    low: (increment.energy.low - quantum).max(Joules::ZERO),
                    high: increment.energy.high + quantum,
                    ..increment.energy
                };
                Ok(((increment.start, increment.end), (energy, increment.flags)))
            }
        }
    }
}

/// An interval with its energy and flags.
type Increase = ((Instant, Instant), (Bounded<Joules>, Flags));
