"""What holds for every line that admission says, and for the registry as a whole."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_core.admission import messages, registry
from scaler_core.admission.verdict import Violation
from tests.core.admission import test_fence, test_scaler

FORBIDDEN = ("immutable", "map[", "409", "422", "\n")


def lines() -> list[str]:
    cases = [*test_fence.REFUSED, *test_scaler.REFUSED]
    return [case.values[3] for case in cases]


@pytest.mark.parametrize("line", lines())
def test_a_message_is_one_short_printable_line_with_its_rule_at_the_end(line: str) -> None:
    assert line.isascii()
    assert line.isprintable()
    assert len(line) <= messages.HARD_LIMIT
    assert not any(word in line.lower() for word in FORBIDDEN)
    found = re.search(r"\(([a-z-]+)\)\Z", line)
    assert found
    assert found[1] in registry.BY_ID
    assert re.match(r"(spec|metadata)\b", line)
    assert re.search(r"[;,] \S", line), "a remedy follows the reason"


def test_most_messages_keep_the_soft_limit() -> None:
    long = [line for line in lines() if len(line) > messages.SOFT_LIMIT]
    assert len(long) <= len(lines()) // 10, long


def test_identifiers_are_unique_words() -> None:
    assert len(registry.BY_ID) == len(registry.RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in registry.RULES)


def test_cause_and_remedy_are_sentences() -> None:
    for rule in registry.RULES:
        for text in (rule.cause, rule.remedy):
            assert text[0].isalpha(), rule.id
            assert text.endswith("."), rule.id
            assert text.isascii(), rule.id


WORDS = st.one_of(
    st.text(max_size=300), st.sampled_from(["immutable", "a map[x", "a\nb", "\ud800", "", "x" * 300, "immutable field"])
)


@given(st.recursive(WORDS | st.none() | st.booleans() | st.integers() | st.floats(), st.lists))
def test_any_value_is_described_in_a_few_plain_characters(value: Any) -> None:
    text = messages.describe(value)
    assert text.isascii()
    assert text.isprintable()
    assert 0 < len(text) <= 63
    assert not any(word in text for word in FORBIDDEN if not word.isdigit())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("decode", "decode", id="a plain word"),
        pytest.param("", '""', id="nothing"),
        pytest.param("10 Pods", '"10 Pods"', id="a blank"),
        pytest.param(" 15s", '" 15s"', id="a blank in front"),
        pytest.param("a\tb\nc\x7f\x1b[0m", '"a\\tb\\nc\\u007f\\u001b[0m"', id="control characters"),
        pytest.param("d\u00e9code", '"d\\u00e9code"', id="another alphabet"),
        pytest.param('x" admitted; "', '"x\\" admitted; \\""', id="quotes"),
        pytest.param("is immutable", '"is ?"', id="a word on which tools act"),
        pytest.param("a b" * 30, f'"{("a b" * 30)[:58]}..."', id="a long text"),
        pytest.param("a" + "\u20ac" * 30, '"a' + "\\u20ac" * 9 + '..."', id="escapes are cut whole"),
    ],
)
def test_a_text_is_shown_as_it_is_or_in_quotes(text: str, shown: str) -> None:
    assert messages.describe(text) == shown


@given(WORDS)
def test_our_own_words_are_made_plain(text: str) -> None:
    plain = messages.plain(text)
    assert plain.isascii()
    assert plain.isprintable() or not plain
    assert "immutable" not in plain.lower()


LONG = "spec.ratios[a/b].min: 2 does not hold " + "and so on " * 30 + "remedy (rule)"


def test_a_long_warning_goes_on_in_the_next_one() -> None:
    first, second = messages.warnings((LONG,))
    assert len(first) <= 250
    assert first.startswith("spec.ratios[a/b].min: 2 does not hold and so on")
    assert first.endswith(" ...")
    assert second.startswith("... ")
    assert second.endswith("remedy (rule)")
    assert f"{first[:-4]} {second[4:]}" == LONG


def test_too_many_warnings_lose_their_ends_before_their_beginnings() -> None:
    lines = [LONG.replace("a/b", f"a/{number}") for number in range(15)]
    *heads, last = messages.warnings(lines)
    assert [head.partition("]")[0] for head in heads] == [line.partition("]")[0] for line in lines]
    assert last.endswith("mds validate shows all of them")


WARNINGS = st.lists(st.text(st.sampled_from("ab; "), min_size=1, max_size=600).map(lambda text: f"spec{text}"))


@given(WARNINGS)
def test_warnings_fit_into_an_answer_and_begin_as_they_should(lines: list[str]) -> None:
    shown = messages.warnings(lines)
    assert all(len(one) <= 250 for one in shown)
    assert sum(map(len, shown)) <= 4096
    assert bool(shown) is bool(lines)
    begun = [one for one in shown if one.startswith("spec")]
    assert all(
        line.split()[0].startswith(one.split()[0].removesuffix("...")) for one, line in zip(begun, lines, strict=False)
    )
    if sum(map(len, lines)) <= 3500:
        assert "".join("".join(shown).replace("...", "").split()) == "".join("".join(lines).split())


@given(st.lists(st.from_regex(r"spec\.roles\[[a-z]{1,63}\]\.maxReplicas", fullmatch=True), min_size=1, max_size=30))
def test_a_summary_stays_within_the_limit_and_keeps_the_remedy(fields: list[str]) -> None:
    violations = [Violation(field=f, value="", rule="x", message=f"{f} refused: y; do z (x)") for f in fields]
    line = messages.summary(violations)
    assert len(line) <= messages.HARD_LIMIT
    assert line.startswith(f"{fields[0]} refused: y; do z")
    assert line.endswith("(x)")
