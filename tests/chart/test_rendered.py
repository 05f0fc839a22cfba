"""What every rendering of the chart must have, read from the golden files: no helm is needed."""

from collections.abc import Iterator
from typing import Any

import pytest

from scaler_controller.settings import Settings as ControllerSettings
from scaler_core.admission import registration
from scaler_webhook.settings import Settings as WebhookSettings
from tests.chart import golden, helm
from tests.chart.rights import rights_of

NAMES = [path.stem for path in helm.VALUES]
RENDERINGS = pytest.mark.parametrize("name", NAMES)
FULL = "mds-model-deployment-scaler"


def of_kind(name: str, kind: str) -> list[dict[str, Any]]:
    return [document for document in golden.documents_of(name) if document["kind"] == kind]


def pods(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for document in golden.documents_of(name):
        if document["kind"] in {"Deployment", "Job"}:
            yield document["metadata"]["name"], document["spec"]["template"]["spec"]
        elif document["kind"] == "Pod":
            yield document["metadata"]["name"], document["spec"]


def arguments_of(name: str, component: str) -> list[str]:
    (deployment,) = [
        one
        for one in of_kind(name, "Deployment")
        if one["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]
    arguments: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return arguments


def test_every_file_of_values_has_a_golden_file() -> None:
    assert sorted(path.name for path in golden.FOLDER.iterdir()) == [path.name for path in helm.VALUES]


@RENDERINGS
def test_every_pod_is_hardened(name: str) -> None:
    found = dict(pods(name))
    assert len(found) >= 3
    for pod in found.values():
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == security["runAsGroup"] == 65532
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["requests"]
            assert container["resources"]["limits"]["memory"]


@RENDERINGS
def test_all_pods_run_the_same_image(name: str) -> None:
    assert len({container["image"] for _, pod in pods(name) for container in pod["containers"]}) == 1


@RENDERINGS
def test_no_right_is_a_wildcard_and_every_account_has_a_role_of_its_own(name: str) -> None:
    for role in [*of_kind(name, "ClusterRole"), *of_kind(name, "Role")]:
        for rule in role["rules"]:
            assert "nonResourceURLs" not in rule
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
    for binding in [*of_kind(name, "ClusterRoleBinding"), *of_kind(name, "RoleBinding")]:
        assert len(binding["subjects"]) == 1
        assert binding["subjects"][0]["namespace"] == helm.NAMESPACE


@RENDERINGS
def test_rights_that_can_be_are_limited_to_one_name(name: str) -> None:
    """Secrets, leases, namespaces and webhook configurations: only our own, but for create, which has no name yet."""
    ours = {"secrets", "leases", "namespaces", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    for role in [*of_kind(name, "ClusterRole"), *of_kind(name, "Role")]:
        for rule in role["rules"]:
            if ours & set(rule["resources"]) and rule["verbs"] != ["create"]:
                assert len(rule["resourceNames"]) == 1


def test_with_cert_manager_the_webhook_writes_nothing() -> None:
    assert {right.verb for right in rights_of(golden.documents_of("cert-manager"), f"{FULL}-webhook")} == {"get"}


def test_one_namespace_needs_no_right_beyond_it() -> None:
    roles = [one["metadata"]["name"] for one in of_kind("one-namespace", "ClusterRole")]
    assert f"{FULL}-controller" not in roles


@RENDERINGS
def test_neither_a_bundle_nor_a_secret_is_in_the_chart(name: str) -> None:
    """An upgrade with either would wipe what the running webhook wrote (helm 3), or fail (helm 4)."""
    assert not of_kind(name, "Secret")
    for configuration in configurations(name).values():
        for webhook in configuration["webhooks"]:
            assert "caBundle" not in webhook["clientConfig"]


def configurations(name: str) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in golden.documents_of(name) if one["kind"].endswith("WebhookConfiguration")}


@RENDERINGS
def test_the_webhook_configurations_are_those_of_the_code(name: str) -> None:
    service = registration.Service(
        namespace=helm.NAMESPACE, name="mds-webhook" if name == "placed" else f"{FULL}-webhook"
    )
    reach = registration.Url(base="https://192.0.2.7:9443") if name == "outside" else service
    built = registration.build(reach)
    rendered = configurations(name)
    for document in (built.mutating, built.validating):
        webhooks = [
            {key: value for key, value in webhook.items() if key != "matchConditions"}
            for webhook in rendered[document["kind"]]["webhooks"]
        ]
        assert webhooks == document["webhooks"]
        assert rendered[document["kind"]]["metadata"]["name"] == document["metadata"]["name"]


@RENDERINGS
def test_the_processes_take_the_flags_that_the_chart_gives(name: str) -> None:
    controller = ControllerSettings(_cli_parse_args=arguments_of(name, "controller"))
    webhook = WebhookSettings(_cli_parse_args=arguments_of(name, "webhook"))
    account = "scaler" if name == "placed" else f"{FULL}-controller"
    assert f"system:serviceaccount:{helm.NAMESPACE}:{account}" in webhook.operator_user
    assert controller.lease_namespace == webhook.namespace == helm.NAMESPACE
    assert controller.target_version == webhook.target_version
    if webhook.cert_dir is None:
        assert webhook.secret_name in {
            secret
            for role in of_kind(name, "Role")
            for rule in role["rules"]
            if rule["resources"] == ["secrets"]
            for secret in rule.get("resourceNames", ())
        }


@RENDERINGS
def test_probes_and_services_reach_the_ports_that_the_processes_open(name: str) -> None:
    controller = ControllerSettings(_cli_parse_args=arguments_of(name, "controller"))
    webhook = WebhookSettings(_cli_parse_args=arguments_of(name, "webhook"))
    expected = {
        "controller": {"http": controller.health_port},
        "webhook": {"http": webhook.health_port, "admission": webhook.port},
    }
    for deployment in of_kind(name, "Deployment"):
        component = deployment["metadata"]["labels"]["app.kubernetes.io/component"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {port["name"]: port["containerPort"] for port in container["ports"]} == expected[component]
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
        grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert grace > controller.drain_seconds
        assert grace > webhook.lame_duck_seconds + webhook.drain_seconds
    for service in of_kind(name, "Service"):
        component = service["metadata"]["labels"]["app.kubernetes.io/component"]
        assert {port["targetPort"] for port in service["spec"]["ports"]} == set(expected[component])
        assert all(port["protocol"] == "TCP" for port in service["spec"]["ports"])


def test_scalers_survive_an_uninstall_unless_told_otherwise() -> None:
    keep = {name: of_kind(name, "CustomResourceDefinition") for name in ("default", "placed", "smallest")}
    assert keep["default"][0]["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert "annotations" not in keep["placed"][0]["metadata"]
    assert keep["smallest"] == []


def test_scalers_are_released_before_anything_is_deleted() -> None:
    hooks = [one for one in golden.documents_of("default") if "release-scalers" in one["metadata"]["name"]]
    assert {one["kind"] for one in hooks} == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job"}
    assert {one["metadata"]["annotations"]["helm.sh/hook"] for one in hooks} == {"pre-delete"}
    weights = {one["kind"]: int(one["metadata"]["annotations"]["helm.sh/hook-weight"]) for one in hooks}
    assert all(weights["Job"] > weight for kind, weight in weights.items() if kind != "Job")
