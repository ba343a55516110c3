//! Quantities as the command line prints them: three or four digits with a prefix and the unit. Pure.

use std::time::Duration;

use node::{Bounded, PowerFigure, Quantity};

/// The end of a name in JSON for a quantity.
pub(crate) fn suffix(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Power => "watts",
        Quantity::Energy => "joules",
        Quantity::Frequency => "hertz",
        Quantity::Temperature => "celsius",
        Quantity::Utilisation => "ratio",
        Quantity::Memory => "bytes",
        Quantity::Load => "tasks",
        Quantity::Voltage => "volts",
        Quantity::Current => "amperes",
    }
}

/// A value and its bounds as two texts; the bounds are empty where they look like the value.
pub(crate) fn of(quantity: Quantity, Bounded { value, low, high }: Bounded<f64>) -> (String, String) {
    let show = |number| one(quantity, number);
    let (from, to) = (show(low), show(high));
    let bounds = if from == to { String::new() } else { format!("{from} to {to}") };
    (show(value), bounds)
}

/// One number of a quantity with its unit.
pub(crate) fn one(quantity: Quantity, number: f64) -> String {
    match quantity {
        Quantity::Power => scaled(number, "W", &DECIMAL),
        Quantity::Energy => scaled(number, "J", &DECIMAL),
        Quantity::Frequency => scaled(number, "Hz", &DECIMAL),
        Quantity::Temperature => format!("{number:.1} °C"),
        Quantity::Utilisation => format!("{:.1} %", number * 100.0),
        Quantity::Memory => scaled(number, "B", &BINARY),
        Quantity::Load => format!("{number:.2} tasks"),
        Quantity::Voltage => scaled(number, "V", &DECIMAL),
        Quantity::Current => scaled(number, "A", &DECIMAL),
    }
}

/// A duration with its unit.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds >= 120.0 && seconds % 60.0 == 0.0 {
        return format!("{} min", seconds / 60.0);
    }
    scaled(seconds, "s", &DECIMAL)
}

/// The means by which a figure of power was had: `powercap`, or `model:PROFILE`.
pub(crate) fn power_source(figure: &PowerFigure) -> String {
    match figure.profile {
        Some(profile) => format!("{}:{profile}", figure.source),
        None => figure.source.to_string(),
    }
}

fn scaled(number: f64, unit: &str, prefixes: &[(f64, &str)]) -> String {
    let size = number.abs();
    if size == 0.0 || !number.is_finite() {
        return format!("{number} {unit}");
    }
    let (factor, prefix) = prefixes.iter().find(|(factor, _)| size >= *factor).unwrap_or(&(1.0, ""));
    let scaled = number / factor;
    let text = match scaled.abs() {
        size if size >= 100.0 => format!("{scaled:.1}"),
        size if size >= 10.0 => format!("{scaled:.2}"),
        _ => format!("{scaled:.3}"),
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {prefix}{unit}")
}

const DECIMAL: [(f64, &str); 7] =
    [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
const BINARY: [(f64, &str); 5] =
    [(1_099_511_627_776.0, "Ti"), (1_073_741_824.0, "Gi"), (1_048_576.0, "Mi"), (1024.0, "Ki"), (1.0, "")];

#[cfg(test)]
mod tests {
    use super::*;

    /// The prefix follows the size and the unit is always there.
    #[test]
    fn prefixes_follow_the_size() {
        assert_eq!(one(Quantity::Frequency, 2.4e9), "2.4 GHz");
        assert_eq!(one(Quantity::Power, 0.0), "0 W");
        assert_eq!(one(Quantity::Power, 1234.5), "1.234 kW");
        assert_eq!(one(Quantity::Memory, 1536.0), "1.5 KiB");
        assert_eq!(one(Quantity::Utilisation, 0.125), "12.5 %");
        assert_eq!(duration(Duration::from_millis(200)), "200 ms");
        assert_eq!(duration(Duration::from_secs(300)), "5 min");
        assert_eq!(duration(Duration::from_secs(1)), "1 s");
    }

    /// Bounds that say nothing are left away.
    #[test]
    fn bounds_only_where_they_differ() {
        assert_eq!(of(Quantity::Power, Bounded::exact(3.0)), ("3 W".to_owned(), String::new()));
        let wide = Bounded { value: 2.0, low: 1.0, high: 3.0 };
        assert_eq!(of(Quantity::Power, wide).1, "1 W to 3 W");
    }
}
