"""What can go wrong between us and the API server, by kind.

| Error | Answer | Meaning for the caller |
|---|---|---|
| NotFoundError | 404 | `is_absent` only when the server speaks of the object itself |
| ConflictError | 409 | read again |
| GoneError | 410 | list again |
| InvalidError | 422 | `is_failed_test`: a conflict in disguise; else refused |
| ForbiddenError | 403 | an admission webhook's refusal, or a missing permission |
| UnauthorizedError | 401 | credentials are not accepted |
| TooManyRequestsError | 429 | wait `retry_after_seconds` |
| UnavailableError | 5xx, no answer | try again later; `may_have_happened` for writes |
| RejectedError | other 4xx, 3xx | a request that will not succeed as it is |
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_MESSAGE: Final = 1024
FAILED_TEST_MESSAGE: Final = "the server rejected our request due to an error in our request"
_ADMISSION_MARKS: Final = ("admission webhook ", "failed calling webhook", "failed calling admission webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked, as far as an error message may show it: no query, no body, no header."""

    method: str
    path: str

    @property
    def is_write(self) -> bool:
        """Whether the request could change something."""
        return self.method != "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A `Status` document: the only kind of body whose text is shown."""

    reason: str = ""
    message: str = ""
    details: Mapping[str, Any]
    retry_after_seconds: float | None = None


NO_STATUS: Final = Status(details={})


class KubeError(Exception):
    """The API server did not do what was asked."""

    def __init__(self, request: Request, message: str, *, code: int = 0, status: Status = NO_STATUS) -> None:
        self.request = request
        self.code = code
        """HTTP status; 0 when there was no answer."""
        self.message = " ".join(message.split())[:MAX_MESSAGE]
        """One line, from a Status body or in our own words."""
        self.status = status
        super().__init__(self.message)

    def __str__(self) -> str:
        answer = f"{self.code} " if self.code else ""
        return f"{self.request.method} {self.request.path}: {answer}{self.message}"


class NotFoundError(KubeError):
    """404: the object, or the whole kind, or the address is not there."""

    def is_absent(self, name: str) -> bool:
        """Whether the server says that this very object does not exist.

        An unserved version answers 404 too, so only details that name the object prove its absence.
        """
        return self.status.details.get("name") == name


class ConflictError(KubeError):
    """409: a stale resourceVersion, a name that is taken, or a field that another manager owns."""

    @property
    def is_already_there(self) -> bool:
        """Whether a create met an object of that name."""
        return self.status.reason == "AlreadyExists"


class GoneError(KubeError):
    """410: the resourceVersion or the continue token is too old; list again."""


class InvalidError(KubeError):
    """422: a refusal by schema or by another's webhook, or a failed `test` of a JSON patch."""

    @property
    def is_failed_test(self) -> bool:
        """Whether it reads like a failed `test`: that text and no details."""
        return self.message == FAILED_TEST_MESSAGE and not self.status.details.get("causes")


class ForbiddenError(KubeError):
    """403: refused by an admission webhook, or not permitted."""

    @property
    def is_admission_refusal(self) -> bool:
        """Whether an admission webhook said no, rather than the authorizer."""
        return self.message.startswith("admission webhook ")


class UnauthorizedError(KubeError):
    """401: the credentials are not accepted."""


class TooManyRequestsError(KubeError):
    """429: the server asks us to wait."""

    def __init__(
        self, request: Request, message: str, *, retry_after_seconds: float, code: int = 429, status: Status = NO_STATUS
    ) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(request, message, code=code, status=status)


class UnavailableError(KubeError):
    """No answer, or 5xx: the effect of a write may be unknown."""

    def __init__(
        self,
        request: Request,
        message: str,
        *,
        may_have_happened: bool,
        code: int = 0,
        status: Status = NO_STATUS,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.may_have_happened = may_have_happened
        """Whether a write could have taken effect, or may still."""
        self.retry_after_seconds = retry_after_seconds
        super().__init__(request, message, code=code, status=status)


class RejectedError(KubeError):
    """Any other answer that is not a success."""


class AccessError(Exception):
    """The way to the API server is not configured; the message says what to set."""


_BY_CODE: Final[Mapping[int, type[KubeError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
}
DEFAULT_RETRY_AFTER_SECONDS: Final = 1.0
_MAX_RETRY_AFTER: Final = 10**9 - 1  # seconds; more digits are junk of something in between
_SECONDS: Final = re.compile(r"[0-9]{1,9}")


def parse_status(body: bytes) -> Status:
    """Read a Status document; anything else gives an empty one, since its text may hold what must not be shown."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return NO_STATUS
    return read_status(document)


def read_status(document: Any) -> Status:
    """As `parse_status`, from a decoded document."""
    if not isinstance(document, dict) or document.get("kind") != "Status":
        return NO_STATUS
    details = document.get("details")
    details = details if isinstance(details, dict) else {}
    after = details.get("retryAfterSeconds")
    return Status(
        reason=str(document.get("reason") or ""),
        message=str(document.get("message") or ""),
        details=details,
        retry_after_seconds=float(after) if isinstance(after, int) and 0 < after <= _MAX_RETRY_AFTER else None,
    )


def parse_retry_after(text: str | None) -> float | None:
    """Seconds of a `Retry-After` header; dates, and what nobody means to wait, are not understood and give None."""
    return float(text) if text is not None and _SECONDS.fullmatch(text) is not None else None


def from_answer(request: Request, code: int, status: Status, retry_after_seconds: float | None = None) -> KubeError:
    """The error that an unsuccessful answer stands for.

    Args:
        request: what was asked.
        code: HTTP status, not 2xx.
        status: the body, if it was a Status document.
        retry_after_seconds: of the header, if there was one.
    """
    message = status.message or f"HTTP {code} without a Status body"
    after = retry_after_seconds if retry_after_seconds is not None else status.retry_after_seconds
    if code == 429:
        wait = DEFAULT_RETRY_AFTER_SECONDS if after is None else after
        return TooManyRequestsError(request, message, retry_after_seconds=wait, status=status)
    if code >= 500:
        refused_before_storage = any(mark in status.message for mark in _ADMISSION_MARKS)
        unknown = request.is_write and not refused_before_storage
        return UnavailableError(
            request, message, may_have_happened=unknown, code=code, status=status, retry_after_seconds=after
        )
    return _BY_CODE.get(code, RejectedError)(request, message, code=code, status=status)
