//! Datagrams as hexadecimal text: with or without blanks, `#` comments, and the offsets and characters of hex dumps.

/// Text that is neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not hexadecimal: {text:?}")]
pub(in crate::cli::bus) struct HexError {
    line: usize,
    text: String,
}

/// The datagrams of a text. A line that starts with `RTPS` in hexadecimal starts a new one.
pub(in crate::cli::bus) fn read(text: &str) -> Result<Vec<Vec<u8>>, HexError> {
    let mut datagrams: Vec<Vec<u8>> = Vec::new();
    let mut half: Option<u8> = None;
    for (index, line) in text.lines().enumerate() {
        let content = content(line);
        let digits: Vec<u8> = content.bytes().filter(|octet| !octet.is_ascii_whitespace()).collect();
        if digits.is_empty() {
            continue;
        }
        let values: Option<Vec<u8>> =
            digits.iter().map(|digit| char::from(*digit).to_digit(16)?.try_into().ok()).collect();
        let Some(values) = values else {
            return Err(HexError { line: index + 1, text: content.chars().take(40).collect() });
        };
        if datagrams.is_empty() || (half.is_none() && digits.to_ascii_lowercase().starts_with(b"52545053")) {
            datagrams.push(Vec::new());
        }
        if let Some(datagram) = datagrams.last_mut() {
            for value in values {
                match half.take() {
                    Some(high) => datagram.push(high << 4 | value),
                    None => half = Some(value),
                }
            }
        }
    }
    match half {
        Some(_) => Err(HexError { line: text.lines().count(), text: "an odd number of digits".into() }),
        None => Ok(datagrams),
    }
}

/// A line without its comment, its offset (`0010:`) and the characters after two blanks.
fn content(line: &str) -> &str {
    let line = line.split('#').next().unwrap_or_default().trim();
    let Some((offset, rest)) = line.split_once(':') else { return line };
    let offset = offset.trim_start_matches("0x");
    if offset.is_empty() || !offset.bytes().all(|octet| octet.is_ascii_hexdigit()) {
        return line;
    }
    let rest = rest.trim_start();
    rest.split("  ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain digits, comments and dumps give the same octets; `RTPS` starts the next datagram.
    #[test]
    fn forms() {
        let plain = "# two\n52 54 50 53 02\n03 # more\n\n525450530a";
        let expected = vec![vec![0x52, 0x54, 0x50, 0x53, 2, 3], vec![0x52, 0x54, 0x50, 0x53, 10]];
        assert_eq!(read(plain), Ok(expected));
        let dump = "00000000: 5254 5053 0203  RTPS..\n00000006: ff0a            ..\n";
        assert_eq!(read(dump), Ok(vec![vec![0x52, 0x54, 0x50, 0x53, 2, 3, 0xff, 10]]));
        assert!(read("52 5g").unwrap_err().to_string().contains("line 1"));
        assert!(read("525").is_err());
    }
}
