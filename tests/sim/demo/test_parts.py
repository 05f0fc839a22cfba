"""What the demo shows and sums up."""

import io
import json

import pytest
from rich.console import Console

from scaler_core.admission.scaler import judge
from scaler_core.admission.verdict import Allowed, Denied, Found, Operation, Request
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import Condition, ConditionStatus
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_spec import AlgorithmType
from scaler_core.api.scaler_status import Commit, ScalerStatus
from scaler_core.model.scrape import Engine
from scaler_sim.demo import manifests
from scaler_sim.demo.defaults import changed_defaults
from scaler_sim.demo.journal import MOST_LOOKS, Journal
from scaler_sim.demo.live import LiveRole, live_roles
from scaler_sim.demo.screen import Frame, PlainScreen
from scaler_sim.demo.settings import DemoSettings
from scaler_sim.demo.summary import Refused, Summary
from scaler_sim.workload.statistics import PhaseResult


def target(prefill: int, decode: int, ready: int = 1) -> ModelDeployment:
    document = manifests.target(Engine.VLLM)
    roles = document["spec"]["roles"]
    for role, count in zip(roles, (prefill, decode), strict=True):
        role["replicas"] = count
    document["status"] = {"roles": [{"name": r["name"], "desired": r["replicas"], "ready": ready} for r in roles]}
    return ModelDeployment.from_wire(document)


def commit(identity: str, before: dict[str, int], after: dict[str, int]) -> Commit:
    return Commit(
        decision_id=identity, term=1, vector=after, baseline_vector=before, timestamp=0.0, target_generation=2
    )


ONE, TWO = {"prefill": 1, "decode": 1}, {"prefill": 2, "decode": 2}


def test_the_journal_joins_each_commit_with_the_event_that_tells_its_cause():
    journal = Journal()
    journal.begin(1000.0)
    grown = ScalerStatus(last_commit=commit("a", ONE, {"prefill": 2, "decode": 1}))
    journal.observe(1010.0, "baseline", target(1, 1), ScalerStatus(), {})
    assert journal.explain({}) == []
    for at in (1060.0, 1061.0):
        journal.observe(at, "ramp", target(2, 1), grown, {})
        assert journal.explain({"other": "Bound under term 1"}) == []
    notes = {"note": "prefill=1 decode=1 -> prefill=2 decode=1: p95 TTFT of 2500 ms"}
    assert [d.sentence() for d in journal.explain(notes)] == ["prefill 1 → 2: p95 TTFT of 2500 ms"]
    assert journal.decisions[0].at == 60.0
    assert journal.explain(notes) == []
    journal.observe(1099.0, "ramp", target(1, 1), ScalerStatus(last_commit=commit("b", TWO, ONE)), {})
    status = ScalerStatus(last_commit=commit("c", ONE, {"prefill": 2, "decode": 1}))
    journal.observe(1200.0, "ramp", target(2, 1), status, {"prefill": "prefill: ceil(8 / 3) = 3", "decode": "idle"})
    for _ in range(MOST_LOOKS):
        assert journal.explain(notes) == [], "an event tells of one decision"
    assert [d.cause for d in journal.explain(notes)] == ["Plan", "Plan; prefill: ceil(8 / 3) = 3"], (
        "told without an event in the end"
    )


def test_replica_seconds_count_what_is_held_retiring_replicas_included():
    journal = Journal()
    journal.begin(0.0)
    for at, now in ((0.0, target(1, 1)), (10.0, target(2, 2)), (20.0, target(1, 1, ready=2)), (30.0, target(1, 1))):
        journal.observe(at, "ramp", now, ScalerStatus(), {})
    assert journal.replica_seconds == 10 * 2 + 10 * 4 + 10 * 4


@pytest.mark.parametrize(
    ("first_above", "lead", "before"), [(45.0, 0.0, True), (72.0, 22.0, False), (None, None, False)]
)
def test_lead_is_measured_from_the_ramp(first_above, lead, before):
    journal = Journal(ramp_at=50.0, first_above_at=first_above)
    assert (journal.lead_seconds, journal.was_above_before_ramp) == (lead, before)


def test_changed_defaults_are_exactly_what_differs():
    spec = ModelDeploymentScaler.from_wire(manifests.scaler(AlgorithmType.TOKEN_THROUGHPUT)).spec
    assert [(c.field, c.value, c.default) for c in changed_defaults(spec)] == [
        ("spec.mode", "Active", "Shadow"),
        ("spec.sampling.intervalSeconds", "10", "15"),
    ]
    spec = ModelDeploymentScaler.from_wire(manifests.scaler(AlgorithmType.PREDICTIVE)).spec
    fields = {c.field for c in changed_defaults(spec)}
    assert "spec.algorithm.predictive.horizonSeconds" in fields
    assert "spec.algorithm.predictive.measurementNoise" not in fields


