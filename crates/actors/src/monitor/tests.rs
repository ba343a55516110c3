//! Goals: nothing that was reported is lost without being counted, the history stays bounded, and a full or
//! unwritable disk costs the recording only.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use units::{Instant, Timestamp};

use super::history::*;
use super::recorder::{RecordError, Recorder};
use super::*;
use crate::conformance::{self, MonitorSubject};
use crate::device::Device;
use crate::message::{Header, Sample};
use crate::metric::{MetricId, Unit};
use crate::synthetic::SyntheticMonitor;

fn telemetry(host: &str, sequence: u64, value: f64) -> NodeTelemetry {
    let writer = [host.bytes().next_back().unwrap_or(0); 16];
    NodeTelemetry {
        header: Header { host: host.into(), sequence, writer, ..Header::default() },
        window_start_ns: (sequence - 1) * 1_000_000_000,
        window_end_ns: sequence * 1_000_000_000,
        samples: vec![Sample::measured(MetricId::NODE_POWER, Device::NODE, value)],
        dropped: 0,
    }
}

fn job(sequence: u64, metric: MetricId, unit: Unit, value: f64) -> JobTelemetry {
    JobTelemetry {
        header: Header { sequence, writer: [200; 16], ..Header::default() },
        job: 4711,
        task: 3,
        metric: metric.get(),
        unit: unit.code(),
        value,
        end_ns: 5,
        ..JobTelemetry::default()
    }
}

fn power(history: &History, host: &str) -> Slice {
    let query = Query { metric: Some(MetricId::NODE_POWER), host: Some(host.into()), ..Query::default() };
    history.query(&query).remove(0)
}

/// A scratch folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    #[expect(clippy::disallowed_methods, reason = "test scratch folder")]
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stillwatt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    #[expect(clippy::disallowed_methods, reason = "test reads what was recorded")]
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[expect(clippy::disallowed_methods, reason = "test prepares a foreign file")]
fn write(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "test prepares a folder")]
fn make_folder(path: &std::path::Path) {
    std::fs::create_dir_all(path).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "test frees the disk")]
fn remove(path: &std::path::Path) {
    std::fs::remove_file(path).unwrap();
}

/// Queries select by metric, host, job and time, and say when something of the asked time was overwritten.
#[test]
fn queries() {
    let mut history = History::new(Limits { points_max: 3, ..Limits::default() });
    for sequence in 1..=5 {
        history.insert_node(&telemetry("n1", sequence, sequence as f64)).unwrap();
        history.insert_node(&telemetry("n2", sequence, 0.5)).unwrap();
    }
    history.insert_job(&job(1, MetricId::MPI_TIME, Unit::Second, 2.0)).unwrap();
    let slice = power(&history, "n1");
    assert_eq!(slice.points.iter().map(|point| point.value).collect::<Vec<_>>(), [3.0, 4.0, 5.0]);
    assert!(!slice.is_complete);
    let at = |seconds: u64| Some(Timestamp::from_unix_nanos(seconds * 1_000_000_000));
    let query = Query { host: Some("n1".into()), from: at(4), until: at(4), ..Query::default() };
    let slices = history.query(&query);
    assert_eq!((slices.len(), slices[0].points.len(), slices[0].is_complete), (1, 1, true));
    assert_eq!(history.query(&Query { job: Some(4711), ..Query::default() }).len(), 1);
    assert_eq!(history.query(&Query::default()).len(), 3);
    assert_eq!(history.counters().overwritten, 4);
    assert_eq!(history.latest(&slices[0].key).unwrap().value, 5.0);
}

/// A gap in a sender's sequence is a counted loss, a repetition is not kept twice, a restarted sender begins anew.
#[test]
fn losses_are_counted() {
    let mut history = History::new(Limits::default());
    history.insert_node(&telemetry("n1", 10, 1.0)).unwrap();
    history.insert_node(&telemetry("n1", 14, 1.0)).unwrap();
    assert_eq!(history.insert_node(&telemetry("n1", 14, 1.0)), Err(RejectError::Repeated));
    let mut restarted = telemetry("n1", 1, 1.0);
    restarted.header.writer = [99; 16];
    history.insert_node(&restarted).unwrap();
    let counters = history.counters();
    assert_eq!((counters.lost, counters.repeated, counters.taken), (3, 1, 3));
}

/// The wall clock stepping back an hour loses nothing.
#[test]
fn clock_steps_lose_nothing() {
    let mut history = History::new(Limits::default());
    for sequence in [4000, 4001, 4002] {
        history.insert_node(&telemetry("n1", sequence, 1.0)).unwrap();
    }
    let mut earlier = telemetry("n1", 4003, 2.0);
    earlier.window_start_ns = 399_000_000_000;
    earlier.window_end_ns = 400_000_000_000;
    history.insert_node(&earlier).unwrap();
    assert_eq!(power(&history, "n1").points.len(), 4);
}

