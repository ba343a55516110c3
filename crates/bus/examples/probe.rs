//! Probes a bus from the outside, for tests: who is there, what happens without free ports, and under a flood.
//!
//! `probe discover --domain N --expect K --seconds S [transports]` joins and waits for K other participants; stays until its
//! standard input closes. `probe hold --domain N` takes every well-known discovery port. `probe flood --domain N
//! --seed S --count C` sends seeded garbage to the well-known ports of the first processes. `probe strangers --address A
//! --seed S --count C` connects to a TCP port as often and sends seeded garbage.
#![expect(clippy::disallowed_methods, reason = "I/O shell: a command-line program")]

mod network;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use bus::Participant;

/// A small seeded generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

fn number(arguments: &[String], name: &str) -> Option<u64> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1)?.parse().ok()
}

fn wait_for_end() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn discover(domain: u32, arguments: &[String]) -> Result<bool, String> {
    let expect = number(arguments, "--expect").ok_or("--expect is missing")? as usize;
    let seconds = number(arguments, "--seconds").unwrap_or(10);
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in arguments.iter().zip(arguments.iter().skip(1)) {
        let name = name.trim_start_matches("--").to_string();
        values.entry(name).or_default().push(value.clone());
    }
    let participant = Participant::builder()
        .domain(domain)
        .name("probe")
        .transports(network::transports(&values)?)
        .build()
        .map_err(|error| error.to_string())?;
    let end = node::clock::monotonic() + Duration::from_secs(seconds);
    let mut seen = 0;
    while seen < expect && node::clock::monotonic() < end {
        std::thread::sleep(Duration::from_millis(20));
        seen = participant.participants().len();
    }
    let reasons = |list: Vec<(std::net::SocketAddr, String)>| -> Vec<String> {
        list.into_iter().map(|(_, reason)| reason).collect()
    };
    let tcp = participant.tcp();
    let (failing, refused) = (reasons(tcp.failing), reasons(tcp.refused));
    println!("{{\"participants\": {seen}, \"failing\": {failing:?}, \"refused\": {refused:?}}}");
    wait_for_end();
    Ok(seen >= expect)
}

fn hold(domain: u32) -> Result<bool, String> {
    let ports = (0..=rtps::ports::INDEX_MAX).filter_map(|index| rtps::ports::ports(domain, index).ok());
    let held: Result<Vec<_>, _> =
        ports.map(|ports| UdpSocket::bind(("0.0.0.0", ports.metatraffic_unicast))).collect();
    let held = held.map_err(|error| error.to_string())?;
    println!("{{\"held\": {}}}", held.len());
    wait_for_end();
    Ok(true)
}

/// An announcement by a participant that does not exist, with a few octets broken now and then.
fn forged(random: &mut Random, domain: u32) -> Vec<u8> {
    let mut prefix = [0; 10];
    prefix.copy_from_slice(&random.bytes(10));
    let config = rtps::ParticipantConfig {
        prefix: rtps::GuidPrefix::from_random(prefix),
        domain,
        name: "nobody".into(),
        metatraffic_unicast: vec![rtps::Locator::udp_v4([127, 0, 0, 1], 9)],
        default_unicast: vec![rtps::Locator::udp_v4([127, 0, 0, 1], 9)],
        announce_to: vec![rtps::Locator::udp_v4([127, 0, 0, 1], 9)],
        reach: rtps::Reach::default(),
        machine_address: None,
        allowed_networks: Vec::new(),
        is_relay: false,
        partition_rule: rtps::partition::PartitionRule::FastDds,
        fragment_size: rtps::FRAGMENT_SIZE_MAX,
        limits: rtps::Limits::default(),
        timing: rtps::Timing::default(),
    };
    let mut nobody = rtps::Participant::new(config, units::Instant::ZERO);
    nobody.handle_timeout(units::Instant::ZERO);
    let mut bytes = nobody.poll_transmit().map(|datagram| datagram.bytes).unwrap_or_default();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = random.next().to_le_bytes()[0];
        }
    }
    bytes
}

