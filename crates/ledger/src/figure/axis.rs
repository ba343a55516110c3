//! Axes: from values to places, and where ticks belong.

/// How an axis spaces its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, beginning with zero where all values are positive.
    Linear,
    /// Each factor of ten takes the same space; values that are not positive are not drawn.
    Log,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it says, with the unit in brackets.
    pub label: String,
    /// How values are spaced.
    pub scale: Scale,
    /// Where ticks are; empty for round numbers.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// An evenly spaced axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, ticks: Vec::new() }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, ticks: Vec::new() }
    }

    /// With ticks at these values.
    pub fn with_ticks(mut self, ticks: impl IntoIterator<Item = f64>) -> Self {
        self.ticks = ticks.into_iter().collect();
        self
    }
}

/// An axis that knows its range and where its values lie.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// Labelled ticks.
    pub(crate) ticks: Vec<f64>,
}

/// About so many labelled ticks on a linear axis.
const TICKS: f64 = 5.0;
/// Room above the highest value, as a share of the range.
const HEADROOM: f64 = 0.06;

impl Placed {
    /// For `values`, drawn between the places `from` and `to`. `fills` is whether the range begins and ends at values
    /// (a horizontal axis) or at ticks.
    pub(crate) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
        fills: bool,
    ) -> Self {
        let is_log = axis.scale == Scale::Log;
        let usable = |value: &f64| value.is_finite() && (!is_log || *value > 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.chain(axis.ticks.iter().copied()).filter(usable) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let mut placed = Self { scale: axis.scale, low, high, from, to, ticks: axis.ticks.clone() };
        if is_log {
            placed.fit_log(fills)
        } else {
            placed.fit_linear(fills)
        }
        placed
    }

    fn fit_linear(&mut self, fills: bool) {
        if self.low > 0.0 && !fills {
            self.low = 0.0;
        }
        if self.high <= self.low {
            self.high = self.low + 1.0;
        }
        let margin = (self.high - self.low) * HEADROOM;
        self.high += margin;
        if fills {
            self.low -= margin;
        }
        let step = round_step((self.high - self.low) / TICKS);
        if self.ticks.is_empty() {
            let first = (self.low / step).ceil();
            let count = ((self.high / step).floor() - first) as u32;
            self.ticks = (0..=count).map(|index| (first + f64::from(index)) * step).collect();
        }
    }

    fn fit_log(&mut self, fills: bool) {
        if fills {
            self.low /= 1.15;
            self.high *= 1.15;
        } else {
            // A whole 1, 2 or 5 below, and room above for what stands on the highest value.
            self.low = *steps(self.low / 10.0, self.low * 0.95).last().unwrap_or(&self.low);
            self.high *= 1.35;
        }
        if self.ticks.is_empty() {
            let all = steps(self.low * 0.999, self.high);
            let decades =
                |ticks: &[f64]| ticks.iter().copied().filter(|tick| is_decade(*tick)).collect::<Vec<_>>();
            let whole = decades(&all);
            self.ticks = if whole.len() >= 4 { whole } else { all };
        }
    }

    /// Where `value` lies.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Whether it can be drawn at all.
    pub(crate) fn has_place(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

fn is_decade(tick: f64) -> bool {
    (tick.log10() - tick.log10().round()).abs() < 1e-6
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= step * 0.999);
    factor.unwrap_or(10.0) * decade
}

/// All of 1, 2 and 5 times powers of ten between two values.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = exponents.flat_map(|exponent| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(exponent)));
    all.filter(|step| *step >= low * 0.999 && *step <= high * 1.001).collect()
}

/// A tick's or a bar's number: short, with k and M for thousands and millions.
pub(crate) fn shown(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 999_500.0 => (value / 1e6, "M"),
        size if size >= 9_995.0 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        0.0 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.0995 => 2,
        _ => 3,
    };
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis, values: &[f64]) -> Vec<f64> {
        Placed::new(axis, values.iter().copied(), (0.0, 100.0), false).ticks
    }

    /// Linear axes begin with zero and have round ticks; logarithmic ones have 1, 2, 5 or, over many decades, powers of
    /// ten.
    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(&Axis::linear("y"), &[3.0, 47.0]), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(ticks(&Axis::log("y"), &[4.6, 80.0]), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(&Axis::log("y"), &[3.0, 60_000.0]).len(), 4);
        assert_eq!(ticks(&Axis::linear("y").with_ticks([1.0, 40.0]), &[3.0]), [1.0, 40.0]);
    }

    /// Places keep the order of values and stay within the axis; nothing to draw is no fault.
    #[test]
    fn places_are_inside() {
        for axis in [Axis::linear("y"), Axis::log("y")] {
            let placed = Placed::new(&axis, [1.0, 1000.0].into_iter(), (200.0, 20.0), false);
            let places = [1.0, 10.0, 1000.0].map(|value| placed.place(value));
            assert!(
                places[0] > places[1] && places[1] > places[2] && places[2] >= 20.0 && places[0] <= 200.0
            );
            let empty = Placed::new(&axis, std::iter::empty(), (0.0, 1.0), true);
            assert!(empty.place(5.0).is_finite());
        }
        assert!(!Placed::new(&Axis::log("y"), [1.0].into_iter(), (0.0, 1.0), false).has_place(0.0));
    }

    /// Numbers are short.
    #[test]
    fn numbers() {
        let all = [0.0, 0.05, 1.0, 4.84, 23.7, 243.2, 7628.12, 18_880.0, 1_282_400.0].map(shown);
        assert_eq!(all, ["0", "0.05", "1", "4.84", "23.7", "243", "7628", "18.9k", "1.28M"]);
    }
}
