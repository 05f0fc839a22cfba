"""One API request after routing and authentication: who asks what of which object."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scaler_sim.apiserver.errors import Document, StatusError
from scaler_sim.apiserver.resources import Resource
from scaler_sim.apiserver.storage import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A requester as webhooks and audit see it; `system:authenticated` is added to the groups of whoever is known."""

    username: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_wire(self) -> Document:
        """As in `userInfo` of a review."""
        groups = [*self.groups, *(["system:authenticated"] if "system:authenticated" not in self.groups else [])]
        info: Document = {"username": self.username, "groups": groups}
        if self.uid:
            info["uid"] = self.uid
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ADMIN = User(username="kubernetes-admin", groups=("system:masters",))
"""Who asks without a token, unless the cluster is told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request; `warnings` collects what goes out as `Warning` headers."""

    verb: str
    """get, list, watch, create, update, patch, delete or deletecollection."""
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user: User = ADMIN
    agent: str = ""
    """The product token of `User-Agent`: the field manager of a write that names none."""
    user_agent: str = ""
    """The whole `User-Agent`, which tells processes of one account apart in the audit log."""
    query: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """Where the object is."""
        return Key(self.resource.bucket, self.namespace, self.name)

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing may be stored.

        Raises:
            StatusError: 422 for a value other than `All`.
        """
        value = self.query.get("dryRun", "")
        if value not in ("", "All"):
            message = f'dryRun: Unsupported value: "{value}": supported values: "All"'
            raise StatusError(422, "Invalid", message)
        return value == "All"

    @property
    def manager(self) -> str:
        """The field manager: as named, else the client's product."""
        return self.query.get("fieldManager") or self.agent or "unknown"

    def options(self, kind: str) -> Document:
        """The options object of a review."""
        options: Document = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if self.query.get("fieldManager"):
            options["fieldManager"] = self.query["fieldManager"]
        if self.is_dry_run:
            options["dryRun"] = ["All"]
        return options


def is_true(value: Any) -> bool:
    """Whether a query value says yes."""
    return str(value).lower() in ("true", "1")
