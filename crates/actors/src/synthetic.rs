//! Actors without a machine behind them: test doubles that answer like the real ones.
//!
//! The machine is pure; its faults are set from outside, so that a test can make any step fail.

mod job_manager;
mod machine;
mod monitor;

pub use job_manager::{JobManagerError, SyntheticJob, SyntheticJobManager};
pub use machine::{Fault, SyntheticHandle, SyntheticMachine, SyntheticProfile};
pub use monitor::SyntheticMonitor;

use crate::node_manager::manager::{Manager, ManagerConfig};

/// A node manager over made-up knobs and sensors, with the rules of the real one.
pub type SyntheticNodeManager = Manager<SyntheticMachine>;

/// A synthetic node manager of this name with the default profile.
pub fn node_manager(host: &str, config: ManagerConfig) -> SyntheticNodeManager {
    Manager::new(SyntheticMachine::new(SyntheticProfile::named(host)), config)
}
