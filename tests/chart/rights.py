"""What the accounts of rendered documents may do."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class Right(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str
    """Plural, with the subresource after a slash."""
    verb: str


def rights_of(documents: Iterable[dict[str, Any]], account: str) -> frozenset[Right]:
    """Everything that the roles bound to a service account allow, wherever they allow it."""
    kept = list(documents)
    roles = {(one["kind"], one["metadata"]["name"]): one["rules"] for one in kept if one["kind"].endswith("Role")}
    return frozenset(
        Right(group, resource, verb)
        for binding in kept
        if binding["kind"].endswith("RoleBinding") and any(who["name"] == account for who in binding["subjects"])
        for rule in roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )
