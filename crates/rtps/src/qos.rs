//! Quality of service policies and the requested/offered rule (DDS 1.4, 2.2.3; DDS-XTypes 7.6.3.1 for
//! representations).

use crate::Lease;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// Whether lost samples are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reliability {
    /// They are not.
    BestEffort,
    /// They are, as long as the writer's history has them.
    Reliable,
}

/// What a reader that joins late gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Only what is written after it joined.
    Volatile,
    /// What is still in the writer's history.
    TransientLocal,
    /// What a service kept in memory. Our endpoints treat it as transient local.
    Transient,
    /// What a service kept on disk. Our endpoints treat it as transient local.
    Persistent,
}

/// How many samples of an instance are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum History {
    /// The newest ones, up to this many (at least 1).
    KeepLast(u32),
    /// All, within the resource limits.
    KeepAll,
}

/// Bounds of a history; `None` leaves it to the implementation's own bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceLimits {
    /// Samples of all instances together.
    pub max_samples: Option<u32>,
    /// Instances.
    pub max_instances: Option<u32>,
    /// Samples of one instance. A keep-last depth above it counts as it.
    pub max_samples_per_instance: Option<u32>,
}

/// Who says that a writer is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LivelinessKind {
    /// The middleware, as long as the process runs.
    Automatic,
    /// The application, for all writers of its participant at once.
    ManualByParticipant,
    /// The application, for each writer.
    ManualByTopic,
}

/// How a writer's death is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Liveliness {
    /// Who says that it is alive.
    pub kind: LivelinessKind,
    /// After how much silence it counts as dead.
    pub lease: Lease,
}

/// Whether several writers may update an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ownership {
    /// All may.
    Shared,
    /// Only the strongest one that is alive.
    Exclusive,
}

/// The order in which samples of several writers appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestinationOrder {
    /// As received.
    ByReception,
    /// By source time.
    BySource,
}

/// The widest set of changes that presentation applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PresentationScope {
    /// One instance.
    Instance,
    /// All instances of an endpoint.
    Topic,
    /// All endpoints of a publisher or subscriber.
    Group,
}

/// How sets of changes are shown together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Presentation {
    /// What it applies to.
    pub scope: PresentationScope,
    /// Whether a set is shown whole or not at all.
    pub coherent: bool,
    /// Whether the order of changes is kept within the scope.
    pub ordered: bool,
}

/// The quality of service of a writer or reader. What only one of them has (lifespan, ownership strength, resource
/// limits of its own) is ignored by the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Qos {
    /// Whether lost samples are repaired.
    pub reliability: Reliability,
    /// What a late reader gets.
    pub durability: Durability,
    /// How many samples are kept.
    pub history: History,
    /// Bounds of the history.
    pub resource_limits: ResourceLimits,
    /// The longest time between two samples of an instance, at least 1 ms. What is missed is counted on both sides, and
    /// an exclusive owner that misses it loses the instance.
    pub deadline: Lease,
    /// The shortest time between two samples of an instance that a reader hands out, zero for all; at most the
    /// deadline. A reliable reader hands out the newest of those in between when the time is over.
    pub time_based_filter: Duration,
    /// A hint how long a sample may be held back to be sent with others.
    pub latency_budget: Lease,
    /// How a writer's death is noticed.
    pub liveliness: Liveliness,
    /// How long a sample of a writer is of use. The writer forgets older ones; a reader does not hand out what arrived
    /// longer ago. Both count by their own monotonic clock, the reader from the arrival: the source time is of another
    /// machine's wall clock, and a step of either clock would expire everything, or nothing. The price is the time
    /// that a sample was under way.
    pub lifespan: Lease,
    /// Whether several writers may update an instance.
    pub ownership: Ownership,
    /// The strength of an exclusive owner; the highest wins, and of equal ones the lowest GUID.
    pub ownership_strength: i32,
    /// The order of samples of several writers.
    pub destination_order: DestinationOrder,
    /// How urgent a writer's samples are, as a differentiated services code point (0 to 63); other values are announced
    /// and not used.
    pub transport_priority: i32,
    /// Whether a writer disposes of the instances that it unregisters, and of all when it is deleted. DDS says yes
    /// unless told otherwise; here the default is no, so that a successor may take an instance over.
    pub autodispose_unregistered_instances: bool,
    /// How sets of changes are shown together.
    pub presentation: Presentation,
    /// The partitions; none is the partition with the empty name.
    pub partitions: Vec<String>,
    /// Data representations in order of preference (0 XCDR1, 1 XML, 2 XCDR2); none means XCDR1. A writer uses its first.
    pub representations: Vec<i16>,
    /// How long a reliable writer's `write` may wait for room.
    pub max_blocking: Duration,
}

