"""Lease objects <-> the record that an elector looks at."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from scaler_core.api.base import parse_time
from scaler_core.api.meta import ObjectKey
from scaler_kube.resources import LEASES
from scaler_kube.transport import Document

_MAX_NUMBER: Final = 1e11  # seconds; beyond every date that we could write


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """Who leads, as the API server has it."""

    holder: str
    """Empty when nobody does."""
    lease_seconds: float
    """How long others wait after the last renewal that they saw."""
    acquire_time: float
    """Unix seconds; for people, never compared with another process's clock."""
    renew_time: float
    """Unix seconds; for people, never compared with another process's clock."""
    transitions: int
    """How often the holder changed."""
    resource_version: str = ""
    """Precondition of the next write; empty when there is no object yet."""


def read_lease(document: Document) -> LeaseRecord:
    """The record of a Lease object; members that are missing or of a wrong type read as nobody's lease."""
    spec = document.get("spec") or {}
    return LeaseRecord(
        holder=str(spec.get("holderIdentity") or ""),
        lease_seconds=_number(spec.get("leaseDurationSeconds")),
        acquire_time=_moment(spec.get("acquireTime")),
        renew_time=_moment(spec.get("renewTime")),
        transitions=int(_number(spec.get("leaseTransitions"))),
        resource_version=str((document.get("metadata") or {}).get("resourceVersion") or ""),
    )


def write_lease(key: ObjectKey, record: LeaseRecord) -> Document:
    """The Lease object of a record; with its resourceVersion as the precondition."""
    metadata = {"namespace": key.namespace, "name": key.name}
    if record.resource_version:
        metadata["resourceVersion"] = record.resource_version
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": metadata,
        "spec": {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": max(1, math.ceil(record.lease_seconds)),
            "acquireTime": micro_time(record.acquire_time),
            "renewTime": micro_time(record.renew_time),
            "leaseTransitions": record.transitions,
        },
    }


def micro_time(seconds: float) -> str:
    """Unix seconds as Kubernetes' MicroTime: RFC 3339 in UTC with exactly six decimals."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _number(value: object) -> float:
    # Of what a float holds: Kubernetes has 32 bits here, and JSON has no bound.
    return float(value) if isinstance(value, int | float) and abs(value) <= _MAX_NUMBER else 0.0


def _moment(value: object) -> float:
    try:
        return _number(parse_time(value))
    except ValueError:
        return 0.0
