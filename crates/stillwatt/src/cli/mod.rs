//! The command line: nouns then verbs, one table in the architecture's section 6a.
//!
//! Data goes to stdout, talk to stderr. Only what works is listed.

mod bus;
mod check;
mod doctor;
mod exec;
mod generated;
mod line;
mod multicast;
mod node;
mod quantity;
mod serve;
mod sim;
pub(crate) mod table;
mod up;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::output::Output;
use crate::report::{Exit, Failure};

/// A power stack for HPC nodes on a DDS bus, which does not disturb the jobs it steers.
///
/// Exit codes: 0 done, 1 failed, 2 usage or configuration wrong, 3 threshold missed, 4 not available here.
#[derive(Debug, Parser)]
#[command(
    name = "stillwatt",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring up a whole small PowerStack on this machine: node manager, monitor and dashboard
    Up(up::UpArguments),
    /// Run one role of the PowerStack in a process of its own
    #[command(subcommand)]
    Serve(serve::ServeRole),
    /// Run a command and tell its time, energy, mean power and mean frequency
    Exec(exec::ExecArguments),
    /// Look at a DDS domain, read and write its topics, measure the bus
    #[command(subcommand)]
    Bus(bus::BusCommand),
    /// Check what works on this machine, what does not, and what to do about it
    Doctor(doctor::DoctorArguments),
    /// Look at this machine: its sensors and what they say
    #[command(subcommand)]
    Node(node::NodeCommand),
    /// Make the studies of published papers again, with this stack beside what they used
    #[command(subcommand)]
    Lab(crate::lab::LabCommand),
    /// Run the bus's protocol on a virtual network: thousands of participants, days of churn
    #[command(subcommand)]
    Sim(sim::SimCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands into a directory
    Man {
        /// The directory, made if it is missing
        directory: PathBuf,
    },
}

/// Reads the arguments, runs the command, reports what went wrong on stderr and gives the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let exit = failure.exit();
            eprintln!("{:?}", miette::Report::new(failure));
            exit.into()
        }
    }
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    match cli.command {
        Command::Up(arguments) => up::run(&arguments, &mut output),
        Command::Serve(role) => serve::run(&role, &mut output),
        Command::Exec(arguments) => exec::run(&arguments),
        Command::Bus(command) => bus::run(&command, &mut output),
        Command::Doctor(arguments) => doctor::run(&arguments, &mut output),
        Command::Node(command) => node::run(&command, &mut output),
        Command::Lab(command) => command.run(&mut output),
        Command::Sim(command) => sim::run(&command, &mut output),
        Command::Completions { shell } => generated::completions(shell, &mut output),
        Command::Man { directory } => generated::manual(&directory, &mut output),
    }
}

/// Help and version are data; anything else that clap says is about usage.
fn usage(error: &clap::Error) -> ExitCode {
    // A reader that went away needs no message.
    let _ = error.print();
    let exit = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    };
    exit.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The definition is consistent.
    #[test]
    fn definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// Every command and every argument says what it is.
    #[test]
    fn everything_has_help() {
        fn visit(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{} has no text", command.get_name());
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {} has no text",
                    command.get_name(),
                    argument.get_id()
                );
            }
            command.get_subcommands().for_each(visit);
        }
        let mut command = Cli::command();
        command.build();
        command.get_subcommands().filter(|command| command.get_name() != "help").for_each(visit);
    }
}
