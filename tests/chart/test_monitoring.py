"""Alerts and dashboard speak of series that the processes have, in Prometheus' own grammar, each with a runbook."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import promql_parser
import pytest
import yaml

from scaler_controller.telemetry.machinery import PASS_RESULTS, MachineryMetrics
from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler_spec import Mode
from scaler_core.api.scaler_status import Cause
from scaler_webhook.metrics import WebhookMetrics
from tests.chart import golden, helm

FILES = helm.CHART / "files"
RUNBOOK = helm.ROOT / "docs" / "runbook.md"
VALUES_OF: dict[tuple[str, str], set[str]] = {
    ("mds_condition", "type"): set(ConditionType),
    ("mds_condition", "reason"): set(Reason),
    ("mds_scaler_info", "mode"): set(Mode),
    ("mds_decisions_total", "cause"): set(Cause),
    ("mds_reconcile_passes_total", "result"): set(PASS_RESULTS),
    ("mds_scrapes_total", "result"): {"read", "failed"},
    ("mds_webhook_requests_total", "verdict"): {"allowed", "denied", "undecided"},
}
"""Values that a label may have, where an alert names one: a word that nobody says would never match."""


def alerts() -> list[dict[str, Any]]:
    document = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def queries() -> list[str]:
    """Every expression of the dashboard, its variables replaced as Grafana does."""
    dashboard = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    return [re.sub(r"\$\w+", ".*", expression) for expression in found]


EXPRESSIONS = [pytest.param(rule["expr"], id=rule["alert"]) for rule in alerts()] + [
    pytest.param(query, id=f"panel query {number}") for number, query in enumerate(queries())
]


@cache
def series() -> dict[str, frozenset[str]]:
    """Every series of both processes with its labels, those of histograms included."""
    metrics = Metrics()
    MachineryMetrics(metrics.registry)
    found: dict[str, frozenset[str]] = {}
    for registry in (metrics.registry, WebhookMetrics().registry):
        for collector in set(registry._names_to_collectors.values()):
            labels = frozenset(collector._labelnames)
            for family in collector.describe():
                suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
                for suffix in suffixes:
                    found[family.name + suffix] = labels | ({"le"} if suffix == "_bucket" else set())
    return found


def selectors(node: object) -> Iterator[promql_parser.VectorSelector]:
    """Every selector of an expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    elif isinstance(node, promql_parser.MatrixSelector):
        yield node.vector_selector
    elif isinstance(node, promql_parser.BinaryExpr):
        yield from selectors(node.lhs)
        yield from selectors(node.rhs)
    elif isinstance(node, promql_parser.Call):
        for argument in node.args:
            yield from selectors(argument)
    elif isinstance(node, promql_parser.AggregateExpr | promql_parser.ParenExpr | promql_parser.UnaryExpr):
        yield from selectors(node.expr)
    else:
        assert isinstance(node, promql_parser.NumberLiteral | promql_parser.StringLiteral), type(node)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_parses_and_selects_what_exists(expression: str) -> None:
    found = list(selectors(promql_parser.parse(expression)))
    assert found
    for selector in found:
        assert selector.name in series(), f"no process has {selector.name}"
        for matcher in selector.matchers.matchers:
            assert matcher.name in series()[selector.name], f"{selector.name} has no label {matcher.name}"
            allowed = VALUES_OF.get((selector.name, matcher.name))
            if allowed is not None:
                assert set(matcher.value.split("|")) <= allowed


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {selector.name for query in queries() for selector in selectors(promql_parser.parse(query))}
    families = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in series()}
    assert families == {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in shown}


def test_every_alert_has_a_section_of_the_runbook_and_none_is_left_over() -> None:
    sections = re.findall(r"^## (\w+)$", RUNBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sections == [rule["alert"] for rule in alerts()]


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule["alert"]) for rule in alerts()])
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"RUNBOOK#{rule['alert'].lower()}"
    section = RUNBOOK.read_text(encoding="utf-8").split(f"## {rule['alert']}\n")[1].split("\n## ")[0]
    assert all(word in section for word in ("**Means**", "**Look**", "**Do**"))


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule["alert"]) for rule in alerts()])
def test_an_alert_names_only_labels_that_its_series_have(rule: dict[str, Any]) -> None:
    """A label that an aggregation dropped would leave a hole in the sentence."""
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    tree = promql_parser.parse(rule["expr"])
    assert named <= _labels(tree)


def _labels(node: object) -> set[str]:
    """Labels that the result of an expression has."""
    if isinstance(node, promql_parser.BinaryExpr):
        return _labels(node.lhs)
    if isinstance(node, promql_parser.AggregateExpr):
        return set(node.modifier.labels) if node.modifier is not None else set()
    if isinstance(node, promql_parser.Call):
        inner = _labels(node.args[-1]) if node.args else set()
        return set() if node.func.name == "absent" else inner - {"le"}
    if isinstance(node, promql_parser.MatrixSelector):
        return set(series()[node.vector_selector.name])
    if isinstance(node, promql_parser.VectorSelector):
        return set(series()[node.name])
    return _labels(node.expr) if hasattr(node, "expr") else set()


def test_the_chart_delivers_both_and_names_the_runbook() -> None:
    documents = {(one["kind"], one["metadata"]["name"]): one for one in golden.documents_of("monitored")}
    name = "mds-model-deployment-scaler"
    rules = [rule for group in documents["PrometheusRule", name]["spec"]["groups"] for rule in group["rules"]]
    assert [rule["expr"] for rule in rules] == [rule["expr"] for rule in alerts()]
    assert rules[0]["annotations"]["runbook_url"] == "https://example.org/runbook#mdsnotscaling"
    (text,) = documents["ConfigMap", f"{name}-dashboard"]["data"].values()
    assert json.loads(text) == json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
