//! Profiles and quality of service as JSON. Durations are seconds, infinite ones `"infinite"`.

use std::time::Duration;

use bus::xml::{
    EndpointProfile, Finding, LocatorFamily, ParticipantProfile, ProfileKind, ProfileLocator, Profiles,
    Severity, TopicProfile, TransportProfile,
};
use bus::{TlsFiles, Transports};
use rtps::Lease;
use rtps::qos::{
    DestinationOrder, History, LivelinessKind, Ownership, PresentationScope, Qos, ResourceLimits,
};
use serde_json::{Map, Value as Json, json};

use super::{durability_name, reliability_name};

/// All profiles.
pub(super) fn profiles_json(profiles: &Profiles) -> Json {
    json!({
        "participants": by_name(&profiles.participants, participant_json),
        "writers": by_name(&profiles.writers, endpoint_json),
        "readers": by_name(&profiles.readers, endpoint_json),
        "topics": by_name(&profiles.topics, topic_json),
        "transports": by_name(&profiles.transports, transport_json),
        "defaults": profiles.defaults.iter().map(default_json).collect::<Map<_, _>>(),
    })
}

fn by_name<T>(profiles: &std::collections::BTreeMap<String, T>, json: fn(&T) -> Json) -> Json {
    profiles.iter().map(|(name, profile)| (name.clone(), json(profile))).collect::<Map<_, _>>().into()
}

fn default_json((kind, name): (&ProfileKind, &String)) -> (String, Json) {
    (kind.name().to_owned(), name.clone().into())
}

fn participant_json(participant: &ParticipantProfile) -> Json {
    let timing = participant.timing();
    json!({
        "domain": participant.domain,
        "name": participant.name,
        "lease_seconds": participant.lease.map_or_else(|| seconds(timing.lease), lease),
        "announce_period_seconds": seconds(timing.announce_period),
        "initial_announcements": timing.burst_count,
        "initial_period_seconds": seconds(timing.burst_period),
        "peers": participant.peers.iter().map(peer_json).collect::<Vec<_>>(),
        "transports": transports_json(&participant.transports),
        "transport_ids": participant.transport_ids,
        "fragment_bytes": participant.fragment_size(),
        "line": participant.place.line,
    })
}

fn peer_json(peer: &ProfileLocator) -> Json {
    let family = match peer.family {
        LocatorFamily::UdpV4 => "udpv4",
        LocatorFamily::UdpV6 => "udpv6",
        LocatorFamily::TcpV4 => "tcpv4",
        LocatorFamily::TcpV6 => "tcpv6",
    };
    json!({ "by": family, "host": peer.host.as_ref().map(ToString::to_string), "port": peer.port })
}

fn transports_json(transports: &Transports) -> Json {
    let addresses = |list: &[std::net::SocketAddr]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "udp_v4": transports.udp_v4,
        "udp_v6": transports.udp_v6,
        "shared_memory": transports.shared_memory,
        "shared_memory_bytes": transports.shared_memory_bytes,
        "multicast_data": transports.multicast_data,
        "tcp": transports.tcp.as_ref().map(|tcp| {
            json!({
                "listen": addresses(&tcp.listen),
                "connect": addresses(&tcp.connect),
                "tls": tcp.tls.as_ref().map(tls_json),
            })
        }),
        "interfaces": transports.interfaces,
    })
}

/// Which files, not what is in them.
fn tls_json(files: &TlsFiles) -> Json {
    json!({
        "certificate": files.certificate,
        "key": files.key,
        "ca": files.ca,
        "server_name": files.server_name,
    })
}

fn transport_json(transport: &TransportProfile) -> Json {
    json!({
        "type": transport.family.name(),
        "interfaces": transport.interfaces,
        "message_bytes_max": transport.message_bytes_max,
        "segment_bytes": transport.segment_bytes,
        "listening_ports": transport.listening_ports,
        "tls": transport.tls.as_ref().map(tls_json),
        "line": transport.place.line,
    })
}

