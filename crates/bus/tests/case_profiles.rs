//! The cases about profiles: an empty participant (A19), interfaces (A21), numbers that do not fit (A57) and lookups
//! (A63).
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod case;

use bus::xml::profiles::{InterfaceAddress, select_interfaces};
use bus::xml::read::read_profiles;
use bus::xml::{Document, Profiles, Severity, XmlError};
use rtps::qos::Reliability;
use serde_json::Value;

fn load(xml: &str) -> Result<Profiles, XmlError> {
    Profiles::load(&[Document::parse("case.xml", xml, &|_| None)?])
}

fn shown(profiles: &Profiles) -> Vec<String> {
    profiles.findings.iter().map(ToString::to_string).collect()
}

/// Case A19: the empty participant is there, all values are the defaults, nothing is odd.
#[test]
fn empty_participants_have_defaults() {
    let expected = case::json("A19", "expected.json");
    let profiles = read_profiles(&[case::path("A19", "empty_participant.xml")]).unwrap();
    let participant = profiles.participant(expected["profile"].as_str().unwrap()).unwrap();
    assert_eq!(u64::from(participant.domain), expected["domain"].as_u64().unwrap());
    assert_eq!(participant.transports, bus::Transports::default());
    assert_eq!(participant.timing(), rtps::Timing::default());
    assert_eq!((participant.name, participant.peers), (None, Vec::new()));
    assert_eq!(profiles.findings, []);
}

/// Case A19, mutated: the same with a domain has that domain, wherever it stands.
#[test]
fn other_participants_have_their_values() {
    let text = case::text("A19", "empty_participant.xml");
    for inside in [
        "<domainId>7</domainId>",
        "<rtps><builtin><domainId>7</domainId></builtin></rtps>",
        "<rtps><name>n</name></rtps><domainId>7</domainId>",
    ] {
        let text = text.replace("\"empty\"/>", &format!("\"empty\">{inside}</participant>"));
        let profiles = load(&text).unwrap();
        assert_eq!(profiles.participant("empty").unwrap().domain, 7, "{inside}");
    }
}

fn interfaces(host: &Value) -> Vec<InterfaceAddress> {
    let interfaces = host["ifs"].as_object().unwrap().iter();
    interfaces
        .map(|(name, address)| InterfaceAddress {
            name: name.clone(),
            address: address.as_str().unwrap().parse().unwrap(),
        })
        .collect()
}

