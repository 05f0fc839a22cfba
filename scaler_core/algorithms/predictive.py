"""`Predictive`: the larger of the token-throughput result and a forecast (spec, Predictive).

The filter follows NVIDIA Dynamo's planner; the rule for consolidation is its load loop's, which removes a replica
only where the others would stay within 80 % of what they can carry.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from scaler_core.algorithms.sizing import exact, replicas_for
from scaler_core.algorithms.tracker import Forecast
from scaler_core.algorithms.wording import number, replicas
from scaler_core.api.reasons import RoleReason
from scaler_core.model.recommendation import Recommendation

CONSOLIDATION_LIMIT: Final = Fraction(4, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is known of the demand to come."""

    forecast: Forecast
    horizon_seconds: int
    capacity: Fraction
    """Tokens per second that one replica serves, for the forecast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What is known of the demand there is."""

    demand: Fraction
    """Average over the stable window, tokens per second."""
    capacity: Fraction
    """Tokens per second that one replica serves, for the windows."""
    ready: int
    current: int
    has_work: bool
    urgent_floor: int | None = None
    """The count that panic or a latency above 1.2 times its target asks for; None where neither holds."""


def warming_up(token: Recommendation, *, count: int, min_points: int, note: str) -> Recommendation:
    """The token result until the filter has seen enough."""
    seen = f"the predictor has {count} of {min_points} observations" + (f", {note}" if note else "")
    return replace(token, reason=RoleReason.PREDICTOR_WARMING_UP, message=f"{seen}; until then {token.message}")


def recommend(token: Recommendation, outlook: Outlook, present: Present) -> Recommendation:
    """The forecast's count where it is larger, one extra where it is urgent, held where consolidation is too tight.

    Args:
        token: The token-throughput result behind the latency guard.
        outlook: The forecast.
        present: Windows and counts.
    """
    demand = exact(outlook.forecast.demand)
    wanted = replicas_for(demand, outlook.capacity)
    answer = replace(token, forecast=float(demand))
    if wanted > token.replicas:
        answer = replace(
            answer,
            replicas=wanted,
            reason=RoleReason.PREDICTIVE,
            message=f"{_forecast(outlook)}: ceil({number(demand)} / {number(outlook.capacity)}) = {wanted}; "
            f"now {token.message}",
        )
    elif token.reason is RoleReason.TOKEN_THROUGHPUT:
        answer = replace(answer, message=f"{token.message}; {_forecast(outlook)} needs {wanted}")
    answer = _urgent(answer, present)
    return answer if answer.replicas >= present.current else _consolidate(answer, demand, outlook, present)


def _forecast(outlook: Outlook) -> str:
    seen = outlook.forecast
    trend = f"{'+' if seen.trend_per_second >= 0 else ''}{number(seen.trend_per_second)}/s"
    followed = f", trend {trend} followed for {number(seen.reach_seconds)} s" if seen.trend_per_second else ""
    level = number(max(0.0, seen.level))
    share = round(100 * seen.last_share)
    moved = f", moved {share} % towards the last value {number(seen.last)}" if share else ""
    return f"forecast {number(seen.demand)} tokens/s in {outlook.horizon_seconds} s (level {level}{followed}{moved})"


def _urgent(answer: Recommendation, present: Present) -> Recommendation:
    floor = present.urgent_floor
    if floor is None or answer.replicas >= floor:
        return answer
    return replace(
        answer,
        replicas=floor,
        message=f"{answer.message}; one extra beyond what is ready and on the way: {floor}",
        holds_scale_down=True,
    )


def _consolidate(answer: Recommendation, forecast: Fraction, outlook: Outlook, present: Present) -> Recommendation:
    others = present.ready - 1
    limit = f"above {number(CONSOLIDATION_LIMIT * 100)} %"
    tight = [
        f"{name} {number(load)} over {replicas(others)} is {limit} of {number(each)} each"
        for name, load, each in (
            ("demand", present.demand, present.capacity),
            ("forecast", forecast, outlook.capacity),
        )
        if load > CONSOLIDATION_LIMIT * each * others
    ]
    if not tight or not present.has_work:
        return answer
    return replace(
        answer,
        replicas=present.current,
        reason=RoleReason.PREDICTIVE_CONSOLIDATION_HOLD,
        message=f"with one replica fewer {' and '.join(tight)}: holding {replicas(present.current)}; "
        f"otherwise {answer.message}",
        holds_scale_down=True,
    )
