//! Physical quantities as plain newtypes over `f64` in SI base units.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use core::time::Duration;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// The zero of this quantity.
            pub const ZERO: Self = Self(0.0);
            /// The unit's symbol as printed by `Display`.
            pub const UNIT: &'static str = $unit;

            /// Wraps a number already in this unit.
            pub const fn new(value: f64) -> Self {
                Self(value)
            }

            /// The number in this unit.
            pub const fn get(self) -> f64 {
                self.0
            }

            /// The smaller of two values (a NaN loses).
            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }

            /// The larger of two values (a NaN loses).
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// Whether the number is neither infinite nor NaN.
            pub const fn is_finite(self) -> bool {
                self.0.is_finite()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match f.precision() {
                    Some(digits) => write!(f, "{:.*}", digits, self.0)?,
                    None => write!(f, "{}", self.0)?,
                }
                // A share has no symbol and so no blank before it.
                if $unit.is_empty() { Ok(()) } else { write!(f, " {}", $unit) }
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }
    };
}

quantity!(
    /// Power in watts.
    Watts,
    "W"
);
quantity!(
    /// Energy in joules.
    Joules,
    "J"
);
quantity!(
    /// Frequency in hertz.
    Hertz,
    "Hz"
);
quantity!(
    /// Temperature in degrees Celsius.
    Celsius,
    "°C"
);
quantity!(
    /// Electric potential in volts.
    Volts,
    "V"
);
quantity!(
    /// Electric current in amperes.
    Amperes,
    "A"
);
quantity!(
    /// An amount of memory in bytes; whole numbers are exact up to 2^53.
    Bytes,
    "B"
);
quantity!(
    /// A dimensionless share, 1.0 meaning all of it (a utilisation of 0.25 is a quarter of the CPU's time).
    Ratio,
    ""
);

impl Hertz {
    /// From the kernel's unit, kilohertz.
    pub const fn from_kilohertz(kilohertz: f64) -> Self {
        Self(kilohertz * 1e3)
    }

    /// In kilohertz, as cpufreq files and the `regale_*` C interface use it.
    pub const fn kilohertz(self) -> f64 {
        self.0 / 1e3
    }
}

impl Mul<Duration> for Watts {
    type Output = Joules;
    fn mul(self, time: Duration) -> Joules {
        Joules(self.0 * time.as_secs_f64())
    }
}

impl Div<Duration> for Joules {
    type Output = Watts;
    /// Mean power over `time`; infinite or NaN when `time` is zero, so callers check first.
    fn div(self, time: Duration) -> Watts {
        Watts(self.0 / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Energy is power times time, and back.
    #[test]
    fn power_and_energy() {
        let energy = Watts::new(250.0) * Duration::from_secs(600);
        assert_eq!(energy, Joules::new(150_000.0));
        assert_eq!(energy / Duration::from_secs(600), Watts::new(250.0));
    }

    /// Printing always shows the unit, where there is one.
    #[test]
    fn display_has_unit() {
        extern crate alloc;
        assert_eq!(alloc::format!("{:.1}", Celsius::new(-5.25)), "-5.2 °C");
        assert_eq!(alloc::format!("{:.2}", Ratio::new(0.25)), "0.25");
    }
}
