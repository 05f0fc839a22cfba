from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.reflector import Discover, Failure, List, Reflector, Undecodable, Watch, classify
from scaler_kube.store import Change, Store
from scaler_kube.watch import EventType, WatchEvent

A = ObjectKey("ns", "a")


def document(name: str, version: int, value: object = 0) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": name, "resourceVersion": str(version)}, "value": value}


def decode(source: dict[str, Any]) -> int:
    if source["value"] == "junk":
        raise ValueError("value: junk\n is no number")
    return int(source["value"])


def reflector() -> Reflector[int]:
    return Reflector(Store(), decode)


def watching(version: str = "5") -> Reflector[int]:
    it = reflector()
    it.on_listed((), version)
    return it


def event(kind: EventType, source: dict[str, Any]) -> WatchEvent:
    return WatchEvent(type=kind, document=source)


def test_a_list_comes_first_and_the_watch_follows_from_it() -> None:
    it = reflector()
    assert it.next_step(0) == List(after_seconds=0)
    news = it.on_listed([it.read(document("a", 3, 7))], "5")
    assert news.changes == (Change(key=A, old=None, new=7),)
    assert it.next_step(0) == Watch(after_seconds=0, resource_version="5")


def test_a_bookmark_moves_the_version_and_changes_nothing() -> None:
    it = watching()
    assert it.on_event(event(EventType.BOOKMARK, {"metadata": {"resourceVersion": "9"}})).changes == ()
    assert it.next_step(0) == Watch(after_seconds=0, resource_version="9")
    assert it.store.has_reached("9")


def test_a_watch_that_the_server_ends_goes_on_at_once_from_the_last_event() -> None:
    it = watching()
    it.on_event(event(EventType.ADDED, document("a", 6)))
    it.on_ended(300)
    assert it.next_step(0) == Watch(after_seconds=0, resource_version="6")


def test_watches_that_end_at_once_are_slowed_down() -> None:
    it = watching()
    waits = []
    for _ in range(4):
        it.on_ended(0.01)
        waits.append(it.next_step(0).after_seconds)
    assert waits == [0.5, 1, 2, 4]


def test_a_lost_connection_goes_on_from_the_last_event_after_a_wait() -> None:
    it = watching()
    it.on_failure(Failure.TRANSIENT)
    assert it.next_step(0) == Watch(after_seconds=0.5, resource_version="5")
    it.on_failure(Failure.TRANSIENT, at_least_seconds=7)
    assert it.next_step(0) == Watch(after_seconds=7, resource_version="5")
    it.on_event(event(EventType.ADDED, document("a", 6)))
    assert it.next_step(0) == Watch(after_seconds=0, resource_version="6")


def test_a_forgotten_version_lists_again_and_never_watches_from_it() -> None:
    it = watching()
    it.on_failure(Failure.EXPIRED)
    assert it.next_step(0) == List(after_seconds=0.5)


def test_a_server_that_forgets_every_version_is_given_ever_more_time() -> None:
    it = watching()
    waits = []
    for _ in range(3):
        it.on_failure(Failure.EXPIRED)
        waits.append(it.next_step(0).after_seconds)
        it.on_listed((), "9")
    assert waits == [0.5, 1, 2]


def test_waits_are_capped_and_jittered() -> None:
    it = reflector()
    for _ in range(100):
        it.on_failure(Failure.TRANSIENT)
    assert it.next_step(0).after_seconds == 30
    assert it.next_step(0.5).after_seconds == 22.5


def test_an_unserved_kind_is_looked_for_and_its_objects_are_kept() -> None:
    it = reflector()
    it.on_listed([it.read(document("a", 3, 7))], "5")
    it.on_failure(Failure.UNSERVED)
    assert it.next_step(0) == Discover(after_seconds=0)
    it.on_discovered(count=0)
    assert it.next_step(0) == Discover(after_seconds=30)
    it.on_failure(Failure.TRANSIENT)
    assert it.next_step(0) == Discover(after_seconds=30)
    assert it.store.get(A) == 7
    it.on_discovered(count=1)
    assert it.next_step(0) == List(after_seconds=0)


def test_an_object_that_cannot_be_read_is_reported_and_leaves_the_store() -> None:
    it = reflector()
    it.on_listed([it.read(document("a", 3, 7))], "5")
    news = it.on_event(event(EventType.MODIFIED, document("a", 6, "junk")))
    assert news.undecodable == (Undecodable(key=A, why="value: junk is no number"),)
    assert news.changes == (Change(key=A, old=7, new=None),)
    assert it.next_step(0) == Watch(after_seconds=0, resource_version="6")
    assert it.on_event(event(EventType.MODIFIED, document("a", 7, 8))).changes == (Change(key=A, old=None, new=8),)


