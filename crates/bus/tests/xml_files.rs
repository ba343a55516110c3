#![expect(clippy::disallowed_methods, reason = "I/O shell: reads fixtures")]
//! XML files of public projects, and one with every element: each loads, or is refused for a reason that its vendor
//! would have too. Mutated files are refused or loaded, but never bring anything down.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bus::xml::read::read_profiles;
use bus::xml::{Document, Element, Profiles, Severity, XmlError};
use proptest::prelude::*;
use rtps::Lease;
use rtps::qos::{Durability, History, Ownership, PresentationScope, Reliability};

const FILES: [&str; 7] = [
    "flow_control_profile.xml",
    "participant_config_pub.xml",
    "XMLProfilesExample.xml",
    "UDPv4_whitelist.xml",
    "DEFAULT_FASTRTPS_PROFILES.xml",
    "information_quality_fastdds.xml",
    "every_element.xml",
];

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/xml", file].iter().collect()
}

fn text(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap()
}

fn load(text: &str) -> Result<Profiles, XmlError> {
    Profiles::load(&[Document::parse("f.xml", text, &|_| None)?])
}

/// The elements that findings say have no effect, in the order of the file.
fn without_effect(profiles: &Profiles) -> Vec<&str> {
    profiles
        .findings
        .iter()
        .filter(|finding| finding.what.contains("has no effect"))
        .filter_map(|finding| finding.what.split(['<', '>']).nth(1))
        .collect()
}

/// A plain file of today has nothing odd.
#[test]
fn today() {
    let profiles = read_profiles(&[path("flow_control_profile.xml")]).unwrap();
    assert_eq!(profiles.findings, []);
    let writer = &profiles.default_writer().unwrap().qos;
    assert_eq!(writer.history, History::KeepLast(100));
    assert_eq!(writer.resource_limits.max_samples, Some(100));
    assert_eq!(profiles.default_reader().unwrap().qos.durability, Durability::TransientLocal);
}

/// A file with transports of its own: what has no effect is told, element by element.
#[test]
fn big_data() {
    let profiles = read_profiles(&[path("participant_config_pub.xml")]).unwrap();
    let participant = profiles.participant("bigdata_pub_profile").unwrap();
    assert_eq!((participant.domain, participant.name.as_deref()), (42, Some("BigDataParticipant_pub")));
    let tcp = participant.transports.tcp.unwrap();
    let listen: Vec<SocketAddr> = ["0.0.0.0:5100", "0.0.0.0:5200"].map(|text| text.parse().unwrap()).into();
    assert_eq!((tcp.listen, tcp.connect), (listen, Vec::new()));
    assert!(participant.transports.udp_v4 && !participant.transports.shared_memory);
    assert_eq!(
        without_effect(&profiles),
        [
            "wan_addr",
            "sendBufferSize",
            "receiveBufferSize",
            "maxMessageSize",
            "sendBufferSize",
            "receiveBufferSize",
            "defaultUnicastLocatorList",
            "metatrafficUnicastLocatorList",
            "metatrafficMulticastLocatorList",
            "readerHistoryMemoryPolicy",
            "writerHistoryMemoryPolicy",
            "readerPayloadSize",
            "writerPayloadSize",
            "mutation_tries",
            "participantID",
        ]
    );
}

/// A file of Fast RTPS 1: domain, lease, topic and type where they stood then.
#[test]
fn version_1() {
    let profiles = read_profiles(&[path("XMLProfilesExample.xml")]).unwrap();
    let participant = profiles.participant("participant_profile").unwrap();
    assert_eq!((participant.domain, participant.lease), (80, Some(Lease::Infinite)));
    let writer = profiles.writer("publisher_profile").unwrap();
    assert_eq!(writer.topic.as_deref(), Some("xml_profiles_topic"));
    assert_eq!(writer.type_name.as_deref(), Some("XMLProfilesExample"));
    assert_eq!(writer.qos.history, History::KeepLast(20));
    assert_eq!(profiles.reader("subscriber_profile").unwrap().qos.reliability, Reliability::Reliable);
}

/// A whitelist that leaves one address.
#[test]
fn whitelist() {
    let profiles = read_profiles(&[path("UDPv4_whitelist.xml")]).unwrap();
    let transports = profiles.participant("CustomUDPTransportParticipant").unwrap().transports;
    assert_eq!(transports.interfaces, ["192.168.1.143"]);
    assert_eq!(profiles.findings.len(), 1, "only the namespace: {:?}", profiles.findings);
}

