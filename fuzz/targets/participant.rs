//! The protocol machine: whatever datagrams come from a matched peer, time passes and memory stays bounded.
//!
//! The input is a list of datagrams, each after its length in two octets. The first twelve octets after the header's
//! fixed part are overwritten with the peer's prefix, so that the machine looks further.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use rtps::qos::{Durability, History, Qos, Reliability};
use rtps::{
    EndpointConfig, GuidPrefix, Limits, Locator, Participant, ParticipantConfig, Reach, Timing, WriteSample,
};
use units::Instant;

const ADDRESSES: [Locator; 2] = [Locator::udp_v4([10, 0, 0, 1], 7411), Locator::udp_v4([10, 0, 0, 2], 7411)];

fn participant(number: u8, now: Instant) -> Participant {
    let [own, other] = match number {
        0 => ADDRESSES,
        _ => [ADDRESSES[1], ADDRESSES[0]],
    };
    let limits =
        Limits { keep_all_max: 64, reorder_max: 64, partial_bytes_max: 1 << 20, ..Limits::default() };
    let config = ParticipantConfig {
        prefix: GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, number]),
        domain: 0,
        name: String::new(),
        metatraffic_unicast: vec![own],
        default_unicast: vec![own],
        announce_to: vec![other],
        reach: Reach::default(),
        machine_address: None,
        allowed_networks: Vec::new(),
        is_relay: false,
        partition_rule: rtps::partition::PartitionRule::FastDds,
        fragment_size: 1000,
        limits,
        timing: Timing::default(),
    };
    Participant::new(config, now)
}

/// Hands each one's datagrams to the other until both are quiet.
fn exchange(pair: &mut [Participant; 2], now: Instant) {
    for _ in 0..20 {
        for from in 0..2 {
            while let Some(datagram) = pair[from].poll_transmit() {
                pair[1 - from].handle_datagram(now, ADDRESSES[from], &datagram.bytes);
                pair[from].recycle_datagram(datagram);
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut now = Instant::from_nanos(1_000_000_000);
    let mut pair = [participant(0, now), participant(1, now)];
    let qos = Qos {
        reliability: Reliability::Reliable,
        durability: Durability::TransientLocal,
        history: History::KeepAll,
        ..Qos::default()
    };
    let endpoint = || EndpointConfig {
        topic: "t".into(),
        type_name: "T".into(),
        qos: qos.clone(),
        ..Default::default()
    };
    let mut endpoints = Vec::new();
    for participant in &mut pair {
        participant.handle_timeout(now);
        let writer = participant.create_writer(now, endpoint());
        let reader = participant.create_reader(now, endpoint(), None);
        endpoints.push((writer.expect("a valid name"), reader.expect("a valid name")));
    }
    exchange(&mut pair, now);
    let (writer, reader) = endpoints[0];
    let _ = pair[0].write(now, writer, WriteSample { payload: &[0, 1, 0, 0, 7], ..WriteSample::default() });
    let target = &mut pair[0];
    let mut rest = bytes;
    while let [low, high, tail @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (datagram, after) = tail.split_at(length);
        let mut datagram = datagram.to_vec();
        if let Some(prefix) = datagram.get_mut(8..20) {
            prefix.copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1]);
        }
        target.handle_datagram(now, ADDRESSES[1], &datagram);
        now = now + Duration::from_millis(7);
        target.handle_timeout(now);
        while let Some(sample) = target.take(now, reader) {
            target.recycle_sample(reader, sample.payload);
        }
        while let Some(datagram) = target.poll_transmit() {
            target.recycle_datagram(datagram);
        }
        while target.poll_event().is_some() {}
        rest = after;
    }
    assert!(target.history_len(reader) <= 64);
});
