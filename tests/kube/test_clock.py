import pytest

from scaler_kube.clock import SteadyClock


class Source:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_real_time_passes_with_the_monotonic_source_alone() -> None:
    source = Source()
    clock = SteadyClock(source=source, wall_at_start=1_000.0)
    source.at += 2.5
    assert clock.now() == 1_002.5
    assert clock.monotonic() == 102.5


def test_two_processes_with_one_factor_and_epoch_agree() -> None:
    source = Source()
    early = SteadyClock(factor=10, epoch=1_000.0, source=source, wall_at_start=1_000.0)
    source.at += 7
    late = SteadyClock(factor=10, epoch=1_000.0, source=source, wall_at_start=1_007.0)
    source.at += 3
    assert early.now() == late.now() == 1_100.0


@pytest.mark.looptime
async def test_sleep_is_in_clock_seconds(looptime: float) -> None:
    await SteadyClock(factor=10).sleep(50)
    assert looptime == 5


def test_a_factor_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"clock factor 0 is not above 0"):
        SteadyClock(factor=0)
