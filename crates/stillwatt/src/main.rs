//! The `stillwatt` program: hands the arguments to the library and ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    stillwatt::cli::main(std::env::args_os())
}
