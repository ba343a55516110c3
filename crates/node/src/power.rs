//! The machine's power: meters where there are meters, else a model, and never a mixture of both. Pure.
//!
//! Sources in order, the first that has a value for all its parts wins: the firmware's meter of the whole machine
//! (hwmon `power_meter`), the platform meter (RAPL `psys`), packages with their memory by powercap, the same by perf
//! events, and last the model of [`profile`]. What a figure covers is stated beside it; parts are listed one by one.

pub mod profile;

use std::fmt;

use units::{Instant, Joules, Watts};

use crate::absent::{Absent, AbsentReason};
use crate::reading::{Bounded, Domain, Flags, Quality, Reading, Source, Value};
use crate::sensor::hwmon::NODE_METER;
use profile::PowerModel;

/// Power of the machine over one sample's interval.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePower {
    /// The figure of the best source, or why no source has one.
    pub total: Result<PowerFigure, Absent>,
    /// Every metered domain's own power, in order of domains. Domains overlap; do not sum over kinds.
    pub parts: Vec<PowerPart>,
    /// Why each better source has no figure, best source first.
    pub passed_over: Vec<Absent>,
    /// Energy since the source of `total` was first used; absent as long as `total` never had a value.
    pub account: Option<EnergyAccount>,
    /// Metered domains that have no value in this sample.
    silent: Vec<(Source, Domain)>,
}

/// One figure for the machine's power.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerFigure {
    /// Mean power over the interval.
    pub power: Bounded<Watts>,
    /// Energy used in the interval.
    pub energy: Bounded<Joules>,
    /// Begin of the interval: for a meter of power from its second sample on the sample before, whatever it means over.
    pub start: Instant,
    /// End of the interval.
    pub end: Instant,
    /// Measured or modelled.
    pub quality: Quality,
    /// What happened on the way.
    pub flags: Flags,
    /// By which means.
    pub source: Source,
    /// Which parts of the machine the figure holds.
    pub coverage: Coverage,
    /// The name of the model's profile, for a modelled figure.
    pub profile: Option<&'static str>,
}

/// Which parts of the machine a figure of power holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// All that the machine draws.
    Node,
    /// What the processor's platform meter sees; usually all but the power supply's loss.
    Platform,
    /// Processor packages and their memory.
    PackagesAndMemory,
    /// Processor packages only.
    Packages,
}

/// Power of one metered domain.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerPart {
    /// The domain.
    pub domain: Domain,
    /// By which means.
    pub source: Source,
    /// Mean power over the interval.
    pub power: Bounded<Watts>,
    /// What happened on the way.
    pub flags: Flags,
    /// Begin of the interval.
    pub start: Instant,
    /// End of the interval.
    pub end: Instant,
}

/// Energy that one source has counted.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyAccount {
    /// A new number whenever the source changes: energies of two accounts are not to be mixed.
    pub serial: u32,
    /// By which means.
    pub source: Source,
    /// Measured by a counter, estimated from a meter's samples of power (each taken for the whole time since the one
    /// before), or modelled.
    pub quality: Quality,
    /// Which parts of the machine it holds.
    pub coverage: Coverage,
    /// When the account began.
    pub since: Instant,
    /// Up to when it counts.
    pub until: Instant,
    /// Energy since then.
    pub total: Bounded<Joules>,
    /// How many intervals are missing in the total (counter resets, unreadable moments).
    pub intervals_lost: u32,
}

impl Coverage {
    /// The coverage as words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Platform => "platform",
            Self::PackagesAndMemory => "packages-and-memory",
            Self::Packages => "packages",
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl EnergyAccount {
    /// Energy since an earlier state of the same account; `None` when the source changed in between.
    pub fn since(&self, earlier: &Self) -> Option<Bounded<Joules>> {
        (self.serial == earlier.serial).then(|| Bounded {
            value: self.total.value - earlier.total.value,
            low: self.total.low - earlier.total.low,
            high: self.total.high - earlier.total.high,
        })
    }
}

impl NodePower {
    /// Power of all packages, when each of them has one: the sum over packages of one source.
    pub fn packages(&self) -> Option<Bounded<Watts>> {
        self.sum(|domain| matches!(domain, Domain::Package { .. }))
    }

