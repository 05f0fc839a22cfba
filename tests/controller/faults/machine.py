"""The state machine: whatever can happen next, to two processes, the server, the operator, the engines and people."""

import asyncio
import itertools
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from scaler_controller.runtime.requeue import RequeueAfter
from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ConditionStatus
from scaler_core.api.pod import Pod
from scaler_core.api.reasons import ConditionType
from scaler_core.model.scrape import Engine, EngineCounters, PodScrape, ScrapeFailure, TargetScrape
from scaler_core.ratios.capacity_first import capacity_first
from scaler_core.ratios.propagation import lattice_of
from scaler_core.signals.replicas import target_pods
from scaler_core.transactions import legality
from scaler_kube.errors import KubeError
from tests.controller.faults.judge import Judge
from tests.controller.faults.operator import Operator
from tests.controller.faults.processes import KINDS, SERVER_SECONDS, Controller, Fate, Flight
from tests.controller.faults.server import KEY, PODS, SCALERS, TARGETS, ModelClock, Server

LOOP = asyncio.new_event_loop()
ROLES = ("prefill", "decode", "encode")
MAXIMUM = 6
INTERVAL = 10.0
PENDING_SECONDS = 60
PER_REPLICA = 4
"""Requests that one replica shall have."""
MOST_PASSES = 6
VECTORS = st.fixed_dictionaries({role: st.integers(1, MAXIMUM) for role in ROLES})
LOADS = st.fixed_dictionaries({role: st.integers(0, MAXIMUM + 1) for role in ROLES})
"""Replicas that the load of each role asks for."""
EDITS = {
    "image": {},
    "suspend": {"suspend": True},
    "resume": {"suspend": False, "mode": "Active"},
    "shadow": {"mode": "Shadow"},
    "narrow": {"roles": [{"name": role, "minReplicas": 1, "maxReplicas": 4} for role in ROLES]},
    "widen": {"roles": [{"name": role, "minReplicas": 1, "maxReplicas": MAXIMUM} for role in ROLES]},
    "priority": {"rebalance": {"policy": "Priority", "priority": list(ROLES)}},
    "opposing": {"rebalance": {"policy": "Opposing", "priority": None}},
}
"""What people change of the target (image) or of the scaler's spec."""


def fates_of(first: int, one: Fate, second: int, other: Fate) -> list[Fate]:
    """Fates of the next requests: so many are served, then one is not, and again; those after the last are served."""
    return [*[Fate.SERVED] * first, one, *[Fate.SERVED] * second, other]


FATES = st.builds(
    fates_of,
    first=st.integers(0, 5),
    one=st.sampled_from(Fate),
    second=st.integers(0, 4),
    other=st.sampled_from(Fate),
)
STALE = st.sets(st.sampled_from([resource.plural for resource in KINDS]), max_size=3)


def target_document(counts: Mapping[str, int]) -> dict[str, Any]:
    roles = [
        {"name": role, "kind": role.capitalize(), "replicas": count, "instanceType": "gpu"}
        for role, count in counts.items()
    ]
    return {
        "apiVersion": TARGETS.api_version,
        "kind": "ModelDeployment",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "model": {"name": "some/model"},
            "engine": {"name": "vLLM"},
            "router": {"name": "llm-d-router"},
            "roles": roles,
        },
    }


def scaler_document(policy: str) -> dict[str, Any]:
    rebalance = {"policy": policy} | ({"priority": list(ROLES)} if policy == "Priority" else {})
    return {
        "apiVersion": SCALERS.api_version,
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "targetRef": {"name": KEY.name},
            "mode": "Active",
            "sampling": {"intervalSeconds": int(INTERVAL), "pendingTimeoutSeconds": PENDING_SECONDS},
            "roles": [{"name": role, "minReplicas": 1, "maxReplicas": MAXIMUM} for role in ROLES],
            "ratios": [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "0.5", "max": "2"}],
            "algorithm": {
                "proportional": {
                    "metric": "QueueDepth",
                    "roleTargets": [{"name": role, "target": str(PER_REPLICA)} for role in ROLES],
                }
            },
            "behavior": {
                "scaleDown": {
                    "stabilizationWindowSeconds": 5,
                    "cooldownAfterAbortSeconds": 60,
                    "decodePostScaleUpGraceSeconds": 1,
                    "stepPolicy": {"type": "Pods", "value": 3},
                }
            },
            "rebalance": rebalance,
        },
    }


@cache
def _bound(policy: str) -> tuple[dict[str, Any], ...]:
    """A cluster whose scaler holds the binding of a target with two replicas of each role."""
    server = Server(ModelClock())
    LOOP.run_until_complete(server.begin(target_document(dict.fromkeys(ROLES, 2)), scaler_document(policy)))
    operator = Operator(server, 100)
    for _ in range(3):
        operator.round()
    process = Controller(server, LOOP, [], lambda *_: None)
    for _ in range(5):
        process.sync()
        process.run()
    assert server.is_bound
    return tuple(server.documents())


