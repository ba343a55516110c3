//! The one record that `up --json` prints and the dashboard shows, once a second. Pure.
//!
//! Both take the same serialised text of one [`Snapshot`], so their values are equal by construction. Names end in
//! the SI unit. A value that could not be read is `null` with a `reason`, never zero.

use serde::{Deserialize, Serialize};

/// The value of [`Snapshot::schema`]; the number grows when a field changes its meaning or goes away.
pub const SCHEMA: &str = "stillwatt.snapshot/1";

/// How a value came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// Read from a meter or counter of the machine.
    Measured,
    /// Computed from other readings by a documented model, with bounds.
    Modelled,
    /// Guessed from what is known of similar machines.
    Estimated,
}

macro_rules! reading {
    ($(#[$doc:meta])* $name:ident, $value:ident, $low:ident, $high:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            #[doc = concat!("The value in ", $unit, "; `None` when there is no reading, and then `reason` says why.")]
            pub $value: Option<f64>,
            #[doc = concat!("The true value is not below this, in ", $unit, ".")]
            pub $low: Option<f64>,
            #[doc = concat!("The true value is not above this, in ", $unit, ".")]
            pub $high: Option<f64>,
            /// How the value came about; `None` when there is none.
            pub quality: Option<Quality>,
            /// What to be careful about: `wrap`, `reset`, `gap`, `stale`, `clamped`.
            pub flags: Vec<String>,
            /// The sensor or model that gave the value.
            pub source: Option<String>,
            /// Why there is no value.
            pub reason: Option<String>,
        }

        impl $name {
            #[doc = concat!("A reading of `value` within `bounds`, in ", $unit, ". A value that is not finite is absent.")]
            pub fn present(value: f64, bounds: (f64, f64), quality: Quality, source: impl Into<String>) -> Self {
                if !value.is_finite() {
                    return Self::absent("the source gave a value that is not a number");
                }
                let (low, high) = bounds;
                Self {
                    $value: Some(value),
                    $low: low.is_finite().then_some(low),
                    $high: high.is_finite().then_some(high),
                    quality: Some(quality),
                    flags: Vec::new(),
                    source: Some(source.into()),
                    reason: None,
                }
            }

            /// No reading, and why.
            pub fn absent(reason: impl Into<String>) -> Self {
                Self { reason: Some(reason.into()), ..Self::default() }
            }

            /// This reading with `flags`.
            pub fn with_flags(mut self, flags: Vec<String>) -> Self {
                self.flags = flags;
                self
            }
        }
    };
}

reading!(
    /// Electrical power of the node.
    PowerReading, value_watts, low_watts, high_watts, "watts"
);
reading!(
    /// Mean clock frequency of the node's online CPUs.
    FrequencyReading, value_hertz, low_hertz, high_hertz, "hertz"
);
reading!(
    /// Busy share of the online CPUs' time since the last snapshot, 0 to 1.
    UtilisationReading, value_ratio, low_ratio, high_ratio, "a ratio"
);
reading!(
    /// The hottest of the node's processor sensors.
    TemperatureReading, value_celsius, low_celsius, high_celsius, "degrees Celsius"
);

/// Main memory of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryReading {
    /// Memory that is neither free nor reclaimable, in bytes.
    pub used_bytes: Option<u64>,
    /// All memory, in bytes.
    pub total_bytes: Option<u64>,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// One topic that the bus has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicActivity {
    /// The topic's name.
    pub name: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Writers in the domain.
    pub writers: u64,
    /// Readers in the domain.
    pub readers: u64,
    /// Samples that this process read since the start; `None` where it does not read the topic.
    pub samples_total: Option<u64>,
    /// Samples read in the last second; `None` where this process does not read the topic.
    pub samples_per_second: Option<f64>,
    /// Samples that this process knows to have missed; `None` where it does not read the topic.
    pub lost_total: Option<u64>,
}

