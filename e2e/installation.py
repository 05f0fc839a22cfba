"""The chart installed by a real helm on a real API server, its processes run as its Pods would be.

There is no kubelet: what a Deployment's Pods would run is started here as the account of the Pod with the arguments of
the Deployment, and what a hook's Job or Pod would run likewise, its outcome written into its status.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from e2e.controlplane import LocalControlPlane
from e2e.controlplane.finding import local_assets
from e2e.controlplane.local import TokenUser
from e2e.product import Kubectl, Product
from scaler_core.api.meta import ObjectKey
from scaler_kube.client import KubeClient
from scaler_kube.clock import SteadyClock
from scaler_kube.resources import Resource
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.plane import ExternalPlane, Identity
from scaler_sim.scenario.process import Child, free_port
from scaler_sim.scenario.scenario import READY_SECONDS, ScenarioSettings, playing
from tests.chart import helm
from tests.chart.rights import Right

FULL: Final = f"{helm.RELEASE}-model-deployment-scaler"
MASTERS: Final = "system:masters"
ADMIN: Final = "e2e-admin"
FACTOR: Final = 8.0
JOBS: Final = Resource(group="batch", version="v1", plural="jobs", kind="Job")
PODS: Final = Resource(group="", version="v1", plural="pods", kind="Pod")
DEPLOYMENTS: Final = Resource(group="apps", version="v1", plural="deployments", kind="Deployment")


def account(component: str) -> str:
    """User name of a component's service account."""
    return f"system:serviceaccount:{helm.NAMESPACE}:{FULL}-{component}"


COMPONENTS: Final = ("controller", "webhook", "release-scalers", "test-admission")
USERS: Final = {
    ADMIN: TokenUser("token-admin", (MASTERS,)),
    Identity.USER.value: TokenUser("token-user", (MASTERS,)),
    Identity.OPERATOR.value: TokenUser("token-operator", (MASTERS,)),
    **{
        account(name): TokenUser(
            f"token-{name}", ("system:serviceaccounts", f"system:serviceaccounts:{helm.NAMESPACE}")
        )
        for name in COMPONENTS
    },
}
"""The accounts of the chart are in no group that may do anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Helm:
    """One helm as an administrator."""

    binary: str
    kubeconfig: Path
    folder: Path

    async def __call__(self, *arguments: str, expect: int = 0) -> str:
        """Run a command; both streams of it.

        Raises:
            AssertionError: it ended with another status.
        """
        homes = {f"HELM_{name}_HOME": str(self.folder / f"helm-{name.lower()}") for name in ("CACHE", "CONFIG", "DATA")}
        process = await asyncio.create_subprocess_exec(
            self.binary,
            *arguments,
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace={helm.NAMESPACE}",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=os.environ | homes,
        )
        output, _ = await process.communicate()
        text = output.decode()
        assert process.returncode == expect, f"helm {' '.join(arguments)} ended with {process.returncode}:\n{text}"
        return text


@dataclass(kw_only=True)
class Installation:
    """The release, and what runs of it."""

    helm: Helm
    product: Product
    kubeconfigs: Mapping[str, Path]
    """By component of the chart."""
    children: dict[str, Child] = field(default_factory=dict)
    hooks: dict[str, str] = field(default_factory=dict)
    """Name of a hook's Job or Pod to what its command printed."""

    @property
    def admin(self) -> KubeClient:
        """May do everything."""
        return self.product.scenario.admin

    async def start(self) -> None:
        """Run what the Pods of both Deployments would run, and wait until both are ready."""
        scenario = self.product.scenario
        flags = {
            "controller": {"health-host": "127.0.0.1", "health-port": str(scenario.controller_health_port)},
            "webhook": {
                "host": "127.0.0.1",
                "health-host": "127.0.0.1",
                "health-port": str(scenario.webhook_health_port),
            },
        }
        clock = scenario.settings.clock
        flags["controller"] |= {"clock-factor": repr(clock.factor), "clock-epoch": repr(clock.epoch)}
        for component, changes in flags.items():
            arguments = await self._arguments(component, changes | {"kubeconfig": str(self.kubeconfigs[component])})
            log = scenario.settings.logs / f"{component}-of-the-chart.log"
            child = Child(name=component, module=f"scaler_{component}", arguments=arguments, log=log)
            self.children[component] = child
            await child.start()
        for component, child in self.children.items():
            url = f"http://127.0.0.1:{flags[component]['health-port']}/readyz"
            await child.wait_until_answers(url, READY_SECONDS)

    async def stop(self) -> None:
        """End what runs."""
        for child in self.children.values():
            await child.stop()

    async def play_hooks(self) -> None:
        """Run what the Jobs and Pods of hooks would run, as the kubelet would, until cancelled."""
        while True:
            for resource in (JOBS, PODS):
                for document in (await self.admin.list_all(resource, namespace=helm.NAMESPACE)).items:
                    is_hook = "helm.sh/hook" in (document["metadata"].get("annotations") or {})
                    if is_hook and document["metadata"]["uid"] not in self.hooks:
                        await self._play(resource, document)
            await asyncio.sleep(0.3)

    async def _play(self, resource: Resource, document: dict[str, Any]) -> None:
        metadata, spec = document["metadata"], document["spec"]
        (container,) = spec["template"]["spec"]["containers"] if resource is JOBS else spec["containers"]
        program, *arguments = container["command"]
        assert program == "mds"
        kubeconfig = self.kubeconfigs[metadata["name"].removeprefix(f"{FULL}-")]
        code, text = await _mds([*arguments, *container["args"]], kubeconfig)
        self.hooks[metadata["uid"]] = self.hooks[metadata["name"]] = text
        status = _job_status(code) if resource is JOBS else {"phase": "Succeeded" if code == 0 else "Failed"}
        key = ObjectKey(helm.NAMESPACE, metadata["name"])
        await self.admin.patch_merge(resource, key, {"status": status}, subresource="status")

    async def _arguments(self, component: str, changes: Mapping[str, str]) -> list[str]:
        """The Deployment's own, but for what differs outside of a Pod."""
        deployment = await self.admin.get(DEPLOYMENTS, ObjectKey(helm.NAMESPACE, f"{FULL}-{component}"))
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["command"] == [f"scaler-{component}"]
        kept = [one for one in container["args"] if one.removeprefix("--").partition("=")[0] not in changes]
        return [*kept, *(f"--{name}={value}" for name, value in changes.items())]


