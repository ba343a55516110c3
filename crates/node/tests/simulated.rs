#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail by panic")]
//! The simulated node through the same sensors and knobs as a machine.

use std::sync::Arc;
use std::time::Duration;

use node::knob::{Knob, KnobValue};
use node::simulated::{Load, SimulatedClock, SimulatedNode, profiles};
use node::{AbsentReason, Coverage, Domain, Flags, Node, Quality, Source, SysRoot};
use units::{Celsius, Hertz, Watts};

const FULL: Load = Load::Steady { utilisation: 1.0, activity: 1.0, bandwidth: 0.5 };

fn open(seed: u64) -> (Arc<SimulatedNode>, Node) {
    let simulated = Arc::new(SimulatedNode::new("xeon-8260-2s", seed, SimulatedClock::Virtual).unwrap());
    let node = Node::open(Arc::clone(&simulated) as Arc<dyn SysRoot>);
    (simulated, node)
}

/// Every sensor kind has values, power is measured, and nothing is modelled.
#[test]
fn all_sensors_have_values() {
    let (simulated, mut node) = open(1);
    simulated.advance(Duration::from_secs(1));
    let sample = node.sample();
    let power = sample.power.total.as_ref().unwrap();
    assert_eq!((power.quality, power.source), (Quality::Measured, Source::Powercap));
    assert_eq!(power.coverage, Coverage::PackagesAndMemory);
    assert!(power.power.value > Watts::new(90.0) && power.power.value < Watts::new(460.0), "{power:?}");
    assert!(sample.readings.iter().all(|reading| reading.outcome.is_ok()));
    assert_eq!(sample.of_metric("cpu.frequency").count(), 48);
    assert_eq!(sample.of_metric("cpu.utilisation").count(), 49);
    let (hottest, _) = sample.temperature_max().unwrap();
    assert!(hottest.value > Celsius::new(25.0) && hottest.value < Celsius::new(95.0));
    assert_eq!(node.topology().packages.len(), 2);
    assert!(node.discover().iter().all(|report| report.present > 0 && report.absent.is_empty()));
    assert!(node.root().is_simulated() && node.root().describe().contains("xeon-8260-2s"));
}

/// Measured energy is the model's energy over ten minutes and a wrap, within the counters' steps.
#[test]
fn energy_is_right_across_wraps() {
    let (simulated, mut node) = open(7);
    simulated.advance(Duration::from_millis(10));
    let first = node.sample();
    let before = simulated.true_energy();
    let mut wraps = 0;
    let mut last = first.clone();
    for _ in 0..600 {
        simulated.advance(Duration::from_secs(1));
        last = node.sample();
        let flagged =
            last.readings.iter().filter(|r| r.measurement().is_some_and(|m| m.flags.contains(Flags::WRAP)));
        wraps += flagged.filter(|reading| reading.energy().is_some()).count();
    }
    assert!(wraps >= 1, "package 0 starts shortly before its end");
    let account = last.power.account.unwrap().since(&first.power.account.unwrap()).unwrap();
    let truth = simulated.true_energy() - before;
    // The kernel shows 61.035 µJ for a count that is worth 61.035156 µJ, and each sample may be one count off.
    assert!((account.value / truth - 1.0).abs() < 1e-4, "{account:?} {truth:?}");
    assert_eq!(last.power.total.unwrap().flags, Flags::NONE);
}

/// One seed gives one history, whatever is read in between; another seed gives another.
#[test]
fn deterministic_for_a_seed() {
    let history = |seed: u64, steps: u32| {
        let (simulated, mut node) = open(seed);
        for _ in 0..steps {
            simulated.advance(Duration::from_secs(60) / steps);
            node.sample();
        }
        ["proc/stat", "sys/class/powercap/intel-rapl:1/energy_uj", "proc/loadavg"]
            .map(|f| simulated.read(f).unwrap())
    };
    assert_eq!(history(3, 1), history(3, 1));
    assert_eq!(history(3, 1), history(3, 60));
    assert_ne!(history(3, 1), history(4, 1));
}

