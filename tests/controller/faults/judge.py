"""What must hold of every write, read from the server's own history (issue 6, acceptance 1)."""

from dataclasses import dataclass, field
from typing import Any

from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ConditionStatus
from scaler_core.api.ownership import BINDING, DECISION, parse_binding, parse_decision
from scaler_core.api.reasons import ConditionType, EventReason
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import Cause, Commit, PendingCohort
from scaler_core.model.action import Note
from scaler_core.model.world import World
from scaler_core.transactions import legality
from scaler_core.transactions.cohort import grown_roles
from scaler_core.transactions.replicas import Replica, between
from scaler_sim.apiserver.storage import FIRST_VERSION, Change, EventType
from tests.controller.faults.operator import Operator
from tests.controller.faults.processes import Basis, Controller
from tests.controller.faults.server import SCALERS, TARGETS, Server


@dataclass(frozen=True, kw_only=True)
class Donation:
    """A replica that a donor gave, until its receiver had the attempt or the donor got it back."""

    target_uid: str
    scaler: tuple[str, int]
    """UID and generation of the scaler that decided it: an edit may call the receiver off."""
    what: str


@dataclass(kw_only=True)
class Landing:
    """A commit as the server's history shows it."""

    intent: Commit
    version: int
    at: float
    removed: dict[Replica, set[str]] = field(default_factory=dict)
    """UIDs of what existed then of every replica that it removed."""


