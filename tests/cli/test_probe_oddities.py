"""What `mds probe` says of texts that are not as they should be: which file, which name, which value, and why."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scaler_cli import sources, two_texts
from scaler_cli.main import app

GAUGES = "vllm:num_requests_running 1\nvllm:num_requests_waiting 2\nvllm:kv_cache_usage_perc 0.5\n"
COUNTERS = "vllm:prompt_tokens_total {prompt}\nvllm:generation_tokens_total {generation}\n"
TTFT, ITL = "vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds"


def histogram(base: str, count: int = 10, mean: float = 0.2, buckets: dict[str, int] | None = None) -> str:
    lines = [f'{base}_bucket{{le="{bound}"}} {inside}' for bound, inside in (buckets or {}).items()]
    return "\n".join([*lines, f"{base}_count {count}", f"{base}_sum {count * mean}\n"])


def text(prompt: str = "1000", generation: str = "500", ttft: str | None = None, itl: str | None = None) -> str:
    latencies = (histogram(TTFT) if ttft is None else ttft) + (histogram(ITL) if itl is None else itl)
    return GAUGES + COUNTERS.format(prompt=prompt, generation=generation) + latencies


class Bench:
    """Probes texts of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def probe(self, *texts: str | bytes, options: tuple[str, ...] = (), status: int = 0) -> tuple[str, str]:
        names = [self.folder / name for name in ("one", "two")[: len(texts)]]
        for name, content in zip(names, texts, strict=True):
            name.write_bytes(content.encode() if isinstance(content, str) else content)
        time = ("--seconds", "60") if len(texts) > 1 else ()
        result = CliRunner().invoke(app, ["probe", *map(str, names), *time, *options])
        assert result.exit_code == status, result.output
        return result.stdout, result.stderr.replace(f"{self.folder}/", "")

    def document(self, *texts: str | bytes, options: tuple[str, ...] = (), status: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.probe(*texts, options=(*options, "-o", "json"), status=status)[0])
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("content", "kind", "missing", "absent"),
    [
        pytest.param("other 1\n", "Encode", [], ["running", "waiting", "kvCacheUsage"], id="encode needs no signal"),
        pytest.param(text(itl=""), "Encode", [], ["itl"], id="encode needs no latency"),
        pytest.param(text(itl=""), "Prefill", [], ["itl"], id="prefill makes no tokens"),
        pytest.param(text(itl=""), "Server", ["itl"], [], id="a server does"),
        pytest.param(text().replace("vllm:kv", "x:kv"), "Server", [], ["kvCacheUsage"], id="no algorithm needs KV"),
        pytest.param(text(ttft=""), "Decode", [], ["ttft"], id="decode has no first token"),
    ],
)
def test_missing_is_what_planning_would_lack(
    bench: Bench, content: str, kind: str, missing: list[str], absent: list[str]
) -> None:
    found = bench.document(content, options=("--kind", kind), status=1 if missing else 0)
    assert found["missing"] == missing
    assert found["absent"][: len(absent)] == absent


def test_an_engine_that_has_served_nothing_yet_lacks_nothing(bench: Bench) -> None:
    modes = "".join(
        f'sglang:prefill_effective_tokens_total{{mode="{mode}"}} 0\n'
        for mode in ("input", "device_hit", "host_hit", "storage_hit")
    )
    found = bench.document(f"sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\n{modes}")
    assert (found["missing"], found["absent"]) == ([], ["kvCacheUsage", "generationTokens", "ttft", "itl"])


