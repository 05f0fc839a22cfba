"""The embedded API server without sockets: a clock, the real fence asked in process, and what people do to objects."""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from scaler_core.admission import registration, verdict
from scaler_core.api import crd, scaler
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING
from scaler_kube import errors, resources
from scaler_kube.client import KubeClient
from scaler_kube.resources import Resource
from scaler_kube.transport import Call, Document, Timeouts
from scaler_sim.apiserver import ClusterSettings, EmbeddedCluster, Request, StatusError, User, neighbour_definitions
from scaler_sim.apiserver.clock import Clock as Stamps
from scaler_sim.apiserver.errors import PageNotFoundError
from scaler_sim.apiserver.storage import Change, Key
from scaler_sim.apiserver.webhooks import Verdict, Webhook, WebhookFailedError, read_answer
from scaler_webhook import handlers, review
from scaler_webhook.lookups import Lookups

START = 1_800_000_000.0
KEY = ObjectKey("default", "llm")
CONTROLLER = User(username="controller")
OPERATOR = User(username="operator")
PERSON = User(username="jane")
DEFINITIONS = (crd.definition(), *neighbour_definitions())
SCALERS, TARGETS, PODS = resources.scalers(), resources.deployments(), resources.PODS
WORKLOADS = resources.workloads(resources.WORKLOAD_VERSIONS[0])
PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations.admissionregistration.k8s.io",
    **{
        kind.kind: f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        for kind in (SCALERS, TARGETS, PODS, WORKLOADS)
    },
}
"""Kind to where its objects are kept."""


class ModelClock:
    """Time that moves when the test says so."""

    def __init__(self) -> None:
        self.seconds = START

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds - START

    def real_seconds(self, seconds: float) -> float:
        return max(0.0, seconds)

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing of a pass sleeps")


class Direct:
    """A transport of `KubeClient` that asks the server in this very process."""

    timeouts = Timeouts()

    def __init__(self, server: "Server", user: User, agent: str = "tests") -> None:
        self.server, self.user, self.agent = server, user, agent

    async def close(self) -> None:
        return None

    async def exchange(self, call: Call, *, deadline: float | None = None) -> Document:
        request = Request(
            method=call.method,
            path=call.path,
            query=call.query,
            content_type=call.content_type,
            body=call.body,
            user=self.user,
            agent=self.agent,
        )
        try:
            return await self.server.cluster.ask(request)
        except StatusError as error:
            raise errors.from_answer(call.request, error.code, errors.read_status(error.to_wire())) from None
        except PageNotFoundError:
            raise errors.from_answer(call.request, 404, errors.NO_STATUS) from None


class Judges:
    """The product's webhook, asked as bytes but without TLS."""

    def __init__(self) -> None:
        self.judges = handlers.judges({CONTROLLER.username})
        self.reads: Lookups | None = None
        self.are_down = False

    async def ask(self, webhook: Webhook, request: Document) -> Verdict:
        if self.are_down:
            raise WebhookFailedError("connection refused")
        document = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
        parsed = review.parse(json.dumps(document).encode())
        match parsed:
            case review.Review(uid=uid, request=asked):
                judge = self.judges[urlsplit(webhook.document["clientConfig"]["url"]).path]
                found: Any = await handlers.decide(judge, asked, self.reads, 9.0)  # type: ignore[arg-type]
            case review.PassThrough(uid=uid):
                found = verdict.Allowed()
            case _:
                raise AssertionError(parsed)
        return read_answer(webhook, document, json.loads(review.render(uid, found)))


