"""What a pass answers: when to come back."""

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueAfter:
    """Come back after so many clock seconds, or earlier when something changes."""

    seconds: float


AWAIT_CHANGE: Final = RequeueAfter(seconds=math.inf)
"""Come back only when something changes."""
AT_ONCE: Final = RequeueAfter(seconds=0.0)
"""Come back at once, without backoff; for a conflict that a fresh read resolves."""
