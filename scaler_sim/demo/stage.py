"""What the acts of the demo and those who watch share."""

from dataclasses import dataclass, field

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_sim.demo.journal import Journal
from scaler_sim.demo.screen import Screen
from scaler_sim.demo.settings import DemoSettings
from scaler_sim.demo.summary import Refused
from scaler_sim.scenario.scenario import Scenario
from scaler_sim.workload.closed_loop import ClosedLoop
from scaler_sim.workload.statistics import Recorder


class DemoError(RuntimeError):
    """The product did not do what the demo shows; the text says what."""


@dataclass(kw_only=True)
class Stage:
    """What the acts share."""

    settings: DemoSettings
    scenario: Scenario
    screen: Screen
    journal: Journal = field(default_factory=Journal)
    recorder: Recorder = field(default_factory=Recorder)
    refusals: list[Refused] = field(default_factory=list)
    target: ModelDeployment | None = None
    scaler: ModelDeploymentScaler | None = None
    loop: ClosedLoop | None = None
    phase_name: str = "set-up"
    phase_at: float = 0.0
    began_at: float | None = None
    epoch: float = 0.0
    """Clock seconds of the engines' zero."""

    @property
    def now(self) -> float:
        """Clock seconds."""
        return self.scenario.settings.clock.now()

    @property
    def current_phase(self) -> str:
        """The phase that is running, or the last one that was."""
        phase = None if self.loop is None else self.loop.phase
        return self.phase_name if phase is None else phase.name