/// Values that cannot be are refused and counted: not finite, of unknown parts, or in another unit than the
/// metric's (the megahertz-for-hertz trap).
#[test]
fn impossible_values() {
    let mut history = History::new(Limits { series_max: 1, ..Limits::default() });
    assert_eq!(history.insert_node(&telemetry("n1", 1, f64::NAN)), Err(RejectError::Invalid));
    let mut unknown = telemetry("n1", 2, 1.0);
    unknown.samples[0].device.kind = 99;
    assert_eq!(history.insert_node(&unknown), Err(RejectError::Invalid));
    let wrong = job(1, MetricId::CPU_FREQUENCY_STATUS, Unit::Count, 2000.0);
    assert!(matches!(history.insert_job(&wrong), Err(RejectError::Unit { .. })));
    history.insert_node(&telemetry("n1", 3, 1.0)).unwrap();
    assert_eq!(history.insert_node(&telemetry("n2", 1, 1.0)), Err(RejectError::Full { max: 1 }));
    assert_eq!((history.counters().invalid, history.counters().dropped), (3, 1));
}

/// Sequences that jump to the top count as lost once more and overflow nothing.
#[test]
fn hostile_sequences_overflow_nothing() {
    let mut history = History::new(Limits::default());
    for host in ["a", "b", "c"] {
        history.insert_node(&telemetry(host, 1, 1.0)).unwrap();
        let mut last = telemetry(host, 2, 1.0);
        (last.header.sequence, last.dropped) = (u64::MAX, u32::MAX);
        history.insert_node(&last).unwrap();
    }
    assert_eq!(history.counters().lost, u64::MAX);
}

proptest! {
    /// Whatever arrives, memory stays within the bounds and every sample is accounted for.
    #[test]
    fn bounded_and_accounted(reports in prop::collection::vec((0_u8..6, 1_u64..40, prop::num::f64::ANY), 0..200)) {
        let limits = Limits { series_max: 3, points_max: 5, writers_max: 4 };
        let mut history = History::new(limits);
        let total = reports.len() as u64;
        for (host, sequence, value) in reports {
            let _ = history.insert_node(&telemetry(&format!("n{host}"), sequence, value));
        }
        let slices = history.query(&Query::default());
        prop_assert!(slices.len() <= 3);
        prop_assert!(slices.iter().all(|slice| slice.points.len() <= 5));
        let kept: usize = slices.iter().map(|slice| slice.points.len()).sum();
        let counters = history.counters();
        prop_assert_eq!(counters.taken, kept as u64 + counters.overwritten);
        prop_assert_eq!(total, counters.taken + counters.dropped + counters.invalid + counters.repeated);
    }
}

