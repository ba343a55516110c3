//! Writers, readers and topics.

use rtps::qos::{History, Qos, ResourceLimits};

use super::qos::{HISTORY, HistorySettings, LIMITS, QOS};
use super::shapes::{
    ADDRESS_WHY, ALLOCATION, ALLOCATION_WHY, MEMORY, PROPERTIES, PROPERTIES_WHY, THROUGHPUT, THROUGHPUT_WHY,
};
use crate::xml::locator::EXTERNAL;
use crate::xml::section::{Group, Known, Reader, Section, Shape};
use crate::xml::{Element, Place, XmlError, value};

/// A writer or reader as a file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointProfile {
    /// Its quality of service. What the file does not say is as in Fast DDS: writers are reliable and transient local,
    /// readers best effort and volatile.
    pub qos: Qos,
    /// The name of its topic, which files of Fast DDS 1 give.
    pub topic: Option<String>,
    /// The name of its type, which files of Fast DDS 1 give.
    pub type_name: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// A topic as a file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicProfile {
    /// How many samples are kept.
    pub history: History,
    /// Bounds of the history.
    pub resource_limits: ResourceLimits,
    /// Its name, which files of Fast DDS 1 give.
    pub name: Option<String>,
    /// The name of its type, which files of Fast DDS 1 give.
    pub type_name: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// Reads a writer or reader; `default` is what it has when the file says nothing.
pub(super) fn read(
    reader: &mut Reader,
    element: &Element,
    is_writer: bool,
    default: Qos,
) -> Result<EndpointProfile, XmlError> {
    let mut draft =
        EndpointProfile { qos: default, topic: None, type_name: None, place: element.place.clone() };
    reader.section(&mut draft, element, if is_writer { &WRITER } else { &READER })?;
    Ok(draft)
}

/// Reads a topic.
pub(super) fn read_topic(reader: &mut Reader, element: &Element) -> Result<TopicProfile, XmlError> {
    let mut draft = TopicDraft::default();
    reader.section(&mut draft, element, &TOPIC)?;
    Ok(TopicProfile {
        history: draft.history.over(Qos::default().history),
        resource_limits: draft.limits,
        name: draft.name,
        type_name: draft.type_name,
        place: element.place.clone(),
    })
}

#[derive(Default)]
pub(super) struct TopicDraft {
    history: HistorySettings,
    limits: ResourceLimits,
    name: Option<String>,
    type_name: Option<String>,
}

/// `<topic>`, as a profile and within a writer or reader.
pub(super) static TOPIC: Section<TopicDraft> = Section {
    attributes: super::PROFILE_ATTRIBUTES,
    children: &[
        (
            "historyQos",
            Known::Once(|reader, topic, element| reader.section(&mut topic.history, element, &HISTORY)),
        ),
        (
            "resourceLimitsQos",
            Known::Once(|reader, topic, element| reader.section(&mut topic.limits, element, &LIMITS)),
        ),
        (
            "name",
            Known::Once(|_, topic, element| {
                topic.name = Some(value::text(element)?);
                Ok(())
            }),
        ),
        (
            "dataType",
            Known::Once(|_, topic, element| {
                topic.type_name = Some(value::text(element)?);
                Ok(())
            }),
        ),
        (
            "kind",
            Known::Unsupported(
                Shape::Word(&["NO_KEY", "WITH_KEY"]),
                "the type says whether its topic has instances",
            ),
        ),
    ],
};

const LOCATORS_WHY: &str = "an endpoint listens where its participant does";
const IDENTITY_WHY: &str = "the participant numbers its endpoints";
const MATCHED_NONE: &str = "peers are reached at what they announce";

fn read_qos(reader: &mut Reader, draft: &mut EndpointProfile, element: &Element) -> Result<(), XmlError> {
    reader.section(&mut draft.qos, element, &QOS)
}

fn read_own_topic(
    reader: &mut Reader,
    draft: &mut EndpointProfile,
    element: &Element,
) -> Result<(), XmlError> {
    let mut topic = TopicDraft { limits: draft.qos.resource_limits, ..TopicDraft::default() };
    reader.section(&mut topic, element, &TOPIC)?;
    draft.qos.history = topic.history.over(draft.qos.history);
    draft.qos.resource_limits = topic.limits;
    draft.topic = topic.name.or(draft.topic.take());
    draft.type_name = topic.type_name.or(draft.type_name.take());
    Ok(())
}

