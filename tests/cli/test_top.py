"""`mds top`: the words for states, and what a row says."""

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from scaler_cli.main import app
from scaler_cli.moments import relative, span
from scaler_cli.top_view import Row, render, rows, state
from scaler_core.api.meta import Condition, ConditionStatus
from scaler_core.api.scaler_status import (
    Commit,
    Exhaustion,
    LastScaleDown,
    PendingCohort,
    RoleObservation,
    ScaleDownOutcome,
    ScalerStatus,
)
from tests.core.test_decision import START, scaler

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN
ONE, TWO = {"server": 1}, {"server": 2}


def status(active: ConditionStatus = TRUE, reason: str = "Active", blocked: str = "", **fields: Any) -> ScalerStatus:
    def condition(type_: str, value: ConditionStatus, why: str) -> Condition:
        return Condition(type=type_, status=value, reason=why, last_transition_time=START)

    found = (
        condition("Active", active, reason),
        condition("Blocked", TRUE if blocked else FALSE, blocked or "Ready"),
    )
    return ScalerStatus(conditions=found, **fields)


COHORT = PendingCohort(decision_id="d", term=1, baseline_vector=ONE, target_vector=TWO, started_at=START)
LAST = LastScaleDown(role="server", ordinal=1, pre_scale_down_vector=TWO, outcome=ScaleDownOutcome.COMMITTED)
EXHAUSTED = Exhaustion(admitted_vector=ONE, requested_vector=TWO, episode_generation=1, retry_at=START)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        pytest.param(ScalerStatus(), "Binding", id="seen by no controller yet"),
        pytest.param(status(UNKNOWN), "Binding", id="being bound"),
        pytest.param(status(FALSE, "ShadowMode"), "Shadow", id="recommends only"),
        pytest.param(status(FALSE, "TargetNotFound"), "TargetNotFound", id="the reason why it is not active"),
        pytest.param(status(), "Steady", id="nothing to do"),
        pytest.param(status(pending_cohort=COHORT), "Growing", id="waits for admission"),
        pytest.param(status(last_scale_down=LAST), "Shrinking", id="a retirement runs"),
        pytest.param(status(exhaustion=EXHAUSTED), "Exhausted", id="no capacity"),
        pytest.param(status(blocked="PacingBounded"), "Held", id="a limit at work"),
    ],
)
def test_the_word_for_a_state(given: ScalerStatus, word: str) -> None:
    assert state(given) == word


def held() -> list[Row]:
    commit = Commit(decision_id="d", term=1, vector=TWO, baseline_vector=ONE, timestamp=START, target_generation=2)
    role = RoleObservation(
        name="server", current_replicas=2, ready_replicas=1, raw_recommended_replicas=5, constrained_replicas=4
    )
    return rows([scaler(status(blocked="PacingBounded", last_commit=commit, roles=(role,)))])


def table(width: int) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render(held(), START + 200))
    return console.export_text().splitlines()


def test_a_row_has_the_counts_of_every_role_and_the_last_change() -> None:
    found = held()
    words = table(160)[1].split()
    assert words[-2:] == ["3m20s", "ago"]
    assert words[:6] == ["default", "scale", "llm", "Shadow", "Proportional", "Held"]
    assert words[6:12] == ["server", "2", "1", "5", "4", "PacingBounded"]
    assert found[0].to_wire()["lastChange"] == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    ("width", "row", "without"),
    [
        pytest.param(
            90, "default scale Shadow Held server 2 1 5 4 PacingBounded 3m20s ago", "target, algorithm", id="90 columns"
        ),
        pytest.param(
            80, "default scale Shadow Held server 2 1 5 4 PacingBounded", "target, algorithm, changed", id="80 columns"
        ),
        pytest.param(
            60, "default scale Held server 2 1 5 4", "target, mode, algorithm, blocked, changed", id="60 columns"
        ),
        pytest.param(
            36, "scale Held server 2 5 4", "namespace, target, mode, algorithm, ready, blocked, changed",
            id="36 columns",
        ),
    ],
)  # fmt: skip
def test_a_narrow_terminal_gets_fewer_columns_and_whole_words(width: int, row: str, without: str) -> None:
    heading, line, *rest = table(width)
    assert " ".join(line.split()) == row
    assert " ".join(" ".join(rest).split()) == f"no room for: {without}"
    assert all(len(one) <= width for one in (heading, line, *rest))


def test_what_cannot_be_spared_wraps() -> None:
    lines = table(20)
    assert not any("\u2026" in line for line in lines)
    assert all(len(line) <= 20 for line in lines)


def test_no_scaler_is_said() -> None:
    assert str(render([], START)) == "no ModelDeploymentScaler here"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.4, "59s"), (60, "1m"), (200, "3m20s"), (7500, "2h5m"), (90000, "1d1h")]
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_moments_are_told_with_their_distance() -> None:
    assert relative(START + 60, START) == "22:14:20 (in 1m)"
    assert relative(START - 5, START) == "22:13:15 (5s ago)"


def test_without_a_cluster_it_says_what_to_set(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:9"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
            }
        )
    )
    result = CliRunner().invoke(app, ["top", "--once", "--kubeconfig", str(path)])
    assert result.exit_code == 1
    assert "mds top: GET /apis/worker.gpustack.ai/v1: no connection" in result.stderr