/// A power limit written through the knob lowers measured power to the limit within 1 % and the clock with it.
#[test]
fn the_power_limit_is_obeyed() {
    let (simulated, mut node) = open(2);
    simulated.set_load(FULL);
    simulated.advance(Duration::from_secs(30));
    node.sample();
    simulated.advance(Duration::from_secs(5));
    let free = node.sample();
    for knob in node.knobs().iter().filter(|knob| knob.info().id.starts_with("powercap.")) {
        let applied = knob.set(&*simulated, KnobValue::Power(Watts::new(120.06))).unwrap();
        assert_eq!(applied.value, KnobValue::Power(Watts::new(120.0)));
    }
    simulated.advance(Duration::from_secs(10));
    node.sample();
    simulated.advance(Duration::from_secs(5));
    let capped = node.sample();
    let packages = capped.power.packages().unwrap().value;
    assert!((packages / Watts::new(240.0) - 1.0).abs() < 0.01, "{packages}");
    assert!(capped.frequency_mean().unwrap().value < free.frequency_mean().unwrap().value);
    assert!(capped.temperature_max().unwrap().0.value < free.temperature_max().unwrap().0.value);
}

/// A frequency limit is obeyed by the CPUs of its policy only; an end of the range does not pass the other.
#[test]
fn the_frequency_limit_is_obeyed() {
    let (simulated, mut node) = open(2);
    simulated.set_load(FULL);
    let knobs = node.knobs();
    let knob = |id: &str| knobs.iter().find(|knob| knob.info().id == id).unwrap();
    let gigahertz = |value: f64| KnobValue::Frequency(Hertz::new(value * 1e9));
    knob("cpufreq.policy3.max").set(&*simulated, gigahertz(1.25)).unwrap();
    assert!(knob("cpufreq.policy3.min").set(&*simulated, gigahertz(2.0)).is_err());
    simulated.advance(Duration::from_secs(1));
    let sample = node.sample();
    let of = |policy: u32| {
        let reading = sample.of_metric("cpu.frequency").find(|r| r.domain == Domain::Policy(policy)).unwrap();
        reading.measurement().unwrap().value.numbers().value
    };
    assert_eq!(of(3), 1.2e9);
    assert!(of(4) > 2.0e9);
}

/// Files that are not settings refuse writes, damaged numbers are refused, and unknown profiles name the known ones.
#[test]
fn refusals() {
    let (simulated, _) = open(1);
    let zone = "sys/class/powercap/intel-rapl:0";
    let kind = |path: &str, text: &str| simulated.write(path, text).unwrap_err().kind();
    assert_eq!(kind(&format!("{zone}/energy_uj"), "0"), std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(&format!("{zone}/constraint_0_power_limit_uw"), "-5"), std::io::ErrorKind::InvalidInput);
    assert_eq!(kind(&format!("{zone}/no_such_file"), "0"), std::io::ErrorKind::NotFound);
    let error = SimulatedNode::new("pdp-11", 1, SimulatedClock::Host).unwrap_err();
    assert!(profiles().iter().all(|name| error.to_string().contains(name)), "{error}");
}

/// With the host's clock time moves by itself, and the first sample after opening has an interval.
#[test]
fn runs_with_the_host() {
    let simulated = Arc::new(SimulatedNode::new("xeon-8260-2s", 5, SimulatedClock::Host).unwrap());
    let mut node = Node::open(Arc::clone(&simulated) as Arc<dyn SysRoot>);
    node::clock::sleep(Duration::from_millis(60));
    let sample = node.sample();
    let power = sample.power.total.as_ref().unwrap();
    assert!(power.end - power.start >= Duration::from_millis(60));
    assert!(sample.utilisation().is_ok_and(|share| share.value.get() <= 1.0));
    assert!(
        sample.readings.iter().all(|r| r
            .outcome
            .as_ref()
            .err()
            .is_none_or(|a| a.reason == AbsentReason::NotYet))
    );
}
