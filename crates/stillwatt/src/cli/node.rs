//! `node sensors` and `node read`: what this machine can tell, and what it tells now. Touches the machine through
//! `node` only.

use std::time::Duration;

use clap::Subcommand;
use node::{Absent, Bounded, Node, NodeSample, Reading, SensorReport};
use serde_json::{Value as Json, json};

use super::quantity;
use super::table::Columns;
use crate::machine::MachineChoice;
use crate::output::Output;
use crate::report::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum NodeCommand {
    /// List the sensors of this machine: what they read, how often, what they need and what they find
    Sensors {
        #[command(flatten)]
        machine: MachineChoice,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read every sensor once over an interval
    Read {
        #[command(flatten)]
        machine: MachineChoice,
        /// Interval over which power and utilisation are taken
        #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = units::parse_duration)]
        period: Duration,
        /// Only metrics whose name begins with this
        #[arg(long, value_name = "PREFIX", default_value = "")]
        metric: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub(super) fn run(command: &NodeCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        NodeCommand::Sensors { machine, json } => sensors(&mut machine.open()?, *json, output),
        NodeCommand::Read { machine, period, metric, json } => {
            read(&mut machine.open()?, *period, metric, *json, output)
        }
    }
}

fn sensors(node: &mut Node, is_json: bool, output: &mut Output) -> Result<Exit, Failure> {
    let reports = node.discover();
    let exit = if reports.iter().any(|report| report.present > 0) { Exit::Done } else { Exit::NotAvailable };
    if is_json {
        let list: Vec<_> = reports.iter().map(sensor_json).collect();
        output.line(
            &json!({"schema": "stillwatt.sensors/1", "machine": node.root().describe(), "sensors": list})
                .to_string(),
        )?;
        return Ok(exit);
    }
    let mut columns = Columns::new(&["sensor", "gives", "source", ">every", "needs", ">values", "missing"]);
    for SensorReport { info, present, absent } in &reports {
        let gives: Vec<_> = info.quantities.iter().map(|quantity| quantity.name()).collect();
        let missing: Vec<_> = absent.iter().map(ToString::to_string).collect();
        columns.push([
            info.id.clone(),
            gives.join(", "),
            info.source.to_string(),
            quantity::duration(info.update_period),
            info.permission.to_owned(),
            present.to_string(),
            missing.join("; "),
        ]);
    }
    output.line(&columns.text())?;
    Ok(exit)
}

fn sensor_json(SensorReport { info, present, absent }: &SensorReport) -> Json {
    let quantities =
        info.quantities.iter().map(|quantity| json!({"name": quantity.name(), "unit": quantity.unit()}));
    json!({
        "id": info.id,
        "source": info.source.name(),
        "quantities": quantities.collect::<Vec<_>>(),
        "update_period_seconds": info.update_period.as_secs_f64(),
        "permission": info.permission,
        "cost": info.cost,
        "notes": info.notes,
        "values_present": present,
        "absent": absent.iter().map(absent_json).collect::<Vec<_>>(),
    })
}

pub(super) fn absent_json(absent: &Absent) -> Json {
    json!({
        "reason": absent.reason.name(),
        "file": absent.file,
        "detail": absent.detail,
        "remedy": absent.remedy,
    })
}

fn read(
    node: &mut Node,
    period: Duration,
    metric: &str,
    is_json: bool,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if period < PERIOD_MIN || period > PERIOD_MAX {
        let text = format!("--period {} is out of range", quantity::duration(period));
        return Err(
            Failure::new(Exit::Usage, text).with_remedy("choose 10 ms to 1 h; counters tick every 10 ms")
        );
    }
    node.sample();
    node::clock::sleep(period);
    let mut sample = node.sample();
    sample.readings.retain(|reading| reading.metric.starts_with(metric));
    if sample.readings.is_empty() {
        return Err(Failure::new(Exit::Usage, format!("no metric begins with {metric:?}"))
            .with_remedy("run `stillwatt node read` without --metric to see the names"));
    }
    if is_json {
        output.line(&sample_json(node, &sample).to_string())?;
    } else {
        output.line(&sample_table(&sample, metric.is_empty()))?;
    }
    let is_any = sample.readings.iter().any(|reading| reading.outcome.is_ok());
    Ok(if is_any { Exit::Done } else { Exit::NotAvailable })
}

fn sample_table(sample: &NodeSample, with_power: bool) -> String {
    let mut columns = Columns::new(&["metric", "of", ">value", "bounds", "quality", "source", "remark"]);
    if with_power {
        columns.push(match &sample.power.total {
            Ok(figure) => {
                let power = figure.power.map(units::Watts::get);
                let covers = format!("covers {}", figure.coverage);
                let source = quantity::power_source(figure);
                cells(
                    "power",
                    "node",
                    quantity::of(node::Quantity::Power, power),
                    figure.quality.name(),
                    source,
                    covers,
                )
            }
            Err(absent) => cells("power", "node", absent_value(), "", String::new(), absent.to_string()),
        });
    }
    for Reading { metric, domain, source, outcome, .. } in &sample.readings {
        let domain = domain.to_string();
        columns.push(match outcome {
            Ok(measurement) => {
                let shown = quantity::of(measurement.value.quantity(), measurement.value.numbers());
                let flags = measurement.flags.to_string();
                cells(metric, &domain, shown, measurement.quality.name(), source.to_string(), flags)
            }
            Err(absent) => cells(metric, &domain, absent_value(), "", source.to_string(), absent.to_string()),
        });
    }
    columns.text()
}

fn absent_value() -> (String, String) {
    ("–".to_owned(), String::new())
}

fn cells(
    metric: &str,
    domain: &str,
    (value, bounds): (String, String),
    quality: &str,
    source: String,
    remark: String,
) -> [String; 7] {
    [metric.to_owned(), domain.to_owned(), value, bounds, quality.to_owned(), source, remark]
}

fn sample_json(node: &Node, sample: &NodeSample) -> Json {
    let power = match &sample.power.total {
        Ok(figure) => json!({
            "value_watts": figure.power.value.get(),
            "low_watts": figure.power.low.get(),
            "high_watts": figure.power.high.get(),
            "energy_joules": figure.energy.value.get(),
            "interval_seconds": (figure.end - figure.start).as_secs_f64(),
            "quality": figure.quality.name(),
            "flags": figure.flags.names().collect::<Vec<_>>(),
            "source": quantity::power_source(figure),
            "coverage": figure.coverage.name(),
            "absent": null,
        }),
        Err(absent) => json!({"value_watts": null, "absent": absent_json(absent)}),
    };
    let readings: Vec<_> = sample.readings.iter().map(reading_json).collect();
    json!({
        "schema": "stillwatt.readings/1",
        "time_unix_seconds": node::clock::wall().unix_seconds(),
        "machine": node.root().describe(),
        "power": power,
        "readings": readings,
    })
}

fn reading_json(reading: &Reading) -> Json {
    let mut object = json!({
        "metric": reading.metric,
        "domain": reading.domain.to_string(),
        "source": reading.source.name(),
        "interval_seconds": (reading.end - reading.start).as_secs_f64(),
    });
    match &reading.outcome {
        Ok(measurement) => {
            let Bounded { value, low, high } = measurement.value.numbers();
            let suffix = quantity::suffix(measurement.value.quantity());
            object[format!("value_{suffix}")] = json!(value);
            object[format!("low_{suffix}")] = json!(low);
            object[format!("high_{suffix}")] = json!(high);
            object["quality"] = json!(measurement.quality.name());
            object["flags"] = json!(measurement.flags.names().collect::<Vec<_>>());
            object["absent"] = Json::Null;
        }
        Err(absent) => object["absent"] = absent_json(absent),
    }
    object
}

/// Counters of the kernel tick this often.
const PERIOD_MIN: Duration = Duration::from_millis(10);
/// Longer intervals may hide more than one wrap of an energy counter.
const PERIOD_MAX: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;
    use node::MemoryRoot;
    use std::sync::Arc;

    fn machine() -> Node {
        let root: MemoryRoot = [
            ("proc/stat", "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\n"),
            ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n"),
            ("proc/loadavg", "0.50 0.25 0.10 1/2 3\n"),
            ("sys/devices/system/cpu/online", "0\n"),
        ]
        .into_iter()
        .collect();
        Node::open(Arc::new(root))
    }

    /// Memory is shown with its unit, and a missing sensor with its reason and never as zero.
    #[test]
    fn table_has_units_and_reasons() {
        let mut node = machine();
        let text = sample_table(&node.sample(), true);
        let line = text.lines().find(|line| line.starts_with("memory.used")).unwrap();
        assert!(line.contains("600.0 kB") || line.contains("600"), "{line}");
        assert!(text.contains("unavailable"), "{text}");
    }

    /// Names in JSON end in the SI unit and absent values carry file and reason.
    #[test]
    fn json_names_end_in_units() {
        let mut node = machine();
        let sample = node.sample();
        let object = sample_json(&node, &sample);
        let readings = object["readings"].as_array().unwrap();
        let memory = readings.iter().find(|reading| reading["metric"] == "memory.total").unwrap();
        assert_eq!(memory["value_bytes"], 1_024_000.0);
        for reading in readings {
            let has_value = reading.as_object().unwrap().keys().any(|key| key.starts_with("value_"));
            assert_ne!(has_value, reading["absent"].is_object(), "{reading}");
        }
    }
}
