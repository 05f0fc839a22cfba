"""The selective reader: it agrees with the official parser, refuses what is malformed, and never guesses."""

import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from scaler_core.signals.engines import read_engine
from scaler_core.signals.exposition import MalformedLineError, read_samples
from scaler_core.signals.names import WANTED
from tests.core.signals import texts

NAME = "vllm:num_requests_running"
BUCKET = "vllm:time_to_first_token_seconds_bucket"


@given(texts.expositions())
def test_it_agrees_with_the_official_text_parser(text: str) -> None:
    assert texts.ours(text) == texts.official(text)


@given(texts.openmetrics())
def test_it_agrees_with_the_official_openmetrics_parser(text: str) -> None:
    assert texts.ours(text) == texts.official_openmetrics(text)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=5_000)
@given(texts.expositions())
def test_it_agrees_with_the_official_text_parser_at_length(text: str) -> None:
    assert texts.ours(text) == texts.official(text)


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        pytest.param(f"{NAME} 3", {}, 3, id="no labels"),
        pytest.param(f"{NAME}{{}} 3", {}, 3, id="an empty block"),
        pytest.param(f'  {NAME}\t{{a = "1" , }}\t3\t', {"a": "1"}, 3, id="blanks everywhere"),
        pytest.param(f'{NAME}{{a="1"}}3', {"a": "1"}, 3, id="no blank before the value"),
        pytest.param(f'{NAME}{{a="x\\"y\\\\z\\nw"}} 3', {"a": 'x"y\\z\nw'}, 3, id="the three escapes"),
        pytest.param(f'{NAME}{{a="\\t"}} 3', {"a": "\\t"}, 3, id="another escape stands for itself"),
        pytest.param(f'{NAME}{{a="}} 9 {{,=#"}} 3', {"a": "} 9 {,=#"}, 3, id="grammar within quotes"),
        pytest.param(f'{NAME}{{a="1"}} 3 1700000000000', {"a": "1"}, 3, id="a timestamp"),
        pytest.param(f'{NAME}{{a="1"}} 3 # {{b="}}"}} 0.5 1.7e9', {"a": "1"}, 3, id="an exemplar"),
        pytest.param(f"{NAME} 3 # {{}} 0.5", {}, 3, id="an exemplar without labels before it"),
        pytest.param(f'{{"{NAME}",a="1"}} 3', {"a": "1"}, 3, id="the name in quotes"),
        pytest.param(f'{{"{NAME}"}} 3', {}, 3, id="the name in quotes alone"),
        pytest.param(f'{NAME}{{"a.b"="1"}} 3', {"a.b": "1"}, 3, id="a label in quotes"),
        pytest.param(f"{NAME} 2.62e+010\r", {}, 2.62e10, id="a carriage return and three digits of exponent"),
        pytest.param(f"{NAME} 1.5e15", {}, 1.5e15, id="an exponent without sign"),
    ],
)
def test_well_formed_lines(line: str, labels: dict[str, str], value: float) -> None:
    (series,), (read,) = read_samples(f"# first\n{line}\n", WANTED)
    assert (series.identity, read) == ((NAME, tuple(sorted(labels.items()))), value)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(NAME, id="a name alone"),
        pytest.param(f"{NAME} ", id="a name and a blank"),
        pytest.param(f"{NAME} x", id="a word for a value"),
        pytest.param(f"{NAME} 1_000", id="a number as only Python writes it"),
        pytest.param(f"{NAME} \u0661", id="digits of another script"),
        pytest.param(f"{NAME} 0x10", id="a hexadecimal number"),
        pytest.param(f"{NAME} 1 2 3", id="more than a timestamp"),
        pytest.param(f"{NAME} 1 soon", id="a word for a timestamp"),
        pytest.param(f'{NAME}{{a="1" 3', id="a block that does not end"),
        pytest.param(f'{NAME}{{a="1}} 3', id="a quote that does not end"),
        pytest.param(f"{NAME}{{a=1}} 3", id="a value without quotes"),
        pytest.param(f"{NAME}{{a}} 3", id="a label without value"),
        pytest.param(f'{NAME}{{a="1"b="2"}} 3', id="labels without a comma"),
        pytest.param(f'{NAME}{{,a="1"}} 3', id="a comma first"),
        pytest.param(f'{NAME}{{a="1",,}} 3', id="two commas"),
        pytest.param(f'{NAME}{{a="1",a="1"}} 3', id="a label twice"),
        pytest.param(f'{NAME}{{__name__="x"}} 3', id="a reserved label"),
        pytest.param(f'{NAME}{{a="1"}}}} 3', id="a brace too many"),
        pytest.param(f'{NAME}{{a="1"}}', id="labels without value"),
        pytest.param(f'{NAME} 1{{a="1"}} 3', id="labels behind the value"),
        pytest.param(f"{BUCKET} 3", id="a bucket without labels"),
        pytest.param(f'{BUCKET}{{a="1"}} 3', id="a bucket without bound"),
        pytest.param(f'{BUCKET}{{le="NaN"}} 3', id="a bucket whose bound is no number"),
        pytest.param(f'{{"{NAME}",b}} 3', id="a quoted name and half a label"),
    ],
)
def test_a_malformed_wanted_line_is_an_error_that_names_it(line: str) -> None:
    with pytest.raises(MalformedLineError) as caught:
        read_samples(f"# first\n\n{line}\n{NAME} 5\n", WANTED)
    assert (caught.value.line, caught.value.text.strip()) == (3, line.strip())
    assert str(caught.value).startswith("line 3: ")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("other{a=1} x y z", id="a malformed line of another family"),
        pytest.param(f"{NAME}_by_reason{{{{{{ 3", id="a longer name"),
        pytest.param(f"# TYPE {NAME} nonsense", id="an unknown type"),
        pytest.param(f"# {NAME} 7", id="a remark"),
        pytest.param('}{"', id="noise"),
        pytest.param('{"other",a="1"} x', id="another name in quotes"),
        pytest.param("\x00\x01", id="control characters"),
    ],
)
def test_unrelated_garbage_is_passed_over(line: str) -> None:
    assert read_samples(f"{line}\n{NAME} 5\n{line}", WANTED)[1] == [5]


