"""Who asks: bearer tokens, service account tokens made on request, and impersonation headers."""

import secrets
from collections.abc import Mapping
from typing import Final

from multidict import CIMultiDictProxy

from scaler_sim.apiserver.calls import User
from scaler_sim.apiserver.errors import unauthorized

_EXTRA: Final = "Impersonate-Extra-"


class Users:
    """Tokens and their users.

    Args:
        tokens: bearer token to user.
        anonymous: who asks without a token; None refuses such requests with 401.
    """

    def __init__(self, tokens: Mapping[str, User], anonymous: User | None) -> None:
        self._tokens = dict(tokens)
        self._anonymous = anonymous

    def add(self, user: User) -> str:
        """A new token for a user."""
        token = secrets.token_urlsafe(24)
        self._tokens[token] = user
        return token

    def requester(self, headers: CIMultiDictProxy[str]) -> User:
        """The user of a request, the impersonated one where headers name one.

        Raises:
            StatusError: 401 for an unknown token, or for none where none is not allowed.
        """
        kind, _, token = headers.get("Authorization", "").partition(" ")
        user = self._tokens.get(token.strip()) if kind.lower() == "bearer" else self._anonymous
        if user is None:
            raise unauthorized()
        return _impersonated(headers) or user


def _impersonated(headers: CIMultiDictProxy[str]) -> User | None:
    username = headers.get("Impersonate-User")
    if not username:
        return None
    extra: dict[str, tuple[str, ...]] = {}
    for name in headers:
        if name.lower().startswith(_EXTRA.lower()):
            extra[name[len(_EXTRA) :].lower()] = tuple(headers.getall(name))
    return User(
        username=username,
        groups=tuple(headers.getall("Impersonate-Group", ())) or _groups_of(username),
        uid=headers.get("Impersonate-Uid", ""),
        extra=extra,
    )


def service_account(namespace: str, name: str) -> User:
    """The user of a service account."""
    username = f"system:serviceaccount:{namespace}:{name}"
    return User(username=username, groups=_groups_of(username))


def _groups_of(username: str) -> tuple[str, ...]:
    prefix = "system:serviceaccount:"
    if not username.startswith(prefix):
        return ()
    namespace = username.removeprefix(prefix).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
