import asyncio

import pytest

from scaler_core.api.reasons import EventReason
from scaler_core.model.action import Note, NoteType
from scaler_kube import errors
from scaler_kube.clock import SteadyClock
from scaler_kube.event_series import Begin, Drop, EventSeries, Extend, Hold, Regarding
from scaler_kube.events import EventRecorder
from tests.fakes.memory_api import MemoryApi

SCALER = Regarding(api_version="g/v1", kind="ModelDeploymentScaler", namespace="ns", name="llm", uid="u1")
GREW = Note(reason=EventReason.SCALED_UP, message="prefill=2 -> prefill=3")
REFUSED = Note(reason=EventReason.COMMIT_REFUSED, message="no", type=NoteType.WARNING)


def begun(at: float = 0.0) -> EventSeries:
    series = EventSeries()
    assert series.rule(SCALER, GREW, at) == Begin()
    series.began(SCALER, GREW, "e1", at)
    return series


@pytest.mark.parametrize(
    ("at", "ruling"),
    [
        pytest.param(59.0, Hold(), id="a-repeat-within-a-minute-waits"),
        pytest.param(60.0, Extend(event_name="e1", count=2), id="after-a-minute-it-is-written"),
        pytest.param(360.0, Extend(event_name="e1", count=2), id="still-the-series"),
        pytest.param(360.1, Begin(), id="a-new-series"),
    ],
)
def test_a_repeat(at: float, ruling: object) -> None:
    assert begun().rule(SCALER, GREW, at) == ruling


def test_the_count_includes_the_repeats_that_were_held() -> None:
    series = begun()
    for at in range(1, 50):
        assert series.rule(SCALER, GREW, at) == Hold()
    assert series.rule(SCALER, GREW, 61) == Extend(event_name="e1", count=51)
    assert series.rule(SCALER, GREW, 62) == Hold()


def test_other_words_or_another_object_are_another_event() -> None:
    series = begun()
    other = Regarding(api_version="g/v1", kind="ModelDeploymentScaler", namespace="ns", name="llm", uid="u2")
    assert series.rule(SCALER, REFUSED, 1) == Begin()
    assert series.rule(other, GREW, 1) == Begin()


def test_a_flood_of_one_object_is_cut_off_and_leaves_others_alone() -> None:
    series = EventSeries()
    notes = [Note(reason=EventReason.SCALED, message=str(number)) for number in range(30)]
    rulings = [series.rule(SCALER, note, 0) for note in notes]
    assert rulings == [Begin()] * 25 + [Drop()] * 5
    assert series.rule(SCALER, notes[29], 29) == Drop()
    assert series.rule(SCALER, notes[29], 31) == Begin()


def recorder(api: MemoryApi) -> EventRecorder:
    clock = SteadyClock(source=asyncio.get_running_loop().time, wall_at_start=1_700_000_000.0)
    return EventRecorder(client=api.client(), controller="gpustack.ai/scaler", instance="pod-1", clock=clock)


def events(api: MemoryApi) -> list[dict]:
    return [document for path, document in sorted(api.objects.items()) if "/events/" in path]


@pytest.mark.looptime
async def test_a_note_becomes_an_event_that_the_api_admits() -> None:
    api = MemoryApi()
    it = recorder(api)
    it.record(SCALER, REFUSED)
    await it.flush()
    (event,) = events(api)
    name = event.pop("metadata")["name"]
    assert name.startswith("llm.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2023-11-14T22:13:20.000000Z",
        "type": "Warning",
        "reason": "CommitRefused",
        "action": "CommitRefused",
        "note": "no",
        "regarding": {
            "apiVersion": "g/v1",
            "kind": "ModelDeploymentScaler",
            "namespace": "ns",
            "name": "llm",
            "uid": "u1",
        },
        "reportingController": "gpustack.ai/scaler",
        "reportingInstance": "pod-1",
    }


@pytest.mark.looptime
async def test_repeats_extend_the_event_and_one_that_expired_begins_anew() -> None:
    api = MemoryApi()
    it = recorder(api)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(it.run(), name="events")
        for _ in range(3):
            it.record(SCALER, GREW)
            await asyncio.sleep(61)
        (event,) = events(api)
        assert event["series"] == {"count": 3, "lastObservedTime": "2023-11-14T22:15:22.000000Z"}
        (path,) = [path for path in api.objects if "/events/" in path]
        api.delete(path)
        it.record(SCALER, GREW)
        await asyncio.sleep(1)
        task.cancel()
    (event,) = events(api)
    assert "series" not in event
    assert (it.written, it.failed, it.dropped) == (4, 0, 0)


@pytest.mark.looptime
async def test_a_server_that_takes_no_events_is_counted_and_harms_nobody() -> None:
    api = MemoryApi()
    api.fail = lambda call: errors.from_answer(call.request, 403, errors.NO_STATUS)
    it = recorder(api)
    it.record(SCALER, GREW)
    await it.flush()
    assert (it.written, it.failed) == (0, 1)


@pytest.mark.looptime
async def test_a_flush_is_bounded_in_time(looptime: float) -> None:
    api = MemoryApi()
    api.latency = 1.5
    it = recorder(api)
    for number in range(10):
        it.record(SCALER, Note(reason=EventReason.SCALED, message=str(number)))
    await it.flush(2.0)
    assert looptime == 2
    assert it.written == 1


@pytest.mark.looptime
async def test_the_queue_is_bounded_and_loses_the_oldest() -> None:
    it = recorder(MemoryApi())
    for number in range(1_001):
        it.record(SCALER, Note(reason=EventReason.SCALED, message=str(number)))
    assert it.dropped == 1


@pytest.mark.looptime
async def test_a_long_note_is_cut() -> None:
    api = MemoryApi()
    it = recorder(api)
    it.record(SCALER, Note(reason=EventReason.SCALED, message="x" * 2_000))
    await it.flush()
    assert len(events(api)[0]["note"]) == 1024
