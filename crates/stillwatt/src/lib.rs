//! Commands, daemon roles and dashboard of the stillwatt power stack, behind the `stillwatt` binary.
//!
//! May touch everything, thinly: files that do say so on their first line.

pub mod bench;
pub mod cli;
pub mod config;
pub mod domain;
pub mod dynamic_json;
pub mod interrupt;
pub mod known_types;
mod lab;
pub mod machine;
pub mod monitor_role;
pub mod node_role;
pub mod observer;
pub mod output;
pub mod own_cost;
pub mod report;
pub mod run_account;
pub mod snapshot;
pub mod state;
pub mod station;
pub mod transport_choice;
pub mod view;
pub mod web;
