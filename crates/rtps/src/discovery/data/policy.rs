//! Quality of service policies as parameters (RTPS 9.6.3, 9.4.2).

use super::{EndpointKind, PARTITIONS_MAX, REPRESENTATIONS_MAX, name};
use crate::Lease;
use crate::message::{Cursor, Parsed};
use crate::parameter::{ParameterListWriter, pid};
use crate::qos::{
    DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership, Presentation,
    PresentationScope, Qos, REPRESENTATION_XCDR1, Reliability, ResourceLimits,
};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

pub(super) const MANY_PARTITIONS: &str = "more than 64 partitions";

pub(super) fn encode(qos: &Qos, kind: EndpointKind, list: &mut ParameterListWriter<'_>) {
    list.value(pid::RELIABILITY, |value| {
        value.u32(match qos.reliability {
            Reliability::BestEffort => 1,
            Reliability::Reliable => 2,
        });
        value.time(Lease::Finite(qos.max_blocking).to_wire());
    });
    list.u32(pid::DURABILITY, position(&DURABILITIES, &qos.durability));
    list.value(pid::LIVELINESS, |value| {
        value.u32(position(&LIVELINESS_KINDS, &qos.liveliness.kind));
        value.time(qos.liveliness.lease.to_wire());
    });
    list.time(pid::DEADLINE, qos.deadline.to_wire());
    list.time(pid::LATENCY_BUDGET, qos.latency_budget.to_wire());
    list.u32(pid::OWNERSHIP, position(&OWNERSHIPS, &qos.ownership));
    list.u32(pid::DESTINATION_ORDER, position(&DESTINATION_ORDERS, &qos.destination_order));
    list.value(pid::PRESENTATION, |value| {
        value.u32(position(&SCOPES, &qos.presentation.scope));
        value.bytes(&[u8::from(qos.presentation.coherent), u8::from(qos.presentation.ordered), 0, 0]);
    });
    list.value(pid::HISTORY, |value| match qos.history {
        History::KeepLast(depth) => {
            value.u32(0);
            value.u32(depth.min(i32::MAX.cast_unsigned()));
        }
        History::KeepAll => {
            value.u32(1);
            value.u32(0);
        }
    });
    encode_limits(&qos.resource_limits, list);
    if kind == EndpointKind::Writer {
        list.time(pid::LIFESPAN, qos.lifespan.to_wire());
        list.u32(pid::OWNERSHIP_STRENGTH, qos.ownership_strength.cast_unsigned());
        if qos.transport_priority != 0 {
            list.u32(pid::TRANSPORT_PRIORITY, qos.transport_priority.cast_unsigned());
        }
    } else if !qos.time_based_filter.is_zero() {
        list.time(pid::TIME_BASED_FILTER, Lease::Finite(qos.time_based_filter).to_wire());
    }
    if !qos.partitions.is_empty() {
        list.value(pid::PARTITION, |value| {
            value.count(qos.partitions.len());
            qos.partitions.iter().for_each(|partition| value.string(partition));
        });
    }
    list.value(pid::DATA_REPRESENTATION, |value| {
        let default = [REPRESENTATION_XCDR1];
        let representations: &[i16] =
            if qos.representations.is_empty() { &default } else { &qos.representations };
        value.count(representations.len());
        representations.iter().for_each(|representation| value.bytes(&representation.to_le_bytes()));
    });
}

fn encode_limits(limits: &ResourceLimits, list: &mut ParameterListWriter<'_>) {
    if *limits == ResourceLimits::default() {
        return;
    }
    list.value(pid::RESOURCE_LIMITS, |value| {
        for limit in [limits.max_samples, limits.max_instances, limits.max_samples_per_instance] {
            // Unlimited is -1.
            value.u32(limit.map_or(u32::MAX, |limit| limit.min(i32::MAX.cast_unsigned())));
        }
    });
}

