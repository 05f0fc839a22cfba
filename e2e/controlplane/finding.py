"""Which control plane the tests of this session get."""

import base64
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from e2e.controlplane.endpoint import Endpoint
from e2e.controlplane.local import LocalControlPlane

NEEDED: Final = ("etcd", "kube-apiserver")
WHAT_TO_DO: Final = (
    "no control plane: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver (as setup-envtest makes it), "
    "or KUBECONFIG together with MDS_E2E_USE_CLUSTER=1 to use an existing cluster"
)


class NoControlPlaneError(RuntimeError):
    """Neither a cluster nor binaries, or unusable ones."""


def require_control_plane() -> Endpoint:
    """The session's control plane; skips the test when there is none, and fails it when `CI=true`."""
    try:
        return _session_plane()
    except NoControlPlaneError as error:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def local_assets() -> Path:
    """The folder of binaries, for tests that start a control plane of their own; skips or fails like the above."""
    try:
        return usable_assets()
    except NoControlPlaneError as error:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@cache
def _session_plane() -> Endpoint:
    if os.environ.get("MDS_E2E_USE_CLUSTER") == "1":
        return _existing()
    plane = LocalControlPlane(usable_assets())
    plane.start()  # stopped at exit
    return plane.endpoint


def usable_assets() -> Path:
    """The folder that `KUBEBUILDER_ASSETS` names; raises NoControlPlaneError."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        raise NoControlPlaneError(WHAT_TO_DO)
    missing = [name for name in NEEDED if not os.access(Path(folder) / name, os.X_OK)]
    if missing:
        raise NoControlPlaneError(f"KUBEBUILDER_ASSETS={folder} has no {' and no '.join(missing)}; {WHAT_TO_DO}")
    return Path(folder).absolute()


def _existing() -> Endpoint:
    path = Path(os.environ.get("KUBECONFIG", "~/.kube/config")).expanduser().absolute()
    if not path.is_file():
        raise NoControlPlaneError(f"MDS_E2E_USE_CLUSTER=1, but KUBECONFIG={path} is no file; {WHAT_TO_DO}")
    config = yaml.safe_load(path.read_text())
    context = _entry(config, "contexts", config["current-context"])["context"]
    cluster = _entry(config, "clusters", context["cluster"])["cluster"]
    user = _entry(config, "users", context["user"])["user"]
    if not {"token", "client-certificate", "client-certificate-data"} & set(user):
        raise NoControlPlaneError(f"user {context['user']} of {path} has neither a token nor a client certificate")
    return Endpoint(
        url=cluster["server"],
        kubeconfig=path,
        ca_file=_file(path, cluster, "certificate-authority"),
        token=user.get("token", ""),
        certificate=_file(path, user, "client-certificate"),
        key=_file(path, user, "client-key"),
        webhook_host=os.environ.get("MDS_E2E_WEBHOOK_HOST"),
    )


def _entry(config: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    return next(entry for entry in config[kind] if entry["name"] == name)


def _file(kubeconfig: Path, entry: dict[str, Any], name: str) -> Path | None:
    if f"{name}-data" in entry:
        with tempfile.NamedTemporaryFile(prefix="e2e-", suffix=".pem", delete=False) as file:
            file.write(base64.b64decode(entry[f"{name}-data"]))
        return Path(file.name)
    return (kubeconfig.parent / entry[name]).absolute() if name in entry else None
