"""Where a Pod serves its metrics: the scrape annotations of the target's operator (target-contract.md 3.5)."""

import re
from ipaddress import ip_address
from typing import Final

from scaler_core.api.pod import SCRAPE_PATH, SCRAPE_PORT, SCRAPE_SCHEME, Pod
from scaler_core.model.scrape import ScrapeFailure

DEFAULT_PATH: Final = "/metrics"
DEFAULT_SCHEME: Final = "http"
SCHEMES: Final = ("http", "https")
MAX_PORT: Final = 65535
_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]*")


def metrics_url(pod: Pod) -> str | ScrapeFailure:
    """The URL of a Pod's metrics, or why there is none; the annotations of a Pod are input like any other."""
    annotations = pod.metadata.annotations
    port = annotations.get(SCRAPE_PORT)
    if port is None:
        return ScrapeFailure(why=f"it has no {SCRAPE_PORT} annotation: its engine is not managed by the operator")
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= MAX_PORT):
        return ScrapeFailure(why=f"{SCRAPE_PORT} is {port!r}, not a port from 1 to {MAX_PORT}")
    scheme = annotations.get(SCRAPE_SCHEME, DEFAULT_SCHEME)
    if scheme not in SCHEMES:
        return ScrapeFailure(why=f"{SCRAPE_SCHEME} is {scheme!r}, not http or https")
    path = annotations.get(SCRAPE_PATH, DEFAULT_PATH)
    if _PATH.fullmatch(path) is None:
        return ScrapeFailure(why=f"{SCRAPE_PATH} is {path!r}, not a plain path")
    host = _host(pod.status.pod_ip)
    return f"{scheme}://{host}:{int(port)}{path}" if host else ScrapeFailure(why="it has no IP address yet")


def _host(text: str) -> str | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return f"[{address}]" if address.version == 6 else str(address)
