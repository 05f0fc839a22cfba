"""Whether bounds and ratios leave any counts at all: exact, always decided, and told with a way out that works."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Final

from scaler_core.api.scaler_spec import Ratio
from scaler_core.ratios.bands import Cap, caps_of
from scaler_core.ratios.conflict import ONE, Bounds, Problem, as_chain, as_shrinking_cycle, conflict_core
from scaler_core.ratios.propagation import Lattice
from scaler_core.ratios.remedy import Change, Field, Option, options

_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasible:
    """Some counts satisfy everything: all of them are between these two, which are feasible themselves."""

    least: Mapping[str, int]
    greatest: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Infeasible:
    """No counts satisfy everything. The message is `field: value sentence; remedy`."""

    field: str
    """Path of the first member that cannot hold: `spec.ratios[prefill/decode].min`."""
    value: str
    """Its value as written."""
    pairs: tuple[str, ...]
    """The ratios that cannot hold together, each `numerator/denominator`; a single one is a pair with its bounds."""
    sentence: str
    """Why, with the numbers."""
    ways_out: tuple[Option, ...]
    """Each of these edits makes the spec feasible."""

    @property
    def remedy(self) -> str:
        """The ways out in imperative words."""
        return " or ".join(" and ".join(change.text for change in option) for option in self.ways_out)

    @property
    def message(self) -> str:
        """Everything in one line."""
        return f"{self.field}: {self.value} {self.sentence}; {self.remedy}"


def check(bounds: Bounds, ratios: Sequence[Ratio]) -> Feasible | Infeasible:
    """Decide whether any vector of counts is inside all bounds and all bands.

    Args:
        bounds: role to (minReplicas, maxReplicas), each from 1 to 1024.
        ratios: bands with positive quantities; those that name a role without bounds are ignored here.

    Returns:
        The least and the greatest feasible vector, or the pair or cycle that cannot hold and the way out. Never
        undecided. Microseconds where feasible; milliseconds where the explanation is worked out.
    """
    inverted = next(((role, low, high) for role, (low, high) in bounds.items() if low > high), None)
    if inverted is not None:
        return _inverted(*inverted)
    problem = Problem.of(bounds, caps_of(ratios))
    lattice = Lattice(problem.roles, problem.caps)
    greatest = lattice.greatest(problem.lower, problem.upper)
    least = lattice.least(problem.lower, problem.upper)
    if greatest is None or least is None:
        return _explained(problem)
    return Feasible(
        least=dict(zip(problem.roles, least, strict=True)), greatest=dict(zip(problem.roles, greatest, strict=True))
    )


def _explained(problem: Problem) -> Infeasible:
    core = conflict_core(problem, problem.caps)
    cycle, chain = as_shrinking_cycle(core), as_chain(core)
    if cycle is not None:
        core, sentence = cycle, _cycle_sentence(cycle)
    elif chain is not None:
        core, sentence = chain, _chain_sentence(problem, chain)
    else:
        sentence = _whole_numbers_sentence(problem, core)
    first, *others = core
    together = f"with {_listed([cap.label for cap in others], ' and ')} leaves" if others else "leaves"
    return Infeasible(
        field=f"spec.ratios[{first.pair}].{first.bound}",
        value=first.text,
        pairs=tuple(dict.fromkeys(cap.pair for cap in core)),
        sentence=f"{together} no counts: {sentence}",
        ways_out=options(problem),
    )


def _chain_sentence(problem: Problem, chain: Sequence[Cap]) -> str:
    """Follow the floor of the first role along the caps to the ceiling that it breaks."""
    low = dict(zip(problem.roles, problem.lower, strict=True))
    high = dict(zip(problem.roles, problem.upper, strict=True))
    count = low[chain[0].role]
    start, steps = f"{chain[0].role} is at least {count}", []
    for cap in chain:
        count = ceil(count / cap.factor)
        steps.append(f"so {cap.other} must reach {count}")
    told = steps if len(steps) <= _NAMED else [*steps[: _NAMED - 1], f"and after {len(steps) - _NAMED} more", steps[-1]]
    return f"{start}, {', '.join(told)} but stops at {high[chain[-1].other]}"


def _cycle_sentence(cycle: Sequence[Cap]) -> str:
    product = float(prod((cap.factor for cap in cycle), start=ONE))
    if len(cycle) > _NAMED:
        roles = _listed([cap.role for cap in cycle], ", ")
        return f"round the cycle of {roles} they allow {cycle[0].role} at most {product:.4g} x itself"
    steps = ", ".join(f"{cap.role} is at most {float(cap.factor):.4g} x {cap.other}" for cap in cycle)
    return f"{steps}, together {cycle[0].role} at most {product:.4g} x itself"


def _listed(names: Sequence[str], separator: str) -> str:
    """At most three names, then how many more: a message must fit into one line of every panel."""
    rest = len(names) - _NAMED
    return separator.join(names) if rest <= 0 else f"{separator.join(names[:_NAMED])} and {rest} more"


def _whole_numbers_sentence(problem: Problem, core: Sequence[Cap]) -> str:
    involved = {role for cap in core for role in (cap.role, cap.other)}
    rows = zip(problem.roles, problem.lower, problem.upper, strict=True)
    ranges = [f"{role} {low} to {high}" for role, low, high in rows if role in involved]
    return f"no whole numbers within {_listed(ranges, ' and ')} have such ratios"


def _inverted(role: str, low: int, high: int) -> Infeasible:
    return Infeasible(
        field=f"spec.roles[{role}].minReplicas",
        value=str(low),
        pairs=(),
        sentence=f"is above maxReplicas {high}",
        ways_out=((Change(subject=role, field=Field.MAX_REPLICAS, value=str(low)),),),
    )
