"""The document that explains one pass: its names are stable, programs rely on them.

Served by the controller at `/debug/scalers/NAMESPACE/NAME`, shown by `mds explain`. What is unknown is left out.
"""

from collections.abc import Mapping

from pydantic import Field, JsonValue

from scaler_core.api.base import Time, Wire
from scaler_core.api.meta import Condition
from scaler_core.api.scaler_status import Commit


class ExplainedReading(Wire):
    """What the engines of one role say; loads are sums over what was read, per second."""

    state: str
    """Fresh, Idle, Missing or Stale."""
    complete: bool
    """Every ready replica was read with a usable window."""
    ready_replicas: int
    running: float | None = None
    waiting: float | None = None
    prompt_tokens_per_second: float | None = None
    generation_tokens_per_second: float | None = None
    kv_cache_usage: float | None = None
    ttft_milliseconds: float | None = None
    itl_milliseconds: float | None = None
    problems: tuple[str, ...] = ()


class ExplainedRecommendation(Wire):
    """What the load alone asks for."""

    replicas: int
    reason: str
    message: str
    demand: float | None = None
    forecast: float | None = None
    holds_scale_down: bool = False
    holds_growth: bool = False


class ExplainedStage(Wire):
    """The count after one stage; reason and message only where the stage changed it."""

    stage: str
    replicas: int
    reason: str = ""
    message: str = ""


class ExplainedWindows(Wire):
    """The recommendations that a role is held to."""

    growth_seconds: int
    growth_lowest: int | None = None
    """Lowest recommendation of the growth window; absent until recommendations span it."""
    shrink_seconds: int
    shrink_highest: int | None = None
    """Highest recommendation of the shrink window; absent until recommendations span it."""
    unbroken_since: Time | None = None
    """Since when no sample was missed; absent right after a restart."""
    samples: int = 0


class Hold(Wire):
    """One thing that keeps a count where it is, in one direction."""

    stage: str
    """Commit, recommendation, or the stage of the plan."""
    reason: str
    message: str
    until: Time | None = None
    """When it ends if the load goes on asking for the same; absent where time alone does not end it."""


class Outlook(Wire):
    """What one role still waits for before its count can move in one direction; nothing held means that it may move.

    Where bounds, a step limit or the scaler's standing allow no move at all, only that is named.
    """

    holds: tuple[Hold, ...] = ()
    earliest: Time | None = None
    """The earliest moment at which the count could move; absent where a hold has no `until`."""


class ExplainedRole(Wire):
    """How one role's reading became its count."""

    kind: str
    current: int
    minimum: int | None = None
    maximum: int | None = None
    reading: ExplainedReading
    recommendation: ExplainedRecommendation
    stages: tuple[ExplainedStage, ...] = ()
    replicas: int
    """The count after every stage."""
    reason: str
    message: str
    windows: ExplainedWindows | None = None
    growth: Outlook | None = None
    shrink: Outlook | None = None


class ExplainedBlocked(Wire):
    """Why the plan is not what was recommended."""

    reason: str
    message: str


class Transaction(Wire):
    """Something that spans passes and is not over."""

    name: str
    """Intent, cohort, retirement, cooldown, exhaustion, rebalance or refusal."""
    message: str
    since: Time | None = None
    until: Time | None = None
    """Its deadline or the end of its wait."""


class Explained(Wire):
    """One pass over one scaler."""

    time: Time
    """Of the pass."""
    scaler: str
    target: str
    mode: str
    algorithm: str
    interval_seconds: int
    standing: str
    """How the scaler stands to its target: Owner, Shadow, Suspended, AlreadyBound, ..."""
    why: str = ""
    """Why nothing may be committed; empty when the plan may be."""
    term: int | None = None
    """Of the binding that it holds."""
    current: Mapping[str, int] = Field(default_factory=dict)
    sampled_at: Time | None = None
    vector: Mapping[str, int] = Field(default_factory=dict)
    blocked: ExplainedBlocked | None = None
    roles: Mapping[str, ExplainedRole] = Field(default_factory=dict)
    transactions: tuple[Transaction, ...] = ()
    conditions: tuple[Condition, ...] = ()
    last_commit: Commit | None = None
    recording: JsonValue = None
    """Everything that the pass depended on, to replay it."""
