//! `bus match`: why a writer and a reader match, or what prevents it. Reads profiles.

use std::path::Path;
use std::time::Duration;

use bus::xml::read::read_profiles;
use bus::xml::{EndpointProfile, LookupError, Profiles};
use clap::{Args, ValueEnum};
use rtps::Lease;
use rtps::partition::{PartitionRule, is_matched};
use rtps::qos::{Durability, Ownership, Policy, Qos, Reliability, incompatible};
use serde_json::{Value as Json, json};

use super::super::table::Columns;
use super::check::refused;
use super::profile_json::{liveliness_name, order_name, ownership_name, qos_json, scope_name};
use super::{durability_name, reliability_name};
use crate::output::Output;
use crate::report::{Exit, Failure};

/// Exit code 1 when they do not match.
#[derive(Args, Debug)]
pub(in crate::cli) struct MatchArguments {
    /// The writer: a profile of an XML file
    #[arg(long, value_name = "FILE#PROFILE")]
    writer: Option<String>,
    /// The reader: a profile of an XML file
    #[arg(long, value_name = "FILE#PROFILE")]
    reader: Option<String>,
    /// A partition of the writer, in place of those of its profile; may be repeated
    #[arg(long, value_name = "NAME")]
    writer_partition: Vec<String>,
    /// A partition of the reader, in place of those of its profile; may be repeated
    #[arg(long, value_name = "NAME")]
    reader_partition: Vec<String>,
    /// What the writer offers: words such as reliable, transient-local, exclusive, deadline=1s, with commas between
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    writer_qos: Vec<String>,
    /// What the reader requests, in the same words
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    reader_qos: Vec<String>,
    /// How names with wildcards match
    #[arg(long, value_enum, default_value = "fastdds")]
    rule: Rule,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rule {
    /// As Fast DDS: either name may be the pattern
    Fastdds,
    /// As the OMG: two names with wildcards never match
    Dds,
}

impl Rule {
    fn rule(self) -> PartitionRule {
        match self {
            Self::Fastdds => PartitionRule::FastDds,
            Self::Dds => PartitionRule::Dds,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fastdds => "fastdds",
            Self::Dds => "dds",
        }
    }
}

/// One end of a match.
struct End {
    qos: Qos,
    topic: Option<String>,
    type_name: Option<String>,
}

type Find = for<'a> fn(&'a Profiles, &str) -> Result<&'a EndpointProfile, LookupError>;

pub(super) fn run(arguments: &MatchArguments, output: &mut Output) -> Result<Exit, Failure> {
    let writer = end(
        arguments.writer.as_deref(),
        Profiles::writer,
        &arguments.writer_partition,
        &arguments.writer_qos,
    )?;
    let reader = end(
        arguments.reader.as_deref(),
        Profiles::reader,
        &arguments.reader_partition,
        &arguments.reader_qos,
    )?;
    let verdict = Verdict::new(&writer, &reader, arguments.rule);
    if arguments.json {
        output.line(&verdict.json(&writer.qos, &reader.qos).to_string())?;
    } else {
        output.line(&verdict.text(&writer.qos, &reader.qos))?;
    }
    Ok(if verdict.is_match() { Exit::Done } else { Exit::Failed })
}

fn end(profile: Option<&str>, find: Find, partitions: &[String], words: &[String]) -> Result<End, Failure> {
    let mut end = End { qos: Qos::default(), topic: None, type_name: None };
    if let Some(profile) = profile {
        let Some((file, name)) = profile.rsplit_once('#') else {
            return Err(Failure::new(Exit::Usage, format!("{profile:?} names no profile"))
                .with_remedy("write FILE#PROFILE"));
        };
        let profiles = read_profiles(&[Path::new(file)]).map_err(refused)?;
        let found = find(&profiles, name).map_err(|error| Failure::from_error(Exit::Usage, error))?;
        end = End { qos: found.qos.clone(), topic: found.topic.clone(), type_name: found.type_name.clone() };
    }
    if !partitions.is_empty() {
        end.qos.partitions = partitions.to_vec();
    }
    words.iter().try_for_each(|word| apply(&mut end.qos, word))?;
    Ok(end)
}

fn apply(qos: &mut Qos, word: &str) -> Result<(), Failure> {
    let usage = |what: String| {
        Failure::new(Exit::Usage, what).with_remedy(
            "write reliable, best-effort, volatile, transient-local, transient, persistent, shared, exclusive, \
             deadline=TIME, latency=TIME or liveliness=TIME",
        )
    };
    if let Some((name, time)) = word.split_once('=') {
        let time: Duration =
            units::parse_duration(time).map_err(|error| usage(format!("{word:?}: {error}")))?;
        let lease = match name {
            "deadline" => &mut qos.deadline,
            "latency" => &mut qos.latency_budget,
            "liveliness" => &mut qos.liveliness.lease,
            _ => return Err(usage(format!("{name:?} is no policy with a time"))),
        };
        *lease = Lease::Finite(time);
        return Ok(());
    }
    match word {
        "reliable" => qos.reliability = Reliability::Reliable,
        "best-effort" => qos.reliability = Reliability::BestEffort,
        "volatile" => qos.durability = Durability::Volatile,
        "transient-local" => qos.durability = Durability::TransientLocal,
        "transient" => qos.durability = Durability::Transient,
        "persistent" => qos.durability = Durability::Persistent,
        "shared" => qos.ownership = Ownership::Shared,
        "exclusive" => qos.ownership = Ownership::Exclusive,
        _ => return Err(usage(format!("{word:?} is no quality of service"))),
    }
    Ok(())
}

/// What stands against a match, if anything.
struct Verdict {
    names: Vec<(&'static str, String, String)>,
    policies: Vec<Policy>,
    pairs: Vec<(String, String)>,
    rule: Rule,
}

impl Verdict {
    fn new(writer: &End, reader: &End, rule: Rule) -> Self {
        let ends = [("topic", &writer.topic, &reader.topic), ("type", &writer.type_name, &reader.type_name)];
        let differs = |(what, writer, reader): (&'static str, &Option<String>, &Option<String>)| {
            let (writer, reader) = (writer.clone()?, reader.clone()?);
            (writer != reader).then_some((what, writer, reader))
        };
        let names =
            |qos: &Qos| if qos.partitions.is_empty() { vec![String::new()] } else { qos.partitions.clone() };
        let mut pairs = Vec::new();
        for left in names(&writer.qos) {
            for right in names(&reader.qos) {
                if is_matched(rule.rule(), &[&left], &[&right]) {
                    pairs.push((left.clone(), right));
                }
            }
        }
        Self {
            names: ends.into_iter().filter_map(differs).collect(),
            policies: incompatible(&writer.qos, &reader.qos),
            pairs,
            rule,
        }
    }

    fn is_match(&self) -> bool {
        self.names.is_empty() && self.policies.is_empty() && !self.pairs.is_empty()
    }

    fn json(&self, writer: &Qos, reader: &Qos) -> Json {
        json!({
            "schema": "stillwatt.bus.match/1",
            "match": self.is_match(),
            "rule": self.rule.name(),
            "differing_names": self.names.iter().map(|(what, _, _)| *what).collect::<Vec<_>>(),
            "incompatible_policies": self.policies.iter().map(|policy| policy.name()).collect::<Vec<_>>(),
            "matching_partitions": self.pairs.iter().map(|(writer, reader)| json!([writer, reader])).collect::<Vec<_>>(),
            "writer": qos_json(writer),
            "reader": qos_json(reader),
        })
    }

    fn text(&self, writer: &Qos, reader: &Qos) -> String {
        let mut text =
            String::from(if self.is_match() { "They match.\n\n" } else { "They do not match.\n\n" });
        for (what, writer, reader) in &self.names {
            text.push_str(&format!("The {what} differs: {writer:?} and {reader:?}.\n\n"));
        }
        let mut columns = Columns::new(&["policy", "writer offers", "reader requests", ""]);
        for policy in POLICIES {
            let is_compatible = !self.policies.contains(&policy);
            columns.push([
                policy.name().to_owned(),
                shown(policy, writer),
                shown(policy, reader),
                if is_compatible { "ok".to_owned() } else { "the writer offers less".to_owned() },
            ]);
        }
        let pairs: Vec<_> =
            self.pairs.iter().map(|(left, right)| format!("{left:?} and {right:?}")).collect();
        columns.push([
            Policy::Partition.name().to_owned(),
            format!("{:?}", writer.partitions),
            format!("{:?}", reader.partitions),
            if pairs.is_empty() {
                format!("no name matches another by the rule {}", self.rule.name())
            } else {
                format!("ok: {}", pairs.join("; "))
            },
        ]);
        text + &columns.text()
    }
}

const POLICIES: [Policy; 9] = [
    Policy::Reliability,
    Policy::Durability,
    Policy::Deadline,
    Policy::LatencyBudget,
    Policy::Liveliness,
    Policy::Ownership,
    Policy::DestinationOrder,
    Policy::Presentation,
    Policy::DataRepresentation,
];

fn shown(policy: Policy, qos: &Qos) -> String {
    let lease = |lease: Lease| match lease {
        Lease::Finite(duration) => format!("{duration:?}"),
        Lease::Infinite => "infinite".to_owned(),
    };
    match policy {
        Policy::Reliability => reliability_name(qos.reliability).to_owned(),
        Policy::Durability => durability_name(qos.durability).to_owned(),
        Policy::Deadline => lease(qos.deadline),
        Policy::LatencyBudget => lease(qos.latency_budget),
        Policy::Liveliness => {
            format!("{}, {}", liveliness_name(qos.liveliness.kind), lease(qos.liveliness.lease))
        }
        Policy::Ownership => ownership_name(qos.ownership).to_owned(),
        Policy::DestinationOrder => order_name(qos.destination_order).to_owned(),
        Policy::Presentation => {
            let mut text = scope_name(qos.presentation.scope).to_owned();
            if qos.presentation.coherent {
                text.push_str(", coherent");
            }
            if qos.presentation.ordered {
                text.push_str(", ordered");
            }
            text
        }
        Policy::DataRepresentation => match qos.representations.as_slice() {
            [] => "XCDR1".to_owned(),
            ids => ids.iter().map(|id| representation_name(*id)).collect::<Vec<_>>().join(", "),
        },
        Policy::Partition => format!("{:?}", qos.partitions),
    }
}

fn representation_name(id: i16) -> String {
    match id {
        0 => "XCDR1".to_owned(),
        1 => "XML".to_owned(),
        2 => "XCDR2".to_owned(),
        id => id.to_string(),
    }
}
