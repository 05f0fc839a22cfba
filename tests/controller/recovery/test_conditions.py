"""Every (type, reason) of the contract's condition table, and every reason of a rebalance, seen in a stored status."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from scaler_core.api.meta import ObjectKey
from scaler_core.api.reasons import ConditionType, RebalanceReason
from scaler_kube import resources
from tests.controller.faults.server import TARGETS
from tests.controller.recovery.conftest import Begin
from tests.controller.recovery.stage import TIMEOUT, Stage, foreign_binding
from tests.shared_data import shared

PAIR = {"prefill": 2, "decode": 2}
FULL = {"quota": 4}
"""No room beyond what is there."""
DISABLED = {"rebalance": {"policy": "Disabled"}}
BAND = [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "0.5", "max": "2"}]
NARROW = [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "2", "max": "2"}]
_T, _F = "True", "False"


def quiet(stage: Stage) -> None:
    """Bound, sampled, and nothing to do."""
    for _ in range(3):
        stage.live()


def suspended(stage: Stage) -> None:
    quiet(stage)
    stage.edit(suspend=True)
    stage.run()


def without_target(stage: Stage) -> None:
    quiet(stage)
    stage.do(stage.server.delete(TARGETS))
    stage.run()


def with_another_target(stage: Stage) -> None:
    quiet(stage)
    stage.replace_target(**PAIR)
    stage.run()


def beside_an_owner(stage: Stage) -> None:
    stage.annotate_past_the_fence(foreign_binding())
    quiet(stage)


def with_an_unreadable_binding(stage: Stage) -> None:
    stage.annotate_past_the_fence('{"scalerName": "llm"')
    quiet(stage)


def with_silent_engines(stage: Stage) -> None:
    stage.failing = {"decode"}
    quiet(stage)


def with_narrower_bounds(stage: Stage) -> None:
    quiet(stage)
    stage.edit(roles=[{"name": role, "minReplicas": 1, "maxReplicas": 1} for role in PAIR])
    stage.live()


def with_another_band(stage: Stage) -> None:
    quiet(stage)
    stage.edit(ratios=NARROW)
    stage.live()


def held_by_its_step(stage: Stage) -> None:
    quiet(stage)
    stage.live(prefill=5)


def rolled_back(stage: Stage) -> None:
    """Growth that was not admitted is undone; its removals still retire."""
    quiet(stage)
    stage.live(prefill=4)
    stage.live(TIMEOUT)
    assert stage.vectors == [PAIR, {"prefill": 4, "decode": 2}, PAIR]


def exhausted(stage: Stage) -> None:
    """The removals of the rollback are gone, and the next samples are planned with."""
    rolled_back(stage)
    for _ in range(4):
        stage.live()


def less_is_admitted(stage: Stage) -> None:
    """Room appears for a part of what found none, and a part is all that is asked for now."""
    exhausted(stage)
    assert stage.condition("Blocked") == (_T, "ResourceExhausted")
    stage.operator.quota = 5
    stage.live(TIMEOUT, prefill=3)
    assert stage.counts == {"prefill": 3, "decode": 2}
    for _ in range(3):
        stage.live()


def less_is_admitted_without_donor(stage: Stage) -> None:
    """The same where a donor was looked for in vain."""
    exhausted(stage)
    assert stage.condition("Blocked") == (_T, "RebalanceNotApplicable")
    stage.operator.quota = 5
    stage.live(TIMEOUT, prefill=3)
    for _ in range(3):
        stage.live()
    assert stage.counts == {"prefill": 3, "decode": 2}


def more_is_wanted_again(stage: Stage) -> None:
    """The same growth is asked for once more: it waits as before."""
    less_is_admitted(stage)
    assert stage.condition("Blocked") == (_F, "Ready")
    for _ in range(3):
        stage.live(prefill=4)


def aborted(stage: Stage) -> None:
    """One retirement is aborted, and what it took is back."""
    quiet(stage)
    stage.live(decode=1)
    assert stage.counts == {"prefill": 2, "decode": 1}
    stage.operator.abort()
    stage.run()
    assert stage.counts == PAIR


def donating(stage: Stage) -> None:
    """Load fell where capacity is, and is still high where none was found."""
    exhausted(stage)
    stage.live(rounds=0, decode=1)
    assert stage.counts == {"prefill": 2, "decode": 1}


def receiving(stage: Stage) -> None:
    donating(stage)
    stage.operate(6)
    stage.live(rounds=0)
    assert stage.counts == {"prefill": 3, "decode": 1}


def donated(stage: Stage) -> None:
    receiving(stage)
    stage.live(prefill=3)


def donation_denied(stage: Stage) -> None:
    """There is a donor, but its replica would break a band."""
    exhausted(stage)
    stage.live(rounds=0, decode=1)


def without_a_fence(stage: Stage) -> None:
    for resource in (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS):
        for document in stage.server.cluster.find(resource.plural):
            stage.do(stage.server.person.delete(resource, ObjectKey("", document["metadata"]["name"])))
    quiet(stage)


Case = tuple[Callable[[Stage], None], Mapping[str, Any], Mapping[str, tuple[str, str]]]
CASES: Mapping[str, Case] = {
    "a quiet fleet": (
        quiet, {}, {
            "Bound": (_T, "Bound"), "Active": (_T, "Active"), "MetricsReady": (_T, "Observed"),
            "Blocked": (_F, "Ready"),
        },
    ),
    "suspended": (suspended, {}, {"Bound": (_F, "Suspended"), "Active": (_F, "Suspended")}),
    "Shadow": (quiet, {"mode": "Shadow"}, {"Bound": (_T, "Bound"), "Active": (_F, "ShadowMode")}),
    "Shadow beside an owner": (
        beside_an_owner, {"mode": "Shadow"}, {
            "Bound": (_F, "AlreadyBound"), "Active": (_F, "AlreadyBound"), "MetricsReady": (_T, "Observed"),
        },
    ),
    "no target": (without_target, {}, {"Bound": (_F, "TargetNotFound"), "Active": (_F, "TargetNotFound")}),
    "a target under another UID": (
        with_another_target, {}, {"Bound": (_F, "TargetReplaced"), "Active": (_F, "TargetReplaced")},
    ),
    "another scaler's binding": (
        beside_an_owner, {}, {"Bound": (_F, "AlreadyBound"), "Active": (_F, "AlreadyBound")},
    ),
    "a binding that nobody can read": (
        with_an_unreadable_binding, {}, {"Bound": (_F, "InvalidBinding"), "Active": (_F, "InvalidBinding")},
    ),
    "engines that do not answer": (with_silent_engines, {}, {"MetricsReady": (_F, "WaitingForMetrics")}),
    "counts outside the bounds": (
        with_narrower_bounds, {}, {"MetricsReady": (_F, "BoundsConflict"), "Blocked": (_T, "BoundsConflict")},
    ),
    "counts outside a band": (
        with_another_band, {}, {"MetricsReady": (_F, "RatioConflict"), "Blocked": (_T, "RatioConflict")},
    ),
    "a step of zero": (
        held_by_its_step, {"behavior": {"scaleUp": {"stepPolicy": {"type": "Pods", "value": 0}}}},
        {"Blocked": (_T, "PacingBounded"), "MetricsReady": (_T, "Observed")},
    ),
    "a rollback, before the next sample": (
        rolled_back, FULL, {"MetricsReady": (_F, "ResourceExhausted"), "Blocked": (_T, "ResourceExhausted")},
    ),
    "no capacity": (
        exhausted, FULL | DISABLED, {"Blocked": (_T, "ResourceExhausted"), "MetricsReady": (_T, "Observed")},
    ),
    "no capacity, and then room for what is asked": (
        less_is_admitted, FULL | DISABLED, {"Blocked": (_F, "Ready"), "MetricsReady": (_T, "Observed")},
    ),
    "no capacity, and again for more": (more_is_wanted_again, FULL | DISABLED, {"Blocked": (_T, "ResourceExhausted")}),
    "no donor, and then less is asked": (less_is_admitted_without_donor, FULL, {"Blocked": (_F, "Ready")}),
    "an aborted retirement": (aborted, {}, {"Blocked": (_T, "ScaleDownAborted")}),
    "no donor": (exhausted, FULL, {"Blocked": (_T, "RebalanceNotApplicable"), "Active": (_T, "Active")}),
    "a donation that breaks a band": (
        donation_denied, FULL | {"ratios": BAND}, {"Blocked": (_T, "RebalanceBlocked")},
    ),
    "a cluster without a fence": (without_a_fence, {}, {"Blocked": (_T, "CommitRefused")}),
}  # fmt: skip
REBALANCES: Mapping[str, tuple[Callable[[Stage], None], Mapping[str, Any]]] = {
    "ResourceExhausted": (rolled_back, FULL),
    "DonorRelease": (donating, FULL),
    "ReceiverAcquire": (receiving, FULL),
    "DonationAttempted": (donated, FULL),
    "RebalanceNotApplicable": (exhausted, FULL),
    "RebalanceBlocked": (donation_denied, FULL | {"ratios": BAND}),
}
OURS = {("Blocked", "CommitRefused")}
"""Beside the contract's table (design: a refused write)."""


