//! The name of one system-wide perf event (`perf_event_open(2)`): what to count and on which CPU. Touches nothing.

/// One event of a performance monitoring unit, counted on one CPU for all processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerfEvent {
    /// The unit's name below `sys/bus/event_source/devices`.
    pub unit: String,
    /// The event's name in the unit's `events` folder.
    pub name: String,
    /// The unit's number, from its `type` file.
    pub kind: u32,
    /// What to count, from the event's file.
    pub config: u64,
    /// The CPU that counts, from the unit's `cpumask`.
    pub cpu: u32,
}
