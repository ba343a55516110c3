//! `bus pub`: writes samples given as JSON to a topic.

use std::sync::Arc;
use std::time::Duration;

use bus::UntypedPublisher;
use clap::Args;
use rtps::types::{DynamicValue, StructType};
use serde_json::{Value as Json, json};

use crate::domain::DomainChoice;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::report::{Exit, Failure};
use crate::{dynamic_json, known_types};

#[derive(Args, Debug)]
pub(in crate::cli) struct PublishArguments {
    /// The topic
    topic: String,
    /// The sample as a JSON object; members that are left away are zero
    sample: String,
    #[command(flatten)]
    domain: DomainChoice,
    /// The type's name; without it the product's own for its topics
    #[arg(long = "type", value_name = "NAME")]
    type_name: Option<String>,
    /// Partitions to write to; may be repeated. Default: the nameless one
    #[arg(long, value_name = "PARTITION")]
    partition: Vec<String>,
    /// Write this many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,
    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = units::parse_duration)]
    period: Duration,
    /// How long to wait for a first subscriber
    #[arg(long, value_name = "TIME", default_value = "5 s", value_parser = units::parse_duration)]
    wait: Duration,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &PublishArguments, output: &mut Output) -> Result<Exit, Failure> {
    let structure = structure(arguments)?;
    let sample = sample(&structure, &arguments.sample)?;
    let mut interrupt = Interrupt::install()?;
    let participant = arguments.domain.join("stillwatt bus pub")?;
    let known = known_types::topic(&arguments.topic);
    let mut builder = participant.dynamic_publisher(&arguments.topic, structure).reliable().keep_last(DEPTH);
    if known.is_some_and(|known| known.is_transient_local) {
        builder = builder.transient_local();
    }
    if !arguments.partition.is_empty() {
        builder = builder.partitions(arguments.partition.clone());
    }
    let publisher = builder.build().map_err(|error| Failure::from_error(Exit::Usage, error))?;
    wait_for_subscriber(arguments, &publisher, &mut interrupt)?;
    let mut written = 0;
    let mut next = node::clock::monotonic();
    while written < arguments.count && !interrupt.wait_until(next) {
        publisher.write(&sample).map_err(|error| Failure::from_error(Exit::Failed, error))?;
        written += 1;
        next = next + arguments.period;
    }
    if !publisher.wait_for_acknowledgements(ACKNOWLEDGE_MAX) {
        let text = format!("not every subscriber acknowledged within {ACKNOWLEDGE_MAX:?}");
        return Err(
            Failure::new(Exit::Failed, text).with_remedy("look for a reader that does not take its samples")
        );
    }
    let subscribers = publisher.matched().total;
    if arguments.json {
        let object = json!({
            "schema": "stillwatt.published/1",
            "topic": arguments.topic,
            "samples_written_total": written,
            "subscribers_total": subscribers,
        });
        output.line(&object.to_string())?;
    } else {
        let plural = if subscribers == 1 { "" } else { "s" };
        eprintln!("wrote {written} to {subscribers} subscriber{plural} of {:?}", arguments.topic);
    }
    Ok(Exit::Done)
}

fn structure(arguments: &PublishArguments) -> Result<Arc<StructType>, Failure> {
    let found = match &arguments.type_name {
        Some(name) => known_types::structure(name),
        None => known_types::topic(&arguments.topic).map(|known| known.structure),
    };
    found.ok_or_else(|| {
        let names: Vec<_> =
            known_types::topics().iter().map(|topic| topic.structure.name().to_owned()).collect();
        let text = match &arguments.type_name {
            Some(name) => format!("type {name:?} is not known here"),
            None => {
                format!("topic {:?} is not one of the product's, so its type must be given", arguments.topic)
            }
        };
        Failure::new(Exit::Usage, text)
            .with_remedy(format!("give one of these with --type: {}", names.join(", ")))
    })
}

fn sample(structure: &Arc<StructType>, text: &str) -> Result<DynamicValue, Failure> {
    let json: Json = serde_json::from_str(text).map_err(|error| {
        Failure::new(Exit::Usage, format!("the sample is not JSON: {error}"))
            .with_remedy("write for example '{\"host\": \"n1\"}', in single quotes for the shell")
    })?;
    dynamic_json::from_json(structure, &json).map_err(|error| {
        let members: Vec<_> = structure.members().iter().map(|m| format!("{}: {}", m.name, m.ty)).collect();
        Failure::from_error(Exit::Usage, error).with_remedy(format!(
            "{} has these members: {}",
            structure.name(),
            members.join(", ")
        ))
    })
}

fn wait_for_subscriber(
    arguments: &PublishArguments,
    publisher: &UntypedPublisher,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let end = node::clock::monotonic() + arguments.wait;
    while !publisher.wait_for_match(1, LOOK_PERIOD.min(end - node::clock::monotonic())) {
        if interrupt.is_set() || node::clock::monotonic() >= end {
            let text = format!(
                "nobody subscribes to {:?} in domain {} (waited {:?})",
                arguments.topic,
                arguments.domain.number(),
                arguments.wait
            );
            return Err(Failure::new(Exit::Failed, text).with_remedy(format!(
                "start a subscriber first; `stillwatt bus ls --domain {}` shows readers and partitions",
                arguments.domain.number()
            )));
        }
    }
    Ok(())
}

/// How often signals are looked for while waiting.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// Samples kept until they are acknowledged.
const DEPTH: u32 = 64;
/// How long acknowledgements are waited for at the end.
const ACKNOWLEDGE_MAX: Duration = Duration::from_secs(5);

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
