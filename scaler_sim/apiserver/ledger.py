"""What was asked of the server: counters of requests, and an audit log of writes."""

from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from scaler_sim.apiserver.calls import Call

READS: Final = frozenset({"get", "list", "watch"})


class RequestKind(NamedTuple):
    """By what requests are counted."""

    verb: str
    resource: str
    """Plural, with the subresource after a slash."""
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write as it was asked, and how it was answered."""

    user: str
    verb: str
    resource: str
    """Plural, with the subresource after a slash."""
    api_version: str
    namespace: str
    name: str
    manager: str
    user_agent: str
    code: int
    is_dry_run: bool
    body: Any


class Ledger:
    """Requests of a cluster's life; the audit log keeps the last `kept` writes."""

    def __init__(self, kept: int = 100_000) -> None:
        self.requests: Counter[RequestKind] = Counter()
        self.writes: deque[Write] = deque(maxlen=kept)

    def note(self, call: Call) -> None:
        """Count a request as it arrives."""
        self.requests[RequestKind(call.verb, _resource(call), call.user.username)] += 1

    def record(self, call: Call, *, code: int, body: Any) -> None:
        """Keep a write after its answer; reads are not kept."""
        if call.verb in READS:
            return
        write = Write(
            user=call.user.username,
            verb=call.verb,
            resource=_resource(call),
            api_version=call.resource.api_version,
            namespace=call.namespace,
            name=call.name,
            manager=call.manager,
            user_agent=call.user_agent,
            code=code,
            is_dry_run=call.query.get("dryRun") == "All",
            body=body,
        )
        self.writes.append(write)

    def count(self, *, verb: str = "", resource: str = "", user: str = "") -> int:
        """How many requests fit; an empty word fits all."""
        asked = (verb, resource, user)
        return sum(
            count
            for kind, count in self.requests.items()
            if all(not word or word == held for word, held in zip(asked, kind, strict=True))
        )

    def writes_by(self, user: str) -> list[Write]:
        """The writes of one user, in order."""
        return [write for write in self.writes if write.user == user]


def _resource(call: Call) -> str:
    return f"{call.resource.plural}/{call.subresource}" if call.subresource else call.resource.plural
