"""One algorithm, its parameters and what each role needs of it (spec/scaling.md, Algorithms)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from scaler_core.admission import messages
from scaler_core.admission.rules import Rule, Subject
from scaler_core.admission.scaler_rules import paths
from scaler_core.admission.scaler_rules.subject import Judged, ScalerRule, scaler_rule
from scaler_core.admission.scaler_rules.vectors import ratio_path
from scaler_core.admission.verdict import Violation
from scaler_core.api.defaulting import BLOCKS
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler_spec import Predictive, ScalerSpec, TokenThroughput

SECTION: Final = "Algorithms"
ALGORITHM_BLOCK: Final = Rule(
    id="algorithm-block",
    subject=Subject.SCALER,
    section=SECTION,
    cause="Not exactly the block of the algorithm's type is set.",
    remedy="Keep the one block that belongs to the type.",
)


def check_blocks(algorithm: Mapping[str, JsonValue]) -> Iterator[Violation]:
    """Exactly the block of the type; judged on the raw document, since a type may be missing."""
    present = [block for block in BLOCKS if algorithm.get(block) is not None]
    kind = algorithm.get("type")
    if kind is None:
        says = f" refused: {' and '.join(present)} are set and no type; keep one of the blocks"
        yield ALGORITHM_BLOCK.broken("spec.algorithm", says)
        return
    for block in present:
        if BLOCKS[block] != kind:
            says = f" refused: the type is {kind}; remove this block or set type to {BLOCKS[block]}"
            yield ALGORITHM_BLOCK.broken(f"spec.algorithm.{block}", says)
    own = next(block for block, type_ in BLOCKS.items() if type_ == kind)
    if own not in present:
        says = f" is missing: type {kind} takes its parameters from it; add the block or change the type"
        yield ALGORITHM_BLOCK.broken(f"spec.algorithm.{own}", says)


@scaler_rule(
    "positive", section=SECTION, cause="A quantity that is not above zero.", remedy="Write a positive quantity."
)
def positive(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Quantities are positive, the filter's noises excepted."""
    for path, quantity in _quantities(judged.spec):
        if quantity is not None and quantity.value <= 0:
            says = " refused: it must be above zero; write a positive quantity"
            yield rule.broken(path, says, value=messages.describe(str(quantity)))


