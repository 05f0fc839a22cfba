"""A real API server with the webhook alone: what the controller would write is written by the test, step by step.

So a binding is where a test wants it, and nothing moves behind its back.
"""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from e2e.controlplane import LocalControlPlane, client_session, install_definitions
from e2e.controlplane.finding import local_assets
from e2e.controlplane.local import TokenUser
from e2e.product import MASTERS, Kubectl
from scaler_core.admission import registration
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING, DECISION, Binding, DecisionRecord
from scaler_kube import errors, resources
from scaler_kube.access import KubeConfig
from scaler_kube.client import FieldConflicts, KubeClient, connect
from scaler_sim.apiserver.tls import Authority
from scaler_sim.scenario.process import Child, free_port
from scaler_sim.scenario.scenario import definitions

KEY: Final = ObjectKey("default", "llm")
PERSON: Final = "jane@example.org"
CONTROLLER: Final = "system:serviceaccount:scaler-system:scaler-controller"
WEBHOOK: Final = "system:serviceaccount:scaler-system:scaler-webhook"
ADMIN: Final = "e2e-admin"
USERS: Final = {
    name: TokenUser(f"token-{number}", (MASTERS,)) for number, name in enumerate((ADMIN, PERSON, CONTROLLER, WEBHOOK))
}
GIT: Final = {"prefill": 2, "decode": 3}
"""Counts that a manifest in Git begins with."""
LIVE: Final = {"prefill": 4, "decode": 5}
"""Counts that the scaler has committed since."""
SETTLING_SECONDS: Final = 0.5  # until an API server follows a changed configuration
READY_SECONDS: Final = 60.0
Document = dict[str, Any]


def manifest(counts: Mapping[str, int] | None = GIT, *, image: str = "engine:1", name: str = "llm") -> Document:
    """A deployment as it stands in Git; None leaves the counts out."""
    roles = [
        {"name": role, "kind": role.capitalize(), "instanceType": "gpu", "image": image}
        | ({"replicas": counts[role]} if counts is not None else {})
        for role in GIT
    ]
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM"},
            "router": {"name": "llm-d-router"},
            "roles": roles,
        },
    }


def scaler(*, name: str = "llm", target: str = "llm", **spec: Any) -> Document:
    """A scaler of both roles."""
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "targetRef": {"name": target},
            "mode": "Active",
            "roles": [{"name": role, "minReplicas": 1, "maxReplicas": 8} for role in GIT],
            "algorithm": {
                "proportional": {
                    "metric": "QueueDepth",
                    "roleTargets": [{"name": role, "target": "4"} for role in GIT],
                }
            },
            **spec,
        },
    }


