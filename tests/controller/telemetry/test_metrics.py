from prometheus_client import generate_latest

from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api.meta import ObjectKey


def test_series_of_a_deleted_scaler_disappear_and_its_neighbours_stay() -> None:
    metrics = Metrics()
    for name in ("gone", "here"):
        metrics.ready.labels("ns", name, "server").set(2)
        metrics.decisions.labels("ns", name, "Plan").inc()
    metrics.forget(ObjectKey("ns", "gone"))
    text = generate_latest(metrics.registry).decode()
    assert 'scaler="here"' in text
    assert 'scaler="gone"' not in text


def test_two_processes_in_one_interpreter_do_not_share_a_registry() -> None:
    assert Metrics().registry is not Metrics().registry
