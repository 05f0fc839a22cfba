"""Generated expositions, well-formed in every way that the formats allow, and the official reading of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from scaler_core.signals.exposition import BUCKET, read_samples
from scaler_core.signals.names import WANTED

Series = tuple[str, frozenset[tuple[str, str]], str]
"""Name, labels and value; the value as text, so that NaN equals itself."""

LABELS = ("model_name", "engine", "tp_rank", "dp_rank", "pid", "priority", "is_streaming", "mode", "source", "_x9")
BOUNDS = ("0.005", "0.5", "1", "1.0", "1e+01", "+Inf")
OTHERS = ("vllm:iteration_tokens_total", "python_info", "vllm:prompt_tokens_total_bucket", "up", "sglang:gen:x")
values = st.one_of(
    st.integers(-5, 10**15).map(str),
    st.floats().map(repr).map(lambda text: text.replace("inf", "Inf").replace("nan", "NaN")),
    st.floats(0, 1e9).map(lambda value: f"{value:.3e}"),
    st.sampled_from(["+Inf", "-Inf", "NaN", "1e+09", "1.5e15", "2.62352426e+010", "0", "-0.0", ".5", "5.", "1E3"]),
)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@st.composite
def label_blocks(draw: st.DrawFn, name: str) -> str:
    """A block of labels in braces, or nothing; a bucket has a bound."""
    names = draw(st.lists(st.sampled_from(LABELS), unique=True, max_size=4))
    pairs = [f'{label}="{escape(draw(texts))}"' for label in names]
    if name.endswith(BUCKET):
        pairs.insert(draw(st.integers(0, len(pairs))), f'le="{draw(st.sampled_from(BOUNDS))}"')
    comma = "," if pairs and draw(st.booleans()) else ""
    separator = draw(st.sampled_from([",", ", "]))
    return f"{{{separator.join(pairs)}{comma}}}" if pairs or draw(st.booleans()) else ""


@st.composite
def sample_lines(draw: st.DrawFn, names: Sequence[str]) -> str:
    """One line of text 0.0.4."""
    timestamp = draw(st.one_of(st.just(""), st.integers(0, 2**41).map(lambda ms: f" {ms}")))
    blank = draw(st.sampled_from([" ", "  ", "\t"]))
    name = draw(st.sampled_from(names))
    return f"{name}{draw(label_blocks(name))}{blank}{draw(values)}{timestamp}"


comments = st.one_of(
    st.sampled_from(["", "# a remark", "#", "# EOF", "# HELP up Help with {braces} and \\\\ and \\n"]),
    st.sampled_from(sorted(WANTED)).map(lambda name: f"# HELP {name} Words"),
    st.tuples(
        st.sampled_from(sorted(WANTED)), st.sampled_from(["counter", "gauge", "histogram", "summary", "untyped"])
    ).map(lambda pair: f"# TYPE {pair[0]} {pair[1]}"),
)


@st.composite
def expositions(draw: st.DrawFn) -> str:
    """A well-formed text 0.0.4, most of it wanted."""
    names = sorted(WANTED)
    line = st.one_of(sample_lines(names), sample_lines([*names[:5], *OTHERS]), comments)
    lines = draw(st.lists(line, max_size=12))
    doubled = [each for each in lines for _ in range(2 if draw(st.integers(0, 9)) == 0 else 1)]
    return draw(st.sampled_from(["\n", "\r\n"])).join(doubled) + draw(st.sampled_from(["", "\n"]))


@dataclass(frozen=True)
class Family:
    """A family of an OpenMetrics text: name, type and the suffixes of its samples."""

    name: str
    type: str
    suffixes: tuple[str, ...]


FAMILIES = (
    Family("vllm:num_requests_running", "gauge", ("",)),
    Family("sglang:token_usage", "gauge", ("",)),
    Family("vllm_kv_cache_usage_perc", "gauge", ("",)),
    Family("vllm:prompt_tokens", "counter", ("_total", "_created")),
    Family("sglang_generation_tokens", "counter", ("_total",)),
    Family("sglang:unknown_things", "unknown", ("",)),
)


@st.composite
def openmetrics(draw: st.DrawFn) -> str:
    """A well-formed OpenMetrics text with exemplars, timestamps and created series."""
    lines = []
    for family in draw(st.lists(st.sampled_from(FAMILIES), unique=True)):
        lines += [f"# HELP {family.name} {draw(st.sampled_from(['', 'Words']))}", f"# TYPE {family.name} {family.type}"]
        stamp = draw(st.sampled_from(["", " 1700000000.25"]))
        for index in range(draw(st.integers(0, 3))):
            for suffix in family.suffixes:
                value = draw(st.integers(0, 10**9)) if suffix else draw(st.floats(0, 1e6))
                exemplar = draw(st.sampled_from(["", ' # {trace_id="a}b{"} 0.5', ' # {a="x=y,"} 3 1700000000.0']))
                exemplar = exemplar if suffix == "_total" else ""
                labels = f'{{engine="{index}",x="{escape(draw(texts))}"}}'
                lines.append(f"{family.name}{suffix}{labels} {value}{stamp}{exemplar}")
    return "\n".join([*lines, "# EOF", ""])


NEEDED = frozenset(name.removesuffix("_total") for name in WANTED)


def series(name: str, labels: Iterable[tuple[str, str]], value: float) -> Series:
    """Without `_total`, which the official parser adds to the samples of every counter."""
    return name.removesuffix("_total"), frozenset(labels), repr(float(value))


def official(text: str, parse: Callable[[str], Iterable[Metric]] = parse_text) -> Counter[Series]:
    """What `prometheus_client` reads of the wanted names."""
    found = (
        series(sample.name, sample.labels.items(), sample.value) for family in parse(text) for sample in family.samples
    )
    return Counter(each for each in found if each[0] in NEEDED)


def official_openmetrics(text: str) -> Counter[Series]:
    """As `official`, by the parser of OpenMetrics."""
    return official(text, parse_openmetrics)


def ours(text: str) -> Counter[Series]:
    """What our reader reads of the wanted names."""
    return Counter(
        series(each.name, each.labels, value) for each, value in zip(*read_samples(text, WANTED), strict=True)
    )