    /// Power of the memory behind all packages, where all of it that is metered has a value.
    pub fn memory(&self) -> Option<Bounded<Watts>> {
        self.sum(|domain| matches!(domain, Domain::Dram { .. }))
    }

    /// Power that the platform meter shows.
    pub fn platform(&self) -> Option<Bounded<Watts>> {
        self.sum(|domain| matches!(domain, Domain::Platform))
    }

    fn sum(&self, is_wanted: impl Fn(&Domain) -> bool) -> Option<Bounded<Watts>> {
        let best = |source| {
            (self.parts.iter().any(|p| p.source == source && is_wanted(&p.domain))).then_some(source)
        };
        let source = best(Source::Powercap).or_else(|| best(Source::Perf))?;
        if self.silent.iter().any(|(other, domain)| *other == source && is_wanted(domain)) {
            return None;
        }
        let parts = self.parts.iter().filter(|part| part.source == source && is_wanted(&part.domain));
        parts.map(|part| part.power).reduce(std::ops::Add::add)
    }
}

/// Chooses the machine's figure of each sample and keeps its energy account.
#[derive(Debug)]
pub struct PowerMeter {
    model: PowerModel,
    account: Option<EnergyAccount>,
}

impl PowerMeter {
    /// A meter that falls back to `model`.
    pub const fn new(model: PowerModel) -> Self {
        Self { model, account: None }
    }

    /// The model that is used where nothing is metered.
    pub const fn model(&self) -> &PowerModel {
        &self.model
    }

    /// The machine's power from one sample's readings.
    pub fn apply(&mut self, readings: &[Reading]) -> NodePower {
        let mut passed_over = Vec::new();
        let mut total = None;
        for candidate in [node_meter, platform, powercap, perf] {
            match candidate(readings) {
                Ok(figure) => total = Some(Ok(figure)),
                // The source is there and has no value just now: another source would break the account.
                Err(absent) if is_transient(absent.reason) => total = Some(Err(absent)),
                Err(absent) => passed_over.push(absent),
            }
            if total.is_some() {
                break;
            }
        }
        let mut total = total.unwrap_or_else(|| self.modelled(readings));
        if let Ok(figure) = &mut total {
            self.fill_interval(figure);
        }
        self.account_for(&total);
        let (parts, account) = (parts(readings), self.account.clone());
        NodePower { total, parts, passed_over, account, silent: silent(readings) }
    }

    fn modelled(&self, readings: &[Reading]) -> Result<PowerFigure, Absent> {
        let utilisation = readings.iter().find(|r| r.metric == "cpu.utilisation" && r.domain == Domain::Node);
        let missing = || Absent::new(AbsentReason::NotPresent, "proc/stat", "the model needs utilisation");
        let reading = utilisation.ok_or_else(missing)?;
        let measurement = reading.outcome.as_ref().map_err(Clone::clone)?;
        let Value::Utilisation(utilisation) = measurement.value else { return Err(missing()) };
        let power = self.model.power(utilisation);
        let time = reading.end - reading.start;
        let is_stale = measurement.flags.contains(Flags::STALE);
        Ok(PowerFigure {
            power,
            energy: power.map(|power| power * time),
            start: reading.start,
            end: reading.end,
            quality: Quality::Modelled,
            flags: if is_stale { Flags::STALE } else { Flags::NONE },
            source: Source::Model,
            coverage: Coverage::Packages,
            profile: Some(self.model.profile()),
        })
    }

    /// Takes a meter's power for the whole time since its last sample: it may mean over less, or show one moment.
    fn fill_interval(&self, figure: &mut PowerFigure) {
        let is_same = |account: &&EnergyAccount| account.source == figure.source;
        if figure.source == Source::Hwmon
            && let Some(account) = self.account.as_ref().filter(is_same)
        {
            let time = figure.end - account.until;
            (figure.start, figure.energy) = (account.until, figure.power.map(|power| power * time));
        }
    }

