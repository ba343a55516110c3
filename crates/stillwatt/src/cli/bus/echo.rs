//! `bus echo`: prints the samples of a topic, decoded where the type is known, as octets where it is not.

use std::time::Duration;

use bus::{Data, DynamicData, EndpointInfo, Participant, UntypedSample, UntypedSubscriber};
use clap::Args;
use rtps::qos::{Durability, Reliability};
use serde_json::{Value as Json, json};
use units::Instant;

use super::sample_type::{SampleType, SampleTypes};
use crate::domain::DomainChoice;
use crate::dynamic_json;
use crate::interrupt::Interrupt;
use crate::known_types;
use crate::output::{Output, plain};
use crate::report::{Exit, Failure};

#[derive(Args, Debug)]
pub(in crate::cli) struct EchoArguments {
    /// The topic
    topic: String,
    #[command(flatten)]
    domain: DomainChoice,
    #[command(flatten)]
    sample_type: SampleType,
    /// Partitions to read from, `*` and `?` allowed; may be repeated. Default: every partition
    #[arg(long, value_name = "PARTITION")]
    partition: Vec<String>,
    /// Show only samples that meet an expression, such as `power_watts > 250 AND host LIKE 'rack%'`
    #[arg(long = "where", value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Stop after this many samples
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = units::parse_duration)]
    period: Option<Duration>,
    /// Print one JSON object a sample
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &EchoArguments, output: &mut Output) -> Result<Exit, Failure> {
    let mut interrupt = Interrupt::install()?;
    let end = arguments.period.map_or(Instant::MAX, |period| node::clock::monotonic() + period);
    let types = arguments.sample_type.load()?;
    if let Some(name) = arguments.sample_type.name().filter(|_| types.has_files()) {
        types.described(name)?;
    }
    let participant = arguments.domain.join("stillwatt bus echo")?;
    let Some(subscriber) = subscribe(arguments, &participant, &types, end, &mut interrupt)? else {
        return if interrupt.is_set() { Ok(Exit::Done) } else { missing(arguments) };
    };
    let mut seen = 0;
    while output.is_open() && arguments.count.is_none_or(|count| seen < count) {
        if interrupt.is_set() || node::clock::monotonic() >= end {
            break;
        }
        match subscriber.recv_timeout(LOOK_PERIOD.min(end - node::clock::monotonic())) {
            Ok(Some(sample)) => {
                seen += 1;
                let text = line(&arguments.topic, &sample, arguments.json);
                let text = if arguments.json { text.into() } else { plain(&text) };
                output.line(&text)?;
            }
            Ok(None) => {}
            Err(error) => {
                eprintln!("a sample is not of its type and is left out: {}", plain(&error.to_string()))
            }
        }
    }
    if subscriber.filtered() > 0 {
        eprintln!("{} samples did not meet the expression", subscriber.filtered());
    }
    if subscriber.lost() > 0 {
        eprintln!("{} samples were lost", subscriber.lost());
    }
    if seen == 0 && arguments.period.is_some() { missing(arguments) } else { Ok(Exit::Done) }
}

fn missing(arguments: &EchoArguments) -> Result<Exit, Failure> {
    let text =
        format!("no sample of topic {:?} came in domain {}", arguments.topic, arguments.domain.number());
    Err(Failure::new(Exit::Failed, text).with_remedy(format!(
        "run `stillwatt bus ls --domain {}` to see which topics and partitions there are",
        arguments.domain.number()
    )))
}

/// Subscribes as soon as the type is known: at once where it is the product's own, else when a writer
/// announces it. `None` when that did not happen in time.
fn subscribe(
    arguments: &EchoArguments,
    participant: &Participant,
    types: &SampleTypes,
    end: Instant,
    interrupt: &mut Interrupt,
) -> Result<Option<UntypedSubscriber>, Failure> {
    let topic = &arguments.topic;
    let asked = arguments.sample_type.name();
    // A type of a file waits for a writer too, which says whether the topic has instances.
    if let Some(name) = asked.filter(|name| !types.has_described(name) && types.structure(name).is_some()) {
        return open(arguments, participant, types, name, None).map(Some);
    }
    if let Some(known) = known_types::topic(topic).filter(|_| asked.is_none()) {
        return open(arguments, participant, types, known.structure.name(), None).map(Some);
    }
    let of_type = asked.map(|name| format!(" of type {name}")).unwrap_or_default();
    eprintln!("waiting for a writer of {topic:?}{of_type}");
    loop {
        // Only a writer says whether a type that is not known here has a key.
        let is_meant = |end: &EndpointInfo| {
            end.is_writer && end.topic == *topic && asked.is_none_or(|name| end.type_name == name)
        };
        let mut writers = participant.endpoints().into_iter().filter(is_meant);
        if let Some(writer) = writers.next() {
            return open(arguments, participant, types, &writer.type_name, Some(&writer)).map(Some);
        }
        let next = (node::clock::monotonic() + LOOK_PERIOD).min(end);
        if interrupt.wait_until(next) || node::clock::monotonic() >= end {
            return Ok(None);
        }
    }
}

