//! What files say about the library as a whole.

use super::shapes::{THREAD, THREAD_WHY};
use crate::xml::section::{Group, Known, Reader, Section, Shape};
use crate::xml::{Element, XmlError, value};

/// `<log>`
pub(super) fn log(reader: &mut Reader, element: &Element) -> Result<(), XmlError> {
    reader.section(&mut (), element, &LOG)
}

/// `<library_settings>`
pub(super) fn settings(reader: &mut Reader, element: &Element) -> Result<(), XmlError> {
    reader.section(&mut (), element, &SETTINGS)
}

/// `<domainparticipant_factory>`
pub(super) fn factory(reader: &mut Reader, element: &Element) -> Result<(), XmlError> {
    element.required("profile_name")?;
    reader.section(&mut (), element, &FACTORY)
}

const LOG_WHY: &str = "the program that uses the bus decides where its log goes";

static LOG: Section<()> = Section {
    attributes: &[],
    children: &[
        ("use_default", Known::Unsupported(Shape::Boolean, LOG_WHY)),
        ("consumer", Known::Unsupported(Shape::Group(&CONSUMER), LOG_WHY)),
        ("thread_settings", Known::Unsupported(THREAD, THREAD_WHY)),
    ],
};

static CONSUMER: Group = Group {
    attributes: &[],
    children: &[
        ("class", Shape::Word(&["StdoutConsumer", "StdoutErrConsumer", "FileConsumer"])),
        (
            "property",
            Shape::Group(&Group {
                attributes: &[],
                children: &[("name", Shape::Text), ("value", Shape::Text), ("propagate", Shape::Boolean)],
            }),
        ),
    ],
};

static SETTINGS: Section<()> = Section {
    attributes: &[],
    children: &[(
        "intraprocess_delivery",
        Known::Once(|reader, _, element| {
            let words = ["FULL", "OFF", "USER_DATA_ONLY", "full", "off", "user_data_only"];
            let word = value::word(element, &words)?;
            if !word.eq_ignore_ascii_case("FULL") {
                reader.unsupported_value(element, word, "participants of a process always talk within it");
            }
            Ok(())
        }),
    )],
};

static FACTORY: Section<()> = Section {
    attributes: super::PROFILE_ATTRIBUTES,
    children: &[("qos", Known::Unsupported(Shape::Group(&FACTORY_QOS), THREAD_WHY))],
};

static FACTORY_QOS: Group = Group {
    attributes: &[],
    children: &[
        (
            "entity_factory",
            Shape::Group(&Group {
                attributes: &[],
                children: &[("autoenable_created_entities", Shape::Boolean)],
            }),
        ),
        ("shm_watchdog_thread", THREAD),
        ("file_watch_threads", THREAD),
    ],
};
