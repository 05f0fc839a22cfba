"""What one engine did between two texts."""

import pytest

from scaler_core.model.scrape import EngineCounters
from scaler_core.signals.deltas import Delta, compare
from scaler_core.signals.engines import read_engine
from tests.core.signals.worlds import sglang, vllm


def modes(**values: float) -> dict[str, float]:
    return dict(values)


@pytest.mark.parametrize(
    ("previous", "current", "demand"),
    [
        pytest.param(vllm(prompt_tokens=100.0), vllm(prompt_tokens=160.0), 60, id="prompts without hits"),
        pytest.param(
            vllm(prompt_tokens=100.0, prefix_hits=10.0),
            vllm(prompt_tokens=160.0, prefix_hits=50.0),
            20,
            id="hits are subtracted",
        ),
        pytest.param(
            vllm(prompt_tokens=100.0, prefix_hits=None),
            vllm(prompt_tokens=160.0, prefix_hits=None),
            60,
            id="without cache accounting prompts are demand",
        ),
        pytest.param(vllm(), vllm(prompt_tokens=9.0, prefix_hits=200.0), 0, id="hits above prompts clamp at zero"),
        pytest.param(
            vllm(computed_prompt_tokens=5.0),
            vllm(prompt_tokens=9.0, prefix_hits=200.0, computed_prompt_tokens=12.0),
            7,
            id="hits above prompts take the computed tokens where there are any",
        ),
        pytest.param(
            vllm(computed_prompt_tokens=5.0),
            vllm(prompt_tokens=9.0, prefix_hits=4.0, computed_prompt_tokens=12.0),
            5,
            id="computed tokens are not read otherwise",
        ),
        pytest.param(vllm(prompt_tokens=None), vllm(prompt_tokens=9.0), None, id="a counter in one text is unknown"),
        pytest.param(
            sglang(prefill_effective=modes(input=5.0, device_hit=0.0), prompt_tokens=0.0),
            sglang(prefill_effective=modes(input=9.0, device_hit=99.0), prompt_tokens=50.0),
            4,
            id="SGLang: input first",
        ),
        pytest.param(
            sglang(prefill_effective=modes(device_hit=1.0, host_hit=2.0), prompt_tokens=0.0),
            sglang(prefill_effective=modes(device_hit=6.0, host_hit=12.0, storage_hit=7.0), prompt_tokens=50.0),
            35,
            id="SGLang: without input the hits that both texts have are subtracted",
        ),
        pytest.param(
            sglang(prefill_effective=modes(), prompt_tokens=1.0),
            sglang(prefill_effective=modes(input=9.0), prompt_tokens=50.0),
            49,
            id="SGLang: input in one text does not count",
        ),
    ],
)
def test_prompt_demand(previous: EngineCounters, current: EngineCounters, demand: float | None) -> None:
    delta = compare(previous, current, 10.0)
    assert isinstance(delta, Delta)
    assert delta.prompt_tokens == demand


def test_an_sglang_engine_counts_from_zero_when_it_serves_its_first_request() -> None:
    delta = compare(sglang(), sglang(running=1.0, generation_tokens=40.0), 10.0)
    assert isinstance(delta, Delta)
    assert delta.generation_tokens == 40


def test_an_sglang_engine_that_runs_something_has_an_unknown_count() -> None:
    delta = compare(sglang(), sglang(running=1.0), 10.0)
    assert isinstance(delta, Delta)
    assert delta.generation_tokens is None


def test_a_series_that_is_new_within_a_process_counts_with_all_that_it_has() -> None:
    first = read_engine('vllm:prompt_tokens_total{engine="0"} 1000\n')
    second = read_engine('vllm:prompt_tokens_total{engine="0"} 1600\nvllm:prompt_tokens_total{engine="1"} 50\n')
    change = compare(first, second, seconds=10.0)
    assert isinstance(change, Delta)
    assert change.prompt_tokens == 650
