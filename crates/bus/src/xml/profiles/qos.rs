//! The policies of a writer or reader.

use rtps::Lease;
use rtps::discovery::data::PARTITIONS_MAX;
use rtps::qos::{
    DestinationOrder, Durability, History, LivelinessKind, Ownership, PresentationScope, Qos, Reliability,
};

use super::shapes::{DATA, DATA_WHY, I32, THREAD, U32};
use crate::xml::section::{Group, Known, Section, Shape};
use crate::xml::{Element, XmlError, value};

/// What a writer has when its file says nothing: reliable, transient local, keep last 1.
pub(super) fn writer_default() -> Qos {
    Qos { reliability: Reliability::Reliable, durability: Durability::TransientLocal, ..Qos::default() }
}

/// What a reader has when its file says nothing: best effort, volatile, keep last 1.
pub(super) fn reader_default() -> Qos {
    Qos::default()
}

/// `<qos>`
pub(super) static QOS: Section<Qos> = Section {
    attributes: &[],
    children: &[
        ("reliability", Known::Once(|reader, qos, element| reader.section(qos, element, &RELIABILITY))),
        ("durability", Known::Once(|reader, qos, element| reader.section(qos, element, &DURABILITY))),
        ("deadline", Known::Once(|reader, qos, element| reader.section(&mut qos.deadline, element, &PERIOD))),
        (
            "latencyBudget",
            Known::Once(|reader, qos, element| reader.section(&mut qos.latency_budget, element, &DURATION)),
        ),
        (
            "lifespan",
            Known::Once(|reader, qos, element| reader.section(&mut qos.lifespan, element, &DURATION)),
        ),
        ("liveliness", Known::Once(|reader, qos, element| reader.section(qos, element, &LIVELINESS))),
        ("ownership", Known::Once(|reader, qos, element| reader.section(qos, element, &OWNERSHIP))),
        ("ownershipStrength", Known::Once(|reader, qos, element| reader.section(qos, element, &STRENGTH))),
        (
            "partition",
            Known::Once(|reader, qos, element| {
                qos.partitions.clear();
                reader.section(qos, element, &PARTITION)
            }),
        ),
        ("presentation", Known::Once(|reader, qos, element| reader.section(qos, element, &PRESENTATION))),
        ("destination_order", Known::Once(|reader, qos, element| reader.section(qos, element, &ORDER))),
        ("destinationOrder", Known::Once(|reader, qos, element| reader.section(qos, element, &ORDER))),
        ("publishMode", Known::Once(|reader, qos, element| reader.section(qos, element, &PUBLISH_MODE))),
        ("data_sharing", Known::Once(|reader, qos, element| reader.section(qos, element, &DATA_SHARING))),
        ("disablePositiveAcks", Known::Once(|reader, qos, element| reader.section(qos, element, &NO_ACKS))),
        ("disable_heartbeat_piggyback", Known::Unsupported(Shape::Boolean, "heartbeats travel with data")),
        ("timeBasedFilter", Known::Once(|reader, qos, element| reader.section(qos, element, &FILTER))),
        ("durabilityService", Known::Unsupported(Shape::Group(&SERVICE), "there is no durability service")),
        ("userData", Known::Unsupported(DATA, DATA_WHY)),
        ("topicData", Known::Unsupported(DATA, DATA_WHY)),
        ("groupData", Known::Unsupported(DATA, DATA_WHY)),
        (
            "entity_factory",
            Known::Unsupported(
                Shape::Group(&Group {
                    attributes: &[],
                    children: &[("autoenable_created_entities", Shape::Boolean)],
                }),
                "entities work as soon as they are made",
            ),
        ),
    ],
};

static RELIABILITY: Section<Qos> = Section {
    attributes: &[],
    children: &[
        (
            "kind",
            Known::Once(|_, qos, element| {
                qos.reliability = match value::word(element, &["RELIABLE", "BEST_EFFORT"])? {
                    "RELIABLE" => Reliability::Reliable,
                    _ => Reliability::BestEffort,
                };
                Ok(())
            }),
        ),
        (
            "max_blocking_time",
            Known::Once(|_, qos, element| {
                qos.max_blocking = match value::duration(element)? {
                    Lease::Finite(duration) => duration,
                    Lease::Infinite => std::time::Duration::MAX,
                };
                Ok(())
            }),
        ),
    ],
};

