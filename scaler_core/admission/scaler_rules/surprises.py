"""What is legal and still likely to surprise: warnings that ride along with an admitted scaler."""

from collections.abc import Callable, Iterator
from typing import Final

from scaler_core.admission import messages
from scaler_core.admission.scaler_rules import paths
from scaler_core.admission.scaler_rules.algorithm import token_blocks
from scaler_core.admission.scaler_rules.open_bands import open_bands
from scaler_core.admission.scaler_rules.subject import Judged
from scaler_core.admission.scaler_rules.vectors import ratio_path
from scaler_core.api import scaler
from scaler_core.ratios import mobility
from scaler_core.ratios.bands import broken_caps

ANSWERING_LIMIT: Final = 64
FAST_INTERVAL: Final = 10


def warnings(judged: Judged) -> tuple[str, ...]:
    """Every warning, each beginning with its field."""
    return tuple(line for surprise in SURPRISES for line in surprise(judged))


def panic_settings(judged: Judged) -> Iterator[str]:
    """Panic that cannot come sooner than the average, or that comes at capacity."""
    for path, block in token_blocks(judged.spec):
        if block.panic_window_seconds >= block.stable_window_seconds:
            yield (
                f"{path}.panicWindowSeconds: {block.panic_window_seconds} is not below stableWindowSeconds "
                f"{block.stable_window_seconds}, so panic reacts to bursts no sooner than the ordinary average"
            )
        if block.panic_threshold.value <= 1:
            yield (
                f"{path}.panicThreshold: {messages.describe(str(block.panic_threshold))} starts panic at or before "
                "capacity, and panic prevents scale-down"
            )


def fast_interval(judged: Judged) -> Iterator[str]:
    """Scrapes that cost the engines."""
    seconds = judged.spec.sampling.interval_seconds
    if seconds < FAST_INTERVAL:
        yield f"spec.sampling.intervalSeconds: {seconds} reads every engine that often; 10 or more is gentler to them"


def too_many_pods(judged: Judged) -> Iterator[str]:
    """Roles beyond what one sample reads."""
    for role in judged.spec.roles:
        found = judged.target.role(role.name) if judged.target is not None else None
        pods = role.max_replicas * (found.answering if found is not None else 1)
        if pods > ANSWERING_LIMIT:
            yield (
                f"{paths.role(role.name)}.maxReplicas: {role.max_replicas} allows {pods} answering Pods; above "
                f"{ANSWERING_LIMIT} coverage is incomplete, and the role does not shrink until it is below again"
            )


def zero_steps(judged: Judged) -> Iterator[str]:
    """Step policies that forbid a direction."""
    behavior = judged.spec.behavior
    for field, policy, movement in (
        ("scaleUp", behavior.scale_up.step_policy, "growth"),
        ("scaleDown", behavior.scale_down.step_policy, "shrinkage"),
    ):
        if policy is not None and policy.value == 0:
            yield f"spec.behavior.{field}.stepPolicy.value: 0 prevents all {movement}"


def stuck_ratios(judged: Judged) -> Iterator[str]:
    """Steps that the ratios cannot follow; steps of zero are told above."""
    bounds = {role.name: (role.min_replicas, role.max_replicas) for role in judged.spec.roles}
    for immobility in mobility.immobilities(bounds, judged.spec.ratios, judged.spec.behavior):
        if immobility.step > 0:
            yield immobility.message


def outside_now(judged: Judged) -> Iterator[str]:
    """Counts on the target that the spec does not allow, which stops planning."""
    target = judged.target
    if target is None:
        return
    counts = {role.name: role.replicas for role in target.roles}
    for role in judged.spec.roles:
        count = counts.get(role.name)
        if count is not None and not role.min_replicas <= count <= role.max_replicas:
            yield (
                f"{paths.role(role.name)}: the deployment has {count} replicas, outside {role.min_replicas} to "
                f"{role.max_replicas}, so planning stops with BoundsConflict; suspend, set the counts, resume"
            )
    known = [r for r in judged.spec.ratios if r.numerator_role in counts and r.denominator_role in counts]
    for cap in broken_caps(known, counts):
        yield (
            f"{ratio_path(cap.ratio)}.{cap.bound}: {messages.describe(cap.text)} does not hold for the deployment's "
            "counts, so planning stops with RatioConflict; suspend, set the counts, resume"
        )


def missing_bounds(judged: Judged) -> Iterator[str]:
    """Roles of the target without bounds, which stops planning."""
    if judged.target is None:
        return
    missing = [role.name for role in judged.target.roles if judged.spec.role(role.name) is None]
    if missing:
        names, owner = messages.join([messages.word(name) for name in missing]), messages.word(judged.target.name)
        yield (
            f"spec.roles: {scaler.TARGET_KIND} {owner} also has {names}; without bounds for every role "
            "planning stops with BoundsConflict"
        )


SURPRISES: Final[tuple[Callable[[Judged], Iterator[str]], ...]] = (
    panic_settings, fast_interval, too_many_pods, zero_steps, stuck_ratios, open_bands, outside_now, missing_bounds,
)  # fmt: skip
