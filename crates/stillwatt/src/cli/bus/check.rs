//! `bus check`: what XML files of the Fast DDS dialect mean here. Reads the files.

use std::path::PathBuf;

use bus::xml::read::read;
use bus::xml::{Document, Profiles, Severity, Types, XmlError};
use clap::Args;
use serde_json::json;

use super::profile_json::{finding_json, profiles_json};
use super::type_json::types_json;
use crate::output::{Output, plain};
use crate::report::{Exit, Failure};

/// Files may refer to each other. What has no effect here is told on stderr with its line. Exit code 2 when a file is
/// refused or hardly means what it says.
#[derive(Args, Debug)]
pub(in crate::cli) struct CheckArguments {
    /// XML files with profiles and types
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the JSON in one line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &CheckArguments, output: &mut Output) -> Result<Exit, Failure> {
    let documents: Vec<Document> =
        arguments.files.iter().map(|file| read(file)).collect::<Result<_, _>>().map_err(refused)?;
    let profiles = Profiles::load(&documents).map_err(refused)?;
    let types = Types::load(&documents).map_err(refused)?;
    let findings: Vec<_> = profiles.findings.iter().chain(&types.findings).collect();
    for finding in &findings {
        eprintln!("{}", plain(&finding.to_string()));
    }
    let mut object = json!({
        "schema": "stillwatt.bus.check/1",
        "files": arguments.files,
        "findings": findings.iter().map(|finding| finding_json(finding)).collect::<Vec<_>>(),
        "types": types_json(&types),
    });
    if let (Some(object), Some(profiles)) = (object.as_object_mut(), profiles_json(&profiles).as_object_mut())
    {
        object.append(profiles);
    }
    output.line(&if arguments.json { object.to_string() } else { format!("{object:#}") })?;
    let is_bad = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if is_bad { Exit::Usage } else { Exit::Done })
}

/// The failure for a file that cannot be used.
pub(super) fn refused(error: XmlError) -> Failure {
    let message = plain(&format!("{}: {}", error.place, error.what)).into_owned();
    Failure::new(Exit::Usage, message).with_remedy(plain(&error.remedy).into_owned())
}
