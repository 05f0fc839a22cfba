"""Texts of a remembered form: read faster, and exactly as by the full reader."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_core.model.scrape import EngineCounters
from scaler_core.signals import forms
from scaler_core.signals.engines import read_body, read_engine
from scaler_core.signals.exposition import MalformedLineError
from scaler_core.signals.forms import FormReader
from scaler_core.signals.names import WANTED
from tests.core.signals import texts
from tests.core.signals.test_exposition import SEED, mutate

PLAIN = """# HELP vllm:num_requests_running Running
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_swapped{engine="0",model_name="m"} 1.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 12.0
vllm:request_queue_time_seconds_bucket{engine="0",le="0.5",model_name="m"} 7.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="m"} 3.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 4.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 4.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 1.25
up 1
"""


def full(body: bytes) -> EngineCounters | None:
    try:
        return read_engine(body.decode("utf-8", errors="replace"))
    except MalformedLineError:
        return None


def remembered(reader: FormReader, body: bytes) -> EngineCounters | None:
    try:
        return reader.read(body)
    except MalformedLineError:
        return None


def edit(text: str, source: random.Random) -> str:
    """Another text of nearly the same form: values, lines or labels changed."""
    lines = text.split("\n")
    at, to = source.randrange(len(lines)), source.randrange(len(lines))
    match source.randrange(8):
        case 0:
            lines[at] = f"{lines[at].rpartition(' ')[0]} {source.choice(['0', '17.5', '1e9', 'NaN', '+Inf', '1_0'])}"
        case 1:
            lines[at], lines[to] = lines[to], lines[at]
        case 2:
            lines.insert(to, lines[at])
        case 3:
            del lines[at]
        case 4:
            lines[at] = lines[at].replace('"m"', '"n"').replace("0.5", "0.6")
        case 5:
            name = source.choice(sorted(WANTED))
            lines[at] = f'{name}{{engine="0",le="1"}} 5' if source.random() < 0.5 else f"{name} 5"
        case 6:
            lines[at] = source.choice([" ", "\t", '{"x",', "", "\r"]) + lines[at] + source.choice(["", "\r", " 1700"])
        case _:
            return mutate(text, source)
    return "\n".join(lines)


def check_edits(source: random.Random, seed: str, rounds: int) -> None:
    """Reads a walk of edited texts with one reader."""
    reader, text = FormReader(), seed
    for _ in range(rounds):
        body = text.encode("utf-8", errors="replace")
        assert remembered(reader, body) == full(body), text
        text = edit(text if source.random() < 0.7 else seed, source) or seed


@pytest.mark.parametrize("seed", [PLAIN, PLAIN.replace("\n", "\r\n"), PLAIN.removesuffix("up 1\n"), SEED])
def test_edited_texts_are_read_as_by_the_full_reader(seed: str) -> None:
    check_edits(random.Random(20261129), seed, 600)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [PLAIN, SEED])
def test_a_hundred_thousand_edited_texts(seed: str) -> None:
    check_edits(random.Random(7), seed, 50_000)


@given(st.lists(texts.expositions(), max_size=3), st.binary(max_size=30))
def test_any_texts_in_any_order_are_read_as_by_the_full_reader(bodies: list[str], noise: bytes) -> None:
    reader = FormReader()
    for body in [*(text.encode() for text in bodies), noise] * 2:
        assert repr(remembered(reader, body)) == repr(full(body))


NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.decimals().map(str),
    st.from_regex(r"[-+]?[0-9.]{0,25}([eE][-+]?[0-9]{1,3})?\r?", fullmatch=True),
    st.sampled_from(["-0", "\r-0", "-0.0", "+Inf", "NaN", "01", "1.", ".5", "1_0", "1e400", "18446744073709551617"]),
    st.sampled_from(["true", "null", "[1]", "1,2", "", '"1"', "0x1", "1 2", "e", "-", "\r", "9007199254740993"]),
)


@given(st.lists(NUMBERS, min_size=6, max_size=6))
def test_any_values_are_read_as_by_the_full_reader(values: list[str]) -> None:
    reader, lines = FormReader(), [line for line in PLAIN.splitlines() if line.startswith(tuple(WANTED))]
    for numbers in (["1"] * 6, values):
        body = "\n".join(f"{line.rpartition(' ')[0]} {number}" for line, number in zip(lines, numbers, strict=True))
        assert repr(remembered(reader, body.encode())) == repr(full(body.encode()))


def count_full_readings(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    seen: list[bytes] = []

    def read(body: bytes) -> Any:
        seen.append(body)
        return read_body(body)

    monkeypatch.setattr(forms, "read_body", read)
    return seen


def test_only_the_first_text_of_a_form_is_read_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_full_readings(monkeypatch)
    reader = FormReader()
    for running in range(5):
        counters = reader.read(PLAIN.replace(" 3.0", f" {running}").encode())
        assert (counters.running, counters.prompt_tokens) == (running, 12)
    assert len(seen) == 1


def test_models_of_one_version_keep_their_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_full_readings(monkeypatch)
    reader, plain = FormReader(), PLAIN.removesuffix("up 1\n")
    for _ in range(3):
        for model in ("a", "b", "c"):
            reader.read(plain.replace('"m"', f'"{model}"').encode())
    assert len(seen) == 3


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_REMEMBERED", 4)
    seen = count_full_readings(monkeypatch)
    reader = FormReader()
    for model in [*range(20), *range(16, 20)]:
        reader.read(f'vllm:num_requests_running{{model_name="{model}"}} 3'.encode())
    assert len(seen) == 20


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('vllm:num_requests_running{a="1"} 3 1700000000000', id="a timestamp"),
        pytest.param('vllm:num_requests_running{a="1"}\t3', id="a tabulator before the value"),
        pytest.param(' vllm:num_requests_running{a="1"} 3', id="a blank before the name"),
        pytest.param('{"vllm:num_requests_running",a="1"} 3', id="the name in quotes"),
        pytest.param("vllm:num_requests_running 3", id="no labels"),
        pytest.param(f'vllm:num_requests_running{{a="{"x" * 1000}"}} 3', id="a long label"),
    ],
)
def test_unusual_lines_are_read_every_time(line: str) -> None:
    reader = FormReader()
    for body in (line.encode(), f"{line}\n".encode(), line.encode()):
        assert reader.read(body).running == 3


def test_a_line_may_be_shorter_than_its_labels_were() -> None:
    reader = FormReader()
    for label in ("é" * 400, "", "é" * 200, ""):
        assert reader.read(f'vllm:num_requests_running{{a="{label}"}} 3\nup 1\n'.encode()).running == 3


def test_bytes_that_are_no_text_cost_only_their_own_line() -> None:
    reader = FormReader()
    for value in (3, 4):
        body = b'other{a="\xff\xfe"} 1\nvllm:num_requests_running{m="\xff"} %d\n' % value
        assert reader.read(body).running == value


def test_every_wanted_name_is_longer_than_what_is_compared() -> None:
    assert min(map(len, WANTED)) > forms._SEEN


def test_a_name_that_goes_on_is_another_name() -> None:
    reader = FormReader()
    assert reader.read(b"vllm:num_requests\nother 1\n").running is None
    assert reader.read(b"vllm:num_requests_running 3\nother 1\n").running == 3


def test_a_byte_order_mark_hides_no_series() -> None:
    text = b"vllm:num_requests_running 3\nvllm:num_requests_waiting 4\n"
    reader = FormReader()
    marked = [reader.read(b"\xef\xbb\xbf" + text) for _ in range(2)]
    assert [counters.running for counters in (*marked, read_engine("\ufeff" + text.decode()))] == [3, 3, 3]
