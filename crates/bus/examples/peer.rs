//! A stand-alone peer for the interoperability matrix: publishes or subscribes the matrix's types from the command
//! line, and prints one JSON object a line. The Cyclone DDS and Fast DDS peers have the same command line.
#![expect(clippy::disallowed_methods, reason = "I/O shell: a command-line program")]

#[path = "peer/described.rs"]
mod described;
#[path = "peer/endpoint.rs"]
mod endpoint;
#[path = "peer/extensible.rs"]
mod extensible;
mod network;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bus::{
    Data, DdsType, EndpointBuilder, Participant, ParticipantEvent, Publisher, Representation, Subscriber,
    Target,
};
use described::Described;
use endpoint::{Reads, Writes};
use extensible::{Appendable, Extensible, Flat, Mutable, OldAppendable, OldMutable};
use rtps::qos::LivelinessKind;

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Item")]
struct Item {
    #[dds(key)]
    id: u32,
    value: f64,
    name: String,
    arr: Vec<u32>,
}

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Plain")]
struct Plain {
    id: u32,
    seq: u32,
    data: Vec<u8>,
}

/// What the command line asks for.
struct Options {
    verb: String,
    values: BTreeMap<String, Vec<String>>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let verb = arguments.next().ok_or("give a verb: pub or sub")?;
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        while let Some(argument) = arguments.next() {
            let name = argument.strip_prefix("--").ok_or_else(|| format!("unexpected {argument:?}"))?;
            let value = if matches!(name, "dispose" | "gate" | "old" | "announce-type" | "autodispose") {
                Some(String::new())
            } else {
                arguments.next()
            };
            values
                .entry(name.into())
                .or_default()
                .push(value.ok_or_else(|| format!("--{name} needs a value"))?);
        }
        Ok(Self { verb, values })
    }

    fn text(&self, name: &str, default: &str) -> String {
        self.values.get(name).and_then(|values| values.last()).cloned().unwrap_or_else(|| default.into())
    }

    fn number(&self, name: &str, default: f64) -> Result<f64, String> {
        self.text(name, &default.to_string()).parse().map_err(|_| format!("--{name} needs a number"))
    }

    fn seconds(&self, name: &str, default: f64) -> Result<Duration, String> {
        Ok(Duration::from_secs_f64(self.number(name, default)?))
    }

    fn configure<'a, E: Target>(&self, builder: EndpointBuilder<'a, E>) -> EndpointBuilder<'a, E> {
        let builder =
            builder.partitions(self.values.get("partition").cloned().unwrap_or_default()).keep_last(1000);
        let builder = match self.text("representation", "").as_str() {
            "xcdr1" => builder.representation(Representation::Xcdr1),
            "xcdr2" => builder.representation(Representation::Xcdr2),
            _ => builder,
        };
        let builder = builder.announce_type(self.values.contains_key("announce-type"));
        let builder = match self.text("reliability", "reliable").as_str() {
            "reliable" => builder.reliable(),
            _ => builder.best_effort(),
        };
        let builder = match self.seconds("lease", 0.0) {
            Ok(lease) if !lease.is_zero() => builder.liveliness(LivelinessKind::Automatic, lease),
            _ => builder,
        };
        let builder = match self.text("durability", "volatile").as_str() {
            "transient-local" => builder.transient_local(),
            _ => builder,
        };
        self.configure_policies(builder)
    }

    fn configure_policies<'a, E: Target>(&self, builder: EndpointBuilder<'a, E>) -> EndpointBuilder<'a, E> {
        let finite = |name| self.seconds(name, 0.0).ok().filter(|period| !period.is_zero());
        let mut builder = builder.autodispose(self.values.contains_key("autodispose"));
        if let Some(period) = finite("deadline") {
            builder = builder.deadline(period);
        }
        if let Some(time) = finite("lifespan") {
            builder = builder.lifespan(time);
        }
        match self.text("strength", "").parse() {
            Ok(strength) => builder.exclusive_ownership(strength),
            Err(_) => builder,
        }
    }
}

fn item(k: u32) -> Item {
    Item { id: k % 3, value: 1.5 * f64::from(k), name: format!("stillwatt-{k}"), arr: vec![1, 2, 3] }
}

