#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the case files of the repository")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail by panic")]
//! The public cases about sensors and counters, each with its own files and with one changed input.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use node::counter::{CounterSpec, EnergyCounter, Range, Step};
use node::knob::{self, Knob, KnobValue};
use node::sensor::frequency::{managed_cpus, policies};
use node::sensor::powercap::{effective_limit, package_count, zones};
use node::{AbsentReason, Domain, Flags, MemoryRoot, Node, NodeSample, Quality, Reading, Source, SysRoot};
use serde_json::Value;
use units::{Hertz, Instant, Watts};

const POWERCAP: &str = "sys/class/powercap";

fn load(id: &str, file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(id).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn counts(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
}

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

fn errno(name: &str) -> i32 {
    match name {
        "EACCES" => 13,
        "EBUSY" => 16,
        "ENODATA" => 61,
        other => panic!("unknown error number {other}"),
    }
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

/// A tree given as files: a text, a fault, or a list of texts over the times `t_s`. Gives the last sample.
fn sample_files(case: &Value) -> (Arc<MemoryRoot>, NodeSample) {
    let root = Arc::new(MemoryRoot::new());
    let prefix = case["root"].as_str().unwrap();
    let times = case.get("t_s").map_or_else(|| vec![0.0, 1.0], numbers);
    let mut node = None;
    let mut sample = None;
    for (index, time) in times.into_iter().enumerate() {
        for (file, content) in case["files"].as_object().unwrap() {
            let path = format!("{prefix}/{file}");
            match content {
                Value::Object(fault) => root.fail_read(&path, errno(fault["errno"].as_str().unwrap())),
                Value::Array(texts) => root.set(&path, texts[index].as_str().unwrap()),
                text => root.set(&path, text.as_str().unwrap()),
            }
        }
        root.set_now(at(time));
        match &mut node {
            None => node = Some(Node::open(Arc::clone(&root) as Arc<dyn SysRoot>)),
            Some(node) => sample = Some(node.sample()),
        }
    }
    (root, sample.unwrap())
}

/// A tree given as powercap zones with energies or with powers.
fn sample_zones(case: &Value) -> (Arc<MemoryRoot>, NodeSample) {
    let root = Arc::new(MemoryRoot::new());
    let times = case.get("t_s").map_or_else(|| vec![0.0, number(&case["dt_s"])], numbers);
    let zones = case["zones"].as_object().unwrap();
    let set_energies = |index: usize, seconds: f64| {
        for (zone, content) in zones {
            let energy = match content.get("e_uj") {
                Some(series) => counts(series)[index],
                None => 1_000_000 + (number(&content["w"]) * seconds * 1e6) as u64,
            };
            root.set(&format!("{POWERCAP}/{zone}/energy_uj"), &format!("{energy}\n"));
        }
    };
    for (zone, content) in zones {
        let folder = format!("{POWERCAP}/{zone}");
        root.set(&format!("{folder}/name"), content["name"].as_str().unwrap());
        root.set(&format!("{folder}/max_energy_range_uj"), "262143328850\n");
        if let Some(limit) = content.get("limit_uw") {
            root.set(&format!("{folder}/constraint_0_power_limit_uw"), &limit.to_string());
        }
    }
    set_energies(0, 0.0);
    root.set_now(at(times[0]));
    let mut node = Node::open(Arc::clone(&root) as Arc<dyn SysRoot>);
    set_energies(1, times[1] - times[0]);
    root.set_now(at(times[1]));
    let sample = node.sample();
    (root, sample)
}

/// A bare counter's readings at the times `t_s`: total energy in joules and all flags seen.
fn run_counter(
    range: Range,
    power_max: f64,
    times: &[f64],
    energies: &[u64],
) -> (EnergyCounter, Flags, Vec<f64>) {
    let mut counter = EnergyCounter::new(CounterSpec {
        range,
        joules_per_count: 1e-6,
        power_max: Watts::new(power_max),
        update_period: Duration::from_millis(1),
    });
    let (mut flags, mut powers) = (Flags::NONE, Vec::new());
    for (time, energy) in times.iter().zip(energies) {
        match counter.step(at(*time), *energy) {
            Step::Counted(increment) => {
                flags = flags.with(increment.flags);
                powers.push(increment.power().value.get());
            }
            Step::Dropped(more) => flags = flags.with(more),
            Step::First | Step::NoTime => {}
        }
    }
    (counter, flags, powers)
}

fn check_b01(case: &Value, delta_uj: f64, power_w: f64) {
    let (_, sample) = sample_files(case);
    let package = Domain::Package { package: 0, die: None };
    let energy = sample.readings.iter().find(|r| r.domain == package && r.energy().is_some()).unwrap();
    near(energy.energy().unwrap().value.get() * 1e6, delta_uj, 1.0);
    assert_eq!(energy.measurement().unwrap().flags, Flags::WRAP);
    let total = sample.power.total.as_ref().unwrap();
    near(total.power.value.get(), power_w, 1e-6);
    assert_eq!((total.quality, total.source), (Quality::Measured, Source::Powercap));
}

/// B01: a package counter that wraps once gives range - before + after, never a negative energy.
#[test]
fn b01_counter_wraps_once() {
    let mut case = load("B01", "series.json");
    let expected = case["expected"].clone();
    check_b01(&case, number(&expected["delta_uj"]), number(&expected["power_w"]));
    case["files"]["class/powercap/intel-rapl:0/energy_uj"][1] = "5000000".into();
    case["t_s"][1] = 2.0.into();
    check_b01(&case, 5_328_850.0, 2.664_425);
}

fn check_b04(case: &Value, total_j: f64, naive_j: f64, safe_s: f64) {
    let (times, energies) = (numbers(&case["t_s"]), counts(&case["e_uj"]));
    let range = Range::Wraps(case["max_uj"].as_u64().unwrap());
    let power_max = number(&case["max_power_w"]);
    let (counter, flags, _) = run_counter(range, power_max, &times, &energies);
    near(counter.total().value.get(), total_j, 0.01);
    assert!(flags.contains(Flags::WRAP) && !flags.contains(Flags::GAP));
    near(counter.spec().wrap_time().as_secs_f64(), safe_s, 0.1);

    let ends = [times[0], times[times.len() - 1]];
    let (two, flags, _) = run_counter(range, power_max, &ends, &[energies[0], energies[energies.len() - 1]]);
    assert!(flags.contains(Flags::GAP), "two readings must be called unreliable");
    near(two.total().low.get(), naive_j, 0.01);
    assert!(two.total().high.get() >= total_j - 0.01, "the bounds hold the truth");
}

/// B04: readings finer than a wrap give the exact energy; two readings further apart than a wrap are flagged.
#[test]
fn b04_sampling_slower_than_a_wrap() {
    let mut case = load("B04", "series.json");
    let expected = case["expected"].clone();
    let [total, naive, safe] =
        ["total_j", "naive_two_point_j", "max_safe_interval_s"].map(|k| number(&expected[k]));
    check_b04(&case, total, naive, safe);
    // 1 kJ more in the last interval.
    case["e_uj"][6] = 19_579_000_774_u64.into();
    check_b04(&case, total + 1000.0, naive + 1000.0, safe);
}

fn check_b05(case: &Value, cpu_w: f64, limit_w: f64) {
    let (root, sample) = sample_zones(case);
    near(sample.power.packages().unwrap().value.get(), cpu_w, 1e-6);
    near(sample.power.total.as_ref().unwrap().power.value.get(), cpu_w, 1e-6);
    let zones = zones(&*root).unwrap();
    assert_eq!(package_count(&zones), 1);
    let limit = effective_limit(&*root, &zones, &Domain::Package { package: 0, die: None }).unwrap();
    near(limit.power.get(), limit_w, 1e-6);
}

/// B05: one package under two drivers is counted once, and the lower of its two limits is the one in force.
#[test]
fn b05_one_package_under_two_drivers() {
    let mut case = load("B05", "tree.json");
    let expected = case["expected"].clone();
    check_b05(&case, number(&expected["cpu_w"]), number(&expected["effective_limit_w"]));
    for zone in ["intel-rapl:0", "intel-rapl-mmio:0"] {
        case["zones"][zone]["e_uj"][1] = 51_000_000_u64.into();
    }
    case["zones"]["intel-rapl:0"]["limit_uw"] = 20_000_000.into();
    check_b05(&case, 50.0, 20.0);
}

fn check_b07(case: &Value, sockets: usize, [cpu_w, dram_w, platform_w]: [f64; 3]) {
    let (root, sample) = sample_zones(case);
    let power = &sample.power;
    assert_eq!(package_count(&zones(&*root).unwrap()), sockets);
    near(power.packages().unwrap().value.get(), cpu_w, 1e-6);
    near(power.memory().unwrap().value.get(), dram_w, 1e-6);
    near(power.platform().unwrap().value.get(), platform_w, 1e-6);
    // The whole machine is the platform meter's figure, not a sum of zones that hold each other.
    near(power.total.as_ref().unwrap().power.value.get(), platform_w, 1e-6);
}

/// B07: zones that hold each other are told apart by their names; nothing is counted twice.
#[test]
fn b07_zones_that_hold_each_other() {
    let mut case = load("B07", "tree.json");
    let expected = case["expected"].clone();
    let watts = ["cpu_w", "dram_w", "platform_w"].map(|key| number(&expected[key]));
    check_b07(&case, usize::try_from(expected["sockets"].as_u64().unwrap()).unwrap(), watts);
    // The platform zone may also come first.
    let package = case["zones"]["intel-rapl:0"].clone();
    case["zones"]["intel-rapl:0"] = case["zones"]["intel-rapl:1"].clone();
    case["zones"]["intel-rapl:1"] = package;
    for child in 0..3 {
        let zone = case["zones"].as_object_mut().unwrap().remove(&format!("intel-rapl:0:{child}")).unwrap();
        case["zones"][format!("intel-rapl:1:{child}")] = zone;
    }
    case["zones"]["intel-rapl:1:2"]["w"] = 9.into();
    check_b07(&case, 1, [watts[0], 9.0, watts[2]]);
}

fn check_b08(case: &Value, reason: AbsentReason) {
    let (_, sample) = sample_files(case);
    let package = Domain::Package { package: 0, die: None };
    let metered: Vec<&Reading> = sample.readings.iter().filter(|r| r.domain == package).collect();
    assert!(!metered.is_empty());
    for reading in metered {
        let absent = reading.outcome.as_ref().unwrap_err();
        assert_eq!(absent.reason, reason);
        assert!(absent.to_string().contains("sys/class/powercap/intel-rapl:0/energy_uj"), "{absent}");
    }
    // Others are tried, in order, and each says why it has nothing either: hwmon, platform, powercap, perf.
    let tried: Vec<&str> = sample.power.passed_over.iter().map(|absent| absent.file.as_str()).collect();
    assert_eq!(tried.len(), 4, "{tried:?}");
    assert!(
        tried[0].contains("hwmon") && tried[2].contains("energy_uj") && tried[3].contains("event_source")
    );
    assert!(sample.power.total.is_err(), "no utilisation in this tree, so not even the model has a figure");
}

/// B08: an energy file for root only is unavailable for want of permission, named, and no zero.
#[test]
fn b08_energy_file_for_root_only() {
    let mut case = load("B08", "tree.json");
    assert_eq!(case["expected"]["reason"], "permission");
    check_b08(&case, AbsentReason::Permission);
    case["files"]["class/powercap/intel-rapl:0/energy_uj"]["errno"] = "ENODATA".into();
    check_b08(&case, AbsentReason::Disabled);
}

/// B08: with utilisation at hand the figure is modelled, and called so; the service goes on.
#[test]
fn b08_other_sources_step_in() {
    let case = load("B08", "tree.json");
    let root = Arc::new(MemoryRoot::new());
    root.set("proc/stat", "cpu0 0 0 0 0\n");
    for (file, content) in case["files"].as_object().unwrap() {
        match content.get("errno") {
            Some(name) => root.fail_read(&format!("sys/{file}"), errno(name.as_str().unwrap())),
            None => root.set(&format!("sys/{file}"), content.as_str().unwrap()),
        }
    }
    let mut node = Node::open(Arc::clone(&root) as Arc<dyn SysRoot>);
    root.advance(Duration::from_secs(1));
    root.set("proc/stat", "cpu0 50 0 0 50\n");
    let figure = node.sample().power.total.unwrap();
    assert_eq!((figure.quality, figure.profile), (Quality::Modelled, Some("unknown-cpu")));
}

fn check_b15(case: &Value, chip: &str, expected: &Value) {
    let (_, sample) = sample_files(case);
    let value = |channel: &str, metric: &str| {
        let domain = Domain::Chip { device: chip.to_string(), channel: channel.to_string() };
        let reading = sample.readings.iter().find(|r| r.domain == domain && r.metric == metric);
        reading.unwrap_or_else(|| panic!("no {metric} of {domain}"))
    };
    for (channel, metric, key) in [
        ("VRM 12V", "hwmon.power", "power1_w"),
        ("temp1", "hwmon.temperature", "temp1_c"),
        ("in0", "hwmon.voltage", "in0_v"),
        ("curr1", "hwmon.current", "curr1_a"),
    ] {
        let measurement = value(channel, metric).measurement().unwrap();
        near(measurement.value.numbers().value, number(&expected[key]), 1e-9);
    }
    assert!(expected["power2_w"].is_null());
    assert_eq!(value("power2", "hwmon.power").outcome.as_ref().unwrap_err().reason, AbsentReason::Disabled);
}

/// B15: hwmon units and labels; a disabled channel is absent; the chip is found by its name.
#[test]
fn b15_hwmon_units_and_labels() {
    let mut case = load("B15", "tree.json");
    let mut expected = case["expected"].clone();
    check_b15(&case, "ltc4282", &expected);
    let text = serde_json::to_string(&case).unwrap().replace("hwmon2", "hwmon9");
    case = serde_json::from_str(&text).unwrap();
    case["files"]["class/hwmon/hwmon9/power1_average"] = "99250000\n".into();
    case["files"]["class/hwmon/hwmon9/curr1_input"] = "-250".into();
    expected["power1_w"] = 99.25.into();
    expected["curr1_a"] = (-0.25).into();
    check_b15(&case, "ltc4282", &expected);
}

/// A machine given as CPU lists: every present CPU but those listed has a policy of its own.
fn cpu_tree(case: &Value) -> MemoryRoot {
    const FOLDER: &str = "sys/devices/system/cpu";
    let root = MemoryRoot::new();
    let present: units::CpuList = case["present"].as_str().unwrap().parse().unwrap();
    let online: units::CpuList = case["online"].as_str().unwrap().parse().unwrap();
    let is_in = |key: &str, cpu: u32| counts(&case[key]).contains(&u64::from(cpu));
    root.set(&format!("{FOLDER}/online"), &format!("{online}\n"));
    root.set(&format!("{FOLDER}/present"), &format!("{present}\n"));
    for cpu in present.iter() {
        let folder = format!("{FOLDER}/cpufreq/policy{cpu}");
        if !is_in("online_file_missing", cpu) {
            root.set(&format!("{FOLDER}/cpu{cpu}/online"), if online.contains(cpu) { "1\n" } else { "0\n" });
        }
        if !is_in("cpufreq_missing", cpu) {
            root.set(&format!("{FOLDER}/cpu{cpu}/cpufreq/scaling_driver"), "acpi-cpufreq\n");
            root.set(&format!("{folder}/affected_cpus"), &format!("{cpu}\n"));
            root.set(&format!("{folder}/scaling_cur_freq"), "2400000\n");
            root.set(&format!("{folder}/scaling_max_freq"), "3900000\n");
            root.set(&format!("{folder}/scaling_min_freq"), "1000000\n");
            root.set(&format!("{folder}/cpuinfo_max_freq"), "3900000\n");
            root.set(&format!("{folder}/cpuinfo_min_freq"), "1000000\n");
        }
    }
    for (policy, fault) in case["policy_errors"].as_object().unwrap() {
        for file in ["affected_cpus", "scaling_cur_freq", "scaling_max_freq"] {
            root.fail_read(&format!("{FOLDER}/cpufreq/{policy}/{file}"), errno(fault.as_str().unwrap()));
        }
    }
    root
}

fn check_b24(case: &Value, expected: &[u64], skipped: u32) {
    let root = cpu_tree(case);
    let found = policies(&root).unwrap();
    let managed: Vec<u64> = managed_cpus(&found).iter().map(u64::from).collect();
    assert_eq!(managed, expected);
    let busy = found.iter().find(|policy| policy.number == skipped).unwrap();
    assert_eq!(busy.cpus.as_ref().unwrap_err().reason, AbsentReason::Busy);
}

/// B24: CPUs that are online and have a readable policy are managed; a CPU without an `online` file is online.
#[test]
fn b24_offline_cpus() {
    let mut case = load("B24", "tree.json");
    check_b24(&case, &counts(&case["expected"]), 4);
    case["online"] = "0-1,8-9".into();
    check_b24(&case, &[0, 1, 8, 9], 4);
}

/// B24: setting a frequency touches the managed CPUs' policies and no other.
#[test]
fn b24_frequency_is_set_on_managed_cpus_only() {
    let case = load("B24", "tree.json");
    let root = cpu_tree(&case);
    root.take_writes();
    for knob in knob::discover(&root).iter().filter(|knob| knob.info().id.ends_with(".max")) {
        knob.set(&root, KnobValue::Frequency(Hertz::new(2.0e9))).unwrap();
    }
    let folder = "sys/devices/system/cpu/cpufreq/policy";
    let written = |cpu: &u64| (format!("{folder}{cpu}/scaling_max_freq"), "2000000\n".to_string());
    let expected: Vec<_> = counts(&case["expected"]).iter().map(written).collect();
    assert_eq!(root.take_writes(), expected);
}

/// B24: without the kernel's list of online CPUs, each CPU's own file decides; CPU 0 has none and is online.
#[test]
fn b24_without_the_list_of_online_cpus() {
    let case = load("B24", "tree.json");
    let root = cpu_tree(&case);
    root.remove("sys/devices/system/cpu/online");
    let managed: Vec<u64> = managed_cpus(&policies(&root).unwrap()).iter().map(u64::from).collect();
    assert_eq!(managed, counts(&case["expected"]));
}

fn check_b29(case: &Value, joules: f64) {
    const FOLDER: &str = "sys/bus/event_source/devices/power";
    let root = Arc::new(MemoryRoot::new());
    root.set_folder(POWERCAP);
    for zone in case["powercap"].as_array().unwrap() {
        root.set_folder(&format!("{POWERCAP}/{}", zone.as_str().unwrap()));
    }
    root.set(&format!("{FOLDER}/type"), "20\n");
    root.set(&format!("{FOLDER}/cpumask"), "0\n");
    root.set(&format!("{FOLDER}/events/energy-pkg"), "event=0x02\n");
    root.set(&format!("{FOLDER}/events/energy-pkg.scale"), case["scale"].as_str().unwrap());
    root.set(&format!("{FOLDER}/events/energy-pkg.unit"), "Joules\n");
    let raw = counts(&case["raw"]);
    root.set_perf_count("power", "energy-pkg", 0, Ok(raw[0]));
    let mut node = Node::open(Arc::clone(&root) as Arc<dyn SysRoot>);
    root.advance(Duration::from_secs(1));
    root.set_perf_count("power", "energy-pkg", 0, Ok(raw[1]));
    let figure = node.sample().power.total.unwrap();
    near(figure.energy.value.get(), joules, 1e-6);
    assert_eq!(figure.source.name(), case["cpu_energy_source"].as_str().unwrap());
    assert_eq!(figure.quality, Quality::Measured);
}

/// B29: without powercap zones the perf event steps in, scaled by its file, and the source says so.
#[test]
fn b29_perf_where_there_is_no_powercap() {
    let mut case = load("B29", "perf.json");
    check_b29(&case, number(&case["expected_j"]));
    case["scale"] = "1.0e-9".into();
    case["raw"][1] = 50_000_001_000_u64.into();
    check_b29(&case, 50.0);
}

fn check_b31(case: &Value, total_j: f64) {
    let (times, energies) = (numbers(&case["t_s"]), counts(&case["e_uj"]));
    let (counter, flags, powers) = run_counter(Range::Wraps(262_143_328_850), 165.0, &times, &energies);
    near(counter.total().value.get(), total_j, 1e-9);
    assert!(powers.iter().all(|power| power.is_finite() && *power >= 0.0), "{powers:?}");
    assert_eq!(flags, Flags::NONE);
}

/// B31: samples without time between them, or with time going back, are merged; power stays finite.
#[test]
fn b31_zero_and_negative_time_steps() {
    let mut case = load("B31", "series.json");
    check_b31(&case, number(&case["expected"]["total_j"]));
    // The energy moves on within the zero step: it must not be lost either.
    case["e_uj"][2] = 12_000_000.into();
    case["e_uj"][3] = 12_000_000.into();
    case["e_uj"][4] = 42_000_000.into();
    check_b31(&case, 42.0);
}