/// Case A21: on each host exactly the listed interfaces are used, each once; a host that has none of them gets an
/// error that names list and interfaces, and nothing else.
#[test]
fn whitelists_leave_what_they_list() {
    let profiles = read_profiles(&[case::path("A21", "whitelist.xml")]).unwrap();
    assert_eq!(profiles.findings, []);
    let transports = profiles.participant("p").unwrap().transports;
    assert!(transports.udp_v4 && !transports.shared_memory);
    for (name, host) in case::json("A21", "ifs.json").as_object().unwrap() {
        let present = interfaces(host);
        let selected = select_interfaces(&transports.interfaces, &present);
        if host["error"] == true {
            let error = selected.unwrap_err().to_string();
            assert!(present.iter().all(|interface| error.contains(&interface.name)), "{name}: {error}");
            assert!(transports.interfaces.iter().all(|entry| error.contains(entry)), "{name}: {error}");
            continue;
        }
        let mut used: Vec<_> = selected.unwrap().iter().map(|interface| interface.name.as_str()).collect();
        let mut expected: Vec<_> =
            host["used"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        used.sort_unstable();
        expected.sort_unstable();
        assert_eq!(used, expected, "{name}");
    }
}

/// Case A21, mutated: the interfaces of the second host, put on the list by name, are used there and nowhere else; and
/// an unlimited second transport lifts the limit.
#[test]
fn other_whitelists_leave_others() {
    let text = case::text("A21", "whitelist.xml");
    let hosts = case::json("A21", "ifs.json");
    let changed = text.replace("<interface>ib0</interface>", "<interface>eth9</interface>");
    let list = load(&changed).unwrap().participant("p").unwrap().transports.interfaces;
    let present = interfaces(&hosts["host2"]);
    let selected = select_interfaces(&list, &present).unwrap();
    assert_eq!(selected.iter().map(|interface| interface.name.as_str()).collect::<Vec<_>>(), ["eth9"]);
    let second =
        "<transport_descriptor><transport_id>all</transport_id><type>UDPv4</type></transport_descriptor>";
    let both = text
        .replace("</transport_descriptors>", &format!("{second}</transport_descriptors>"))
        .replace("</userTransports>", "<transport_id>all</transport_id></userTransports>");
    let list = load(&both).unwrap().participant("p").unwrap().transports.interfaces;
    assert_eq!(list, Vec::<String>::new());
    assert_eq!(select_interfaces(&list, &present).unwrap().len(), present.len());
}

/// Around an element of case A57, what makes it a file. Members are types, which have a loader of their own.
fn file_around(xml: &str) -> Option<String> {
    let name = xml.trim_start_matches('<').split(' ').next().unwrap();
    let (before, after) = match name {
        "thread_settings" => ("<log>", "</log>"),
        "builtinTransports" => {
            ("<profiles><participant profile_name='p'><rtps>", "</rtps></participant></profiles>")
        }
        _ => return None,
    };
    Some(format!("<dds xmlns='http://www.eprosima.com'>{before}{xml}{after}</dds>"))
}

/// Case A57: numbers that do not fit are load errors that name attribute and value, also on elements without effect.
#[test]
fn numbers_must_fit() {
    let mut seen = 0;
    for row in case::json("A57", "numbers.json").as_array().unwrap() {
        let xml = row["xml"].as_str().unwrap();
        let Some(file) = file_around(xml) else { continue };
        seen += 1;
        let loaded = load(&file);
        assert_eq!(loaded.is_ok(), row["ok"].as_bool().unwrap(), "{xml}");
        let Err(error) = loaded else { continue };
        let quoted: Vec<_> = xml.split(['"', ' ', '=']).collect();
        let (attribute, value) = (quoted[1], quoted[3]);
        assert!(error.what.contains(attribute) && error.what.contains(value), "{xml}: {error}");
    }
    assert_eq!(seen, 3);
}

/// Case A57, mutated: the same elements with numbers that fit are read.
#[test]
fn fitting_numbers_are_read() {
    for row in case::json("A57", "numbers.json").as_array().unwrap() {
        let Some(file) = file_around(row["xml"].as_str().unwrap()) else { continue };
        let file = file.replace("88888888888888888884", "4294967295").replace("1i", "64KB");
        assert!(load(&file).is_ok(), "{file}: {:?}", load(&file));
    }
}

/// Case A63: a second profile of a name is reported and the first one kept, an unknown or empty name is an error that
/// lists the known ones, and of two defaults the last one counts, which is told.
#[test]
fn lookups_never_guess() {
    let profiles = read_profiles(&[case::path("A63", "lookup.xml")]).unwrap();
    assert_eq!(profiles.writer("cap").unwrap().qos.reliability, Reliability::Reliable);
    let found = shown(&profiles);
    assert!(found.iter().any(|it| it.contains("error") && it.contains("\"cap\"")), "{found:?}");
    for name in ["nothing", ""] {
        let error = profiles.writer(name).unwrap_err().to_string();
        assert!(error.contains(&format!("{name:?}")) && error.contains("cap"), "{error}");
        assert!(profiles.participant(name).is_err() && profiles.topic(name).is_err());
    }
    assert!(found.iter().any(|it| it.contains("\"a\" and \"b\" are both the default reader")), "{found:?}");
    assert_eq!(profiles.default_reader(), profiles.reader("b").ok());
    assert_eq!(profiles.findings.iter().filter(|it| it.severity == Severity::Error).count(), 1);
}

/// Case A63, mutated: with another name for the second profile both are there and nothing is odd but the defaults; an
/// empty name is refused.
#[test]
fn distinct_names_are_all_kept() {
    let text = case::text("A63", "lookup.xml");
    let second = text.rfind("\"cap\"").unwrap();
    let renamed = format!("{}\"low\"{}", &text[..second], &text[second + 5..]);
    let profiles = load(&renamed).unwrap();
    assert_eq!(profiles.writer("cap").unwrap().qos.reliability, Reliability::Reliable);
    assert_eq!(profiles.writer("low").unwrap().qos.reliability, Reliability::BestEffort);
    assert_eq!(profiles.findings.len(), 1);
    let error = load(&text.replacen("\"cap\"", "\"\"", 1)).unwrap_err();
    assert!(error.to_string().starts_with("case.xml:4: attribute \"profile_name\""), "{error}");
}
