//! The types and topics of the product's own messages, for commands that read and write any topic. Pure.

use std::sync::Arc;

use actors::message::{
    Event, JmState, JobTelemetry, MetricDescriptor, NmCapability, NmReply, NmRequest, NmStatus, NodeTelemetry,
};
use actors::topic::{self, Topic};
use bus::DdsType;
use rtps::types::StructType;

/// A topic of the product with its type and how it is meant to be carried.
#[derive(Clone, Debug)]
pub struct KnownTopic {
    /// The topic's name.
    pub name: &'static str,
    /// The type that it carries.
    pub structure: Arc<StructType>,
    /// Whether samples are repeated until they arrive.
    pub is_reliable: bool,
    /// Whether a late joiner gets the last samples.
    pub is_transient_local: bool,
}

/// All topics of the product.
pub fn topics() -> Vec<KnownTopic> {
    vec![
        known::<NmRequest>(&topic::NM_REQUEST),
        known::<NmReply>(&topic::NM_REPLY),
        known::<NmStatus>(&topic::NM_STATUS),
        known::<NmCapability>(&topic::NM_CAPABILITY),
        known::<Event>(&topic::EVENT),
        known::<NodeTelemetry>(&topic::NODE_TELEMETRY),
        known::<JobTelemetry>(&topic::JOB_TELEMETRY),
        known::<MetricDescriptor>(&topic::METRIC_DESCRIPTOR),
        known::<JmState>(&topic::JM_STATE),
    ]
}

/// The type of this name, if the product knows it.
pub fn structure(type_name: &str) -> Option<Arc<StructType>> {
    topics().into_iter().map(|topic| topic.structure).find(|structure| structure.name() == type_name)
}

/// The topic of this name, if it is one of the product's.
pub fn topic(name: &str) -> Option<KnownTopic> {
    topics().into_iter().find(|topic| topic.name == name)
}

fn known<T: DdsType>(topic: &Topic<T>) -> KnownTopic {
    KnownTopic {
        name: topic.name,
        structure: T::structure(),
        is_reliable: topic.is_reliable,
        is_transient_local: topic.is_transient_local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each topic and each type is listed once, and a type is found by its name.
    #[test]
    fn names_are_unique() {
        let topics = topics();
        for (index, topic) in topics.iter().enumerate() {
            let others = topics.iter().skip(index + 1);
            assert!(others.into_iter().all(|other| other.name != topic.name), "{}", topic.name);
            assert_eq!(structure(topic.structure.name()).as_deref(), Some(&*topic.structure));
        }
        assert!(structure("regale::Nothing").is_none());
    }
}
