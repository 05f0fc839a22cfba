"""Definitions of the controller's Prometheus metrics; labels are bounded by the number of scalers and roles."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from scaler_core.api.meta import ObjectKey

SCALER: Final = ("namespace", "scaler")
ROLE: Final = (*SCALER, "role")
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """All metrics of one controller process, on a registry of its own."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        r = self.registry
        self.recommended: Final = Gauge("mds_recommended_replicas", "The algorithm's result.", ROLE, registry=r)
        self.constrained: Final = Gauge("mds_constrained_replicas", "The plan's result.", ROLE, registry=r)
        self.current: Final = Gauge("mds_current_replicas", "Count in the target's spec.", ROLE, registry=r)
        self.ready: Final = Gauge("mds_ready_replicas", "Complete replicas that serve.", ROLE, registry=r)
        self.demand: Final = Gauge("mds_demand", "Demand in the algorithm's unit.", ROLE, registry=r)
        self.forecast: Final = Gauge(
            "mds_forecast_tokens_per_second", "Demand expected at the horizon.", ROLE, registry=r
        )
        self.ttft: Final = Gauge("mds_ttft_p95_seconds", "Time to first token, p95.", ROLE, registry=r)
        self.itl: Final = Gauge("mds_itl_p95_seconds", "Inter-token latency, p95.", ROLE, registry=r)
        self.condition: Final = Gauge(
            "mds_condition", "1 True, 0 False, -1 Unknown.", (*SCALER, "type", "reason"), registry=r
        )
        self.info: Final = Gauge(
            "mds_scaler_info",
            "1 for each scaler, with what it is.",
            (*SCALER, "target", "mode", "algorithm"),
            registry=r,
        )
        self.decisions: Final = Counter("mds_decisions", "Vectors written, by cause.", (*SCALER, "cause"), registry=r)
        self.commit_outcomes: Final = Counter(
            "mds_commit_outcomes", "Outcomes of writes of the target.", ("action", "outcome"), registry=r
        )
        self.scrapes: Final = Counter("mds_scrapes", "Engine reads, by result.", ("result",), registry=r)
        self.scrape_seconds: Final = Histogram(
            "mds_sample_seconds", "Time of one sampling pass over a target.", buckets=_SECONDS, registry=r
        )
        self.status_writes: Final = Counter("mds_status_writes", "Writes of scaler statuses.", registry=r)

    def forget(self, key: ObjectKey) -> None:
        """Drop every series of a scaler that is gone."""
        for metric in self._of_scalers():
            metric.remove_by_labels({"namespace": key.namespace, "scaler": key.name})

    def _of_scalers(self) -> Iterable[Gauge | Counter]:
        return (
            self.recommended,
            self.constrained,
            self.current,
            self.ready,
            self.demand,
            self.forecast,
            self.ttft,
            self.itl,
            self.condition,
            self.info,
            self.decisions,
        )
