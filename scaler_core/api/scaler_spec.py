"""The spec of a `ModelDeploymentScaler` (spec/scaling.md, Resource), with its defaults.

The models describe a spec after defaulting: `defaulting.apply_defaults` fills raw documents from the defaults here.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from scaler_core.api.base import INFERRED, KEYED_BY_NAME, ZERO_STORES_DEFAULT, Wire, keyed_by
from scaler_core.api.quantity import Quantity

MAX_REPLICAS: Final = 1024
MAX_STEP: Final = 2**31 - 1  # the contract asks for nonnegative only; this is what every client can carry
Count = Annotated[int, Field(ge=1, le=MAX_REPLICAS)]
RoleName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]


class Mode(StrEnum):
    """Whether recommendations are committed."""

    SHADOW = "Shadow"
    ACTIVE = "Active"


class AlgorithmType(StrEnum):
    """The three algorithms."""

    PROPORTIONAL = "Proportional"
    TOKEN_THROUGHPUT = "TokenThroughput"
    PREDICTIVE = "Predictive"


class Metric(StrEnum):
    """What `Proportional` divides by its target."""

    QUEUE_DEPTH = "QueueDepth"
    RUNNING_REQUESTS = "RunningRequests"
    WAITING_REQUESTS = "WaitingRequests"
    PROMPT_TOKENS = "PromptTokensPerSecond"
    GENERATION_TOKENS = "GenerationTokensPerSecond"
    TOTAL_TOKENS = "TotalTokensPerSecond"


class StepType(StrEnum):
    """Unit of a step policy."""

    PODS = "Pods"
    PERCENT = "Percent"


class RebalancePolicy(StrEnum):
    """Who may release capacity for a role that could not grow."""

    OPPOSING = "Opposing"
    PRIORITY = "Priority"
    DISABLED = "Disabled"


class TargetReference(Wire):
    """The deployment whose roles are scaled, in the scaler's namespace; it cannot be changed later."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
    """Name of the ModelDeployment in this namespace."""


class Sampling(Wire):
    """How often engines are read, and how long a scale-up may wait for admission."""

    interval_seconds: Annotated[int, Field(ge=5, le=300)] = 15
    """Seconds between two samples of the target's engines; the fastest that a scaler can react."""
    pending_timeout_seconds: Annotated[int, Field(ge=60, le=1200)] = 300
    """Seconds that added replicas may stay unadmitted before the scale-up is rolled back."""


class ScaledRole(Wire):
    """Bounds of one role of the target."""

    name: RoleName
    """Name of a role of the target; each role once."""
    min_replicas: Count = 1
    """The fewest replicas, 1 to 1024."""
    max_replicas: Count
    """The most replicas, 1 to 1024 and at least minReplicas."""


class Ratio(Wire):
    """A band or a preference for the count of one role divided by the count of another."""

    numerator_role: RoleName
    """The role whose count is divided."""
    denominator_role: RoleName
    """The role whose count divides."""
    min: Quantity | None = None
    """The smallest allowed ratio; must be positive."""
    target: Quantity | None = None
    """The preferred ratio, within min and max; must be positive."""
    max: Quantity | None = None
    """The largest allowed ratio; must be positive."""


class RoleTarget(Wire):
    """What one ready replica of a role should carry."""

    name: RoleName
    """A scaled role; each role once."""
    target: Quantity
    """Requests, or tokens per second, for each ready replica; must be positive."""


class Proportional(Wire):
    """One live metric over a fixed target for each replica, with a dead band."""

    metric: Metric
    """What is measured: QueueDepth, RunningRequests, WaitingRequests, or a rate in tokens per second."""
    tolerance: Quantity = Quantity("0.1")
    """The relative distance from the target that changes nothing; positive and at most 1."""
    role_targets: Annotated[tuple[RoleTarget, ...], Field(max_length=10), KEYED_BY_NAME] = ()
    """A target for each role, except for roles that a ratio couples to a targeted one."""


