"""What a person types at a deployment that a scaler owns, what it must leave, and what is shown."""

import shlex
from dataclasses import dataclass, replace
from typing import Any

from e2e.fencing import LIVE, Fencing


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command of a person, and what it must have done."""

    command: str
    """After `kubectl`, as it is typed."""
    fails: bool = False
    counts: dict[str, int] | None = None
    """Afterwards; the live ones when None."""
    editor: str = ""
    """What $KUBE_EDITOR does with the file."""


def allowed(command: str, **members: Any) -> Step:
    """A command that ends well."""
    return Step(command=command, **members)


def refused(command: str, **members: Any) -> Step:
    """A command that is refused."""
    return Step(command=command, fails=True, **members)


async def perform(world: Fencing, step: Step) -> list[str]:
    """Do it; what was typed and shown.

    Raises:
        AssertionError: it ended, or left the counts, otherwise than the step says.
    """
    kubectl = world.kubectl
    editor = f"sed -i.bak {step.editor}"
    if step.editor:
        kubectl = replace(kubectl, environment={**kubectl.environment, "KUBE_EDITOR": editor})
    before = await world.counts()
    status, text = await kubectl.run(*shlex.split(step.command))
    assert (status != 0) == step.fails, f"kubectl {step.command} ended with {status}:\n{text}"
    counts = await world.counts()
    assert counts == (LIVE if step.counts is None else step.counts), f"kubectl {step.command} left {counts}\n{text}"
    typed = f"$ {f'KUBE_EDITOR={shlex.quote(editor)} ' if step.editor else ''}kubectl {step.command}"
    moved = [] if before == counts else [f"[counts {_shown(before)} -> {_shown(counts)}]"]
    return [typed, text, *([f"[exit {status}]"] if status else []), *moved, ""]


def _shown(counts: dict[str, int]) -> str:
    return ", ".join(f"{role}={count}" for role, count in counts.items()) or "none"
