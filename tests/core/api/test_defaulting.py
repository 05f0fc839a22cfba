"""Defaults on raw documents: only what is absent is added, and the models are the only source."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from scaler_core.api import defaulting
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler_spec import AlgorithmType, Predictive

STORED_MINIMAL = {
    "targetRef": {"name": "llm"},
    "mode": "Shadow",
    "suspend": False,
    "sampling": {"intervalSeconds": 15, "pendingTimeoutSeconds": 300},
    "roles": [{"name": "server", "maxReplicas": 4, "minReplicas": 1}],
    "algorithm": {
        "type": "TokenThroughput",
        "tokenThroughput": {
            "serverTargetTokensPerSecond": "2000",
            "stableWindowSeconds": 180,
            "panicWindowSeconds": 60,
            "panicThreshold": "2",
            "ttftTargetMilliseconds": "500",
            "itlTargetMilliseconds": "50",
        },
    },
    "behavior": {
        "scaleUp": {"stabilizationWindowSeconds": 0, "maxStepReplicas": 4, "maxStepPercent": 100},
        "scaleDown": {
            "stabilizationWindowSeconds": 300,
            "cooldownAfterAbortSeconds": 300,
            "decodePostScaleUpGraceSeconds": 120,
        },
    },
    "rebalance": {"policy": "Opposing"},
}


def minimal() -> dict[str, Any]:
    return {
        "metadata": {"name": "llm", "namespace": "default"},
        "spec": {
            "targetRef": {"name": "llm"},
            "roles": [{"name": "server", "maxReplicas": 4}],
            "algorithm": {"tokenThroughput": {"serverTargetTokensPerSecond": "2000"}},
        },
    }


def test_every_default_of_the_contract_is_stored() -> None:
    assert defaulting.apply_defaults(minimal())["spec"] == STORED_MINIMAL  # type: ignore[index,call-overload]


def test_the_argument_stays_as_it_was() -> None:
    document = minimal()
    before = copy.deepcopy(document)
    defaulting.apply_defaults(document)
    assert document == before


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        pytest.param({}, "TokenThroughput", id="no-block-is-token-throughput"),
        pytest.param({"tokenThroughput": {}}, "TokenThroughput", id="the-token-block-is-its-type"),
        pytest.param({"proportional": {}}, "Proportional", id="the-proportional-block-is-its-type"),
        pytest.param({"predictive": {}}, "Predictive", id="the-predictive-block-is-its-type"),
        pytest.param({"type": None, "predictive": {}}, "Predictive", id="a-null-type-is-absent"),
        pytest.param({"proportional": {}, "predictive": {}}, None, id="two-blocks-stay-for-validation"),
        pytest.param({"type": "Junk", "predictive": {}}, "Junk", id="a-given-type-is-kept"),
    ],
)
def test_the_type_is_inferred(algorithm: dict[str, Any], expected: str | None) -> None:
    document: JsonValue = {"spec": {"algorithm": algorithm}}
    assert defaulting.apply_defaults(document)["spec"]["algorithm"].get("type") == expected  # type: ignore[index,call-overload,union-attr]


@pytest.mark.parametrize(
    ("direction", "member", "stored"),
    [
        ("scaleUp", "maxStepReplicas", 4),
        ("scaleUp", "maxStepPercent", 100),
        ("scaleUp", "stabilizationWindowSeconds", 0),
        ("scaleDown", "stabilizationWindowSeconds", 300),
        ("scaleDown", "cooldownAfterAbortSeconds", 300),
        ("scaleDown", "decodePostScaleUpGraceSeconds", 120),
    ],
)
def test_zero_and_null_store_the_default(direction: str, member: str, stored: int) -> None:
    for given_value in (0, 0.0, None):
        document: JsonValue = {"spec": {"behavior": {direction: {member: given_value}}}}
        filled: Any = defaulting.apply_defaults(document)
        assert filled["spec"]["behavior"][direction][member] == stored


def test_false_is_not_a_zero() -> None:
    filled: Any = defaulting.apply_defaults({"spec": {"behavior": {"scaleUp": {"maxStepReplicas": False}}}})
    assert filled["spec"]["behavior"]["scaleUp"]["maxStepReplicas"] is False


@pytest.mark.parametrize("document", [None, 3, [], {}, {"spec": None}, {"spec": "x"}, {"spec": []}])
def test_a_document_without_a_spec_is_left_alone(document: JsonValue) -> None:
    assert defaulting.apply_defaults(document) == document


def test_malformed_and_unknown_parts_are_left_for_validation() -> None:
    spec = {"sampling": 3, "roles": [None, {"name": "a", "new": 1}], "behavior": [], "future": {"x": 0}}
    filled: Any = defaulting.apply_defaults({"spec": dict(spec)})
    assert filled["spec"]["sampling"] == 3
    assert filled["spec"]["roles"] == [None, {"name": "a", "new": 1, "minReplicas": 1}]
    assert filled["spec"]["behavior"] == []
    assert filled["spec"]["future"] == {"x": 0}


def test_load_reads_a_scaler_that_no_webhook_saw() -> None:
    scaler = defaulting.load(minimal())  # type: ignore[arg-type]
    assert scaler.spec.algorithm.type is AlgorithmType.TOKEN_THROUGHPUT
    assert scaler.spec.algorithm.tokens is not None
    assert scaler.spec.algorithm.tokens.panic_threshold == Quantity("2")
    assert defaulting.load(scaler.to_wire()) == scaler


@pytest.mark.parametrize(
    ("written", "read"),
    [("0", ("1", "0.1", "10")), ("-3", ("1", "0.1", "10")), ("0.5", ("0.5", "0.5", "0.5"))],
)
def test_nonpositive_noises_are_stored_and_read_as_defaults(written: str, read: tuple[str, str, str]) -> None:
    block: JsonValue = {"qLevel": written, "qTrend": written, "measurementNoise": written}
    filled: Any = defaulting.apply_defaults({"spec": {"algorithm": {"predictive": block}}})
    stored = filled["spec"]["algorithm"]["predictive"]
    assert stored["qLevel"] == written
    predictive = Predictive.from_wire(stored)
    noises = (predictive.level_noise, predictive.trend_noise, predictive.observation_noise)
    assert tuple(map(str, noises)) == read


SPEC_WORDS = st.sampled_from([
    "spec", "algorithm", "type", "roles", "sampling", "behavior", "scaleUp", "scaleDown", "maxStepReplicas", "x",
    "proportional", "predictive", "tokenThroughput", "name", "ratios", "rebalance", "stepPolicy",
])  # fmt: skip
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SPEC_WORDS, inner, max_size=5),
    max_leaves=20,
)


def _keeps(before: JsonValue, after: JsonValue) -> bool:
    """Nothing but nulls and zeros was replaced, nothing was removed."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(k in after and _keeps(v, after[k]) for k, v in before.items())
    if isinstance(before, list):
        return isinstance(after, list) and len(before) == len(after) and all(map(_keeps, before, after))
    return before == after or before is None or before == 0


@given(DOCUMENTS)
def test_defaulting_only_adds_and_is_idempotent(spec: JsonValue) -> None:
    document: JsonValue = {"spec": spec}
    once = defaulting.apply_defaults(document)
    assert _keeps(document, once)
    assert defaulting.apply_defaults(once) == once
