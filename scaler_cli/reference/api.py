"""The page of API fields, from the schema that the cluster serves."""

from collections.abc import Iterator
from typing import Any

from scaler_cli.reference.markdown import cell, code, note, page, table
from scaler_core.api import crd
from scaler_core.api.scaler import GROUP, KIND, SHORT_NAME, VERSIONS
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.reporting.explained import Explained

_LIMITS = (
    ("minimum", "at least {}"), ("maximum", "at most {}"), ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"), ("minItems", "at least {}"), ("maxItems", "at most {} entries"),
)  # fmt: skip


def api_page() -> str:
    """Spec and status of a scaler."""
    versions = " and ".join(f"`{GROUP}/{version}`" for version in VERSIONS)
    return page(
        note("the models in scaler_core/api"),
        f"# {KIND}",
        f"Short name `{SHORT_NAME}`, served as {versions} with one schema; `kubectl explain {SHORT_NAME}.spec` shows "
        "the same descriptions. Defaults are stored by the webhook. Unknown fields of the spec are refused with the "
        "nearest known name; what each refusal means is in [Refusals](refusals.md).",
        "## Spec",
        _fields(crd.structural(ScalerSpec), "spec"),
        "## Status",
        "Written when counts, conditions or transactions move. Fields marked *ours* are not in the contract: they hold "
        "what a crash or a change of leader must not forget, and programs should leave them alone.",
        _fields(crd.structural(ScalerStatus), "status"),
    )


def explanation_page() -> str:
    """The document of `mds explain -o json`."""
    return page(
        note("scaler_core/reporting/explained.py"),
        "# The explanation document",
        "What `mds explain NAME -o json` prints, and what the controller serves at "
        "`/debug/scalers/NAMESPACE/NAME`; with `?recording=true` it holds `recording`, everything that the pass "
        "depended on, so that `mds explain --file` replays it anywhere. Names are stable; what is unknown is left out; "
        "`recording` itself may change with any release.",
        _fields(crd.structural(Explained), ""),
    )


def _fields(schema: dict[str, Any], root: str) -> Iterator[str]:
    yield from table(("Field", "Type", "Description"), _rows(schema, root))


def _rows(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    required = set(schema.get("required", ()))
    for name, member in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        inner, suffix = member, ""
        while "items" in inner or "additionalProperties" in inner:
            suffix += "[]" if "items" in inner else ".*"
            inner = inner["items"] if "items" in inner else inner["additionalProperties"]
        yield code(here + suffix), _type(member, is_required=name in required), cell(member.get("description", ""))
        yield from _rows(inner, here + suffix)


def _type(member: dict[str, Any], *, is_required: bool) -> str:
    inner = member.get("items", member)
    if inner.get("x-kubernetes-int-or-string"):
        kind = "quantity"
    elif inner.get("format") == "date-time":
        kind = "time"
    else:
        kind = str(inner.get("type", "any"))
    words = [f"list of {kind}" if "items" in member else kind]
    words += [text.format(member[key]) for key, text in _LIMITS if key in member]
    if "enum" in member:
        words.append(f"one of {', '.join(f'`{value}`' for value in member['enum'])}")
    return cell(", ".join(words + (["required"] if is_required else [])))