fn plain(k: u32, bytes: u32) -> Plain {
    let byte = |j: u32| u8::try_from((j + k) % 251).unwrap_or(0);
    Plain { id: 7, seq: k, data: (0..bytes).map(byte).collect() }
}

fn report_events(participant: &Participant) {
    for event in participant.take_events() {
        match event {
            ParticipantEvent::IncompatibleQos { policies, .. } => {
                let names: Vec<String> = policies.iter().map(|policy| policy.name().to_lowercase()).collect();
                println!("{{\"incompatible_qos\": \"{}\"}}", names.join(" "));
            }
            ParticipantEvent::InconsistentType { type_name, .. } => {
                println!("{{\"inconsistent_type\": \"{type_name}\"}}");
            }
            ParticipantEvent::LivelinessChanged { is_alive, .. } => {
                println!("{{\"alive\": {}}}", u8::from(is_alive));
            }
            ParticipantEvent::DeadlineMissed { total, .. } => {
                println!("{{\"deadline_missed\": {total}}}");
            }
            _ => {}
        }
    }
}

fn publish<T: DdsType>(
    options: &Options,
    participant: &Participant,
    sample: impl Fn(u32) -> T,
) -> Result<bool, String> {
    let topic = options.text("topic", "interop");
    let publisher: Publisher<T> =
        options.configure(participant.publisher(&topic)).build().map_err(|error| error.to_string())?;
    publish_by(&publisher, options, participant, sample)
}

fn publish_by<T>(
    publisher: &impl Writes<T>,
    options: &Options,
    participant: &Participant,
    sample: impl Fn(u32) -> T,
) -> Result<bool, String> {
    let count = options.number("count", 20.0)? as u32;
    let is_durable = options.text("durability", "volatile") == "transient-local";
    let timeout = options.seconds("timeout", 20.0)?;
    if !is_durable {
        let found = publisher.wait_for_match(timeout);
        report_events(participant);
        println!("{{\"matched\": {}}}", publisher.matched().current);
        if !found {
            return Ok(false);
        }
        // A best-effort or volatile reader may match a moment after we did.
        if options.values.contains_key("gate") {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
        } else {
            std::thread::sleep(Duration::from_millis(1500));
        }
    }
    for k in 0..count {
        publisher.write(&sample(k))?;
        println!("{{\"wrote\": {k}}}");
        std::thread::sleep(options.seconds("period", 0.01)?);
    }
    if options.values.contains_key("dispose") {
        for k in 0..count.min(3) {
            publisher.dispose(&sample(k))?;
        }
    }
    let end = node::clock::monotonic() + options.seconds("linger", 3.0)?;
    while node::clock::monotonic() < end {
        std::thread::sleep(Duration::from_millis(50).min(end - node::clock::monotonic()));
        report_events(participant);
    }
    println!("{{\"matched\": {}}}", publisher.matched().total);
    Ok(true)
}

fn subscribe<T: DdsType + 'static>(
    options: &Options,
    participant: &Participant,
    show: impl Fn(&T) -> String,
    key: impl Fn(&T) -> u32,
) -> Result<bool, String> {
    let topic = options.text("topic", "interop");
    let subscriber: Subscriber<T> =
        options.configure(participant.subscriber(&topic)).build().map_err(|error| error.to_string())?;
    subscribe_by(&subscriber, options, participant, show, key)
}

fn subscribe_by<T>(
    subscriber: &impl Reads<T>,
    options: &Options,
    participant: &Participant,
    show: impl Fn(&T) -> String,
    key: impl Fn(&T) -> u32,
) -> Result<bool, String> {
    let count = options.number("count", 20.0)? as usize;
    let end = node::clock::monotonic() + options.seconds("timeout", 20.0)?;
    let wants_disposed = if options.values.contains_key("dispose") { 3.min(count) } else { 0 };
    let (mut got, mut disposed, mut matched) = (0, 0, 0);
    while (got < count || disposed < wants_disposed) && node::clock::monotonic() < end {
        let current = subscriber.matched().current;
        if current != matched {
            matched = current;
            println!("{{\"matched\": {matched}}}");
        }
        match subscriber.next(Duration::from_millis(50)) {
            Ok(Some(data)) => match data {
                Data::Valid(value) => {
                    got += 1;
                    println!("{}", show(&value));
                }
                Data::Disposed(Some(value)) => {
                    disposed += 1;
                    println!("{{\"disposed\": {}}}", key(&value));
                }
                Data::Disposed(None) => println!("{{\"disposed\": null}}"),
                Data::Unregistered(Some(value)) => println!("{{\"ended\": {}}}", key(&value)),
                Data::Unregistered(None) => println!("{{\"ended\": null}}"),
            },
            Ok(None) => report_events(participant),
            Err(error) => return Err(error),
        }
    }
    println!("{{\"matched\": {}, \"lost\": {}}}", subscriber.matched().total, subscriber.lost());
    Ok(got >= count && disposed >= wants_disposed)
}

