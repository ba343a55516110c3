//! Reading quantities with their unit from text. A number without a unit is an error, so `30` can never be taken
//! for seconds in one place and milliseconds in another.

use alloc::string::{String, ToString};
use core::time::Duration;

use crate::{Hertz, Watts};

/// A text that is not a quantity of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind}: {reason} (write for example {example:?})")]
pub struct ParseQuantityError {
    text: String,
    kind: &'static str,
    reason: &'static str,
    example: &'static str,
}

struct Kind {
    name: &'static str,
    example: &'static str,
    units: &'static [(&'static str, f64)],
}

const DURATION: Kind = Kind {
    name: "duration",
    example: "200 ms",
    units: &[
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
    ],
};
const POWER: Kind = Kind {
    name: "power",
    example: "250 W",
    units: &[("uW", 1e-6), ("mW", 1e-3), ("W", 1.0), ("kW", 1e3), ("MW", 1e6)],
};
const FREQUENCY: Kind = Kind {
    name: "frequency",
    example: "2.4 GHz",
    units: &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
};
const BYTES: Kind = Kind {
    name: "size",
    example: "64 MiB",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
};

/// The longest duration that configuration may ask for: 100 years.
const SECONDS_MAX: f64 = 3.2e9;
/// Sizes up to here are exact in an `f64`.
const BYTES_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads a duration such as `30s`, `200 ms` or `1.5 h`.
///
/// # Errors
/// When the unit is missing or unknown, or the number is negative, not finite or above 100 years.
pub fn parse_duration(text: &str) -> Result<Duration, ParseQuantityError> {
    let seconds = parse(text, &DURATION)?;
    if seconds > SECONDS_MAX {
        return Err(DURATION.fault(text, "longer than 100 years"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| DURATION.fault(text, "out of range"))
}

/// Reads a power such as `250 W` or `1.2kW`.
///
/// # Errors
/// When the unit is missing or unknown, or the number is negative or not finite.
pub fn parse_power(text: &str) -> Result<Watts, ParseQuantityError> {
    parse(text, &POWER).map(Watts::new)
}

/// Reads a frequency such as `2.4 GHz`.
///
/// # Errors
/// When the unit is missing or unknown, or the number is negative or not finite.
pub fn parse_frequency(text: &str) -> Result<Hertz, ParseQuantityError> {
    parse(text, &FREQUENCY).map(Hertz::new)
}

/// Reads a size in bytes such as `64 MiB`.
///
/// # Errors
/// When the unit is missing or unknown, the number is negative or not finite, or it is not a whole number of bytes
/// below 2^53.
pub fn parse_bytes(text: &str) -> Result<u64, ParseQuantityError> {
    let bytes = parse(text, &BYTES)?;
    if bytes > BYTES_MAX || bytes % 1.0 != 0.0 {
        return Err(BYTES.fault(text, "not a whole number of bytes below 2^53"));
    }
    Ok(bytes as u64)
}

impl Kind {
    fn fault(&self, text: &str, reason: &'static str) -> ParseQuantityError {
        ParseQuantityError { text: text.to_string(), kind: self.name, reason, example: self.example }
    }
}

fn parse(text: &str, kind: &Kind) -> Result<f64, ParseQuantityError> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let value: f64 =
        number.replace('_', "").parse().map_err(|_| kind.fault(text, "does not begin with a number"))?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(kind.fault(text, "the unit is missing"));
    }
    let factor = kind
        .units
        .iter()
        .find_map(|(name, factor)| (*name == unit).then_some(*factor))
        .ok_or_else(|| kind.fault(text, "unknown unit"))?;
    if value < 0.0 || !value.is_finite() {
        return Err(kind.fault(text, "must not be negative"));
    }
    Ok(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units are read with and without a space.
    #[test]
    fn reads_units() {
        assert_eq!(parse_duration("30s").unwrap(), Duration::from_secs(30));
        assert_eq!(parse_duration(" 200 ms").unwrap(), Duration::from_millis(200));
        assert_eq!(parse_power("1.2kW").unwrap(), Watts::new(1200.0));
        assert_eq!(parse_frequency("2.4 GHz").unwrap(), Hertz::new(2.4e9));
        assert_eq!(parse_bytes("64 MiB").unwrap(), 67_108_864);
    }

    /// A bare number, an unknown unit and a negative value are refused with an example of what to write.
    #[test]
    fn refuses_numbers_without_unit() {
        for text in ["30", "", "s", "-1 s", "5 fortnights", "1e400 s", "4e9 s", "1..2 s"] {
            let error = parse_duration(text).unwrap_err().to_string();
            assert!(error.contains("200 ms"), "{error}");
        }
        assert!(parse_bytes("0.5 B").is_err());
    }
}
