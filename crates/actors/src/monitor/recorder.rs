#![expect(clippy::disallowed_methods, reason = "I/O shell: writes one recording file")]
//! Records telemetry as comma-separated values, one sample a line.
//!
//! May touch: the file that it was given. The value stands in the column that names its unit; the others are empty.
//! A failed write loses records, is counted and retried after a while; the file is never truncated. After a failure
//! the recording goes on in a new line, so at most the line in which the disk filled up is damaged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use units::Instant;

use crate::device::Device;
use crate::message::{JobTelemetry, MetricDescriptor, NodeTelemetry, Quality, SampleFlags};
use crate::metric::{MetricId, Unit};

/// A recording that goes to one file.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: Option<File>,
    /// Whether the last write may have ended inside a line.
    is_torn: bool,
    retry_at: Option<Instant>,
    written: u64,
    lost: u64,
    /// Lost since the recording failed.
    lost_now: u64,
    text: String,
    /// Names and units of metrics that are not canonical.
    names: BTreeMap<MetricId, (String, Unit)>,
}

/// Why a recording could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be opened.
    #[error("the recording {path} cannot be opened: {source}; name a file in a writable folder")]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{path} is not a recording of this version: its first line is {found:?}; name another file")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first line, shortened.
        found: String,
    },
    /// The file could not be written.
    #[error("the recording {path} cannot be written: {source}; it is tried again every {RETRY_SECONDS} s")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// What became of the records of one report.
#[derive(Debug)]
pub enum Written {
    /// They are in the file.
    Done,
    /// They are in the file, the first ones after a failure.
    Resumed {
        /// How many were lost in between.
        lost: u64,
    },
    /// They are lost, the first ones after success.
    Failed(RecordError),
    /// They are lost, as others before.
    Lost,
}

const RETRY_SECONDS: u64 = 10;

/// The first line of a recording.
const HEADER: &str = "window_start_unix_seconds,window_end_unix_seconds,host,job,step,task,device,metric,quality,flags,\
value_ratio,value_watts,value_joules,value_hertz,value_celsius,value_seconds,value_count,value_bytes,\
value_bytes_per_second,value_code,value_volts,value_amperes,low_same_unit,high_same_unit\n";

/// The value columns in their order.
const UNITS: [Unit; 12] = [
    Unit::Ratio,
    Unit::Watt,
    Unit::Joule,
    Unit::Hertz,
    Unit::Celsius,
    Unit::Second,
    Unit::Count,
    Unit::Byte,
    Unit::BytePerSecond,
    Unit::Code,
    Unit::Volt,
    Unit::Ampere,
];