def test_a_list_with_an_object_that_cannot_be_read_still_gives_the_others() -> None:
    it = reflector()
    news = it.on_listed(map(it.read, (document("a", 3, "junk"), document("b", 4, 1))), "5")
    assert [it.key.name for it in news.undecodable] == ["a"]
    assert it.store.values() == (1,)


@pytest.mark.parametrize(
    ("code", "failure"),
    [(410, Failure.EXPIRED), (404, Failure.UNSERVED), (403, Failure.TRANSIENT), (500, Failure.TRANSIENT)],
)
def test_errors_are_classified(code: int, failure: Failure) -> None:
    request = errors.Request(method="GET", path="/")
    assert classify(errors.from_answer(request, code, errors.NO_STATUS)) is failure


class MirrorMachine(RuleBasedStateMachine):
    """A collection that changes, a log that is compacted, connections that break anywhere.

    Whatever happens, the store shows the collection exactly as it was at the version that it claims.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reflector = reflector()
        self.told: dict[ObjectKey, int] = {}  # what a handler knows that only hears changes
        self.version = 1
        self.compacted = 1
        self.objects: dict[str, tuple[int, int]] = {}  # name -> (value, version)
        self.history: dict[int, dict[ObjectKey, int]] = {1: {}}
        self.log: list[tuple[int, WatchEvent]] = []
        self.position: int | None = None  # of an open watch

    @rule(name=st.sampled_from("abc"), value=st.integers(0, 3))
    def write(self, name: str, value: int) -> None:
        self.version += 1
        kind = EventType.MODIFIED if name in self.objects else EventType.ADDED
        self.objects[name] = (value, self.version)
        self._record(event(kind, document(name, self.version, value)))

    @rule(name=st.sampled_from("abc"))
    def delete(self, name: str) -> None:
        if name in self.objects:
            self.version += 1
            value, _ = self.objects.pop(name)
            self._record(event(EventType.DELETED, document(name, self.version, value)))

    @rule()
    def compact(self) -> None:
        self.compacted = self.version

    @rule(events=st.integers(0, 4))
    def step(self, events: int) -> None:
        match self.reflector.next_step(0):
            case List():
                documents = [document(name, at, value) for name, (value, at) in self.objects.items()]
                items = map(self.reflector.read, documents)
                self._hear(self.reflector.on_listed(items, str(self.version)).changes)
            case Watch(resource_version=version):
                self.watch(int(version), events)

    @rule()
    def lose_connection(self) -> None:
        self.reflector.on_failure(Failure.TRANSIENT)

    def watch(self, version: int, events: int) -> None:
        if version < self.compacted:
            self.reflector.on_failure(Failure.EXPIRED)
            return
        for _, change in [it for it in self.log if it[0] > version][:events]:
            self._hear(self.reflector.on_event(change).changes)
        if events == 4:
            bookmark = {"metadata": {"resourceVersion": self.reflector.store.resource_version}}
            self.reflector.on_event(event(EventType.BOOKMARK, bookmark))
        self.reflector.on_ended(1)

    def _record(self, change: WatchEvent) -> None:
        self.log.append((self.version, change))
        self.history[self.version] = {ObjectKey("ns", name): value for name, (value, _) in self.objects.items()}

    def _hear(self, changes: tuple[Change[int], ...]) -> None:
        for change in changes:
            assert self.told.get(change.key) == change.old
            if change.new is None:
                del self.told[change.key]
            else:
                self.told[change.key] = change.new

    @invariant()
    def the_store_is_the_collection_at_its_version(self) -> None:
        store = self.reflector.store
        contents = dict(zip(store.keys(), store.values(), strict=True))
        assert contents == self.history.get(int(store.resource_version or 1))
        assert self.told == contents

    def teardown(self) -> None:
        for _ in range(4):
            self.step(len(self.log))
        store = self.reflector.store
        names = [key.name for key in store.keys()]  # noqa: SIM118 -- no mapping
        assert dict(zip(names, store.values(), strict=True)) == {it: value for it, (value, _) in self.objects.items()}


TestMirrorMachine = MirrorMachine.TestCase
TestMirrorMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
