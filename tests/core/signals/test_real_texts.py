"""Every real text of the shared data reads as its expected values, by the reader and by `mds probe`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scaler_cli.main import app
from scaler_core.model.scrape import EngineCounters, Histogram
from scaler_core.signals.deltas import Delta, Restart, compare
from scaler_core.signals.engines import read_engine
from scaler_core.signals.histograms import p95_milliseconds
from tests.shared_data import root

METRICS = root() / "data" / "metrics"
ABSENT = pytest.mark.skip(reason="the shared data is not there; set MDS_SHARED to its folder")
TEXTS = [pytest.param(path, id=path.stem) for path in sorted(METRICS.glob("*.prom"))] or [
    pytest.param(METRICS, id="none", marks=ABSENT)
]
PAIRS = [pytest.param(path, id=path.name.split(".")[0]) for path in sorted(METRICS.glob("*.delta.expected.json"))] or [
    pytest.param(METRICS, id="none", marks=ABSENT)
]
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "none": None}
GAUGES = {
    "running": "running",
    "waiting": "waiting",
    "kv_usage": "kvCacheUsage",
    "prompt_tokens": "promptTokens",
    "generation_tokens": "generationTokens",
    "prefix_hits": "prefixHits",
}


def text_of(path: Path) -> str:
    return path.read_bytes().decode()


def expected_of(path: Path) -> dict[str, Any]:
    signals: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text())["signals"]
    return signals


def value(signals: dict[str, Any], name: str) -> float | None:
    found = signals.get(name)
    return found["value"] if found is not None else None


def p95(latency: dict[str, Any]) -> float | None:
    """The percentile in milliseconds by the rules of the expected values: a bucket's bound, or else the mean."""
    bucket = latency.get("p95_bucket")
    if isinstance(bucket, int | float):
        return bucket * 1000
    mean = latency.get("mean")
    return None if not latency.get("count") or mean is None else mean * 1000


def probe(*arguments: object, status: int | None = None) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["probe", *map(str, arguments), "-o", "json"])
    assert result.exit_code in ({0, 1} if status is None else {status}), result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("path", TEXTS)
def test_the_probe_reads_the_expected_values(path: Path) -> None:
    signals, found = expected_of(path), probe(path)
    assert found["engine"] == ENGINES[signals["engine"]]
    for theirs, ours in GAUGES.items():
        assert found[ours] == pytest.approx(value(signals, theirs)), ours
    assert found["prefillEffective"] == (signals.get("prefill_effective") or {})
    for name in ("ttft", "itl"):
        latency = signals.get(name) or {}
        assert found[name]["count"] == latency.get("count")
        assert found[name]["sum"] == pytest.approx(latency.get("sum"))
        assert found[name]["p95Milliseconds"] == pytest.approx(p95(latency))


@pytest.mark.parametrize("path", TEXTS)
def test_a_decode_role_waits_for_transfers(path: Path) -> None:
    signals = expected_of(path)
    expected = signals.get("waiting_for_a_decode_role", value(signals, "waiting"))
    assert probe(path, "--kind", "decode")["waiting"] == expected


@pytest.mark.parametrize("path", TEXTS)
def test_the_reader_reads_the_expected_values(path: Path) -> None:
    signals, found = expected_of(path), read_engine(text_of(path))
    counters = (
        (found.running, "running"),
        (found.waiting, "waiting"),
        (found.transfer_queue, "decode_transfer_queue"),
        (found.kv_cache_usage, "kv_usage"),
        (found.prompt_tokens, "prompt_tokens"),
        (found.generation_tokens, "generation_tokens"),
        (found.prefix_hits, "prefix_hits"),
    )
    for ours, theirs in counters:
        assert ours == pytest.approx(value(signals, theirs)), theirs
    for histogram, name in ((found.ttft, "ttft"), (found.itl, "itl")):
        check_buckets(histogram, signals.get(name) or {})


def check_buckets(histogram: Histogram | None, expected: dict[str, Any]) -> None:
    assert (histogram.count if histogram else None) == expected.get("count")
    milliseconds = p95_milliseconds(histogram)
    assert (None if milliseconds is None else float(milliseconds)) == pytest.approx(p95(expected))
    if histogram is not None and expected.get("buckets_complete"):
        finite = [(bound, count) for bound, count in expected["buckets"] if bound != "+Inf"]
        assert [(float(bound), count) for bound, count in histogram.buckets] == finite


def pair(path: Path) -> tuple[dict[str, Any], EngineCounters, EngineCounters]:
    expected = json.loads(path.read_text())
    first, second = (read_engine(text_of(METRICS / expected[name])) for name in ("first", "second"))
    return expected, first, second


@pytest.mark.parametrize("path", PAIRS)
def test_pairs_give_the_expected_deltas(path: Path) -> None:
    expected, first, second = pair(path)
    delta = compare(first, second, 10.0)
    if "expected_verdict" in expected:
        assert isinstance(delta, Restart)
        return
    assert isinstance(delta, Delta)
    assert delta.prompt_tokens == expected["prompt_demand_tokens"]
    assert delta.generation_tokens == expected["delta"]["generation_tokens"]
    for histogram, name in ((delta.ttft, "ttft"), (delta.itl, "itl")):
        assert histogram is not None
        assert histogram.count == expected[name]["count"]
        assert float(histogram.sum_seconds or 0) == pytest.approx(expected[name]["sum"])
        assert float(p95_milliseconds(histogram) or 0) == pytest.approx(expected[name]["mean_milliseconds"])


@pytest.mark.parametrize("path", PAIRS)
def test_the_probe_reads_pairs(path: Path) -> None:
    expected, _, _ = pair(path)
    first, second = METRICS / expected["first"], METRICS / expected["second"]
    found = probe(first, second, "--seconds", 10)
    demand = None if "expected_verdict" in expected else expected["prompt_demand_tokens"]
    assert found["promptTokensPerSecond"] == pytest.approx(None if demand is None else demand / 10)
    if "expected_verdict" in expected:
        assert (found["ttftMilliseconds"], found["signalState"]) == (None, "Missing")
    else:
        assert found["ttftMilliseconds"] == pytest.approx(expected["ttft"]["mean_milliseconds"])
        assert found["itlMilliseconds"] == pytest.approx(expected["itl"]["mean_milliseconds"])


def test_an_engine_with_a_kv_connector_tells_what_it_computed() -> None:
    path = METRICS / "vllm_v1_full_hits_exceed_prompt.prom"
    if not path.exists():
        pytest.skip("the shared data is not there; set MDS_SHARED to its folder")
    counters = read_engine(text_of(path))
    assert counters.computed_prompt_tokens == 2376
    assert (counters.prefix_hits or 0) > 20 * (counters.prompt_tokens or 0)
