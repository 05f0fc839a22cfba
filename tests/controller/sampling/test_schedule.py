"""A target is never sampled before its interval has passed, whatever its scalers do."""

from hypothesis import given
from hypothesis import strategies as st

from scaler_controller.sampling.schedule import Stream, Subscription, is_forgettable, next_due
from scaler_core.api.meta import ObjectKey

TARGET = ObjectKey("default", "llm")
SCALERS = [ObjectKey("default", name) for name in "abc"]


def wish(interval: float, *roles: str) -> Subscription:
    return Subscription(target=TARGET, target_uid="uid", interval_seconds=interval, roles=frozenset(roles))


def stream(sampled_at: float | None = None, **intervals: float) -> Stream:
    found = Stream(target=TARGET, target_uid="uid", sampled_at=sampled_at)
    for name, interval in intervals.items():
        found = found.subscribed(ObjectKey("default", name), wish(interval, name))
    return found


def test_nobody_asks_so_nothing_is_due() -> None:
    assert next_due(stream(), 5.0) is None


def test_a_new_stream_is_due_at_once() -> None:
    assert next_due(stream(a=15), 5.0) == 5.0


def test_the_smallest_interval_counts_and_every_role() -> None:
    shared = stream(100.0, a=15, b=5)
    assert (next_due(shared, 100.0), shared.roles) == (105.0, {"a", "b"})
    assert next_due(shared.left(ObjectKey("default", "b")), 100.0) == 115.0


def test_an_overdue_stream_is_due_now() -> None:
    assert next_due(stream(100.0, a=15), 200.0) == 200.0


def test_a_stream_is_remembered_while_coming_back_could_sample_early() -> None:
    left = stream(100.0, a=15).left(ObjectKey("default", "a"))
    assert not is_forgettable(left, 399.9)
    assert is_forgettable(left, 400.0)
    assert not is_forgettable(stream(100.0, a=15), 1000.0)
    assert is_forgettable(stream(), 0.0)


events = st.lists(
    st.tuples(
        st.floats(0.0, 20.0),
        st.sampled_from(SCALERS),
        st.one_of(st.none(), st.integers(5, 300)),
    ),
    max_size=40,
)


@given(events)
def test_no_run_of_events_samples_early(steps: list[tuple[float, ObjectKey, int | None]]) -> None:
    """At every sample the smallest interval that is asked for has passed since the one before."""
    now, watched = 0.0, stream()
    for wait, scaler, interval in steps:
        now += wait
        watched = watched.left(scaler) if interval is None else watched.subscribed(scaler, wish(interval, "r"))
        due = next_due(watched, now)
        if due is not None and due <= now:
            last = watched.sampled_at
            assert last is None or now - last >= min(it.interval_seconds for it in watched.subscribers.values())
            watched = Stream(target=TARGET, target_uid="uid", subscribers=watched.subscribers, sampled_at=now)
