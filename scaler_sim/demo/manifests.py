"""The documents that the demo applies: the benchmark's target and scalers (spec/scaling-benchmark.md)."""

from typing import Any, Final

from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler_spec import AlgorithmType
from scaler_core.model.scrape import Engine

TARGET: Final = ObjectKey("default", "chat")
SCALER: Final = ObjectKey("default", "chat")
IMPOSSIBLE: Final = ObjectKey("default", "impossible")
API_VERSION: Final = "worker.gpustack.ai/v1"
MINIMUM: Final = 1
MAXIMUM: Final = 2


def target(engine: Engine) -> dict[str, Any]:
    """A prefill/decode pair, one replica of each."""
    roles = [
        {"name": kind.lower(), "kind": kind, "replicas": MINIMUM, "instanceType": "bench-gpu"}
        for kind in ("Prefill", "Decode")
    ]
    return {
        "apiVersion": API_VERSION,
        "kind": "ModelDeployment",
        "metadata": _metadata(TARGET),
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": engine.value},
            "router": {"name": "llm-d-router"},
            "roles": roles,
        },
    }


def scaler(algorithm: AlgorithmType) -> dict[str, Any]:
    """The benchmark's scaler for an algorithm; whatever it does not say is the default."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ModelDeploymentScaler",
        "metadata": _metadata(SCALER),
        "spec": {
            "targetRef": {"name": TARGET.name},
            "mode": "Active",
            "sampling": {"intervalSeconds": 10},
            "roles": [{"name": name, "minReplicas": MINIMUM, "maxReplicas": MAXIMUM} for name in ("prefill", "decode")],
            "ratios": [{"numeratorRole": "prefill", "denominatorRole": "decode", "target": "1"}],
            "algorithm": _algorithm(algorithm),
        },
    }


def impossible_scaler(algorithm: AlgorithmType) -> dict[str, Any]:
    """A scaler that no vector can satisfy: three prefill replicas for each decode replica, of at most two."""
    document = scaler(algorithm)
    document["metadata"] = _metadata(IMPOSSIBLE)
    document["spec"]["ratios"] = [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "3"}]
    return document


def _metadata(key: ObjectKey) -> dict[str, str]:
    return {"name": key.name, "namespace": key.namespace}


def _algorithm(algorithm: AlgorithmType) -> dict[str, Any]:
    tokens = {"prefillTargetTokensPerSecond": "1200", "decodeTargetTokensPerSecond": "300"}
    match algorithm:
        case AlgorithmType.PROPORTIONAL:
            targets = [{"name": name, "target": "3"} for name in ("prefill", "decode")]
            return {"type": algorithm, "proportional": {"metric": "RunningRequests", "roleTargets": targets}}
        case AlgorithmType.TOKEN_THROUGHPUT:
            return {"type": algorithm, "tokenThroughput": tokens}
        case AlgorithmType.PREDICTIVE:
            # With the benchmark's 1200 and 300 one pair would carry 94 % of the cooldown load, and Predictive leaves
            # nobody with more than 80 %.
            roomy = {"prefillTargetTokensPerSecond": "1600", "decodeTargetTokensPerSecond": "400"}
            forecast = {
                "tokenThroughput": roomy,
                "horizonSeconds": 30,
                "minPoints": 2,
                "qLevel": "0.5",
                "qTrend": "0.3",
                "prefillTokenCapacityPerReplica": "2000",
                "decodeTokenCapacityPerReplica": "2000",
            }
            return {"type": algorithm, "predictive": forecast}
