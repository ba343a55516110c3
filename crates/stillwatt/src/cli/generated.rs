#![expect(clippy::disallowed_methods, reason = "I/O shell: writes the manual pages")]
//! What is generated from the command definition: shell completions and manual pages. Touches the directory named.

use std::path::Path;

use clap::CommandFactory;

use super::{Cli, Output};
use crate::report::{Exit, Failure};

pub(super) fn completions(shell: clap_complete::Shell, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stillwatt", &mut script);
    output.write(&script)?;
    Ok(Exit::Done)
}

pub(super) fn manual(directory: &Path, output: &mut Output) -> Result<Exit, Failure> {
    let fault = |error: std::io::Error| {
        Failure::new(Exit::Failed, format!("cannot write the manual pages into {}", directory.display()))
            .with_remedy("name a directory that you may write to")
            .with_source(error)
    };
    std::fs::create_dir_all(directory).map_err(fault)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(fault)?;
    output.line(&directory.display().to_string())?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each shell's script names the commands.
    #[test]
    fn completions_name_the_commands() {
        use clap::ValueEnum;
        for shell in clap_complete::Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "stillwatt", &mut script);
            assert!(String::from_utf8(script).unwrap().contains("completions"), "{shell}");
        }
    }
}
