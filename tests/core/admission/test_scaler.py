# ruff: noqa: E501 -- a case and its message stay on one line
"""Every rule of a scaler's document: what is accepted, what is refused, and the whole line that people read."""

from typing import Any

import pytest

from scaler_core.admission import messages, scaler
from scaler_core.admission.verdict import Absent, Allowed, Denied, Lookup, NeedsLookup, Request, Undecided, Unread
from scaler_core.api.defaulting import apply_defaults
from tests.core.admission.scaler_world import (
    change,
    create,
    document,
    pair,
    predictive,
    proportional,
    put,
    server,
    target,
    update,
    without,
)

SERVER = target(("server", "Server"))
PD = target(("prefill", "Prefill"), ("decode", "Decode"))
TT = "spec.algorithm.tokenThroughput"
PR = "spec.algorithm.proportional"
LONG_NAME = "llm-serving-of-a-rather-long-winded-team"


def named(document: dict[str, Any], name: str) -> dict[str, Any]:
    return change(document, "targetRef", "name", name)


REFUSED = [
    pytest.param(create(change(server(), "behaviour", {})), None, "unknown-field",
        "spec.behaviour refused: there is no such field; did you mean behavior? (unknown-field)", id="a-misspelt-field"),
    pytest.param(create(change(server(), "roles", 0, "minreplicas", 3)), None, "unknown-field",
        "spec.roles[server].minreplicas refused: there is no such field; did you mean minReplicas? (unknown-field)", id="a-field-in-another-case"),
    pytest.param(create(change(server(), "zzz", 3)), None, "unknown-field",
        "spec.zzz refused: there is no such field; remove it, or see kubectl explain mds.spec for the fields (unknown-field)", id="a-field-like-no-other"),
    pytest.param(create({"metadata": {}}), None, "required",
        "spec is missing; set it: targetRef, roles and algorithm are needed (required)", id="no-spec"),
    pytest.param(create(without(server(), "spec", "targetRef")), None, "required",
        "spec.targetRef is missing; set it: the deployment whose roles are scaled (required)", id="no-target"),
    pytest.param(create(without(server(), "spec", "roles", 0, "maxReplicas")), None, "required",
        "spec.roles[server].maxReplicas is missing; set it: the most replicas, 1 to 1024 and at least minReplicas (required)", id="no-maximum"),
    pytest.param(create(without(proportional(), "spec", "algorithm", "proportional", "metric")), None, "required",
        f"{PR}.metric is missing; set it: what is measured: QueueDepth, RunningRequests, WaitingRequests, or a rate in tokens per second (required)", id="no-metric"),
    pytest.param(create(change(server(), "sampling", {"intervalSeconds": "15"})), None, "type",
        "spec.sampling.intervalSeconds: 15 refused: it is a text; write an integer without quotes (type)", id="a-number-in-quotes"),
    pytest.param(create(change(server(), "suspend", "true")), None, "type",
        "spec.suspend: true refused: it is a text; write true or false without quotes (type)", id="a-truth-value-in-quotes"),
    pytest.param(create(change(server(), "roles", {})), None, "type",
        "spec.roles: an object refused: it is an object; write a list (type)", id="roles-as-an-object"),
    pytest.param(create(change(server(), "roles", [None])), None, "type",
        "spec.roles[0]: null refused: it is null; write an object (type)", id="a-null-role"),
    pytest.param(create(change(server(), "targetRef", "name", 3)), None, "type",
        "spec.targetRef.name: 3 refused: it is a number; write a text in quotes (type)", id="a-number-for-a-name"),
    pytest.param(create(change(server(), "sampling", {"intervalSeconds": 4})), None, "range",
        "spec.sampling.intervalSeconds: 4 refused: allowed are 5 to 300; write a number in that range (range)", id="too-fast"),
    pytest.param(create(change(server(), "roles", 0, "maxReplicas", 1025)), None, "range",
        "spec.roles[server].maxReplicas: 1025 refused: allowed are 1 to 1024; write a number in that range (range)", id="too-many-replicas"),
    pytest.param(create(change(server(), "roles", 0, "minReplicas", 0)), None, "range",
        "spec.roles[server].minReplicas: 0 refused: allowed are 1 to 1024; write a number in that range (range)", id="scale-to-zero"),
    pytest.param(create(change(server(), "behavior", {"scaleUp": {"stepPolicy": {"type": "Pods", "value": -1}}})), None, "range",
        "spec.behavior.scaleUp.stepPolicy.value: -1 refused: allowed are 0 to 2147483647; write a number in that range (range)", id="a-negative-step"),
    pytest.param(create(change(server(), "mode", "active")), None, "enum",
        "spec.mode: active refused: allowed are Shadow, Active; did you mean Active? (enum)", id="a-word-in-another-case"),
    pytest.param(create(change(server(), "mode", "Active ")), None, "enum",
        'spec.mode: "Active " refused: allowed are Shadow, Active; did you mean Active? (enum)', id="a-word-with-a-blank"),
    pytest.param(create(change(server(), "algorithm", "type", "HPA")), None, "enum",
        "spec.algorithm.type: HPA refused: allowed are Proportional, TokenThroughput, Predictive; write one of them (enum)", id="another-autoscaler"),
    pytest.param(create(change(server(), "roles", [])), None, "length",
        "spec.roles: a list of 0 refused: it has 0 entries, allowed are 1 to 10; keep within that (length)", id="no-roles"),
    pytest.param(create(named(server(), "a" * 254)), None, "length",
        f"spec.targetRef.name: {'a' * 60}... refused: it has 254 characters, allowed are 1 to 253; keep within that (length)", id="a-name-too-long"),
    pytest.param(create(named(server(), "../x")), None, "name",
        "spec.targetRef.name: ../x refused: it cannot name an object of Kubernetes; use lower-case letters, digits and - (name)", id="a-name-that-leads-elsewhere"),
    pytest.param(create(change(pair({"min": "0,5"}), "suspend", False)), None, "quantity",
        'spec.ratios[prefill/decode].min: 0,5 refused: it is no quantity; write a number in quotes such as "0.5", "500m" or "2k" (quantity)', id="a-comma"),
    pytest.param(create(pair({"min": 0.5})), None, "quantity",
        "spec.ratios[prefill/decode].min: 0.5 refused: a number with a fraction would be rounded; write it in quotes (quantity)", id="a-fraction-without-quotes"),
    pytest.param(update(server(), named(server(), "chat")), None, "target-fixed",
        "spec.targetRef.name: llm -> chat refused: a scaler keeps its target; create another ModelDeploymentScaler for chat and delete this one (target-fixed)", id="another-target"),
    pytest.param(create(server()), Unread(reason="timeout after 3 s"), "target-unread",
        "spec.targetRef.name cannot be judged for now: ModelDeployment llm could not be read (timeout after 3 s); try again (target-unread)", id="the-target-cannot-be-read"),
    pytest.param(create(change(server(), "algorithm", {"proportional": {"metric": "QueueDepth"}, "predictive": {}})), None, "algorithm-block",
        "spec.algorithm refused: proportional and predictive are set and no type; keep one of the blocks (algorithm-block)", id="two-blocks-and-no-type"),
    pytest.param(create(change(server(), "algorithm", "predictive", {})), None, "algorithm-block",
        "spec.algorithm.predictive refused: the type is TokenThroughput; remove this block or set type to Predictive (algorithm-block)", id="a-block-of-another-type"),
    pytest.param(create(change(server(), "algorithm", {"type": "Predictive"})), None, "algorithm-block",
        "spec.algorithm.predictive is missing: type Predictive takes its parameters from it; add the block or change the type (algorithm-block)", id="a-type-without-its-block"),
    pytest.param(create(without(server(), "spec", "algorithm")), None, "algorithm-block",
        f"{TT} is missing: type TokenThroughput takes its parameters from it; add the block or change the type (algorithm-block)", id="no-algorithm"),
    pytest.param(create(change(server(), "algorithm", "tokenThroughput", "panicThreshold", "0")), None, "positive",
        f"{TT}.panicThreshold: 0 refused: it must be above zero; write a positive quantity (positive)", id="a-threshold-of-zero"),
    pytest.param(create(change(server(), "algorithm", "tokenThroughput", "serverTargetTokensPerSecond", "-1")), None, "positive",
        f"{TT}.serverTargetTokensPerSecond: -1 refused: it must be above zero; write a positive quantity (positive)", id="a-negative-capacity"),
    pytest.param(create(pair({"target": "0"})), None, "positive",
        "spec.ratios[prefill/decode].target: 0 refused: it must be above zero; write a positive quantity (positive)", id="a-ratio-of-zero"),
    pytest.param(create(proportional(("prefill", "0"), ("decode", "8"))), None, "positive",
        f"{PR}.roleTargets[prefill].target: 0 refused: it must be above zero; write a positive quantity (positive)", id="a-target-of-zero"),
    pytest.param(create(predictive(serverTokenCapacityPerReplica=0)), None, "positive",
        "spec.algorithm.predictive.serverTokenCapacityPerReplica: 0 refused: it must be above zero; write a positive quantity (positive)", id="a-forecast-capacity-of-zero"),
    pytest.param(create(proportional(tolerance="0")), None, "tolerance",
        f'{PR}.tolerance: 0 refused: it must be above 0 and at most 1; write "0.1", for example, or leave it out (tolerance)', id="a-tolerance-of-zero"),
    pytest.param(create(proportional(tolerance="1001m")), None, "tolerance",
        f'{PR}.tolerance: 1001m refused: it must be above 0 and at most 1; write "0.1", for example, or leave it out (tolerance)', id="a-tolerance-just-above-one"),
    pytest.param(create(proportional(("prefill", "8"), ("decode", "8"), ("encode", "8"))), None, "role-target-names",
        f"{PR}.roleTargets[encode].name: encode refused: it is not a scaled role; add it to spec.roles or correct the name (role-target-names)", id="a-target-for-no-role"),
    pytest.param(create(proportional(("prefill", "8"), ("decode", "8"), ("decode", "9"))), None, "role-target-names",
        f"{PR}.roleTargets[decode] refused: the role has two targets; keep one for each role (role-target-names)", id="two-targets-for-a-role"),
    pytest.param(create(proportional(("prefill", "8"))), None, "role-target-missing",
        f"spec.roles[decode] has no signal: it has no target and no direct ratio to a role with one; add it to {PR}.roleTargets or to spec.ratios (role-target-missing)", id="a-role-without-a-signal"),
    pytest.param(create(change(server(), "algorithm", "tokenThroughput", {})), None, "capacity-missing",
        f"{TT}.prefillTargetTokensPerSecond|decodeTargetTokensPerSecond|serverTargetTokensPerSecond refused: no role kind has a capacity; set it for every kind of role that is scaled (capacity-missing)", id="no-capacity-at-all"),
    pytest.param(create(server()), target(("server", "Decode")), "capacity-missing",
        f"{TT}.decodeTargetTokensPerSecond is missing: spec.roles[server] is a Decode role; set what one replica serves (capacity-missing)", id="no-capacity-for-the-kind"),
    pytest.param(create(change(predictive(), "algorithm", "predictive", "tokenThroughput", {"decodeTargetTokensPerSecond": 1})), target(("server", "")), "capacity-missing",
        "spec.algorithm.predictive.tokenThroughput.serverTargetTokensPerSecond is missing: spec.roles[server] is a Server role; set what one replica serves (capacity-missing)", id="the-fallback-needs-its-capacity-too"),
    pytest.param(create(pair()), target(("prefill", "Encode"), ("decode", "decode")), "encode-ratio",
        "spec.roles[prefill] has no signal: it is an Encode role without a direct ratio to a Prefill or Decode role; add one to spec.ratios (encode-ratio)", id="an-encode-role-alone"),
    pytest.param(create(change(server(), "roles", [{"name": "server", "maxReplicas": 4}] * 2)), None, "role-unique",
        "spec.roles[server] refused: the role is listed twice; keep one entry for each role (role-unique)", id="a-role-twice"),
    pytest.param(create(change(server(), "roles", 0, "minReplicas", 17)), None, "bounds-order",
        "spec.roles[server].minReplicas: 17 refused: it is above maxReplicas 16; raise the maximum or lower the minimum (bounds-order)", id="minimum-just-above-maximum"),
    pytest.param(create(pair({"denominatorRole": "encode", "min": "1"})), None, "ratio-roles",
        "spec.ratios[prefill/encode].denominatorRole: encode refused: it is not a scaled role; add it to spec.roles or correct the name (ratio-roles)", id="a-ratio-to-no-role"),
    pytest.param(create(pair({"denominatorRole": "prefill", "min": "1"})), None, "ratio-roles",
        "spec.ratios[prefill/prefill].denominatorRole: prefill refused: it is the numerator, too; name two distinct roles (ratio-roles)", id="a-ratio-to-itself"),
    pytest.param(create(pair({"min": "1"}, {"max": "2"})), None, "ratio-unique",
        "spec.ratios[prefill/decode] refused: the pair is listed twice; keep one ratio for each pair (ratio-unique)", id="a-pair-twice"),
    pytest.param(create(pair({})), None, "ratio-empty",
        "spec.ratios[prefill/decode] refused: it has none of min, target and max; set one of them or remove the ratio (ratio-empty)", id="a-ratio-that-says-nothing"),
    pytest.param(create(pair({"min": "2", "max": "1"})), None, "ratio-order",
        "spec.ratios[prefill/decode].min: 2 refused: it is above max 1; make min <= max (ratio-order)", id="min-above-max"),
    pytest.param(create(pair({"min": "500m", "target": "0.4999", "max": "1"})), None, "ratio-order",
        "spec.ratios[prefill/decode].target: 0.4999 refused: it is below min 500m; make min <= target (ratio-order)", id="target-just-below-min"),
    pytest.param(create(pair({"target": "2.0001", "max": "2"})), None, "ratio-order",
        "spec.ratios[prefill/decode].target: 2.0001 refused: it is above max 2; make target <= max (ratio-order)", id="target-just-above-max"),
    pytest.param(create(change(change(pair({"min": "0.5"}), "roles", 1, "minReplicas", 8), "roles", 0, {"name": "prefill", "minReplicas": 1, "maxReplicas": 3})), None, "ratio-infeasible",
        "spec.ratios[prefill/decode].min: 0.5 leaves no counts: decode is at least 8, so prefill must reach 4 but stops at 3; raise prefill maxReplicas to 4 or lower decode minReplicas to 6 (ratio-infeasible)", id="bounds-against-a-band"),
    pytest.param(create(change(server(), "rebalance", {"policy": "Priority", "priority": ["decode"]})), None, "priority-names",
        "spec.rebalance.priority: decode refused: it is not a scaled role; add it to spec.roles or correct the name (priority-names)", id="a-priority-for-no-role"),
    pytest.param(create(change(server(), "rebalance", {"priority": ["server", "server"]})), None, "priority-names",
        "spec.rebalance.priority: server refused: it is listed twice; keep each role once (priority-names)", id="a-priority-twice"),
    pytest.param(create(server()), target(("main", "Server"), ("second", "Server")), "role-unknown",
        "spec.roles[server].name: server refused: ModelDeployment llm has main, second; correct the name or remove the entry (role-unknown)", id="a-role-that-the-target-lacks"),
    pytest.param(create(server()), target(("server", "Server", {"command": ["sh"]})), "command",
        "spec.roles[server]: ModelDeployment llm sets a command for it, so its signals are not managed; remove spec.roles[server].command from the deployment before scaling it (command)", id="a-custom-command"),
    pytest.param(create(server()), target(("server", "Server", {"elasticEp": {"width": 4}})), "elastic-ep",
        "spec.roles[server]: ModelDeployment llm sets elasticEp for it, so it grows by width and not by replicas; remove spec.roles[server].elasticEp from the deployment before scaling it (elastic-ep)", id="an-elastic-role"),
    pytest.param(create(change(named(pair(), LONG_NAME + "-of-ours"), "roles", 1, "maxReplicas", 1024)), target(("prefill", "Prefill"), ("decode", "Decode"), name=LONG_NAME + "-of-ours"), "name-length",
        "spec.roles[decode].maxReplicas: 1024 gives Pod names of 64 characters, 63 allowed; at most 1000 fits, or shorten the deployment or role name (name-length)", id="names-one-too-long"),
    pytest.param(create(named(server(), "a" * 60)), target(("server", "Server"), name="a" * 60), "name-length",
        "spec.roles[server].maxReplicas: 16 gives Pod names of 74 characters, 63 allowed; no count fits, so shorten the deployment or role name (name-length)", id="no-count-fits"),
]  # fmt: skip

