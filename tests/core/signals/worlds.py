"""Targets, Pods, texts and samples in few words, for tables about signals."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.model.reading import RoleReading
from scaler_core.model.scrape import Engine, EngineCounters, Histogram, PodScrape, ScrapeFailure, TargetScrape
from scaler_core.signals.readings import read_roles
from scaler_core.signals.replicas import MAX_PODS, answering_pods, replicas_of, target_pods
from scaler_core.signals.windows import SignalMemory

UID = "target-uid"
INTERVAL = 15
KINDS = {"server": "Server", "prefill": "Prefill", "decode": "Decode", "encode": "Encode"}


def target(sizes: Mapping[str, int] | None = None, external: tuple[str, ...] = (), **replicas: int) -> ModelDeployment:
    return ModelDeployment.from_wire(
        {
            "metadata": {"name": "llm", "namespace": "default", "uid": UID},
            "spec": {
                "roles": [
                    {"name": role, "kind": KINDS[role], "replicas": count, "size": (sizes or {}).get(role, 1)}
                    for role, count in replicas.items()
                ]
            },
            "status": {"roles": [{"name": role, "parallelism": {"loadBalance": "External"}} for role in external]},
        }
    )


def pod(
    role: str,
    ordinal: int | None,
    member: int = 0,
    *,
    ready: bool = True,
    owner: str = UID,
    controller: bool = True,
    terminating: bool = False,
    size: str | None = None,
    container: str = "c#0",
    labels: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Pod:
    name = name or f"llm-{role}-{ordinal}-{member}"
    container_id, _, restarts = container.partition("#")
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "labels": {
            "app.kubernetes.io/name": "model-deployment",
            "app.kubernetes.io/instance": "llm",
            "app.kubernetes.io/component": role,
            "modeldeployment.gpustack.ai/member-index": str(member),
            **({"modeldeployment.gpustack.ai/pod-ordinal": str(ordinal)} if ordinal is not None else {}),
            **(labels or {}),
        },
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": size} if size else {},
        "ownerReferences": [{"kind": "ModelDeployment", "name": "llm", "uid": owner, "controller": controller}],
    }
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Pod.from_wire(
        {
            "metadata": metadata,
            "status": {
                "podIP": "10.0.0.1",
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
                "containerStatuses": [{"name": "main", "containerID": container_id, "restartCount": int(restarts)}],
            },
        }
    )


def pods(role: str, count: int) -> list[Pod]:
    return [pod(role, ordinal) for ordinal in range(count)]


def spec(algorithm: Mapping[str, Any] | None = None, interval: int = INTERVAL) -> ScalerSpec:
    return ScalerSpec.from_wire(
        {
            "targetRef": {"name": "llm"},
            "sampling": {"intervalSeconds": interval},
            "roles": [{"name": "server", "maxReplicas": 100}],
            "algorithm": algorithm or {"type": "TokenThroughput", "tokenThroughput": {}},
        }
    )


def proportional(metric: str) -> ScalerSpec:
    return spec({"type": "Proportional", "proportional": {"metric": metric}})


def histogram(count: float, seconds: float | None = None, **buckets: float) -> Histogram:
    """`histogram(10, 1.5, le0_5=9)`: bounds are written with an underscore."""
    return Histogram(
        count=count,
        sum_seconds=None if seconds is None else Decimal(repr(seconds)),
        bounds=tuple(Decimal(bound[2:].replace("_", ".")) for bound in buckets),
        counts=tuple(buckets.values()),
    )


def vllm(**values: Any) -> EngineCounters:
    """An idle vLLM engine, except for what is named."""
    return replace(
        EngineCounters(
            engine=Engine.VLLM,
            running=0.0,
            waiting=0.0,
            kv_cache_usage=0.0,
            prompt_tokens=0.0,
            generation_tokens=0.0,
            prefix_hits=0.0,
            ttft=histogram(0, 0.0),
            itl=histogram(0, 0.0),
            process_start=1.0,
        ),
        **values,
    )


def sglang(**values: Any) -> EngineCounters:
    """An idle SGLang engine that has not served anything, except for what is named."""
    return replace(
        EngineCounters(
            engine=Engine.SGLANG,
            running=0.0,
            waiting=0.0,
            kv_cache_usage=0.0,
            prefill_effective={"input": 0.0, "device_hit": 0.0, "host_hit": 0.0, "storage_hit": 0.0},
        ),
        **values,
    )


Outcome = EngineCounters | ScrapeFailure


class Fleet:
    """One scaler's view of a target through a run of samples."""

    def __init__(self, deployment: ModelDeployment, cluster: list[Pod], scaler: ScalerSpec | None = None) -> None:
        self.target = deployment
        self.pods = cluster
        self.spec = scaler or spec()
        self.memory = SignalMemory()
        self.scrape: TargetScrape | None = None

    def asked(self, role: str) -> tuple[Pod, ...]:
        own = target_pods(self.target, self.pods)
        found = self.target.role(role)
        assert found is not None
        return answering_pods(replicas_of(self.target, found, own))[:MAX_PODS]

    def sample(self, at: float, outcomes: Mapping[str, Outcome] | Outcome) -> dict[str, RoleReading]:
        """Read the engines at `at`: one outcome for every Pod, or by role, or by Pod name; then judge."""
        self.scrape = TargetScrape(
            target_uid=UID,
            taken_at=at,
            pods=tuple(
                PodScrape(
                    pod_uid=each.metadata.uid,
                    pod_name=each.metadata.name,
                    role=role.name,
                    ordinal=each.ordinal or 0,
                    member=each.member,
                    container=each.engine_id,
                    outcome=_outcome(outcomes, each),
                )
                for role in self.target.spec.roles
                for each in self.asked(role.name)
            ),
            answering={role.name: len(self.asked(role.name)) for role in self.target.spec.roles},
        )
        return self.judge(at)

    def judge(self, now: float) -> dict[str, RoleReading]:
        readings, self.memory = read_roles(self.scrape, self.target, self.pods, self.spec, self.memory, now)
        return {reading.role: reading for reading in readings}


def _outcome(outcomes: Mapping[str, Outcome] | Outcome, each: Pod) -> Outcome:
    if not isinstance(outcomes, Mapping):
        return outcomes
    return outcomes.get(each.metadata.name) or outcomes[each.role]