class Server:
    """One cluster with a target and a scaler."""

    def __init__(self, clock: ModelClock) -> None:
        self.clock = clock
        self.judges = Judges()
        settings = ClusterSettings(definitions=DEFINITIONS, asks=self.judges, clock=Stamps(clock.now))
        self.cluster = EmbeddedCluster(settings)
        self.person = self.client(PERSON)
        self.judges.reads = Lookups(
            reader=self.person, resources={scaler.KIND: SCALERS, scaler.TARGET_KIND: TARGETS}, timeout_seconds=3.0
        )
        self.foreign: set[int] = set()
        """Versions of the target that moved counts past the fence."""

    async def begin(self, target: Document, scaler_: Document) -> None:
        await self.cluster.furnish()
        await self.cluster.create(target)
        built = registration.build(registration.Url(base="https://webhook"), ca_bundle="")
        for configuration in (built.mutating, built.validating):
            await self.cluster.create(configuration)
        await self.cluster.create(scaler_)

    async def resume(self, documents: Sequence[Document]) -> None:
        """Begin with objects as another server left them."""
        await self.cluster.furnish()
        for document in documents:
            plural = PLURALS[document["kind"]]
            key = Key(plural, document["metadata"].get("namespace", ""), document["metadata"]["name"])
            self.cluster.store.put(key, document)

    def documents(self) -> list[Document]:
        """Every object that a test began with or made."""
        return [stored.document for bucket in PLURALS.values() for stored in self.cluster.store.objects(bucket)]

    def client(self, user: User) -> KubeClient:
        return KubeClient(transport=Direct(self, user), field_manager=user.username)  # type: ignore[arg-type]

    # -- what is stored -----------------------------------------------------------------------------------------------

    def key(self, resource: Resource, name: str = KEY.name) -> Key:
        return Key(PLURALS[resource.kind], KEY.namespace, name)

    def get(self, resource: Resource, name: str = KEY.name) -> Document | None:
        stored = self.cluster.store.get(self.key(resource, name))
        return None if stored is None else stored.document

    def all(self, resource: Resource) -> list[Document]:
        return [stored.document for stored in self.cluster.store.objects(PLURALS[resource.kind])]

    def changes(self, resource: Resource, version: int) -> list[Change]:
        return self.cluster.store.since(PLURALS[resource.kind], version)

    @property
    def version(self) -> int:
        return self.cluster.store.version

    def put(self, resource: Resource, document: Document) -> None:
        """Store something past every check, as a trusted component of the cluster would."""
        self.cluster.store.put(self.key(resource, document["metadata"]["name"]), document)

    def remove(self, resource: Resource, name: str) -> None:
        if self.cluster.store.get(self.key(resource, name)) is not None:
            self.cluster.store.delete(self.key(resource, name))

    def counts(self) -> dict[str, int]:
        target = self.get(TARGETS)
        return {} if target is None else {role["name"]: role["replicas"] for role in target["spec"]["roles"]}

    # -- what people do -----------------------------------------------------------------------------------------------

    async def edit(self, resource: Resource, body: Mapping[str, Any]) -> str:
        """A merge patch of a person; the refusal, or nothing."""
        return await self._write(self.person.patch_merge(resource, KEY, dict(body)))

    async def edit_image(self) -> str:
        target = self.get(TARGETS)
        if target is None:
            return "no target"
        image = f"registry.example/engine:{self.version}"
        return await self._write(
            self.person.patch_json(TARGETS, KEY, [{"op": "add", "path": "/spec/roles/0/image", "value": image}])
        )

    async def set_counts(self, counts: Mapping[str, int]) -> str:
        """Counts by hand, which a binding forbids."""
        roles = (self.get(TARGETS) or {"spec": {"roles": []}})["spec"]["roles"]
        operations = [
            {"op": "replace", "path": f"/spec/roles/{index}/replicas", "value": counts[role["name"]]}
            for index, role in enumerate(roles)
        ]
        refusal = await self._write(self.person.patch_json(TARGETS, KEY, operations))
        if not refusal:
            self.foreign.add(self.version)
        return refusal

    def set_counts_past_the_fence(self, counts: Mapping[str, int]) -> None:
        target = copy.deepcopy(self.get(TARGETS))
        if target is None or self.counts() == dict(counts):
            return
        for role in target["spec"]["roles"]:
            role["replicas"] = counts[role["name"]]
        target["metadata"]["generation"] += 1
        self.put(TARGETS, target)
        self.foreign.add(self.version)

    async def delete(self, resource: Resource) -> str:
        return await self._write(self.person.delete(resource, KEY))

    async def create(self, resource: Resource, document: Document) -> str:
        return await self._write(self.person.create(resource, KEY.namespace, document))

    async def _write(self, write: Any) -> str:
        try:
            await write
        except errors.KubeError as error:
            return error.message
        return ""

    @property
    def is_bound(self) -> bool:
        target = self.get(TARGETS)
        return target is not None and BINDING in (target["metadata"].get("annotations") or {})