/// Reads one policy; false when the parameter is none.
pub(super) fn decode(qos: &mut Qos, id: u16, cursor: &mut Cursor<'_>) -> Parsed<bool> {
    match id {
        pid::RELIABILITY => {
            qos.reliability = match cursor.u32()? {
                1 => Reliability::BestEffort,
                2 => Reliability::Reliable,
                _ => return Err(UNKNOWN_KIND),
            };
            qos.max_blocking = match lease(cursor)? {
                Lease::Finite(duration) => duration,
                Lease::Infinite => Duration::MAX,
            };
        }
        pid::DURABILITY => qos.durability = one_of(&DURABILITIES, cursor)?,
        pid::LIVELINESS => {
            let kind = one_of(&LIVELINESS_KINDS, cursor)?;
            qos.liveliness = Liveliness { kind, lease: lease(cursor)? };
        }
        pid::DEADLINE => qos.deadline = lease(cursor)?,
        pid::LATENCY_BUDGET => qos.latency_budget = lease(cursor)?,
        pid::LIFESPAN => qos.lifespan = lease(cursor)?,
        pid::TRANSPORT_PRIORITY => qos.transport_priority = cursor.i32()?,
        pid::TIME_BASED_FILTER => {
            qos.time_based_filter = match lease(cursor)? {
                Lease::Finite(separation) => separation,
                Lease::Infinite => Duration::MAX,
            };
        }
        pid::OWNERSHIP => qos.ownership = one_of(&OWNERSHIPS, cursor)?,
        pid::OWNERSHIP_STRENGTH => qos.ownership_strength = cursor.i32()?,
        pid::DESTINATION_ORDER => qos.destination_order = one_of(&DESTINATION_ORDERS, cursor)?,
        pid::PRESENTATION => {
            let scope = one_of(&SCOPES, cursor)?;
            qos.presentation = Presentation { scope, coherent: cursor.bool()?, ordered: cursor.bool()? };
        }
        pid::HISTORY => {
            qos.history = match (cursor.u32()?, u32::try_from(cursor.i32()?)) {
                (0, Ok(depth)) => History::KeepLast(depth.max(1)),
                (0, Err(_)) => return Err("negative history depth"),
                (1, _) => History::KeepAll,
                _ => return Err(UNKNOWN_KIND),
            };
        }
        pid::RESOURCE_LIMITS => {
            qos.resource_limits = ResourceLimits {
                max_samples: limit(cursor)?,
                max_instances: limit(cursor)?,
                max_samples_per_instance: limit(cursor)?,
            };
        }
        pid::PARTITION => qos.partitions = partitions(cursor)?,
        pid::DATA_REPRESENTATION => qos.representations = representations(cursor)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn lease(cursor: &mut Cursor<'_>) -> Parsed<Lease> {
    cursor.time().map(Lease::from_wire)
}

fn limit(cursor: &mut Cursor<'_>) -> Parsed<Option<u32>> {
    // Unlimited is -1.
    cursor.i32().map(|limit| u32::try_from(limit).ok())
}

fn partitions(cursor: &mut Cursor<'_>) -> Parsed<Vec<String>> {
    let count = usize::try_from(cursor.u32()?).ok().filter(|count| *count <= PARTITIONS_MAX);
    (0..count.ok_or(MANY_PARTITIONS)?).map(|_| name(cursor)).collect()
}

fn representations(cursor: &mut Cursor<'_>) -> Parsed<Vec<i16>> {
    let count = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
    if count > cursor.rest().len() / 2 {
        return Err("more representations than the parameter holds");
    }
    (0..count.min(REPRESENTATIONS_MAX)).map(|_| cursor.u16().map(u16::cast_signed)).collect()
}

/// The wire's number of a kind: its position in the standard's enumeration.
fn position<T: PartialEq>(kinds: &[T], kind: &T) -> u32 {
    (0..).zip(kinds).find(|(_, listed)| *listed == kind).map_or(0, |(number, _)| number)
}

fn one_of<T: Copy>(kinds: &[T], cursor: &mut Cursor<'_>) -> Parsed<T> {
    let number = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
    kinds.get(number).copied().ok_or(UNKNOWN_KIND)
}

const DURABILITIES: [Durability; 4] =
    [Durability::Volatile, Durability::TransientLocal, Durability::Transient, Durability::Persistent];
const LIVELINESS_KINDS: [LivelinessKind; 3] =
    [LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic];
const OWNERSHIPS: [Ownership; 2] = [Ownership::Shared, Ownership::Exclusive];
const DESTINATION_ORDERS: [DestinationOrder; 2] = [DestinationOrder::ByReception, DestinationOrder::BySource];
const SCOPES: [PresentationScope; 3] =
    [PresentationScope::Instance, PresentationScope::Topic, PresentationScope::Group];
const UNKNOWN_KIND: &str = "unknown kind";