    fn account_for(&mut self, total: &Result<PowerFigure, Absent>) {
        let figure = match total {
            Ok(figure) => figure,
            Err(absent) => {
                if let Some(account) =
                    self.account.as_mut().filter(|_| absent.reason == AbsentReason::Unreliable)
                {
                    account.intervals_lost += 1;
                }
                return;
            }
        };
        let is_same =
            |account: &EnergyAccount| (account.source, account.coverage) == (figure.source, figure.coverage);
        let is_sampled = figure.source == Source::Hwmon;
        if !self.account.as_ref().is_some_and(is_same) {
            self.account = Some(EnergyAccount {
                serial: self.account.as_ref().map_or(0, |account| account.serial + 1),
                source: figure.source,
                quality: if is_sampled { Quality::Estimated } else { figure.quality },
                coverage: figure.coverage,
                since: figure.start,
                until: figure.start,
                total: Bounded::default(),
                intervals_lost: 0,
            });
        }
        // A stale figure repeats an interval that is in the account already.
        if let Some(account) = self.account.as_mut().filter(|_| !figure.flags.contains(Flags::STALE)) {
            account.total = account.total + figure.energy;
            account.until = account.until.max(figure.end);
        }
    }
}

/// Whether a source that fails so will have a value soon.
fn is_transient(reason: AbsentReason) -> bool {
    matches!(reason, AbsentReason::NotYet | AbsentReason::Unreliable | AbsentReason::Busy)
}

fn parts(readings: &[Reading]) -> Vec<PowerPart> {
    let mut parts: Vec<PowerPart> = readings.iter().filter_map(part).collect();
    parts.sort_by(|a, b| (&a.domain, a.source).cmp(&(&b.domain, b.source)));
    parts
}

fn silent(readings: &[Reading]) -> Vec<(Source, Domain)> {
    let is_silent = |reading: &&Reading| reading.metric == "rapl.power" && reading.power().is_none();
    readings.iter().filter(is_silent).map(|reading| (reading.source, reading.domain.clone())).collect()
}

fn part(reading: &Reading) -> Option<PowerPart> {
    let (power, measurement) = (reading.power()?, reading.measurement()?);
    Some(PowerPart {
        domain: reading.domain.clone(),
        source: reading.source,
        power,
        flags: measurement.flags,
        start: reading.start,
        end: reading.end,
    })
}

/// The firmware's meter of the machine's input. Several meters of that driver are parts of a machine, not the whole.
fn node_meter(readings: &[Reading]) -> Result<PowerFigure, Absent> {
    let is_meter = |reading: &&Reading| match &reading.domain {
        Domain::Chip { device, .. } => {
            reading.metric == "hwmon.power" && device.split(['@', '#']).next() == Some(NODE_METER)
        }
        _ => false,
    };
    let meters: Vec<&Reading> = readings.iter().filter(is_meter).collect();
    let [meter] = meters[..] else {
        let text = format!("{} firmware meters of the machine's input; one is needed", meters.len());
        return Err(Absent::new(AbsentReason::NotPresent, "sys/class/hwmon", text));
    };
    figure(&[meter], Coverage::Node)
}

fn platform(readings: &[Reading]) -> Result<PowerFigure, Absent> {
    let wanted = |reading: &&Reading| reading.domain == Domain::Platform && reading.metric == "rapl.power";
    let platform = readings.iter().find(wanted).ok_or_else(|| {
        Absent::new(AbsentReason::NotPresent, "sys/class/powercap", "no platform zone (psys)")
    })?;
    let figure = figure(&[platform], Coverage::Platform)?;
    // On boards that do not wire the meter the zone is there and shows next to nothing.
    if let Ok(packages) = rapl(readings, platform.source)
        && figure.power.high < packages.power.low
    {
        let text = format!("the platform zone shows {:.1}, less than its parts", figure.power.value);
        return Err(Absent::new(AbsentReason::Malformed, "sys/class/powercap", text));
    }
    Ok(figure)
}

fn powercap(readings: &[Reading]) -> Result<PowerFigure, Absent> {
    rapl(readings, Source::Powercap)
}

fn perf(readings: &[Reading]) -> Result<PowerFigure, Absent> {
    rapl(readings, Source::Perf)
}

/// Packages and memory of one source. One package without a value leaves no figure: a part is not the whole.
fn rapl(readings: &[Reading], source: Source) -> Result<PowerFigure, Absent> {
    let of_source = |reading: &&Reading| reading.source == source && reading.metric == "rapl.power";
    let all: Vec<&Reading> = readings.iter().filter(of_source).collect();
    let packages = all.iter().copied().filter(|r| matches!(r.domain, Domain::Package { .. }));
    let packages: Vec<&Reading> = packages.collect();
    if packages.is_empty() {
        // The sensor's own reason, when it found nothing at all.
        let own = all.iter().find_map(|reading| reading.outcome.as_ref().err().cloned());
        let none = || Absent::new(AbsentReason::NotPresent, source.name(), "no energy counter of a package");
        return Err(own.unwrap_or_else(none));
    }
    let is_memory = |r: &&Reading| matches!(r.domain, Domain::Dram { .. }) && r.outcome.is_ok();
    let memory: Vec<&Reading> = all.into_iter().filter(is_memory).collect();
    let is_all_memory = memory.len() == packages.len();
    let figure = figure(&packages, Coverage::Packages)?;
    if !is_all_memory {
        return Ok(figure);
    }
    let both: Vec<&Reading> = packages.into_iter().chain(memory).collect();
    self::figure(&both, Coverage::PackagesAndMemory)
}

/// The sum of metered readings.
fn figure(readings: &[&Reading], coverage: Coverage) -> Result<PowerFigure, Absent> {
    let mut sum: Option<PowerFigure> = None;
    for reading in readings {
        let measurement = reading.outcome.as_ref().map_err(Clone::clone)?;
        let Value::Power(power) = measurement.value else { continue };
        let next = PowerFigure {
            power,
            energy: power.map(|power| power * (reading.end - reading.start)),
            start: reading.start,
            end: reading.end,
            quality: measurement.quality,
            flags: measurement.flags,
            source: reading.source,
            coverage,
            profile: None,
        };
        sum = Some(match sum {
            None => next,
            Some(sum) => PowerFigure {
                power: sum.power + next.power,
                energy: sum.energy + next.energy,
                start: sum.start.min(next.start),
                end: sum.end.max(next.end),
                flags: sum.flags.with(next.flags),
                ..sum
            },
        });
    }
    sum.ok_or_else(|| Absent::new(AbsentReason::NotPresent, "power", "no reading of power"))
}

#[cfg(test)]
mod tests {
    use units::Ratio;