/// What the bus carried so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusActivity {
    /// The DDS domain.
    pub domain: u32,
    /// Participants known, the ones of this process included.
    pub participants: u64,
    /// Topics known, in order of their names.
    pub topics: Vec<TopicActivity>,
    /// Samples received by readers of this process.
    pub samples_received_total: u64,
    /// Samples written by writers of this process.
    pub samples_sent_total: u64,
    /// Samples that readers of this process know to have missed.
    pub samples_lost_total: u64,
    /// Datagrams thrown away because they were not well formed.
    pub malformed_datagrams_total: u64,
}

/// What the monitor keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorActivity {
    /// Series (one metric of one part of one node or job) held in memory.
    pub history_series: u64,
    /// Samples held in memory.
    pub history_samples: u64,
    /// The most that are held of one series; the oldest go first.
    pub history_samples_per_series_max: u64,
    /// Samples that made room for newer ones.
    pub history_overwritten_total: u64,
    /// Reports that never came, as the senders' counts show.
    pub reports_lost_total: u64,
    /// The file being recorded to, if any.
    pub recording_path: Option<String>,
    /// Records written to that file.
    pub recorded_total: u64,
    /// Records that could not be written.
    pub recording_lost_total: u64,
}

/// What the dashboard's server does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DashboardActivity {
    /// Pages that follow the event stream now.
    pub clients: u64,
    /// The most that are admitted.
    pub clients_max: u64,
    /// Pages turned away because that many were there.
    pub clients_refused_total: u64,
    /// Messages that slow pages missed.
    pub messages_dropped_total: u64,
}

/// What this process itself costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfCost {
    /// CPU time used since the start, user and system.
    pub cpu_seconds_total: Option<f64>,
    /// Threads alive.
    pub threads: Option<u64>,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
}

/// The state of one node and its bus at one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: String,
    /// Wall-clock time of the readings, in seconds since 1970-01-01T00:00:00Z. A label: it may jump.
    pub time_unix_seconds: f64,
    /// Counts up by one from 1 without gaps.
    pub sequence: u64,
    /// Name of the node.
    pub node: String,
    /// The profile of the simulated node; `None` on a real machine.
    pub simulated: Option<String>,
    /// Power of the node.
    pub power: PowerReading,
    /// Mean frequency.
    pub frequency: FrequencyReading,
    /// Utilisation.
    pub utilisation: UtilisationReading,
    /// Temperature.
    pub temperature: TemperatureReading,
    /// Memory.
    pub memory: MemoryReading,
    /// The bus.
    pub bus: BusActivity,
    /// The monitor.
    pub monitor: MonitorActivity,
    /// The dashboard's server.
    pub dashboard: DashboardActivity,
    /// This process.
    #[serde(rename = "self")]
    pub own: SelfCost,
}