class Judge:
    """Follows the histories of target and scaler, and remembers what a later write must agree with."""

    def __init__(self, server: Server, operator: Operator) -> None:
        self.server, self.operator = server, operator
        self.version = FIRST_VERSION
        self.scaler: ModelDeploymentScaler | None = None
        self.processes: list[Controller] = []
        self.landings: list[Landing] = []
        self.overdue: set[int] = set()
        """Versions that a request made long after its deadline."""
        self.terms: dict[str, list[int]] = {}
        """Highest terms of bindings and of decisions by the target's UID."""
        self.donations: set[tuple[str, int]] = set()
        self.owed: Donation | None = None
        self.last_sample: float | None = None

    def look(self) -> None:
        """Judge everything that was stored since the last look."""
        merged = [
            (change.stored.version, resource, change)
            for resource in (SCALERS, TARGETS)
            for change in self.server.changes(resource, self.version)
        ]
        for version, resource, change in sorted(merged, key=lambda found: found[0]):
            self.version = version  # what breaks an invariant is judged once: the look at the end must not hide it
            if resource is SCALERS:
                self.scaler = None if change.type is EventType.DELETED else defaulting.load(change.stored.document)
            else:
                self.judge_target(version, change)
        self.version = self.server.version

    # -- the target ---------------------------------------------------------------------------------------------------

    def judge_target(self, version: int, change: Change) -> None:
        if change.type is EventType.DELETED:
            return
        if change.before is None:
            self.judge_terms({"metadata": {}}, change.stored.document)
            return
        before, after = change.before.document, change.stored.document
        if before["metadata"]["uid"] != after["metadata"]["uid"]:
            return
        self.judge_terms(before, after)
        old, new = _annotation(before, DECISION), _annotation(after, DECISION)
        has_moved = _counts(before) != _counts(after)
        if version in self.server.foreign:
            self.owed = None if has_moved else self.owed
            return
        if old == new:
            assert not has_moved, f"counts moved without a decision: {_counts(before)} -> {_counts(after)}"
        elif new is not None:
            self.judge_commit(version, ModelDeployment.from_wire(before), ModelDeployment.from_wire(after))

    def judge_terms(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Every binding has a higher term than all before it, and decisions never go back."""
        uid, known = after["metadata"]["uid"], self.terms.setdefault(after["metadata"]["uid"], [0, 0])
        old, new = _annotation(before, BINDING), _annotation(after, BINDING)
        if new is not None and new != old:
            term = parse_binding(new).term
            assert term > known[0], f"{uid} is bound under term {term} after {known[0]}"
            known[0] = term
        text = _annotation(after, DECISION)
        if text is not None:
            term = parse_decision(text).term
            assert term >= known[1], f"{uid} is decided under term {term} after {known[1]}"
            known[1] = term

    def judge_commit(self, version: int, before: ModelDeployment, after: ModelDeployment) -> None:
        decision = parse_decision(after.metadata.annotations[DECISION])
        assert dict(decision.vector) == after.vector, "every committed vector has its decision"
        assert decision.term == parse_binding(after.metadata.annotations[BINDING]).term
        known = self.scaler.status.pending_commit if self.scaler is not None else None
        if version in self.overdue:
            self.last_sample = self.owed = None
            return
        assert known is not None, "no commit without a stored intent"
        assert known.decision_id == decision.decision_id, "a write rests on a decision that is not the newest"
        assert (dict(known.baseline_vector), dict(known.vector)) == (before.vector, after.vector)
        assert self.scaler is not None
        basis = next(p.bases[known.decision_id] for p in self.processes if known.decision_id in p.bases)
        if basis.scaler_generation == self.scaler.metadata.generation and legality.is_legal(
            before.vector, self.scaler.spec
        ):
            assert legality.is_legal(after.vector, self.scaler.spec), f"{before.vector} -> {after.vector} is illegal"
        if known.cause in (Cause.PLAN, Cause.DONOR_RELEASE):
            self.judge_step(basis)
        self.judge_cause(self.scaler, known, after)
        self.landings.append(self.landing(known, version))

    def judge_cause(self, scaler: ModelDeploymentScaler, intent: Commit, after: ModelDeployment) -> None:
        match intent.cause:
            case Cause.PLAN:
                self.judge_owed(scaler, after.metadata.uid)
            case Cause.DONOR_RELEASE:
                self.judge_owed(scaler, after.metadata.uid)
                self.judge_donation(scaler, intent, after)
            case Cause.RECEIVER_ACQUIRE | Cause.DONOR_RESTORE:
                self.owed = None
            case Cause.ROLLBACK:
                self.judge_rollback(scaler, intent)
            case Cause.RESTORE:
                self.judge_restore(scaler, intent)
                self.owed = None

    def judge_step(self, basis: Basis) -> None:
        """No step is taken twice for one sample."""
        assert basis.sampled_at is not None, "a plan rests on a sample"
        if self.last_sample is not None:
            assert basis.sampled_at > self.last_sample, "two steps for one sample"
        if self.landings:
            assert basis.sampled_at > self.landings[-1].at, "a sample from before the last commit landed"
        self.last_sample = basis.sampled_at

    def judge_owed(self, scaler: ModelDeploymentScaler, target_uid: str) -> None:
        """No donor loses a replica without an attempt of the receiver, or getting it back, before the plan goes on."""
        owed = self.owed
        is_excused = owed is None or owed.target_uid != target_uid or owed.scaler != _identity(scaler)
        assert is_excused, f"{owed and owed.what}, and neither the receiver had its attempt nor the donor its replica"

    def judge_donation(self, scaler: ModelDeploymentScaler, intent: Commit, after: ModelDeployment) -> None:
        current = scaler.status.rebalance
        assert current is not None
        episode = (after.metadata.uid, current.exhaustion_episode_generation)
        assert episode not in self.donations, "one donation at most for each episode"
        self.donations.add(episode)
        what = f"{current.donor_role} gave a replica to {current.receiver_role}, {intent.baseline_vector}"
        self.owed = Donation(target_uid=after.metadata.uid, scaler=_identity(scaler), what=what)

    def judge_rollback(self, scaler: ModelDeploymentScaler, intent: Commit) -> None:
        """A rollback restores its cohort's components and nothing else."""
        cohort = scaler.status.pending_cohort
        assert cohort is not None
        seeds = grown_roles(cohort.baseline_vector, cohort.target_vector)
        component = legality.component_roles(seeds, intent.baseline_vector, scaler.spec)
        wanted = {
            role: cohort.baseline_vector[role] if role in component else count
            for role, count in intent.baseline_vector.items()
        }
        outside = {role for role, count in intent.vector.items() if count != intent.baseline_vector[role]} - component
        assert not outside, f"a rollback of {seeds} touched {outside}"
        if legality.is_legal(wanted, scaler.spec):
            assert dict(intent.vector) == wanted, "a rollback restores the whole baseline where that is legal"

    def judge_restore(self, scaler: ModelDeploymentScaler, intent: Commit) -> None:
        last = scaler.status.last_scale_down
        assert last is not None
        pre = self.removed_vector(last.decision_id) or last.pre_scale_down_vector
        wanted = {role: max(count, pre.get(role, count)) for role, count in intent.baseline_vector.items()}
        if legality.is_legal(wanted, scaler.spec):
            assert not between(intent.vector, wanted), "an abort restores every replica that the scale-down removed"

    def removed_vector(self, decision_id: str) -> dict[str, int] | None:
        """What the scale-down started from, unless a rollback has lowered that since."""
        at = next((n for n, landing in enumerate(self.landings) if landing.intent.decision_id == decision_id), None)
        if at is None or any(landing.intent.cause is Cause.ROLLBACK for landing in self.landings[at:]):
            return None
        return dict(self.landings[at].intent.baseline_vector)

    def landing(self, intent: Commit, version: int) -> Landing:
        gone = between(intent.vector, intent.baseline_vector)
        removed = {replica: self.operator.uids(replica) for replica in gone}
        return Landing(intent=intent, version=version, at=self.server.clock.now(), removed=removed)

    # -- what is known once nothing more is to be done ----------------------------------------------------------------

    def judge_adoption(self) -> None:
        """After a whole pass an owner knows the decision on its target, whoever carried it out and however late."""
        document, scaler = self.server.get(TARGETS), self.scaler
        if document is None or scaler is None or scaler.status.pending_commit is not None:
            return
        binding, decision = _annotation(document, BINDING), _annotation(document, DECISION)
        if binding is None or decision is None:
            return
        held, made, status = parse_binding(binding), parse_decision(decision), scaler.status
        bound = status.condition(ConditionType.BOUND)
        if bound is None or bound.status is not ConditionStatus.TRUE or held.term != made.term:
            return
        known = status.last_commit.decision_id if status.last_commit is not None else None
        assert known == made.decision_id, f"{made.decision_id} is on the target, and status knows {known}"

    # -- what the product says ----------------------------------------------------------------------------------------

    def hear(self, process: Controller, world: World, note: Note) -> None:
        """Claims about replicas are held against the truth."""
        self.look()
        if note.reason is EventReason.ADMITTED:
            cohort = self.cohort_of(world)
            if cohort is not None:
                self.judge_admission(cohort, world)
        elif note.reason is EventReason.RETIRED:
            self.judge_retired(world)

    def cohort_of(self, world: World) -> PendingCohort | None:
        return world.scaler.status.pending_cohort

    def judge_admission(self, cohort: PendingCohort, world: World) -> None:
        """Every added replica was admitted under an admission of its own, or was kept until the wait expired."""
        landing = next((one for one in self.landings if one.intent.decision_id == cohort.decision_id), None)
        if landing is None:
            return
        has_expired = world.now - cohort.started_at >= world.scaler.spec.sampling.pending_timeout_seconds
        for replica in between(cohort.baseline_vector, cohort.target_vector):
            own = {uid for uid, version in self.operator.created[replica] if version > landing.version}
            assert has_expired or own & self.operator.admitted, f"{replica} has no admission of its own"

    def judge_retired(self, world: World) -> None:
        """Nothing is left of any replica that the scale-down removed, and that no later write brought back."""
        last = world.scaler.status.last_scale_down
        found = [n for n, one in enumerate(self.landings) if last and one.intent.decision_id == last.decision_id]
        if not found or world.target is None:
            return
        later = self.landings[found[0] :]
        for (role, ordinal), uids in later[0].removed.items():
            came_back = any(one.intent.vector.get(role, 0) > ordinal for one in later)
            if not came_back and world.target.vector.get(role, 0) <= ordinal:
                assert not uids & self.operator.uids((role, ordinal)), f"{role} {ordinal} has not left yet"


def _identity(scaler: ModelDeploymentScaler) -> tuple[str, int]:
    return scaler.metadata.uid, scaler.metadata.generation


def _counts(document: dict[str, Any]) -> dict[str, int]:
    return {role["name"]: role.get("replicas", 1) for role in document["spec"]["roles"]}


def _annotation(document: dict[str, Any], key: str) -> str | None:
    return (document["metadata"].get("annotations") or {}).get(key)
