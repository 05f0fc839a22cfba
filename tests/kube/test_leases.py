import pytest

from scaler_core.api.meta import ObjectKey
from scaler_kube.leases import LeaseRecord, read_lease, write_lease

RECORD = LeaseRecord(
    holder="one",
    lease_seconds=15,
    acquire_time=1_700_000_000.25,
    renew_time=1_700_000_001.000001,
    transitions=2,
    resource_version="7",
)

JUNK = {"renewTime": "0001-01-01T00:00:00", "leaseDurationSeconds": 10**400, "leaseTransitions": float("inf")}


def test_a_record_survives_the_wire() -> None:
    document = write_lease(ObjectKey("ns", "scaler"), RECORD)
    assert document["metadata"] == {"namespace": "ns", "name": "scaler", "resourceVersion": "7"}
    assert document["spec"]["renewTime"] == "2023-11-14T22:13:21.000001Z"
    assert read_lease(document) == RECORD


def test_a_new_lease_has_no_precondition() -> None:
    fresh = LeaseRecord(holder="one", lease_seconds=14.2, acquire_time=0, renew_time=0, transitions=0)
    document = write_lease(ObjectKey("ns", "scaler"), fresh)
    assert "resourceVersion" not in document["metadata"]
    assert document["spec"]["leaseDurationSeconds"] == 15, "others wait a whole second more rather than less"


@pytest.mark.parametrize(
    "spec", [None, {}, {"renewTime": "junk", "leaseDurationSeconds": "x", "holderIdentity": None}, JUNK]
)
def test_what_cannot_be_read_is_nobodys(spec: object) -> None:
    record = read_lease({"spec": spec})
    assert (record.holder, record.lease_seconds, record.renew_time) == ("", 0, 0)
