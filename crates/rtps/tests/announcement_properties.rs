//! Properties of announcements, parameter lists and partition patterns.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use rtps::Endianness;
use rtps::discovery::data::{
    DiscoveryDataError, EndpointData, EndpointKind, LOCATORS_MAX, PARTITIONS_MAX, ParticipantData,
    USER_DATA_MAX,
};
use rtps::parameter::{ParameterList, ParameterListWriter, pid};
use rtps::partition::{PartitionRule, is_matched};
use rtps::qos::{
    DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership, Presentation,
    PresentationScope, Qos, Reliability, ResourceLimits,
};
use rtps::{
    EntityId, Guid, GuidPrefix, Lease, Locator, LocatorKind, MachineAddress, VENDOR_STILLWATT, VendorId,
};
use std::time::Duration;

fn lease() -> impl Strategy<Value = Lease> {
    prop_oneof![
        Just(Lease::Infinite),
        (0..u64::from(i32::MAX.unsigned_abs()), 0u32..1_000_000_000)
            .prop_map(|(seconds, nanos)| Lease::Finite(Duration::new(seconds, nanos))),
    ]
}

fn locators() -> impl Strategy<Value = Vec<Locator>> {
    let known = [LocatorKind::UdpV4, LocatorKind::UdpV6, LocatorKind::TcpV4, LocatorKind::TcpV6];
    let kind = prop_oneof![select(known.to_vec()), (9..100i32).prop_map(LocatorKind::Other)];
    let locator = (kind, any::<u32>(), any::<[u8; 16]>());
    vec(locator.prop_map(|(kind, port, address)| Locator { kind, port, address }), 0..4)
}

fn name() -> impl Strategy<Value = String> {
    "[^\0]{0,40}"
}

prop_compose! {
    fn participant()(
        prefix: [u8; 12],
        version: [u8; 2],
        vendor in prop_oneof![any::<[u8; 2]>().prop_map(VendorId), Just(VENDOR_STILLWATT)],
        domain in option::of(any::<u32>()),
        builtin_endpoints: u32,
        lease in lease(),
        locators in (locators(), locators(), locators(), locators()),
        name in option::of(name()),
        user_data in vec(any::<u8>(), 0..30),
        place in option::of(any::<([u8; 16], [u8; 16])>()),
    ) -> ParticipantData {
        let (metatraffic_unicast, metatraffic_multicast, default_unicast, default_multicast) = locators;
        ParticipantData {
            guid: Guid::new(GuidPrefix(prefix), EntityId::PARTICIPANT),
            version,
            vendor,
            domain,
            builtin_endpoints,
            lease,
            metatraffic_unicast,
            metatraffic_multicast,
            default_unicast,
            default_multicast,
            name,
            user_data,
            // Only ours is understood.
            machine_address: place
                .filter(|_| vendor == VENDOR_STILLWATT)
                .map(|(machine, process)| MachineAddress { machine, process }),
        }
    }
}

prop_compose! {
    fn limits()(limits in [option::of(0..1_000_000u32), option::of(0..9u32), option::of(0..9u32)]) -> ResourceLimits {
        let [max_samples, max_instances, max_samples_per_instance] = limits;
        ResourceLimits { max_samples, max_instances, max_samples_per_instance }
    }
}

prop_compose! {
    fn presentation()(
        scope in select(vec![PresentationScope::Instance, PresentationScope::Topic, PresentationScope::Group]),
        coherent: bool,
        ordered: bool,
    ) -> Presentation {
        Presentation { scope, coherent, ordered }
    }
}

prop_compose! {
    /// What both writers and readers announce.
    fn qos()(
        reliability in select(vec![Reliability::BestEffort, Reliability::Reliable]),
        durability in select(vec![
            Durability::Volatile, Durability::TransientLocal, Durability::Transient, Durability::Persistent,
        ]),
        history in prop_oneof![Just(History::KeepAll), (1..1000u32).prop_map(History::KeepLast)],
        resource_limits in limits(),
        (deadline, latency_budget, lease) in (lease(), lease(), lease()),
        kind in select(vec![
            LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic,
        ]),
        ownership in select(vec![Ownership::Shared, Ownership::Exclusive]),
        destination_order in select(vec![DestinationOrder::ByReception, DestinationOrder::BySource]),
        presentation in presentation(),
        partitions in vec(name(), 0..5),
        representations in vec(0..3i16, 1..4),
        max_blocking in (0..1000u64).prop_map(Duration::from_millis),
    ) -> Qos {
        Qos {
            reliability,
            durability,
            history,
            resource_limits,
            deadline,
            latency_budget,
            liveliness: Liveliness { kind, lease },
            ownership,
            destination_order,
            presentation,
            partitions,
            representations,
            max_blocking,
            ..Qos::default()
        }
    }
}

