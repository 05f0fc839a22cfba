"""One scaler's cluster on a clock that stands still: the real controller, fence and API server, driven step by step."""

import asyncio
import copy
import itertools
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from scaler_controller.runtime.requeue import RequeueAfter
from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import BINDING
from scaler_core.api.pod import Pod
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.scrape import Engine, EngineCounters, Histogram, PodScrape, ScrapeFailure, TargetScrape
from scaler_core.recording import Recording
from scaler_core.signals.replicas import target_pods
from scaler_kube.transport import Document
from tests.controller.faults.operator import Operator
from tests.controller.faults.processes import Controller
from tests.controller.faults.server import KEY, PODS, SCALERS, TARGETS, ModelClock, Server

INTERVAL = 10.0
TIMEOUT = 60.0
PER_REPLICA = 4
"""Requests that one replica shall have; each makes ten tokens a second."""
MAXIMUM = 6
LATENCIES = (Decimal("0.01"), Decimal(1))
"""Bounds of the latency histograms, in seconds."""


def target_document(**counts: int) -> Document:
    """An unclaimed target whose roles share one pool."""
    return {
        "apiVersion": TARGETS.api_version,
        "kind": "ModelDeployment",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "model": {"name": "some/model"},
            "engine": {"name": "vLLM"},
            "router": {"name": "llm-d-router"},
            "roles": [
                {"name": role, "kind": role.capitalize(), "replicas": count, "instanceType": "gpu"}
                for role, count in counts.items()
            ],
        },
    }


def scaler_document(*roles: str, **spec: Any) -> Document:
    """An Active scaler with windows as short as the contract allows."""
    targets = [{"name": role, "target": str(PER_REPLICA)} for role in roles]
    down = {"stabilizationWindowSeconds": 5, "cooldownAfterAbortSeconds": 60, "decodePostScaleUpGraceSeconds": 1}
    return {
        "apiVersion": SCALERS.api_version,
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "targetRef": {"name": KEY.name},
            "mode": "Active",
            "sampling": {"intervalSeconds": int(INTERVAL), "pendingTimeoutSeconds": int(TIMEOUT)},
            "roles": [{"name": role, "minReplicas": 1, "maxReplicas": MAXIMUM} for role in roles],
            "algorithm": {"proportional": {"metric": "QueueDepth", "roleTargets": targets}},
            "behavior": {"scaleDown": down},
            **spec,
        },
    }