/// Either role, with the type described in the XML file `file` in place of the derived one.
fn described<T: Described>(
    file: &str,
    options: &Options,
    participant: &Participant,
    sample: impl Fn(u32) -> T,
    show: impl Fn(&T) -> String,
    key: impl Fn(&T) -> u32,
) -> Result<bool, String> {
    let structure = described::structure(file, T::NAME)?;
    let topic = options.text("topic", "interop");
    if options.verb == "pub" {
        let builder = participant.dynamic_publisher(&topic, Arc::clone(&structure));
        let publisher = options.configure(builder).build().map_err(|error| error.to_string())?;
        return publish_by(&publisher, options, participant, |k| described::value(&structure, sample(k)));
    }
    let builder = participant.dynamic_subscriber(&topic, structure);
    let subscriber = options.configure(builder).build().map_err(|error| error.to_string())?;
    subscribe_by(&subscriber, options, participant, |value| show(&T::of(value)), |value| key(&T::of(value)))
}

/// Either role, with an extensible type.
fn extensible<T: Extensible + 'static>(options: &Options, participant: &Participant) -> Result<bool, String> {
    match options.verb.as_str() {
        "pub" => publish(options, participant, T::sample),
        _ => subscribe(options, participant, T::show, T::id),
    }
}

fn run() -> Result<bool, String> {
    let options = Options::parse(std::env::args().skip(1))?;
    let domain = options.number("domain", 0.0)? as u32;
    let participant = Participant::builder()
        .domain(domain)
        .name("peer")
        .transports(network::transports(&options.values)?)
        .build()
        .map_err(|error| error.to_string())?;
    let kind = options.text("type", "Item");
    let bytes = if kind == "Big" { 200_000 } else { 64 };
    let show_item = |value: &Item| {
        format!(
            "{{\"id\": {}, \"value\": {}, \"name\": \"{}\", \"arr\": {:?}, \"state\": \"alive\"}}",
            value.id, value.value, value.name, value.arr
        )
    };
    let show_plain = |value: &Plain| {
        let sum = value.data.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        format!(
            "{{\"id\": {}, \"seq\": {}, \"length\": {}, \"checksum\": {sum}, \"state\": \"alive\"}}",
            value.id,
            value.seq,
            value.data.len()
        )
    };
    if let Some(file) = options.values.get("xml").and_then(|files| files.last()) {
        return match kind.as_str() {
            "Item" => described(file, &options, &participant, item, show_item, |value| value.id),
            "Plain" | "Big" => {
                let sample = |k| plain(k, bytes);
                described(file, &options, &participant, sample, show_plain, |value| value.id)
            }
            other => Err(format!("--xml is for Item, Plain and Big, not {other}")),
        };
    }
    match (options.verb.as_str(), kind.as_str()) {
        ("pub" | "sub", "Appendable" | "Mutable" | "Flat") => {
            let run = match (kind.as_str(), options.values.contains_key("old")) {
                ("Appendable", false) => extensible::<Appendable>,
                ("Appendable", true) => extensible::<OldAppendable>,
                ("Mutable", false) => extensible::<Mutable>,
                ("Mutable", true) => extensible::<OldMutable>,
                _ => extensible::<Flat>,
            };
            run(&options, &participant)
        }
        ("pub", "Item") => publish(&options, &participant, item),
        ("pub", _) => publish(&options, &participant, |k| plain(k, bytes)),
        ("sub", "Item") => subscribe(&options, &participant, show_item, |value| value.id),
        ("sub", _) => subscribe(&options, &participant, show_plain, |value| value.id),
        (verb, _) => Err(format!("unknown verb {verb:?}: give pub or sub")),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) => {
            eprintln!("peer: {error}");
            ExitCode::from(2)
        }
    }
}
