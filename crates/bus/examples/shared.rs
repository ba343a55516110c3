//! The other process of the shared-memory tests: publishes or subscribes, told what to do by lines on its input.
#![expect(clippy::disallowed_methods, reason = "I/O shell: a command-line program")]

use std::error::Error;
use std::io::BufRead;
use std::process::Stdio;
use std::time::Duration;

use bus::{DdsType, EndpointBuilder, Participant, Target, Transports};
use serde_json::json;

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "test::Block")]
struct Block {
    number: u32,
    data: Vec<u8>,
}

const LONG: Duration = Duration::from_secs(20);
const LIFE: Duration = Duration::from_secs(100);

/// The value after an option's name.
fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn number(name: &str) -> Result<Option<u32>, Box<dyn Error>> {
    Ok(option(name).map(|text| text.parse()).transpose()?)
}

fn is_given(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

fn configure<E: Target>(builder: EndpointBuilder<'_, E>) -> EndpointBuilder<'_, E> {
    let builder = if is_given("--durable") { builder.transient_local() } else { builder };
    let builder = if is_given("--reliable") { builder.reliable() } else { builder.best_effort() };
    if is_given("--all") { builder.keep_all() } else { builder.keep_last(10_000) }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Whatever goes wrong, a test that waits for us must not wait for ever.
    std::thread::spawn(|| {
        std::thread::sleep(LIFE);
        std::process::exit(3);
    });
    let mut transports = Transports::shared_memory();
    transports.shared_memory_spin = Duration::from_micros(number("--spin")?.unwrap_or(0).into());
    transports.shared_memory_users = number("--user")?.into_iter().collect();
    let participant = Participant::builder()
        .domain(number("--domain")?.unwrap_or(0))
        .name("shared")
        .transports(transports)
        .build()?;
    let topic = option("--topic").unwrap_or_else(|| "blocks".into());
    match std::env::args().nth(1).as_deref() {
        Some("pub") => publish(&participant, &topic),
        Some("sub") => subscribe(&participant, &topic),
        _ => Err("give pub or sub".into()),
    }
}

fn whoami(participant: &Participant) -> serde_json::Value {
    json!({"pid": std::process::id(), "guid": participant.guid().to_string()})
}

/// `match N`, `write COUNT SIZE`, `acknowledge`, `whoami` and `start`; each answers with one line.
fn publish(participant: &Participant, topic: &str) -> Result<(), Box<dyn Error>> {
    let publisher = configure(participant.publisher::<Block>(topic)).max_blocking(LONG).build()?;
    println!("{}", json!({"ready": participant.shared_memory_fault().is_none()}));
    let mut number = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["match", count] => {
                println!("{}", json!({"matched": publisher.wait_for_match(count.parse()?, LONG)}));
            }
            ["write", count, size] => {
                let size = size.parse()?;
                for _ in 0..count.parse()? {
                    number += 1;
                    publisher.write(&Block { number, data: vec![number.to_le_bytes()[0]; size] })?;
                }
                println!("{}", json!({"written": number}));
            }
            ["whoami"] => println!("{}", whoami(participant)),
            ["start"] => {
                let child = std::process::Command::new("sleep").arg("10").stdin(Stdio::null()).spawn()?;
                println!("{}", json!({"pid": child.id()}));
            }
            ["acknowledge"] => {
                println!("{}", json!({"acknowledged": publisher.wait_for_acknowledgements(LONG)}));
            }
            _ => return Err(format!("what is {line:?}?").into()),
        }
    }
    Ok(())
}

/// Prints each sample; `match N`, `whoami` and `statistics` answer with a line.
fn subscribe(participant: &Participant, topic: &str) -> Result<(), Box<dyn Error>> {
    println!("{}", json!({"ready": participant.shared_memory_fault().is_none()}));
    let subscriber = configure(participant.subscriber::<Block>(topic))
        .on_sample(move |sample| {
            let transport = format!("{:?}", sample.transport);
            if let Some(block) = sample.data.valid() {
                let is_whole = block.data.iter().all(|octet| *octet == block.number.to_le_bytes()[0]);
                let line = json!({
                    "number": block.number, "size": block.data.len(), "whole": is_whole, "by": transport,
                });
                println!("{line}");
            }
        })
        .build()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            None if line == "whoami" => whoami(participant),
            Some(("match", count)) => json!({"matched": subscriber.wait_for_match(count.parse()?, LONG)}),
            _ => {
                let overruns = participant.statistics().shared_memory_overruns;
                json!({"overruns": overruns, "lost": subscriber.lost()})
            }
        };
        println!("{answer}");
    }
    Ok(())
}
