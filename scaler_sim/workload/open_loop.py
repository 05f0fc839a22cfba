"""Plays a trace: every request is asked at its time, whether or not the ones before are answered."""

from typing import Final

from scaler_sim.engines.fleet import Fleet
from scaler_sim.engines.request import Request
from scaler_sim.engines.timeline import Timer
from scaler_sim.workload.statistics import Recorder
from scaler_sim.workload.traces import Arrival

PHASE_SECONDS: Final = 60.0


class OpenLoop:
    """Asks the requests of a trace and measures each minute as a phase of its own."""

    def __init__(
        self,
        *,
        fleet: Fleet,
        recorder: Recorder,
        arrivals: tuple[Arrival, ...],
        phase_seconds: float = PHASE_SECONDS,
    ) -> None:
        """Make a player.

        Args:
            fleet: answers.
            recorder: measures.
            arrivals: in order of time.
            phase_seconds: length of the stretches that are measured apart.
        """
        self._fleet = fleet
        self._recorder = recorder
        self._arrivals = arrivals
        self._phase_seconds = phase_seconds
        self._began_at = 0.0
        self._next = 0
        self._phases = 0
        self._timer: Timer | None = None
        fleet.attach(recorder)

    @property
    def is_over(self) -> bool:
        """Whether every request was asked."""
        return self._next >= len(self._arrivals)

    @property
    def seconds(self) -> float:
        """From the first to the last request."""
        return self._arrivals[-1].at if self._arrivals else 0.0

    def start(self) -> None:
        """Begin now."""
        self._began_at = self._fleet.timeline.now
        self._schedule()

    def stop(self) -> None:
        """Ask no more; outstanding requests are still answered."""
        self._next = len(self._arrivals)
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self) -> None:
        if not self.is_over:
            self._timer = self._fleet.timeline.at(self._began_at + self._arrivals[self._next].at, self._ask)

    def _ask(self, at: float) -> None:
        arrival = self._arrivals[self._next]
        self._next += 1
        while arrival.at >= self._phases * self._phase_seconds:
            start = self._phases * self._phase_seconds
            self._recorder.begin_phase(f"from {start:.0f} s", self._began_at + start)
            self._phases += 1
        request = Request(
            identity=self._fleet.next_identity(),
            arrived_at=at,
            prompt_tokens=arrival.prompt_tokens,
            output_tokens=arrival.output_tokens,
            blocks=arrival.blocks,
        )
        self._fleet.submit(request)
        self._schedule()
