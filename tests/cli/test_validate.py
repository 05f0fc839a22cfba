"""`mds validate`: the verdicts of admission on files, with lines, formats and exit statuses."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from scaler_cli.main import app
from tests.core.admission import fence_world, scaler_world

API = "worker.gpustack.ai/v1"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments], input=stdin)


def manifest(document: dict[str, Any], kind: str = "ModelDeploymentScaler") -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, **document}


def write(path: Path, *documents: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
    return str(path)


def deployment(*roles: str) -> dict[str, Any]:
    return manifest(
        {"metadata": {"name": "llm"}, "spec": {"roles": [{"name": r, "kind": "Server"} for r in roles]}},
        "ModelDeployment",
    )


BROKEN = manifest(scaler_world.change(scaler_world.server(), "roles", 0, "minReplicas", 17))
GOOD = manifest(scaler_world.server())


def test_a_good_file_is_admitted(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", GOOD)
    answer = run("-f", file)
    assert answer.exit_code == 0
    assert answer.output == f"{file}:1: ModelDeploymentScaler default/llm would be admitted\n"


def test_a_violation_points_at_its_line(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", {"apiVersion": "v1", "kind": "ConfigMap"}, BROKEN)
    answer = run("-f", file)
    assert answer.exit_code == 1
    line = next(n for n, text in enumerate(Path(file).read_text().splitlines(), 1) if "minReplicas" in text)
    assert f"  {file}:{line}: spec.roles[server].minReplicas: 17 refused" in answer.output
    assert answer.output.count("\n") == 2


def test_json_has_stable_names(tmp_path: Path) -> None:
    answer = run("-f", write(tmp_path / "a.yaml", BROKEN), "-o", "json")
    [document] = json.loads(answer.output)["documents"]
    assert (document["kind"], document["name"], document["allowed"]) == ("ModelDeploymentScaler", "llm", False)
    [violation] = document["violations"]
    assert (violation["field"], violation["value"]) == ("spec.roles[server].minReplicas", "17")
    assert violation["message"].endswith("(bounds-order)")
    assert document["warnings"] == []


def test_github_annotations_are_escaped(tmp_path: Path) -> None:
    file = write(tmp_path / "a,b.yaml", BROKEN)
    answer = run("-f", file, "-o", "github")
    assert answer.exit_code == 1
    assert answer.output.startswith(f"::error file={file.replace(',', '%2C')},line=")
    assert ",title=bounds-order::spec.roles[server].minReplicas: 17 refused" in answer.output


def test_a_target_in_another_file_is_taken_into_account(tmp_path: Path) -> None:
    write(tmp_path / "one" / "scaler.yaml", GOOD)
    write(tmp_path / "two" / "target.yml", deployment("main"))
    (tmp_path / "notes.txt").write_text("{")
    answer = run("-f", str(tmp_path))
    assert answer.exit_code == 1
    assert "server refused: ModelDeployment llm has main" in answer.output


def test_a_target_of_another_namespace_is_not(tmp_path: Path) -> None:
    other = deployment("main")
    other["metadata"]["namespace"] = "elsewhere"
    assert run("-f", write(tmp_path / "a.yaml", GOOD, other)).exit_code == 0


def test_annotations_do_not_belong_into_files(tmp_path: Path) -> None:
    target = manifest(fence_world.target(fence_world.BOUND), "ModelDeployment")
    answer = run("-f", write(tmp_path / "a.yaml", target))
    assert answer.exit_code == 1
    assert answer.output.count("(create-annotated)") == 2


def test_warnings_do_not_fail(tmp_path: Path) -> None:
    fast = manifest(scaler_world.change(scaler_world.server(), "sampling", {"intervalSeconds": 5}))
    file = write(tmp_path / "a.yaml", fast)
    answer = run("-f", file)
    assert answer.exit_code == 0
    assert "  warning: spec.sampling.intervalSeconds: 5 reads" in answer.output
    assert run(file, "-o", "github").output.startswith(f"::warning file={file},line=1::spec.sampling")


def test_standard_input_lists_and_several_files(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [GOOD, BROKEN]}
    answer = run("-f", "-", stdin=yaml.safe_dump(listed))
    assert answer.output.count("would be") == 2
    assert answer.exit_code == 1
    first, second = write(tmp_path / "a.yaml", GOOD), write(tmp_path / "b.json", GOOD)
    assert run("-f", first, second).output.count("would be admitted") == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: [", id="cut-off"),
        pytest.param("a: b: c", id="no-yaml"),
        pytest.param("? [1, 2]\n: x", id="a-list-as-key"),
        pytest.param("!!python/object:os.system {}", id="a-tag"),
        pytest.param("a: &x [*x]", id="a-loop"),
    ],
)
def test_a_file_that_is_no_manifest_is_a_problem_with_its_place(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    answer = run("-f", str(file))
    assert answer.exit_code == 1
    assert answer.output.startswith(f"{file}:1: no ")
    assert answer.output.count("\n") == 1


def test_aliases_of_aliases_are_refused_before_they_are_written_out(tmp_path: Path) -> None:
    rows = [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(30)]
    file = tmp_path / "a.yaml"
    file.write_text("\n".join(["a0: &a0 x", *rows, "kind: ModelDeploymentScaler", ""]))
    answer = run("-f", str(file))
    assert answer.exit_code == 1
    assert answer.output == f"{file}:1: no manifest: over 100000 values, aliases written out; correct the file (file)\n"


def test_a_key_that_is_given_twice_is_refused_as_by_the_api_server(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(yaml.safe_dump(GOOD, sort_keys=False) + "kind: ModelDeploymentScaler\n")
    answer = run("-f", str(file))
    assert answer.exit_code == 1
    assert ": key 'kind' is given twice, first in line 2; correct the file (file)\n" in answer.output


def test_merged_keys_are_no_keys_given_twice(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &a {name: x}\nb: &b {name: y}\nc: {<<: *a, name: z}\nd: {<<: [*a, *b]}\n")
    assert run("-f", str(file)).exit_code == 0


def test_a_deep_nest_is_refused_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("[" * 3000 + "]" * 3000)
    answer = run("-f", str(file))
    assert answer.exit_code == 1
    assert answer.output == f"{file}:1: no manifest: nested too deeply; correct the file (file)\n"


def test_a_file_that_is_no_text_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    answer = run("-f", str(tmp_path))
    assert answer.exit_code == 1
    assert "cannot be read" in answer.output


def test_numbers_and_dates_where_names_belong_do_not_crash(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"apiVersion: {API}\nkind: ModelDeploymentScaler\nmetadata: 3\nspec: {{1: 2, mode: 2020-01-01}}\n")
    answer = run("-f", str(file))
    assert answer.exit_code == 1
    assert "spec.mode: 2020-01-01 refused" in answer.output


@pytest.mark.parametrize("arguments", [(), ("-f", "/nowhere/at/all"), ("-f", "-", "-o", "xml")])
def test_wrong_use_is_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments, stdin="").exit_code == 2


def test_nothing_to_check_is_said(tmp_path: Path) -> None:
    answer = run("-f", write(tmp_path / "a.yaml", {"apiVersion": "v1", "kind": "ConfigMap"}))
    assert answer.exit_code == 0
    assert "No ModelDeploymentScaler or ModelDeployment found." in answer.output


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        pytest.param({"name": "LLM_1"}, "metadata.name: LLM_1 refused: it cannot name an object", id="a bad name"),
        pytest.param({}, "metadata.name is missing; use lower-case letters", id="no name"),
        pytest.param({"name": "a" * 254}, "metadata.name: aaa", id="a name that is too long"),
    ],
)
def test_names_are_judged_as_the_api_server_does(metadata: dict[str, str], says: str, tmp_path: Path) -> None:
    answer = run("-f", write(tmp_path / "a.yaml", {**GOOD, "metadata": metadata}))
    assert answer.exit_code == 1
    assert says in answer.output


@pytest.mark.parametrize("metadata", [{"name": "a.b-2"}, {"generateName": "llm-"}])
def test_good_and_generated_names_pass(metadata: dict[str, str], tmp_path: Path) -> None:
    assert run("-f", write(tmp_path / "a.yaml", {**GOOD, "metadata": metadata})).exit_code == 0


@pytest.mark.parametrize(
    ("version", "says"),
    [
        pytest.param(
            "wrkr.gpustack.ai/v1",
            "apiVersion: wrkr.gpustack.ai/v1 refused: it has no ModelDeploymentScaler; write worker.gpustack.ai/v1",
            id="a misspelt group",
        ),
        pytest.param(
            "worker.gpustack.ai/v9",
            "apiVersion: worker.gpustack.ai/v9 refused: it has no ModelDeploymentScaler; write worker.gpustack.ai/v1",
            id="a version that nobody serves",
        ),
        pytest.param("", "apiVersion is missing; write worker.gpustack.ai/v1", id="no version"),
    ],
)
def test_a_slip_in_the_api_version_is_no_other_kind(version: str, says: str, tmp_path: Path) -> None:
    answer = run("-f", write(tmp_path / "a.yaml", {**GOOD, "apiVersion": version}))
    assert answer.exit_code == 1
    assert says in answer.output


def test_the_older_version_is_served_too(tmp_path: Path) -> None:
    assert run("-f", write(tmp_path / "a.yaml", {**GOOD, "apiVersion": "worker.gpustack.ai/v1alpha1"})).exit_code == 0