@dataclass(slots=True, kw_only=True)
class Fencing:
    """The API server, the webhook process, and who acts on them."""

    plane: LocalControlPlane
    webhook: Child
    admission_port: int
    ready_url: str
    authority: Authority
    admin: KubeClient
    controller: KubeClient
    kubectl: Kubectl
    """As a person, in a folder of its own."""
    folder: Path
    webhook_kubeconfig: Path
    _term: int = field(default=0)
    _decisions: int = field(default=0)

    async def start_webhook(self) -> None:
        """Start the webhook, wait until it is ready, and register it."""
        await self.webhook.start()
        await self.webhook.wait_until_answers(self.ready_url, READY_SECONDS)
        await self.register(f"https://127.0.0.1:{self.admission_port}")

    async def register(self, base: str, *, timeout_seconds: int = registration.TIMEOUT_SECONDS) -> None:
        """Let the API server ask what listens at an address, with a certificate of our authority."""
        documents = registration.build(registration.Url(base=base), ca_bundle=self.authority.encoded())
        for kind, document in (
            (resources.VALIDATING_WEBHOOKS, documents.validating),
            (resources.MUTATING_WEBHOOKS, documents.mutating),
        ):
            for webhook in document["webhooks"]:
                webhook["timeoutSeconds"] = timeout_seconds
            key = ObjectKey("", document["metadata"]["name"])
            await self.admin.apply(kind, key, document, conflicts=FieldConflicts.FORCE)
            await self._until_asked()
        await asyncio.sleep(SETTLING_SECONDS)

    async def unregister(self) -> None:
        """Remove both configurations, as somebody who breaks glass."""
        for kind in (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS):
            await self.admin.delete(kind, ObjectKey("", registration.CONFIGURATION))
        while await self._is_asked():  # noqa: ASYNC110 -- the server takes a moment to follow
            await asyncio.sleep(0.05)

    async def begin(self) -> None:
        """A deployment with Git's counts, made by client-side apply, and a scaler that has not bound it."""
        await self.clear()
        self._term = self._decisions = 0
        await self.kubectl("apply", "-f", self.file("git.yaml", manifest()))
        await self.admin.create(resources.scalers(), KEY.namespace, scaler())

    async def begin_bound(self) -> None:
        """The same, bound and committed to the live counts as the controller does it."""
        await self.begin()
        await self.bind()
        await self.commit(LIVE)

    async def clear(self) -> None:
        """No deployment and no scaler."""
        for kind in (resources.scalers(), resources.deployments()):
            for item in (await self.admin.list_all(kind, namespace=KEY.namespace)).items:
                key = ObjectKey(KEY.namespace, item["metadata"]["name"])
                if item["metadata"].get("finalizers"):
                    await self.admin.patch_merge(kind, key, {"metadata": {"finalizers": None}})
                await self.admin.delete(kind, key)

    async def bind(self) -> None:
        """Bind, and own the counts by server-side apply."""
        self._term += 1
        uid = (await self.admin.get(resources.scalers(), KEY))["metadata"]["uid"]
        binding = Binding(scaler_name="llm", scaler_uid=uid, term=self._term).render()
        await self._annotate(BINDING, binding)
        owned = [{"name": role, "replicas": count} for role, count in (await self.counts()).items()]
        await self.controller.apply(resources.deployments(), KEY, manifest() | {"spec": {"roles": owned}})

    async def commit(self, counts: Mapping[str, int]) -> None:
        """Move counts and decision in one write."""
        self._decisions += 1
        record = DecisionRecord(decision_id=f"d-{self._decisions}", term=self._term, vector=counts)
        roles = (await self.target())["spec"]["roles"]
        moves = [
            {"op": "replace", "path": f"/spec/roles/{place}/replicas", "value": counts[role["name"]]}
            for place, role in enumerate(roles)
        ]
        await self._annotate(DECISION, record.render(), *moves)

    async def release(self) -> None:
        """Remove the binding, as the controller."""
        operation = {"op": "remove", "path": f"/metadata/annotations/{BINDING.replace('/', '~1')}"}
        await self.controller.patch_json(resources.deployments(), KEY, [operation])

    async def target(self) -> Document:
        """The deployment as stored."""
        return await self.admin.get(resources.deployments(), KEY)

    async def versions(self) -> str:
        """What the words that are not ours depend on."""
        found = re.findall(r"(Client|Server) Version: v(\d+\.\d+)", await self.kubectl("version"))
        return ", ".join(f"{who.lower()} {version}" for who, version in found)

    async def counts(self) -> dict[str, int]:
        """Its counts; empty when there is none."""
        try:
            document = await self.target()
        except errors.NotFoundError:
            return {}
        return {role["name"]: role["replicas"] for role in document["spec"]["roles"]}

    async def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        found: Mapping[str, str] = (await self.target())["metadata"].get("annotations") or {}
        return found

    def file(self, name: str, document: Document) -> str:
        """Write a manifest into the person's folder; its name."""
        (self.folder / name).write_text(yaml.safe_dump(document, sort_keys=False))
        return name

    async def _annotate(self, key: str, text: str, *operations: Document) -> None:
        annotate: Document = {"op": "add", "path": f"/metadata/annotations/{key.replace('/', '~1')}", "value": text}
        if not await self.annotations():
            annotate = {"op": "add", "path": "/metadata/annotations", "value": {key: text}}
        await self.controller.patch_json(resources.deployments(), KEY, [*operations, annotate])

    async def _until_asked(self) -> None:
        async with asyncio.timeout(20):
            while not await self._is_asked():  # noqa: ASYNC110 -- the server takes a moment to follow
                await asyncio.sleep(0.05)

    async def _is_asked(self) -> bool:
        """Whether the API server asks a webhook: a stray annotation is then stripped, refused, or cannot be judged."""
        probe = manifest(name="probe") | {"metadata": {"name": "probe", "annotations": {BINDING: "probe"}}}
        path = f"{resources.deployments().collection_path('default')}?dryRun=All"
        async with client_session(self.plane.endpoint) as session, session.post(path, json=probe) as response:
            text = await response.text()
        return response.status != 201 or BINDING not in json.loads(text)["metadata"].get("annotations", {})


