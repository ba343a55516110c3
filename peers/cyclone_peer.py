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
from typing import Optional

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import InstanceState, Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlEnum, IdlStruct
from cyclonedds.idl.types import array, float64, sequence, uint8, uint16, uint32, uint64
from cyclonedds.internal import InvalidSample
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration

SETTLE_SECONDS = 1.5
"""Wait after the first match before a volatile writer starts, so that the reader has matched as well."""

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


class Grade(IdlEnum, typename="bench.Grade", default="Low"):
    """An enumeration."""

    Low = 0
    Middle = 5
    High = 6


@dataclass
@annotate.appendable
class Part(IdlStruct, typename="bench.Part"):
    """A part of the extensible types."""

    count: uint16
    share: Optional[float64]


@dataclass
@annotate.final
class Slot(IdlStruct, typename="bench.Slot"):
    """A part of the key of the extensible types, of which only one member is key."""

    shelf: uint64
    annotate.key("shelf")
    color: uint8


@dataclass
@annotate.appendable
class Appendable(IdlStruct, typename="bench.Appendable"):
    """Keyed type to which members may be appended."""

    step: uint8
    id: uint32
    annotate.key("id")
    annotate.member_id("id", 70)
    slot: Slot
    annotate.key("slot")
    annotate.member_id("slot", 50)
    value: float64
    name: str
    note: Optional[str]
    parts: sequence[Part]
    grades: sequence[Grade]
    grid: sequence[array[Part, 2]]


@dataclass
@annotate.mutable
class Mutable(IdlStruct, typename="bench.Mutable"):
    """Keyed type whose members are told apart by their identifiers."""

    step: uint8
    id: uint32
    annotate.key("id")
    annotate.member_id("id", 70)
    slot: Slot
    annotate.key("slot")
    annotate.member_id("slot", 50)
    value: float64
    annotate.must_understand("value")
    name: str
    note: Optional[str]
    annotate.member_id("note", 70000)
    parts: sequence[Part]
    grades: sequence[Grade]
    grid: sequence[array[Part, 2]]


@dataclass
@annotate.mutable
class Flat(IdlStruct, typename="bench.Flat"):
    """Mutable type without appendable parts, which Cyclone does not write in XCDR1."""

    step: uint8
    id: uint32
    annotate.key("id")
    annotate.member_id("id", 70)
    slot: Slot
    annotate.key("slot")
    annotate.member_id("slot", 50)
    value: float64
    annotate.must_understand("value")
    name: str
    note: Optional[str]
    annotate.member_id("note", 70000)
    grades: sequence[Grade]


TYPES = {"Item": Item, "Plain": Plain, "Big": Plain, "Appendable": Appendable, "Mutable": Mutable, "Flat": Flat}


def make_extensible(kind, k):
    """Sample number `k` of an extensible type."""
    parts = [Part(count=j, share=None if j % 2 else 0.25 * j) for j in range(k % 4)]
    common = dict(
        step=k % 256,
        id=k % 3,
        slot=Slot(shelf=2**40 + k % 3, color=k % 7),
        value=1.5 * k,
        name=f"cyclone-{k}",
        note=None if k % 2 else f"note-{k}",
        grades=[[Grade.Low, Grade.Middle, Grade.High][j % 3] for j in range(k % 5)],
    )
    if kind == "Flat":
        return Flat(**common)
    grid = [[Part(count=k, share=0.5), Part(count=1, share=None)]]
    return TYPES[kind](**common, parts=parts, grid=grid)


def make_sample(kind, k):
    """Sample number `k` (from 0) of the type named `kind`."""
    if kind == "Item":
        return Item(id=k % 3, value=1.5 * k, name=f"cyclone-{k}", arr=[1, 2, 3])
    if kind in ("Appendable", "Mutable", "Flat"):
        return make_extensible(kind, k)
    length = 200_000 if kind == "Big" else 64
    return Plain(id=7, seq=k, data=bytes((j + k) % 251 for j in range(length)))


def describe(sample):
    """The sample's fields as printed."""
    if isinstance(sample, Item):
        return {"id": sample.id, "value": sample.value, "name": sample.name, "arr": list(sample.arr)}
    if isinstance(sample, (Appendable, Mutable, Flat)):
        return {
            "step": sample.step,
            "id": sample.id,
            "slot": [sample.slot.shelf, sample.slot.color],
            "value": sample.value,
            "name": sample.name,
            "note": sample.note,
            "parts": [[part.count, part.share] for part in getattr(sample, "parts", [])],
            "grades": [grade.value for grade in sample.grades],
            "grid": [[[part.count, part.share] for part in row] for row in getattr(sample, "grid", [])],
        }
    return {"id": sample.id, "seq": sample.seq, "length": len(sample.data), "checksum": sum(sample.data) % 2**32}


def say(**fields):
    """Prints one JSON line."""
    print(json.dumps(fields), flush=True)