static DURABILITY: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "kind",
        Known::Once(|reader, qos, element| {
            qos.durability =
                match value::word(element, &["VOLATILE", "TRANSIENT_LOCAL", "TRANSIENT", "PERSISTENT"])? {
                    "VOLATILE" => Durability::Volatile,
                    "TRANSIENT_LOCAL" => Durability::TransientLocal,
                    kind => {
                        reader.unsupported_value(
                            element,
                            kind,
                            "there is no durability service, so it is TRANSIENT_LOCAL",
                        );
                        match kind {
                            "TRANSIENT" => Durability::Transient,
                            _ => Durability::Persistent,
                        }
                    }
                };
            Ok(())
        }),
    )],
};

static PERIOD: Section<Lease> = Section {
    attributes: &[],
    children: &[(
        "period",
        Known::Once(|_, lease, element| {
            *lease = value::duration(element)?;
            Ok(())
        }),
    )],
};

static DURATION: Section<Lease> = Section {
    attributes: &[],
    children: &[(
        "duration",
        Known::Once(|_, lease, element| {
            *lease = value::duration(element)?;
            Ok(())
        }),
    )],
};

static LIVELINESS: Section<Qos> = Section {
    attributes: &[],
    children: &[
        (
            "kind",
            Known::Once(|_, qos, element| {
                let words = ["AUTOMATIC", "MANUAL_BY_PARTICIPANT", "MANUAL_BY_TOPIC"];
                qos.liveliness.kind = match value::word(element, &words)? {
                    "AUTOMATIC" => LivelinessKind::Automatic,
                    "MANUAL_BY_PARTICIPANT" => LivelinessKind::ManualByParticipant,
                    _ => LivelinessKind::ManualByTopic,
                };
                Ok(())
            }),
        ),
        (
            "lease_duration",
            Known::Once(|_, qos, element| {
                qos.liveliness.lease = value::duration(element)?;
                Ok(())
            }),
        ),
        (
            "announcement_period",
            Known::Unsupported(Shape::Duration, "liveliness is announced often enough for its lease"),
        ),
    ],
};

static OWNERSHIP: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "kind",
        Known::Once(|_, qos, element| {
            qos.ownership = match value::word(element, &["SHARED", "EXCLUSIVE"])? {
                "SHARED" => Ownership::Shared,
                _ => Ownership::Exclusive,
            };
            Ok(())
        }),
    )],
};

static STRENGTH: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "value",
        Known::Once(|_, qos, element| {
            qos.ownership_strength = element.number()?;
            Ok(())
        }),
    )],
};

static FILTER: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "minimum_separation",
        Known::Once(|_, qos, element| {
            qos.time_based_filter = match value::duration(element)? {
                Lease::Finite(separation) => separation,
                Lease::Infinite => std::time::Duration::MAX,
            };
            Ok(())
        }),
    )],
};

static PARTITION: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "names",
        Known::Each(|reader, qos, element| reader.section(qos, element, &PARTITION_NAMES)),
    )],
};

static PARTITION_NAMES: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "name",
        Known::Each(|_, qos, element| {
            // The nameless partition is one too.
            value::append(&mut qos.partitions, element.text.clone(), element, PARTITIONS_MAX)
        }),
    )],
};

static PRESENTATION: Section<Qos> = Section {
    attributes: &[],
    children: &[
        (
            "access_scope",
            Known::Once(|_, qos, element| {
                qos.presentation.scope = match value::word(element, &["INSTANCE", "TOPIC", "GROUP"])? {
                    "INSTANCE" => PresentationScope::Instance,
                    "TOPIC" => PresentationScope::Topic,
                    _ => PresentationScope::Group,
                };
                Ok(())
            }),
        ),
        (
            "coherent_access",
            Known::Once(|reader, qos, element| {
                qos.presentation.coherent = element.boolean()?;
                if qos.presentation.coherent {
                    let why = "it decides about a match, but samples are shown one by one";
                    reader.unsupported_value(element, "true", why);
                }
                Ok(())
            }),
        ),
        (
            "ordered_access",
            Known::Once(|_, qos, element| {
                qos.presentation.ordered = element.boolean()?;
                Ok(())
            }),
        ),
    ],
};

static ORDER: Section<Qos> = Section {
    attributes: &[],
    children: &[(
        "kind",
        Known::Once(|_, qos, element| {
            qos.destination_order =
                match value::word(element, &["BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP"])? {
                    "BY_RECEPTION_TIMESTAMP" => DestinationOrder::ByReception,
                    _ => DestinationOrder::BySource,
                };
            Ok(())
        }),
    )],
};

