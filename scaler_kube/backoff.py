"""How long to wait after failures; pure, the chance is passed in."""

from dataclasses import dataclass

_MAX_DOUBLINGS = 62  # beyond it the power alone exceeds any cap


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """A delay that doubles with every failure in a row, up to a cap."""

    base_seconds: float
    cap_seconds: float

    def delay_seconds(self, failures: int, jitter: float) -> float:
        """Seconds to wait after that many failures in a row.

        Args:
            failures: 0 waits not at all.
            jitter: uniform in [0, 1); takes off up to half, so that clients that failed together do not come back
                together ("equal jitter", Brooker, AWS Architecture Blog 2015).
        """
        if failures <= 0:
            return 0.0
        full = min(self.cap_seconds, self.base_seconds * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))
        return full * (1.0 - jitter / 2.0)
