"""The two configuration documents keep every rule that the fence rests on."""

from typing import Any

import pytest

from scaler_core.admission import registration

SERVICE = registration.build(registration.Service(namespace="gpustack", name="scaler-webhook"))
URL = registration.build(registration.Url(base="https://127.0.0.1:9443/"), ca_bundle="Zm9v", group="g.example")


def hooks(documents: registration.Configurations) -> list[dict[str, Any]]:
    return [*documents.mutating["webhooks"], *documents.validating["webhooks"]]


@pytest.mark.parametrize("hook", [*hooks(SERVICE), *hooks(URL)], ids=lambda hook: hook["name"])
def test_nothing_opens_the_fence(hook: dict[str, Any]) -> None:
    [rule] = hook["rules"]
    assert rule["apiVersions"] == ["*"]
    assert rule["resources"] in (["modeldeployments"], ["modeldeploymentscalers"])
    assert not {"objectSelector", "namespaceSelector", "matchConditions"} & set(hook)
    assert (hook["failurePolicy"], hook["matchPolicy"], hook["sideEffects"]) == ("Fail", "Equivalent", "None")
    assert hook["timeoutSeconds"] == 10
    assert hook["admissionReviewVersions"] == ["v1"]


def test_operations_are_what_the_judges_judge() -> None:
    operations = [(hook["name"], hook["rules"][0]["operations"]) for hook in hooks(SERVICE)]
    assert operations == [
        ("scaler-rules.gpustack.ai", ["CREATE", "UPDATE"]),
        ("scaler-fence.gpustack.ai", ["CREATE"]),
        ("scaler-rules.gpustack.ai", ["CREATE", "UPDATE"]),
        ("scaler-fence.gpustack.ai", ["CREATE", "UPDATE"]),
    ]


def test_a_service_gets_no_bundle_and_a_url_its_own() -> None:
    client = SERVICE.validating["webhooks"][1]["clientConfig"]
    assert client == {
        "service": {"namespace": "gpustack", "name": "scaler-webhook", "path": "/validate-deployment", "port": 443}
    }
    client = URL.mutating["webhooks"][0]["clientConfig"]
    assert client == {"url": "https://127.0.0.1:9443/mutate-scaler", "caBundle": "Zm9v"}
    assert URL.mutating["webhooks"][0]["rules"][0]["apiGroups"] == ["g.example"]