@pytest.mark.parametrize(
    ("value", "shown", "why"),
    [
        pytest.param("-2", "-2", "is -2, and nothing is below zero here", id="below zero"),
        pytest.param("NaN", "nan", "is NaN, which is no number", id="no number"),
        pytest.param("+Inf", "inf", "is infinite, or larger than a float holds", id="infinite"),
        pytest.param("1e400", "inf", "is infinite, or larger than a float holds", id="too large"),
    ],
)
def test_a_value_that_does_not_count_is_told_with_its_name(bench: Bench, value: str, shown: str, why: str) -> None:
    out, err = bench.probe(text(prompt=value), status=1)
    assert err == f"mds probe: one: missing: prompt tokens (vllm:prompt_tokens_total {why})\n"
    assert f"prompt tokens        missing: {shown} does not count\n" in out
    assert bench.document(text(prompt=value), status=1)["unusable"] == {"promptTokens": shown}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        pytest.param(
            text().replace("vllm:prompt_tokens_total", "x"),
            text("1600", "800"),
            "one: missing: prompt tokens (no vllm:prompt_tokens_total)",
            id="the first lacks a counter",
        ),
        pytest.param(
            text(),
            text("1600", "800").replace("vllm:prompt_tokens_total", "x"),
            "two: missing: prompt tokens (no vllm:prompt_tokens_total)",
            id="the second lacks it",
        ),
        pytest.param(
            text().replace("vllm:prompt_tokens_total", "x"),
            text("1600", "800").replace("vllm:prompt_tokens_total", "x"),
            "two: missing: prompt tokens (no vllm:prompt_tokens_total)",
            id="both lack it",
        ),
        pytest.param(
            "",
            text(),
            "one: no vLLM or SGLang signal in its metrics: it is empty; save the engine's answer anew, and see that "
            "the request succeeded",
            id="the first is empty",
        ),
    ],
)
def test_the_text_that_lacks_a_signal_is_named_once(bench: Bench, first: str, second: str, words: str) -> None:
    assert bench.probe(first, second, status=1)[1] == f"mds probe: {words}\n"


BUCKETS = {"0.1": 5, "+Inf": 10}


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        pytest.param(
            text(ttft=histogram(TTFT, buckets={"0.1": 50, "0.2": 5, "+Inf": 10})),
            f"{TTFT}: up to 0.2 s there are 5 observations, fewer than the 50 up to 0.1 s",
            id="a cumulative histogram that falls",
        ),
        pytest.param(
            text(ttft=histogram(TTFT, buckets={"0.1": 5, "+Inf": 99})),
            f"{TTFT}: its infinite bucket has 99 observations, its count 10",
            id="an infinite bucket that is not the count",
        ),
        pytest.param(
            text(ttft=histogram(TTFT, buckets={"0.1": 10})),
            f"{TTFT}: it has no infinite bucket, so the mean is taken for the percentile",
            id="no infinite bucket",
        ),
        pytest.param(
            text().replace("perc 0.5", "perc 73.2"),
            "vllm:kv_cache_usage_perc is 73.2, and a share is at most 1",
            id="KV usage in percent",
        ),
        pytest.param(
            text() + "sglang:num_running_reqs 4\n",
            "it has series of both engines; those of SGLang are left out",
            id="both engines",
        ),
        pytest.param(
            text() + 'vllm:prompt_tokens_total{engine="1"} NaN\n',
            "a series of vllm:prompt_tokens_total is left out: it is NaN, which is no number",
            id="one of two series is no number",
        ),
    ],
)
def test_what_is_odd_is_remarked_upon_and_not_fatal(bench: Bench, content: str, remark: str) -> None:
    assert bench.probe(content)[1] == f"mds probe: one: {remark}\n"


def test_a_series_that_is_new_counts_from_zero_and_is_remarked_upon(bench: Bench) -> None:
    later = text("1600", "800") + 'vllm:prompt_tokens_total{engine="1"} 600\n'
    assert bench.document(text(), later)["promptTokensPerSecond"] == 20
    assert "vllm:prompt_tokens_total{engine='1'} is new, so it counts from zero" in bench.probe(text(), later)[1]


def test_a_series_that_is_gone_is_remarked_upon(bench: Bench) -> None:
    first = text() + 'vllm:prompt_tokens_total{engine="1"} 5\n'
    assert "vllm:prompt_tokens_total{engine='1'} is gone" in bench.probe(first, text("1600", "800"))[1]


def test_a_latency_that_only_the_newer_text_has_is_remarked_upon(bench: Bench) -> None:
    assert "inter-token latency is only in the newer text" in bench.probe(text(itl=""), text("1600", "800"))[1]