class Status:
    """Prints changes of matched endpoints, of incompatible QoS and of missed deadlines."""

    def __init__(self, matched, incompatible, missed, liveliness=None):
        self.matched = matched
        self.incompatible = incompatible
        self.missed = missed
        self.late = 0
        self.liveliness = liveliness
        self.alive = 0
        self.current = 0
        self.refused = 0

    def poll(self):
        """Reads both statuses; returns the number of matched endpoints."""
        current = self.matched().current_count
        if current != self.current:
            self.current = current
            say(matched=current)
        if self.liveliness and self.liveliness().alive_count != self.alive:
            self.alive = self.liveliness().alive_count
            say(alive=self.alive)
        late = self.missed().total_count
        if late != self.late:
            self.late = late
            say(deadline_missed=late)
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
        Policy.DataRepresentation(
            use_cdrv0_representation=options.representation == "xcdr1",
            use_xcdrv2_representation=options.representation == "xcdr2",
        ),
    ]
    if kept:
        # Cyclone serves late joiners from this history, whose default depth is 1.
        policies.append(Policy.DurabilityService(duration(seconds=0), Policy.History.KeepLast(1000), -1, -1, -1))
    if options.lease:
        policies.append(Policy.Liveliness.Automatic(duration(seconds=options.lease)))
    if options.deadline:
        policies.append(Policy.Deadline(duration(seconds=options.deadline)))
    if options.lifespan and options.role == "pub":
        policies.append(Policy.Lifespan(duration(seconds=options.lifespan)))
    if options.strength is not None:
        policies.append(Policy.Ownership.Exclusive)
        if options.role == "pub":
            policies.append(Policy.OwnershipStrength(options.strength))
    if options.role == "pub":
        policies.append(Policy.WriterDataLifecycle(autodispose=options.autodispose))
    return Qos(*policies)


def group_qos(options):
    """Quality of service of the publisher or subscriber that owns the endpoint."""
    return Qos(Policy.Partition(partitions=options.partition)) if options.partition else Qos()


def publish(options, participant, topic):
    """Writes the samples; 0, or 3 when nobody matched in time."""
    writer = DataWriter(Publisher(participant, qos=group_qos(options)), topic, qos=endpoint_qos(options))
    status = Status(
        writer.get_publication_matched_status,
        writer.get_offered_incompatible_qos_status,
        writer.get_offered_deadline_missed_status,
    )
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
        time.sleep(options.period)
    if options.dispose:
        for k in range(min(3, options.count)):
            writer.dispose(make_sample(options.type, k))
            say(disposing=k)
    end = time.monotonic() + options.linger
    while time.monotonic() < end:
        status.poll()
        time.sleep(0.02)
    if options.autodispose:
        # Not left to the interpreter's end, which may end the participant first.
        status = None
        writer.__del__()
        time.sleep(SETTLE_SECONDS)
    return 0


def subscribe(options, participant, topic):
    """Prints what arrives; 0 when everything expected came, 3 when time ran out."""
    reader = DataReader(Subscriber(participant, qos=group_qos(options)), topic, qos=endpoint_qos(options))
    status = Status(
        reader.get_subscription_matched_status,
        reader.get_requested_incompatible_qos_status,
        reader.get_requested_deadline_missed_status,
        reader.get_liveliness_changed_status,
    )
    deadline = time.monotonic() + options.timeout
    received, disposed = 0, set()
    disposed_wanted = min(3, options.count) if options.dispose else 0

    def note_disposal(sample, key):
        if sample.sample_info.instance_state == InstanceState.NotAliveDisposed and key not in disposed:
            disposed.add(key)
            say(disposed=key)

    while received < options.count or len(disposed) < disposed_wanted:
        if time.monotonic() >= deadline:
            return 3
        status.poll()
        for sample in reader.take(N=64):
            if isinstance(sample, InvalidSample):
                note_disposal(sample, sample.key_sample.id)
                continue
            received += 1
            # Cyclone gives the instance's present state, which may already be that of a later dispose. It then tells of
            # the dispose in no other way.
            say(**describe(sample), state="alive")
            if hasattr(sample, "id"):
                note_disposal(sample, sample.id)
        time.sleep(0.002)
    return 0


def main():
    """Parses the shared command line and runs one role."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=["pub", "sub"])
    parser.add_argument("--domain", type=int, required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--type", choices=TYPES, required=True)
    parser.add_argument("--partition", action="append", default=[])
    parser.add_argument("--reliability", choices=["best-effort", "reliable"], default="best-effort")
    parser.add_argument("--durability", choices=["volatile", "transient-local"], default="volatile")
    parser.add_argument("--representation", choices=["xcdr1", "xcdr2"], default="xcdr1")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--lease", type=float, default=0.0, help="liveliness lease in seconds, automatic")
    parser.add_argument("--deadline", type=float, default=0.0, help="deadline in seconds")
    parser.add_argument("--lifespan", type=float, default=0.0, help="a publisher's lifespan in seconds")
    parser.add_argument("--strength", type=int, help="exclusive ownership, a publisher's strength")
    parser.add_argument("--autodispose", action="store_true", help="a publisher disposes when it is deleted")
    parser.add_argument("--period", type=float, default=0.01, help="pause between two samples, in seconds")
    parser.add_argument("--linger", type=float, default=2.0)
    parser.add_argument("--dispose", action="store_true")
    parser.add_argument("--gate", action="store_true")
    options = parser.parse_args()
    if options.dispose and TYPES[options.type] is Plain:
        parser.error("--dispose needs a keyed type")
    participant = DomainParticipant(options.domain)
    topic = Topic(participant, options.topic, TYPES[options.type])
    run = publish if options.role == "pub" else subscribe
    return run(options, participant, topic)


if __name__ == "__main__":
    sys.exit(main())
