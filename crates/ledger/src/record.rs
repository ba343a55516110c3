//! Where numbers come from: the machine, the program, the command that repeats them.

use serde_json::{Map, Value};

use crate::Table;

/// A recorded measurement: its tables and what is needed to judge and repeat them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecord {
    /// What the JSON means, as in `stillwatt.bus-bench/2`.
    pub schema: String,
    /// The command that repeats it.
    pub command: String,
    /// When it began, UTC, as in RFC 3339.
    pub started: String,
    /// The host's name.
    pub host: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// CPUs that the run could use, as a list such as `0-3`.
    pub core_set: String,
    /// The frequency governor of the first CPU; empty where there is none.
    pub governor: String,
    /// The load of the machine (1 minute) when it began.
    pub load_start: Option<f64>,
    /// The program's version, with its build profile where it is not the released one.
    pub version: String,
    /// The seed of what was random; none where nothing was.
    pub seed: Option<u64>,
    /// Versions of the other programs that were measured, name first.
    pub peers: Vec<(String, String)>,
    /// What the reader must know to judge the numbers.
    pub remarks: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
}

impl RunRecord {
    /// The whole record as one JSON object; each table is a member of `tables`, by its name.
    pub fn to_json(&self) -> Value {
        let peers = self.peers.iter().map(|(name, version)| (name.clone(), Value::from(version.as_str())));
        let tables = self.tables.iter().map(|table| (table.name().to_owned(), table.to_json()));
        let mut record = Map::new();
        for (name, text) in self.texts() {
            record.insert(name.to_owned(), Value::from(text));
        }
        record.insert("load_start".into(), Value::from(self.load_start));
        record.insert("seed".into(), Value::from(self.seed));
        record.insert("peers".into(), Value::Object(peers.collect()));
        record.insert("remarks".into(), Value::from(self.remarks.clone()));
        record.insert("tables".into(), Value::Object(tables.collect()));
        Value::Object(record)
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name() == name)
    }

    fn texts(&self) -> [(&'static str, &str); 9] {
        [
            ("schema", &self.schema),
            ("command", &self.command),
            ("started", &self.started),
            ("host", &self.host),
            ("kernel", &self.kernel),
            ("processor", &self.processor),
            ("core_set", &self.core_set),
            ("governor", &self.governor),
            ("version", &self.version),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit};

    /// A record names everything needed to repeat it, and holds its tables by name.
    #[test]
    fn record_is_complete() {
        let mut table = Table::new("idle", [Column::real("cpu", Unit::Seconds)]);
        table.push([0.25.into()]).unwrap();
        let record = RunRecord {
            schema: "x/1".into(),
            command: "stillwatt x".into(),
            peers: vec![("cyclone".into(), "0.10.2".into())],
            seed: Some(7),
            tables: vec![table],
            ..RunRecord::default()
        };
        let json = record.to_json();
        assert_eq!(json["tables"]["idle"][0]["cpu_seconds"], 0.25);
        assert_eq!(json["peers"]["cyclone"], "0.10.2");
        assert_eq!((json["seed"].as_u64(), json["load_start"].is_null()), (Some(7), true));
        assert_eq!(json["command"], "stillwatt x");
        assert!(record.table("idle").is_some() && record.table("other").is_none());
    }
}
