"""One pass as a document for people and programs: `/debug/scalers/...` and `mds explain`."""

from collections.abc import Mapping
from typing import Any

from scaler_core.api.base import format_time
from scaler_core.model.observation import Observation
from scaler_core.model.plan import Plan, RolePlan
from scaler_core.model.reading import RoleReading
from scaler_core.model.world import Snapshot


def explain(snapshot: Snapshot, plan: Plan | None, observed: Observation | None) -> dict[str, Any]:
    """What the pass saw and every stage of what it made of it; all members are plain JSON."""
    world = snapshot.world
    return {
        "time": format_time(world.now),
        "scaler": str(world.key),
        "target": world.target.metadata.name if world.target is not None else None,
        "current": dict(world.target.vector) if world.target is not None else {},
        "sampledAt": format_time(snapshot.scrape.taken_at) if snapshot.scrape is not None else None,
        "vector": dict(plan.vector) if plan is not None else {},
        "blocked": {"reason": plan.blocked.reason, "message": plan.blocked.message}
        if plan is not None and plan.blocked is not None
        else None,
        "roles": _roles(plan, observed),
    }


def _roles(plan: Plan | None, observed: Observation | None) -> dict[str, Any]:
    if observed is None:
        return {}
    plans: Mapping[str, RolePlan] = plan.roles if plan is not None else {}
    return {
        name: {
            "reading": _reading(reading),
            "recommendation": {
                "replicas": observed.recommendations[name].replicas,
                "reason": observed.recommendations[name].reason,
                "message": observed.recommendations[name].message,
                "demand": observed.recommendations[name].demand,
                "forecast": observed.recommendations[name].forecast,
            },
            "stages": [
                {"stage": stage.stage, "replicas": stage.replicas, "reason": stage.reason, "message": stage.message}
                for stage in (plans[name].stages if name in plans else ())
            ],
            "replicas": plans[name].replicas if name in plans else observed.counts[name].current,
            "reason": plans[name].reason if name in plans else observed.recommendations[name].reason,
            "message": plans[name].message if name in plans else observed.recommendations[name].message,
        }
        for name, reading in observed.readings.items()
    }


def _reading(reading: RoleReading) -> dict[str, Any]:
    return {
        "state": reading.state,
        "complete": reading.is_complete,
        "readyReplicas": reading.ready_replicas,
        "running": reading.running,
        "waiting": reading.waiting,
        "promptTokensPerSecond": reading.prompt_rate,
        "generationTokensPerSecond": reading.generation_rate,
        "kvCacheUsage": reading.kv_cache_usage,
        "ttftMilliseconds": None if reading.ttft_milliseconds is None else float(reading.ttft_milliseconds),
        "itlMilliseconds": None if reading.itl_milliseconds is None else float(reading.itl_milliseconds),
        "problems": list(reading.problems),
    }
