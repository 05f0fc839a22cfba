"""The CustomResourceDefinition of `ModelDeploymentScaler`, generated from the models.

pydantic writes JSON Schema; the API server wants the structural subset of it. The differences: references are inlined,
`X or null` is `nullable`, titles and defaults go (admission stores defaults; descriptions name them), and objects under
`spec` keep unknown fields, so that the webhook can refuse them by name instead of the API server dropping them.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from scaler_core.api.base import Wire
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler import CATEGORY, GROUP, KIND, PLURAL, SHORT_NAME, VERSION, VERSIONS, ModelDeploymentScaler
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import ScalerStatus

Schema = dict[str, Any]
NAME: Final = f"{PLURAL}.{GROUP}"
_KEPT: Final = (
    "type", "format", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern",
    "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
)  # fmt: skip
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


def definition() -> Schema:
    """The document of the CustomResourceDefinition, with both versions and one schema."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": [SHORT_NAME],
                "categories": [CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [_version(name) for name in VERSIONS],
        },
    }


def _version(name: str) -> Schema:
    return {
        "name": name,
        "served": True,
        "storage": name == VERSION,
        "subresources": {"status": {}},
        "additionalPrinterColumns": _columns(),
        "schema": {"openAPIV3Schema": _object_schema()},
    }


def _columns() -> list[Schema]:
    def column(title: str, path: str, kind: str = "string") -> Schema:
        return {"name": title, "type": kind, "jsonPath": path}

    def condition(title: str) -> Schema:
        return column(title, f'.status.conditions[?(@.type=="{title}")].status')

    def wide(shown: Schema) -> Schema:
        return shown | {"priority": 1}

    return [
        column("Target", ".spec.targetRef.name"),
        column("Mode", ".spec.mode"),
        column("Algorithm", ".spec.algorithm.type"),
        condition("Bound"),
        condition("Active"),
        condition("Blocked"),
        column("Age", ".metadata.creationTimestamp", "date"),
        wide(condition("MetricsReady") | {"name": "Metrics"}),
        wide(column("Reason", '.status.conditions[?(@.type=="Blocked")].reason')),
        wide(column("Last-Change", ".status.lastCommit.timestamp", "date")),
    ]


def _object_schema() -> Schema:
    return {
        "type": "object",
        "description": _paragraph(ModelDeploymentScaler.__doc__, fallback=KIND),
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _outlined(_preserving(structural(ScalerSpec))),
            "status": structural(ScalerStatus),
        },
    }


class _Generator(GenerateJsonSchema):
    """Shows a quantity's default as its text."""

    def encode_default(self, dft: Any) -> Any:
        """The default as JSON."""
        return str(dft) if isinstance(dft, Quantity) else super().encode_default(dft)


def structural(model: type[Wire]) -> Schema:
    """The structural schema of one model."""
    document = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Generator)
    return _structural(document, document.get("$defs", {}))


def _structural(node: Mapping[str, Any], definitions: Mapping[str, Schema]) -> Schema:
    resolved, nullable = _resolve(node, definitions)
    result: Schema = {key: resolved[key] for key in _KEPT if key in resolved}
    text = _described(node, resolved)
    if text:
        result["description"] = text
    if nullable:
        result["nullable"] = True
    if result.get("x-kubernetes-int-or-string"):
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if "items" in resolved:
        result["items"] = _structural(resolved["items"], definitions)
    if isinstance(resolved.get("additionalProperties"), dict):
        result["additionalProperties"] = _structural(resolved["additionalProperties"], definitions)
    if "properties" in resolved:
        result["properties"] = {k: _structural(v, definitions) for k, v in resolved["properties"].items()}
        result["required"] = [name for name in resolved.get("required", []) if name not in _inferred(resolved)]
        if not result["required"]:
            del result["required"]
    return result


def _inferred(resolved: Mapping[str, Any]) -> set[str]:
    return {name for name, member in resolved["properties"].items() if member.get("x-inferred")}


def _resolve(node: Mapping[str, Any], definitions: Mapping[str, Schema]) -> tuple[Schema, bool]:
    """Follow references and take the alternative to null out; members beside a reference win."""
    merged, nullable = dict(node), False
    while "$ref" in merged or ("anyOf" in merged and "x-kubernetes-int-or-string" not in merged):
        if "$ref" in merged:
            inner = definitions[merged.pop("$ref").rpartition("/")[2]]
        else:
            options = merged.pop("anyOf")
            [inner] = [option for option in options if option.get("type") != "null"]
            nullable = nullable or len(options) > 1
        merged = {**inner, **merged}
    return merged, nullable


def _described(node: Mapping[str, Any], resolved: Mapping[str, Any]) -> str:
    text = _paragraph(node.get("description") or resolved.get("description"), fallback="")
    default = node.get("default")
    if default in (None, [], "") or isinstance(default, dict):
        return text
    shown = str(default).lower() if isinstance(default, bool) else default
    return f"{text} Default: {shown}.".strip()


def _paragraph(text: str | None, *, fallback: str) -> str:
    return " ".join(text.split()) if text else fallback


def _outlined(schema: Schema) -> Schema:
    """With an outline of all members in the description.

    API servers before 1.24 publish no properties of an object that keeps unknown fields, so that `kubectl explain`
    shows nothing but this description there, whatever path below it is asked for.
    """
    outline = "; ".join(_outline(name, member) for name, member in schema["properties"].items())
    return {**schema, "description": f"{schema['description']} In short: {outline}."}


def _outline(name: str, schema: Schema) -> str:
    """`name (description) {members}`, the description of members that have members only."""
    inner = schema.get("items", schema)
    members = inner.get("properties", {})
    if not members:
        return name
    text = schema.get("description", "").rstrip(".")
    return f"{name} ({text}) {{{', '.join(_outline(key, member) for key, member in members.items())}}}"


def _preserving(schema: Schema) -> Schema:
    """Mark every object below as one that keeps unknown fields."""
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {name: _preserving(member) for name, member in result["properties"].items()}
        result[_PRESERVE] = True
    if "items" in result:
        result["items"] = _preserving(result["items"])
    return result
