//! The cases about files as such: environment variables (A15) and roots (A18).
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;

use bus::xml::{Document, Severity};
use serde_json::Value;
use std::collections::BTreeMap;

const NAMESPACE: &str = "http://www.eprosima.com";

fn string(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn environment() -> BTreeMap<String, String> {
    let env = &case::json("A15", "env.json")["env"];
    env.as_object().unwrap().iter().map(|(name, value)| (name.clone(), string(value).to_owned())).collect()
}

/// The document `<dds><log>text</log></dds>`.
fn with_text(text: &str, environment: &BTreeMap<String, String>) -> Document {
    let xml = format!("<dds xmlns='{NAMESPACE}'><log>{text}</log></dds>");
    Document::parse("case.xml", &xml, &|name| environment.get(name).cloned()).unwrap()
}

fn text_of(document: &Document) -> &str {
    &document.root.child("log").unwrap().text
}

/// Case A15: every text expands as listed, silently.
#[test]
fn variables_expand() {
    let rows = case::json("A15", "env.json");
    for row in rows["text"].as_array().unwrap() {
        let document = with_text(string(&row["in"]), &environment());
        assert_eq!(text_of(&document), string(&row["out"]), "{row}");
        assert_eq!(document.findings, [], "{row}");
    }
}

/// Case A15, mutated: with other values and names in the environment, the texts follow.
#[test]
fn other_variables_expand() {
    let mut changed = environment();
    for value in changed.values_mut() {
        value.push_str("${NODE}");
    }
    changed.insert("UNDEFINED".into(), "now".into());
    let text = "${RACK}|${EMPTY}|${UNDEFINED}";
    assert_eq!(text_of(&with_text(text, &changed)), "r7${NODE}|${NODE}|now");
}

/// Case A15: what has no value becomes nothing, with an error that names it; `_` never has one.
#[test]
fn missing_variables_are_errors() {
    let mut environment = environment();
    environment.insert("_".into(), "/usr/bin/program path".into());
    for row in case::json("A15", "env.json")["special"].as_array().unwrap() {
        let document = with_text(string(&row["in"]), &environment);
        assert_eq!(text_of(&document), string(&row["out"]), "{row}");
        let [finding] = &document.findings[..] else { panic!("{row}: {:?}", document.findings) };
        assert_eq!(finding.severity, Severity::Error, "{row}");
    }
}

/// Case A15: attributes stay as written.
#[test]
fn attributes_are_not_expanded() {
    let start = case::json("A15", "env.json")["attribute_not_expanded"].as_str().unwrap().to_owned();
    let xml = format!("<profiles xmlns='{NAMESPACE}'>{start}</participant></profiles>");
    let environment = environment();
    let document = Document::parse("case.xml", &xml, &|name| environment.get(name).cloned()).unwrap();
    let participant = document.root.child("participant").unwrap();
    assert!(start.contains(participant.attribute("profile_name").unwrap()));
    assert!(participant.attribute("profile_name").unwrap().starts_with("${"));
}

/// Case A18: known roots are read, others refused; a namespace of another time is told once.
#[test]
fn roots_are_known_or_refused() {
    for row in case::json("A18", "roots.json").as_array().unwrap() {
        let parsed = Document::parse("case.xml", string(&row["xml"]), &|_| None);
        assert_eq!(parsed.is_ok(), row["ok"].as_bool().unwrap(), "{row} {parsed:?}");
        let Ok(document) = parsed else { continue };
        assert_eq!(document.findings.len(), usize::from(row["warn"] == true), "{row}");
        let named = row["types"].as_array().map_or(0, Vec::len);
        let types = document.root.children.iter().filter(|child| child.name == "type").count();
        assert_eq!(types, named, "{row}");
    }
}

/// Case A18, mutated: the same content below a root of another name is refused with the place and the known roots.
#[test]
fn renamed_roots_are_refused() {
    for row in case::json("A18", "roots.json").as_array().unwrap() {
        let xml = string(&row["xml"]);
        let Ok(document) = Document::parse("case.xml", xml, &|_| None) else { continue };
        let renamed = xml.replace(&document.root.name, "Dds");
        let error = Document::parse("case.xml", &renamed, &|_| None).unwrap_err().to_string();
        assert!(error.starts_with("case.xml:1: <Dds>") && error.contains("<library_settings>"), "{error}");
    }
}
