#![expect(clippy::disallowed_methods, reason = "I/O shell: writes the files of a study")]
//! The folder that a study writes its tables and figures to.

use std::fs;
use std::path::{Path, PathBuf};

use ledger::figure::Figure;
use ledger::{RunRecord, Table};

use crate::report::{Exit, Failure};

/// A folder that exists and can be written.
#[derive(Debug)]
pub(super) struct OutputFolder {
    path: PathBuf,
    /// Files written so far, in order.
    written: Vec<PathBuf>,
}

impl OutputFolder {
    /// Makes the folder where it is missing.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(path).map_err(|error| {
            Failure::new(Exit::Failed, format!("the folder {} cannot be made", path.display()))
                .with_remedy("--out names a folder that you may write")
                .with_source(error)
        })?;
        Ok(Self { path: path.to_owned(), written: Vec::new() })
    }

    /// A table as CSV.
    pub(super) fn table(&mut self, table: &Table) -> Result<(), Failure> {
        self.write(&format!("{}.csv", table.name()), table.to_csv().as_bytes())
    }

    /// A figure as SVG and as PDF.
    pub(super) fn figure(&mut self, name: &str, figure: &Figure) -> Result<(), Failure> {
        self.write(&format!("{name}.svg"), figure.to_svg().as_bytes())?;
        self.write(&format!("{name}.pdf"), &figure.to_pdf())
    }

    /// The whole record as JSON.
    pub(super) fn record(&mut self, record: &RunRecord) -> Result<(), Failure> {
        self.write("record.json", format!("{:#}\n", record.to_json()).as_bytes())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        fs::write(&path, bytes).map_err(|error| {
            Failure::new(Exit::Failed, format!("{} cannot be written", path.display()))
                .with_remedy("check that the disk has room and the folder is yours")
                .with_source(error)
        })?;
        self.written.push(path);
        Ok(())
    }

    /// What was written.
    pub(super) fn written(&self) -> &[PathBuf] {
        &self.written
    }
}
