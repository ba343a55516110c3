#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the value or the octets")]
//! `bus encode` and `bus decode`: a value as JSON and as the octets that travel. Reads files or standard input.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtps::Endianness;
use rtps::cdr::{Representation, write_payload_in_order};
use rtps::types::DynamicValue;

use super::dissect::hexadecimal;
use super::sample_type::{SampleType, sample};
use crate::dynamic_json;
use crate::output::{Output, plain};
use crate::report::{Exit, Failure};

/// Rules that lay out a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RepresentationName {
    /// What every DDS understands
    Xcdr1,
    /// That of DDS-XTypes 1.2 and later
    Xcdr2,
}

/// Prints hexadecimal text: four octets of encapsulation header, then the sample. Exit code 2 when the file or the value
/// is refused.
#[derive(Args, Debug)]
pub(in crate::cli) struct EncodeArguments {
    #[command(flatten)]
    sample_type: SampleType,
    /// The file with the value as a JSON object; without it, or as -, standard input
    #[arg(long, value_name = "FILE")]
    value: Option<PathBuf>,
    /// How the sample is laid out
    #[arg(long, value_enum, default_value = "xcdr1")]
    representation: RepresentationName,
    /// Put the most significant octet of numbers first
    #[arg(long)]
    big_endian: bool,
    /// Only the members of the key, as they travel with a disposal
    #[arg(long)]
    key: bool,
    /// Write octets instead of hexadecimal text
    #[arg(long)]
    raw: bool,
}

/// Understands hexadecimal text (`#` starts a comment) and raw octets; both begin with the encapsulation header, which says
/// representation and byte order. Exit code 1 when the octets are no sample of the type.
#[derive(Args, Debug)]
pub(in crate::cli) struct DecodeArguments {
    #[command(flatten)]
    sample_type: SampleType,
    /// The file with the octets; without it, or as -, standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The octets are those of a key, as they travel with a disposal
    #[arg(long)]
    key: bool,
    /// Print the JSON in one line
    #[arg(long)]
    json: bool,
}

pub(super) fn encode(arguments: &EncodeArguments, output: &mut Output) -> Result<Exit, Failure> {
    let structure = arguments.sample_type.structure()?;
    let bytes = read(arguments.value.as_deref())?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::new(Exit::Usage, "the value is not UTF-8").with_remedy("give a JSON object"))?;
    let value = sample(&structure, &text)?;
    let representation = match arguments.representation {
        RepresentationName::Xcdr1 => Representation::Xcdr1,
        RepresentationName::Xcdr2 => Representation::Xcdr2,
    };
    let endianness = if arguments.big_endian { Endianness::Big } else { Endianness::Little };
    let mut payload = Vec::new();
    write_payload_in_order(structure.extensibility(), representation, endianness, &mut payload, |encoder| {
        if arguments.key { value.encode_key(encoder) } else { value.encode(encoder) }
    })
    .map_err(|error| {
        Failure::from_error(Exit::Usage, error).with_remedy("correct the value; the type says what it may be")
    })?;
    if arguments.raw {
        output.write(&payload)?;
    } else {
        let text: String = payload.iter().map(|octet| format!("{octet:02x}")).collect();
        output.line(&text)?;
    }
    Ok(Exit::Done)
}

pub(super) fn decode(arguments: &DecodeArguments, output: &mut Output) -> Result<Exit, Failure> {
    let structure = arguments.sample_type.structure()?;
    let bytes = read(arguments.file.as_deref())?;
    let payload = octets(&bytes)?;
    let decoded = match arguments.key {
        true => DynamicValue::key_from_payload(&structure, &payload),
        false => DynamicValue::from_payload(&structure, &payload),
    };
    let value = decoded.map_err(|error| {
        let message = format!("no sample of {:?}: {error}", structure.name());
        Failure::new(Exit::Failed, plain(&message)).with_remedy(
            "give the whole payload, with its encapsulation header of four octets, as in 00010000…",
        )
    })?;
    let json = dynamic_json::to_json(&value);
    output.line(&if arguments.json { json.to_string() } else { format!("{json:#}") })?;
    Ok(Exit::Done)
}

/// Raw octets, or those that hexadecimal text stands for. An encapsulation header starts with a zero, text never does.
fn octets(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Failure> {
    if bytes.first() == Some(&0) {
        return Ok(Cow::Borrowed(bytes));
    }
    let not_text = || {
        Failure::new(Exit::Failed, "the input is neither hexadecimal text nor a payload")
            .with_remedy("a payload starts with its encapsulation header, as in 00010000")
    };
    let text = std::str::from_utf8(bytes).map_err(|_| not_text())?;
    let parts = hexadecimal::read(text).map_err(|error| not_text().with_source(error))?;
    Ok(Cow::Owned(parts.concat()))
}

/// A file, or standard input.
fn read(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let path = path.filter(|path| path.as_os_str() != "-");
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
        let text = format!("{} has more than {BYTES_MAX} bytes", plain(&name));
        return Err(Failure::new(Exit::Usage, text).with_remedy("give one sample"));
    }
    Ok(bytes)
}

/// Bytes of a value or sample.
const BYTES_MAX: u64 = 256 << 20;
