"""Whether the control plane moved: the only reason to write a status (spec, Status)."""

from collections.abc import Hashable

from scaler_core.api.scaler_status import ScalerStatus


def has_moved(stored: ScalerStatus, new: ScalerStatus) -> bool:
    """Whether anything but measurements, windows and messages differs.

    Measured numbers and the wording that carries them change with every sample; writing them would make a steady
    scaler write for ever. They ride along with the next real change.
    """
    return _control_plane(stored) != _control_plane(new)


def _control_plane(status: ScalerStatus) -> Hashable:
    rebalance = status.rebalance.model_copy(update={"message": ""}) if status.rebalance is not None else None
    return (
        status.observed_generation,
        status.binding,
        tuple((c.type, c.status, c.reason, c.observed_generation) for c in status.conditions),
        tuple(
            (r.name, r.current_replicas, r.ready_replicas, r.constrained_replicas, r.last_scale_up_time)
            for r in status.roles
        ),
        _text(status.pending_commit),
        _text(status.expired_commit),
        _text(status.last_commit),
        _text(status.pending_cohort),
        _text(rebalance),
        _text(status.exhaustion),
        _text(status.last_scale_down),
        _text(status.refusal),
    )


def _text(member: object) -> str:
    return repr(member)