/// Elements at a place where the vendor refuses them too are errors that tell the line and where they belong.
#[test]
fn misplaced_elements() {
    let error = read_profiles(&[path("DEFAULT_FASTRTPS_PROFILES.xml")]).unwrap_err();
    assert_eq!((error.place.line, error.remedy.as_str()), (21, "it belongs in <qos>"), "{error}");
    let error = read_profiles(&[path("information_quality_fastdds.xml")]).unwrap_err();
    assert_eq!((error.place.line, error.remedy.as_str()), (24, "it belongs in <builtin>"), "{error}");
}

/// A licence beside the root, comments with dashes and a late declaration, as they are found in public files.
#[test]
fn loose_xml() {
    let text = "\n<?xml version=\"1.0\"?>\n<license>All rights\nreserved.</license>\n<!---- [WRITERS] ---->\n\
                <profiles xmlns=\"http://www.eprosima.com\">\n<data_writer profile_name=\"w\"/></profiles>";
    let profiles = load(text).unwrap();
    assert_eq!(profiles.writer("w").unwrap().place.line, 7);
    let found: Vec<_> = profiles.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["f.xml:3: warning: <license> beside the root is not used"]);
}

/// TLS that lacks a file is told as an error, and never becomes a connection in the clear.
#[test]
fn partial_tls_is_never_clear() {
    let text = text("every_element.xml").replace("<verify_file>ca.pem</verify_file>", "");
    let profiles = load(&text).unwrap();
    let errors: Vec<_> = profiles.findings.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(matches!(&errors[..], [error] if error.what.contains("lacks <verify_file>")), "{errors:?}");
    let tls = profiles.default_participant().unwrap().transports.tcp.as_ref().unwrap().tls.clone();
    assert_eq!(tls.unwrap().ca, PathBuf::new());
}

/// A reader's time-based filter is honoured, and nothing says that it has no effect.
#[test]
fn time_based_filter() {
    let text = "<profiles xmlns='http://www.eprosima.com'><data_reader profile_name='slow' is_default_profile='true'>\
                <qos><timeBasedFilter><minimum_separation><sec>2</sec><nanosec>5</nanosec></minimum_separation>\
                </timeBasedFilter></qos></data_reader></profiles>";
    let profiles = load(text).unwrap();
    let separation = profiles.default_reader().unwrap().qos.time_based_filter;
    assert_eq!((separation, profiles.findings.as_slice()), (Duration::new(2, 5), &[][..]));
}

/// The transports that need no file are there, and a file's own come first.
#[test]
fn built_in_transports() {
    let none = Profiles::default();
    for (name, expected) in [
        ("udpv4_transport", bus::Transports::udp()),
        ("udpm_transport", bus::Transports::udp_multicast()),
        ("shm_transport", bus::Transports::shared_memory()),
    ] {
        assert_eq!(none.participant(name).unwrap().transports, expected, "{name}");
        assert!(none.transport(name).is_ok());
    }
    let server = none.participant("tcpv4_server_transport").unwrap().transports.tcp.unwrap();
    let client = none.participant("tcpv4_client_transport").unwrap().transports.tcp.unwrap();
    assert_eq!(server.listen[0].port(), client.connect[0].port());
    let own = "<profiles xmlns='http://www.eprosima.com'><participant profile_name='udpv4_transport'>\
               <domainId>3</domainId></participant></profiles>";
    assert_eq!(load(own).unwrap().participant("udpv4_transport").unwrap().domain, 3);
}

/// Every honoured element arrives; every other one is named.
#[test]
fn every_element() {
    let profiles = read_profiles(&[path("every_element.xml")]).unwrap();
    let participant = profiles.default_participant().unwrap();
    let timing = participant.timing();
    assert_eq!(timing.lease, Duration::from_secs(20));
    assert_eq!(timing.announce_period, Duration::from_millis(3500));
    assert_eq!((timing.burst_count, timing.burst_period), (2, Duration::from_millis(50)));
    assert_eq!(participant.peers.len(), 2);
    assert_eq!(participant.transports.interfaces, ["192.0.2.1", "ib0", "ib1"]);
    let tcp = participant.transports.tcp.as_ref().unwrap();
    assert_eq!((tcp.listen.len(), tcp.connect.len()), (2, 1));
    let tls = tcp.tls.as_ref().unwrap();
    assert_eq!(
        [&tls.certificate, &tls.key, &tls.ca].map(|path| path.to_str().unwrap()),
        ["chain.pem", "key.pem", "ca.pem"]
    );
    assert_eq!(tls.server_name.as_deref(), Some("n1.example"));
    assert_eq!(participant.fragment_size(), 1200);
    assert_eq!(participant.transports.shared_memory_bytes, 2 << 20);
    let qos = &profiles.writer("writer").unwrap().qos;
    assert_eq!((qos.reliability, qos.durability), (Reliability::Reliable, Durability::Volatile));
    assert_eq!(
        (qos.deadline, qos.lifespan),
        (Lease::Finite(Duration::from_secs(1)), Lease::Finite(Duration::from_secs(5)))
    );
    assert_eq!((qos.ownership, qos.ownership_strength), (Ownership::Exclusive, 50));
    assert_eq!(qos.partitions, ["NodeManager*", ""]);
    assert_eq!((qos.presentation.scope, qos.presentation.ordered), (PresentationScope::Topic, true));
    assert_eq!(qos.max_blocking, Duration::MAX);
    assert_eq!(qos.resource_limits.max_instances, None);
    assert_eq!(profiles.reader("reader").unwrap().qos.history, History::KeepAll);
    assert_eq!(profiles.default_topic().unwrap().history, History::KeepLast(7));
    let named = without_effect(&profiles);
    let all = text("every_element.xml");
    let lines: Vec<_> = all.lines().collect();
    for finding in &profiles.findings {
        let line = lines[finding.place.line as usize - 1];
        let name = finding.what.split(['<', '>']).nth(1).unwrap();
        assert!(line.contains(&format!("<{name}")), "{finding}");
    }
    for name in
        ["tmp_dh_file", "rtps_dump_file", "prefix", "allocation", "times", "userData", "requester", "qos"]
    {
        assert!(named.contains(&name), "{name}: {named:?}");
    }
}

