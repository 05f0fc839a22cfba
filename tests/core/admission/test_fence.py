# ruff: noqa: E501 -- a case and its message stay on one line
"""Every rule of the fence: what is accepted, what is refused, and the whole line that people read."""

import json
from typing import Any

import pytest

from scaler_core.admission import fence, messages
from scaler_core.admission.fence_rules import RULES
from scaler_core.admission.verdict import Allowed, Denied, Lookup, NeedsLookup, Request, Undecided
from tests.core.admission.fence_world import (
    ABSENT,
    BOUND,
    OPERATOR,
    OPERATORS,
    UNREAD,
    B,
    D,
    binding,
    create,
    decision,
    put,
    scaler,
    target,
    update,
    without,
)

BF, DF = f"metadata.annotations[{B}]", f"metadata.annotations[{D}]"
OWNER = "ModelDeploymentScaler llm"
LONG = "s" * 70


def op(old: dict[str, Any], new: dict[str, Any]) -> Request:
    return update(old, new, user=OPERATOR)


def committed(term: int = 4, **counts: int) -> dict[str, Any]:
    return target({B: binding(), D: decision("d-2", term, **counts)}, **counts)


REFUSED = [
    pytest.param(
        update(target(BOUND), target(BOUND, prefill=4, decode=3)), None, "bound-counts",
        f"spec.roles[decode].replicas: 5 -> 3 refused: {OWNER} owns the counts; leave replicas out and apply server-side, "
        "or set spec.suspend=true on the scaler first (bound-counts)",
        id="a-user-moves-a-bound-count",
    ),
    pytest.param(
        update(target(BOUND), without(target(BOUND), "spec", "roles", 1, "replicas")), None, "bound-counts",
        f"spec.roles[decode].replicas: 5 -> 1 refused: {OWNER} owns the counts, and a client-side apply reads omitted "
        "replicas as 1; apply server-side, or write the live counts (bound-counts)",
        id="omitted-replicas-are-one",
    ),
    pytest.param(
        update(target(BOUND), put(target(BOUND), "spec", "roles", 0, "replicas", None)), None, "bound-counts",
        f"spec.roles[prefill].replicas: 4 -> 1 refused: {OWNER} owns the counts, and a client-side apply reads omitted "
        "replicas as 1; apply server-side, or write the live counts (bound-counts)",
        id="null-replicas-are-one",
    ),
    pytest.param(
        update(target(BOUND), target(BOUND, prefill=2, decode=3)), None, "bound-counts",
        f"spec.roles[prefill].replicas: 4 -> 2, spec.roles[decode].replicas: 5 -> 3 refused: {OWNER} owns the counts; "
        "leave replicas out and apply server-side, or set spec.suspend=true on the scaler first (bound-counts)",
        id="two-counts-are-named",
    ),
    pytest.param(
        update(target(BOUND, a=2, b=2, c=2, d=2, e=2), target(BOUND, a=3, b=3, c=3, d=3, e=3)), None, "bound-counts",
        "spec.roles[a].replicas: 2 -> 3, spec.roles[b].replicas: 2 -> 3 and 3 more refused: "
        f"{OWNER} owns the counts; leave replicas out and apply server-side, or set spec.suspend=true on the scaler "
        "first (bound-counts)",
        id="as-many-counts-are-named-as-fit",
    ),
    pytest.param(
        update(target(BOUND), without(target(BOUND), "spec", "roles", 1)), None, "bound-roles",
        f"spec.roles: removing decode refused: {OWNER} owns the role set; set spec.suspend=true on it, change roles and "
        "bounds together, then resume (bound-roles)",
        id="a-user-removes-a-role",
    ),
    pytest.param(
        update(target(BOUND), without(target(BOUND), "spec")), None, "bound-roles",
        f"spec.roles: removing prefill, removing decode refused: {OWNER} owns the role set; set spec.suspend=true on it, "
        "change roles and bounds together, then resume (bound-roles)",
        id="a-user-removes-the-spec",
    ),
    pytest.param(
        update(target(BOUND), target(BOUND, prefill=4, decode=5, encode=1)), None, "bound-roles",
        f"spec.roles: adding encode refused: {OWNER} owns the role set; set spec.suspend=true on it, change roles and "
        "bounds together, then resume (bound-roles)",
        id="a-user-adds-a-role",
    ),
    pytest.param(
        update(target(BOUND), without(target(BOUND), "spec", "roles", 1, "instanceType")), None, "bound-roles",
        f"spec.roles: removing decode refused: {OWNER} owns the role set; set spec.suspend=true on it, change roles and "
        "bounds together, then resume (bound-roles)",
        id="a-role-that-loses-its-instance-type-is-removed",
    ),
    pytest.param(
        update(target(BOUND), put(target(BOUND), "spec", "roles", [*target()["spec"]["roles"], *target()["spec"]["roles"][:1]])),
        None, "bound-roles",
        f"spec.roles: repeating prefill refused: {OWNER} owns the role set; set spec.suspend=true on it, change roles and "
        "bounds together, then resume (bound-roles)",
        id="a-user-repeats-a-role",
    ),
    pytest.param(
        update(target(BOUND), target({B: binding()})), None, "bound-annotation",
        f"{DF} refused: {OWNER} writes it; leave both scaler-* annotations out of the manifest (bound-annotation)",
        id="a-user-removes-the-decision-alone",
    ),
    pytest.param(
        update(target(BOUND), target({B: binding(term=9), D: BOUND[D]})), None, "bound-annotation",
        f"{BF} refused: {OWNER} writes it; leave both scaler-* annotations out of the manifest (bound-annotation)",
        id="a-user-rewrites-the-binding",
    ),
    pytest.param(
        update(target(), target({B: binding()})), None, "unbound-annotation",
        f"{BF} refused: only the controller of a ModelDeploymentScaler writes it; leave both scaler-* annotations out of "
        "the manifest (unbound-annotation)",
        id="a-user-installs-a-binding",
    ),
    pytest.param(
        update(target({D: decision()}), target({D: decision("d-9")})), None, "unbound-annotation",
        f"{DF} refused: only the controller of a ModelDeploymentScaler writes it; leave both scaler-* annotations out of "
        "the manifest (unbound-annotation)",
        id="a-user-changes-the-decision-of-an-unbound-target",
    ),
    pytest.param(
        update(target({B: "junk"}), target({B: binding()})), None, "unreadable-binding",
        f"{BF} refused: the stored binding cannot be read, so it may be removed but not replaced; remove the annotation "
        "and let a scaler bind again (unreadable-binding)",
        id="a-user-repairs-an-unreadable-binding",
    ),
    pytest.param(
        op(target({B: "junk"}), target({B: binding()})), None, "unreadable-binding",
        f"{BF} refused: the stored binding cannot be read, so it may be removed but not replaced; remove the annotation "
        "and let a scaler bind again (unreadable-binding)",
        id="an-operator-repairs-an-unreadable-binding",
    ),
    pytest.param(
        create(target(BOUND)), None, "create-annotated",
        f"{BF} refused on create: it belongs to the object that was copied or backed up; remove both scaler-* "
        "annotations and create again (create-annotated)",
        id="a-copy-of-a-bound-target",
    ),
    pytest.param(
        create(target({D: ""}), user=OPERATOR), None, "create-annotated",
        f"{DF} refused on create: it belongs to the object that was copied or backed up; remove both scaler-* "
        "annotations and create again (create-annotated)",
        id="an-operator-creates-with-an-empty-annotation",
    ),
    pytest.param(
        update(target(BOUND), target({D: BOUND[D]})), scaler(), "unbind-live",
        f"{BF} stays: {OWNER} still exists; delete it or set spec.suspend=true on it, and it releases the binding itself "
        "(unbind-live)",
        id="a-user-unbinds-a-living-scaler",
    ),
    pytest.param(
        update(target(BOUND), target()), scaler(terminating=True), "unbind-deleting",
        f"{BF} stays: {OWNER} is being deleted and will release it; if its controller is gone, remove the scaler's "
        "finalizer, then this annotation (unbind-deleting)",
        id="a-user-unbinds-a-dying-scaler",
    ),
    pytest.param(
        update(target(BOUND), target()), UNREAD, "unbind-unread",
        f"{BF} stays for now: {OWNER} could not be read (timeout after 3 s); try again (unbind-unread)",
        id="the-scaler-cannot-be-read",
    ),
    pytest.param(
        op(target(BOUND), target({D: BOUND[D]}, image="engine:2")), None, "operator-spec",
        "spec: changing roles refused: an operator of ModelDeploymentScaler writes counts and its annotations only; make "
        "other changes as another user (did another admission webhook change it?) (operator-spec)",
        id="an-operator-changes-an-image-with-the-release",
    ),
    pytest.param(
        op(target(), target(prefill=4, decode=6)), None, "commit-unbound",
        "spec.roles[decode].replicas: 5 -> 6 refused: there is no readable binding, and an operator commits only under "
        "one; bind first (commit-unbound)",
        id="an-operator-moves-an-unbound-count",
    ),
    pytest.param(
        op(target(), target({D: decision()})), None, "commit-unbound",
        f"{DF} refused: there is no readable binding, and an operator commits only under one; bind first "
        "(commit-unbound)",
        id="an-operator-decides-without-a-binding",
    ),
    pytest.param(
        op(target(BOUND), target(BOUND, prefill=4, decode=6)), None, "commit-decision",
        "spec.roles[decode].replicas: 5 -> 6 refused: counts move only with a new decision; write a decision with a new "
        "decisionID together with the counts (commit-decision)",
        id="an-operator-moves-counts-without-a-decision",
    ),
    pytest.param(
        op(target(BOUND), target({B: binding(), D: decision("d-1", prefill=4, decode=6)}, prefill=4, decode=6)), None,
        "commit-decision",
        f"{DF} refused: its decisionID is that of the last decision; write a decision with a new decisionID "
        "(commit-decision)",
        id="an-operator-uses-a-decision-twice",
    ),
    pytest.param(
        op(target(BOUND), target({B: binding()})), None, "commit-unreadable",
        f"{DF} refused: it is removed; write a JSON object with decisionID, term and vector (commit-unreadable)",
        id="an-operator-removes-the-decision",
    ),
    pytest.param(
        op(target(BOUND), target({B: binding(), D: "{}"})), None, "commit-unreadable",
        f"{DF} refused: decisionID is not 1 to 64 characters of [0-9A-Za-z-]; write a JSON object with decisionID, term "
        "and vector (commit-unreadable)",
        id="an-operator-writes-junk",
    ),
    pytest.param(
        op(target(BOUND), committed(term=3, prefill=4, decode=6)), None, "commit-term",
        f"{DF} refused: term 3 is not 4, the term of the binding; commit under the binding that is on the deployment "
        "(commit-term)",
        id="a-late-commit-of-an-older-term",
    ),
    pytest.param(
        op(target(BOUND), target({B: binding(), D: decision("d-2", prefill=4, decode=4)}, prefill=4, decode=6)), None,
        "commit-vector",
        f"{DF}: vector decode=4 but spec.roles[decode].replicas=6; counts and decision must agree in one write (did "
        "another admission webhook change the counts?) (commit-vector)",
        id="vector-and-counts-differ",
    ),
    pytest.param(
        op(target(BOUND), target({B: binding(), D: decision("d-2", prefill=4)})), None, "commit-vector",
        f"{DF}: vector decode=null but spec.roles[decode].replicas=5; counts and decision must agree in one write (did "
        "another admission webhook change the counts?) (commit-vector)",
        id="the-vector-lacks-a-role",
    ),
    pytest.param(
        op(target(), target({B: binding()}, prefill=4, decode=6)), None, "binding-alone",
        "spec.roles[decode].replicas: 5 -> 6 refused: a bind or release moves no counts; write the binding alone, then "
        "commit (did another admission webhook change it?) (binding-alone)",
        id="bind-and-counts-in-one-write",
    ),
    pytest.param(
        op(target(), target({B: binding(), D: decision()})), None, "binding-alone",
        f"{DF} refused: a bind or release leaves the decision alone; write the binding alone, then commit "
        "(binding-alone)",
        id="bind-and-decision-in-one-write",
    ),
    pytest.param(
        op(target(BOUND), target({B: binding(term=5), D: BOUND[D]})), None, "binding-rewritten",
        f"{BF} refused: a readable binding is removed, never rewritten; release it first, then bind (binding-rewritten)",
        id="an-operator-rewrites-a-binding",
    ),
    pytest.param(
        op(target(), target({B: '{"scalerName":"llm","scalerUID":"u","term":true}'})), None, "bind-unreadable",
        f"{BF} refused: term is not an integer from 1 to 2^53-1; write a JSON object with scalerName, scalerUID and "
        "term (bind-unreadable)",
        id="a-bind-that-nobody-can-read",
    ),
    pytest.param(
        op(target({D: decision(term=4)}), target({B: binding(term=4), D: decision(term=4)})), None, "bind-term",
        f"{BF} refused: term 4 is not above 4, the term of the last decision; bind with a higher term (bind-term)",
        id="a-bind-with-the-term-of-the-last-decision",
    ),
    pytest.param(
        op(target(), target({B: binding()}, terminating=True)), None, "bind-target",
        f"{BF} refused: the deployment is being deleted; wait until it exists again (bind-target)",
        id="a-bind-on-a-dying-target",
    ),
    *(
        pytest.param(
            op(target(), target({B: binding()})), lookup, "bind-scaler",
            f"{BF} refused: {OWNER} {why}; bind only for a living scaler of this deployment (bind-scaler)",
            id=f"a-bind-for-a-scaler-that-{why.replace(' ', '-')}",
        )
        for lookup, why in [
            (ABSENT, "does not exist"),
            (scaler(uid="uid-2"), "has another UID"),
            (scaler(aims_at="chat"), "targets another deployment"),
            (scaler(terminating=True), "is being deleted"),
        ]
    ),
    pytest.param(
        op(target(), target({B: binding()})), UNREAD, "bind-unread",
        f"{BF} refused for now: {OWNER} could not be read (timeout after 3 s); try again (bind-unread)",
        id="a-bind-whose-scaler-cannot-be-read",
    ),
]  # fmt: skip