fn garbage(random: &mut Random, domain: u32) -> Vec<u8> {
    let length = random.below(600);
    match random.below(4) {
        0 => random.bytes(length),
        1 => [b"RTPS\x02\x03\x01\x0f".to_vec(), random.bytes(length)].concat(),
        2 => {
            // A valid header and submessage head before nonsense.
            let kinds = [0x06, 0x07, 0x08, 0x09, 0x0c, 0x0d, 0x0e, 0x12, 0x13, 0x15, 0x16];
            let kind = kinds[random.below(kinds.len())];
            let body = random.bytes(length);
            let head =
                [kind, random.next().to_le_bytes()[0], length.to_le_bytes()[0], length.to_le_bytes()[1]];
            [b"RTPS\x02\x03\x01\x0f".to_vec(), random.bytes(12), head.to_vec(), body].concat()
        }
        _ => forged(random, domain),
    }
}

fn flood(domain: u32, arguments: &[String]) -> Result<bool, String> {
    let count = number(arguments, "--count").unwrap_or(20_000);
    let mut random = Random(number(arguments, "--seed").unwrap_or(1));
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let mut ports = Vec::new();
    for index in 0..4 {
        let of = rtps::ports::ports(domain, index).map_err(|error| error.to_string())?;
        ports.extend([of.metatraffic_unicast, of.user_unicast, of.metatraffic_multicast]);
    }
    for sent in 0..count {
        let bytes = garbage(&mut random, domain);
        let port = ports[random.below(ports.len())];
        // A closed port is as good a target as any.
        let _ = socket.send_to(&bytes, ("127.0.0.1", port));
        if sent % 50 == 49 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    println!("{{\"sent\": {count}}}");
    Ok(true)
}

/// A frame of the TCP transport around a message, with a lie about its length now and then.
fn framed(random: &mut Random, message: &[u8]) -> Vec<u8> {
    let (header, rest) = message.split_at(message.len().min(20));
    let total = match random.below(8) {
        0 => random.next() as u32,
        _ => message.len() as u32 + 8,
    };
    [header, &[0x91, 1, 4, 0], &total.to_le_bytes(), rest].concat()
}

/// Connects again and again and sends garbage, three times in four after a right greeting.
fn strangers(domain: u32, arguments: &[String]) -> Result<bool, String> {
    let at = arguments.iter().position(|one| one == "--address").ok_or("--address is missing")?;
    let address = arguments.get(at + 1).ok_or("--address needs a value")?;
    let mut random = Random(number(arguments, "--seed").unwrap_or(1));
    for _ in 0..number(arguments, "--count").unwrap_or(100) {
        let mut stream = TcpStream::connect(address.as_str()).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        if random.below(4) > 0 {
            let head = [b"RTPS\x02\x03\x01\x7e".as_slice(), &[0; 12], &[0x92, 1, 20, 0, 1, 0, 0, 0]].concat();
            let hello = [head, random.bytes(16)].concat();
            bytes = [&hello[..20], &[0x91, 1, 4, 0, 52, 0, 0, 0], &hello[20..]].concat();
        }
        for _ in 0..random.below(20) {
            let message = garbage(&mut random, domain);
            bytes.extend(framed(&mut random, &message));
        }
        // The other side hangs up when it has had enough.
        let _ = stream.write_all(&bytes);
        if random.below(2) == 0 {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
    Ok(true)
}

fn run() -> Result<bool, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let domain = number(&arguments, "--domain").unwrap_or(0) as u32;
    match arguments.first().map(String::as_str) {
        Some("discover") => discover(domain, &arguments),
        Some("hold") => hold(domain),
        Some("flood") => flood(domain, &arguments),
        Some("strangers") => strangers(domain, &arguments),
        other => Err(format!("unknown verb {other:?}: give discover, hold, flood or strangers")),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) => {
            eprintln!("probe: {error}");
            ExitCode::from(2)
        }
    }
}