fn open(
    arguments: &EchoArguments,
    participant: &Participant,
    types: &SampleTypes,
    type_name: &str,
    writer: Option<&EndpointInfo>,
) -> Result<UntypedSubscriber, Failure> {
    let topic = &arguments.topic;
    // Asking for what the writer offers gets the most; without a writer, for the least, which matches every writer.
    let known = known_types::topic(topic);
    let is_reliable = writer.map_or_else(
        || known.as_ref().is_some_and(|known| known.is_reliable),
        |writer| writer.qos.reliability == Reliability::Reliable,
    );
    let is_lasting = writer.map_or_else(
        || known.as_ref().is_some_and(|known| known.is_transient_local),
        |writer| writer.qos.durability != Durability::Volatile,
    );
    let is_keyed = writer.is_some_and(|writer| writer.guid.entity.0.ends_with(&[KIND_KEYED_WRITER]));
    let mut builder = match types.structure(type_name) {
        Some(structure) if structure.is_keyed() && writer.is_some() && !is_keyed => {
            eprintln!("the writer has no key, which the type has: read without it");
            participant.dynamic_subscriber(topic, structure.without_key())
        }
        Some(structure) => participant.dynamic_subscriber(topic, structure),
        None => {
            eprintln!("type {type_name:?} is not known here: samples are shown as octets");
            participant.raw_subscriber(topic, type_name, is_keyed)
        }
    };
    builder = builder.keep_last(DEPTH);
    if let Some(expression) = &arguments.filter {
        builder = builder.filter::<&str>(expression, &[]);
    }
    if is_reliable {
        builder = builder.reliable();
    }
    if is_reliable && is_lasting {
        builder = builder.transient_local();
    }
    // The wildcard does not match the nameless partition in every DDS, so that one is named as well.
    let everywhere = vec!["*".to_owned(), String::new()];
    let partitions = if arguments.partition.is_empty() { everywhere } else { arguments.partition.clone() };
    builder.partitions(partitions).build().map_err(|error| Failure::from_error(Exit::Usage, error))
}

fn line(topic: &str, sample: &UntypedSample, is_json: bool) -> String {
    let (state, data) = match &sample.data {
        Data::Valid(data) => ("valid", Some(data)),
        Data::Disposed(data) => ("disposed", data.as_ref()),
        Data::Unregistered(data) => ("unregistered", data.as_ref()),
    };
    let data = data.map_or(Json::Null, data_json);
    let time = sample.source_timestamp.map(|time| time.unix_seconds());
    if is_json {
        return json!({
            "schema": "stillwatt.sample/1",
            "topic": topic,
            "time_unix_seconds": time,
            "sequence": sample.sequence,
            "publisher": sample.publisher.to_string(),
            "state": state,
            "data": data,
        })
        .to_string();
    }
    let time = time.map_or_else(|| "no time".to_owned(), |time| format!("{time:.6}"));
    let state = if state == "valid" { String::new() } else { format!(" {state}") };
    format!("{time} {}#{}{state} {data}", sample.publisher, sample.sequence)
}

fn data_json(data: &DynamicData) -> Json {
    match data {
        DynamicData::Value(value) => dynamic_json::to_json(value),
        DynamicData::Bytes(bytes) => Json::String(hexadecimal(bytes)),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The last octet of the entity id of a writer with a key (RTPS 2.5 table 9.1).
const KIND_KEYED_WRITER: u8 = 0x02;
/// How often signals and new writers are looked for.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// Samples that may wait for the output.
const DEPTH: u32 = 1024;
