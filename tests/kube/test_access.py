import asyncio
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.access import Endpoint, InCluster, KubeConfig, TokenReload, default_namespace, open_transport
from scaler_kube.client import connect
from scaler_kube.resources import PODS


def kubeconfig(path: Path, url: str, token: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    path.write_text(yaml.safe_dump(document))


async def test_a_token_that_changed_in_the_kubeconfig_is_used_within_a_minute(tmp_path: Path) -> None:
    used: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        used.append(request.headers["Authorization"])
        return web.json_response({})

    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    path = tmp_path / "kubeconfig"
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    kubeconfig(path, url, "old")
    try:
        async with await connect(KubeConfig(path=str(path)), field_manager="m", user_agent="u") as client:
            hook = client.transport.api.configuration.refresh_api_key_hook
            assert isinstance(hook, TokenReload)
            await client.get(PODS, ObjectKey("ns", "a"))
            kubeconfig(path, url, "new")
            await client.get(PODS, ObjectKey("ns", "a"))
            hook.due_at = asyncio.get_running_loop().time()
            await client.get(PODS, ObjectKey("ns", "a"))
            assert hook.due_at > asyncio.get_running_loop().time() + 50
            path.write_text("junk: [")
            hook.due_at = 0.0
            await client.get(PODS, ObjectKey("ns", "a"))
    finally:
        await runner.cleanup()
    assert used == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


async def test_outside_a_cluster_the_service_account_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(
        errors.AccessError, match=r"service account \(Service host/port is not set\.\); give a kubeconfig"
    ):
        await connect(InCluster(), field_manager="m", user_agent="u")


async def test_an_unknown_context_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    kubeconfig(path, "http://127.0.0.1:1", "t")
    with pytest.raises(errors.AccessError, match="nowhere"):
        await connect(KubeConfig(path=str(path), context="nowhere"), field_manager="m", user_agent="u")


@pytest.mark.parametrize("text", ["", "junk: [", "[]", "kind: Config"])
async def test_a_kubeconfig_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(errors.AccessError, match=r"kubeconfig.* cannot be used: .+") as caught:
        await connect(KubeConfig(path=str(path)), field_manager="m", user_agent="u")
    assert "\n" not in str(caught.value)


async def test_a_missing_ca_file_is_one_line() -> None:
    with pytest.raises(errors.AccessError, match=r"CA '/nowhere' cannot be used: .*No such file"):
        await connect(Endpoint(url="https://x", token="t", ca_file="/nowhere"), field_manager="m", user_agent="u")


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(Endpoint(url="http://x", token="secret"))


@pytest.mark.parametrize(
    ("context", "namespace", "wanted"),
    [(None, None, "default"), (None, "models", "models"), ("c", "models", "models"), ("other", "models", "models")],
)
async def test_the_namespace_is_the_contexts(
    tmp_path: Path, context: str | None, namespace: str | None, wanted: str
) -> None:
    path = tmp_path / "kubeconfig"
    kubeconfig(path, "http://127.0.0.1:9", "t")
    document = yaml.safe_load(path.read_text())
    if namespace is not None:
        document["contexts"][0]["context"]["namespace"] = namespace
    path.write_text(yaml.safe_dump(document))
    assert await default_namespace(KubeConfig(path=str(path), context=context)) == wanted


async def test_without_a_kubeconfig_there_is_no_namespace(tmp_path: Path) -> None:
    assert await default_namespace(InCluster()) == "default"
    with pytest.raises(errors.AccessError, match="set KUBECONFIG"):
        await default_namespace(KubeConfig(path=str(tmp_path / "absent")))


async def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(errors.AccessError, match=r"API server 'a\.b:6443' .* begins with http:// or https://"):
        await open_transport(Endpoint(url="a.b:6443", token=""), "agent")
