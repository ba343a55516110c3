//! `bus pub`: writes samples given as JSON to a topic.

use std::time::Duration;

use bus::UntypedPublisher;
use clap::Args;
use serde_json::json;

use super::sample_type::{SampleType, sample};
use crate::domain::DomainChoice;
use crate::interrupt::Interrupt;
use crate::known_types;
use crate::output::Output;
use crate::report::{Exit, Failure};

#[derive(Args, Debug)]
pub(in crate::cli) struct PublishArguments {
    /// The topic
    topic: String,
    /// The sample as a JSON object; members that are left away are zero
    sample: String,
    #[command(flatten)]
    domain: DomainChoice,
    #[command(flatten)]
    sample_type: SampleType,
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
    let structure = arguments.sample_type.of_topic(&arguments.topic)?;
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