@pytest.mark.parametrize(
    ("buckets", "statistic", "milliseconds"),
    [
        pytest.param(None, "mean", 200, id="without buckets"),
        pytest.param({"0.1": 5, "+Inf": 10}, "mean", 200, id="beyond the last bucket"),
        pytest.param({"0.5": 10, "+Inf": 10}, "p95", 500, id="in a bucket"),
    ],
)
def test_a_mean_is_called_a_mean(
    bench: Bench, buckets: dict[str, int] | None, statistic: str, milliseconds: int
) -> None:
    first = text(ttft=histogram(TTFT, 10, buckets=buckets))
    twice = {bound: 2 * count for bound, count in (buckets or {}).items()}
    second = text("1600", "800", ttft=histogram(TTFT, 20, buckets=twice))
    found = bench.document(first, second)
    assert (found["ttft"]["p95Milliseconds"], found["ttft"]["statistic"]) == (milliseconds, statistic)
    assert (found["ttftMilliseconds"], found["ttftStatistic"]) == (milliseconds, statistic)
    out, _ = bench.probe(first, second)
    assert f"{statistic} {milliseconds} ms of 20 observations" in out
    assert (f"TTFT between the two, ms        {milliseconds} (mean)\n" in out) is (statistic == "mean")


def test_a_mark_at_the_beginning_hides_no_series(bench: Bench) -> None:
    assert bench.document(b"\xef\xbb\xbf" + text().encode()) == bench.document(text())


def test_a_text_saved_as_it_was_packed_is_read(bench: Bench) -> None:
    assert bench.document(gzip.compress(text().encode())) == bench.document(text())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(
            gzip.compress(text().encode())[:-9], "a gzip file that is broken or cut off", id="half a gzip file"
        ),
        pytest.param(b"", "signal in its metrics: it is empty", id="nothing"),
        pytest.param(b"\n \n", "signal in its metrics: it is empty", id="blanks"),
        pytest.param(b"<html>404</html>", "signal in its metrics: it looks like an HTML page", id="a page"),
        pytest.param(b'{"error": "x"}', "signal in its metrics: it looks like a JSON document", id="a document"),
        pytest.param(text().encode("utf-16"), "it looks like UTF-16; save it as UTF-8", id="UTF-16"),
        pytest.param(text().encode("utf-16-le"), "it looks like UTF-16; save it as UTF-8", id="UTF-16 without a mark"),
        pytest.param(b"\x28\xb5\x2f\xfd..", "it is packed with zstd; unpack it", id="another packing"),
        pytest.param(b"\xfe\xfd\xfc" * 40, "it is not text", id="bytes"),
        pytest.param(b"go_goroutines 12\n", "signal in its metrics\n", id="metrics of something else"),
    ],
)
def test_what_is_no_engines_text_is_named(bench: Bench, content: bytes, words: str) -> None:
    assert words in bench.probe(content, status=1)[1]


@pytest.mark.parametrize(
    ("starts", "moments"),
    [
        pytest.param((0.0, 60.0), ("1970-01-01 00:00:00 UTC", "1970-01-01 00:01:00 UTC"), id="seconds"),
        pytest.param((0.12, 0.13), ("1970-01-01 00:00:00.120 UTC", "1970-01-01 00:00:00.130 UTC"), id="hundredths"),
        pytest.param((1.0, 1.0 + 1e-9), ("at 1.0 s", "at 1.000000001 s"), id="less than a clock shows"),
        pytest.param((1e300, 2e300), ("at 1e+300 s", "at 2e+300 s"), id="no date"),
    ],
)
def test_two_moments_have_the_digits_that_tell_them_apart(
    starts: tuple[float, float], moments: tuple[str, str]
) -> None:
    assert two_texts._moments(*starts) == moments


def test_a_small_file_that_unpacks_without_end_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_MOST_UNPACKED", 1000)
    assert "MiB unpacked" in bench.probe(gzip.compress(b"#" * 1001), status=1)[1]
