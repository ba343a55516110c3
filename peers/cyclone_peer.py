#!/usr/bin/env python3
"""Cyclone DDS peer of the interoperability matrix: one publisher or one subscriber on the shared command line.

The command line, the samples and the JSON lines are described in peers/README.md. Needs the wheel `cyclonedds`
(installed by `cargo xtask setup` into target/peers/venv).
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import InstanceState, Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, sequence, uint8, uint32
from cyclonedds.internal import InvalidSample
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration

SETTLE_SECONDS = 1.5
"""Wait after the first match before a volatile writer starts, so that the reader has matched as well."""

PACE_SECONDS = 0.01
"""Pause between two samples, so that best effort does not overrun a socket buffer."""

POLICY_NAMES = {2: "durability", 3: "presentation", 4: "deadline", 6: "ownership", 8: "liveliness", 11: "reliability", 23: "representation", 24: "type_consistency"}
"""Policy numbers of the DDS standard (1.4, table in 2.2.4.1) that can be incompatible."""


@dataclass
@annotate.final
class Item(IdlStruct, typename="bench.Item"):
    """Keyed type of the matrix."""

    id: uint32
    annotate.key("id")
    value: float64
    name: str
    arr: sequence[uint32]


@dataclass
@annotate.final
class Plain(IdlStruct, typename="bench.Plain"):
    """Unkeyed type of the matrix."""

    id: uint32
    seq: uint32
    data: sequence[uint8]


def make_sample(kind, k):
    """Sample number `k` (from 0) of the type named `kind`."""
    if kind == "Item":
        return Item(id=k % 3, value=1.5 * k, name=f"cyclone-{k}", arr=[1, 2, 3])
    length = 200_000 if kind == "Big" else 64
    return Plain(id=7, seq=k, data=bytes((j + k) % 251 for j in range(length)))


def describe(sample):
    """The sample's fields as printed."""
    if isinstance(sample, Item):
        return {"id": sample.id, "value": sample.value, "name": sample.name, "arr": list(sample.arr)}
    return {"id": sample.id, "seq": sample.seq, "length": len(sample.data), "checksum": sum(sample.data) % 2**32}


def say(**fields):
    """Prints one JSON line."""
    print(json.dumps(fields), flush=True)


class Status:
    """Prints changes of matched endpoints and of incompatible QoS."""

    def __init__(self, matched, incompatible):
        self.matched = matched
        self.incompatible = incompatible
        self.current = 0
        self.refused = 0

    def poll(self):
        """Reads both statuses; returns the number of matched endpoints."""
        current = self.matched().current_count
        if current != self.current:
            self.current = current
            say(matched=current)
        refused = self.incompatible()
        if refused.total_count != self.refused:
            self.refused = refused.total_count
            say(incompatible_qos=POLICY_NAMES.get(refused.last_policy_id, str(refused.last_policy_id)))
        return current


def endpoint_qos(options):
    """Quality of service of the reader or writer."""
    reliable = options.reliability == "reliable"
    kept = options.durability == "transient-local"
    policies = [
        Policy.Reliability.Reliable(duration(seconds=5)) if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if kept else Policy.Durability.Volatile,
        Policy.History.KeepLast(1000),
        Policy.DataRepresentation(use_cdrv0_representation=True),
    ]
    if kept:
        # Cyclone serves late joiners from this history, whose default depth is 1.
        policies.append(Policy.DurabilityService(duration(seconds=0), Policy.History.KeepLast(1000), -1, -1, -1))
    return Qos(*policies)


def group_qos(options):
    """Quality of service of the publisher or subscriber that owns the endpoint."""
    return Qos(Policy.Partition(partitions=options.partition)) if options.partition else Qos()


def publish(options, participant, topic):
    """Writes the samples; 0, or 3 when nobody matched in time."""
    writer = DataWriter(Publisher(participant, qos=group_qos(options)), topic, qos=endpoint_qos(options))
    status = Status(writer.get_publication_matched_status, writer.get_offered_incompatible_qos_status)
    if options.durability == "volatile":
        deadline = time.monotonic() + options.timeout
        while status.poll() == 0:
            if time.monotonic() >= deadline:
                return 3
            time.sleep(0.005)
        if options.gate:
            sys.stdin.readline()
        else:
            time.sleep(SETTLE_SECONDS)
    for k in range(options.count):
        writer.write(make_sample(options.type, k))
        say(wrote=k)
        status.poll()
        time.sleep(PACE_SECONDS)
    if options.dispose:
        for k in range(min(3, options.count)):
            writer.dispose(make_sample("Item", k))
            say(disposing=k)
    end = time.monotonic() + options.linger
    while time.monotonic() < end:
        status.poll()
        time.sleep(0.02)
    return 0


def subscribe(options, participant, topic):
    """Prints what arrives; 0 when everything expected came, 3 when time ran out."""
    reader = DataReader(Subscriber(participant, qos=group_qos(options)), topic, qos=endpoint_qos(options))
    status = Status(reader.get_subscription_matched_status, reader.get_requested_incompatible_qos_status)
    deadline = time.monotonic() + options.timeout
    received, disposed = 0, set()
    disposed_wanted = min(3, options.count) if options.dispose else 0
    while received < options.count or len(disposed) < disposed_wanted:
        if time.monotonic() >= deadline:
            return 3
        status.poll()
        for sample in reader.take(N=64):
            if isinstance(sample, InvalidSample):
                if sample.sample_info.instance_state == InstanceState.NotAliveDisposed:
                    disposed.add(sample.key_sample.id)
                    say(disposed=sample.key_sample.id)
                continue
            received += 1
            # Cyclone gives the instance's present state, which may already be that of a later dispose.
            say(**describe(sample), state="alive")
        time.sleep(0.002)
    return 0


def main():
    """Parses the shared command line and runs one role."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=["pub", "sub"])
    parser.add_argument("--domain", type=int, required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--type", choices=["Item", "Plain", "Big"], required=True)
    parser.add_argument("--partition", action="append", default=[])
    parser.add_argument("--reliability", choices=["best-effort", "reliable"], default="best-effort")
    parser.add_argument("--durability", choices=["volatile", "transient-local"], default="volatile")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--linger", type=float, default=2.0)
    parser.add_argument("--dispose", action="store_true")
    parser.add_argument("--gate", action="store_true")
    options = parser.parse_args()
    if options.dispose and options.type != "Item":
        parser.error("--dispose needs the keyed type: --type Item")
    participant = DomainParticipant(options.domain)
    topic = Topic(participant, options.topic, Item if options.type == "Item" else Plain)
    run = publish if options.role == "pub" else subscribe
    return run(options, participant, topic)


if __name__ == "__main__":
    sys.exit(main())