@asynccontextmanager
async def fencing(folder: Path, *webhook_flags: str) -> AsyncIterator[Fencing]:
    """A control plane with both definitions and a registered webhook process.

    Args:
        folder: for logs, kubeconfigs and the person's files.
        webhook_flags: beside those that let it serve certificate files of our authority.
    """
    async with fenced_plane(folder, *webhook_flags) as world:
        await world.start_webhook()
        yield world


@asynccontextmanager
async def fenced_plane(folder: Path, *webhook_flags: str) -> AsyncIterator[Fencing]:
    """The same with the webhook neither started nor registered."""
    assets = local_assets()
    async with LocalControlPlane(assets, users=USERS) as plane, AsyncExitStack() as stack:
        async with client_session(plane.endpoint) as session:
            await install_definitions(session, definitions())
        paths = {
            name: plane.kubeconfig(folder / f"{number}.kubeconfig", token=USERS[name].token)
            for number, name in enumerate(USERS)
        }
        clients = {
            name: await stack.enter_async_context(
                await connect(KubeConfig(path=str(paths[name])), field_manager=manager, user_agent="e2e")
            )
            for name, manager in ((ADMIN, "e2e"), (CONTROLLER, "model-deployment-scaler"))
        }
        authority, port, health = Authority.make(), free_port(), free_port()
        flags = ("--kubeconfig", str(paths[WEBHOOK]), *certificate_flags(folder, authority), *webhook_flags)
        webhook = webhook_process(folder, *flags, port=port, health=health)
        stack.push_async_callback(webhook.stop)
        home = folder / "home"
        home.mkdir()
        kubectl = Kubectl(
            binary=shutil.which("kubectl", path=str(assets)) or "kubectl",
            kubeconfig=paths[PERSON],
            folder=home,
            environment={"TMPDIR": str(home), "HOME": str(home)},
        )
        yield Fencing(
            plane=plane,
            webhook=webhook,
            admission_port=port,
            ready_url=f"http://127.0.0.1:{health}/readyz",
            authority=authority,
            admin=clients[ADMIN],
            controller=clients[CONTROLLER],
            kubectl=kubectl,
            folder=home,
            webhook_kubeconfig=paths[WEBHOOK],
        )


def webhook_process(folder: Path, *flags: str, port: int, health: int) -> Child:
    """A webhook on loopback, for our operator."""
    arguments = (
        *("--host", "127.0.0.1", "--port", str(port), "--health-host", "127.0.0.1", "--health-port", str(health)),
        *("--operator-user", CONTROLLER, "--lame-duck-seconds", "0"),
        *flags,
    )
    return Child(name="webhook", module="scaler_webhook", arguments=arguments, log=folder / "webhook.log")


def certificate_flags(folder: Path, authority: Authority) -> tuple[str, ...]:
    """Files with a certificate of the authority, as flags."""
    files = (folder / "webhook.crt", folder / "webhook.key")
    for path, content in zip(files, authority.leaf("127.0.0.1", "localhost"), strict=True):
        path.touch(mode=0o600)
        path.write_bytes(content)
    return ("--tls-cert", str(files[0]), "--tls-key", str(files[1]))
