//! Forms that several sections share.

use crate::xml::section::{Group, Shape};

pub(super) const I32: Shape = Shape::Number(i32::MIN as i64, i32::MAX as i64);
pub(super) const U32: Shape = Shape::Number(0, u32::MAX as i64);
pub(super) const U16: Shape = Shape::Number(0, u16::MAX as i64);
const MINUS_ONE_UP: Shape = Shape::Number(-1, i32::MAX as i64);

/// Placement and priority of a thread.
pub(super) const THREAD: Shape = Shape::Group(&THREAD_GROUP);

pub(super) const THREAD_WHY: &str = "the bus has few threads, which its own options place";

const THREAD_CHILDREN: &[(&str, Shape)] = &[
    ("scheduling_policy", MINUS_ONE_UP),
    ("priority", I32),
    ("affinity", Shape::Unsigned64),
    ("stack_size", MINUS_ONE_UP),
];

static THREAD_GROUP: Group = Group { attributes: &[("port", U32)], children: THREAD_CHILDREN };

/// Threads for ports.
pub(super) static THREADS: Group = Group { attributes: &[], children: &[("reception_thread", THREAD)] };

/// How many of something to make room for.
pub(super) const ALLOCATION: Shape = Shape::Group(&ALLOCATION_GROUP);

static ALLOCATION_GROUP: Group =
    Group { attributes: &[], children: &[("initial", U32), ("maximum", U32), ("increment", U32)] };

pub(super) const ALLOCATION_WHY: &str = "memory is taken as it is needed, within the bus's own bounds";

/// Bytes that travel with an entity.
pub(super) const DATA: Shape = Shape::Group(&DATA_GROUP);

static DATA_GROUP: Group = Group { attributes: &[], children: &[("value", Shape::Octets)] };

pub(super) const DATA_WHY: &str = "the bus announces no user data";

/// Names with values.
pub(super) const PROPERTIES: Shape = Shape::Group(&PROPERTIES_GROUP);

static PROPERTIES_GROUP: Group = Group {
    attributes: &[],
    children: &[
        (
            "properties",
            Shape::Group(&Group { attributes: &[], children: &[("property", Shape::Group(&PROPERTY))] }),
        ),
        (
            "binary_properties",
            Shape::Group(&Group { attributes: &[], children: &[("property", Shape::Group(&PROPERTY))] }),
        ),
    ],
};

static PROPERTY: Group = Group {
    attributes: &[],
    children: &[("name", Shape::Text), ("value", Shape::Text), ("propagate", Shape::Boolean)],
};

pub(super) const PROPERTIES_WHY: &str = "they steer the inside of another implementation, or DDS Security";

/// How memory for samples is taken.
pub(super) const MEMORY: Shape = Shape::Word(&[
    "PREALLOCATED",
    "PREALLOCATED_WITH_REALLOC",
    "DYNAMIC",
    "DYNAMIC_REUSABLE",
    "DYNAMIC_RESERVE",
]);

/// Limits on bytes in a period, as files of earlier versions write them.
pub(super) const THROUGHPUT: Shape =
    Shape::Group(&Group { attributes: &[], children: &[("bytesPerPeriod", U32), ("periodMillisecs", U32)] });

pub(super) const THROUGHPUT_WHY: &str = "samples are sent as they are written";

pub(super) const ADDRESS_WHY: &str =
    "the bus announces the addresses on which it listens, all of this machine's";

pub(super) const NETMASK: Shape = Shape::Word(&["OFF", "AUTO", "ON"]);

pub(super) const NETMASK_WHY: &str = "routes decide which interface reaches a peer";
