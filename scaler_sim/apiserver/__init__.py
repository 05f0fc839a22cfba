"""The embedded cluster: a subset of the Kubernetes API server on loopback, in memory, for tests and the demo.

It serves real HTTP, so clients see no difference within the subset; the conformance tests run against it and against a
real kube-apiserver, and where the two differ this one is wrong.

Surface:

    cluster = EmbeddedCluster(ClusterSettings(definitions=neighbour_definitions(), tokens={"t": User(username="u")}))
    async with cluster:                              # or: await cluster.start(); await cluster.stop()
        cluster.url                                  # http://127.0.0.1:PORT; https with serves_tls=True
        cluster.client_context()                     # SSLContext that trusts it, None for plain HTTP
        cluster.kubeconfig(path, token="t")          # writes it, returns the absolute path
        cluster.token("scaler", "group")             # a new bearer token for a user
        await cluster.create(document)               # as an administrator, through admission; StatusError when refused
        cluster.get("pods", "default", "x")          # a stored document or None; never change it
        cluster.find("modeldeployments", "default")  # all of them; "PLURAL" or "PLURAL.GROUP"
        await cluster.ask(Request(method="GET", path="/api/v1/pods"))    # the same server without HTTP
        cluster.compact()                            # earlier watches and pages end with 410
        cluster.services["ns/svc"] = "127.0.0.1:9443"    # where a webhook's Service is
        cluster.ledger.count(verb="list", resource="pods", user="u")
        cluster.ledger.writes_by("u")                # audit: Write(verb, resource, name, manager, code, body, ...)
        with cluster.faults.active(Fault(when=lambda call: call.verb == "patch", does=Answer(code=503), times=2)): ...
                                                     # or Drop.BEFORE_EFFECT, Drop.AFTER_EFFECT, Delay(1)

`python -m scaler_sim.apiserver --kubeconfig PATH` serves until SIGTERM.
"""

from scaler_sim.apiserver.calls import ADMIN, Call, User
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.cluster import (
    ClusterSettings,
    EmbeddedCluster,
    Request,
    neighbour_definitions,
    read_definitions,
)
from scaler_sim.apiserver.errors import StatusError
from scaler_sim.apiserver.faults import Answer, Delay, Drop, Fault
from scaler_sim.apiserver.ledger import Ledger, Write
from scaler_sim.apiserver.users import service_account

__all__ = [
    "ADMIN",
    "Answer",
    "Call",
    "Clock",
    "ClusterSettings",
    "Delay",
    "Drop",
    "EmbeddedCluster",
    "Fault",
    "Ledger",
    "Request",
    "StatusError",
    "User",
    "Write",
    "neighbour_definitions",
    "read_definitions",
    "service_account",
]
