"""The informer and the elector while a real API server and its storage come and go."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from e2e.controlplane import LocalControlPlane
from e2e.controlplane.finding import local_assets
from scaler_controller.manager.leadership import Leadership, LeadershipLostError
from scaler_controller.runtime.lease import LeaseTimes
from scaler_core.api.meta import ObjectKey
from scaler_kube.access import KubeConfig
from scaler_kube.client import KubeClient, connect
from scaler_kube.clock import SteadyClock
from scaler_kube.informer import Informer, Subject
from scaler_kube.resources import SECRETS
from scaler_kube.store import Store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
KEY = ObjectKey("default", "kept")


def secret(value: str) -> dict[str, Any]:
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "annotations": {"a": value}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 -- what is tested is when this ends
            await asyncio.sleep(0.05)


def secrets_of(client: KubeClient) -> Informer[str]:
    return Informer(
        client=client,
        subject=Subject(versions=(SECRETS,), namespace="default"),
        decode=lambda document: str((document["metadata"].get("annotations") or {}).get("a")),
        store=Store[str](),
        jitter=lambda: 0.5,
    )


async def test_an_informer_outlives_the_api_server_and_its_storage() -> None:
    async with LocalControlPlane(local_assets(), controllers=()) as plane:
        way = KubeConfig(path=str(plane.endpoint.kubeconfig))
        async with await connect(way, field_manager="e2e", user_agent="e2e") as client:
            informer = secrets_of(client)
            await client.create(SECRETS, "default", secret("1"))
            async with asyncio.TaskGroup() as group:
                task = group.create_task(informer.run(), name="informer")
                await until(lambda: informer.store.get(KEY) == "1")
                await plane.restart_api_server()
                await client.patch_merge(SECRETS, KEY, secret("2"))
                await until(lambda: informer.store.get(KEY) == "2")
                await plane.stop_etcd()
                await asyncio.sleep(1)
                assert informer.store.get(KEY) == "2", "an outage takes nothing out of the cache"
                await plane.start_etcd()
                await until(lambda: informer.store.get(KEY) == "2")
                written = await client.patch_merge(SECRETS, KEY, secret("3"))
                await until(lambda: informer.store.get(KEY) == "3")
                assert informer.store.has_reached(written["metadata"]["resourceVersion"])
                await client.delete(SECRETS, KEY)
                await until(lambda: informer.store.get(KEY) is None)
                task.cancel()


async def test_a_leader_without_storage_stops_before_another_may_begin() -> None:
    async with LocalControlPlane(local_assets(), controllers=()) as plane:
        way = KubeConfig(path=str(plane.endpoint.kubeconfig))
        async with await connect(way, field_manager="e2e", user_agent="e2e") as client:
            clock = SteadyClock()
            times = LeaseTimes(lease_seconds=6, renew_seconds=4, retry_seconds=0.5)
            one, two = (
                Leadership(client=client, key=ObjectKey("default", "scaler"), identity=name, times=times, clock=clock)
                for name in ("one", "two")
            )
            await one.acquire()
            async with asyncio.TaskGroup() as group:
                renewal = group.create_task(_lost_at(one, clock), name="renewal")
                waiting = group.create_task(_acquired_at(two, clock), name="waiting")
                await asyncio.sleep(2)
                await plane.stop_etcd()
                lost_at = await renewal
                await plane.start_etcd()
                acquired_at = await waiting
            assert lost_at < acquired_at


async def _lost_at(leadership: Leadership, clock: SteadyClock) -> float:
    with pytest.raises(LeadershipLostError):
        await leadership.keep()
    assert not leadership.is_leader
    return clock.monotonic()


async def _acquired_at(leadership: Leadership, clock: SteadyClock) -> float:
    await leadership.acquire()
    return clock.monotonic()
