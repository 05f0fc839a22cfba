"""From a method and a path to the call that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scaler_sim.apiserver.calls import Call, User, is_true
from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.errors import PageNotFoundError, method_not_allowed
from scaler_sim.apiserver.resources import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a path names."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


_ON_OBJECT: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ON_COLLECTION: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


def target(catalog: Catalog, path: str) -> Target:
    """The resource, object and subresource of a path under `/api` or `/apis`.

    Raises:
        PageNotFoundError: nothing is served there.
    """
    parts = path.strip("/").split("/")
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] != "status":
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", ""] if len(rest) == 1 else [*rest, ""]
    resource = catalog.find(group, version, plural)
    if resource is None or any(more) or (bool(namespace) and not resource.namespaced):
        raise PageNotFoundError
    if resource.namespaced and name and not namespace:
        raise PageNotFoundError
    _check_subresource(resource, subresource)
    return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)


def _check_subresource(resource: Resource, subresource: str) -> None:
    served = {
        "",
        *(["status"] if resource.has_status else []),
        *(["token"] if resource.kind == "ServiceAccount" else []),
    }
    if subresource not in served:
        raise PageNotFoundError


def verb(method: str, where: Target, query: Mapping[str, str]) -> str:
    """The verb of a request.

    Raises:
        StatusError: 405 for a method that the path does not take.
    """
    if where.subresource == "token" and method == "POST":
        return "create"
    known = _ON_OBJECT if where.name else _ON_COLLECTION
    if method not in known or (where.subresource == "status" and method == "DELETE"):
        raise method_not_allowed()
    found = known[method]
    if found == "create" and where.resource.namespaced and not where.namespace:
        raise method_not_allowed()
    return "watch" if found in ("list", "get") and is_true(query.get("watch")) else found


def call(catalog: Catalog, method: str, path: str, query: Mapping[str, str], *, user: User, agent: str) -> Call:
    """The call that a request makes.

    Args:
        catalog: what is served.
        method: of HTTP.
        path: under `/api` or `/apis`.
        query: its parameters.
        user: who asks.
        agent: the client's `User-Agent`.

    Raises:
        PageNotFoundError: nothing is served there.
        StatusError: 405 for a method that the path does not take.
    """
    where = target(catalog, path)
    return Call(
        verb=verb(method, where, query),
        resource=where.resource,
        namespace=where.namespace,
        name=where.name,
        subresource=where.subresource,
        user=user,
        agent=agent.partition("/")[0],
        user_agent=agent,
        query=dict(query),
    )