/// What somebody can see of profiles.
fn seen(document: &Document) -> Option<String> {
    let mut profiles = Profiles::load(std::slice::from_ref(document)).ok()?;
    let told: Vec<String> = profiles.findings.drain(..).map(|finding| finding.what).collect();
    Some(format!("{profiles:?} {told:?}"))
}

/// The element at a path of child numbers.
fn at<'a>(mut element: &'a mut Element, path: &[usize]) -> &'a mut Element {
    for index in path {
        element = &mut element.children[*index];
    }
    element
}

/// Nothing is passed over in silence: without any one element, other settings result, or other things are told, or the
/// file is refused. What is within an element without effect is told with that one.
#[test]
fn nothing_is_passed_over() {
    let document = Document::parse("f.xml", &text("every_element.xml"), &|_| None).unwrap();
    let whole = seen(&document).unwrap();
    let findings = Profiles::load(std::slice::from_ref(&document)).unwrap().findings;
    let is_told = |element: &Element| {
        let start = format!("<{}> is not supported", element.name);
        findings.iter().any(|finding| finding.place == element.place && finding.what.starts_with(&start))
    };
    let mut paths: Vec<Vec<usize>> = vec![Vec::new()];
    let (mut tried, mut passed_over) = (0, Vec::new());
    while let Some(path) = paths.pop() {
        let mut changed = document.clone();
        let element = at(&mut changed.root, &path);
        if !is_told(element) {
            paths.extend((0..element.children.len()).map(|index| [&path[..], &[index]].concat()));
        }
        let Some((last, parent)) = path.split_last() else { continue };
        let name = format!("{}={}", element.name, element.text);
        at(&mut changed.root, parent).children.remove(*last);
        tried += 1;
        if seen(&changed).is_some_and(|seen| seen == whole) && !SAID_ANYWAY.contains(&name.as_str()) {
            passed_over.push(name);
        }
    }
    assert!(tried > 120, "{tried}");
    assert_eq!(passed_over, Vec::<String>::new());
}

/// Elements of `every_element.xml` that say what is so without them.
const SAID_ANYWAY: &[&str] = &[
    "type=UDPv4",
    "portBase=7400",
    "participantIDGain=2",
    "offsetd0=0",
    "offsetd1=10",
    "offsetd2=1",
    "offsetd3=11",
    "offsetd4=2",
    "coherent_access=false",
    "verify=VERIFY_PEER",
    "verify_mode=",
    "option=NO_SSLV2",
    "options=",
    "kind=KEEP_LAST",
    "kind=RELIABLE",
    "max_instances=-1",
];