ACCEPTED = [
    pytest.param(create(server()), Absent(), "unknown-field", id="the-target-may-come-later"),
    pytest.param(create(server()), SERVER, "required", id="a-server-role"),
    pytest.param(create(change(server(), "roles", 0, "maxReplicas", 16.0)), SERVER, "type", id="sixteen-point-zero-is-an-integer"),
    pytest.param(create(change(server(), "sampling", {"intervalSeconds": 300, "pendingTimeoutSeconds": 60})), SERVER, "range", id="ends-of-ranges"),
    pytest.param(create(change(server(), "mode", "Active")), SERVER, "enum", id="active"),
    pytest.param(create(change(server(), "roles", 0, "name", "s" * 63)), Absent(), "length", id="a-name-of-63"),
    pytest.param(create(named(server(), "llm.v2")), Absent(), "name", id="a-subdomain"),
    pytest.param(create(pair({"min": "500m", "target": 1, "max": "2e0"})), PD, "quantity", id="quantities-in-every-form"),
    pytest.param(update(server(), change(server(), "mode", "Active")), SERVER, "target-fixed", id="an-edit-that-keeps-the-target"),
    pytest.param(create(server()), SERVER, "target-unread", id="the-target-was-read"),
    pytest.param(create(change(server(), "algorithm", "proportional", None)), SERVER, "algorithm-block", id="a-null-block-is-absent"),
    pytest.param(create(predictive(qLevel="0", qTrend="-1", measurementNoise=0)), SERVER, "positive", id="noises-may-be-nonpositive"),
    pytest.param(create(proportional(tolerance="1")), PD, "tolerance", id="a-tolerance-of-one"),
    pytest.param(create(proportional()), PD, "role-target-names", id="a-target-for-each-role"),
    pytest.param(create(change(proportional(("prefill", "8")), "ratios", [{"numeratorRole": "decode", "denominatorRole": "prefill", "target": "1"}])), PD, "role-target-missing", id="coupled-in-either-direction"),
    pytest.param(create(pair({"numeratorRole": "decode", "denominatorRole": "prefill", "target": "1"})), target(("prefill", "Encode"), ("decode", "Decode")), "encode-ratio", id="an-encode-role-coupled"),
    pytest.param(create(proportional()), target(("prefill", "Encode"), ("decode", "Decode")), "encode-ratio", id="an-encode-role-with-a-target-of-its-own"),
    pytest.param(create(predictive()), SERVER, "capacity-missing", id="both-capacities"),
    pytest.param(create(pair()), PD, "role-unique", id="two-roles"),
    pytest.param(create(change(server(), "roles", 0, "minReplicas", 16)), SERVER, "bounds-order", id="minimum-equals-maximum"),
    pytest.param(create(pair({"min": "0.5"})), PD, "ratio-roles", id="a-ratio-of-scaled-roles"),
    pytest.param(create(pair({"min": "0.5"}, {"numeratorRole": "decode", "denominatorRole": "prefill", "max": "4"})), PD, "ratio-unique", id="both-directions"),
    pytest.param(create(pair({"target": "1"})), PD, "ratio-empty", id="a-preference"),
    pytest.param(create(pair({"min": "1", "target": "1000m", "max": 1})), PD, "ratio-order", id="a-fixed-ratio"),
    pytest.param(create(pair({"min": "0.3333333333", "max": "0.3333333333"})), PD, "ratio-infeasible", id="a-third-in-decimals"),
    pytest.param(create(pair(rebalance={"policy": "Priority", "priority": ["decode", "prefill"]})), PD, "priority-names", id="priorities"),
    pytest.param(create(server()), target(("server", "Server"), ("other", "Server")), "role-unknown", id="missing-bounds-are-no-refusal"),
    pytest.param(create(server()), target(("server", "Server", {"command": []})), "command", id="an-empty-command"),
    pytest.param(create(server()), target(("server", "Server", {"elasticEp": None})), "elastic-ep", id="elastic-ep-null"),
    pytest.param(create(named(server(), "a" * 49)), target(("server", "Server"), name="a" * 49), "name-length", id="names-that-just-fit"),
]  # fmt: skip


