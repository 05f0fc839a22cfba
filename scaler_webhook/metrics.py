"""What the webhook tells Prometheus, on a registry of its own."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from scaler_core.admission.verdict import Allowed, Denied, Undecided

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0, 9.0)


class WebhookMetrics:
    """Series of one webhook process; labels are bounded: paths, verdicts and rules."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        self.requests: Final = Counter(
            "mds_webhook_requests",
            "Admission reviews answered, by path, verdict and the rule that decided.",
            ("path", "verdict", "rule"),
            registry=self.registry,
        )
        self.seconds: Final = Histogram(
            "mds_webhook_request_seconds",
            "Time to answer a review.",
            ("path",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.certificate_expiry: Final = Gauge(
            "mds_webhook_certificate_expiry_timestamp_seconds",
            "When the served certificate expires.",
            registry=self.registry,
        )

    def answered(self, path: str, verdict: Allowed | Denied | Undecided, seconds: float) -> None:
        """Count one answer."""
        word, rule = _labels(verdict)
        self.requests.labels(path=path, verdict=word, rule=rule).inc()
        self.seconds.labels(path=path).observe(seconds)


def _labels(verdict: Allowed | Denied | Undecided) -> tuple[str, str]:
    match verdict:
        case Allowed():
            return "allowed", ""
        case Denied():
            return "denied", verdict.rule
        case Undecided():
            return "undecided", verdict.violation.rule