class TokenThroughput(Wire):
    """Token rates over a stable and a panic window, with latency guards."""

    prefill_target_tokens_per_second: Quantity | None = None
    """Prompt tokens per second, cache misses only, that one Prefill replica serves."""
    decode_target_tokens_per_second: Quantity | None = None
    """Generated tokens per second that one Decode replica serves."""
    server_target_tokens_per_second: Quantity | None = None
    """Prompt and generated tokens per second that one Server replica serves."""
    stable_window_seconds: Annotated[int, Field(ge=30, le=600)] = 180
    """Seconds over which ordinary demand is averaged."""
    panic_window_seconds: Annotated[int, Field(ge=10, le=300)] = 60
    """Seconds over which recent demand is averaged."""
    panic_threshold: Quantity = Quantity("2")
    """Recent demand, as a multiple of the ready replicas' capacity, at which panic starts."""
    ttft_target_milliseconds: Quantity = Quantity("500")
    """The p95 time to first token that Prefill and Server roles should keep."""
    itl_target_milliseconds: Quantity = Quantity("50")
    """The p95 inter-token latency that Decode and Server roles should keep."""


class Predictive(Wire):
    """A forecast of demand by a local linear trend, never below the token-throughput result."""

    token_throughput: TokenThroughput = TokenThroughput()
    """The fallback, used alone until enough observations arrived."""
    horizon_seconds: Annotated[int, Field(ge=30, le=600)] = 300
    """How far ahead demand is forecast."""
    prefill_token_capacity_per_replica: Quantity | None = None
    """Forecast prompt tokens per second that one Prefill replica serves."""
    decode_token_capacity_per_replica: Quantity | None = None
    """Forecast generated tokens per second that one Decode replica serves."""
    server_token_capacity_per_replica: Quantity | None = None
    """Forecast prompt and generated tokens per second that one Server replica serves."""
    q_level: Quantity = Quantity("1")
    """Process noise of the demand level; higher follows faster; nonpositive means the default."""
    q_trend: Quantity = Quantity("0.1")
    """Process noise of the demand trend; higher follows faster; nonpositive means the default."""
    measurement_noise: Quantity = Quantity("10")
    """Uncertainty of one observation; higher follows slower; nonpositive means the default."""
    min_points: Annotated[int, Field(ge=1, le=64)] = 6
    """Observations before the forecast is used."""

    @property
    def level_noise(self) -> Quantity:
        """The process noise of the level to filter with: `q_level`, or its default where that is not positive."""
        return self._positive(self.q_level, "q_level")

    @property
    def trend_noise(self) -> Quantity:
        """The process noise of the trend to filter with: `q_trend`, or its default where that is not positive."""
        return self._positive(self.q_trend, "q_trend")

    @property
    def observation_noise(self) -> Quantity:
        """The noise of one observation to filter with: `measurement_noise`, or its default where not positive."""
        return self._positive(self.measurement_noise, "measurement_noise")

    @classmethod
    def _positive(cls, noise: Quantity, field: str) -> Quantity:
        default: Quantity = cls.model_fields[field].default
        return noise if noise.value > 0 else default


class Algorithm(Wire):
    """One algorithm and only its matching block."""

    type: Annotated[AlgorithmType, INFERRED]
    """Proportional, TokenThroughput or Predictive."""
    proportional: Proportional | None = None
    """Parameters of Proportional."""
    token_throughput: TokenThroughput | None = None
    """Parameters of TokenThroughput."""
    predictive: Predictive | None = None
    """Parameters of Predictive."""

    @property
    def tokens(self) -> TokenThroughput | None:
        """The token-throughput parameters, the fallback's for Predictive, None for Proportional."""
        return self.predictive.token_throughput if self.predictive is not None else self.token_throughput