impl Snapshot {
    /// The text of this snapshot: one line of JSON without a line end.
    ///
    /// # Errors
    /// When it cannot be serialised, which no value of this type is known to cause.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads the text of a snapshot.
    ///
    /// # Errors
    /// When the text is not JSON of this schema; an unknown field is an error too.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Snapshot {
        Snapshot {
            schema: SCHEMA.to_owned(),
            time_unix_seconds: 1_700_000_000.25,
            sequence: 7,
            node: "n1".to_owned(),
            simulated: None,
            power: PowerReading::present(40.1, (20.0, 90.0), Quality::Modelled, "model:generic")
                .with_flags(vec!["stale".to_owned()]),
            frequency: FrequencyReading::absent("no cpufreq"),
            utilisation: UtilisationReading::present(0.125, (0.125, 0.125), Quality::Measured, "/proc/stat"),
            temperature: TemperatureReading::absent("no thermal zone"),
            memory: MemoryReading { used_bytes: Some(1024), total_bytes: Some(4096), reason: None },
            bus: BusActivity {
                domain: 3,
                participants: 4,
                topics: vec![TopicActivity {
                    name: "regale/mon/node".to_owned(),
                    type_name: "NodeTelemetry".to_owned(),
                    writers: 1,
                    readers: 1,
                    samples_total: Some(12),
                    samples_per_second: Some(1.0),
                    lost_total: Some(0),
                }],
                samples_received_total: 12,
                samples_sent_total: 13,
                ..BusActivity::default()
            },
            monitor: MonitorActivity {
                history_series: 2,
                history_samples: 12,
                history_samples_per_series_max: 600,
                ..Default::default()
            },
            dashboard: DashboardActivity { clients_max: 32, ..Default::default() },
            own: SelfCost { cpu_seconds_total: Some(0.5), threads: Some(5), resident_bytes: Some(1 << 20) },
        }
    }

    /// The text is fixed: a change of a name or of the order is a change of the schema.
    #[test]
    fn golden_text() {
        let golden = concat!(
            r#"{"schema":"stillwatt.snapshot/1","time_unix_seconds":1700000000.25,"sequence":7,"node":"n1","#,
            r#""simulated":null,"power":{"value_watts":40.1,"low_watts":20.0,"high_watts":90.0,"#,
            r#""quality":"modelled","flags":["stale"],"source":"model:generic","reason":null},"#,
            r#""frequency":{"value_hertz":null,"low_hertz":null,"high_hertz":null,"quality":null,"flags":[],"#,
            r#""source":null,"reason":"no cpufreq"},"#,
            r#""utilisation":{"value_ratio":0.125,"low_ratio":0.125,"high_ratio":0.125,"quality":"measured","#,
            r#""flags":[],"source":"/proc/stat","reason":null},"#,
            r#""temperature":{"value_celsius":null,"low_celsius":null,"high_celsius":null,"quality":null,"#,
            r#""flags":[],"source":null,"reason":"no thermal zone"},"#,
            r#""memory":{"used_bytes":1024,"total_bytes":4096,"reason":null},"#,
            r#""bus":{"domain":3,"participants":4,"topics":[{"name":"regale/mon/node","type":"NodeTelemetry","#,
            r#""writers":1,"readers":1,"samples_total":12,"samples_per_second":1.0,"lost_total":0}],"#,
            r#""samples_received_total":12,"samples_sent_total":13,"samples_lost_total":0,"#,
            r#""malformed_datagrams_total":0},"#,
            r#""monitor":{"history_series":2,"history_samples":12,"history_samples_per_series_max":600,"#,
            r#""history_overwritten_total":0,"reports_lost_total":0,"recording_path":null,"recorded_total":0,"#,
            r#""recording_lost_total":0},"#,
            r#""dashboard":{"clients":0,"clients_max":32,"clients_refused_total":0,"messages_dropped_total":0},"#,
            r#""self":{"cpu_seconds_total":0.5,"threads":5,"resident_bytes":1048576}}"#,
        );
        assert_eq!(sample().to_json().unwrap(), golden);
    }

    /// What is written can be read back unchanged.
    #[test]
    fn round_trip() {
        let text = sample().to_json().unwrap();
        assert_eq!(Snapshot::from_json(&text).unwrap(), sample());
    }

    /// A field that the schema does not have is refused, so that a renamed field cannot vanish silently.
    #[test]
    fn unknown_field_is_refused() {
        let text = sample().to_json().unwrap().replacen("\"sequence\"", "\"serial\"", 1);
        assert!(Snapshot::from_json(&text).is_err());
    }

    /// A value that is not a number becomes an absent reading with a reason and never a zero.
    #[test]
    fn not_a_number_is_absent() {
        let reading = PowerReading::present(f64::NAN, (0.0, 1.0), Quality::Measured, "x");
        assert_eq!(reading.value_watts, None);
        assert_eq!(reading.quality, None);
        assert!(reading.reason.is_some());
    }
}