class Stage:
    """A target, its scaler, and one controller process (or the next one)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, counts: Mapping[str, int], quota: int, **spec: Any) -> None:
        Controller.ids = itertools.count(1)
        self.loop = loop
        self.clock = ModelClock()
        self.server = Server(self.clock)
        self.do(self.server.begin(target_document(**counts), scaler_document(*counts, **spec)))
        self.operator = Operator(self.server, quota)
        self.events: list[str] = []
        self.vectors: list[dict[str, int]] = [dict(counts)]
        """Every vector that the target ever had."""
        self.loads = dict(counts)
        """Replicas that the load of each role asks for."""
        self.failing: set[str] = set()
        self.on_pass: Callable[[Recording], None] = lambda _recording: None
        self._tokens: dict[str, float] = {}
        self._sampled_at = 0.0
        self.controller = self.process()
        self.operate()

    def do(self, work: Any) -> Any:
        """The result of an asynchronous call."""
        return self.loop.run_until_complete(work)

    def process(self) -> Controller:
        """Another controller process, with caches and memory of its own."""
        return Controller(self.server, self.loop, [], lambda _process, _world, note: self.events.append(note.reason))

    def fail_over(self) -> None:
        """kill -9 of the controller; the next one knows what is stored and nothing else."""
        self.controller.kill()
        self.controller = self.process()

    # -- what is stored -----------------------------------------------------------------------------------------------

    @property
    def counts(self) -> dict[str, int]:
        return self.server.counts()

    @property
    def status(self) -> ScalerStatus:
        document = self.server.get(SCALERS)
        assert document is not None
        return defaulting.load(document).status

    def condition(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition as stored."""
        found = self.status.condition(type_)
        return ("", "") if found is None else (found.status, found.reason)

    @property
    def rebalance(self) -> str:
        """Where the rebalance stands, as stored."""
        return "" if self.status.rebalance is None else self.status.rebalance.reason

    # -- steps --------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Passes until none is due at once."""
        for _ in range(10):
            self.controller.sync()
            result = self.controller.run()
            if KEY in self.controller.reconciler.last:
                self.on_pass(self.controller.reconciler.last[KEY])
            if self.counts and self.counts != self.vectors[-1]:
                self.vectors.append(self.counts)
            if isinstance(result, RequeueAfter) and result.seconds > 0:
                return
        raise AssertionError("passes are due for ever")

    def operate(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            self.operator.round()

    def live(self, seconds: float = INTERVAL, rounds: int = 3, **loads: int) -> None:
        """Time passes, the operator works, a sample is taken, and passes run."""
        self.loads.update(loads)
        self.clock.seconds += seconds
        self.operate(rounds)
        self.controller.scrape = self.sample()
        self.run()

    def edit(self, **spec: Any) -> None:
        """A person edits the scaler's spec."""
        assert self.do(self.server.edit(SCALERS, {"spec": spec})) == ""

    def annotate_past_the_fence(self, text: str) -> None:
        """A binding that was there before any fence was."""
        target = copy.deepcopy(self.server.get(TARGETS))
        assert target is not None
        target["metadata"].setdefault("annotations", {})[BINDING] = text
        self.server.put(TARGETS, target)

    def replace_target(self, **counts: int) -> None:
        """The target is deleted and made anew under its name."""
        assert self.do(self.server.delete(TARGETS)) == ""
        self.run()
        assert self.do(self.server.create(TARGETS, target_document(**counts))) == ""

    def sample(self) -> TargetScrape | None:
        """What the engines answer now; the load of a role is on its first ready Pod."""
        document = self.server.get(TARGETS)
        if document is None:
            return None
        target = ModelDeployment.from_wire(document)
        ready = [pod for pod in target_pods(target, map(Pod.from_wire, self.server.all(PODS))) if pod.is_ready]
        answering = {role: [pod for pod in ready if pod.role == role] for role in target.vector}
        pods = tuple(self._scrape(pod, answering[pod.role][0] is pod) for pod in ready)
        self._sampled_at = self.clock.now()
        return TargetScrape(
            target_uid=target.metadata.uid,
            taken_at=self._sampled_at,
            pods=pods,
            answering={role: len(pods) for role, pods in answering.items()},
        )

    def _scrape(self, pod: Pod, bears_load: bool) -> PodScrape:
        running = self.loads[pod.role] * PER_REPLICA if bears_load else 0
        return PodScrape(
            pod_uid=pod.metadata.uid,
            pod_name=pod.metadata.name,
            role=pod.role,
            ordinal=pod.ordinal or 0,
            member=pod.member,
            container=pod.engine_id,
            outcome=ScrapeFailure(why="HTTP 500") if pod.role in self.failing else self._counters(pod, running),
        )

    def _counters(self, pod: Pod, running: int) -> EngineCounters:
        """Each request makes ten tokens a second of either kind, at a latency that breaches nothing."""
        uid = pod.metadata.uid
        since = self.clock.now() - self._sampled_at if self._sampled_at else INTERVAL
        self._tokens[uid] = tokens = self._tokens.get(uid, 0.0) + running * since * 10
        latency = Histogram(count=tokens, sum_seconds=Decimal(tokens) / 100, bounds=LATENCIES, counts=(tokens, tokens))
        return EngineCounters(
            engine=Engine.VLLM,
            running=float(running),
            waiting=0.0,
            prompt_tokens=tokens,
            generation_tokens=tokens,
            ttft=latency,
            itl=latency,
        )


def foreign_binding() -> str:
    """Another scaler's binding."""
    return json.dumps({"scalerName": "other", "scalerUID": "other-uid", "term": 3})
