"""What a demo plays."""

from dataclasses import dataclass
from typing import Final

from scaler_core.api.scaler_spec import AlgorithmType
from scaler_core.model.scrape import Engine

DEFAULT_SPEED: Final = 8.0
_LONGEST_CLOCK_SECONDS: Final = 1000.0
_SET_UP_SECONDS: Final = 40.0
_LONGEST_SECONDS: Final = 165.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSettings:
    """Engine, algorithm and speed."""

    engine: Engine = Engine.VLLM
    algorithm: AlgorithmType = AlgorithmType.TOKEN_THROUGHPUT
    speed: float = DEFAULT_SPEED
    """Clock seconds in one real second."""
    seed: int = 1

    @property
    def title(self) -> str:
        """What is played, and how fast, as the screen always shows it."""
        return f"mds demo: {self.algorithm.value} on {self.engine.value}, clock {self.speed:g} times as fast"

    @property
    def limit_seconds(self) -> float:
        """Real seconds after which the demo counts as failed: under three minutes, more only at lower speeds."""
        return max(_LONGEST_SECONDS, _SET_UP_SECONDS + _LONGEST_CLOCK_SECONDS / self.speed)
