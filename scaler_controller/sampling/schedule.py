"""When a target is sampled next: pure, so that "never before its interval has passed" can be proved."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from scaler_core.api.meta import ObjectKey

MAX_INTERVAL_SECONDS: Final = 300.0
"""The longest interval that a scaler may ask for; a stream without subscribers is remembered that long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one scaler wants of its target's stream."""

    target: ObjectKey
    target_uid: str
    interval_seconds: float
    roles: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The sampling of one target."""

    target: ObjectKey
    target_uid: str
    subscribers: Mapping[ObjectKey, Subscription] = field(default_factory=dict)
    """By scaler."""
    sampled_at: float | None = None
    """When the last pass began, in clock seconds; also before our time, as far as we must assume it."""

    @property
    def interval_seconds(self) -> float:
        """The smallest that anybody asks for."""
        return min((it.interval_seconds for it in self.subscribers.values()), default=MAX_INTERVAL_SECONDS)

    @property
    def roles(self) -> frozenset[str]:
        """Every role that anybody scales."""
        return frozenset().union(*(it.roles for it in self.subscribers.values()))

    def subscribed(self, scaler: ObjectKey, subscription: Subscription) -> "Stream":
        """With this scaler's wish, replacing an older one."""
        return replace(self, subscribers={**self.subscribers, scaler: subscription})

    def left(self, scaler: ObjectKey) -> "Stream":
        """Without this scaler; when it was sampled is kept, so that coming back does not sample early."""
        return replace(self, subscribers={key: it for key, it in self.subscribers.items() if key != scaler})


def next_due(stream: Stream, now: float) -> float | None:
    """When the next pass may begin, not before `now`; None while nobody asks."""
    if not stream.subscribers:
        return None
    return now if stream.sampled_at is None else max(now, stream.sampled_at + stream.interval_seconds)


def is_forgettable(stream: Stream, now: float) -> bool:
    """Whether a stream that nobody asks for could be started anew without sampling early."""
    return not stream.subscribers and (stream.sampled_at is None or now - stream.sampled_at >= MAX_INTERVAL_SECONDS)