/// A recording has units in its column names, goes on after a restart, and refuses a foreign file.
#[test]
fn recording() {
    let scratch = Scratch::new("recording");
    let path = scratch.0.join("telemetry.csv");
    for start in [1, 2] {
        let mut monitor =
            ReferenceMonitor::new(Limits::default()).with_recorder(Recorder::open(&path).unwrap());
        monitor.report_node_telemetry(Instant::ZERO, &telemetry("n,1", start, 250.5)).unwrap();
        let report = job(start, MetricId::MPI_TIME, Unit::Second, 1.5);
        monitor.report_job_telemetry(Instant::ZERO, &report).unwrap();
        assert_eq!(monitor.recorder().unwrap().written(), 2);
    }
    let text = scratch.read("telemetry.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let columns: Vec<&str> = lines[0].split(',').collect();
    for column in ["window_start_unix_seconds", "value_watts", "value_hertz", "value_bytes_per_second"] {
        assert!(columns.contains(&column), "{column}");
    }
    let expected =
        "0.000000000,1.000000000,\"n,1\",,,,node,NODE_POWER,measured,,,250.5,,,,,,,,,,,250.5,250.5";
    assert_eq!(lines[1], expected);
    assert_eq!(lines[2].split(',').count(), columns.len());
    assert_eq!(lines[2].split(',').nth(15), Some("1.5"));

    let foreign = scratch.0.join("foreign.csv");
    write(&foreign, "a,b,c\n1,2,3\n");
    assert!(matches!(Recorder::open(&foreign), Err(RecordError::Foreign { .. })));
    assert_eq!(scratch.read("foreign.csv"), "a,b,c\n1,2,3\n");
    let unwritable = Recorder::open(&scratch.0.join("no/such/folder.csv")).unwrap_err().to_string();
    assert!(unwritable.contains("folder.csv") && unwritable.contains("writable"), "{unwritable}");
}

/// A metric that is not canonical is recorded under its own name and unit once they are known.
#[test]
fn learned_names() {
    let scratch = Scratch::new("names");
    let path = scratch.0.join("names.csv");
    let mut monitor = ReferenceMonitor::new(Limits::default()).with_recorder(Recorder::open(&path).unwrap());
    let id = MetricId::custom("hwmon.voltage board/in0");
    let descriptor = MetricDescriptor {
        name: "hwmon.voltage board/in0".into(),
        id: id.get(),
        unit: Unit::Volt.code(),
        ..MetricDescriptor::default()
    };
    monitor.learn(&descriptor);
    monitor.learn(&MetricDescriptor { name: "renamed".into(), ..descriptor });
    let mut report = telemetry("n1", 1, 12.1);
    report.samples[0].metric = id.get();
    monitor.report_node_telemetry(Instant::ZERO, &report).unwrap();
    let text = scratch.read("names.csv");
    let (columns, row) = text.split_once('\n').unwrap();
    let column = columns.split(',').position(|name| name == "value_volts").unwrap();
    assert_eq!(row.split(',').nth(column), Some("12.1"), "{row}");
    assert!(row.contains(",hwmon.voltage board/in0,"), "{row}");
}

impl MonitorSubject for ReferenceMonitor {
    fn monitor(&mut self) -> &mut dyn Monitor {
        self
    }

    fn node_values(&mut self, host: &str, metric: MetricId) -> Vec<f64> {
        let query = Query { metric: Some(metric), host: Some(host.into()), ..Query::default() };
        values(self.history(), &query)
    }

    fn job_values(&mut self, job: u64, metric: MetricId) -> Vec<f64> {
        values(self.history(), &Query { metric: Some(metric), job: Some(job), ..Query::default() })
    }
}

impl MonitorSubject for SyntheticMonitor {
    fn monitor(&mut self) -> &mut dyn Monitor {
        self
    }

    fn node_values(&mut self, host: &str, metric: MetricId) -> Vec<f64> {
        let reports = self.nodes.iter().filter(|report| report.header.host == host);
        let samples = reports.flat_map(|report| &report.samples);
        samples.filter(|sample| sample.metric_id() == metric).map(|sample| sample.value).collect()
    }

    fn job_values(&mut self, job: u64, metric: MetricId) -> Vec<f64> {
        let reports = self.jobs.iter().filter(|report| report.job == job && report.metric == metric.get());
        reports.map(|report| report.value).collect()
    }
}

fn values(history: &History, query: &Query) -> Vec<f64> {
    let slices = history.query(query);
    slices.iter().flat_map(|slice| &slice.points).map(|point| point.value).collect()
}

/// The reference and the synthetic monitor keep every promise of a monitor.
#[test]
fn monitors_conform() {
    conformance::monitor(&mut ReferenceMonitor::new(Limits::default())).unwrap();
    conformance::monitor(&mut SyntheticMonitor::default()).unwrap();
}

/// When the disk is full or the folder vanishes, the history goes on, the loss is counted, one event says so, and
/// the recording resumes when it can.
#[test]
fn recording_fails_and_resumes() {
    let scratch = Scratch::new("resume");
    let folder = scratch.0.join("sub");
    make_folder(&folder);
    let link = folder.join("out.csv");
    // /dev/full takes the open and fails every write with "no space left", as a full disk does.
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    assert!(matches!(Recorder::open(&link), Err(RecordError::Write { .. })));

    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    let recorder = Recorder::at(&link);
    let mut full = ReferenceMonitor::new(Limits::default()).with_recorder(recorder);
    for second in 1..=12 {
        full.report_node_telemetry(at(second), &telemetry("n1", second, 1.0)).unwrap();
    }
    assert_eq!(full.recorder().unwrap().lost(), 12);
    assert_eq!(power(full.history(), "n1").points.len(), 12);
    let events = full.take_events();
    assert_eq!(events.len(), 1);
    assert!(events[0].code == event_code::RECORDING_FAILED && events[0].text.contains("out.csv"));

    remove(&link);
    full.report_node_telemetry(at(30), &telemetry("n1", 13, 1.0)).unwrap();
    let events = full.take_events();
    assert!(events[0].code == event_code::RECORDING_RESUMED && events[0].value == 12.0, "{events:?}");
    assert_eq!(scratch.read("sub/out.csv").lines().filter(|line| line.contains("NODE_POWER")).count(), 1);
}
