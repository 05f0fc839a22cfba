"""Writing the Prometheus text format, version 0.0.4."""

from collections.abc import Iterable, Mapping
from typing import Final

from scaler_sim.engines.readings import Histogram

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Exposition:
    """A text in the making; family names are given without `_total`, `_created` and the like."""

    def __init__(self, labels: Mapping[str, str], created_at: float | None) -> None:
        """Start a text.

        Args:
            labels: on every series.
            created_at: Unix seconds for `_created` series; None writes none, as in multiprocess mode.
        """
        self._labels = dict(labels)
        self._created_at = created_at
        self._lines: list[str] = []

    def text(self) -> str:
        """Everything written so far."""
        return "\n".join(self._lines) + "\n"

    def gauge(self, name: str, described: str, value: float, **labels: str) -> None:
        """A gauge of one series."""
        self._head(name, described, "gauge")
        self._sample(name, labels, value)

    def counter(self, name: str, described: str, value: float, **labels: str) -> None:
        """A counter of one series."""
        self.counters(name, described, [(labels, value)])

    def counters(self, name: str, described: str, series: Iterable[tuple[Mapping[str, str], float]]) -> None:
        """A counter of several series."""
        rows = list(series)
        self._head(f"{name}_total", described, "counter")
        for labels, value in rows:
            self._sample(f"{name}_total", labels, value)
        self._created(name, described, [labels for labels, _ in rows])

    def histogram(self, name: str, described: str, histogram: Histogram, **labels: str) -> None:
        """A histogram of one series, with cumulative buckets."""
        self._head(name, described, "histogram")
        bounds = [*(repr(bound) for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, histogram.cumulative(), strict=True):
            self._sample(f"{name}_bucket", {**labels, "le": bound}, count)
        self._sample(f"{name}_count", labels, histogram.count)
        self._sample(f"{name}_sum", labels, histogram.sum)
        self._created(name, described, [labels])

    def _created(self, name: str, described: str, series: Iterable[Mapping[str, str]]) -> None:
        if self._created_at is None:
            return
        self._head(f"{name}_created", described, "gauge")
        for labels in series:
            self._sample(f"{name}_created", labels, self._created_at)

    def _head(self, name: str, described: str, kind: str) -> None:
        self._lines += [f"# HELP {name} {described}", f"# TYPE {name} {kind}"]

    def _sample(self, name: str, labels: Mapping[str, str], value: float) -> None:
        pairs = sorted({**self._labels, **labels}.items())
        rendered = ",".join(f'{key}="{_escaped(text)}"' for key, text in pairs)
        self._lines.append(f"{name}{{{rendered}}} {float(value)!r}" if rendered else f"{name} {float(value)!r}")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