prop_compose! {
    fn endpoint()(
        prefix: [u8; 12],
        entity in prop_oneof![
            (0..1u32 << 24, any::<bool>()).prop_map(|(key, with_key)| EntityId::user_writer(key, with_key)),
            (0..1u32 << 24, any::<bool>()).prop_map(|(key, with_key)| EntityId::user_reader(key, with_key)),
        ],
        (topic, type_name) in (name(), name()),
        (unicast, multicast) in (locators(), locators()),
        mut qos in qos(),
        lifespan in lease(),
        ownership_strength: i32,
        expects_inline_qos: bool,
    ) -> EndpointData {
        if entity.is_writer() {
            (qos.lifespan, qos.ownership_strength) = (lifespan, ownership_strength);
        }
        EndpointData {
            guid: Guid::new(GuidPrefix(prefix), entity),
            topic,
            type_name,
            qos,
            unicast,
            multicast,
            expects_inline_qos: expects_inline_qos && entity.is_reader(),
        }
    }
}

fn encode_endpoint(data: &EndpointData) -> Vec<u8> {
    let mut out = Vec::new();
    data.encode(data.kind().unwrap(), &mut out);
    out
}

fn encode_participant(data: &ParticipantData) -> Vec<u8> {
    let mut out = Vec::new();
    data.encode(&mut out);
    out
}

/// Everything that takes a payload from the network.
fn decode_all(payload: &[u8]) {
    let _ = ParticipantData::decode(payload);
    let _ = ParticipantData::decode_key(payload);
    let _ = EndpointData::decode(payload);
    let _ = EndpointData::decode_key(payload);
    for order in [Endianness::Big, Endianness::Little] {
        if let Ok((list, _)) = ParameterList::parse(payload, order) {
            let _ = (list.iter().count(), list.key_hash(), list.status_info());
        }
    }
}

/// The pattern rule in its plainest form: try everything. Brackets are left to the unit tests.
fn is_matched_plainly(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|taken| is_matched_plainly(rest, &name[taken..])),
        ([b'?', rest @ ..], [_, name @ ..]) => is_matched_plainly(rest, name),
        ([first, rest @ ..], [octet, name @ ..]) => first == octet && is_matched_plainly(rest, name),
        _ => false,
    }
}

proptest! {
    /// Any octets are decoded or refused without a panic.
    #[test]
    fn any_octets_are_survived(form in 0..4u8, body in vec(any::<u8>(), 0..300)) {
        decode_all(&body);
        decode_all(&[&[0, form, 0, 0][..], &body].concat());
    }

    /// Lists of parameters that exist, with any values, are decoded or refused without a panic.
    #[test]
    fn any_values_are_survived(
        form in 2..4u8,
        parameters in vec((0..0x80u8, vec(any::<u8>(), 0..8)), 0..12),
    ) {
        let mut payload = vec![0, form, 0, 0];
        for (id, words) in parameters {
            let value: Vec<u8> = words.into_iter().flat_map(|word| [word, 0, 0, word & 1]).collect();
            let length = u16::try_from(value.len()).unwrap();
            let header = |number: u16| if form == 2 { number.to_be_bytes() } else { number.to_le_bytes() };
            payload.extend(header(id.into()));
            payload.extend(header(length));
            payload.extend(value);
        }
        payload.extend(if form == 2 { [0, 1, 0, 0] } else { [1, 0, 0, 0] });
        decode_all(&payload);
    }

    /// Participants survive the trip, and so does the key alone.
    #[test]
    fn participants_are_read_again(data in participant()) {
        let payload = encode_participant(&data);
        prop_assert_eq!(payload.len() % 4, 0);
        prop_assert_eq!(ParticipantData::decode_key(&payload).unwrap(), data.guid);
        prop_assert_eq!(ParticipantData::decode(&payload).unwrap(), data);
    }

    /// Endpoints survive the trip, and so does the key alone.
    #[test]
    fn endpoints_are_read_again(data in endpoint()) {
        prop_assert_eq!(data.check(), Ok(()));
        let payload = encode_endpoint(&data);
        prop_assert_eq!(EndpointData::decode_key(&payload).unwrap(), data.guid);
        prop_assert_eq!(EndpointData::decode(&payload).unwrap(), data);
    }

    /// Announcements that were damaged or cut are survived.
    #[test]
    fn damaged_announcements_are_survived(
        participant in participant(),
        endpoint in endpoint(),
        changes in vec(any::<(prop::sample::Index, u8)>(), 0..8),
        cut: prop::sample::Index,
    ) {
        for mut payload in [encode_participant(&participant), encode_endpoint(&endpoint)] {
            for (place, octet) in &changes {
                let place = place.index(payload.len());
                payload[place] = *octet;
            }
            decode_all(&payload);
            decode_all(&payload[..cut.index(payload.len())]);
        }
    }

    /// The bounded matcher answers as the plain one.
    #[test]
    fn patterns_match_as_defined(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
        let found = is_matched(PartitionRule::FastDds, &[pattern.as_str()], &[name.as_str()]);
        prop_assert_eq!(found, is_matched_plainly(pattern.as_bytes(), name.as_bytes()));
    }

    /// Both rules are symmetric, and agree unless both names have wildcards. Brackets included.
    #[test]
    fn partition_rules_are_symmetric(writer in "[ab*?\\[\\]!-]{0,10}", reader in "[ab*?\\[\\]!-]{0,10}") {
        let answer = |rule, a: &str, b: &str| is_matched(rule, &[a], &[b]);
        for rule in [PartitionRule::FastDds, PartitionRule::Dds] {
            prop_assert_eq!(answer(rule, &writer, &reader), answer(rule, &reader, &writer));
        }
        let both = [&writer, &reader].iter().all(|name| name.contains(['*', '?', '[']));
        let strict = answer(PartitionRule::Dds, &writer, &reader);
        prop_assert_eq!(strict, !both && answer(PartitionRule::FastDds, &writer, &reader));
    }
}