impl Default for Qos {
    /// Best effort, volatile, keep last 1, and the defaults of DDS for the rest.
    fn default() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            history: History::KeepLast(1),
            resource_limits: ResourceLimits::default(),
            deadline: Lease::Infinite,
            time_based_filter: Duration::ZERO,
            latency_budget: Lease::Finite(Duration::ZERO),
            liveliness: Liveliness { kind: LivelinessKind::Automatic, lease: Lease::Infinite },
            lifespan: Lease::Infinite,
            ownership: Ownership::Shared,
            ownership_strength: 0,
            destination_order: DestinationOrder::ByReception,
            transport_priority: 0,
            autodispose_unregistered_instances: false,
            presentation: Presentation {
                scope: PresentationScope::Instance,
                coherent: false,
                ordered: false,
            },
            partitions: Vec::new(),
            representations: Vec::new(),
            max_blocking: Duration::from_millis(100),
        }
    }
}

/// The data representation that every implementation understands.
pub const REPRESENTATION_XCDR1: i16 = 0;
/// The newer data representation.
pub const REPRESENTATION_XCDR2: i16 = 2;

/// A policy by which a writer and a reader may fail to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// [`Qos::reliability`]
    Reliability,
    /// [`Qos::durability`]
    Durability,
    /// [`Qos::deadline`]
    Deadline,
    /// [`Qos::latency_budget`]
    LatencyBudget,
    /// [`Qos::liveliness`]
    Liveliness,
    /// [`Qos::ownership`]
    Ownership,
    /// [`Qos::destination_order`]
    DestinationOrder,
    /// [`Qos::presentation`]
    Presentation,
    /// [`Qos::representations`]
    DataRepresentation,
    /// [`Qos::partitions`]. Never part of [`incompatible`]: different partitions are no error.
    Partition,
}

impl Policy {
    /// The policy's name in the standard's style.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reliability => "RELIABILITY",
            Self::Durability => "DURABILITY",
            Self::Deadline => "DEADLINE",
            Self::LatencyBudget => "LATENCY_BUDGET",
            Self::Liveliness => "LIVELINESS",
            Self::Ownership => "OWNERSHIP",
            Self::DestinationOrder => "DESTINATION_ORDER",
            Self::Presentation => "PRESENTATION",
            Self::DataRepresentation => "DATA_REPRESENTATION",
            Self::Partition => "PARTITION",
        }
    }
}

/// The policies in which a writer offers less than a reader requests, each once; none when they are compatible.
pub fn incompatible(offered: &Qos, requested: &Qos) -> Vec<Policy> {
    let checks = [
        (Policy::Reliability, offered.reliability >= requested.reliability),
        (Policy::Durability, offered.durability >= requested.durability),
        (Policy::Deadline, is_within(offered.deadline, requested.deadline)),
        (Policy::LatencyBudget, is_within(offered.latency_budget, requested.latency_budget)),
        (
            Policy::Liveliness,
            offered.liveliness.kind >= requested.liveliness.kind
                && is_within(offered.liveliness.lease, requested.liveliness.lease),
        ),
        (Policy::Ownership, offered.ownership == requested.ownership),
        (Policy::DestinationOrder, offered.destination_order >= requested.destination_order),
        (Policy::Presentation, is_presentation_offered(&offered.presentation, &requested.presentation)),
        (Policy::DataRepresentation, is_representation_accepted(offered, requested)),
    ];
    checks.into_iter().filter(|(_, is_compatible)| !is_compatible).map(|(policy, _)| policy).collect()
}

/// Whether the offered period is at most the requested one. Vendors round the wire's fractions up or down, so a
/// microsecond more still counts as equal.
fn is_within(offered: Lease, requested: Lease) -> bool {
    match (offered, requested) {
        (_, Lease::Infinite) => true,
        (Lease::Infinite, Lease::Finite(_)) => false,
        (Lease::Finite(offered), Lease::Finite(requested)) => offered <= requested.saturating_add(ROUNDING),
    }
}

fn is_presentation_offered(offered: &Presentation, requested: &Presentation) -> bool {
    offered.scope >= requested.scope
        && (offered.coherent || !requested.coherent)
        && (offered.ordered || !requested.ordered)
}

fn is_representation_accepted(offered: &Qos, requested: &Qos) -> bool {
    let written = offered.representations.first().copied().unwrap_or(REPRESENTATION_XCDR1);
    match requested.representations.as_slice() {
        [] => written == REPRESENTATION_XCDR1,
        accepted => accepted.contains(&written),
    }
}

const ROUNDING: Duration = Duration::from_micros(1);
