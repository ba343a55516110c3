//! Tables for people: aligned columns, no rules, as wide as the terminal. Asks the terminal for its width.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Row, Table};

use crate::output::plain;

/// A table being filled. Columns whose title begins with `>` are aligned right.
#[derive(Debug)]
pub(crate) struct Columns {
    table: Table,
    is_right: Vec<bool>,
}

impl Columns {
    /// A table with these column titles.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let is_right: Vec<_> = titles.iter().map(|title| title.starts_with('>')).collect();
        let mut table = Table::new();
        table.load_style(NOTHING);
        if let Some((terminal_size::Width(width), _)) = terminal_size::terminal_size() {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(WIDTH_MIN));
        }
        let titles = titles.iter().map(|title| title.trim_start_matches('>').to_uppercase());
        table.set_header(row(titles, &is_right));
        Self { table, is_right }
    }

    /// Appends a row.
    pub(crate) fn push<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(|cell| plain(&cell.into()).into_owned());
        self.table.add_row(row(cells, &self.is_right));
    }

    /// The table's lines.
    pub(crate) fn text(&self) -> String {
        let lines =
            self.table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn row(cells: impl Iterator<Item = String>, is_right: &[bool]) -> Row {
    let aligned = cells.zip(is_right).map(|(text, is_right)| {
        Cell::new(text).set_alignment(if *is_right { CellAlignment::Right } else { CellAlignment::Left })
    });
    Row::from(aligned.collect::<Vec<_>>())
}

/// A narrower terminal gets lines that are longer than it.
const WIDTH_MIN: u16 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns line up and numbers are aligned right.
    #[test]
    fn columns_line_up() {
        let mut columns = Columns::new(&["name", ">value"]);
        columns.push(["a", "1 W"]);
        columns.push(["longer", "100 W"]);
        assert_eq!(columns.text(), "NAME    VALUE\na         1 W\nlonger  100 W");
    }
}
