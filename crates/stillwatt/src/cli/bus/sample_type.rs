//! Which type the samples of a command have: the product's own, or one that XML files describe. Reads the files.

use std::path::PathBuf;
use std::sync::Arc;

use bus::xml::read::read_types;
use bus::xml::{Layout, Types};
use clap::Args;
use rtps::types::{DynamicValue, StructType};
use serde_json::Value as Json;

use super::check::refused;
use crate::output::plain;
use crate::report::{Exit, Failure};
use crate::{dynamic_json, known_types};

#[derive(Args, Debug)]
pub(super) struct SampleType {
    /// XML files of the Fast DDS dialect that describe types; may be repeated
    #[arg(long = "types", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Make of the files what Fast DDS 2 makes of them: other bitsets and wide text, no enumerator values, no keys
    #[arg(long)]
    fast_dds_2: bool,
    /// The type's name; without it the product's own for its topics, or the one that a writer announces
    #[arg(long = "type", value_name = "NAME")]
    name: Option<String>,
}

/// The product's types and those of some files.
#[derive(Debug)]
pub(super) struct SampleTypes {
    described: Option<Types>,
}

impl SampleType {
    /// The name that was asked for.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Reads the files; tells on stderr what in them has no effect.
    pub(super) fn load(&self) -> Result<SampleTypes, Failure> {
        if self.files.is_empty() {
            return Ok(SampleTypes { described: None });
        }
        let layout = if self.fast_dds_2 { Layout::FastDds2 } else { Layout::Standard };
        let types = read_types(&self.files, layout).map_err(refused)?;
        for finding in &types.findings {
            eprintln!("{}", plain(&finding.to_string()));
        }
        Ok(SampleTypes { described: Some(types) })
    }

    /// The type of this name, which must have been given.
    pub(super) fn structure(&self) -> Result<Arc<StructType>, Failure> {
        let types = self.load()?;
        match &self.name {
            Some(name) => types.described(name),
            None => Err(Failure::new(Exit::Usage, "no type is named").with_remedy("give its name by --type")),
        }
    }

    /// The type of this name, or the product's own for a topic.
    pub(super) fn of_topic(&self, topic: &str) -> Result<Arc<StructType>, Failure> {
        if self.name.is_some() {
            return self.structure();
        }
        self.load()?;
        known_types::topic(topic).map(|known| known.structure).ok_or_else(|| {
            let text = format!("topic {topic:?} is not one of the product's, so its type must be given");
            Failure::new(Exit::Usage, text)
                .with_remedy(format!("give one of these with --type: {}", own_names()))
        })
    }
}

impl SampleTypes {
    /// Whether there are files.
    pub(super) fn has_files(&self) -> bool {
        self.described.is_some()
    }

    /// Whether a file describes a struct of this name.
    pub(super) fn has_described(&self, name: &str) -> bool {
        self.described.as_ref().is_some_and(|types| types.structure(name).is_some())
    }

    /// The struct of this name, if a file describes it or it is the product's own.
    pub(super) fn structure(&self, name: &str) -> Option<Arc<StructType>> {
        let described = self.described.as_ref().and_then(|types| types.structure(name));
        described.or_else(|| known_types::structure(name))
    }

    /// As [`SampleTypes::structure`], with an error that says which ones there are.
    pub(super) fn described(&self, name: &str) -> Result<Arc<StructType>, Failure> {
        if let Some(structure) = self.structure(name) {
            return Ok(structure);
        }
        match &self.described {
            Some(types) => types.lookup(name).map_err(|error| {
                let message = plain(&error.to_string()).into_owned();
                Failure::new(Exit::Usage, message).with_remedy("name one of these, or describe it in a file")
            }),
            None => {
                let text = format!("type {name:?} is not known here");
                let remedy = format!(
                    "give one of these with --type: {}; or the file that describes it by --types",
                    own_names()
                );
                Err(Failure::new(Exit::Usage, text).with_remedy(remedy))
            }
        }
    }
}

fn own_names() -> String {
    let names: Vec<_> = known_types::topics().iter().map(|topic| topic.structure.name().to_owned()).collect();
    names.join(", ")
}

/// A sample from the text of its JSON.
pub(super) fn sample(structure: &Arc<StructType>, text: &str) -> Result<DynamicValue, Failure> {
    let json: Json = serde_json::from_str(text).map_err(|error| {
        Failure::new(Exit::Usage, format!("the sample is not JSON: {error}"))
            .with_remedy("write for example '{\"host\": \"n1\"}', in single quotes for the shell")
    })?;
    dynamic_json::from_json(structure, &json).map_err(|error| {
        let members: Vec<_> = structure.members().iter().map(|m| format!("{}: {}", m.name, m.ty)).collect();
        let remedy = format!("{} has these members: {}", structure.name(), members.join(", "));
        Failure::from_error(Exit::Usage, error).with_remedy(plain(&remedy).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that is not JSON, an unknown member and a wrong value are usage errors that say what is right.
    #[test]
    fn bad_samples_are_explained() {
        let structure = known_types::topic("regale/event").unwrap().structure;
        for text in ["{", "[]", r#"{"nothing": 1}"#, r#"{"header": {"sequence": -1}}"#] {
            let failure = sample(&structure, text).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(format!("{:?}", miette::Report::new(failure)).contains("help:"), "{text}");
        }
        sample(&structure, r#"{"header": {"host": "n1"}}"#).unwrap();
    }
}
