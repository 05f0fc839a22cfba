"""Every order of passes, faults, admissions, retirements and edits: what must hold in all of them.

The cluster holds every pass to the machines' tables besides (tables.py).
"""

import copy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scaler_core import transactions
from scaler_core.api.ownership import DECISION, parse_decision
from scaler_core.api.scaler_status import Cause, ScalerStatus
from scaler_core.transactions import cohort, legality, rebalance, retirement
from tests.core.transactions.cluster import Cluster, Fault, bound, plan_of, scaler_document, target_document

ROLES = ("prefill", "decode", "encode")
BAND = [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "0.5", "max": "2"}]
counts = st.fixed_dictionaries({role: st.integers(1, 6) for role in ROLES})
faults = st.sampled_from([Fault.NONE, Fault.NONE, *Fault])


def start() -> Cluster:
    spec = {
        "roles": [{"name": role, "minReplicas": 1, "maxReplicas": 6} for role in ROLES],
        "ratios": BAND,
        "sampling": {"pendingTimeoutSeconds": 60},
        "rebalance": {"policy": "Priority", "priority": list(ROLES)},
    }
    return bound(scaler=scaler_document(**spec), target=target_document(prefill=2, decode=2, encode=2), quota=8)


class Model(RuleBasedStateMachine):
    """The scaler and its target; each rule is one thing that can happen next."""

    @initialize()
    def begin(self) -> None:
        self.cluster = start()
        self.highest_term = 1
        self.is_foreign = False
        """Counts were changed past the fence and no legal vector was written since."""
        self.donated: set[int] = set()
        self.views: list[Any] = []
        self.after_pass(self.cluster.status)

    # -- what happens -------------------------------------------------------------------------------------------------

    @rule(wish=counts, fault=faults)
    def plan(self, wish: dict[str, int], fault: Fault) -> None:
        """A pass whose planner keeps to what it is told."""
        before = self.cluster.status
        self.cluster.run(lambda target: self.obedient_plan(target.vector, wish, target), fault)
        self.after_pass(before)

    @rule(fault=faults, fresh=st.booleans())
    def look(self, fault: Fault, fresh: bool) -> None:
        before = self.cluster.status
        self.cluster.run(fault=fault, fresh=fresh)
        self.after_pass(before)

    @rule(data=st.data(), fault=faults, wish=counts)
    def plan_on_a_lagging_cache(self, data: Any, fault: Fault, wish: dict[str, int]) -> None:
        """The target as it was some time ago, and a planner that believes it."""
        before = self.cluster.status
        cached = data.draw(st.sampled_from(self.views))
        spec = self.cluster.snapshot().scaler.spec
        self.cluster.run(
            lambda target: plan_of(target, wish if legality.is_legal(wish, spec) else target.vector),
            fault,
            cached=cached,
        )
        self.after_pass(before)

    @rule()
    def operate(self) -> None:
        self.cluster.operate()

    @precondition(lambda self: self.cluster.surplus())
    @rule(data=st.data())
    def abort(self, data: Any) -> None:
        cluster = self.cluster
        record = (cluster.target or {})["status"].get("retirement")
        if record is None:
            cluster.retire("Aborted", data.draw(st.sampled_from(cluster.surplus())))
        else:
            record["state"] = "Aborted"

    @rule(seconds=st.sampled_from([1, 15, 31, 61, 301, -50]))
    def wait(self, seconds: int) -> None:
        self.cluster.now += seconds

    @precondition(lambda self: self.cluster.in_flight)
    @rule()
    def deliver(self) -> None:
        self.cluster.deliver()

    @precondition(lambda self: self.cluster.in_flight)
    @rule()
    def lose(self) -> None:
        self.cluster.in_flight.pop(0)

    @rule(quota=st.integers(3, 20))
    def change_quota(self, quota: int) -> None:
        self.cluster.quota = quota

    @rule()
    def evict(self) -> None:
        for workload in list(self.cluster.workloads.values())[:1]:
            workload["status"]["conditions"][0]["status"] = "False"

    @rule()
    def edit_target(self) -> None:
        self.cluster.edit()

    @rule(wish=counts)
    def change_counts_past_the_fence(self, wish: dict[str, int]) -> None:
        self.cluster.edit(wish)
        self.is_foreign = True

    @rule()
    def edit_scaler(self) -> None:
        self.cluster.edit_scaler()

    @rule(suspend=st.booleans())
    def suspend(self, suspend: bool) -> None:
        self.cluster.edit_scaler(suspend=suspend)

    @rule(mode=st.sampled_from(["Shadow", "Active"]))
    def change_mode(self, mode: str) -> None:
        self.cluster.edit_scaler(mode=mode)

    # -- the planner --------------------------------------------------------------------------------------------------

    def obedient_plan(self, current: dict[str, int], wish: dict[str, int], target: Any) -> Any:
        """One step towards a wish inside the limits of this pass; nothing when that would be illegal."""
        found = self.limits()
        vector = dict(current)
        for role, wanted in wish.items():
            if wanted > current[role] and not found["growth"] and role not in found["waiting"]:
                vector[role] = max(current[role], min(wanted, found["caps"].get(role, wanted)))
            if wanted < current[role] and not found["shrink"] and role not in found["held"]:
                vector[role] = current[role] - 1
        pair = {"prefill", "decode"}
        if any(vector[role] > current[role] for role in pair):
            vector.update({role: max(vector[role], current[role]) for role in pair})
        spec = self.cluster.snapshot().scaler.spec
        return plan_of(target, vector if legality.is_legal(vector, spec) else current, wish)

    def limits(self) -> dict[str, Any]:
        """What `settle` allows in this pass; it is pure, so asking once more changes nothing."""
        world = self.cluster.snapshot()
        settled = transactions.settle(world, "asked")
        spec = world.scaler.spec
        held = legality.component_roles(settled.limits.cohort_roles, self.cluster.vector, spec)
        return {
            "growth": settled.limits.growth_blocked,
            "shrink": settled.limits.shrink_blocked,
            "waiting": settled.growth_blocked,
            "caps": settled.growth_caps,
            "held": held,
        }

    # -- what must hold -----------------------------------------------------------------------------------------------

    def after_pass(self, before: ScalerStatus) -> None:
        after = self.cluster.status
        self.views = [*self.views[-5:], copy.deepcopy(self.cluster.target)]
        self.check_rollback(before, after)
        last = after.last_commit
        if last is not None and last != before.last_commit and last.cause is Cause.DONOR_RELEASE:
            current = after.rebalance
            if current is not None and current.donation_attempted and last.vector != last.baseline_vector:
                episode = current.exhaustion_episode_generation
                assert episode not in self.donated, "one donation for each episode"
                self.donated.add(episode)

    def check_rollback(self, before: ScalerStatus, after: ScalerStatus) -> None:
        last, cohort_before = after.last_commit, before.pending_cohort
        known = before.last_commit.decision_id if before.last_commit is not None else ""
        if last is None or last.decision_id == known or last.cause is not Cause.ROLLBACK:
            return
        if last.vector == last.baseline_vector:
            return  # counts that were changed past the fence meanwhile are the new base of this record
        if cohort_before is not None:
            base, aim = cohort_before.baseline_vector, cohort_before.target_vector
        else:  # the same pass found that the growth had landed, too long ago
            assert before.pending_commit is not None
            base, aim = before.pending_commit.baseline_vector, before.pending_commit.vector
        grown = cohort.grown_roles(base, aim)
        spec = self.cluster.snapshot().scaler.spec
        undone = legality.component_roles(grown, last.vector, spec)
        now = last.baseline_vector
        wanted = {role: base[role] if role in undone else now[role] for role in last.vector}
        is_exact = legality.is_legal(wanted, spec)  # counts changed past the fence can make the baseline illegal
        for role, count in last.vector.items():
            if is_exact or role not in undone:
                assert count == wanted[role], "a rollback restores its components exactly and leaves others alone"

    @invariant()
    def every_vector_that_we_wrote_is_legal_and_has_its_decision(self) -> None:
        cluster = self.cluster
        spec = cluster.snapshot().scaler.spec
        if not self.is_foreign:
            for vector in cluster.writes:
                assert legality.is_legal(vector, spec), vector
            decision = cluster.decision()
            assert decision is None or decision == cluster.vector
        cluster.writes.clear()
        assert len(set(cluster.decisions)) == len(cluster.decisions), "no decision lands twice"
        assert cluster.refusals == [], "a write of ours must pass the real fence"

    @invariant()
    def terms_never_go_back(self) -> None:
        record = self.cluster.status.binding
        text = self.cluster.annotations.get(DECISION)
        seen = [self.cluster.term or 0, record.term_floor if record is not None else 0]
        seen.append(parse_decision(text).term if text is not None else 0)
        assert (record.term_floor if record is not None else 0) >= (self.cluster.term or 0)
        assert max(seen) >= self.highest_term
        self.highest_term = max(seen)

    def teardown(self) -> None:
        """When faults stop, it comes to rest: everything admitted, retired and settled, nothing waiting."""
        if not hasattr(self, "cluster"):
            return
        cluster = self.cluster
        cluster.quota = 100
        cluster.in_flight.clear()
        cluster.edit_scaler(suspend=False, mode="Active")
        for _ in range(14):
            cluster.now += 400
            if (record := (cluster.target or {})["status"].get("retirement")) and record["state"] == "Aborted":
                cluster.clear_record()
            for _ in range(8):
                cluster.operate()
            cluster.run()
        status = cluster.status
        assert cluster.settled is not None
        assert cluster.settled.planning.value == "Commit"
        assert (status.pending_commit, status.pending_cohort) == (None, None)
        assert rebalance.state_of(status.rebalance) not in rebalance.UNDER_WAY
        assert retirement.state_of(status.last_scale_down) is not retirement.RetirementState.RUNNING
        before = status
        cluster.run()
        assert cluster.status == before


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)


@pytest.mark.long
class TestModelLong(Model.TestCase):
    settings = settings(max_examples=3000, stateful_step_count=60, deadline=None)
