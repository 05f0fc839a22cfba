"""What a text without an engine's metrics is instead, with the remedy."""

import json
from collections.abc import Callable, Mapping
from typing import Final

GZIP: Final = b"\x1f\x8b"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_PACKED: Final[Mapping[bytes, str]] = {
    GZIP: "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_ASK: Final = "ask the engine's own address, with its path /metrics"


def resemblance(body: bytes) -> str | None:
    """What this looks like, in words that follow a colon; None where it may well be metrics."""
    return next((words for look in _LOOKS if (words := look(body)) is not None), None)


def _empty(body: bytes) -> str | None:
    return None if body.strip() else "it is empty; save the engine's answer anew, and see that the request succeeded"


def _packed(body: bytes) -> str | None:
    kind = next((kind for magic, kind in _PACKED.items() if body.startswith(magic)), None)
    return f"it is packed with {kind}; unpack it, or serve it with its Content-Encoding" if kind is not None else None


def _wide(body: bytes) -> str | None:
    if body.startswith(_UTF16) or (b"\0" in body[:64] and body[:64].replace(b"\0", b"").isascii()):
        return "it looks like UTF-16; save it as UTF-8, as `curl -o FILE URL` does"
    return None


def _page(body: bytes) -> str | None:
    return f"it looks like an HTML page; {_ASK}" if body.lstrip()[:1] == b"<" else None


def _document(body: bytes) -> str | None:
    if body.lstrip()[:1] not in {b"{", b"["}:
        return None
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return None
    return f"it looks like a JSON document; {_ASK}"


def _binary(body: bytes) -> str | None:
    try:
        body.decode()
    except UnicodeDecodeError:
        return f"it is not text; {_ASK}"
    return None


_LOOKS: Final[tuple[Callable[[bytes], str | None], ...]] = (_empty, _packed, _wide, _page, _document, _binary)
