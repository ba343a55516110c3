//! A bench's record for people: what ran where, the figures with units fit to read, the aims beside them.

use ledger::{RunRecord, Table, Unit};

use super::spread::Spread;
use super::targets::{Aim, AimUnit, Verdict};
use crate::cli::table::Columns;
use crate::output::Output;
use crate::report::{Exit, Failure};

/// How the record is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Tables.
    People,
    /// One JSON object.
    Json,
    /// The first table as comma-separated values.
    Csv,
}

/// Prints a record. `tables` are those for people, in their order.
pub(crate) fn print(
    record: &RunRecord,
    tables: &[Columns],
    aims: &[Aim],
    form: Form,
    output: &mut Output,
) -> Result<(), Failure> {
    match form {
        Form::Json => output.line(&record.to_json().to_string()),
        Form::Csv => {
            // Where the numbers come from is talk, beside the data.
            eprintln!("{}", heading(record));
            record.tables.first().map_or(Ok(()), |table| output.write(table.to_csv().as_bytes()))
        }
        Form::People => {
            output.line(&heading(record))?;
            for table in tables {
                output.line("")?;
                output.line(&table.text())?;
            }
            if !aims.is_empty() {
                output.line("")?;
                output.line(&aims_for_people(aims).text())?;
            }
            Ok(())
        }
    }
}

/// The lines above the tables.
fn heading(record: &RunRecord) -> String {
    let mut lines = vec![record.command.clone()];
    let governor =
        if record.governor.is_empty() { String::new() } else { format!(", {} governor", record.governor) };
    let load = record.load_start.map(|load| format!(", load {load:.2}")).unwrap_or_default();
    lines.push(format!(
        "{}: kernel {}, {}, CPUs {}{governor}{load}, {}",
        record.host, record.kernel, record.processor, record.core_set, record.started
    ));
    let peers = record.peers.iter().map(|(name, version)| format!(", {name} {version}"));
    lines.push(format!("stillwatt {}{}", record.version, peers.collect::<String>()));
    lines.extend(record.remarks.iter().cloned());
    lines.join("\n")
}

fn aims_for_people(aims: &[Aim]) -> Columns {
    let mut columns =
        Columns::new(&["aim", ">measured", ">(lowest", ">highest)", ">limit", ">stretch", "verdict"]);
    for aim in aims {
        let shown = |value: Option<f64>| value.map(|value| aim.unit.shown(value)).unwrap_or_default();
        let part = |part: fn(Spread) -> f64| shown(aim.measured.map(part));
        let sign = if aim.is_ceiling { "<=" } else { ">=" };
        columns.push([
            aim.figure.clone(),
            part(|spread| spread.median),
            part(|spread| spread.lowest),
            part(|spread| spread.highest),
            format!("{sign} {}", aim.unit.shown(aim.limit)),
            shown(aim.stretch),
            aim.verdict().name().to_owned(),
        ]);
    }
    columns
}

impl AimUnit {
    fn shown(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value:.2}"),
            Self::Seconds => format!("{value:.2} s"),
            Self::PerSecond => format!("{value:.2} /s"),
            Self::Share => format!("{:.4} %", value * 100.0),
            Self::Bytes => format!("{:.2} MB", value / 1e6),
            Self::Count => format!("{value:.0}"),
        }
    }
}

/// The aims as a table of the record.
pub(crate) fn aims_table(aims: &[Aim]) -> Result<Table, Failure> {
    use ledger::{Cell, Column};
    let numbers = ["measured", "lowest", "highest", "limit", "stretch"];
    let mut columns = vec![Column::text("aim")];
    columns.extend(numbers.map(|name| Column::real(name, Unit::None)));
    columns.extend([Column::text("unit"), Column::flag("ceiling"), Column::text("verdict")]);
    let mut table = Table::new("aims", columns);
    for aim in aims {
        let unit = match aim.unit {
            AimUnit::Times => "times",
            AimUnit::Seconds => "seconds",
            AimUnit::PerSecond => "per_second",
            AimUnit::Share => "share",
            AimUnit::Bytes => "bytes",
            AimUnit::Count => "count",
        };
        let part = |part: fn(Spread) -> f64| Cell::from(aim.measured.map(part));
        let row = [
            aim.figure.clone().into(),
            part(|spread| spread.median),
            part(|spread| spread.lowest),
            part(|spread| spread.highest),
            aim.limit.into(),
            aim.stretch.into(),
            unit.into(),
            aim.is_ceiling.into(),
            aim.verdict().name().into(),
        ];
        table.push(row).map_err(|error| Failure::from_error(Exit::Failed, error))?;
    }
    Ok(table)
}

/// How a bench ends: well, unless it was asked to check its aims and one is missed.
pub(crate) fn exit(aims: &[Aim], is_check: bool) -> Exit {
    let is_missed = aims.iter().any(|aim| aim.verdict() == Verdict::Missed);
    if is_check && is_missed { Exit::ThresholdMissed } else { Exit::Done }
}

/// Seconds as microseconds.
pub(crate) fn micros(seconds: f64) -> String {
    let micros = seconds * 1e6;
    if micros < 100.0 { format!("{micros:.2}") } else { format!("{micros:.0}") }
}

/// A ratio, empty where there is none.
pub(crate) fn times(ratio: Option<Spread>) -> String {
    ratio.map(|ratio| format!("{:.2}", ratio.median)).unwrap_or_default()
}