/// Names and values that the dialect does not have are errors with line and hint.
#[test]
fn mistakes_are_told() {
    let all = text("every_element.xml");
    for (from, to, hint) in [
        ("<deadline>", "<deadlin>", "<deadline>"),
        ("<kind>ASYNCHRONOUS", "<kind>LATER", "ASYNCHRONOUS"),
        ("<domainId>4<", "<domainId>233<", "232"),
        ("<TTL>1<", "<TTL>256<", "255"),
        ("<port_queue_capacity>512<", "<port_queue_capacity>x<", "4294967295"),
        (
            "<transport_id>udp</transport_id><tr",
            "<transport_id>upd</transport_id><tr",
            "transport_descriptor",
        ),
        ("<value>3.1.4.1f<", "<value>3.1.4.1g<", "1a.02.ff"),
        ("<type>SHM<", "<type>UDPv4<", "correct the type"),
        ("<sec>20</sec>", "<sec>2</sec>", "three times"),
        ("<address>192.0.2.3<", "<address>192.0.2.300<", "correct"),
        ("is_default_profile=\"true\"", "is_default_profile=\"yes\"", "true or false"),
        ("is_default_profile=\"true\"", "is_default=\"true\"", "is_default_profile"),
    ] {
        let close = |tag: &str| tag.replace('<', "</");
        let changed = all.replacen(from, to, 1).replacen(&close(from), &close(to), 1);
        assert_ne!(changed, all, "{from}");
        let error = load(&changed).unwrap_err();
        assert!(error.place.line > 1 && error.remedy.contains(hint), "{from}: {error}");
    }
}

/// Files made to cost much per octet are loaded or refused in a time that grows with their size alone (this test would not
/// end otherwise).
#[test]
fn costly_files_end() {
    const OCTETS: usize = 1 << 20;
    let fill = |before: &str, part: &str, after: &str| {
        format!("<dds>{before}{}{after}</dds>", part.repeat(OCTETS / part.len()))
    };
    let numbered = |before: &str, part: &str, after: &str| {
        let parts: String =
            (0..OCTETS / (part.len() + 4)).map(|number| part.replace('#', &number.to_string())).collect();
        format!("<dds>{before}{parts}{after}</dds>")
    };
    let writer = ("<profiles><data_writer profile_name='w'><qos>", "</qos></data_writer></profiles>");
    let rtps = ("<profiles><participant profile_name='p'><rtps>", "</rtps></participant></profiles>");
    let interfaces: String = (0..64).map(|number| format!("<interface>eth{number}</interface>")).collect();
    let transport = format!(
        "<profiles><transport_descriptors><transport_descriptor><transport_id>t</transport_id><type>UDPv4</type>\
         <interfaceWhiteList>{interfaces}</interfaceWhiteList></transport_descriptor></transport_descriptors>"
    );
    let user = "<participant profile_name='#'><rtps><userTransports><transport_id>t</transport_id></userTransports>\
                <useBuiltinTransports>false</useBuiltinTransports></rtps></participant>";
    let same = "<participant profile_name='p'/>";
    for (file, is_good) in [
        (fill(writer.0, "<reliability/>", writer.1), true),
        (fill(writer.0, "<partition><names><name>a</name></names></partition>", writer.1), true),
        (
            fill(
                rtps.0,
                "<userTransports><transport_id>udpv4_transport</transport_id></userTransports>",
                rtps.1,
            ),
            true,
        ),
        (numbered(rtps.0, "<userTransports><transport_id>#</transport_id></userTransports>", rtps.1), false),
        (numbered(&transport, user, "</profiles>"), true),
        (fill("<profiles>", same, "</profiles>"), true),
        (fill("<log>", "<consumer/>", "</log>"), true),
        (fill("<log><use_default>", "${A", "</use_default></log>"), false),
        (fill("<log><use_default>", "&lt;", "</use_default></log>"), false),
        (fill("", "<types/>", ""), true),
        (fill("<log a='", "a", "'/>"), false),
        (fill("<log ", "a='1' ", "/>"), false),
        (fill("", "<a>", ""), false),
        (fill("", "<!-- ", ""), false),
        (fill("", "<![CDATA[", ""), false),
        ("<a/>".repeat(OCTETS / 4), false),
        ("<".repeat(OCTETS), false),
    ] {
        let loaded = load(&file);
        let start = &file[..80.min(file.len())];
        assert_eq!(loaded.is_ok(), is_good, "{start}: {:?}", loaded.err());
        if let Err(error) = loaded {
            assert!(error.to_string().len() < 1000, "{start}");
        }
    }
}

proptest! {
    /// Files with octets changed, cut out and doubled are loaded or refused, in a time that their size bounds.
    #[test]
    fn mutated_files_do_no_harm(
        file in 0..FILES.len(),
        edits in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u8>(), 0_u8..4), 1..12),
    ) {
        let mut bytes = text(FILES[file]).into_bytes();
        for (at, length, octet, edit) in edits {
            let at = at as usize % bytes.len().max(1);
            let end = (at + length as usize % 200).min(bytes.len());
            match edit {
                0 => bytes[at] = octet,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                _ => bytes.insert(at, b"<>/\"&'=!-[]?"[octet as usize % 12]),
            }
            if bytes.is_empty() {
                bytes.push(b'<');
            }
        }
        let _ = load(&String::from_utf8_lossy(&bytes));
    }
}