@scaler_rule(
    "tolerance",
    section="Proportional",
    cause="A tolerance that is not above 0 and at most 1.",
    remedy="Write 0.1, for example.",
)
def tolerance(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """A tolerance is positive and at most one."""
    block = judged.spec.algorithm.proportional
    if block is not None and not 0 < block.tolerance.value <= 1:
        says = ' refused: it must be above 0 and at most 1; write "0.1", for example, or leave it out'
        shown = messages.describe(str(block.tolerance))
        yield rule.broken("spec.algorithm.proportional.tolerance", says, value=shown)


@scaler_rule(
    "role-target-names",
    section="Proportional",
    cause="roleTargets names a role that is not scaled, or one role twice.",
    remedy="Name scaled roles, each once.",
)
def role_target_names(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Targets are for scaled roles, each once."""
    block = judged.spec.algorithm.proportional
    times = Counter(target.name for target in block.role_targets) if block is not None else Counter()
    for name, count in times.items():
        if judged.spec.role(name) is None:
            says = " refused: it is not a scaled role; add it to spec.roles or correct the name"
            yield rule.broken(f"{paths.role_target(name)}.name", says, value=messages.word(name))
        if count > 1:
            says = " refused: the role has two targets; keep one for each role"
            yield rule.broken(paths.role_target(name), says)


@scaler_rule(
    "role-target-missing",
    section="Proportional",
    cause="A scaled role has neither a target nor a direct ratio to a role with one.",
    remedy="Add a target for the role, or a ratio to a targeted role.",
)
def role_target_missing(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Every scaled role has a signal, its own or a neighbour's."""
    block = judged.spec.algorithm.proportional
    if block is None:
        return
    targeted = {target.name for target in block.role_targets}
    for role in judged.spec.roles:
        if role.name not in targeted and not _neighbours(judged.spec, role.name) & targeted:
            yield rule.broken(
                paths.role(role.name),
                " has no signal: it has no target and no direct ratio to a role with one; add it to "
                "spec.algorithm.proportional.roleTargets or to spec.ratios",
            )


@scaler_rule(
    "capacity-missing",
    section="Token throughput",
    cause="No token capacity is given at all, or none for a kind of role that is scaled.",
    remedy="Give a capacity for the kind, in both blocks where the algorithm is Predictive.",
)
def capacity_missing(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Every scaled kind but Encode has its capacities; without a target at least one is there."""
    kinds = _kinds(judged)
    for block, capacities in capacity_blocks(judged.spec).items():
        if kinds is None and all(capacity is None for capacity in capacities.values()):
            says = " refused: no role kind has a capacity; set it for every kind of role that is scaled"
            yield rule.broken(f"{block}.{'|'.join(capacities)}", says)
        for kind, role in (kinds or {}).items():
            field = next((name for name in capacities if name.startswith(kind)), None)
            if field is not None and capacities[field] is None:
                says = f" is missing: spec.roles[{role}] is a {kind.capitalize()} role; set what one replica serves"
                yield rule.broken(f"{block}.{field}", says)


@scaler_rule(
    "encode-ratio",
    section="Token throughput",
    cause="An Encode role without a direct ratio to a Prefill or Decode role.",
    remedy="Add a ratio between them, in either direction.",
)
def encode_ratio(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """An Encode role follows a Prefill or Decode role."""
    if judged.target is None or judged.spec.algorithm.tokens is None:
        return
    kinds = {role.name: role.kind for role in judged.target.roles}
    for role in judged.spec.roles:
        near = {kinds.get(name) for name in _neighbours(judged.spec, role.name)}
        if kinds.get(role.name) == "Encode" and not near & {"Prefill", "Decode"}:
            yield rule.broken(
                paths.role(role.name),
                " has no signal: it is an Encode role without a direct ratio to a Prefill or Decode role; "
                "add one to spec.ratios",
            )


RULES: Final[tuple[ScalerRule, ...]] = (
    positive, tolerance, role_target_names, role_target_missing, capacity_missing, encode_ratio,
)  # fmt: skip


def _neighbours(spec: ScalerSpec, role: str) -> set[str]:
    pairs = [(ratio.numerator_role, ratio.denominator_role) for ratio in spec.ratios]
    return {b for a, b in pairs if a == role} | {a for a, b in pairs if b == role}


def _kinds(judged: Judged) -> dict[str, str] | None:
    """Kind in lower case of every scaled role, to the first role of the kind; None without a target."""
    if judged.target is None:
        return None
    roles = [judged.target.role(role.name) for role in judged.spec.roles]
    return {str(role.kind).lower(): role.name for role in reversed(roles) if role is not None and role.kind is not None}


def capacity_blocks(spec: ScalerSpec) -> dict[str, dict[str, Quantity | None]]:
    """Path of each block that holds capacities, to its capacities by field name (which begins with the kind)."""
    algorithm = spec.algorithm
    blocks: dict[str, dict[str, Quantity | None]] = {}
    if algorithm.token_throughput is not None:
        blocks["spec.algorithm.tokenThroughput"] = _targets(algorithm.token_throughput)
    if algorithm.predictive is not None:
        blocks["spec.algorithm.predictive.tokenThroughput"] = _targets(algorithm.predictive.token_throughput)
        blocks["spec.algorithm.predictive"] = _capacities(algorithm.predictive)
    return blocks


def _targets(block: TokenThroughput) -> dict[str, Quantity | None]:
    return {
        "prefillTargetTokensPerSecond": block.prefill_target_tokens_per_second,
        "decodeTargetTokensPerSecond": block.decode_target_tokens_per_second,
        "serverTargetTokensPerSecond": block.server_target_tokens_per_second,
    }


def _capacities(block: Predictive) -> dict[str, Quantity | None]:
    return {
        "prefillTokenCapacityPerReplica": block.prefill_token_capacity_per_replica,
        "decodeTokenCapacityPerReplica": block.decode_token_capacity_per_replica,
        "serverTokenCapacityPerReplica": block.server_token_capacity_per_replica,
    }


def token_blocks(spec: ScalerSpec) -> Iterator[tuple[str, TokenThroughput]]:
    """Path and content of the token-throughput block, the fallback's for Predictive."""
    if spec.algorithm.token_throughput is not None:
        yield "spec.algorithm.tokenThroughput", spec.algorithm.token_throughput
    if spec.algorithm.predictive is not None:
        yield "spec.algorithm.predictive.tokenThroughput", spec.algorithm.predictive.token_throughput


def _quantities(spec: ScalerSpec) -> Iterator[tuple[str, Quantity | None]]:
    for ratio in spec.ratios:
        for member, quantity in (("min", ratio.min), ("target", ratio.target), ("max", ratio.max)):
            yield f"{ratio_path(ratio)}.{member}", quantity
    if spec.algorithm.proportional is not None:
        for target in spec.algorithm.proportional.role_targets:
            yield f"{paths.role_target(target.name)}.target", target.target
    for path, capacities in capacity_blocks(spec).items():
        for field, capacity in capacities.items():
            yield f"{path}.{field}", capacity
    for path, tokens in token_blocks(spec):
        yield f"{path}.panicThreshold", tokens.panic_threshold
        yield f"{path}.ttftTargetMilliseconds", tokens.ttft_target_milliseconds
        yield f"{path}.itlTargetMilliseconds", tokens.itl_target_milliseconds
