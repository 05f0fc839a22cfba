"""What clients ask before anything else, built-in kinds, and users."""

import pytest

from tests.conformance.widgets import GROUP, Server, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.mark.parametrize("path", ["/readyz", "/healthz", "/version", "/api", "/apis", "/api/v1"])
async def test_server_tells_of_itself(api_server: Server, path: str) -> None:
    assert (await api_server.call("GET", path)).status == 200


async def test_group_prefers_the_stable_version(api_server: Server) -> None:
    group = (await api_server.call("GET", f"/apis/{GROUP}")).body
    assert [entry["version"] for entry in group["versions"]] == ["v1", "v1alpha1"]
    assert group["preferredVersion"]["groupVersion"] == f"{GROUP}/v1"


async def test_resources_of_a_group_and_their_subresources(api_server: Server) -> None:
    listed = (await api_server.call("GET", f"/apis/{GROUP}/v1")).body
    by_name = {entry["name"]: entry for entry in listed["resources"]}
    assert set(by_name) == {"widgets", "widgets/status", "gadgets", "gadgets/status"}
    assert by_name["widgets"]["shortNames"] == ["xw"]
    assert {"create", "get", "list", "patch", "update", "watch"} <= set(by_name["widgets"]["verbs"])
    assert sorted(by_name["widgets/status"]["verbs"]) == ["get", "patch", "update"]


async def test_unserved_group_is_absent(api_server: Server) -> None:
    assert (await api_server.call("GET", "/apis/absent.gpustack.ai")).status == 404
    assert (await api_server.call("GET", "/apis/absent.gpustack.ai/v1")).status == 404


async def test_table_shows_the_printer_columns(api_server: Server) -> None:
    await api_server.create(widget(size=4))
    conditions = [{"type": "Active", "status": "False"}, {"type": "Bound", "status": "True"}]
    await api_server.merge_patch({"status": {"conditions": conditions}}, subresource="status")
    table = (await api_server.call("GET", api_server.path(), headers={"Accept": TABLE})).body
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Bound", "Age"]
    assert table["rows"][0]["cells"][:3] == ["w", 4, "True"]
    assert table["rows"][0]["object"]["metadata"]["name"] == "w"


async def test_lease_is_updated_by_version_and_keeps_microseconds(api_server: Server) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api_server.namespace}/leases"
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000006Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": spec}
    created = await api_server.call("POST", path, lease)
    assert (created.status, created.body["spec"]) == (201, spec)
    taken = created.body | {"spec": spec | {"holderIdentity": "b"}}
    assert (await api_server.call("PUT", f"{path}/l", taken)).status == 200
    assert (await api_server.call("PUT", f"{path}/l", taken)).status == 409


async def test_lease_with_whole_seconds_cannot_be_read(api_server: Server) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api_server.namespace}/leases"
    spec = {"holderIdentity": "a", "renewTime": "2026-01-02T03:04:05Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": spec}
    assert (await api_server.call("POST", path, lease)).status in (400, 422)


async def test_event_of_the_newer_group_shows_in_the_core_group(api_server: Server) -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": api_server.namespace},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "gpustack.ai/scaler",
        "reportingInstance": "scaler-0",
        "action": "Scale",
        "reason": "ScaledUp",
        "type": "Normal",
        "note": "from 1 to 2",
        "regarding": {"kind": "Widget", "name": "w", "namespace": api_server.namespace, "apiVersion": f"{GROUP}/v1"},
    }
    path = f"/apis/events.k8s.io/v1/namespaces/{api_server.namespace}/events"
    created = await api_server.call("POST", path, event)
    assert (created.status, created.body["note"]) == (201, "from 1 to 2")
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-02T03:05:05.000006Z"}}
    patched = await api_server.call("PATCH", f"{path}/e", series, content="application/merge-patch+json")
    assert (patched.status, patched.body["series"]["count"]) == (200, 2)
    selector = {"fieldSelector": "involvedObject.name=w,involvedObject.kind=Widget"}
    listed = await api_server.call("GET", f"/api/v1/namespaces/{api_server.namespace}/events", params=selector)
    (core,) = listed.body["items"]
    assert (core["message"], core["reportingComponent"]) == ("from 1 to 2", "gpustack.ai/scaler")
    assert core["involvedObject"]["name"] == "w"


async def test_event_without_an_action_is_refused(api_server: Server) -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "gpustack.ai/scaler",
        "reportingInstance": "scaler-0",
        "reason": "ScaledUp",
        "type": "Normal",
        "regarding": {"namespace": api_server.namespace},
    }
    path = f"/apis/events.k8s.io/v1/namespaces/{api_server.namespace}/events"
    assert (await api_server.call("POST", path, event)).status == 422


async def test_pod_status_is_a_subresource(api_server: Server) -> None:
    path = f"/api/v1/namespaces/{api_server.namespace}/pods"
    spec = {"containers": [{"name": "main", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": {"phase": "Running"}}
    created = await api_server.call("POST", path, pod)
    assert (created.status, created.body["status"]["phase"]) == (201, "Pending")
    ready = {"status": {"phase": "Running", "podIP": "127.0.0.2", "conditions": [{"type": "Ready", "status": "True"}]}}
    content = "application/merge-patch+json"
    patched = await api_server.call("PATCH", f"{path}/p/status", ready, content=content)
    assert (patched.status, patched.body["status"]["podIP"]) == (200, "127.0.0.2")
    ignored = await api_server.call("PATCH", f"{path}/p", {"status": {"phase": "Failed"}}, content=content)
    assert ignored.body["status"]["phase"] == "Running"
    by_phase = await api_server.call("GET", path, params={"fieldSelector": "status.phase=Running"})
    assert len(by_phase.body["items"]) == 1
    assert (await api_server.call("DELETE", f"{path}/p")).status == 200
    assert (await api_server.call("GET", f"{path}/p")).status == 404


async def test_pod_on_a_node_lingers_for_its_grace_period(api_server: Server) -> None:
    path = f"/api/v1/namespaces/{api_server.namespace}/pods"
    spec = {"containers": [{"name": "main", "image": "x"}], "nodeName": "n"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert (await api_server.call("POST", path, pod)).status == 201
    deleted = await api_server.call("DELETE", f"{path}/p")
    assert deleted.body["metadata"]["deletionGracePeriodSeconds"] == 30
    held = await api_server.call("GET", f"{path}/p")
    assert held.body["metadata"]["deletionTimestamp"]
    await api_server.call("DELETE", f"{path}/p", params={"gracePeriodSeconds": "0"})
    assert (await api_server.call("GET", f"{path}/p")).status == 404


async def test_webhook_configuration_gets_its_defaults(api_server: Server) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    rule = {"apiGroups": ["none.gpustack.ai"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["nothing"]}
    hook = {
        "name": "a.gpustack.ai",
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    name = f"defaults-{api_server.namespace}"
    document = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    created = await api_server.call("POST", path, document | {"webhooks": [hook]})
    assert created.status == 201
    stored = created.body["webhooks"][0]
    assert (stored["failurePolicy"], stored["matchPolicy"], stored["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (await api_server.call("DELETE", f"{path}/{name}")).status == 200


async def test_unknown_token_is_unauthorized(api_server: Server) -> None:
    refused = await api_server.call("GET", api_server.path(), headers={"Authorization": "Bearer nobody"})
    assert (refused.status, refused.body["reason"]) == (401, "Unauthorized")


async def test_unserved_verb_is_not_allowed(api_server: Server) -> None:
    await api_server.create(widget())
    assert (await api_server.call("DELETE", api_server.path("w", "status"))).status == 405
