#![expect(clippy::disallowed_methods, reason = "I/O shell: reads the files of a case")]
//! Loads the files of a case from `tests/cases/<ID>/` of the workspace.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::path::PathBuf;

/// The text of a case's file.
pub(crate) fn text(id: &str, file: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../tests/cases", id, file].iter().collect();
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A case's JSON file.
pub(crate) fn json(id: &str, file: &str) -> Value {
    serde_json::from_str(&text(id, file)).unwrap()
}

/// A case's datagram: hexadecimal octets, lines that start with `#` are comments.
pub(crate) fn datagram(id: &str, file: &str) -> Vec<u8> {
    let digits: String = text(id, file).lines().filter(|line| !line.starts_with('#')).collect();
    octets(&digits)
}

/// Hexadecimal octets with or without blanks.
pub(crate) fn octets(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

/// The datagram with the one place where `from` is replaced by `to`.
pub(crate) fn mutated(datagram: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<usize> = (0..datagram.len()).filter(|at| datagram[*at..].starts_with(from)).collect();
    let [place] = places[..] else { panic!("{} places instead of one", places.len()) };
    [&datagram[..place], to, &datagram[place + from.len()..]].concat()
}

/// The strings of a JSON array.
pub(crate) fn strings(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}
