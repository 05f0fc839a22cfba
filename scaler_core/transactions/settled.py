"""What the transactions tell the rest of a pass: `Settled` before planning, `Proposal` after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.action import Action, CommitVector, Note
from scaler_core.model.finding import Finding
from scaler_core.model.plan import Blocked, TargetLimits


class Standing(StrEnum):
    """How the scaler stands to its target; the first that applies, in this order."""

    DELETING = "Deleting"
    SUSPENDED = "Suspended"
    TARGET_NOT_FOUND = "TargetNotFound"
    TARGET_REPLACED = "TargetReplaced"
    INVALID_BINDING = "InvalidBinding"
    ALREADY_BOUND = "AlreadyBound"
    SHADOW_BESIDE = "ShadowBeside"
    """A Shadow scaler beside another scaler's binding: it computes, and reports AlreadyBound."""
    SHADOW = "Shadow"
    FREE = "Free"
    """Active, and the target is unclaimed: bind."""
    OWNER = "Owner"


class Planning(StrEnum):
    """How far this pass may go after the transactions were settled."""

    COMMIT = "Commit"
    """Plan, and let `propose` turn the plan into a write."""
    RECOMMEND = "Recommend"
    """Plan for status and people only."""
    FRESH_READ = "FreshRead"
    """The target may have moved: when `wait` has passed, read it past the cache (`World.target_read_at`) and settle
    again, in this very pass when it is 0 (then do not report this one); until then plan for status only."""
    STOPPED = "Stopped"
    """Plan nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The transactions of one pass, before planning.

    `status` has every transaction field advanced. With an `action` it holds what must be stored before the action is
    carried out (the intent of a commit, the term of a binding), and nothing else is planned in this pass.
    """

    status: ScalerStatus
    standing: Standing
    planning: Planning
    why: str
    """Why planning may not commit, in words; empty when it may."""
    bound: Finding
    active: Finding
    action: Action | None = None
    wait: float | None = None
    """Seconds after which a look is due although nothing happened."""
    limits: TargetLimits = field(default_factory=TargetLimits)
    growth_blocked: Mapping[str, str] = field(default_factory=dict)
    growth_caps: Mapping[str, int] = field(default_factory=dict)
    blocked: Blocked | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What becomes of the plan: at most one write, whose intent `status` already holds."""

    status: ScalerStatus
    action: CommitVector | None = None
    blocked: Blocked | None = None
    """Why a rebalance that was asked for does not start."""
    notes: tuple[Note, ...] = ()