/// Synchronous is how this bus writes; everything else has no effect.
static PUBLISH_MODE: Section<Qos> = Section {
    attributes: &[],
    children: &[
        (
            "kind",
            Known::Once(|reader, _, element| {
                let kind = value::word(element, &["SYNCHRONOUS", "ASYNCHRONOUS"])?;
                if kind == "ASYNCHRONOUS" {
                    reader.unsupported_value(element, kind, "the thread that writes also sends");
                }
                Ok(())
            }),
        ),
        ("flow_controller_name", Known::Unsupported(Shape::Text, super::shapes::THROUGHPUT_WHY)),
    ],
};

/// Off and automatic are what this bus does: data of one machine goes by its own shared memory.
static DATA_SHARING: Section<Qos> = Section {
    attributes: &[],
    children: &[
        (
            "kind",
            Known::Once(|reader, _, element| {
                let kind = value::word(element, &["AUTOMATIC", "ON", "OFF"])?;
                if kind == "ON" {
                    reader.unsupported_value(element, kind, "the transports decide how data travels");
                }
                Ok(())
            }),
        ),
        ("shared_dir", Known::Unsupported(Shape::Text, SHARING_WHY)),
        ("max_domains", Known::Unsupported(U32, SHARING_WHY)),
        (
            "domain_ids",
            Known::Unsupported(
                Shape::Group(&Group { attributes: &[], children: &[("domainId", U32)] }),
                SHARING_WHY,
            ),
        ),
        ("data_sharing_listener_thread", Known::Unsupported(THREAD, super::shapes::THREAD_WHY)),
    ],
};

const SHARING_WHY: &str = "the shared memory of this bus leaves no files behind";

static NO_ACKS: Section<Qos> = Section {
    attributes: &[],
    children: &[
        (
            "enabled",
            Known::Once(|reader, _, element| {
                if element.boolean()? {
                    reader.unsupported_value(element, "true", "reliable readers always acknowledge");
                }
                Ok(())
            }),
        ),
        ("duration", Known::Unsupported(Shape::Duration, "reliable readers always acknowledge")),
    ],
};

static SERVICE: Group = Group {
    attributes: &[],
    children: &[
        ("service_cleanup_delay", Shape::Duration),
        ("history_kind", Shape::Word(&["KEEP_LAST", "KEEP_ALL"])),
        ("history_depth", I32),
        ("max_samples", I32),
        ("max_instances", I32),
        ("max_samples_per_instance", I32),
    ],
};

/// History and bounds of a topic.
#[derive(Clone, Debug, Default)]
pub(super) struct HistorySettings {
    kind: Option<&'static str>,
    depth: Option<u32>,
}

impl HistorySettings {
    /// The history these settings make of `default`.
    pub(super) fn over(&self, default: History) -> History {
        let depth = self.depth.or(match default {
            History::KeepLast(depth) => Some(depth),
            History::KeepAll => None,
        });
        match self.kind {
            Some("KEEP_ALL") => History::KeepAll,
            None if default == History::KeepAll => History::KeepAll,
            _ => History::KeepLast(depth.unwrap_or(1)),
        }
    }
}

/// `<historyQos>`
pub(super) static HISTORY: Section<HistorySettings> = Section {
    attributes: &[],
    children: &[
        (
            "kind",
            Known::Once(|_, history, element| {
                history.kind = Some(value::word(element, &["KEEP_LAST", "KEEP_ALL"])?);
                Ok(())
            }),
        ),
        (
            "depth",
            Known::Once(|_, history, element| {
                let depth = element.number_within(1, i32::MAX.into())?;
                history.depth = u32::try_from(depth).ok();
                Ok(())
            }),
        ),
    ],
};

/// `<resourceLimitsQos>`
pub(super) static LIMITS: Section<rtps::qos::ResourceLimits> = Section {
    attributes: &[],
    children: &[
        ("max_samples", Known::Once(|_, limits, element| limit(&mut limits.max_samples, element))),
        ("max_instances", Known::Once(|_, limits, element| limit(&mut limits.max_instances, element))),
        (
            "max_samples_per_instance",
            Known::Once(|_, limits, element| limit(&mut limits.max_samples_per_instance, element)),
        ),
        ("allocated_samples", Known::Unsupported(I32, super::shapes::ALLOCATION_WHY)),
        ("extra_samples", Known::Unsupported(I32, super::shapes::ALLOCATION_WHY)),
    ],
};

/// A bound; zero and below stand for none.
fn limit(limit: &mut Option<u32>, element: &Element) -> Result<(), XmlError> {
    let number = element.number::<i32>()?;
    *limit = u32::try_from(number).ok().filter(|number| *number > 0);
    Ok(())
}