ACCEPTED = [
    pytest.param(update(target(BOUND), target(BOUND, image="engine:2")), None, "bound-counts", id="a-user-changes-an-image"),
    pytest.param(update(target(BOUND), put(target(BOUND), "spec", "roles", 0, "replicas", 4.0)), None, "bound-counts", id="four-point-zero-is-four"),
    pytest.param(update(target({D: decision()}), target({D: decision()}, prefill=9, decode=9)), None, "bound-counts", id="a-user-moves-an-unbound-count"),
    pytest.param(update(target({B: "junk"}), target({B: "junk"}, prefill=9, decode=9)), None, "bound-counts", id="an-unreadable-binding-claims-nothing"),
    pytest.param(update(target(BOUND), target(BOUND, decode=5, prefill=4)), None, "bound-roles", id="a-user-reorders-roles"),
    pytest.param(update(target(), target(prefill=4)), None, "bound-roles", id="a-user-removes-a-role-of-an-unbound-target"),
    pytest.param(update(target(BOUND), put(target(BOUND), "metadata", "labels", {"a": "b"})), None, "bound-annotation", id="a-user-labels-a-bound-target"),
    pytest.param(update(target({D: decision()}), target()), None, "unbound-annotation", id="a-user-removes-a-decision-left-behind"),
    pytest.param(update(target({B: "junk", D: "junk"}), target()), None, "unreadable-binding", id="a-user-removes-an-unreadable-binding"),
    pytest.param(op(target({B: "junk"}), target()), None, "unreadable-binding", id="an-operator-removes-an-unreadable-binding"),
    pytest.param(create(target()), None, "create-annotated", id="a-new-target"),
    pytest.param(create(target({"a": "b"})), None, "create-annotated", id="a-new-target-with-other-annotations"),
    pytest.param(update(target(BOUND), target({D: BOUND[D]})), ABSENT, "unbind-live", id="recovery-of-an-orphan"),
    pytest.param(update(target(BOUND), target()), ABSENT, "unbind-live", id="recovery-may-drop-both"),
    pytest.param(update(target(BOUND), target()), scaler(uid="uid-2"), "unbind-deleting", id="recovery-when-the-name-has-another-uid"),
    pytest.param(update(target(BOUND), target()), scaler(aims_at="chat"), "unbind-unread", id="recovery-when-the-scaler-aims-elsewhere"),
    pytest.param(op(target(BOUND), target({D: BOUND[D]})), None, "operator-spec", id="release"),
    pytest.param(op(target(BOUND), put(target(BOUND), "metadata", "managedFields", [])), None, "operator-spec", id="co-owning-moves-nothing"),
    pytest.param(op(target(BOUND), committed(prefill=4, decode=6)), None, "commit-unbound", id="commit"),
    pytest.param(op(target(BOUND), committed(prefill=4, decode=5)), None, "commit-decision", id="a-commit-that-moves-nothing"),
    pytest.param(op(target({B: binding()}), committed(prefill=3, decode=6)), None, "commit-unreadable", id="the-first-commit"),
    pytest.param(op(target({B: binding(), D: "junk"}), committed(prefill=3, decode=6)), None, "commit-term", id="a-commit-over-junk"),
    pytest.param(op(target(BOUND), committed(prefill=1024, decode=1)), None, "commit-vector", id="a-commit-to-the-limit"),
    pytest.param(op(target(), target({B: binding(term=1)})), scaler(), "binding-alone", id="the-first-bind"),
    pytest.param(op(target(BOUND), target({D: BOUND[D]})), None, "binding-rewritten", id="release-asks-nobody"),
    pytest.param(op(target({D: decision(term=4)}), target({B: binding(term=5), D: decision(term=4)})), scaler(), "bind-term", id="a-bind-above-the-last-term"),
    pytest.param(op(target({D: "junk"}), target({B: binding(term=1), D: "junk"})), scaler(), "bind-unreadable", id="a-bind-beside-junk"),
    pytest.param(op(target(), target({B: binding()})), scaler(), "bind-scaler", id="a-bind-for-a-living-scaler"),
    pytest.param(op(target(BOUND, terminating=True), target({D: BOUND[D]}, terminating=True)), None, "bind-target", id="a-release-on-a-dying-target"),
    pytest.param(op(target(), target({B: binding()})), scaler(), "bind-unread", id="a-bind-whose-scaler-was-read"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "lookup", "rule", "message"), REFUSED)
