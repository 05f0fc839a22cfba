"""A real Kubernetes control plane for tests.

`require_control_plane()` finds one in this order:

1. an existing cluster: `KUBECONFIG`, and `MDS_E2E_USE_CLUSTER=1` as an explicit opt-in, since tests create and delete
   cluster-wide objects there;
2. `KUBEBUILDER_ASSETS`: a folder with etcd and kube-apiserver (the convention of Go's envtest), started on loopback,
   with kube-controller-manager when the folder has it;
3. neither: the test is skipped with a message that says what to do, or fails when `CI=true`.

Surface:

    plane = require_control_plane()                    # -> Endpoint, started once for each test session
    endpoint.url, endpoint.token, endpoint.kubeconfig, endpoint.client_context()
    endpoint.webhook_host                              # where webhooks of the tests are reachable, None: nowhere

    async with LocalControlPlane(assets) as plane:     # one of its own, for tests that break it
        plane.endpoint
        await plane.restart_api_server()               # also: stop_api_server, start_api_server, restart_etcd
        plane.audit(user="alice")                      # audit events, parsed
        plane.token("alice", "developers")             # a token of a user of the token file (see `users`)

    await install_definitions(session, documents)      # CustomResourceDefinitions, and wait until they are served
    async with webhook_configuration(session, ...)     # register webhooks by URL and CA bundle, remove them afterwards
"""

from e2e.controlplane.endpoint import Endpoint
from e2e.controlplane.finding import require_control_plane
from e2e.controlplane.installing import client_session, install_definitions, webhook_configuration
from e2e.controlplane.local import LocalControlPlane

__all__ = [
    "Endpoint",
    "LocalControlPlane",
    "client_session",
    "install_definitions",
    "require_control_plane",
    "webhook_configuration",
]