pub(super) static WRITER: Section<EndpointProfile> = Section {
    attributes: super::PROFILE_ATTRIBUTES,
    children: &[
        ("topic", Known::Once(read_own_topic)),
        ("qos", Known::Once(read_qos)),
        ("times", Known::Unsupported(Shape::Group(&WRITER_TIMES), TIMES_WHY)),
        ("unicastLocatorList", Known::Unsupported(Shape::Locators, LOCATORS_WHY)),
        ("multicastLocatorList", Known::Unsupported(Shape::Locators, LOCATORS_WHY)),
        ("remoteLocatorList", Known::Unsupported(Shape::Locators, MATCHED_NONE)),
        ("external_unicast_locators", Known::Unsupported(Shape::Group(&EXTERNAL), ADDRESS_WHY)),
        ("ignore_non_matching_locators", Known::Unsupported(Shape::Boolean, ADDRESS_WHY)),
        ("historyMemoryPolicy", Known::Unsupported(MEMORY, ALLOCATION_WHY)),
        ("propertiesPolicy", Known::Unsupported(PROPERTIES, PROPERTIES_WHY)),
        ("userDefinedID", Known::Unsupported(Shape::Number(-1, 32767), IDENTITY_WHY)),
        ("entityID", Known::Unsupported(Shape::Number(-1, 32767), IDENTITY_WHY)),
        ("matchedSubscribersAllocation", Known::Unsupported(ALLOCATION, ALLOCATION_WHY)),
        ("throughputController", Known::Unsupported(THROUGHPUT, THROUGHPUT_WHY)),
    ],
};

pub(super) static READER: Section<EndpointProfile> = Section {
    attributes: super::PROFILE_ATTRIBUTES,
    children: &[
        ("topic", Known::Once(read_own_topic)),
        ("qos", Known::Once(read_qos)),
        ("times", Known::Unsupported(Shape::Group(&READER_TIMES), TIMES_WHY)),
        ("unicastLocatorList", Known::Unsupported(Shape::Locators, LOCATORS_WHY)),
        ("multicastLocatorList", Known::Unsupported(Shape::Locators, LOCATORS_WHY)),
        ("remoteLocatorList", Known::Unsupported(Shape::Locators, MATCHED_NONE)),
        ("external_unicast_locators", Known::Unsupported(Shape::Group(&EXTERNAL), ADDRESS_WHY)),
        ("ignore_non_matching_locators", Known::Unsupported(Shape::Boolean, ADDRESS_WHY)),
        ("expects_inline_qos", Known::Unsupported(Shape::Boolean, INLINE_WHY)),
        ("expectsInlineQos", Known::Unsupported(Shape::Boolean, INLINE_WHY)),
        ("historyMemoryPolicy", Known::Unsupported(MEMORY, ALLOCATION_WHY)),
        ("propertiesPolicy", Known::Unsupported(PROPERTIES, PROPERTIES_WHY)),
        ("userDefinedID", Known::Unsupported(Shape::Number(-1, 32767), IDENTITY_WHY)),
        ("entityID", Known::Unsupported(Shape::Number(-1, 32767), IDENTITY_WHY)),
        ("matchedPublishersAllocation", Known::Unsupported(ALLOCATION, ALLOCATION_WHY)),
    ],
};

const INLINE_WHY: &str = "writers announce their policies once";
const TIMES_WHY: &str = "the protocol's periods are the participant's";

static WRITER_TIMES: Group = Group {
    attributes: &[],
    children: &[
        ("initial_heartbeat_delay", Shape::Duration),
        ("heartbeat_period", Shape::Duration),
        ("nack_response_delay", Shape::Duration),
        ("nack_supression_duration", Shape::Duration),
        ("initialHeartbeatDelay", Shape::Duration),
        ("heartbeatPeriod", Shape::Duration),
        ("nackResponseDelay", Shape::Duration),
        ("nackSupressionDuration", Shape::Duration),
    ],
};

static READER_TIMES: Group = Group {
    attributes: &[],
    children: &[
        ("initial_acknack_delay", Shape::Duration),
        ("heartbeat_response_delay", Shape::Duration),
        ("initialAcknackDelay", Shape::Duration),
        ("heartbeatResponseDelay", Shape::Duration),
    ],
};

/// A service's two ends: known, but not offered.
pub(super) const SERVICE_SHAPE: Shape = Shape::Group(&Group {
    attributes: &[
        ("profile_name", Shape::Text),
        ("service_name", Shape::Text),
        ("request_type", Shape::Text),
        ("reply_type", Shape::Text),
    ],
    children: &[
        ("request_topic_name", Shape::Text),
        ("reply_topic_name", Shape::Text),
        ("data_writer", Shape::Endpoint(true)),
        ("data_reader", Shape::Endpoint(false)),
    ],
});

/// Refuses a writer or reader within a service that is malformed.
pub(crate) fn check(element: &Element, is_writer: bool) -> Result<(), XmlError> {
    read(&mut Reader::default(), element, is_writer, Qos::default()).map(drop)
}