def test_refused(request_: Request, lookup: Lookup | None, rule: str, message: str) -> None:
    verdict = fence.judge(request_, OPERATORS, lookup)
    assert isinstance(verdict, Denied | Undecided)
    violation = verdict.violations[0] if isinstance(verdict, Denied) else verdict.violation
    assert violation.message == message
    assert violation.rule == rule
    assert isinstance(verdict, Undecided) == rule.endswith("-unread")


@pytest.mark.parametrize(("request_", "lookup", "rule"), ACCEPTED)
def test_accepted(request_: Request, lookup: Lookup | None, rule: str) -> None:
    assert isinstance(fence.judge(request_, OPERATORS, lookup), Allowed)


def test_every_rule_has_an_accepted_and_a_refused_case() -> None:
    ids = {rule.id for rule in RULES}
    assert {case.values[2] for case in REFUSED} == ids
    assert {case.values[2] for case in ACCEPTED} == ids


@pytest.mark.parametrize("case", [update(target(BOUND), target()), op(target(), target({B: binding()}))])
def test_the_scaler_is_read_afresh(case: Request) -> None:
    asked = fence.judge(case, OPERATORS)
    assert asked == NeedsLookup(kind="ModelDeploymentScaler", namespace="default", name="llm")


def test_a_dry_run_of_counts_is_admitted_with_a_warning() -> None:
    verdict = fence.judge(update(target(BOUND), target(BOUND, prefill=4, decode=3), dry_run=True), OPERATORS)
    assert isinstance(verdict, Allowed)
    assert verdict.warnings == (
        f"would be refused: spec.roles[decode].replicas: 5 -> 3 refused: {OWNER} owns the counts; leave replicas out and "
        "apply server-side, or set spec.suspend=true on the scaler first (bound-counts)",
    )


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(target({B: binding()}, prefill=4, decode=3), id="counts-and-an-annotation"),
        pytest.param(target(BOUND, prefill=3), id="counts-and-a-role"),
    ],
)
def test_a_dry_run_with_another_offence_is_refused(new: dict[str, Any]) -> None:
    assert isinstance(fence.judge(update(target(BOUND), new, dry_run=True), OPERATORS), Denied)


