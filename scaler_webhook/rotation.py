"""The authorities in the Secret, and when they change; pure, so that every replica takes the same steps.

current                     a new installation
current + next              once current nears its end: both are trusted, leaves come from current
current(next) + previous    once both were trusted long enough: leaves come from the new one, both stay trusted
current                     once the last leaf of the previous one has ended
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from scaler_webhook.authority import AUTHORITY_LIFETIME, LEAF_LIFETIME, KeyPair, bundle, new_authority

ROTATE_BEFORE_SECONDS: Final = AUTHORITY_LIFETIME.total_seconds() / 4
OVERLAP_SECONDS: Final = 3600.0
"""How long the next authority is trusted before it signs; replicas re-read within seconds."""


class BrokenSecretError(ValueError):
    """The Secret does not hold what we write into it; the text says which member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorities:
    """What the Secret holds: certificates to trust, one of which signs."""

    current: KeyPair
    next: KeyPair | None = None
    previous: bytes | None = None
    """Certificate alone: nothing is signed with it any more."""
    promoted_at: float = 0.0
    """When the current one began to sign, in Unix seconds."""

    @property
    def trusted(self) -> bytes:
        """The bundle for both webhook configurations."""
        following = [self.next.certificate] if self.next is not None else []
        leaving = [self.previous] if self.previous is not None else []
        return bundle([self.current.certificate, *following, *leaving])

    def to_data(self) -> dict[str, str]:
        """`data` of the Secret."""
        members = {"ca.crt": self.current.certificate, "ca.key": self.current.key}
        members["promoted"] = repr(self.promoted_at).encode()
        if self.next is not None:
            members |= {"next.crt": self.next.certificate, "next.key": self.next.key}
        if self.previous is not None:
            members["previous.crt"] = self.previous
        return {name: b64encode(value).decode("ascii") for name, value in members.items()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Authorities":
        """Read `data` of the Secret.

        Raises:
            BrokenSecretError: a member is missing or is no certificate.
        """
        try:
            members = {name: b64decode(value, validate=True) for name, value in data.items()}
            following = (
                KeyPair(certificate=members["next.crt"], key=members["next.key"]) if "next.crt" in data else None
            )
            found = cls(
                current=KeyPair(certificate=members["ca.crt"], key=members["ca.key"]),
                next=following,
                previous=members.get("previous.crt"),
                promoted_at=float(members.get("promoted", b"0")),
            )
            if not math.isfinite(found.promoted_at):
                raise ValueError(f"promoted at {found.promoted_at}")
            _ = (found.current.expires, following.expires if following else 0)
        except (KeyError, ValueError, TypeError) as error:
            raise BrokenSecretError(f"the Secret's data cannot be read ({error}); delete it to start anew") from error
        return found


def first(now: float) -> Authorities:
    """The content of a new Secret."""
    return Authorities(current=new_authority(now), promoted_at=now)


def advance(held: Authorities, now: float) -> Authorities:
    """The next step that is due, or the same value."""
    if held.previous is not None and now >= held.promoted_at + LEAF_LIFETIME.total_seconds():
        return replace(held, previous=None)
    if held.next is None:
        is_ending = now >= held.current.expires - ROTATE_BEFORE_SECONDS
        return replace(held, next=new_authority(now)) if is_ending else held
    if now >= held.next.begins + OVERLAP_SECONDS:
        return Authorities(current=held.next, previous=held.current.certificate, promoted_at=now)
    return held