    use super::*;
    use crate::reading::Measurement;

    const END: Instant = Instant::from_nanos(1_000_000_000);

    fn reading(metric: &str, domain: Domain, source: Source, value: Result<Value, AbsentReason>) -> Reading {
        let outcome = value
            .map(|value| Measurement { value, quality: Quality::Measured, flags: Flags::NONE })
            .map_err(|reason| Absent::new(reason, "file", "injected"));
        Reading { metric: metric.to_string(), domain, source, start: Instant::ZERO, end: END, outcome }
    }

    fn rapl(domain: Domain, watts: Result<f64, AbsentReason>) -> Reading {
        let value = watts.map(|watts| Value::Power(Bounded::exact(Watts::new(watts))));
        reading("rapl.power", domain, Source::Powercap, value)
    }

    fn utilisation(share: f64) -> Reading {
        let value = Ok(Value::Utilisation(Bounded::exact(Ratio::new(share))));
        reading("cpu.utilisation", Domain::Node, Source::Proc, value)
    }

    fn package(package: u32) -> Domain {
        Domain::Package { package, die: None }
    }

    fn dram(package: u32) -> Domain {
        Domain::Dram { package, die: None }
    }

    fn meter() -> PowerMeter {
        PowerMeter::new(PowerModel::unknown(2))
    }

    /// Without a meter the figure is modelled and says so; with one package missing too, for a part is not the whole.
    #[test]
    fn model_only_where_no_meter_has_a_figure() {
        let bare = meter().apply(&[utilisation(0.5)]).total.unwrap();
        assert_eq!((bare.quality, bare.source), (Quality::Modelled, Source::Model));
        let partly =
            [rapl(package(0), Ok(50.0)), rapl(package(1), Err(AbsentReason::Permission)), utilisation(0.5)];
        let power = meter().apply(&partly);
        assert_eq!(power.total.unwrap().quality, Quality::Modelled);
        assert!(power.passed_over.iter().any(|absent| absent.reason == AbsentReason::Permission));
        assert_eq!(power.parts.len(), 1);
    }

