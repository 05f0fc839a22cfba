"""Paths of fields in a scaler's spec as people write them: list entries by name, not by position."""

from collections.abc import Sequence

from pydantic import JsonValue

from scaler_core.admission import messages


def field_path(spec: JsonValue, path: Sequence[str | int], root: str = "spec") -> str:
    """`spec.roles[decode].maxReplicas` for ("roles", 1, "maxReplicas")."""
    text, node = root, spec
    for step in path:
        if isinstance(step, str):
            text += f".{messages.word(step)}"
            node = node.get(step) if isinstance(node, dict) else None
        else:
            node = node[step] if isinstance(node, list) else None
            text += f"[{_entry_name(node, step)}]"
    return text


def role(name: str) -> str:
    """A scaled role."""
    return f"spec.roles[{messages.word(name)}]"


def ratio(numerator: str, denominator: str) -> str:
    """A ratio."""
    return f"spec.ratios[{messages.word(numerator)}/{messages.word(denominator)}]"


def role_target(name: str) -> str:
    """A target of the proportional algorithm."""
    return f"spec.algorithm.proportional.roleTargets[{messages.word(name)}]"


def _entry_name(entry: JsonValue, position: int) -> str:
    if not isinstance(entry, dict):
        return str(position)
    name, pair = entry.get("name"), (entry.get("numeratorRole"), entry.get("denominatorRole"))
    if isinstance(name, str) and messages.is_word(name):
        return messages.word(name)
    if all(isinstance(role_name, str) and messages.is_word(role_name) for role_name in pair):
        return "/".join(map(messages.word, pair))
    return str(position)
