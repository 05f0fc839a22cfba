"""`mds plan`: one pass, told to people and to programs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaler_cli.main import app

SCALER = """
apiVersion: worker.gpustack.ai/v1
kind: ModelDeploymentScaler
metadata: {name: llm}
spec:
  targetRef: {name: llm}
  roles:
    - {name: prefill, minReplicas: 2, maxReplicas: 8}
    - {name: decode, minReplicas: 2, maxReplicas: 16}
  ratios:
    - {numeratorRole: prefill, denominatorRole: decode, min: "0.5", target: "1", max: "2"}
  algorithm:
    tokenThroughput: {prefillTargetTokensPerSecond: "2000", decodeTargetTokensPerSecond: "800"}
"""


@pytest.fixture
def scaler(tmp_path: Path) -> Path:
    path = tmp_path / "scaler.yaml"
    path.write_text(f"kind: Namespace\n---\n{SCALER}")
    return path


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", *arguments], input=stdin)
    return result.exit_code, result.output


def test_programs_get_the_vector_every_stage_and_the_conditions(scaler: Path) -> None:
    status, text = run("-f", str(scaler), "--current", "prefill=2,decode=2", "--recommend", "prefill=20", "-o", "json")
    answer = json.loads(text)
    assert status == 0
    assert answer["vector"] == {"prefill": 6, "decode": 3}
    prefill, decode = answer["roles"]["prefill"], answer["roles"]["decode"]
    assert (prefill["recommended"], prefill["reason"]) == (20, "PacingBounded")
    assert [(stage["stage"], stage["replicas"], stage["reason"]) for stage in prefill["stages"]] == [
        ("bounds", 8, "AtMaximum"),
        ("stabilization", 8, ""),
        ("guards", 8, ""),
        ("pacing", 6, "PacingBounded"),
        ("ratios", 6, ""),
    ]
    assert decode["stages"][-1] == {
        "stage": "ratios",
        "replicas": 3,
        "reason": "RatioBounded",
        "message": "prefill/decode max 2 needs 3 with prefill at 6",
    }
    assert answer["conditions"] == [
        {
            "type": "Blocked",
            "status": "True",
            "reason": "PacingBounded",
            "message": "prefill asks for 20 and gets 6: "
            "one pass adds at most 4 (maxStepReplicas 4, maxStepPercent 100)",
        }
    ]


def test_a_bound_at_work_is_told_and_blocks_nothing(scaler: Path) -> None:
    _, text = run("-f", str(scaler), "--current", "prefill=8,decode=8", "--recommend", "prefill=20", "-o", "json")
    answer = json.loads(text)
    assert answer["roles"]["prefill"]["reason"] == "AtMaximum"
    (blocked,) = answer["conditions"]
    assert (blocked["status"], blocked["reason"]) == ("False", "Ready")
    assert blocked["message"] == "only bounds, windows and ratios limit the recommendation"


def test_people_see_which_limit_changed_the_request(scaler: Path) -> None:
    status, text = run("-f", str(scaler), "--current", "prefill=2,decode=2", "--recommend", "prefill=20,decode=2")
    assert status == 0
    assert "*6" in text
    assert "* decode, ratios: prefill/decode max 2 needs 3 with prefill at 6" in text


def test_an_illegal_vector_is_a_problem_and_says_the_way_out(scaler: Path) -> None:
    status, text = run("-f", str(scaler), "--current", "prefill=2,decode=5", "-o", "json")
    assert status == 1
    (blocked,) = json.loads(text)["conditions"]
    assert blocked["reason"] == "RatioConflict"
    assert blocked["message"].startswith("prefill/decode is 2/5 = 0.4, allowed is at least 0.5; suspend the scaler")


def test_the_scaler_may_come_from_standard_input() -> None:
    status, text = run("-f", "-", "--current", "prefill=2,decode=2", "-o", "json", stdin=SCALER)
    assert (status, json.loads(text)["vector"]) == (0, {"prefill": 2, "decode": 2})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--current", "prefill=2"], "--current leaves out decode", id="a role without a count"),
        pytest.param(["--current", "prefill=2,decode=2,x=1"], "names 'x'", id="an unknown role"),
        pytest.param(["--current", "prefill=2,decode=-1"], "no whole count", id="a negative count"),
        pytest.param(
            ["--current", "prefill=2,decode=" + "1" * 5000], "has a count of 5000 digits", id="thousands of digits"
        ),
        pytest.param(["--current", "prefill=2,decode=2,decode=3"], "names decode twice", id="a role twice"),
        pytest.param(["--current", "prefill"], "is no pair; write role=value, for example prefill=2", id="no pair"),
        pytest.param(
            ["--current", "prefill=2,decode=2", "--kind", "prefill"], "for example prefill=Prefill", id="a kind alone"
        ),
        pytest.param(
            ["--current", "prefill=2,decode=500000000000"],
            "decode has a count of 12 digits; write at most decode=999999999",
            id="more than any target has",
        ),
        pytest.param(
            ["--current", "prefill=2,decode=2", "--kind", "decode=Judge"], "has no kind", id="an unknown kind"
        ),
        pytest.param(["--current", "prefill=2,decode=2", "-f", "/absent.yaml"], "cannot be read", id="no file"),
    ],
)
def test_wrong_use_is_told_in_words(scaler: Path, arguments: list[str], words: str) -> None:
    status, text = run("-f", str(scaler), *arguments)
    assert status == 2
    assert words in " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("kind: Other", "0 documents of kind ModelDeploymentScaler", id="no scaler"),
        pytest.param(f"{SCALER}\n---\n{SCALER}", "2 documents of kind", id="two scalers"),
        pytest.param("a: [", "no YAML", id="no YAML"),
        pytest.param("[" * 3000, "nested too deeply; correct the file", id="a deep nest"),
        pytest.param(
            SCALER.replace("minReplicas: 2, maxReplicas: 8", "minReplicas: 9, maxReplicas: 8"),
            "spec.roles[prefill].minReplicas: 9 refused: it is above maxReplicas 8",
            id="a scaler that admission refuses",
        ),
        pytest.param(
            SCALER.replace("maxReplicas: 8", "maxReplicas: many"),
            "spec.roles[prefill].maxReplicas: many refused",
            id="a bad field",
        ),
    ],
)
def test_a_file_that_is_no_scaler_is_told_in_words(text: str, words: str) -> None:
    status, output = run("-f", "-", "--current", "prefill=2,decode=2", stdin=text)
    assert status == 2
    assert words in " ".join(output.replace("│", " ").split())
