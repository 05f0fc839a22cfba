import pytest

from scaler_core.api.meta import ObjectKey
from scaler_kube.store import Change, Entry, Store, compare_versions

A, B = ObjectKey("ns", "a"), ObjectKey("ns", "b")


def entry(value: str, version: str = "1", generation: int = 1) -> Entry[str]:
    return Entry(value=value, uid="u", resource_version=version, generation=generation)


def by_letters() -> Store[str]:
    return Store({"letter": tuple})


def test_an_index_follows_changes() -> None:
    store = by_letters()
    store.put(A, entry("xy"))
    store.put(B, entry("yz"))
    assert store.by_index("letter", "y") == ("xy", "yz")
    store.put(A, entry("x"))
    assert store.by_index("letter", "y") == ("yz",)
    store.remove(B, "3")
    assert store.by_index("letter", "y") == ()
    assert store.by_index("letter", "x") == ("x",)


def test_a_list_tells_only_what_differs() -> None:
    store = by_letters()
    store.replace({A: entry("a", "1"), B: entry("b", "2")}, "2")
    changes = store.replace({B: entry("b", "2"), ObjectKey("ns", "c"): entry("c", "5")}, "6")
    assert changes == (
        Change(key=A, old="a", new=None),
        Change(key=ObjectKey("ns", "c"), old=None, new="c"),
    )
    assert store.values() == ("b", "c")


@pytest.mark.parametrize(
    ("version", "reached"),
    [
        pytest.param("9", True, id="older"),
        pytest.param("10", True, id="the-same"),
        pytest.param("11", False, id="newer"),
        pytest.param("opaque", False, id="not-comparable"),
    ],
)
def test_own_writes_are_reached_by_version_as_a_number(version: str, reached: bool) -> None:
    store = by_letters()
    store.put(A, entry("a", "10"))
    assert store.has_reached(version) is reached


def test_a_bookmark_or_a_deletion_of_another_object_reaches_too() -> None:
    store = by_letters()
    store.put(A, entry("a", "10"))
    store.advance("11")
    assert store.has_reached("11")
    assert store.remove(B, "12") is None
    assert store.has_reached("12")


def test_opaque_versions_are_the_same_or_unknown() -> None:
    assert compare_versions("x", "x") == 0
    assert compare_versions("x", "y") < 0
    assert compare_versions("1" * 5000, "2") < 0, "Python reads no number of so many digits"
    assert compare_versions("٣", "2") < 0, "digits of other scripts are not numbers here"


def test_a_generation_is_reached_only_by_an_object_that_is_there() -> None:
    store = by_letters()
    assert not store.has_reached_generation(A, 1)
    store.put(A, entry("a", generation=3))
    assert store.has_reached_generation(A, 3)
    assert not store.has_reached_generation(A, 4)