def test_an_error_does_not_quote_a_megabyte() -> None:
    with pytest.raises(MalformedLineError) as caught:
        read_samples(f"{NAME} {'x' * 10**6}", WANTED)
    assert len(str(caught.value)) < 300


def test_long_blocks_are_read_without_being_kept() -> None:
    label = "x" * 100_000
    (series,), (value,) = read_samples(f'{NAME}{{a="{label}"}} 5', WANTED)
    assert (series.labels, value) == ((("a", label),), 5)


SEED = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a\\\\b\\"c\\n"} 3.0
vllm:kv_cache_usage_perc{pid="7"} 0.25 1700000000000
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5"} 3
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 4
vllm:time_to_first_token_seconds_count{engine="0"} 4
vllm:time_to_first_token_seconds_sum{engine="0"} 1.25e+00
other{a="b"} NaN
vllm:prompt_tokens_total 12 # {trace="x"} 1.0
"""
PIECES = (
    *(
        '"',
        "\\",
        "{",
        "}",
        ",",
        "=",
        "\n",
        "\r",
        " ",
        "\t",
        "#",
        "_",
        "e",
        "-",
        ".",
        "0",
        "9",
        "\x00",
        "\u2028",
        "\u00e9",
    ),
    *("NaN", "+Inf", "vllm:num_requests_running", 'le="', "# "),
)


def mutate(text: str, source: random.Random) -> str:
    """A few cuts, insertions, swaps and repetitions."""
    for _ in range(source.randint(1, 4)):
        at, to = sorted((source.randrange(len(text) + 1), source.randrange(len(text) + 1)))
        piece = source.choice(PIECES)
        text = source.choice(
            [
                text[:at] + piece + text[at:],
                text[:at] + text[at + 1 :],
                text[:at] + piece + text[at + 1 :],
                text[:at] + text[min(to, at + 20) :],
                text[:to] + text[at : min(to, at + 40)] + text[to:],
                text[:at],
            ]
        )
    return text


def reads_officially(line: str) -> Counter[texts.Series] | None:
    """What the official text parser reads of one line; None where it refuses it."""
    try:
        samples = [sample for family in text_string_to_metric_families(line) for sample in family.samples]
    except ValueError:
        return None
    return Counter(texts.series(sample.name, sample.labels.items(), sample.value) for sample in samples)


def fuzz(text: str) -> str:
    """Read one hostile text: only the typed error may come, and no number that the official parser does not read."""
    try:
        read_engine(text)
        ours = texts.ours(text)
    except MalformedLineError:
        return "refused"
    by_line = [(line, texts.ours(line)) for line in text.split("\n")]
    for line, found in by_line:  # line by line, since the official parser refuses a whole text for any of them
        if found:
            # It takes an exemplar for a timestamp; what follows the value is not our business.
            bare = [line[: hit.start()] for hit in re.finditer("[ \t]#", line)]
            assert found in [reads_officially(candidate) for candidate in (line, *bare)], line
    assert ours == sum((found for _, found in by_line), Counter())
    return "read"


def test_hostile_texts_never_crash_and_never_give_a_wrong_number() -> None:
    source = random.Random(20261129)
    results = Counter(fuzz(mutate(SEED, source)) for _ in range(1_500))
    assert min(results["read"], results["refused"]) > 100


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_hostile_texts() -> None:
    source = random.Random(1)
    for _ in range(100_000):
        fuzz(mutate(SEED, source))


@given(st.text(max_size=80))
def test_any_text_at_all(text: str) -> None:
    fuzz(text)
