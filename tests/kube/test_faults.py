"""The client, the elector and the informer while connections break and the server restarts."""

import asyncio
from typing import Any

import pytest

from scaler_controller.manager.leadership import Leadership
from scaler_controller.runtime.lease import LeaseTimes
from scaler_kube import errors
from scaler_kube.clock import SteadyClock
from scaler_kube.informer import Informer, Subject
from scaler_kube.resources import SECRETS
from scaler_kube.store import Store
from scaler_sim.apiserver import Drop, EmbeddedCluster, Fault
from tests.kube.conftest import Door


def secret(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def annotated(document: dict[str, Any], value: str) -> dict[str, Any]:
    return document | {"metadata": document["metadata"] | {"annotations": {"a": value}}}


@pytest.mark.parametrize(
    ("drop", "label"),
    [
        pytest.param(Drop.BEFORE_EFFECT, "1", id="lost-on-the-way"),
        pytest.param(Drop.AFTER_EFFECT, "2", id="answer-lost"),
    ],
)
async def test_a_write_whose_connection_breaks_may_have_happened(
    door: Door, cluster: EmbeddedCluster, drop: Drop, label: str
) -> None:
    await door.client.create(SECRETS, door.namespace, secret("s", {"a": "1"}))
    change = {"metadata": {"labels": {"a": "2"}}}
    fault = Fault(when=lambda call: call.verb == "patch", does=drop)
    with (
        cluster.faults.active(fault),
        pytest.raises(errors.UnavailableError, match="connection lost") as broken,
    ):
        await door.client.patch_merge(SECRETS, door.key("s"), change)
    assert broken.value.may_have_happened
    assert (await door.client.get(SECRETS, door.key("s")))["metadata"]["labels"] == {"a": label}


async def test_a_lease_survives_renewals_whose_answers_are_lost(door: Door, cluster: EmbeddedCluster) -> None:
    leadership = Leadership(
        client=door.client,
        key=door.key("scaler"),
        identity="one",
        times=LeaseTimes(lease_seconds=3.0, renew_seconds=2.0, retry_seconds=0.05),
        clock=SteadyClock(),
    )
    await leadership.acquire()
    async with asyncio.TaskGroup() as group:
        renewal = group.create_task(leadership.keep(), name="renewal")
        fault = Fault(when=lambda call: call.verb == "update", does=Drop.AFTER_EFFECT, times=6)
        with cluster.faults.active(fault):
            await asyncio.sleep(0.8)
        held_until = leadership.valid_until
        await asyncio.sleep(0.3)
        assert leadership.valid_until > held_until
        renewal.cancel()


async def test_an_informer_lives_through_a_restart_of_the_server_and_a_forgotten_version(
    door: Door, cluster: EmbeddedCluster
) -> None:
    informer = Informer(
        client=door.client,
        subject=Subject(versions=(SECRETS,), namespace=door.namespace),
        decode=lambda document: str(document["metadata"]["annotations"]["a"]),
        store=Store[str](),
        jitter=lambda: 0.99,
    )

    async def shows(value: str) -> None:
        async with asyncio.timeout(10):
            while informer.store.get(door.key("s")) != value:  # noqa: ASYNC110 -- what is tested is when this ends
                await asyncio.sleep(0.01)

    created = await door.client.create(SECRETS, door.namespace, annotated(secret("s"), "1"))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run(), name="informer")
        await shows("1")
        written = await door.client.replace(SECRETS, door.key("s"), annotated(created, "2"))
        await shows("2")
        assert informer.store.has_reached(written["metadata"]["resourceVersion"])
        await cluster.stop()
        await cluster.start()
        written = await door.client.replace(SECRETS, door.key("s"), annotated(written, "3"))
        await shows("3")
        await cluster.stop()
        cluster.compact()
        await cluster.start()
        await door.client.replace(SECRETS, door.key("s"), annotated(written, "4"))
        await shows("4")
        task.cancel()