    /// A meter that has no value just now leaves the figure absent; the model does not jump in.
    #[test]
    fn a_waiting_meter_is_not_replaced() {
        for reason in [AbsentReason::NotYet, AbsentReason::Unreliable, AbsentReason::Busy] {
            let power = meter().apply(&[rapl(package(0), Err(reason)), utilisation(0.5)]);
            assert_eq!(power.total.unwrap_err().reason, reason);
        }
    }

    /// Memory is added to packages only when all of it is metered; a dead platform zone is passed over.
    #[test]
    fn coverage_is_stated() {
        let full = [
            rapl(package(0), Ok(50.0)),
            rapl(package(1), Ok(60.0)),
            rapl(dram(0), Ok(5.0)),
            rapl(dram(1), Ok(6.0)),
        ];
        let total = meter().apply(&full).total.unwrap();
        assert_eq!((total.power.value, total.coverage), (Watts::new(121.0), Coverage::PackagesAndMemory));
        let total = meter().apply(&full[..3]).total.unwrap();
        assert_eq!((total.power.value, total.coverage), (Watts::new(110.0), Coverage::Packages));
        let dead = [rapl(package(0), Ok(50.0)), rapl(Domain::Platform, Ok(0.0))];
        assert_eq!(meter().apply(&dead).total.unwrap().coverage, Coverage::Packages);
        let good = [rapl(package(0), Ok(50.0)), rapl(Domain::Platform, Ok(75.0))];
        assert_eq!(meter().apply(&good).total.unwrap().power.value, Watts::new(75.0));
    }

    /// A firmware meter's energy is its power over the time between samples, however short or missing the interval is
    /// over which it means, and is called estimated.
    #[test]
    fn sampled_power_is_integrated() {
        let domain = Domain::Chip { device: NODE_METER.to_string(), channel: "power1".to_string() };
        let at = |second: u64, watts: f64| {
            let value = Ok(Value::Power(Bounded::exact(Watts::new(watts))));
            let end = Instant::from_nanos(second * 1_000_000_000);
            Reading { start: end, end, ..reading("hwmon.power", domain.clone(), Source::Hwmon, value) }
        };
        let mut meter = meter();
        let first = meter.apply(&[at(10, 300.0)]).account.unwrap();
        assert_eq!((first.total.value, first.quality), (Joules::ZERO, Quality::Estimated));
        let second = meter.apply(&[at(12, 250.0)]).account.unwrap();
        assert_eq!(second.total.value, Joules::new(500.0));
        let third = meter.apply(&[at(13, 250.0)]).account.unwrap();
        assert_eq!(third.since(&second).unwrap().value, Joules::new(250.0));
    }

    /// The power of all packages is absent as long as one of them has none: a part is not the whole.
    #[test]
    fn packages_are_all_or_none() {
        let both = meter().apply(&[rapl(package(0), Ok(50.0)), rapl(package(1), Ok(60.0))]);
        assert_eq!(both.packages().unwrap().value, Watts::new(110.0));
        let one =
            meter().apply(&[rapl(package(0), Ok(50.0)), rapl(package(1), Err(AbsentReason::Unreliable))]);
        assert_eq!(one.packages(), None);
    }

    /// An account holds one source's energy; another source opens another account, and differences do not cross.
    #[test]
    fn accounts_do_not_mix_sources() {
        let mut meter = meter();
        let first = meter.apply(&[rapl(package(0), Ok(50.0))]).account.unwrap();
        let second = meter.apply(&[rapl(package(0), Ok(70.0))]).account.unwrap();
        assert_eq!(second.since(&first).unwrap().value, Joules::new(70.0));
        meter.apply(&[rapl(package(0), Err(AbsentReason::Unreliable))]);
        let third = meter.apply(&[utilisation(0.1)]).account.unwrap();
        assert_eq!(third.quality, Quality::Modelled);
        assert_eq!(third.since(&second), None);
    }
}