async def _mds(arguments: Sequence[str], kubeconfig: Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "scaler_cli",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def _job_status(code: int) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    times = {"startTime": now, **({"completionTime": now} if code == 0 else {})}
    counts = {"succeeded": 1} if code == 0 else {"failed": 1}
    kind = "Complete" if code == 0 else "Failed"
    return {**times, **counts, "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now}]}


@asynccontextmanager
async def installed(binary: str, folder: Path, operator: OperatorSettings) -> AsyncIterator[Installation]:
    """The chart on a control plane of its own, its processes ready; everything ends with the context."""
    assets = local_assets()
    async with LocalControlPlane(assets, users=USERS) as plane:
        paths = {
            name: plane.kubeconfig(folder / f"{i}.kubeconfig", token=USERS[name].token) for i, name in enumerate(USERS)
        }
        runner = Helm(binary=binary, kubeconfig=paths[ADMIN], folder=folder)
        settings = ScenarioSettings(logs=folder, clock=SteadyClock(factor=FACTOR, epoch=time.time()), operator=operator)
        identities = {
            Identity.ADMIN: ADMIN,
            Identity.USER: Identity.USER.value,
            Identity.OPERATOR: Identity.OPERATOR.value,
            Identity.CONTROLLER: account("controller"),
            Identity.WEBHOOK: account("webhook"),
        }
        external = ExternalPlane(
            kubeconfigs={identity: paths[user] for identity, user in identities.items()}, usernames=identities
        )
        port = free_port()
        await runner(*installing(port))
        async with playing(settings, external) as scenario:
            kubectl = Kubectl(binary=str(assets / "kubectl"), kubeconfig=paths[Identity.USER.value])
            product = Product(plane=plane, scenario=scenario, kubectl=kubectl)
            components = {name: paths[account(name)] for name in COMPONENTS}
            installation = Installation(helm=runner, product=product, kubeconfigs=components)
            hooks = asyncio.create_task(installation.play_hooks(), name="hooks")
            try:
                await installation.start()
                yield installation
            finally:
                hooks.cancel()
                with suppress(asyncio.CancelledError):
                    await hooks
                await installation.stop()


def installing(port: int) -> tuple[str, ...]:
    """The command line of the first installation."""
    url = f"webhook.clientConfig.url=https://127.0.0.1:{port}"
    flags = ("--create-namespace", "--set", url, "--set", f"webhook.port={port}")
    return ("install", helm.RELEASE, str(helm.CHART), *flags)


def used_rights(plane: LocalControlPlane, user: str, before: datetime) -> tuple[frozenset[Right], list[str]]:
    """What an account asked for before a moment, by the audit log: what it was allowed, and what was forbidden."""
    allowed: set[Right] = set()
    forbidden: list[str] = []
    for event in plane.audit(user):
        reference = event.get("objectRef")
        if reference is None or "resource" not in reference:
            continue  # discovery, which every account may do
        if datetime.fromisoformat(event["requestReceivedTimestamp"]) >= before:
            continue
        resource = "/".join(filter(None, (reference["resource"], reference.get("subresource"))))
        right = Right(reference.get("apiGroup", ""), resource, event["verb"])
        if event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow":
            allowed.add(right)
        else:
            forbidden.append(f"{right.verb} {right.resource}.{right.group} {reference.get('name', '')}")
    return frozenset(allowed), forbidden