impl Recorder {
    /// Begins a recording, or goes on with one. Blocks as long as the file system does.
    ///
    /// # Errors
    /// When the file cannot be opened or holds something else.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Ok(Self { file: Some(open(path)?), ..Self::at(path) })
    }

    /// A recording whose file is opened with the first record; until that succeeds, records are lost and counted.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            is_torn: false,
            retry_at: None,
            written: 0,
            lost: 0,
            lost_now: 0,
            text: String::new(),
            names: BTreeMap::new(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records in the file, written by this recorder.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Records that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes the name and unit of a metric that is not canonical; without them its number and the unit `count` stand.
    /// The caller bounds how many.
    pub fn learn(&mut self, descriptor: &MetricDescriptor) {
        let id = MetricId::new(descriptor.id);
        if id.canonical().is_none()
            && let Some(unit) = Unit::from_code(descriptor.unit)
        {
            self.names.insert(id, (quoted(&descriptor.name), unit));
        }
    }

    /// Records the samples of a node. Blocks as long as the file system does.
    pub fn record_node(&mut self, now: Instant, telemetry: &NodeTelemetry) -> Written {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for sample in &telemetry.samples {
            let device = sample.device.device().map_or(String::new(), |device: Device| device.to_string());
            let quality = Quality::from_code(sample.quality).map_or("", Quality::name);
            let flags: Vec<&str> = SampleFlags::from_bits(sample.flags).names().collect();
            let row = Row {
                window: (telemetry.window_start_ns, telemetry.window_end_ns),
                who: [quoted(&telemetry.header.host), String::new(), String::new(), String::new()],
                device,
                metric: sample.metric_id(),
                quality,
                flags: flags.join(" "),
                value: sample.value,
                bounds: (sample.min, sample.max),
                unit: None,
            };
            row.write(&mut text, &self.names);
        }
        let written = self.append(now, &text, telemetry.samples.len() as u64);
        self.text = text;
        written
    }

    /// Records a value of a job. Blocks as long as the file system does.
    pub fn record_job(&mut self, now: Instant, telemetry: &JobTelemetry) -> Written {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let JobTelemetry { job, step, task, value, .. } = *telemetry;
        let row = Row {
            window: (telemetry.start_ns, telemetry.end_ns),
            who: [quoted(&telemetry.header.host), job.to_string(), step.to_string(), task.to_string()],
            device: String::new(),
            metric: MetricId::new(telemetry.metric),
            quality: Quality::Measured.name(),
            flags: String::new(),
            value,
            bounds: (value, value),
            unit: Unit::from_code(telemetry.unit),
        };
        row.write(&mut text, &self.names);
        let written = self.append(now, &text, 1);
        self.text = text;
        written
    }

    fn append(&mut self, now: Instant, text: &str, records: u64) -> Written {
        if self.retry_at.is_some_and(|at| now < at) {
            return self.lose(records);
        }
        match self.try_append(text) {
            Ok(()) => {
                self.written += records;
                match self.retry_at.take() {
                    Some(_) => Written::Resumed { lost: std::mem::take(&mut self.lost_now) },
                    None => Written::Done,
                }
            }
            Err(error) => {
                self.is_torn = self.file.take().is_some();
                let is_first = self.retry_at.is_none();
                self.retry_at = Some(now + Duration::from_secs(RETRY_SECONDS));
                let lost = self.lose(records);
                if is_first { Written::Failed(error) } else { lost }
            }
        }
    }

    fn lose(&mut self, records: u64) -> Written {
        self.lost += records;
        self.lost_now += records;
        Written::Lost
    }

    fn try_append(&mut self, text: &str) -> Result<(), RecordError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.path)?),
        };
        let write = |file: &mut File, is_torn: bool| {
            if is_torn {
                file.write_all(b"\n")?;
            }
            file.write_all(text.as_bytes())
        };
        write(file, self.is_torn).map_err(|source| RecordError::Write { path: self.path.clone(), source })?;
        self.is_torn = false;
        Ok(())
    }
}

/// Opens a recording for appending and writes the first line of a new one.
fn open(path: &Path) -> Result<File, RecordError> {
    let fault = |source| RecordError::Open { path: path.to_owned(), source };
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fault)?;
    let mut first = Vec::new();
    let is_regular = file.metadata().map_err(fault)?.is_file();
    if is_regular {
        Read::by_ref(&mut file).take(HEADER.len() as u64).read_to_end(&mut first).map_err(fault)?;
    }
    if first.is_empty() {
        let written = file.write_all(HEADER.as_bytes());
        written.map_err(|source| RecordError::Write { path: path.to_owned(), source })?;
    } else if first != HEADER.as_bytes() {
        let found: String = String::from_utf8_lossy(&first).lines().next().unwrap_or_default().into();
        let found = crate::message::bounded(&found, 60).to_owned();
        return Err(RecordError::Foreign { path: path.to_owned(), found });
    }
    Ok(file)
}

struct Row<'a> {
    window: (u64, u64),
    who: [String; 4],
    device: String,
    metric: MetricId,
    quality: &'a str,
    flags: String,
    value: f64,
    bounds: (f64, f64),
    /// Of a metric that is not canonical.
    unit: Option<Unit>,
}

impl Row<'_> {
    fn write(&self, text: &mut String, names: &BTreeMap<MetricId, (String, Unit)>) {
        let seconds = |nanos: u64| format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        let known = names.get(&self.metric);
        let unit = self.metric.canonical().map(|metric| metric.unit).or(known.map(|(_, unit)| *unit));
        let unit = unit.or(self.unit).unwrap_or(Unit::Count);
        let name = known.map_or_else(|| self.metric.to_string(), |(name, _)| name.clone());
        // Writing to a String cannot fail.
        let _ = write!(text, "{},{}", seconds(self.window.0), seconds(self.window.1));
        for part in &self.who {
            let _ = write!(text, ",{part}");
        }
        let _ = write!(text, ",{},{},{},{}", self.device, name, self.quality, self.flags);
        for column in UNITS {
            text.push(',');
            if column == unit {
                let _ = write!(text, "{}", self.value);
            }
        }
        let _ = writeln!(text, ",{},{}", self.bounds.0, self.bounds.1);
    }
}

/// A text field of a line (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
