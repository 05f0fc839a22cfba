"""Short ways to say what a test is about."""

from fractions import Fraction
from typing import Any

from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.counts import RoleCounts, WarmingReplica
from scaler_core.model.reading import RoleReading

START = 1_700_000_000.0
INTERVAL = 15.0


def reading(role: str = "server", kind: RoleKind = RoleKind.SERVER, *, ready: int = 2, **changes: Any) -> RoleReading:
    """A fresh and complete reading of a role with work and good latencies."""
    values: dict[str, Any] = {
        "taken_at": START,
        "state": SignalState.FRESH,
        "is_complete": True,
        "read_replicas": Fraction(ready),
        "running": 0.0,
        "waiting": 0.0,
        "prompt_rate": 0.0,
        "generation_rate": 0.0,
        "ttft_milliseconds": Fraction(100),
        "itl_milliseconds": Fraction(10),
        "covered_seconds": INTERVAL,
    }
    return RoleReading(role=role, kind=kind, ready_replicas=ready, **(values | changes))


def idle(role: str = "server", kind: RoleKind = RoleKind.SERVER, *, ready: int = 2, **changes: Any) -> RoleReading:
    """A role that was read completely and has nothing to do, so no latency either."""
    quiet = {"state": SignalState.IDLE, "ttft_milliseconds": None, "itl_milliseconds": None}
    return reading(role, kind, ready=ready, **(quiet | changes))


def counts(current: int, kind: RoleKind = RoleKind.SERVER, *warming: WarmingReplica) -> RoleCounts:
    return RoleCounts(kind=kind, current=current, warming=warming)


def scaler_spec(algorithm: dict[str, Any], **changes: Any) -> ScalerSpec:
    """A spec of the wire's names with bounds of 1 to 16 for every role that is mentioned."""
    document = {
        "targetRef": {"name": "llm"},
        "roles": [{"name": name, "maxReplicas": 16} for name in ("server", "prefill", "decode", "encode")],
        "algorithm": algorithm,
    }
    return ScalerSpec.from_wire(document | changes)


def token_spec(**tokens: Any) -> ScalerSpec:
    """TokenThroughput with a capacity of 1000 for each kind."""
    capacities = {f"{kind}TargetTokensPerSecond": "1000" for kind in ("prefill", "decode", "server")}
    return scaler_spec({"type": "TokenThroughput", "tokenThroughput": capacities | tokens})


def proportional_spec(metric: str = "QueueDepth", target: str = "8", role: str = "server", **block: Any) -> ScalerSpec:
    targets = [{"name": role, "target": target}]
    return scaler_spec({"type": "Proportional", "proportional": {"metric": metric, "roleTargets": targets} | block})
