"""The CustomResourceDefinition is structural, preserves unknown fields under spec, and explains itself."""

from collections.abc import Iterator
from typing import Any

from scaler_core.api import crd

ALLOWED = {
    "type", "format", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern",
    "description", "nullable", "properties", "required", "items", "additionalProperties", "anyOf",
    "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
}  # fmt: skip


def schema() -> dict[str, Any]:
    result: dict[str, Any] = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return result


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, member in node.get("properties", {}).items():
        yield from nodes(member, f"{path}.{name}")
    for kind in ("items", "additionalProperties"):
        if kind in node:
            yield from nodes(node[kind], f"{path}[]")


def test_both_versions_share_one_schema_and_v1_is_stored() -> None:
    first, second = crd.definition()["spec"]["versions"]
    assert (first["name"], first["storage"], second["name"], second["storage"]) == ("v1", True, "v1alpha1", False)
    assert first["schema"] == second["schema"]
    assert [column["name"] for column in first["additionalPrinterColumns"]] == [
        "Target", "Mode", "Algorithm", "Bound", "Active", "Blocked", "Age", "Metrics", "Reason", "Last-Change",
    ]  # fmt: skip
    narrow = [column["name"] for column in first["additionalPrinterColumns"] if not column.get("priority")]
    assert narrow[-1] == "Age", "what follows is shown by -o wide alone"


def test_every_node_is_structural() -> None:
    for path, node in nodes(schema()):
        assert set(node) <= ALLOWED, path
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path


def test_every_object_of_the_spec_keeps_unknown_fields_and_status_prunes() -> None:
    for path, node in nodes(schema()):
        if "properties" in node and path:
            keeps = node.get("x-kubernetes-preserve-unknown-fields", False)
            assert keeps == path.startswith(".spec"), path


def test_every_field_of_the_spec_explains_itself() -> None:
    silent = [path for path, node in nodes(schema()["properties"]["spec"]) if path and not node.get("description")]
    assert [path for path in silent if not path.endswith("[]")] == []


def test_what_admission_fills_in_is_not_required() -> None:
    spec = schema()["properties"]["spec"]
    assert spec["required"] == ["targetRef", "roles", "algorithm"]
    assert "required" not in spec["properties"]["algorithm"]
    assert spec["properties"]["roles"]["items"]["required"] == ["name", "maxReplicas"]


def test_map_keys_are_required_members() -> None:
    for path, node in nodes(schema()):
        for key in node.get("x-kubernetes-list-map-keys", []):
            assert key in node["items"]["required"], path


def test_defaults_are_told_in_words() -> None:
    behavior = schema()["properties"]["spec"]["properties"]["behavior"]["properties"]
    assert behavior["scaleUp"]["properties"]["maxStepReplicas"]["description"].endswith("Default: 4.")
    assert "default" not in behavior["scaleUp"]["properties"]["maxStepReplicas"]
