//! The PowerStack's roles on the bus: what they say to each other, how requests and answers are matched, who may set
//! what on a machine and for how long.
//!
//! The decisions (`exchange`, `lease`) are pure; `client` and `service` modules are shells over `bus`, and a machine
//! is touched only through `node`.

pub mod conformance;
pub mod device;
mod endpoint;
pub mod exchange;
pub mod lease;
pub mod message;
pub mod metric;
pub mod monitor;
pub mod node_manager;
pub mod reference;
pub mod synthetic;
pub mod topic;

/// The threads that this crate may start, for thread lists and tests.
pub const THREAD_ROLES: [node::thread::Role; 2] = [node_manager::service::ROLE, monitor::service::ROLE];