def judged(request: Request, lookup: Lookup | None) -> Any:
    verdict = scaler.judge(request)
    return scaler.judge(request, lookup) if isinstance(verdict, NeedsLookup) and lookup is not None else verdict


@pytest.mark.parametrize(("request_", "lookup", "rule", "message"), REFUSED)
def test_refused(request_: Request, lookup: Lookup | None, rule: str, message: str) -> None:
    verdict = judged(request_, lookup)
    assert isinstance(verdict, Denied | Undecided)
    violations = verdict.violations if isinstance(verdict, Denied) else (verdict.violation,)
    assert [violation.message for violation in violations if violation.rule == rule][:1] == [message]
    assert {violation.rule for violation in violations} == {rule}


@pytest.mark.parametrize(("request_", "lookup", "rule"), ACCEPTED)
def test_accepted(request_: Request, lookup: Lookup, rule: str) -> None:
    verdict = judged(request_, lookup)
    assert isinstance(verdict, Allowed), verdict


def test_every_rule_has_an_accepted_and_a_refused_case() -> None:
    ids = {rule.id for rule in scaler.RULES}
    assert {case.values[2] for case in REFUSED} == ids
    assert {case.values[2] for case in ACCEPTED} == ids


def test_the_mutating_endpoint_refuses_what_shows_without_the_target() -> None:
    for case in REFUSED:
        if case.values[1] is None:
            assert isinstance(scaler.default(case.values[0]), Denied), case.id


