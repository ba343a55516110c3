//! One machine: what it is made of, what its sensors say, what its knobs allow, and how to leave it as it was found.
//!
//! Everything about the machine goes through one trait, [`SysRoot`], so that the same code reads this machine, a
//! captured tree, files in memory with injected faults and a simulated node. May touch: `/sys` and `/proc` below that
//! root, perf events, threads, clocks and the journal's folder.

pub mod absent;
pub mod clock;
pub mod counter;
pub mod journal;
pub mod knob;
mod machine;
pub mod power;
pub mod reading;
pub mod sensor;
pub mod simulated;
pub mod sys_root;
pub mod thread;
pub mod topology;

pub use absent::{Absent, AbsentReason};
pub use machine::{Node, NodeSample, NodeSampler, SensorReport};
pub use power::{Coverage, EnergyAccount, NodePower, PowerFigure};
pub use reading::{Bounded, Domain, Flags, Measurement, Quality, Quantity, Reading, Source, Value};
pub use sys_root::{HostRoot, MemoryRoot, SysRoot};
