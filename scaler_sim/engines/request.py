"""One request for completion, and who is told about its course."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asks for."""

    identity: int
    arrived_at: float
    """Seconds on the timeline."""
    prompt_tokens: int
    output_tokens: int
    """Tokens that the answer will have, at least one."""
    blocks: tuple[int, ...] = ()
    """Identities of the prompt's prefix blocks, in order; equal ones are shared between requests."""


class Observer(Protocol):
    """A client: it sees what a streaming client sees."""

    def first_token(self, request: Request, at: float) -> None:
        """The first token arrived."""
        ...

    def gaps(self, at: float, seconds: float, count: int) -> None:
        """That many tokens arrived, each after that gap; told for all requests of a replica together."""
        ...

    def finished(self, request: Request, at: float) -> None:
        """The last token arrived."""
        ...

    def failed(self, request: Request, at: float, reason: str) -> None:
        """No more tokens will arrive."""
        ...
