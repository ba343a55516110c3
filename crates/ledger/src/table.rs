//! A table: columns with name, type and unit, rows that keep to them.

use serde_json::{Map, Value};

use crate::csv;

/// What a column's numbers count. Base units of the SI only, so that a number needs no guessing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A text, a flag, a count, a ratio.
    None,
    /// s
    Seconds,
    /// B
    Bytes,
    /// 1/s
    PerSecond,
    /// B/s
    BytesPerSecond,
    /// W
    Watts,
    /// J
    Joules,
    /// Hz
    Hertz,
}

impl Unit {
    /// What a column's heading ends in, without the separating `_`.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::PerSecond => "per_second",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Watts => "watts",
            Self::Joules => "joules",
            Self::Hertz => "hertz",
        }
    }
}

/// What a column's cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Yes or no.
    Flag,
}

/// A column: what its cells are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    name: &'static str,
    kind: Kind,
    unit: Unit,
}

impl Column {
    /// A column of numbers with a unit.
    pub const fn real(name: &'static str, unit: Unit) -> Self {
        Self { name, kind: Kind::Real, unit }
    }

    /// A column of whole numbers with a unit.
    pub const fn integer(name: &'static str, unit: Unit) -> Self {
        Self { name, kind: Kind::Integer, unit }
    }

    /// A column of text.
    pub const fn text(name: &'static str) -> Self {
        Self { name, kind: Kind::Text, unit: Unit::None }
    }

    /// A column of yes or no.
    pub const fn flag(name: &'static str) -> Self {
        Self { name, kind: Kind::Flag, unit: Unit::None }
    }

    /// The name without the unit.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What its cells are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What its numbers count.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The name in files: with the unit at its end, as in `latency_p99_seconds`.
    pub fn heading(&self) -> String {
        match self.unit.suffix() {
            "" => self.name.to_owned(),
            suffix => format!("{}_{suffix}", self.name),
        }
    }
}

/// One cell. A number that is not finite is kept as missing, since neither CSV nor JSON can say it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing was measured.
    Missing,
    /// Text.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl Cell {
    fn fits(&self, kind: Kind) -> bool {
        match self {
            Self::Missing => true,
            Self::Text(_) => kind == Kind::Text,
            Self::Integer(_) => kind == Kind::Integer,
            Self::Real(_) => kind == Kind::Real,
            Self::Flag(_) => kind == Kind::Flag,
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Text(text) => Value::from(text.as_str()),
            Self::Integer(number) => Value::from(*number),
            Self::Real(number) => Value::from(*number),
            Self::Flag(flag) => Value::from(*flag),
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Text(text) => csv::field(text),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Real(number) } else { Self::Missing }
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Missing, Into::into)
    }
}

/// A row does not fit its table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// It has too many or too few cells.
    #[error("table {table}: a row has {cells} cells for {columns} columns")]
    Width {
        /// The table.
        table: String,
        /// Cells of the row.
        cells: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// A cell is of another kind than its column.
    #[error("table {table}: column {column} takes {wanted:?}")]
    Kind {
        /// The table.
        table: String,
        /// The column's heading.
        column: String,
        /// What it takes.
        wanted: Kind,
    },
}

/// Rows under typed columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    name: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(name: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Self {
        Self { name: name.into(), columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Its name, fit for a file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its rows, each as long as there are columns.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Appends a row.
    ///
    /// # Errors
    /// When the number of cells or the kind of one is not the columns'; the table is then as before.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) -> Result<(), RowError> {
        let row: Vec<Cell> = row.into_iter().collect();
        if row.len() != self.columns.len() {
            return Err(RowError::Width {
                table: self.name.clone(),
                cells: row.len(),
                columns: self.columns.len(),
            });
        }
        if let Some((column, _)) =
            self.columns.iter().zip(&row).find(|(column, cell)| !cell.fits(column.kind))
        {
            return Err(RowError::Kind {
                table: self.name.clone(),
                column: column.heading(),
                wanted: column.kind,
            });
        }
        self.rows.push(row);
        Ok(())
    }

    /// One JSON object a row; a missing cell is `null`.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let members = self.columns.iter().zip(row).map(|(column, cell)| (column.heading(), cell.json()));
            Value::Object(Map::from_iter(members))
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    /// Comma-separated values with a heading line (RFC 4180, lines ended by LF); a missing cell is empty.
    pub fn to_csv(&self) -> String {
        let headings = self.columns.iter().map(|column| csv::field(&column.heading())).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::csv).collect());
        csv::lines(std::iter::once(headings).chain(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(
            "sample",
            [
                Column::text("peer"),
                Column::integer("size", Unit::Bytes),
                Column::real("latency_p50", Unit::Seconds),
                Column::flag("reliable"),
            ],
        );
        table.push(["a, \"b\"".into(), 64_u64.into(), 1.5e-6.into(), true.into()]).unwrap();
        table.push(["c".into(), Cell::Missing, f64::NAN.into(), false.into()]).unwrap();
        table
    }

    /// Units are in the headings, text is quoted where needed, nothing measured is nothing written.
    #[test]
    fn csv_says_units() {
        let wanted = "peer,size_bytes,latency_p50_seconds,reliable\n\
                      \"a, \"\"b\"\"\",64,0.0000015,true\n\
                      c,,,false\n";
        assert_eq!(sample().to_csv(), wanted);
    }

    /// The same as JSON, in the order of the columns.
    #[test]
    fn json_says_units() {
        let wanted = r#"[{"peer":"a, \"b\"","size_bytes":64,"latency_p50_seconds":1.5e-6,"reliable":true},{"peer":"c","size_bytes":null,"latency_p50_seconds":null,"reliable":false}]"#;
        assert_eq!(sample().to_json().to_string(), wanted);
    }

    /// A row that does not fit is refused and leaves the table as it was.
    #[test]
    fn rows_fit_columns() {
        let mut table = sample();
        let error = table.push(["d".into()]).unwrap_err();
        assert_eq!(error.to_string(), "table sample: a row has 1 cells for 4 columns");
        let error = table.push(["d".into(), 1.5.into(), Cell::Missing, true.into()]).unwrap_err();
        assert_eq!(error.to_string(), "table sample: column size_bytes takes Integer");
        assert_eq!(table.rows().len(), 2);
    }
}
