"""Metrics of the machinery around passes: queue, workers, leadership, informers, event loop."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

PASS_RESULTS: Final = ("requeue_after", "await_change", "error")
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class MachineryMetrics:
    """Everything starts at 0, so that each series exists before the first event."""

    def __init__(self, registry: CollectorRegistry) -> None:
        r = registry
        self.passes: Final = Counter("mds_reconcile_passes", "Passes, by result.", ("result",), registry=r)
        self.pass_seconds: Final = Histogram("mds_reconcile_seconds", "Time of a pass.", buckets=_SECONDS, registry=r)
        self.retries: Final = Counter("mds_reconcile_retries", "Passes that were repeated after an error.", registry=r)
        self.active_workers: Final = Gauge("mds_workers_active", "Workers in a pass.", registry=r)
        self.queue_depth: Final = Gauge("mds_queue_depth", "Keys that are due and wait for a worker.", registry=r)
        self.leader: Final = Gauge("mds_leader", "1 while this process leads.", registry=r)
        self.loop_lag: Final = Gauge(
            "mds_loop_lag_seconds", "How late the event loop woke up the last time it was measured.", registry=r
        )
        self.synced: Final = Gauge("mds_informer_synced", "1 once the first list is known.", ("kind",), registry=r)
        self.served: Final = Gauge("mds_informer_served", "1 where the server knows the kind.", ("kind",), registry=r)
        self.relists: Final = Gauge("mds_informer_lists", "Lists since the process began.", ("kind",), registry=r)
        for result in PASS_RESULTS:
            self.passes.labels(result=result)

    def follow(self, *, queue_depth: Callable[[], float], is_leader: Callable[[], float]) -> None:
        """Read these two whenever metrics are asked for."""
        self.queue_depth.set_function(queue_depth)
        self.leader.set_function(is_leader)

    def follow_informer(
        self, kind: str, *, synced: Callable[[], float], served: Callable[[], float], lists: Callable[[], float]
    ) -> None:
        """Read an informer whenever metrics are asked for."""
        self.synced.labels(kind=kind).set_function(synced)
        self.served.labels(kind=kind).set_function(served)
        self.relists.labels(kind=kind).set_function(lists)
