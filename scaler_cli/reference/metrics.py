"""The page of metrics, from the collectors that both processes register."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry

from scaler_cli.reference.markdown import cell, code, note, page, table
from scaler_controller.telemetry.machinery import MachineryMetrics
from scaler_controller.telemetry.metrics import Metrics
from scaler_webhook.metrics import WebhookMetrics

_SUFFIXES = {"counter": "_total"}


def metrics_page() -> str:
    """Every series of the controller and of the webhook."""
    metrics = Metrics()
    MachineryMetrics(metrics.registry)
    return page(
        note("scaler_controller/telemetry and scaler_webhook/metrics.py"),
        "# Metrics",
        "Both processes serve `/metrics` on their health port. Labels are bounded by the number of scalers and roles; "
        "series of a deleted scaler disappear. A role's value that is unknown is NaN. What to do about each alert of "
        "the chart is in the [runbook](../runbook.md).",
        "## Controller",
        _table(metrics.registry),
        "## Webhook",
        _table(WebhookMetrics().registry),
    )


def _table(registry: CollectorRegistry) -> Iterator[str]:
    yield from table(("Metric", "Type", "Labels", "Meaning"), _rows(registry))


def _rows(registry: CollectorRegistry) -> Iterator[tuple[str, str, str, str]]:
    for collector in dict.fromkeys(registry._names_to_collectors.values()):
        for family in collector.describe() if hasattr(collector, "describe") else ():
            labels = ", ".join(code(label) for label in getattr(collector, "_labelnames", ()))
            yield code(family.name + _SUFFIXES.get(family.type, "")), family.type, labels, cell(family.documentation)
