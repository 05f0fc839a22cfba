"""Where a Pod serves its metrics."""

from typing import Any

import pytest

from scaler_controller.sampling.endpoints import metrics_url
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import ScrapeFailure


def pod(ip: str = "10.0.0.1", **annotations: str) -> Pod:
    metadata: dict[str, Any] = {"name": "a", "annotations": {f"prometheus.io/{k}": v for k, v in annotations.items()}}
    return Pod.from_wire({"metadata": metadata, "status": {"podIP": ip}})


@pytest.mark.parametrize(
    ("pod", "url"),
    [
        pytest.param(pod(port="8000"), "http://10.0.0.1:8000/metrics", id="scheme and path have defaults"),
        pytest.param(
            pod(port="8200", scheme="https", path="/v1/metrics"), "https://10.0.0.1:8200/v1/metrics", id="all given"
        ),
        pytest.param(
            pod(ip="fd00::1", port="8000"), "http://[fd00::1]:8000/metrics", id="an IPv6 address stands in brackets"
        ),
    ],
)
def test_urls(pod: Pod, url: str) -> None:
    assert str(metrics_url(pod)) == url


@pytest.mark.parametrize(
    ("pod", "word"),
    [
        pytest.param(pod(), "no prometheus.io/port annotation", id="no port"),
        pytest.param(pod(port="http"), "'http'", id="a port that is no number"),
        pytest.param(pod(port="0"), "'0'", id="port zero"),
        pytest.param(pod(port="65536"), "'65536'", id="a port beyond the last"),
        pytest.param(pod(port="1" * 5000), "not a port", id="a port of thousands of digits"),
        pytest.param(pod(port="000080" + "1" * 5000), "not a port", id="thousands of digits behind leading zeros"),
        pytest.param(pod(port="000080999"), "'000080999', not a port", id="a port that is one only at its beginning"),
        pytest.param(pod(port="0000008000"), "without leading zeros", id="a port with leading zeros"),
        pytest.param(pod(port="8000\n"), "not a port", id="a port with a line feed"),
        pytest.param(pod(port="80", scheme="ftp"), "'ftp'", id="another scheme"),
        pytest.param(pod(port="80", scheme="f" * 9999), "not http", id="a scheme without end"),
        pytest.param(pod(port="80", path="metrics"), "'metrics'", id="a path without its slash"),
        pytest.param(pod(port="80", path="/a@evil?b#c"), "not a plain path", id="a path that is more than a path"),
        pytest.param(pod(ip="", port="80"), "no IP address", id="no address"),
        pytest.param(pod(ip="evil.example", port="80"), "no IP address", id="a name instead of an address"),
    ],
)
def test_a_pod_without_an_endpoint_says_why(pod: Pod, word: str) -> None:
    found = metrics_url(pod)
    assert isinstance(found, ScrapeFailure)
    assert word in found.why
    assert len(found.why) < 200