fn endpoint_json(endpoint: &EndpointProfile) -> Json {
    json!({
        "qos": qos_json(&endpoint.qos),
        "topic": endpoint.topic,
        "type": endpoint.type_name,
        "line": endpoint.place.line,
    })
}

fn topic_json(topic: &TopicProfile) -> Json {
    json!({
        "history": history_json(topic.history),
        "resource_limits": limits_json(&topic.resource_limits),
        "name": topic.name,
        "type": topic.type_name,
        "line": topic.place.line,
    })
}

/// Quality of service, every policy.
pub(super) fn qos_json(qos: &Qos) -> Json {
    json!({
        "reliability": reliability_name(qos.reliability),
        "max_blocking_seconds": seconds(qos.max_blocking),
        "durability": durability_name(qos.durability),
        "history": history_json(qos.history),
        "resource_limits": limits_json(&qos.resource_limits),
        "deadline_seconds": lease(qos.deadline),
        "time_based_filter_seconds": seconds(qos.time_based_filter),
        "latency_budget_seconds": lease(qos.latency_budget),
        "lifespan_seconds": lease(qos.lifespan),
        "liveliness": liveliness_name(qos.liveliness.kind),
        "liveliness_lease_seconds": lease(qos.liveliness.lease),
        "ownership": ownership_name(qos.ownership),
        "ownership_strength": qos.ownership_strength,
        "destination_order": order_name(qos.destination_order),
        "transport_priority": qos.transport_priority,
        "autodispose_unregistered_instances": qos.autodispose_unregistered_instances,
        "presentation": {
            "scope": scope_name(qos.presentation.scope),
            "coherent": qos.presentation.coherent,
            "ordered": qos.presentation.ordered,
        },
        "partitions": qos.partitions,
        "representations": qos.representations,
    })
}

fn history_json(history: History) -> Json {
    match history {
        History::KeepLast(depth) => json!({ "keep_last": depth }),
        History::KeepAll => "keep_all".into(),
    }
}

fn limits_json(limits: &ResourceLimits) -> Json {
    json!({
        "max_samples": limits.max_samples,
        "max_instances": limits.max_instances,
        "max_samples_per_instance": limits.max_samples_per_instance,
    })
}

/// What somebody should know, with its place.
pub(super) fn finding_json(finding: &Finding) -> Json {
    let severity = match finding.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    json!({
        "file": &*finding.place.file,
        "line": finding.place.line,
        "severity": severity,
        "text": finding.what,
    })
}

fn seconds(duration: Duration) -> Json {
    if duration >= Duration::from_secs(i32::MAX as u64) {
        "infinite".into()
    } else {
        duration.as_secs_f64().into()
    }
}

fn lease(lease: Lease) -> Json {
    match lease {
        Lease::Finite(duration) => seconds(duration),
        Lease::Infinite => "infinite".into(),
    }
}

pub(super) fn liveliness_name(kind: LivelinessKind) -> &'static str {
    match kind {
        LivelinessKind::Automatic => "automatic",
        LivelinessKind::ManualByParticipant => "manual-by-participant",
        LivelinessKind::ManualByTopic => "manual-by-topic",
    }
}

pub(super) fn ownership_name(ownership: Ownership) -> &'static str {
    match ownership {
        Ownership::Shared => "shared",
        Ownership::Exclusive => "exclusive",
    }
}

pub(super) fn order_name(order: DestinationOrder) -> &'static str {
    match order {
        DestinationOrder::ByReception => "by-reception",
        DestinationOrder::BySource => "by-source",
    }
}

pub(super) fn scope_name(scope: PresentationScope) -> &'static str {
    match scope {
        PresentationScope::Instance => "instance",
        PresentationScope::Topic => "topic",
        PresentationScope::Group => "group",
    }
}