def test_several_refusals_name_their_fields_before_the_rule() -> None:
    document = change(change(server(), "mode", "x"), "sampling", {"intervalSeconds": 1, "pendingTimeoutSeconds": 1})
    verdict = scaler.default(create(document))
    assert isinstance(verdict, Denied)
    assert messages.summary(verdict.violations) == (
        "spec.mode: x refused: allowed are Shadow, Active; write one of them; also refused: "
        "spec.sampling.intervalSeconds, spec.sampling.pendingTimeoutSeconds (enum)"
    )


def test_defaults_are_a_patch_that_gives_the_stored_document() -> None:
    import jsonpatch

    verdict = scaler.default(create(server()))
    assert isinstance(verdict, Allowed)
    assert jsonpatch.apply_patch(server(), list(verdict.patch)) == apply_defaults(server())
    stored: Any = apply_defaults(server())
    assert scaler.default(create(stored)) == Allowed()


BROKEN = change(server(), "roles", 0, "minReplicas", 17)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(update(BROKEN, put(BROKEN, "metadata", "finalizers", [])), id="an-unchanged-spec"),
        pytest.param(update(BROKEN, apply_defaults(BROKEN)), id="a-spec-that-only-gained-defaults"),
        pytest.param(
            update(server(), put(BROKEN, "metadata", "deletionTimestamp", "2026-01-01T00:00:00Z")), id="a-dying-scaler"
        ),
    ],
)
def test_an_update_that_changes_nothing_of_note_is_not_judged_again(write: Request) -> None:
    assert isinstance(scaler.judge(write), Allowed)
    assert not isinstance(scaler.default(write), Denied)


