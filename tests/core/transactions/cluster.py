"""A tiny cluster in memory: a target with its operator, Workloads, and a scaler whose every write may fail."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import jsonpatch

from scaler_core.admission import fence
from scaler_core.admission.verdict import Denied, Found, Operation, Request
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import BINDING, DECISION, FENCE_WEBHOOK, parse_binding, parse_decision
from scaler_core.api.pod import COMPONENT_LABEL, ORDINAL_LABEL, Pod
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler import FINALIZER, ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.api.workload import Workload, workload_name
from scaler_core.model.action import (
    Action,
    AddFinalizer,
    Bind,
    Committed,
    CommitVector,
    Note,
    Outcome,
    Refused,
    Release,
    RemoveFinalizer,
    Unknown,
)
from scaler_core.model.plan import Plan, RolePlan, Stage, StageResult
from scaler_core.model.world import World
from scaler_core.transactions import Planning, Settled, patches
from tests.core.transactions import tables

START = 1_700_000_000.0
NAMESPACE, NAME = "default", "llm"


class Fault(Enum):
    """What goes wrong in one pass."""

    NONE = "none"
    CRASH_BEFORE_STATUS = "crash before the status write"
    CRASH_BEFORE_TARGET = "crash after the status write"
    CRASH_AFTER_TARGET = "crash after the target write"
    ANSWER_LOST = "the write lands, its answer is lost"
    LOST = "the write never arrives, and nobody knows"
    LATE = "the write is on its way, and lands or not later"
    REFUSED = "an admission refuses"
    RACED = "someone else writes the target first"


UNSENT = {
    Fault.REFUSED: Refused(message="admission webhook denied the request: no"),
    Fault.LOST: Unknown(message="no answer"),
}


def scaler_document(**spec: Any) -> dict[str, Any]:
    """A scaler of a pair with equal pools and a band of 0.5 to 2."""
    return {
        "metadata": {
            "name": "scale", "namespace": NAMESPACE, "uid": "scaler-1", "generation": 1, "finalizers": [FINALIZER],
        },
        "spec": {
            "targetRef": {"name": NAME},
            "mode": "Active",
            "roles": [
                {"name": "prefill", "minReplicas": 1, "maxReplicas": 8},
                {"name": "decode", "minReplicas": 1, "maxReplicas": 8},
            ],
            "algorithm": {"type": "TokenThroughput"},
            **spec,
        },
    }  # fmt: skip


def target_document(**counts: int) -> dict[str, Any]:
    """An unclaimed target with these roles."""
    return {
        "metadata": {
            "name": NAME, "namespace": NAMESPACE, "uid": "target-1", "generation": 1, "resourceVersion": "1",
        },
        "spec": {
            "roles": [
                {"name": role, "kind": role.capitalize(), "replicas": n, "instanceType": "h100"}
                for role, n in counts.items()
            ]
        },
        "status": {"roles": [{"name": role, "desired": n, "ready": n} for role, n in counts.items()]},
    }  # fmt: skip


def plan_of(
    target: ModelDeployment,
    vector: Mapping[str, int] | None = None,
    recommend: Mapping[str, int] | None = None,
    release_blocked: Mapping[str, str] | None = None,
    after_window: Mapping[str, int] | None = None,
) -> Plan:
    """A plan that moves to `vector` although `recommend` is asked for; each defaults to the other, or the counts."""
    asked = {**target.vector, **(vector or {}), **(recommend or {})}
    result = {**target.vector, **(vector or {})}
    roles = {
        role: RolePlan(
            role=role,
            current=count,
            recommended=asked[role],
            replicas=result[role],
            reason=RoleReason.TOKEN_THROUGHPUT,
            message="as asked",
            stages=(
                StageResult(stage=Stage.STABILIZATION, replicas={**asked, **(after_window or {})}[role]),
            ),
            release_blocked=(release_blocked or {}).get(role, ""),
        )
        for role, count in target.vector.items()
    }  # fmt: skip
    return Plan(vector=result, roles=roles)


@dataclass
class Cluster:
    """The world as it is; `snapshot` is what a pass sees of it."""

    scaler: dict[str, Any] = field(default_factory=scaler_document)
    target: dict[str, Any] | None = field(default_factory=lambda: target_document(prefill=2, decode=2))
    quota: int = 100
    """Replicas that can be admitted."""
    has_workload_api: bool = True
    now: float = START
    workloads: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    pods: set[tuple[str, int]] = field(default_factory=set)
    in_flight: list[tuple[float, patches.Patch]] = field(default_factory=list)
    """Requests that may still arrive until their deadline."""
    notes: list[Note] = field(default_factory=list)
    ids: int = 0
    uids: int = 0
    settled: Settled | None = None
    writes: list[Mapping[str, int]] = field(default_factory=list)
    """Every vector that landed."""
    decisions: list[str] = field(default_factory=list)
    """Every decision that landed."""
    refusals: list[str] = field(default_factory=list)
    """What the fence said to our own writes."""

    def __post_init__(self) -> None:
        for role, count in self.vector.items():
            for ordinal in range(count):
                self.start((role, ordinal), admitted=True)

    # -- views --------------------------------------------------------------------------------------------------------

    @property
    def vector(self) -> dict[str, int]:
        return {} if self.target is None else ModelDeployment.from_wire(self.target).vector

    @property
    def status(self) -> ScalerStatus:
        return ScalerStatus.from_wire(self.scaler.get("status", {}))

    @status.setter
    def status(self, status: ScalerStatus) -> None:
        self.scaler["status"] = status.to_wire()

    @property
    def annotations(self) -> dict[str, str]:
        assert self.target is not None
        annotations: dict[str, str] = self.target["metadata"].setdefault("annotations", {})
        return annotations

    @property
    def term(self) -> int | None:
        text = self.annotations.get(BINDING)
        return None if text is None else parse_binding(text).term

    def events(self) -> list[str]:
        return [note.reason.value for note in self.notes]

    def snapshot(self, *, fresh: bool = True, target: Mapping[str, Any] | None = None) -> World:
        """What a pass sees, read directly or from a cache."""
        seen = self.target if target is None else target
        pods = tuple(
            Pod.from_wire({
                "metadata": {
                    "name": f"{NAME}-{role}-{ordinal}", "labels": {COMPONENT_LABEL: role, ORDINAL_LABEL: str(ordinal)},
                },
                "spec": {
                    "nodeName": "node" if self._is_admitted((role, ordinal)) else "",
                    "schedulingGates":
                        [] if self._is_admitted((role, ordinal)) else [{"name": "kueue.x-k8s.io/admission"}],
                },
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            })
            for role, ordinal in sorted(self.pods)
        )  # fmt: skip
        return World(
            now=self.now,
            scaler=ModelDeploymentScaler.from_wire(self.scaler),
            target=None if seen is None else ModelDeployment.from_wire(copy.deepcopy(dict(seen))),
            pods=pods,
            workloads=tuple(Workload.from_wire(w) for w in self.workloads.values()) if self.has_workload_api else None,
            target_read_at=self.now if fresh else None,
        )

    # -- the scaler ---------------------------------------------------------------------------------------------------

    def next_id(self) -> str:
        self.ids += 1
        return f"decision-{self.ids}"

    def run(
        self,
        plan: Callable[[ModelDeployment], Plan] | None = None,
        fault: Fault = Fault.NONE,
        *,
        fresh: bool = True,
        cached: Mapping[str, Any] | None = None,
    ) -> Settled:
        """One pass of the shell: settle, plan, propose, store, write, record, store; `cached` is an older target."""
        world = self.snapshot(fresh=fresh and cached is None, target=cached)
        settled = self.settled = tables.settle(world, self.next_id())
        self.notes.extend(settled.notes)
        status, action = settled.status, settled.action
        if plan is not None and action is None and settled.planning is Planning.COMMIT and world.target is not None:
            proposal = tables.propose(settled, plan(world.target), world, self.next_id())
            self.notes.extend(proposal.notes)
            status, action = proposal.status, proposal.action
        if fault is Fault.CRASH_BEFORE_STATUS:
            return settled
        self.status = status
        if action is None or fault is Fault.CRASH_BEFORE_TARGET:
            return settled
        outcome = self.write(action, world, fault)
        if fault is Fault.CRASH_AFTER_TARGET:
            return settled
        status, notes = tables.record(status, action, outcome, replace(world, now=self.now))
        self.notes.extend(notes)
        self.status = status
        return settled

    def plan(self, vector: Mapping[str, int], fault: Fault = Fault.NONE) -> Settled:
        """One pass whose planner asks for this vector."""
        return self.run(lambda target: plan_of(target, vector), fault)

    def write(self, action: Action, world: World, fault: Fault = Fault.NONE) -> Outcome:
        """Carry out an action as the shell does."""
        if isinstance(action, AddFinalizer | RemoveFinalizer):
            self.scaler["metadata"]["finalizers"] = [FINALIZER] if isinstance(action, AddFinalizer) else []
            return Committed(generation=0)
        assert world.target is not None
        patch = self.patch_of(action, world)
        if fault in UNSENT:
            return UNSENT[fault]
        if fault is Fault.LATE:
            self.in_flight.append((self.now, patch))
            return Unknown(message="no answer")
        if fault is Fault.RACED:
            self.edit()
        answer = self.apply(patch)
        return Unknown(message="no answer") if fault is Fault.ANSWER_LOST else self.outcome(answer, action, world)

    def outcome(self, answer: patches.Answer | None, action: Action, world: World) -> Outcome:
        """What the shell makes of an answer, with a direct read where it needs one."""
        assert world.target is not None
        if answer is None:
            assert self.target is not None
            return Committed(generation=self.target["metadata"]["generation"])
        intent = action.intent if isinstance(action, CommitVector) else None
        reread = None if self.target is None else ModelDeployment.from_wire(copy.deepcopy(self.target))
        return patches.classify(answer, world.target, reread, intent)

    def patch_of(self, action: Action, world: World) -> patches.Patch:
        assert world.target is not None
        match action:
            case Bind():
                return patches.bind(world.target, world.scaler, action.term)
            case Release():
                return patches.release(world.target)
            case CommitVector():
                return patches.commit(world.target, action.intent)
            case _:
                raise AssertionError(action)

    def apply(self, patch: patches.Patch) -> patches.Answer | None:
        """The API server: all operations or none, generation on changes of the spec only."""
        if self.target is None:
            return patches.Answer(code=404, message="not found")
        try:
            after = jsonpatch.apply_patch(self.target, [dict(operation) for operation in patch])
        except jsonpatch.JsonPatchException:
            return patches.Answer(code=422, message="the server rejected our request due to an error in our request")
        if refusal := self._judge(after):
            self.refusals.append(refusal)
            return patches.Answer(
                code=403, message=f'admission webhook "{FENCE_WEBHOOK}" denied the request: {refusal}'
            )
        self._store(after)
        return None

    def _judge(self, after: dict[str, Any]) -> str:
        """The real fence, for a write of our own."""
        request = Request(
            operation=Operation.UPDATE, user="us", namespace=NAMESPACE, name=NAME, old=self.target or {}, new=after
        )
        verdict = fence.judge(request, {"us"}, Found(document=self.scaler))
        return verdict.violations[0].message if isinstance(verdict, Denied) else ""

    def _store(self, after: dict[str, Any]) -> None:
        assert self.target is not None
        meta = after["metadata"]
        if after["spec"] != self.target["spec"]:
            meta["generation"] += 1
            counts = ModelDeployment.from_wire(after).vector
            if counts != self.vector:
                self.writes.append(counts)
        text, old = (document["metadata"].get("annotations", {}).get(DECISION) for document in (after, self.target))
        if text is not None and text != old:
            self.decisions.append(parse_decision(text).decision_id)
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        self.target = after

    # -- everyone else ------------------------------------------------------------------------------------------------

    def edit(self, counts: Mapping[str, int] | None = None) -> None:
        """A user edits the target: an image, or (past the fence) counts."""
        assert self.target is not None
        after = copy.deepcopy(self.target)
        for role in after["spec"]["roles"]:
            role["image"] = f"image-{after['metadata']['generation']}"
            role["replicas"] = (counts or {}).get(role["name"], role["replicas"])
        writes = list(self.writes)
        self._store(after)
        self.writes = writes

    def deliver(self) -> bool:
        """The oldest request in flight arrives; whether it took effect."""
        _, patch = self.in_flight.pop(0)
        return self.apply(patch) is None

    def edit_scaler(self, **spec: Any) -> None:
        self.scaler["spec"].update(spec)
        self.scaler["metadata"]["generation"] += 1

    def replace_target(self, uid: str = "target-2", **counts: int) -> None:
        self.target = target_document(**(counts or {"prefill": 2, "decode": 2}))
        self.target["metadata"]["uid"] = uid

    def _is_admitted(self, replica: tuple[str, int]) -> bool:
        workload = self.workloads.get(replica)
        return workload is not None and workload["status"]["conditions"][0]["status"] == "True"

    def start(self, replica: tuple[str, int], *, admitted: bool) -> None:
        """The operator creates a replica: its Pods, and a Workload of its own."""
        self.uids += 1
        self.pods.add(replica)
        self.workloads[replica] = {
            "metadata": {
                "name": workload_name(NAMESPACE, NAME, *replica),
                "namespace": NAMESPACE,
                "uid": f"workload-{self.uids}",
            },
            "status": {"conditions": [{"type": "Admitted", "status": "True" if admitted else "False"}]},
        }  # fmt: skip

    def admit(self, replica: tuple[str, int]) -> None:
        self.workloads[replica]["status"]["conditions"][0]["status"] = "True"

    def remove(self, replica: tuple[str, int]) -> None:
        """A replica is gone for good."""
        self.pods.discard(replica)
        self.workloads.pop(replica, None)

    def surplus(self) -> list[tuple[str, int]]:
        found = {r for r in (*self.pods, *self.workloads) if r[1] >= self.vector[r[0]]}
        return sorted(found, key=lambda r: (r[0], -r[1]))

    def echo(self) -> None:
        """The operator reports the counts that it works towards."""
        assert self.target is not None
        for role in self.target["status"]["roles"]:
            role["desired"] = self.vector[role["name"]]

    def retire(self, state: str = "Draining", replica: tuple[str, int] | None = None) -> None:
        """The operator shows a retirement record for the next surplus replica."""
        assert self.target is not None
        role, ordinal = replica or self.surplus()[0]
        self.target["status"]["retirement"] = {
            "roleName": role,
            "replicaOrdinal": ordinal,
            "observedGeneration": self.target["metadata"]["generation"],
            "state": state,
        }

    def clear_record(self) -> None:
        assert self.target is not None
        self.target["status"].pop("retirement", None)

    def operate(self) -> None:
        """One round of the target's operator: echo, create and admit what is declared, retire what is not."""
        assert self.target is not None
        self.echo()
        record = self.target["status"].get("retirement")
        if record is not None and (record["roleName"], record["replicaOrdinal"]) not in self.surplus():
            self.clear_record()
        for role, count in self.vector.items():
            for ordinal in range(count):
                if (role, ordinal) not in self.pods:
                    self.start((role, ordinal), admitted=False)
        running = sum(self._is_admitted(replica) for replica in self.workloads)
        for replica in sorted(self.workloads):
            if not self._is_admitted(replica) and running < self.quota:
                self.admit(replica)
                running += 1
        if self.surplus():
            self._retire_one()

    def _retire_one(self) -> None:
        assert self.target is not None
        record = self.target["status"].get("retirement")
        if record is None:
            self.retire("Admitted")
        elif record["state"] != "Aborted":
            self.remove((record["roleName"], record["replicaOrdinal"]))
            self.clear_record()

    def settle_down(self, rounds: int = 12) -> None:
        """The operator and the scaler until nothing moves, without a plan."""
        for _ in range(rounds):
            self.operate()
            self.run()

    def decision(self) -> Mapping[str, int] | None:
        text = self.annotations.get(DECISION)
        return None if text is None else parse_decision(text).vector


def bound(**members: Any) -> Cluster:
    """A cluster whose scaler holds the binding under term 1."""
    cluster = Cluster(**members)
    cluster.run()
    assert cluster.term == 1
    cluster.notes.clear()
    return cluster
