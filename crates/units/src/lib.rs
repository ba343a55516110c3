//! Quantities with their units, the two clocks' instants, and lists of CPUs and hosts.
//!
//! Pure and `no_std`: nothing here reads a clock, a file or the environment. Quantities are `f64` in SI base units
//! inside; only the arithmetic that physics has is defined (`Watts * Duration = Joules`).

#![no_std]

extern crate alloc;

mod cpu_list;
mod host_list;
mod parse;
mod quantity;
mod time;

pub use cpu_list::{CpuList, ParseCpuListError};
pub use host_list::{HostList, ParseHostListError};
pub use parse::{ParseQuantityError, parse_bytes, parse_duration, parse_frequency, parse_power};
pub use quantity::{Amperes, Bytes, Celsius, Hertz, Joules, Ratio, Volts, Watts};
pub use time::{Instant, Timestamp};