@pytest.mark.parametrize("name", CASES)
def test_a_condition_of(name: str, begin: Begin) -> None:
    play, spec, expected = CASES[name]
    stage = begin(**spec)
    play(stage)
    assert {type_: stage.condition(type_) for type_ in expected} == expected


@pytest.mark.parametrize("reason", REBALANCES)
def test_a_rebalance_at(reason: str, begin: Begin) -> None:
    play, spec = REBALANCES[reason]
    stage = begin(**spec)
    play(stage)
    assert stage.rebalance == reason


def test_every_pair_of_the_contract_is_among_the_cases() -> None:
    text = shared("spec", "scaling.md").read_text().partition("\n### Conditions\n")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", text, flags=re.MULTILINE)
    promised = {(type_, reason) for type_, *cells in rows for reason in re.findall(r"`(\w+)`", " ".join(cells))}
    shown = {(type_, reason) for _, _, expected in CASES.values() for type_, (_, reason) in expected.items()}
    assert {type_ for type_, _ in promised} == set(ConditionType)
    assert promised - {("Blocked", "False")} <= shown, "no case shows these"
    assert shown - promised == OURS, "these are not in the contract"


def test_every_reason_of_a_rebalance_is_among_the_cases() -> None:
    assert set(REBALANCES) == set(RebalanceReason)