/// A payload with the parameters that `write` adds.
fn payload(write: impl FnOnce(&mut ParameterListWriter<'_>)) -> Vec<u8> {
    let mut out = vec![0, 3, 0, 0];
    let mut list = ParameterListWriter::new(&mut out);
    write(&mut list);
    list.finish();
    out
}

fn writer_guid() -> Guid {
    Guid::new(GuidPrefix([7; 12]), EntityId::user_writer(1, true))
}

fn reader_guid() -> Guid {
    Guid::new(GuidPrefix([7; 12]), EntityId::user_reader(2, false))
}

/// The least that an endpoint announces, and more.
fn minimal(guid: Guid, more: impl FnOnce(&mut ParameterListWriter<'_>)) -> Vec<u8> {
    payload(|list| {
        list.guid(pid::ENDPOINT_GUID, guid);
        list.string(pid::TOPIC_NAME, "power");
        list.string(pid::TYPE_NAME, "Power");
        more(list);
    })
}

/// What is absent has the standard's default: writers are reliable, readers are not.
#[test]
fn absent_parameters_have_defaults() {
    let writer = EndpointData::decode(&minimal(writer_guid(), |_| {})).unwrap();
    let reader = EndpointData::decode(&minimal(reader_guid(), |_| {})).unwrap();
    assert_eq!(writer.qos, Qos { reliability: Reliability::Reliable, ..Qos::default() });
    assert_eq!((reader.kind(), reader.qos), (Some(EndpointKind::Reader), Qos::default()));
    let guid = Guid::new(GuidPrefix([7; 12]), EntityId::PARTICIPANT);
    let participant =
        ParticipantData::decode(&payload(|list| list.guid(pid::PARTICIPANT_GUID, guid))).unwrap();
    assert_eq!(participant.lease, Lease::Finite(Duration::from_secs(100)));
}

/// Announcements without GUID, topic or type, or with the GUID of something else, are refused by name.
#[test]
fn required_parameters_are_missed() {
    let missing = |result: Result<EndpointData, _>| result.unwrap_err();
    let none = EndpointData::decode(&payload(|_| {}));
    assert_eq!(missing(none), DiscoveryDataError::Missing(pid::ENDPOINT_GUID));
    let no_topic = EndpointData::decode(&payload(|list| list.guid(pid::ENDPOINT_GUID, writer_guid())));
    assert_eq!(missing(no_topic), DiscoveryDataError::Missing(pid::TOPIC_NAME));
    assert!(
        ParticipantData::decode(&payload(|list| list.guid(pid::PARTICIPANT_GUID, writer_guid()))).is_err()
    );
    assert!(ParticipantData::decode(&payload(|_| {})).is_err());
    let participant = Guid::new(GuidPrefix([7; 12]), EntityId::PARTICIPANT);
    assert!(EndpointData::decode(&minimal(participant, |_| {})).is_err());
}

/// Unknown parameters are skipped, unless they must be understood; a tagged domain is not ours.
#[test]
fn unknown_parameters_are_skipped_when_they_may_be() {
    let with = |id: u16| EndpointData::decode(&minimal(writer_guid(), |list| list.u32(id, 1)));
    assert!(with(0x3a00).is_ok() && with(0x8001).is_ok());
    assert_eq!(with(0x7a00), Err(DiscoveryDataError::NotUnderstood(0x7a00)));
    let guid = Guid::new(GuidPrefix([7; 12]), EntityId::PARTICIPANT);
    let tagged = |tag: &str| {
        ParticipantData::decode(&payload(|list| {
            list.guid(pid::PARTICIPANT_GUID, guid);
            list.string(pid::DOMAIN_TAG, tag);
        }))
    };
    assert!(tagged("").is_ok());
    assert_eq!(tagged("lab"), Err(DiscoveryDataError::DomainTag));
}

/// Strings and lists that their parameters cannot hold refuse the announcement.
#[test]
fn absurd_lengths_refuse_the_announcement() {
    let with =
        |id: u16, value: &[u8]| EndpointData::decode(&minimal(writer_guid(), |list| list.bytes(id, value)));
    let long_string = [0xff, 0xff, 0xff, 0xff, b'a', 0, 0, 0];
    assert!(with(pid::TOPIC_NAME, &long_string).is_err());
    assert!(with(pid::PARTITION, &[&[1, 0, 0, 0][..], &long_string].concat()).is_err());
    assert!(with(pid::PARTITION, &[0xff; 8]).is_err());
    assert!(with(pid::DATA_REPRESENTATION, &[0xff; 8]).is_err());
    assert!(with(pid::RELIABILITY, &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(with(pid::TOPIC_NAME, &[5, 0, 0, 0, b'a', b'b', 0xff, b'c', 0, 0, 0, 0]).is_err());
    assert!(with(pid::TOPIC_NAME, &[3, 0, 0, 0, b'a', b'b', 0, 0]).is_ok());
}

/// Bounds: long names and too many partitions are refused before sending and after receiving; further locators and
/// long user data are not kept.
#[test]
fn bounds_hold_on_both_sides() {
    let mut data = EndpointData::decode(&minimal(writer_guid(), |_| {})).unwrap();
    data.qos.partitions = vec![String::from("p"); PARTITIONS_MAX];
    data.unicast = vec![Locator::udp_v4([127, 0, 0, 1], 7411); LOCATORS_MAX + 1];
    assert_eq!(data.check(), Ok(()));
    let read = EndpointData::decode(&encode_endpoint(&data)).unwrap();
    assert_eq!((read.unicast.len(), read.qos.partitions.len()), (LOCATORS_MAX, PARTITIONS_MAX));
    data.qos.partitions.push(String::from("one more"));
    assert!(data.check().is_err() && EndpointData::decode(&encode_endpoint(&data)).is_err());
    data.qos.partitions = vec!["n".repeat(257)];
    assert!(data.check().is_err() && EndpointData::decode(&encode_endpoint(&data)).is_err());
    let guid = Guid::new(GuidPrefix([7; 12]), EntityId::PARTICIPANT);
    let with_data = |length: usize| {
        let payload = payload(|list| {
            list.guid(pid::PARTICIPANT_GUID, guid);
            list.octets(pid::USER_DATA, &vec![1; length]);
        });
        ParticipantData::decode(&payload).unwrap().user_data.len()
    };
    assert_eq!((with_data(USER_DATA_MAX), with_data(USER_DATA_MAX + 1)), (USER_DATA_MAX, 0));
}

/// Type information is announced as it is given, and whatever a peer sends as such, even if it must be understood, is no
/// reason to refuse its endpoint.
#[test]
fn type_information_never_costs_a_match() {
    let plain = EndpointData::decode(&minimal(writer_guid(), |_| {})).unwrap();
    let mut announced = Vec::new();
    plain.encode_with(EndpointKind::Writer, Some(&[1, 2, 3, 4]), &mut announced);
    let list = ParameterList::parse(&announced[4..], Endianness::Little).unwrap().0;
    assert_eq!(list.get(pid::TYPE_INFORMATION), Some(&[1, 2, 3, 4][..]));
    assert_eq!(EndpointData::decode(&announced), EndpointData::decode(&encode_endpoint(&plain)));
    for octets in [&[][..], &[0xff; 4], &[0xff; 4000]] {
        for id in [pid::TYPE_INFORMATION, pid::TYPE_INFORMATION | pid::MUST_UNDERSTAND] {
            let announced = minimal(writer_guid(), |list| list.bytes(id, octets));
            assert_eq!(EndpointData::decode(&announced).as_ref(), Ok(&plain));
        }
    }
}

/// A deleted endpoint's key comes as a GUID, as a key hash or as plain octets.
#[test]
fn keys_come_in_three_forms() {
    let guid = writer_guid();
    let plain = [&[0, 1, 0, 0][..], &guid.to_bytes()].concat();
    let hash = payload(|list| list.bytes(pid::KEY_HASH, &guid.to_bytes()));
    let parameter = payload(|list| list.guid(pid::ENDPOINT_GUID, guid));
    for key in [plain, hash, parameter] {
        assert_eq!(EndpointData::decode_key(&key), Ok(guid));
    }
    assert!(EndpointData::decode_key(&[0, 1, 0, 0, 1, 2, 3]).is_err());
}
