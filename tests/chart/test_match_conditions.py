"""What the optional match conditions keep from the webhook is only what it would admit anyway (Kubernetes 1.30)."""

from typing import Any

import cel
import pytest

from scaler_core.admission.verdict import Operation, Request
from tests.chart import golden, helm
from tests.core.admission import fence_world as fence
from tests.core.admission.test_fence import REFUSED

OPERATOR_OF_THE_CHART = f"system:serviceaccount:{helm.NAMESPACE}:scaler"
REFUSED_UPDATES = [
    pytest.param(case.values[0], id=case.id) for case in REFUSED if case.values[0].operation is Operation.UPDATE
]
LABELLED = fence.put(fence.target(fence.BOUND), "metadata", "labels", {"team": "serving"})
FREED = fence.put(fence.target(fence.BOUND), "metadata", "finalizers", [])
UNANNOTATED = fence.target()


def is_sent(webhook: str, request: Request) -> bool:
    """Whether an API server of 1.30 asks the validating webhook, or refuses by itself."""
    (document,) = [one for one in golden.documents_of("placed") if one["kind"] == "ValidatingWebhookConfiguration"]
    (found,) = [one for one in document["webhooks"] if one["name"] == webhook]
    (condition,) = found["matchConditions"]
    user = OPERATOR_OF_THE_CHART if request.user == fence.OPERATOR else request.user
    facts: dict[str, Any] = {
        "request": {"operation": request.operation.value, "userInfo": {"username": user}},
        "object": request.new,
        "oldObject": request.old,
    }
    try:
        return bool(cel.evaluate(str(condition["expression"]), facts))
    except KeyError:
        return True  # with failurePolicy Fail an expression that cannot be evaluated refuses the write


@pytest.mark.parametrize("case", REFUSED_UPDATES)
def test_whatever_the_fence_refuses_is_sent_to_it(case: Request) -> None:
    assert is_sent("scaler-fence.gpustack.ai", case)


@pytest.mark.parametrize(
    ("case", "sent"),
    [
        pytest.param(fence.update(fence.target(fence.BOUND), LABELLED), False, id="a label"),
        pytest.param(fence.update(LABELLED, FREED), False, id="a finalizer that goes"),
        pytest.param(fence.update(UNANNOTATED, fence.put(UNANNOTATED, "spec", "x", 1)), False, id="beside the roles"),
        pytest.param(fence.update(LABELLED, FREED, user=fence.OPERATOR), True, id="anything by an operator"),
        pytest.param(fence.create(UNANNOTATED), True, id="a creation"),
        pytest.param(fence.update(UNANNOTATED, fence.target({fence.B: ""})), True, id="an empty annotation is one"),
        pytest.param(fence.update(fence.target({}), UNANNOTATED), False, id="no annotations and none are the same"),
    ],
)
def test_what_the_fence_has_nothing_to_say_about_survives_its_outage(case: Request, sent: bool) -> None:
    assert is_sent("scaler-fence.gpustack.ai", case) is sent


def test_a_dying_scaler_can_lose_its_finalizer_without_the_webhook() -> None:
    alive = {"metadata": {"name": "llm", "finalizers": ["x"]}, "spec": {"suspend": True}}
    dying = fence.put(alive, "metadata", "deletionTimestamp", "2026-01-01T00:00:00Z")
    freed = fence.put(dying, "metadata", "finalizers", [])
    assert not is_sent("scaler-rules.gpustack.ai", fence.update(dying, freed))
    assert is_sent("scaler-rules.gpustack.ai", fence.update(alive, alive))
    assert is_sent("scaler-rules.gpustack.ai", fence.update(dying, fence.put(freed, "spec", "suspend", False)))
