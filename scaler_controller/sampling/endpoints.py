"""Where a Pod serves its metrics: the scrape annotations of the target's operator."""

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from yarl import URL

from scaler_core.api.pod import SCRAPE_PATH, SCRAPE_PORT, SCRAPE_SCHEME, Pod
from scaler_core.model.scrape import ScrapeFailure

DEFAULT_PATH: Final = "/metrics"
DEFAULT_SCHEME: Final = "http"
SCHEMES: Final = ("http", "https")
MAX_PORT: Final = 65535
_REMEMBERED: Final = 4096
_MAX_QUOTE: Final = 40  # characters; an annotation may have a quarter of a million
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]*")


def metrics_url(pod: Pod) -> URL | ScrapeFailure:
    """The URL of a Pod's metrics, or why there is none; the annotations of a Pod are input like any other."""
    annotations = pod.metadata.annotations
    port = annotations.get(SCRAPE_PORT)
    if port is None:
        return ScrapeFailure(why=f"it has no {SCRAPE_PORT} annotation: its engine is not managed by the operator")
    scheme, path = annotations.get(SCRAPE_SCHEME, DEFAULT_SCHEME), annotations.get(SCRAPE_PATH, DEFAULT_PATH)
    return _url(scheme, pod.status.pod_ip, port, path)


@lru_cache(maxsize=_REMEMBERED)
def _url(scheme: str, host: str, port: str, path: str) -> URL | ScrapeFailure:
    """The URL of these parts; to parse one anew costs a sixth of a request."""
    if _PORT.fullmatch(port) is None or int(port) > MAX_PORT:
        return ScrapeFailure(
            why=f"{SCRAPE_PORT} is {port[:_MAX_QUOTE]!r}, not a port from 1 to {MAX_PORT} without leading zeros"
        )
    if scheme not in SCHEMES:
        return ScrapeFailure(why=f"{SCRAPE_SCHEME} is {scheme[:_MAX_QUOTE]!r}, not http or https")
    if _PATH.fullmatch(path) is None:
        return ScrapeFailure(why=f"{SCRAPE_PATH} is {path[:_MAX_QUOTE]!r}, not a plain path")
    try:
        address = ip_address(host)
    except ValueError:
        return ScrapeFailure(why="it has no IP address yet")
    return URL.build(scheme=scheme, host=str(address), port=int(port), path=path)
