//! `bus ls`: who is in a domain and what they offer. Joins the domain as a participant without endpoints.

use std::collections::BTreeMap;
use std::time::Duration;

use bus::{EndpointInfo, ParticipantInfo};
use clap::Args;
use serde_json::{Value as Json, json};

use super::super::table::Columns;
use super::{durability_name, reliability_name, vendor_name};
use crate::domain::DomainChoice;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::report::{Exit, Failure};

#[derive(Args, Debug)]
pub(in crate::cli) struct ListArguments {
    #[command(flatten)]
    domain: DomainChoice,
    /// How long to listen for announcements
    #[arg(long = "for", value_name = "TIME", default_value = "2 s", value_parser = units::parse_duration)]
    period: Duration,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &ListArguments, output: &mut Output) -> Result<Exit, Failure> {
    let mut interrupt = Interrupt::install()?;
    let participant = arguments.domain.join("stillwatt bus ls")?;
    interrupt.wait_until(node::clock::monotonic() + arguments.period);
    let participants = participant.participants();
    let topics = by_topic(participant.endpoints());
    if arguments.json {
        let object = json!({
            "schema": "stillwatt.bus/1",
            "domain": arguments.domain.number(),
            "participants": participants.iter().map(participant_json).collect::<Vec<_>>(),
            "topics": topics.iter().map(|(key, ends)| topic_json(key, ends)).collect::<Vec<_>>(),
        });
        output.line(&object.to_string())?;
        return Ok(Exit::Done);
    }
    if participants.is_empty() {
        eprintln!(
            "nobody else is in domain {} (listened for {:?})",
            arguments.domain.number(),
            arguments.period
        );
        return Ok(Exit::Done);
    }
    output.line(&participant_table(&participants))?;
    output.line("")?;
    output.line(&topic_table(&topics))?;
    Ok(Exit::Done)
}

type TopicKey = (String, String);

fn by_topic(endpoints: Vec<EndpointInfo>) -> BTreeMap<TopicKey, Vec<EndpointInfo>> {
    let mut topics: BTreeMap<TopicKey, Vec<EndpointInfo>> = BTreeMap::new();
    for endpoint in endpoints {
        topics.entry((endpoint.topic.clone(), endpoint.type_name.clone())).or_default().push(endpoint);
    }
    topics
}

fn participant_table(participants: &[ParticipantInfo]) -> String {
    let mut columns = Columns::new(&["participant", "name", "made by", "receives at"]);
    for participant in participants {
        let locators: Vec<_> = participant.locators.iter().map(ToString::to_string).collect();
        columns.push([
            participant.prefix.to_string(),
            participant.name.clone().unwrap_or_default(),
            vendor_name(participant.vendor),
            locators.join(", "),
        ]);
    }
    columns.text()
}

fn topic_table(topics: &BTreeMap<TopicKey, Vec<EndpointInfo>>) -> String {
    let mut columns = Columns::new(&["topic", "type", ">writers", ">readers", "partitions", "writers offer"]);
    for ((topic, type_name), ends) in topics {
        let writers = ends.iter().filter(|end| end.is_writer).count();
        columns.push([
            topic.clone(),
            type_name.clone(),
            writers.to_string(),
            (ends.len() - writers).to_string(),
            shown(&partitions(ends)),
            offers(ends).join("; "),
        ]);
    }
    columns.text()
}

fn partitions(ends: &[EndpointInfo]) -> Vec<String> {
    let mut names: Vec<_> = ends.iter().flat_map(|end| end.qos.partitions.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Names for people; the nameless partition is two quotes.
fn shown(partitions: &[String]) -> String {
    let names = partitions.iter().map(|name| if name.is_empty() { "\"\"" } else { name.as_str() });
    names.collect::<Vec<_>>().join(", ")
}

fn offers(ends: &[EndpointInfo]) -> Vec<String> {
    let offer = |end: &EndpointInfo| {
        format!("{}, {}", reliability_name(end.qos.reliability), durability_name(end.qos.durability))
    };
    let mut offers: Vec<_> = ends.iter().filter(|end| end.is_writer).map(offer).collect();
    offers.sort();
    offers.dedup();
    offers
}

fn participant_json(participant: &ParticipantInfo) -> Json {
    json!({
        "prefix": participant.prefix.to_string(),
        "name": participant.name,
        "vendor": vendor_name(participant.vendor),
        "locators": participant.locators.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn topic_json((topic, type_name): &TopicKey, ends: &[EndpointInfo]) -> Json {
    let end_json = |end: &EndpointInfo| {
        json!({
            "guid": end.guid.to_string(),
            "is_writer": end.is_writer,
            "reliability": reliability_name(end.qos.reliability),
            "durability": durability_name(end.qos.durability),
            "partitions": end.qos.partitions,
        })
    };
    json!({
        "name": topic,
        "type": type_name,
        "writers": ends.iter().filter(|end| end.is_writer).count(),
        "readers": ends.iter().filter(|end| !end.is_writer).count(),
        "endpoints": ends.iter().map(end_json).collect::<Vec<_>>(),
    })
}
