"""A status being advanced, with the events that tell of it."""

from dataclasses import dataclass, replace

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.action import Note, NoteType


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One step's status; every step makes a new one."""

    status: ScalerStatus
    notes: tuple[Note, ...] = ()

    def having(self, **members: object) -> "Draft":
        """With these members of the status replaced."""
        return replace(self, status=self.status.model_copy(update=members))

    def saying(self, reason: EventReason, message: str) -> "Draft":
        """With an ordinary event."""
        return replace(self, notes=(*self.notes, Note(reason=reason, message=message)))

    def warning(self, reason: EventReason, message: str) -> "Draft":
        """With a warning event."""
        return replace(self, notes=(*self.notes, Note(reason=reason, message=message, type=NoteType.WARNING)))
