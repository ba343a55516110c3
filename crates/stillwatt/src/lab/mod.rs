//! `stillwatt lab`: the studies of published papers, made again with our stack beside what the papers used.

mod output_folder;
mod regale;

use clap::Subcommand;

use crate::output::Output;
use crate::report::{Exit, Failure};

/// The studies, by paper.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// The REGALE library: an open architecture for power stacks on DDS
    #[command(subcommand)]
    Regale(regale::RegaleCommand),
}

impl LabCommand {
    /// Makes the study.
    ///
    /// # Errors
    /// When it cannot be made here, or its files cannot be written.
    pub(crate) fn run(&self, output: &mut Output) -> Result<Exit, Failure> {
        match self {
            Self::Regale(command) => command.run(output),
        }
    }
}
