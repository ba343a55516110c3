//! Participants, publishers and subscribers made as profiles say, over the real engine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers: a failure here is a failed test")]

mod case;

use std::time::Duration;

use bus::xml::read::read_profiles;
use bus::xml::{Document, Profiles};
use bus::{Data, DdsType, JoinError, Participant};
use rtps::qos::{Durability, Reliability};

const LONG: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "test::Item")]
struct Item {
    #[dds(key)]
    id: u32,
}

fn profiles(text: &str) -> Profiles {
    Profiles::load(&[Document::parse("f.xml", text, &|_| None).unwrap()]).unwrap()
}

/// Domain, name, partitions and policies of a file arrive at the other side, and what does not fit does not match.
#[test]
fn profiles_are_followed() {
    let file = profiles(
        "<dds xmlns='http://www.eprosima.com'><profiles>\
         <participant profile_name='p'><domainId>61</domainId><rtps><name>from a file</name></rtps></participant>\
         <data_writer profile_name='w'><qos><partition><names><name>NodeManagern1</name></names></partition></qos>\
         </data_writer>\
         <data_reader profile_name='r'><qos><reliability><kind>RELIABLE</kind></reliability>\
         <partition><names><name>NodeManager*</name></names></partition></qos></data_reader>\
         <data_reader profile_name='elsewhere'/></profiles></dds>",
    );
    assert_eq!(file.findings, []);
    let participant = file.participant("p").unwrap();
    let (a, b) = (Participant::builder().profile(&participant), Participant::builder().profile(&participant));
    let (a, b) = (a.build().unwrap(), b.build().unwrap());
    assert_eq!(a.domain(), 61);
    let publisher = a.publisher::<Item>("items").profile(file.writer("w").unwrap()).build().unwrap();
    let subscriber = b.subscriber::<Item>("items").profile(file.reader("r").unwrap()).build().unwrap();
    let other = b.subscriber::<Item>("items").profile(file.reader("elsewhere").unwrap()).build().unwrap();
    assert!(publisher.wait_for_match(1, LONG) && subscriber.wait_for_match(1, LONG));
    publisher.write(&Item { id: 7 }).unwrap();
    assert_eq!(subscriber.recv_timeout(LONG).unwrap().unwrap().data, Data::Valid(Item { id: 7 }));
    assert!(b.participants().iter().any(|remote| remote.name.as_deref() == Some("from a file")));
    let offered = b.endpoints().into_iter().find(|end| end.guid == publisher.guid()).unwrap().qos;
    assert_eq!(
        (offered.reliability, offered.durability),
        (Reliability::Reliable, Durability::TransientLocal)
    );
    assert_eq!(offered.partitions, ["NodeManagern1"]);
    assert!(other.take().unwrap().is_none(), "another partition gets nothing");
}

/// Case A21 on this machine: with a whitelist of which nothing is here, joining fails and names it.
#[test]
fn missing_interfaces_are_an_error() {
    let text = case::text("A21", "whitelist.xml").replace("127.0.0.1", "192.0.2.99");
    let participant = profiles(&text).participant("p").unwrap();
    let error = Participant::builder().profile(&participant).domain(62).build().unwrap_err();
    assert!(matches!(&error, JoinError::NoInterface { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("192.0.2.99") && text.contains("ib0"), "{text}");
}

/// Case A21 on this machine: the listed loopback address is enough to join by.
#[test]
fn listed_interfaces_are_used() {
    let participant = read_profiles(&[case::path("A21", "whitelist.xml")]).unwrap().participant("p").unwrap();
    Participant::builder().profile(&participant).domain(63).build().unwrap();
}