class Faults(RuleBasedStateMachine):
    """Each rule is one thing that can happen next."""

    @initialize(
        policy=st.sampled_from(["Opposing", "Priority", "Disabled"]), quota=st.integers(6, 10), converges=st.booleans()
    )
    def begin(self, policy: str, quota: int, converges: bool) -> None:
        Controller.ids = itertools.count(1)
        self.clock = ModelClock()
        self.server = Server(self.clock)
        LOOP.run_until_complete(self.server.resume(_bound(policy)))
        self.operator = Operator(self.server, quota)
        self.judge = Judge(self.server, self.operator)
        self.flights: list[Flight] = []
        self.processes: list[Controller] = []
        self.loads = dict.fromkeys(ROLES, 2)
        self.converges = converges
        self.spawn()
        self.judge.look()

    # -- processes ----------------------------------------------------------------------------------------------------

    @property
    def leader(self) -> Controller:
        return self.processes[-1]

    def spawn(self) -> None:
        process = Controller(self.server, LOOP, self.flights, self.judge.hear)
        process.sync()
        self.processes.append(process)
        self.judge.processes.append(process)

    def living(self, which: int) -> Controller:
        return self.processes[which % len(self.processes)]

    @rule(loads=LOADS, fates=FATES, rounds=st.integers(0, 3))
    def live(self, loads: dict[str, int], fates: list[Fate], rounds: int) -> None:
        """An interval: the operator works, load changes, the leader samples it and passes until it would wait."""
        self.interval(self.leader, loads, fates, rounds)

    @rule(loads=LOADS, fates=FATES)
    def starve(self, loads: dict[str, int], fates: list[Fate]) -> None:
        """Growth that finds no room until its wait expires."""
        self.operator.quota = sum(self.server.counts().values())
        more = {role: max(self.server.counts().get(role, 1), load) for role, load in loads.items()}
        self.interval(self.leader, more, [], 1)
        self.clock.seconds += PENDING_SECONDS
        self.interval(self.leader, loads, fates, 2)

    @rule(receiver=st.sampled_from(ROLES), fates=FATES, is_aborted=st.booleans())
    def rebalance(self, receiver: str, fates: list[Fate], is_aborted: bool) -> None:
        """One role needs more than there is room for, and the others less than they have."""
        loads = {role: MAXIMUM if role == receiver else 1 for role in ROLES}
        self.starve(loads={**self.server.counts(), receiver: MAXIMUM}, fates=[])
        self.interval(self.leader, loads, fates[:3], 16)
        self.interval(self.leader, loads, [], 0)
        if is_aborted:
            self.operator.abort()
        self.interval(self.leader, loads, fates[3:], 6)

    @rule(
        loads=LOADS,
        what=st.sampled_from(["image", *EDITS]),
        seconds=st.sampled_from([0, 5, 14, 31]),
        fates=FATES,
        leads=st.booleans(),
    )
    def overtake(self, loads: dict[str, int], what: str, seconds: int, fates: list[Fate], leads: bool) -> None:
        """A commit that gets no answer, an edit, a calmer pass of somebody, and only then the commit's arrival."""
        calm = {role: self.server.counts().get(role, 1) for role in ROLES}
        self.pass_time(self.leader, loads, 1)
        committer = self.leader
        committer.run([Fate.SERVED, Fate.LATE])  # one pass: the next one would already look after it
        self.after(committer)
        if leads:
            self.change_leader()
        self.edit(what)
        self.clock.seconds += seconds
        self.sample(len(self.processes) - 1, calm, set())
        self.passes(self.leader, fates)
        if self.flights:
            self.arrive(len(self.flights) - 1)
        self.passes(self.leader, [])

    @rule(loads=LOADS, fates=FATES, is_aborted=st.booleans())
    def shrink(self, loads: dict[str, int], fates: list[Fate], is_aborted: bool) -> None:
        """Less load than before, and a retirement that may be aborted."""
        less = {role: min(max(1, self.server.counts().get(role, 1) - 2), load) for role, load in loads.items()}
        self.interval(self.leader, less, [], 1)
        self.interval(self.leader, less, fates[:2], 1)
        if is_aborted:
            self.operator.abort()
        self.interval(self.leader, loads, fates[2:], 1)

    @rule(which=st.integers(0, 1), fates=FATES, stale=STALE)
    def reconcile(self, which: int, fates: list[Fate], stale: set[str]) -> None:
        """A pass (or the rest of a paused one) of one process, with caches of which some lag."""
        process = self.living(which)
        process.sync(without=stale)
        process.run(fates)
        self.after(process)

    @rule(which=st.integers(0, 1), loads=LOADS, failing=st.sets(st.sampled_from(ROLES), max_size=2))
    def sample(self, which: int, loads: dict[str, int], failing: set[str]) -> None:
        """One process reads the engines, some of which do not answer."""
        process = self.living(which)
        self.loads = loads
        if process.scrape is None or process.scrape.taken_at + INTERVAL <= self.clock.now():
            self.read_engines(process, frozenset(failing))

    def interval(self, process: Controller, loads: dict[str, int], fates: list[Fate], rounds: int) -> None:
        self.pass_time(process, loads, rounds)
        self.passes(process, fates)

    def pass_time(self, process: Controller, loads: dict[str, int], rounds: int) -> None:
        """An interval goes by, and the engines are read at its end."""
        self.loads = loads
        for _ in range(rounds):
            self.operator.round()
        self.clock.seconds += INTERVAL
        process.sync()
        self.read_engines(process, frozenset())

    def passes(self, process: Controller, fates: list[Fate]) -> None:
        """As the work queue would: again at once while there is more to do."""
        process.transport.fates = deque(fates)
        for _ in range(MOST_PASSES):
            is_rest = process.is_paused
            process.sync()
            result = process.run()
            is_over = process.is_dead or process.is_paused or isinstance(result, KubeError)
            if is_over or (isinstance(result, RequeueAfter) and result.seconds > 0):
                break
        self.after(process)
        if not is_over and not is_rest:  # the rest of a paused pass has seen only what there was before
            self.judge.judge_adoption()

    def after(self, process: Controller) -> None:
        if process.is_dead:
            process.kill()
            self.processes.remove(process)
        if not self.processes:
            self.spawn()
        self.judge.look()

    @rule()
    def change_leader(self) -> None:
        """Another process takes over while the old one lives on, with its old caches, memory and requests."""
        if len(self.processes) < 2:
            self.spawn()
        else:
            self.processes.pop(0).kill()

    # -- requests that nobody waits for any more ----------------------------------------------------------------------

    @precondition(lambda self: self.flights)
    @rule(which=st.integers(0, 3))
    def arrive(self, which: int) -> None:
        """A request arrives after its sender gave up: in time, or beyond every deadline."""
        flight, before = self.flights.pop(which % len(self.flights)), self.server.version
        is_overdue = self.clock.now() - flight.sent_at > SERVER_SECONDS
        self.serve(flight)
        if is_overdue:
            self.judge.overdue |= set(range(before, self.server.version + 1))
        self.judge.look()

    def serve(self, flight: Flight) -> None:
        async def quietly() -> None:
            try:
                await flight.serve()
            except KubeError:
                return

        LOOP.run_until_complete(quietly())

    # -- the world ----------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 5, 16, 31, 61, 301]))
    def wait(self, seconds: int) -> None:
        self.clock.seconds += seconds

    @rule(rounds=st.integers(1, 4))
    def operate(self, rounds: int) -> None:
        for _ in range(rounds):
            self.operator.round()
        self.judge.look()

    @rule(what=st.sampled_from(["abort", "evict", "compact", "room", "no room"]), index=st.integers(0, 20))
    def disturb(self, what: str, index: int) -> None:
        match what:
            case "abort":
                self.operator.abort()
            case "evict":
                self.operator.evict(index)
            case "compact":
                for process in self.processes:
                    process.versions = dict.fromkeys(process.versions, 0)
            case _:
                self.operator.quota = index if what == "no room" else 100
        self.judge.look()

    # -- people -------------------------------------------------------------------------------------------------------

    @rule(what=st.sampled_from([*EDITS]))
    def edit(self, what: str) -> None:
        self.do(self.server.edit_image() if what == "image" else self.server.edit(SCALERS, {"spec": EDITS[what]}))

    @rule(counts=VECTORS, how=st.sampled_from(["by hand", "past the fence", "with a new target"]))
    def take_over(self, counts: dict[str, int], how: str) -> None:
        """Somebody else moves the counts."""
        match how:
            case "by hand":
                was_bound, before = self.server.is_bound, self.server.counts()
                refusal = self.do(self.server.set_counts(counts))
                assert refusal or not was_bound or before == counts, "nobody but us moves the counts of a bound target"
            case "past the fence":
                self.server.set_counts_past_the_fence(counts)
                self.judge.look()
            case _:
                self.do(self.server.delete(TARGETS))
                self.do(self.server.create(TARGETS, target_document(dict.fromkeys(ROLES, 2))))

    def do(self, edit: Any) -> str:
        refusal: str = LOOP.run_until_complete(edit)
        self.judge.look()
        return refusal

    # -- samples ------------------------------------------------------------------------------------------------------

    def read_engines(self, process: Controller, failing: frozenset[str]) -> None:
        """What the engines answer now; the load of a role is spread over its ready Pods."""
        document = self.server.get(TARGETS)
        if document is None:
            return
        target = ModelDeployment.from_wire(document)
        ready = [pod for pod in target_pods(target, map(Pod.from_wire, self.server.all(PODS))) if pod.is_ready]
        by_role = {role: [pod for pod in ready if pod.role == role] for role in ROLES}
        pods = tuple(self.pod_scrape(pod, by_role, failing) for pod in ready)
        process.scrape = TargetScrape(
            target_uid=target.metadata.uid,
            taken_at=self.clock.now(),
            pods=pods,
            answering={role: len(found) for role, found in by_role.items()},
        )

    def pod_scrape(self, pod: Pod, by_role: Mapping[str, list[Pod]], failing: frozenset[str]) -> PodScrape:
        role = by_role[pod.role]
        total = self.loads[pod.role] * PER_REPLICA
        place = role.index(pod)
        share = total // len(role) + (1 if place < total % len(role) else 0)
        outcome = EngineCounters(engine=Engine.VLLM, running=float(share), waiting=0.0)
        return PodScrape(
            pod_uid=pod.metadata.uid,
            pod_name=pod.metadata.name,
            role=pod.role,
            ordinal=pod.ordinal or 0,
            member=pod.member,
            container=pod.engine_id,
            outcome=ScrapeFailure(why="HTTP 500") if pod.role in failing else outcome,
        )

    # -- the end ------------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "processes"):
            return
        try:
            self.judge.look()
            if self.converges:
                self.converge()
        finally:
            for process in self.processes:
                process.kill()
            LOOP.run_until_complete(asyncio.sleep(0))

    def converge(self) -> None:
        """Faults have stopped, there is room for everything, and one process is left."""
        while len(self.processes) > 1:
            self.processes.pop(0).kill()
        self.flights.clear()
        self.operator.quota = 100
        if self.leader.is_paused:
            self.leader.run([])
            self.after(self.leader)
        self.do(self.server.edit(SCALERS, {"spec": {"suspend": False, "mode": "Active"}}))
        quiet = 0
        for _ in range(150):
            before = self.server.version
            self.live_on()
            quiet = quiet + 1 if self.server.version == before else 0
            if quiet == 2:  # whatever waits for its time has it now
                self.clock.seconds += PENDING_SECONDS
            if quiet >= 5:
                break
        self.judge_rest()

    def live_on(self) -> None:
        """One interval without faults."""
        self.clock.seconds += INTERVAL
        status = self.status()
        if status.exhaustion is not None and status.pending_cohort is None:
            self.clock.seconds = max(self.clock.seconds, status.exhaustion.retry_at)
        if status.refusal is not None:
            self.clock.seconds = max(self.clock.seconds, status.refusal.retry_at)
        self.operator.give_up_aborted()
        self.operator.round()
        self.read_engines(self.leader, frozenset())
        self.passes(self.leader, [])

    def status(self) -> Any:
        document = self.server.get(SCALERS)
        assert document is not None
        return defaulting.load(document).status

    def judge_rest(self) -> None:
        """Nothing is under way, and the counts are what the load asks for."""
        document = self.server.get(SCALERS)
        assert document is not None
        scaler = defaulting.load(document)
        bound = scaler.status.condition(ConditionType.BOUND)
        assert bound is not None
        if bound.status is not ConditionStatus.TRUE:
            assert bound.reason in ("TargetReplaced", "InvalidBinding"), bound
            return
        target = self.server.get(TARGETS)
        assert target is not None
        self.judge.judge_owed(scaler, target["metadata"]["uid"])
        status, counts = scaler.status, self.server.counts()
        assert status.pending_commit is None
        assert status.pending_cohort is None
        assert status.last_scale_down is None or status.last_scale_down.is_finished
        assert status.rebalance is None or status.rebalance.reason not in ("DonorRelease", "ReceiverAcquire")
        if not legality.is_legal(counts, scaler.spec):
            blocked = status.condition(ConditionType.BLOCKED)
            assert blocked is not None
            assert blocked.reason in ("BoundsConflict", "RatioConflict"), blocked
            return
        low, high = zip(*((role.min_replicas, role.max_replicas) for role in scaler.spec.roles), strict=True)
        wish = [max(1, self.loads[role]) for role in ROLES]
        expected = capacity_first(lattice_of(ROLES, scaler.spec.ratios), wish, low, high)
        assert [counts[role] for role in ROLES] == expected, (counts, self.loads, status)
