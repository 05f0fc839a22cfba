"""What is odd about a text is found wherever the text can be read."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler_core.signals.engines import read_engine
from scaler_core.signals.exposition import MalformedLineError
from scaler_core.signals.inspection import inspect
from scaler_core.signals.requirements import Signal, absent_signals
from tests.core.signals import texts
from tests.core.signals.test_exposition import SEED, mutate


def check(text: str) -> None:
    try:
        counters = read_engine(text)
    except MalformedLineError:
        with pytest.raises(MalformedLineError):
            inspect(text)
        return
    found = inspect(text)
    if counters.engine is None:
        assert not found.absent
        return
    assert found.absent.keys() == set(Signal)
    absent = {*absent_signals(counters)}
    # Prompt tokens may also come of SGLang's accounting, so their own counter may be unusable and nothing absent.
    assert {*found.unusable} - {Signal.PROMPT_TOKENS} <= absent
    for signal in absent - {*found.unusable}:
        words = found.absent[signal]
        assert words.startswith("no ") or words.endswith("only series of other ranks or of one priority"), words


@given(st.one_of(texts.expositions(), texts.openmetrics()))
def test_a_readable_text_can_be_inspected(text: str) -> None:
    check(text)


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_a_spoilt_text_is_inspected_as_it_is_read(seed: int) -> None:
    source, text = random.Random(seed), SEED
    for _ in range(20):
        text = mutate(text, source)
        check(text)
