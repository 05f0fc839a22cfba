"""The whole pass: snapshots in, decisions out, with no I/O anywhere."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scaler_core import transactions
from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ConditionStatus
from scaler_core.api.ownership import BINDING, Binding
from scaler_core.api.reasons import ConditionType, Reason, RoleReason
from scaler_core.api.scaler import FINALIZER, ModelDeploymentScaler
from scaler_core.api.scaler_status import Cause, Commit, ScalerStatus
from scaler_core.constraining import plan_input
from scaler_core.decision import Decision, decide
from scaler_core.model.action import AddFinalizer, Bind, CommitVector
from scaler_core.model.scrape import PodScrape, TargetScrape
from scaler_core.model.world import Snapshot, World
from scaler_core.observation import Memory
from tests.core.signals import worlds

START = 1_700_000_000.0
INTERVAL = 15.0


def scaler(status: ScalerStatus | None = None, generation: int = 1, **spec: Any) -> ModelDeploymentScaler:
    document = {
        "metadata": {
            "name": "scale",
            "namespace": "default",
            "uid": "scaler-uid",
            "generation": generation,
            "finalizers": [FINALIZER],
        },
        "spec": {
            "targetRef": {"name": "llm"},
            "roles": [{"name": "server", "maxReplicas": 8}],
            "algorithm": {"proportional": {"metric": "QueueDepth", "roleTargets": [{"name": "server", "target": "4"}]}},
            **spec,
        },
    }
    found = defaulting.load(document)  # type: ignore[arg-type]
    return found if status is None else found.model_copy(update={"status": status})


def deployment(annotations: Mapping[str, str] | None = None, **counts: int) -> ModelDeployment:
    target = worlds.target(**counts)
    changes = {"annotations": dict(annotations or {}), "generation": 3, "resource_version": "7"}
    return target.model_copy(update={"metadata": target.metadata.model_copy(update=changes)})


OURS = {BINDING: Binding(scaler_name="scale", scaler_uid="scaler-uid", term=1).render()}


class Passes:
    """Passes over one scaler; the status of each is stored before the next."""

    def __init__(self, spec: ModelDeploymentScaler, target: ModelDeployment) -> None:
        self.scaler = spec
        self.target = target
        self.memory: Memory | None = None
        self.number = 0

    def run(self, at: float, waiting: float | None = None) -> Decision:
        """One pass at START + at; with `waiting` requests on every ready engine as a new sample."""
        pods = tuple(worlds.pods("server", self.target.vector["server"]))
        scrape = None if waiting is None else self.sample(at, pods, waiting)
        world = World(now=START + at, scaler=self.scaler, target=self.target, pods=pods, workloads=None)
        self.number += 1
        decision, self.memory = decide(Snapshot(world=world, scrape=scrape), self.memory, f"decision-{self.number}")
        self.scaler = self.scaler.model_copy(update={"status": decision.status})
        return decision

    def sample(self, at: float, pods: tuple[Any, ...], waiting: float) -> TargetScrape:
        counters = worlds.vllm(waiting=waiting)
        return TargetScrape(
            target_uid=worlds.UID,
            taken_at=START + at,
            pods=tuple(
                PodScrape(
                    pod_uid=pod.metadata.uid,
                    pod_name=pod.metadata.name,
                    role="server",
                    ordinal=pod.ordinal or 0,
                    member=0,
                    container=pod.engine_id,
                    outcome=counters,
                )
                for pod in pods
            ),
            answering={"server": len(pods)},
        )


def status_of(decision: Decision, type_: ConditionType) -> tuple[ConditionStatus, str]:
    condition = decision.status.condition(type_)
    assert condition is not None
    return condition.status, condition.reason


def bound(status: ScalerStatus) -> ScalerStatus:
    """As after a bind under term one."""
    assert status.binding is not None
    binding = status.binding.model_copy(update={"term": 1, "term_floor": 1, "pending_term": None})
    return status.model_copy(update={"binding": binding})


def owner(waiting_before: float = 4.0, **counts: int) -> Passes:
    """An Active scaler that owns its target and has one sample behind it."""
    passes = Passes(scaler(mode="Active"), deployment(**counts))
    first = passes.run(0)
    assert isinstance(first.action, Bind)
    passes.scaler = passes.scaler.model_copy(update={"status": bound(first.status)})
    passes.target = deployment(OURS, **counts)
    passes.run(1, waiting_before)
    return passes


def test_shadow_recommends_without_asking_for_any_write() -> None:
    passes = Passes(scaler(), deployment(server=2))
    decision = passes.run(0, waiting=8.0)
    assert decision.action is None
    (role,) = decision.status.roles
    assert (role.raw_recommended_replicas, role.constrained_replicas, role.current_replicas) == (4, 4, 2)
    assert status_of(decision, ConditionType.ACTIVE) == (ConditionStatus.FALSE, Reason.SHADOW_MODE)
    assert status_of(decision, ConditionType.METRICS_READY) == (ConditionStatus.TRUE, Reason.OBSERVED)


def test_the_finalizer_comes_before_the_binding() -> None:
    fresh = scaler(mode="Active")
    fresh = fresh.model_copy(update={"metadata": fresh.metadata.model_copy(update={"finalizers": ()})})
    assert isinstance(Passes(fresh, deployment(server=2)).run(0).action, AddFinalizer)


def test_a_bind_stores_its_term_first() -> None:
    decision = Passes(scaler(mode="Active"), deployment(server=2)).run(0)
    assert isinstance(decision.action, Bind)
    assert decision.status.binding is not None
    assert decision.status.binding.pending_term == decision.action.term == 1


def test_growth_is_committed_with_the_intent_stored_in_the_same_status() -> None:
    decision = owner(server=2).run(16, waiting=8.0)
    assert isinstance(decision.action, CommitVector)
    assert decision.action.intent.vector == {"server": 4}
    assert decision.action.intent.baseline_vector == {"server": 2}
    assert decision.status.pending_commit == decision.action.intent
    assert "16" in decision.action.why


def test_one_sample_moves_counts_once() -> None:
    passes = owner(server=2)
    committed = passes.run(16, waiting=8.0)
    assert isinstance(committed.action, CommitVector)
    landed = committed.action.intent.model_copy(update={"timestamp": START + 17})
    status = committed.status.model_copy(update={"pending_commit": None, "last_commit": landed})
    passes.scaler = passes.scaler.model_copy(update={"status": status})
    again = passes.run(18)
    assert again.action is None


def test_an_event_between_samples_changes_no_window() -> None:
    passes = owner(server=2)
    before = passes.memory
    passes.run(5)
    assert passes.memory is not None
    assert before is not None
    assert passes.memory.histories == before.histories


def test_a_pass_without_any_memory_never_shrinks() -> None:
    passes = owner(waiting_before=0.0, server=4)
    passes.memory = None
    decision = passes.run(16, waiting=0.0)
    assert decision.action is None
    assert decision.status.roles[0].constrained_replicas == 4


def test_an_idle_role_shrinks_once_its_window_spans() -> None:
    passes = owner(waiting_before=0.0, server=3)
    actions = [passes.run(16 + INTERVAL * step, waiting=0.0).action for step in range(21)]
    assert [action for action in actions[:-2] if action is not None] == []
    found = next(action for action in actions if action is not None)
    assert isinstance(found, CommitVector)
    assert found.intent.vector == {"server": 2}


def test_failed_reads_hold_and_the_condition_names_the_pod() -> None:
    passes = owner(server=2)
    decision = passes.run(16 + 3 * INTERVAL)
    assert decision.action is None
    condition = decision.status.condition(ConditionType.METRICS_READY)
    assert condition is not None
    assert (condition.status, condition.reason) == (ConditionStatus.FALSE, Reason.WAITING_FOR_METRICS)


def test_a_role_without_bounds_stops_planning_and_tells_once() -> None:
    passes = Passes(scaler(), deployment(server=2, decode=1))
    first, second = passes.run(0), passes.run(1)
    assert status_of(first, ConditionType.BLOCKED) == (ConditionStatus.TRUE, Reason.BOUNDS_CONFLICT)
    assert status_of(first, ConditionType.METRICS_READY) == (ConditionStatus.FALSE, Reason.BOUNDS_CONFLICT)
    assert [note.reason for note in first.notes] == ["BoundsConflict"]
    assert second.notes == ()


def test_counts_outside_their_bounds_hold_and_say_the_way_out() -> None:
    passes = Passes(scaler(roles=[{"name": "server", "minReplicas": 3, "maxReplicas": 8}]), deployment(server=2))
    decision = passes.run(0, waiting=9.0)
    condition = decision.status.condition(ConditionType.BLOCKED)
    assert condition is not None
    assert condition.reason == Reason.BOUNDS_CONFLICT
    assert "suspend" in condition.message
    assert decision.status.roles[0].reason == RoleReason.BOUNDS


@pytest.mark.parametrize(
    ("spec", "target", "expected"),
    [
        pytest.param({"suspend": True}, deployment(server=2), Reason.SUSPENDED, id="suspended"),
        pytest.param({}, None, Reason.TARGET_NOT_FOUND, id="no target"),
        pytest.param(
            {"mode": "Active"}, deployment({BINDING: "{"}, server=2), Reason.INVALID_BINDING, id="unreadable binding"
        ),
    ],
)
def test_early_exits_leave_no_older_verdict(
    spec: dict[str, Any], target: ModelDeployment | None, expected: Reason
) -> None:
    world = World(now=START, scaler=scaler(generation=4, **spec), target=target)
    decision, _ = decide(Snapshot(world=world), None, "d")
    found = {c.type: (c.status, c.reason, c.observed_generation) for c in decision.status.conditions}
    assert found["Bound"][1] == found["Active"][1] == expected
    assert found["MetricsReady"][0] == ConditionStatus.UNKNOWN
    assert {generation for _, _, generation in found.values()} == {4}


def test_a_steady_pass_moves_nothing_in_the_control_plane() -> None:
    from scaler_core.reporting.movement import has_moved

    passes = owner(waiting_before=4.0, server=2)
    before = passes.scaler.status
    decision = passes.run(16, waiting=4.2)
    assert not has_moved(before, decision.status)


def test_after_a_rollback_the_signals_are_judged_with_the_next_sample() -> None:
    passes = owner(server=2)
    undone = Commit(
        decision_id="undone",
        term=1,
        vector={"server": 2},
        baseline_vector={"server": 4},
        timestamp=START + 2,
        target_generation=3,
        cause=Cause.ROLLBACK,
    )
    status = passes.scaler.status.model_copy(update={"last_commit": undone})
    passes.scaler = passes.scaler.model_copy(update={"status": status})
    stopped = (ConditionStatus.FALSE, Reason.RESOURCE_EXHAUSTED)
    assert status_of(passes.run(3), ConditionType.METRICS_READY) == stopped
    assert status_of(passes.run(17, waiting=4.0), ConditionType.METRICS_READY) == (
        ConditionStatus.TRUE,
        Reason.OBSERVED,
    )


def test_an_edited_metric_forgets_windows_and_an_edited_target_does_not() -> None:
    passes = owner(server=2)
    assert passes.memory is not None
    kept = passes.memory.for_world(world_of(passes, "QueueDepth", "5"))
    dropped = passes.memory.for_world(world_of(passes, "RunningRequests", "4"))
    assert kept.histories
    assert not dropped.histories


def world_of(passes: Passes, metric: str, target: str) -> World:
    edited = scaler(
        algorithm={"proportional": {"metric": metric, "roleTargets": [{"name": "server", "target": target}]}}
    )
    return World(now=START, scaler=edited, target=passes.target)


def test_a_replayed_snapshot_gives_the_same_decision() -> None:
    passes = owner(server=2)
    memory, world = passes.memory, World(now=START + 16, scaler=passes.scaler, target=passes.target)
    pods = tuple(worlds.pods("server", 2))
    snapshot = Snapshot(world=replace(world, pods=pods), scrape=passes.sample(16, pods, 9.0))
    assert decide(snapshot, memory, "d")[0] == decide(snapshot, memory, "d")[0]


def test_the_planner_knows_the_lowest_ready_replica() -> None:
    passes = owner(server=2)
    pods = (worlds.pod("server", 0, ready=False), worlds.pod("server", 1))
    world = World(now=START + 16, scaler=passes.scaler, target=passes.target, pods=pods)
    decision, _ = decide(Snapshot(world=world, scrape=passes.sample(16, pods[1:], 1.0)), passes.memory, "d")
    assert decision.observation is not None
    given = plan_input(world, passes.target, transactions.settle(world, "d"), decision.observation, {})
    assert [role.lowest_ready for role in given.roles] == [1]