def test_the_target_is_read_afresh() -> None:
    asked = scaler.judge(create(server()))
    assert asked == NeedsLookup(kind="ModelDeployment", namespace="default", name="llm")


UP = "grows with its neighbour and comes down only without any load"
DOWN = "comes down with its neighbour and never grows again"
COUPLED = target(("prefill", "Prefill"), ("encode", "Encode"))


def coupled(numerator: str, band: dict[str, str]) -> dict[str, Any]:
    """An Encode role beside a Prefill role, with one ratio between them."""
    other = {"encode": "prefill", "prefill": "encode"}[numerator]
    return document(
        {"type": "TokenThroughput", "tokenThroughput": {"prefillTargetTokensPerSecond": "1000"}},
        [{"name": "prefill", "maxReplicas": 8}, {"name": "encode", "maxReplicas": 8}],
        ratios=[{"numeratorRole": numerator, "denominatorRole": other, **band}],
    )


WARNED = [
    pytest.param(change(server(), "algorithm", "tokenThroughput", "panicWindowSeconds", 180), SERVER,
        f"{TT}.panicWindowSeconds: 180 is not below stableWindowSeconds 180, so panic reacts to bursts no sooner than the ordinary average", id="a-panic-window-as-long-as-the-stable-one"),
    pytest.param(change(server(), "algorithm", "tokenThroughput", "panicThreshold", "1"), SERVER,
        f"{TT}.panicThreshold: 1 starts panic at or before capacity, and panic prevents scale-down", id="panic-at-capacity"),
    pytest.param(change(server(), "sampling", {"intervalSeconds": 9}), SERVER,
        "spec.sampling.intervalSeconds: 9 reads every engine that often; 10 or more is gentler to them", id="a-fast-interval"),
    pytest.param(change(server(), "roles", 0, "maxReplicas", 65), SERVER,
        "spec.roles[server].maxReplicas: 65 allows 65 answering Pods; above 64 coverage is incomplete, and the role does not shrink until it is below again", id="more-pods-than-one-sample-reads"),
    pytest.param(change(server(), "roles", 0, "maxReplicas", 17), target(("server", "Server", {"size": 4}), status={"roles": [{"name": "server", "parallelism": {"loadBalance": "External"}}]}),
        "spec.roles[server].maxReplicas: 17 allows 68 answering Pods; above 64 coverage is incomplete, and the role does not shrink until it is below again", id="external-ranks-answer-each"),
    pytest.param(change(server(), "behavior", {"scaleUp": {"stepPolicy": {"type": "Pods", "value": 0}}}), SERVER,
        "spec.behavior.scaleUp.stepPolicy.value: 0 prevents all growth", id="a-zero-step"),
    pytest.param(pair({"min": "0.5", "max": "0.5"}), target(("prefill", "Prefill", {"replicas": 2}), ("decode", "Decode", {"replicas": 4})),
        "spec.behavior.scaleDown: one pass removes at most 1 decode, but from prefill=3, decode=6 the ratios need prefill -1, decode -2 at once; set stepPolicy type Pods, value 2", id="a-step-smaller-than-a-fixed-ratio"),
    pytest.param(change(server(), "roles", 0, "minReplicas", 3), SERVER,
        "spec.roles[server]: the deployment has 2 replicas, outside 3 to 16, so planning stops with BoundsConflict; suspend, set the counts, resume", id="counts-outside-of-bounds"),
    pytest.param(pair({"min": "2"}), PD,
        "spec.ratios[prefill/decode].min: 2 does not hold for the deployment's counts, so planning stops with RatioConflict; suspend, set the counts, resume", id="counts-outside-of-a-band"),
    pytest.param(server(), target(("server", "Server"), ("other", "Server")),
        "spec.roles: ModelDeployment llm also has other; without bounds for every role planning stops with BoundsConflict", id="missing-bounds"),
    *(
        pytest.param(coupled(numerator, band), COUPLED, f"spec.ratios[{path}]: encode has no signal of its own and {says}", id=f"{numerator}-over-the-other-with-{'-'.join(band)}-alone")
        for numerator, path, band, says in (
            ("encode", "encode/prefill", {"min": "0.5"}, f"{UP}; set a target, or a max"),
            ("encode", "encode/prefill", {"max": "2"}, f"{DOWN}; set a target, or a min"),
            ("prefill", "prefill/encode", {"max": "2"}, f"{UP}; set a target, or a min"),
            ("prefill", "prefill/encode", {"min": "0.5"}, f"{DOWN}; set a target, or a max"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "lookup", "warning"), WARNED)
def test_what_is_legal_but_surprising_is_warned_of(document: dict[str, Any], lookup: Lookup, warning: str) -> None:
    verdict = judged(create(document), lookup)
    assert isinstance(verdict, Allowed), verdict
    assert verdict.warnings == (warning,)
    assert len(warning) <= messages.WARNING_LIMIT


@pytest.mark.parametrize("band", [{"target": "0.5"}, {"min": "0.5", "max": "1"}, {"min": "0.5", "target": "1"}])
def test_a_coupled_role_that_follows_both_ways_gets_no_warning(band: dict[str, str]) -> None:
    assert judged(create(coupled("encode", band)), COUPLED) == Allowed()


@pytest.mark.parametrize(
    "document", [server(), pair({"min": "0.5", "target": "1", "max": "2"}), pair({"min": "0.5"}), predictive()]
)
def test_ordinary_scalers_get_no_warning(document: dict[str, Any]) -> None:
    verdict = judged(create(document), PD if "ratios" in document["spec"] else SERVER)
    assert verdict == Allowed()
