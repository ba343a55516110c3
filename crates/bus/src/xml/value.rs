//! Values of elements: durations, words, octets, sizes.

use std::time::Duration;

use rtps::Lease;

use super::section::{check_attributes, check_no_children, unknown};
use super::{Element, XmlError};

/// A duration: seconds and nanoseconds, either of which may be an infinite word. Files of earlier versions write
/// `seconds` and 2^-32 `fraction`s, or `durationbyname`.
pub(crate) fn duration(element: &Element) -> Result<Lease, XmlError> {
    check_attributes(element, std::iter::empty())?;
    if element.children.is_empty() {
        if is_infinite(&element.text) {
            return Ok(Lease::Infinite);
        }
        let what = format!("<{}> has no duration", element.name);
        return Err(element.error(what, "put <sec> or <nanosec> into it"));
    }
    let (mut seconds, mut nanos, mut infinite) = (0_u32, 0_u32, false);
    for child in &element.children {
        check_no_children(child)?;
        match child.name.as_str() {
            "sec" | "seconds" | "nanosec" | "durationbyname" if is_infinite(&child.text) => infinite = true,
            "sec" | "seconds" => seconds = child.number()?,
            "nanosec" => nanos = child.number()?,
            "fraction" => {
                nanos = u32::try_from((u64::from(child.number::<u32>()?) * 1_000_000_000) >> 32).unwrap_or(0);
            }
            "durationbyname" => {
                word(child, &["INFINITE", "ZERO"])?;
            }
            _ => return Err(unknown(element, child, ["sec", "nanosec"].into_iter())),
        }
    }
    // The vendor's infinite duration, as a number.
    if infinite || seconds >= i32::MAX.cast_unsigned() {
        return Ok(Lease::Infinite);
    }
    if nanos >= 1_000_000_000 {
        let what = format!("<nanosec> in <{}> is {nanos}, which is more than a second", element.name);
        return Err(element.error(what, "write a number below 1000000000"));
    }
    Ok(Lease::Finite(Duration::new(seconds.into(), nanos)))
}

fn is_infinite(text: &str) -> bool {
    matches!(text, "DURATION_INFINITY" | "DURATION_INFINITE_SEC" | "DURATION_INFINITE_NSEC" | "INFINITE")
}

/// A duration that must end.
pub(crate) fn finite(element: &Element) -> Result<Duration, XmlError> {
    match duration(element)? {
        Lease::Finite(duration) => Ok(duration),
        Lease::Infinite => Err(element.error(format!("<{}> is infinite", element.name), "give it seconds")),
    }
}

/// The text, which must be one of these words.
pub(crate) fn word(element: &Element, words: &[&'static str]) -> Result<&'static str, XmlError> {
    check_no_children(element)?;
    words.iter().find(|word| **word == element.text).copied().ok_or_else(|| {
        let what = format!("<{}> is {:?}", element.name, element.text);
        element.error(what, format!("write one of {}", words.join(", ")))
    })
}

/// Text that must not be empty.
pub(crate) fn text(element: &Element) -> Result<String, XmlError> {
    check_no_children(element)?;
    if element.text.is_empty() {
        return Err(element.error(format!("<{}> is empty", element.name), "give it a value"));
    }
    Ok(element.text.clone())
}

/// Octets in hexadecimal with dots between them, as in `1a.2.ff`.
pub(crate) fn octets(element: &Element) -> Result<Vec<u8>, XmlError> {
    let octet = |digits: &str| {
        (digits.len() <= 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .then(|| u8::from_str_radix(digits, 16).ok())
            .flatten()
    };
    element.text.split('.').map(|digits| octet(digits.trim())).collect::<Option<_>>().ok_or_else(|| {
        let what = format!("<{}> is {:?}, which is not a list of octets", element.name, element.text);
        element.error(what, "write hexadecimal octets with dots between them, as in 1a.02.ff")
    })
}

/// Appends what an element says to a list of at most `max`, unless it is there already.
pub(crate) fn append<T: PartialEq>(
    list: &mut Vec<T>,
    item: T,
    element: &Element,
    max: usize,
) -> Result<(), XmlError> {
    if list.contains(&item) {
        return Ok(());
    }
    if list.len() >= max {
        let what = format!("there are more than {max} of <{}>", element.name);
        return Err(element.error(what, "leave some out"));
    }
    list.push(item);
    Ok(())
}

/// A number of bytes, with or without a unit (`B`, `KB`, `KiB`, … `GB`), that 32 bits hold.
pub(crate) fn bytes(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(digits);
    let factor: u64 = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" => 1_000,
        "KIB" => 1 << 10,
        "MB" => 1_000_000,
        "MIB" => 1 << 20,
        "GB" => 1_000_000_000,
        "GIB" => 1 << 30,
        _ => return None,
    };
    u32::try_from(digits.parse::<u64>().ok()?.checked_mul(factor)?).ok()
}