def test_live_rows_come_from_the_controllers_last_pass():
    prefill = {
        "reading": {"running": 8.0, "waiting": 4.0, "ttftMilliseconds": 2500.0, "itlMilliseconds": None},
        "recommendation": {"replicas": 5, "demand": 4870.5},
        "replicas": 2,
        "reason": "AtMaximum",
        "message": "5 is above maxReplicas 2",
    }
    rows = live_roles(target(2, 2), {"roles": {"prefill": prefill}})
    assert rows == (
        LiveRole(
            name="prefill",
            current=2,
            ready=1,
            demand=4870.5,
            requests="8+4",
            latency_milliseconds=2500.0,
            recommended=5,
            planned=2,
            reason="AtMaximum",
            message="5 is above maxReplicas 2",
        ),
        LiveRole(name="decode", current=2, ready=1),
    )


def frame(at: float, current: int) -> Frame:
    return Frame(
        at=at,
        phase="ramp",
        phase_seconds=at,
        phase_length=75.0,
        streams=24,
        roles=(LiveRole(name="prefill", current=current, ready=1, demand=4870.5, recommended=5, reason="Panic"),),
        conditions=(
            Condition(
                type="Bound", status=ConditionStatus.TRUE, reason="Bound", message="term 1", last_transition_time=0.0
            ),
        ),
    )


def test_plain_lines_tell_what_is_new_and_nothing_twice():
    output = io.StringIO()
    screen = PlainScreen(Console(file=output, width=40))
    for at, current in ((0.0, 1), (1.0, 1), (2.0, 2), (3.0, 2), (40.0, 2)):
        screen.show(frame(at, current))
    lines = output.getvalue().splitlines()
    assert lines[0] == "  condition Bound=True: term 1"
    assert [line.split("]")[0] for line in lines[1:]] == [
        "[ramp, 0 of 75 s, 24 concurrent streams",
        "[ramp, 2 of 75 s, 24 concurrent streams",
        "[ramp, 40 of 75 s, 24 concurrent streams",
    ]
    assert "prefill 1 ready of 2, demand 4870" in lines[2]


def test_the_summary_is_one_line_of_json():
    journal = Journal()
    journal.begin(0.0)
    journal.observe(60.0, "ramp", target(2, 2), ScalerStatus(last_commit=commit("a", ONE, TWO)), {})
    journal.explain({"e": "prefill=1 decode=1 -> prefill=2 decode=2: load"})
    result = PhaseResult(
        phase="ramp",
        requests=10,
        errors=0,
        ttft_p50_milliseconds=2400.0,
        ttft_p99_milliseconds=None,
        itl_p50_milliseconds=9.6,
        itl_p99_milliseconds=17.0,
        output_tokens_per_second=1200.0,
    )
    summary = Summary(
        settings=DemoSettings(),
        decisions=tuple(journal.decisions),
        lead_seconds=12.0,
        was_above_before_ramp=False,
        phases=(result,),
        replica_seconds=1234.0,
        final_counts=ONE,
        changed_defaults=(),
        refusals=(Refused(what="an edit", message="no"),),
        clock_seconds=700.0,
        real_seconds=90.0,
    )
    line = summary.to_json()
    assert "\n" not in line
    document = json.loads(line)
    assert document["decisions"][0]["to"] == TWO
    assert document["leadSeconds"] == 12.0
    assert document["finalCounts"] == ONE
    assert document["phases"][0]["ttftP50Milliseconds"] == 2400.0
    text = "\n".join(summary.lines())
    assert "Lead from ramp start to the first count above one: 12 s" in text
    assert "TTFT p50 2400 ms" in text


@pytest.mark.parametrize(("speed", "limit"), [(8.0, 165.0), (20.0, 165.0), (1.0, 1040.0)])
def test_the_limit_follows_the_speed(speed, limit):
    assert DemoSettings(speed=speed).limit_seconds == pytest.approx(limit)


@pytest.mark.parametrize("algorithm", AlgorithmType)
def test_admission_accepts_the_scaler_and_refuses_the_impossible_one(algorithm):
    document = manifests.target(Engine.VLLM)

    def verdict(scaler):
        request = Request(operation=Operation.CREATE, user="jane", namespace="default", name="chat", new=scaler)
        return judge(request, Found(document=document))

    assert isinstance(verdict(manifests.scaler(algorithm)), Allowed)
    refused = verdict(manifests.impossible_scaler(algorithm))
    assert isinstance(refused, Denied)
    assert refused.violations[0].field == "spec.ratios[prefill/decode].min"
