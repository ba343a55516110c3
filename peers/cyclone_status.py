"""Reads the status of a node manager with Cyclone DDS, from IDL types written here: a foreign program beside `up`.

Usage: cyclone_status.py DOMAIN HOST SECONDS. Prints one JSON object and ends with 0, or with 3 when nothing came.
"""

import json
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, bounded_str, float64, int32, sequence, uint8, uint16, uint32, uint64
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic


@dataclass
@annotate.final
class Header(IdlStruct, typename="regale.Header"):
    """Who sent a message and when."""

    protocol: uint16
    sequence: uint64
    ts_ns: uint64
    mono_ns: uint64
    actor: uint8
    host: bounded_str[64]
    writer: array[uint8, 16]


@dataclass
@annotate.final
class DeviceRef(IdlStruct, typename="regale.DeviceRef"):
    """A part of a node."""

    kind: uint8
    id: uint32


@dataclass
@annotate.final
class Sample(IdlStruct, typename="regale.Sample"):
    """One reading with its bounds."""

    metric: uint32
    device: DeviceRef
    value: float64
    min: float64
    max: float64
    count: uint32
    quality: uint8
    flags: uint8


@dataclass
@annotate.final
class NmSetting(IdlStruct, typename="regale.NmSetting"):
    """One setting in force."""

    control: uint32
    device: DeviceRef
    requested: float64
    applied: float64
    clamped_by: uint8
    effective_until_ns: uint64
    remaining_ns: uint64
    status: int32


@dataclass
@annotate.final
class AbsentMetric(IdlStruct, typename="regale.AbsentMetric"):
    """A metric without a value, and why."""

    metric: uint32
    device: DeviceRef
    reason: bounded_str[256]


@dataclass
@annotate.final
class NmStatus(IdlStruct, typename="regale.NmStatus"):
    """How a node manager stands."""

    header: Header
    host: bounded_str[64]
    annotate.key("host")
    boot_id: array[uint8, 16]
    state: uint8
    period_ns: uint64
    source: bounded_str[256]
    power: sequence[Sample, 1]
    lease_count: uint32
    settings: sequence[NmSetting, 4096]
    absent: sequence[AbsentMetric, 256]
    requests_total: uint64
    denied_total: uint64


def main():
    """Waits for one status and prints what matters of it."""
    domain, host, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    participant = DomainParticipant(domain)
    qos = Qos(
        Policy.Reliability.Reliable(max_blocking_time=1_000_000_000),
        Policy.Durability.TransientLocal,
        Policy.History.KeepLast(8),
        Policy.DataRepresentation(use_cdrv0_representation=True),
    )
    subscriber = Subscriber(participant, qos=Qos(Policy.Partition([f"NodeManager{host}"])))
    reader = DataReader(subscriber, Topic(participant, "regale/nm/status", NmStatus, qos=qos), qos=qos)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for status in reader.take(N=8):
            if getattr(status, "power", None):
                power = status.power[0]
                shown = {"host": status.host, "header_host": status.header.host, "period_ns": status.period_ns}
                shown |= {"power_watts": power.value, "low_watts": power.min, "high_watts": power.max}
                print(json.dumps(shown), flush=True)
                return 0
        time.sleep(0.05)
    return 3


if __name__ == "__main__":
    sys.exit(main())
