//! Measurements as a project can stand by them: tables whose columns have a type and a unit, the record of the run that
//! they come from, CSV and JSON to keep, figures to show.
//!
//! Pure: gives text and bytes; who calls it writes them. Touches nothing.

mod csv;
pub mod figure;
mod record;
mod table;

pub use record::RunRecord;
pub use table::{Cell, Column, Kind, RowError, Table, Unit};
