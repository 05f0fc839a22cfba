"""kubectl at work on the embedded cluster, as in the demo."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.controlplane.finding import local_assets
from scaler_sim.apiserver import ClusterSettings, EmbeddedCluster, neighbour_definitions

pytestmark = pytest.mark.e2e

MANIFEST = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeployment",
    "metadata": {"name": "llm"},
    "spec": {
        "model": {"name": "m"},
        "engine": {"name": "vLLM"},
        "roles": [{"name": "decode", "kind": "Decode", "instanceType": "h100", "replicas": 3}],
    },
}


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl as the administrator of one cluster."""

    binary: Path
    folder: Path

    async def __call__(self, *arguments: str, stdin: object = None) -> str:
        """Run a command; fails the test when it fails."""
        options = [f"--kubeconfig={self.folder}/kubeconfig", f"--cache-dir={self.folder}/cache"]
        process = await asyncio.create_subprocess_exec(
            *(str(self.binary), *options, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(json.dumps(stdin).encode() if stdin else None)
        assert process.returncode == 0, err.decode()
        return out.decode()


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    binary = local_assets() / "kubectl"
    if not os.access(binary, os.X_OK):
        pytest.skip(f"no kubectl beside the control plane's binaries: {binary}")
    async with EmbeddedCluster(ClusterSettings(definitions=neighbour_definitions())) as cluster:
        cluster.kubeconfig(tmp_path / "kubeconfig")
        yield Kubectl(binary, tmp_path)


async def test_apply_get_and_delete(kubectl: Kubectl) -> None:
    assert "created" in await kubectl("apply", "-f", "-", stdin=MANIFEST)
    status = '{"status": {"phase": "Ready", "roleSummary": "3D"}}'
    await kubectl("patch", "md", "llm", "--subresource=status", "--type=merge", "-p", status)
    head, row = (await kubectl("get", "md")).splitlines()
    assert head.split() == ["NAME", "ENGINE", "ROLES", "PHASE"]
    assert row.split() == ["llm", "vLLM", "3D", "Ready"]
    assert "llm" in await kubectl("get", "gpustack")
    await kubectl("wait", "--for=jsonpath={.status.phase}=Ready", "md/llm", "--timeout=10s")
    assert "deleted" in await kubectl("delete", "md", "llm")


async def test_server_side_apply_label_diff_and_describe(kubectl: Kubectl) -> None:
    applied = await kubectl("apply", "--server-side", "--field-manager=git", "-f", "-", stdin=MANIFEST)
    assert "serverside-applied" in applied
    await kubectl("label", "md", "llm", "team=a")
    assert await kubectl("diff", "--server-side", "--field-manager=git", "-f", "-", stdin=MANIFEST) == ""
    assert "team=a" in await kubectl("describe", "md", "llm")


async def test_explain_tells_the_schema(kubectl: Kubectl) -> None:
    assert "FIELD: replicas <integer>" in await kubectl("explain", "md.spec.roles.replicas")
