"""Bytes in, bytes out: the UID comes back whatever was sent, refusals are 403, and "not now" is 503."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler_core.admission import fence, scaler
from scaler_core.admission.verdict import Allowed, Denied, Operation, Undecided, Violation
from scaler_webhook import review
from tests.core.admission.fence_world import OPERATORS
from tests.core.admission.test_fence import REFUSED as FENCE_REFUSED
from tests.core.admission.test_scaler import REFUSED as SCALER_REFUSED
from tests.webhook.webhook_world import nested
from tests.webhook.webhook_world import review as document

ONE = Violation(field="spec.x", value="", rule="some-rule", message="spec.x refused: y; do z (some-rule)")


def body(**members: Any) -> bytes:
    return json.dumps(document({"spec": {}}, **members)).encode()


def rendered(verdict: Allowed | Denied | Undecided) -> dict[str, Any]:
    answer = json.loads(review.render("u-1", verdict))
    assert answer["apiVersion"] == "admission.k8s.io/v1"
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == "u-1"
    return response


def test_a_review_is_read() -> None:
    parsed = review.parse(json.dumps(document({"a": 1}, {"b": 2}, user="u", dry_run=True)).encode())
    assert isinstance(parsed, review.Review)
    assert parsed.uid == "0b5c-42"
    request = parsed.request
    assert (request.operation, request.user, request.is_dry_run) == (Operation.UPDATE, "u", True)
    assert (request.namespace, request.name) == ("default", "llm")
    assert (request.new, request.old) == ({"a": 1}, {"b": 2})


@pytest.mark.parametrize("members", [{"operation": "DELETE"}, {"operation": "CONNECT"}, {"subResource": "status"}])
def test_what_is_not_judged_passes(members: dict[str, Any]) -> None:
    assert review.parse(body(**members)) == review.PassThrough(uid="0b5c-42")


@pytest.mark.parametrize(
    ("text", "uid", "reason"),
    [
        pytest.param(b"", "", "it is not JSON", id="nothing"),
        pytest.param(b'{"request":{"uid":"u-1",', "u-1", "it is not JSON", id="cut-off"),
        pytest.param(b'{"request":{"uid": "u-1","x":"\xff"}}', "u-1", "it is not JSON", id="no-utf-8"),
        pytest.param(
            ('{"request":{"uid":"u-1","object":' + "".join(nested(100_000)) + "}}").encode(),
            "u-1",
            "it is nested too deeply",
            id="very-deep",
        ),
        pytest.param(
            b'{"request":{"uid":"u-1"}}', "u-1", "it is no AdmissionReview of admission.k8s.io/v1", id="no-kind"
        ),
        pytest.param(
            b'{"apiVersion":"admission.k8s.io/v1","request":{}}', "", "it has no request with a UID", id="no-uid"
        ),
        pytest.param(body(object=None), "0b5c-42", "it has no object", id="no-object"),
        pytest.param(body(operation="UPDATE"), "0b5c-42", "it is an update without the old object", id="no-old"),
    ],
)
def test_what_cannot_be_judged_says_why_and_keeps_its_uid(text: bytes, uid: str, reason: str) -> None:
    assert review.parse(text) == review.Malformed(uid=uid, reason=reason)
    refusal = review.malformed(reason)
    assert refusal.violations[0].message == (
        f"request refused: {reason}, so it cannot be judged; check the webhook's registration (review)"
    )


def test_warnings_are_such_as_an_api_server_does_not_cut() -> None:
    shown = rendered(Allowed(warnings=(f"spec.x: careful {'and so on ' * 60}, really", "spec.y: careful")))["warnings"]
    assert [len(line) <= 250 for line in shown] == [True] * 4
    assert (shown[0][:15], shown[2][-6:], shown[3]) == ("spec.x: careful", "really", "spec.y: careful")


def test_an_admission_carries_warnings_and_patch() -> None:
    response = rendered(Allowed(warnings=("spec.x: careful",), patch=({"op": "remove", "path": "/a"},)))
    assert response == {
        "uid": "u-1",
        "allowed": True,
        "warnings": ["spec.x: careful"],
        "patchType": "JSONPatch",
        "patch": "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=",
    }
    assert rendered(Allowed()) == {"uid": "u-1", "allowed": True}


def test_a_refusal_is_403_with_causes_and_the_rule_for_the_audit_log() -> None:
    response = rendered(Denied(violations=(ONE,), warnings=("spec.y: careful",)))
    assert response["status"] == {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": ONE.message,
        "details": {"causes": [{"reason": "some-rule", "field": "spec.x", "message": ONE.message}]},
    }
    assert response["auditAnnotations"] == {"rule": "some-rule"}
    assert response["warnings"] == ["spec.y: careful"]


def test_not_now_is_503_without_a_hint_to_retry() -> None:
    status = rendered(Undecided(violation=ONE))["status"]
    assert (status["code"], status["reason"]) == (503, "ServiceUnavailable")
    assert "retryAfterSeconds" not in status["details"]


def test_every_refusal_is_403_and_every_failed_read_503() -> None:
    verdicts = [fence.judge(case.values[0], OPERATORS, case.values[1]) for case in FENCE_REFUSED]
    for case in SCALER_REFUSED:
        verdicts += [scaler.judge(case.values[0], case.values[1]), scaler.default(case.values[0])]
    refusals = [verdict for verdict in verdicts if isinstance(verdict, Denied | Undecided)]
    assert len(refusals) >= len(FENCE_REFUSED) + len(SCALER_REFUSED)
    for verdict in refusals:
        assert rendered(verdict)["status"]["code"] == (403 if isinstance(verdict, Denied) else 503)


KEYS = st.sampled_from("ab") | st.text(max_size=4).filter(lambda key: key != "uid")
"""Without a second UID, which a changed byte could lift into the request: there the last one counts, as in any JSON."""
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A review with junk in any member, perhaps cut or with a byte changed behind its UID."""
    members = {
        name: draw(JUNK)
        for name in draw(
            st.sets(st.sampled_from(["operation", "object", "oldObject", "userInfo", "name", "dryRun", "subResource"]))
        )
    }
    whole = draw(st.sampled_from([document({"spec": {}}), document({"spec": {}}, {"spec": {}})]))
    whole["request"] = {"uid": "u-1"} | {k: v for k, v in (whole["request"] | members).items() if k != "uid"}
    text = json.dumps(whole, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    start = text.index(b'"u-1"') + 5
    if draw(st.booleans()):
        return text[: draw(st.integers(start, len(text)))]
    position = draw(st.integers(start, len(text) - 1))
    return text[:position] + draw(st.binary(max_size=3)) + text[position + 1 :]


def check_body(text: bytes) -> None:
    parsed = review.parse(text)
    assert parsed.uid == "u-1"


@given(bodies())
def test_no_body_loses_its_uid(text: bytes) -> None:
    check_body(text)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(bodies())
@settings(max_examples=5_000)
def test_no_body_loses_its_uid_at_length(text: bytes) -> None:
    check_body(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(text: bytes) -> None:
    parsed = review.parse(text)
    assert isinstance(parsed, review.Malformed)
    assert json.loads(review.render(parsed.uid, review.malformed(parsed.reason)))["response"]["allowed"] is False
