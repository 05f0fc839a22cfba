"""What is known of a role's load: the output of the signal windows and the input of the algorithms."""

from dataclasses import dataclass
from fractions import Fraction

from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_status import SignalState


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleReading:
    """One role in one sample. Loads are sums over what was read, per second; None is unknown, zero is measured.

    No load here is scaled up for Pods that the cap of 64 left out: the algorithms divide by `read_share`.
    """

    role: str
    kind: RoleKind
    taken_at: float
    """Time of the sample in Unix seconds."""
    state: SignalState
    is_complete: bool
    """Every ready replica's answering Pods were read with a usable window."""
    ready_replicas: int
    """Complete ready replicas with an ordinal below the current count: the capacity."""
    read_replicas: Fraction
    """Replicas whose load was read."""
    read_share: Fraction = Fraction(1)
    """Share of the ready answering Pods that the cap of 64 let the sample ask for; 1 for a role within the cap.

    A Pod that was asked and failed lowers `read_replicas`, not this: a sum over fewer Pods is a lower bound of load,
    a sum over the 64 that the cap allows is a fair part of it.
    """
    running: float | None = None
    waiting: float | None = None
    """For a Decode role the transfer queue is included."""
    prompt_rate: float | None = None
    """Cache-missed prompt tokens per second."""
    generation_rate: float | None = None
    kv_cache_usage: float | None = None
    """Mean over Pods, 0 to 1."""
    ttft_milliseconds: Fraction | None = None
    """p95; exact, because 1.2 times a target is an exact comparison."""
    itl_milliseconds: Fraction | None = None
    covered_seconds: float = 0.0
    """Time that the rates cover; the weight of this sample in window averages."""
    problems: tuple[str, ...] = ()
    """Why the coverage is incomplete or a signal is missing, one sentence each, naming the Pod."""

    @property
    def has_work(self) -> bool:
        """Whether the role is not idle."""
        return self.state is not SignalState.IDLE