def percent_of(percent: int, current: int) -> int:
    """A share of the current count in whole replicas, rounded up."""
    return -(-current * percent // 100)


class StepPolicy(Wire):
    """The most that one pass may move, in one unit."""

    type: StepType
    """Pods counts replicas; Percent is of the current count, rounded up."""
    value: Annotated[int, Field(ge=0, le=MAX_STEP)]
    """Size of the step; zero prevents movement in this direction."""

    def size(self, current: int) -> int:
        """The step in replicas from `current` replicas."""
        return self.value if self.type is StepType.PODS else percent_of(self.value, current)


class ScaleUp(Wire):
    """Pacing of growth."""

    stabilization_window_seconds: Annotated[int, Field(ge=0, le=600)] = 0
    """Seconds over which the lowest recommendation counts; zero disables the wait."""
    max_step_replicas: Annotated[int, Field(ge=0, le=MAX_STEP), ZERO_STORES_DEFAULT] = 4
    """Replicas that one pass may add; the larger of both bounds applies; zero stores the default."""
    max_step_percent: Annotated[int, Field(ge=0, le=1000), ZERO_STORES_DEFAULT] = 100
    """Percent of the current count that one pass may add, rounded up; zero stores the default."""
    step_policy: StepPolicy | None = None
    """Replaces both bounds with one unit."""

    def step(self, current: int) -> int:
        """Replicas that one pass may add: the step policy alone, or else the larger of both bounds."""
        if self.step_policy is not None:
            return self.step_policy.size(current)
        return max(self.max_step_replicas, percent_of(self.max_step_percent, current))


class ScaleDown(Wire):
    """Pacing of shrinkage."""

    stabilization_window_seconds: Annotated[int, Field(ge=0, le=1800), ZERO_STORES_DEFAULT] = 300
    """Seconds over which the highest recommendation counts; zero stores the default."""
    cooldown_after_abort_seconds: Annotated[int, Field(ge=0, le=3600), ZERO_STORES_DEFAULT] = 300
    """Seconds without shrinkage of the target after an aborted retirement; zero stores the default."""
    decode_post_scale_up_grace_seconds: Annotated[int, Field(ge=0, le=3600), ZERO_STORES_DEFAULT] = 120
    """Seconds without shrinkage of a Decode role after it grew; zero stores the default."""
    step_policy: StepPolicy | None = None
    """Replaces the limit of one replica for each role and pass."""

    def step(self, current: int) -> int:
        """Replicas that one pass may remove from a role: the step policy, or else one."""
        return 1 if self.step_policy is None else self.step_policy.size(current)


class Behavior(Wire):
    """How fast counts may move."""

    scale_up: ScaleUp = ScaleUp()
    """Pacing of growth."""
    scale_down: ScaleDown = ScaleDown()
    """Pacing of shrinkage."""


class Rebalance(Wire):
    """What may happen after a scale-up found no capacity."""

    policy: RebalancePolicy = RebalancePolicy.OPPOSING
    """Opposing, Priority or Disabled."""
    priority: Annotated[tuple[RoleName, ...], Field(max_length=10)] = ()
    """Scaled roles, highest priority first; only read by Priority."""


class ScalerSpec(Wire):
    """What the user asks of the scaler."""

    target_ref: TargetReference
    """The deployment whose roles are scaled."""
    mode: Mode = Mode.SHADOW
    """Shadow only recommends; Active commits."""
    suspend: bool = False
    """True stops planning and releases the binding."""
    sampling: Sampling = Sampling()
    """Cadence and timeouts."""
    roles: Annotated[tuple[ScaledRole, ...], Field(min_length=1, max_length=10), KEYED_BY_NAME]
    """Bounds of every role of the target."""
    ratios: Annotated[tuple[Ratio, ...], Field(max_length=90), keyed_by("numeratorRole", "denominatorRole")] = ()
    """Bands and preferences between roles; each ordered pair once."""
    algorithm: Algorithm
    """How measurements become counts."""
    behavior: Behavior = Behavior()
    """How fast counts may move."""
    rebalance: Rebalance = Rebalance()
    """Whether one role may release capacity for another."""

    def role(self, name: str) -> ScaledRole | None:
        """The bounds of a role."""
        return next((role for role in self.roles if role.name == name), None)
