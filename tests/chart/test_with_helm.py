"""The chart as helm 3 and helm 4 see it."""

import json
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.chart import golden, helm

pytestmark = pytest.mark.e2e
MAJORS = pytest.mark.parametrize("major", [3, 4], ids=["helm 3", "helm 4"])
FOREIGN = {"monitoring.coreos.com/v1", "cert-manager.io/v1"}
"""Kinds whose schemas Kubernetes does not have."""


@MAJORS
@pytest.mark.parametrize("values", helm.VALUES, ids=lambda path: path.stem)
def test_renders_what_the_golden_file_holds(major: int, values: Path) -> None:
    documents = helm.template(helm.require(major), "--values", str(values))
    assert golden.text_of(documents) == golden.path_of(values).read_text(encoding="utf-8"), "run make fix"


@MAJORS
@pytest.mark.parametrize("values", helm.VALUES, ids=lambda path: path.stem)
def test_lints_strictly(major: int, values: Path) -> None:
    done = helm.run(helm.require(major), "lint", "--strict", str(helm.CHART), "--values", str(values))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("values", helm.VALUES, ids=lambda path: path.stem)
def test_every_object_fits_the_schemas_of_kubernetes(values: Path) -> None:
    newest = helm.require(max(helm.helms(), default=4))  # the golden files hold the others to the same documents
    for document in helm.template(newest, "--values", str(values)):
        if document["apiVersion"] not in FOREIGN:
            kubernetes_validate.validate(document, "1.37", strict=True)


@MAJORS
def test_an_old_cluster_gets_what_it_serves(major: int) -> None:
    flags = ("--kube-version", "1.20.2", "--set", "webhook.matchConditions=true")
    documents = helm.template(helm.require(major), *flags)
    assert all("matchConditions" not in webhook for one in documents for webhook in one.get("webhooks", ()))


@MAJORS
@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("controler.replicas=3", "controler"),
        ("controller.replica=3", "replica"),
        ("webhook.certificates.mode=Selfmanaged", "mode"),
        ("webhook.certificates.certManager.issuerRef.nam=x", "nam"),
        ("controller.logLevel=verbose", "logLevel"),
        ("controller.replicas=none", "replicas"),
        ("webhook.clientConfig.url=http://192.0.2.1", "url"),
        ("image.digest=latest", "digest"),
    ],
)
def test_values_with_a_mistake_are_refused_by_name(major: int, flag: str, complaint: str) -> None:
    done = helm.run(helm.require(major), "template", helm.RELEASE, str(helm.CHART), "--set", flag)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_the_schema_names_exactly_the_values_that_exist() -> None:
    """A value without a schema could not be set, and a schema without a value would have no default."""
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((helm.CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert _names(values, schema, schema["definitions"]) == []


def _names(values: object, schema: dict[str, object], definitions: dict[str, dict[str, object]]) -> list[str]:
    if isinstance(reference := schema.get("$ref"), str):
        schema = definitions[reference.rpartition("/")[2]]
    properties = schema.get("properties")
    if not isinstance(values, dict) or not isinstance(properties, dict) or not values:
        return []
    optional = {"global", "claims"}
    odd = sorted(set(properties).symmetric_difference(values) - optional)
    return odd + [
        name for key in values if key in properties for name in _names(values[key], properties[key], definitions)
    ]
