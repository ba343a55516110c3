//! Topics, their quality of service and the partitions in which actors meet.
//!
//! Pure. Names and policies follow the product's topic table; each node manager joins both the flat partition that
//! the REGALE tools use and a scoped one.

use std::marker::PhantomData;

use crate::message::{
    Event, JmState, JobTelemetry, MetricDescriptor, NmCapability, NmReply, NmRequest, NmStatus, NodeTelemetry,
};

/// A topic that carries `T`.
#[derive(Debug)]
pub struct Topic<T> {
    /// Its name on the bus.
    pub name: &'static str,
    /// Whether samples are repeated until they arrive.
    pub is_reliable: bool,
    /// Whether a late joiner gets the last samples.
    pub is_transient_local: bool,
    /// How many samples of an instance are kept.
    pub depth: u32,
    carries: PhantomData<fn() -> T>,
}

impl<T> Topic<T> {
    const fn new(name: &'static str, is_reliable: bool, is_transient_local: bool, depth: u32) -> Self {
        Self { name, is_reliable, is_transient_local, depth, carries: PhantomData }
    }
}

/// Requests to node managers.
pub const NM_REQUEST: Topic<NmRequest> = Topic::new("regale/nm/req", true, false, 64);
/// Answers of node managers; each client takes those that name it.
pub const NM_REPLY: Topic<NmReply> = Topic::new("regale/nm/rep", true, false, 64);
/// How nodes are.
pub const NM_STATUS: Topic<NmStatus> = Topic::new("regale/nm/status", true, true, 1);
/// What can be set where.
pub const NM_CAPABILITY: Topic<NmCapability> = Topic::new("regale/nm/caps", true, true, 1);
/// What happened.
pub const EVENT: Topic<Event> = Topic::new("regale/event", true, false, 256);
/// Values of nodes.
pub const NODE_TELEMETRY: Topic<NodeTelemetry> = Topic::new("regale/mon/node", false, false, 8);
/// Values of jobs.
pub const JOB_TELEMETRY: Topic<JobTelemetry> = Topic::new("regale/mon/job", false, false, 64);
/// What metrics mean.
pub const METRIC_DESCRIPTOR: Topic<MetricDescriptor> = Topic::new("regale/mon/desc", true, true, 1);
/// How jobs are.
pub const JM_STATE: Topic<JmState> = Topic::new("regale/jm/state", true, false, 1);

/// The partition of telemetry and of what a monitor wants to know.
pub const PARTITION_MONITOR: &str = "monitor";
/// The partition pattern that reaches every node manager.
pub const PARTITION_EVERY_NODE: &str = "NodeManager*";

/// Where a node stands in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cluster's name.
    pub cluster: String,
    /// The island (rack group, row) inside it.
    pub island: String,
}

impl Default for Place {
    /// The only island of a nameless cluster.
    fn default() -> Self {
        Self { cluster: "local".into(), island: "0".into() }
    }
}

/// The flat partition of one node's manager.
pub fn node_partition(host: &str) -> String {
    format!("NodeManager{host}")
}

/// The scoped partition of one node; with `*` for a part, the pattern of many.
pub fn scoped_partition(cluster: &str, island: &str, host: &str) -> String {
    format!("cl/{cluster}/is/{island}/no/{host}")
}

/// The partitions that a node manager joins.
pub fn node_manager_partitions(host: &str, place: &Place) -> Vec<String> {
    vec![node_partition(host), scoped_partition(&place.cluster, &place.island, host)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node manager is reached by its flat name, by the pattern for all, and by its place.
    #[test]
    fn partitions() {
        let place = Place { cluster: "alpha".into(), island: "3".into() };
        let joined = node_manager_partitions("n007", &place);
        assert_eq!(joined, ["NodeManagern007", "cl/alpha/is/3/no/n007"]);
    }
}
