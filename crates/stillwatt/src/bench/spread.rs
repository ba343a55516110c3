//! Medians and spreads over runs. Pure.

use serde::Serialize;

/// What several runs gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// The middle one; with an even number of runs, the mean of the two in the middle.
    pub(crate) median: f64,
    /// The lowest one.
    pub(crate) lowest: f64,
    /// The highest one.
    pub(crate) highest: f64,
}

impl Spread {
    /// Of these values; `None` when there is none, or one that is not a number.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.iter().any(|value| value.is_nan()) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let (lowest, highest) = (*values.first()?, *values.last()?);
        let (low, high) = (values.get((values.len() - 1) / 2)?, values.get(values.len() / 2)?);
        Some(Self { median: f64::midpoint(*low, *high), lowest, highest })
    }

    /// Of the ratios between runs that were made one after the other, so that both saw the same neighbours.
    pub(crate) fn of_ratios(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        Self::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odd and even numbers of runs; nothing measured gives nothing.
    #[test]
    fn medians() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, lowest: 1.0, highest: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0]).map(|spread| spread.median), Some(2.5));
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([1.0, f64::NAN]), None);
    }

    /// Ratios are taken run by run, not between medians.
    #[test]
    fn ratios_are_paired() {
        let spread = Spread::of_ratios(&[1.0, 10.0, 3.0], &[2.0, 10.0, 4.0]);
        assert_eq!(spread, Some(Spread { median: 0.75, lowest: 0.5, highest: 1.0 }));
    }
}
