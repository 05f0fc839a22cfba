"""What the demo found, for people and as one line of JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scaler_sim.demo.defaults import ChangedDefault
from scaler_sim.demo.journal import Decision
from scaler_sim.demo.settings import DemoSettings
from scaler_sim.workload.statistics import PhaseResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A write that admission refused."""

    what: str
    message: str
    """The exact words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The outcome of one demo."""

    settings: DemoSettings
    decisions: tuple[Decision, ...]
    lead_seconds: float | None
    was_above_before_ramp: bool
    phases: tuple[PhaseResult, ...]
    replica_seconds: float
    final_counts: Mapping[str, int]
    changed_defaults: tuple[ChangedDefault, ...]
    refusals: tuple[Refused, ...]
    clock_seconds: float
    real_seconds: float

    def lines(self) -> list[str]:
        """For people."""
        return [
            "",
            f"Summary: {self.settings.algorithm.value} on {self.settings.engine.value}, {self.clock_seconds:.0f} clock "
            f"seconds in {self.real_seconds:.0f} s",
            *self._decisions(),
            f"  Lead from ramp start to the first count above one: {self._lead()}",
            *(_phase(result) for result in self.phases),
            f"  Replica-seconds: {self.replica_seconds:.0f}",
            f"  Final counts: {_counts(self.final_counts)}",
            "  Defaults that this scaler changes: " + ("; ".join(map(_changed, self.changed_defaults)) or "none"),
        ]

    def to_json(self) -> str:
        """For programs, in one line."""
        return json.dumps(self._document(), separators=(",", ":"), ensure_ascii=False)

    def _decisions(self) -> list[str]:
        return ["  Decisions:", *(f"    {d.at:6.0f} s ({d.phase})  {d.sentence()}" for d in self.decisions)]

    def _lead(self) -> str:
        if self.lead_seconds is None:
            return "never above one"
        return f"{self.lead_seconds:.0f} s" + (" (above one before the ramp)" if self.was_above_before_ramp else "")

    def _document(self) -> dict[str, Any]:
        return {
            "engine": self.settings.engine.value,
            "algorithm": self.settings.algorithm.value,
            "clockFactor": self.settings.speed,
            "decisions": [
                {
                    "atSeconds": round(d.at, 1),
                    "phase": d.phase,
                    "from": dict(d.baseline),
                    "to": dict(d.vector),
                    "cause": d.cause,
                }
                for d in self.decisions
            ],
            "leadSeconds": None if self.lead_seconds is None else round(self.lead_seconds, 1),
            "aboveOneBeforeRamp": self.was_above_before_ramp,
            "phases": [_phase_document(result) for result in self.phases],
            "replicaSeconds": round(self.replica_seconds),
            "finalCounts": dict(self.final_counts),
            "changedDefaults": [
                {"field": c.field, "value": c.value, "default": c.default} for c in self.changed_defaults
            ],
            "refusals": [{"what": refused.what, "message": refused.message} for refused in self.refusals],
            "clockSeconds": round(self.clock_seconds),
            "realSeconds": round(self.real_seconds, 1),
        }


def _phase(result: PhaseResult) -> str:
    return (
        f"  {result.phase:9} TTFT p50 {_milliseconds(result.ttft_p50_milliseconds)}, "
        f"ITL p50 {_milliseconds(result.itl_p50_milliseconds)}, {result.output_tokens_per_second:.0f} tok/s, "
        f"{result.requests} requests, {result.errors} errors"
    )


def _phase_document(result: PhaseResult) -> dict[str, Any]:
    return {
        "phase": result.phase,
        "requests": result.requests,
        "errors": result.errors,
        "ttftP50Milliseconds": _rounded(result.ttft_p50_milliseconds),
        "ttftP99Milliseconds": _rounded(result.ttft_p99_milliseconds),
        "itlP50Milliseconds": _rounded(result.itl_p50_milliseconds),
        "itlP99Milliseconds": _rounded(result.itl_p99_milliseconds),
        "outputTokensPerSecond": round(result.output_tokens_per_second, 1),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"


def _counts(vector: Mapping[str, int]) -> str:
    return ", ".join(f"{role} {count}" for role, count in vector.items())


def _changed(changed: ChangedDefault) -> str:
    return f"{changed.field} {changed.value} (default {changed.default})"
