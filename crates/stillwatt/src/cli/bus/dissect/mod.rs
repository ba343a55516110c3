#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the file to dissect")]
//! `bus dissect`: RTPS messages of a file, octet by octet, with what is malformed. Reads the file or standard input.

mod capture;
pub(super) mod hexadecimal;
mod message;
mod parameter;
mod part;

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use self::capture::{Packet, is_capture};
use crate::output::{Output, plain};
use crate::report::{Exit, Failure};

/// Understands hexadecimal text (`#` starts a comment), raw octets of one message, pcap and pcapng. Exit code 1 when the
/// input holds no RTPS message.
#[derive(Args, Debug)]
pub(in crate::cli) struct DissectArguments {
    /// The file; without it, or as -, standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print one JSON object a message
    #[arg(long)]
    json: bool,
    /// Only messages with something malformed
    #[arg(long)]
    malformed: bool,
}

pub(super) fn run(arguments: &DissectArguments, output: &mut Output) -> Result<Exit, Failure> {
    let bytes = read(arguments)?;
    let mut seen = 0_u64;
    let mut others = 0_u64;
    let mut show = |index: usize, packet: &Packet<'_>, is_captured: bool| {
        // A capture holds other traffic too.
        if is_captured && !packet.bytes.starts_with(b"RTPS") {
            others += 1;
            return Ok(());
        }
        let is_rtps = packet.bytes.starts_with(b"RTPS");
        seen += u64::from(is_rtps);
        for bytes in message::split(packet.bytes) {
            one(arguments, index, &Packet { bytes, ..*packet }, output)?;
        }
        Ok(())
    };
    if is_capture(&bytes) {
        let (capture, error) = capture::read(&bytes);
        for (index, packet) in capture.packets.iter().enumerate() {
            show(index, packet, true)?;
        }
        for (why, count) in &capture.skipped {
            eprintln!("skipped {count} {why}");
        }
        if others > 0 {
            eprintln!("skipped {others} UDP datagrams that are not RTPS");
        }
        if let Some(error) = error {
            return Err(Failure::from_error(Exit::Failed, error)
                .with_remedy("capture again; what came before is shown"));
        }
    } else {
        for (index, datagram) in datagrams(&bytes)?.iter().enumerate() {
            show(index, &Packet { bytes: datagram, seconds: None, ends: None, is_cut: false }, false)?;
        }
    }
    if seen == 0 {
        return Err(Failure::new(Exit::Failed, "the input holds no RTPS message").with_remedy(
            "give hexadecimal text, the octets of a message, or a capture (tcpdump -w FILE udp)",
        ));
    }
    Ok(Exit::Done)
}

/// Bytes of a file.
const BYTES_MAX: u64 = 256 << 20;

fn read(arguments: &DissectArguments) -> Result<Vec<u8>, Failure> {
    let path = arguments.file.as_ref().filter(|path| path.as_os_str() != "-");
    let name = path.map_or(Cow::Borrowed("standard input"), |path| path.to_string_lossy());
    let cannot = |error: std::io::Error| {
        Failure::new(Exit::Usage, format!("cannot read {}", plain(&name)))
            .with_remedy("check the path and its rights")
            .with_source(error)
    };
    let mut bytes = Vec::new();
    let result = match path {
        Some(path) => File::open(path).map_err(cannot)?.take(BYTES_MAX + 1).read_to_end(&mut bytes),
        None => std::io::stdin().take(BYTES_MAX + 1).read_to_end(&mut bytes),
    };
    result.map_err(cannot)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Failure::new(Exit::Usage, format!("{} has more than {BYTES_MAX} bytes", plain(&name)))
            .with_remedy("filter it first, for example with tcpdump -r IN -w OUT udp portrange 7400-9000"));
    }
    Ok(bytes)
}

/// Raw octets of one datagram, or those that hexadecimal text stands for.
fn datagrams(bytes: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, Failure> {
    if bytes.starts_with(b"RTPS") {
        return Ok(vec![Cow::Borrowed(bytes)]);
    }
    let not_text = || {
        Failure::new(Exit::Failed, "the input is neither a message, nor a capture, nor hexadecimal text")
            .with_remedy("a message starts with RTPS")
    };
    let text = std::str::from_utf8(bytes).map_err(|_| not_text())?;
    let datagrams = hexadecimal::read(text).map_err(|error| not_text().with_source(error))?;
    Ok(datagrams.into_iter().map(Cow::Owned).collect())
}

fn one(
    arguments: &DissectArguments,
    index: usize,
    packet: &Packet<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let message = message::dissect(packet.bytes);
    if arguments.malformed && !message.has_fault() {
        return Ok(());
    }
    if arguments.json {
        let object = json!({
            "schema": "stillwatt.bus.dissect/1",
            "index": index,
            "unix_seconds": packet.seconds,
            "source": packet.ends.map(|(from, _)| from.to_string()),
            "destination": packet.ends.map(|(_, to)| to.to_string()),
            "is_cut": packet.is_cut,
            "message": message.json(),
        });
        return output.line(&object.to_string());
    }
    let mut title = format!("message {index}");
    if let Some((from, to)) = packet.ends {
        title.push_str(&format!(" from {from} to {to}"));
    }
    if let Some(seconds) = packet.seconds {
        title.push_str(&format!(" at {seconds:.6}"));
    }
    if packet.is_cut {
        title.push_str(", of which only the start was captured");
    }
    let mut lines = vec![title];
    message.lines(0, &mut lines);
    for line in lines {
        output.line(&plain(&line))?;
    }
    output.line("")
}