def test_the_probe_of_the_controller_is_refused() -> None:
    probe = update(target(), target(prefill=4, decode=6), user=OPERATOR, dry_run=True)
    assert isinstance(fence.judge(probe, OPERATORS), Denied)


def test_recovery_leaves_the_counts() -> None:
    verdict = fence.judge(update(target(BOUND), target(prefill=4, decode=6)), OPERATORS, ABSENT)
    assert isinstance(verdict, Denied)
    assert verdict.rule == "bound-counts"


def test_create_loses_both_annotations_with_warnings() -> None:
    answer = fence.strip(create(target(BOUND | {"a": "b"})))
    assert [operation["path"] for operation in answer.patch] == [
        "/metadata/annotations/modeldeployment.gpustack.ai~1scaler-binding",
        "/metadata/annotations/modeldeployment.gpustack.ai~1scaler-decision",
    ]
    assert len(answer.warnings) == 2
    assert fence.strip(create(target())) == Allowed()
    assert fence.strip(create({"metadata": {"annotations": 3}})) == Allowed()
    assert fence.strip(update(target(BOUND), target(BOUND))) == Allowed()


def test_a_poisoned_record_of_apply_is_warned_of() -> None:
    record = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"metadata": {"annotations": BOUND}})}
    verdict = fence.judge(update(target(BOUND), target(BOUND | record)), OPERATORS)
    assert isinstance(verdict, Allowed)
    [warning] = verdict.warnings
    assert warning.endswith("run kubectl apply set-last-applied -f GIT_FILE")


def test_a_reorder_while_bound_is_warned_of() -> None:
    verdict = fence.judge(update(target(BOUND), target(BOUND, decode=5, prefill=4)), OPERATORS)
    assert isinstance(verdict, Allowed)
    assert verdict.warnings[0].startswith("spec.roles: the order changed")


@pytest.mark.parametrize("roles", [[None, "x", {"replicas": "many"}], None, {}, "x", [[]], [{"name": 3}]])
def test_malformed_roles_are_judged_and_never_crash(roles: Any) -> None:
    odd = put(target(BOUND), "spec", "roles", roles)
    assert isinstance(fence.judge(update(target(BOUND), odd), OPERATORS), Denied)
    assert isinstance(fence.judge(update(odd, odd), OPERATORS), Allowed)


def test_names_of_253_characters_leave_the_remedy_whole() -> None:
    name = ".".join(["a" * 63] * 3)
    bound = {B: binding(name=name)}
    verdict = fence.judge(update(target(bound), target(bound, prefill=2, decode=2)), OPERATORS)
    assert isinstance(verdict, Denied)
    assert len(messages.summary(verdict.violations)) <= 400
    assert messages.summary(verdict.violations).endswith("or set spec.suspend=true on the scaler first (bound-counts)")
