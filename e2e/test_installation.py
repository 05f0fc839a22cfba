"""Installed by helm 3 and helm 4: under exactly the chart's rights, through an upgrade, and away again."""

import base64
import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from e2e.installation import FULL, Installation, account, installed, used_rights
from e2e.product import watching
from e2e.test_kubectl_story import DEPLOYMENT, TARGET, has_condition, is_at, load, moved, scaler
from scaler_core.admission.registration import CONFIGURATION
from scaler_core.api import crd
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING
from scaler_core.api.reasons import EventReason
from scaler_core.model.action import Note
from scaler_kube import errors, resources
from scaler_kube.client import connect
from scaler_kube.clock import SteadyClock
from scaler_kube.event_series import SERIES_WRITE_SECONDS, Regarding
from scaler_kube.events import EventRecorder
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.plane import Identity
from scaler_webhook.authority import AUTHORITY_LIFETIME
from scaler_webhook.certificates import SecretSource, tls_context
from tests.chart import golden, helm
from tests.chart.rights import rights_of
from tests.chart.test_monitoring import series

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
CONFIGURATIONS = (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS)


OPERATOR = OperatorSettings(warm_up_seconds=15, withdraw_seconds=5, delete_seconds=10)


async def test_a_release_of_helm_4_works_under_exactly_the_rights_of_the_chart(tmp_path: Path) -> None:
    async with installed(helm.require(4), tmp_path, OPERATOR) as release:
        await admission_works(release)
        await bind(release)
        await scale_up_and_down(release)
        await upgrade(release)
        await use_what_is_seldom_used(release)
        began = datetime.now(UTC)
        await uninstall(release)
        # An uninstall takes the rights away while processes still run; watches are logged when they end.
        under_exactly_the_rights_of_the_chart(release, "controller", "webhook", "test-admission", before=began)
        under_exactly_the_rights_of_the_chart(release, "release-scalers", before=datetime.now(UTC))


async def test_a_release_of_helm_3_comes_and_goes(tmp_path: Path) -> None:
    async with installed(helm.require(3), tmp_path, OPERATOR) as release:
        await admission_works(release)
        await bind(release)
        await upgrade(release)
        await an_uninstall_waits_for_scalers_that_do_not_let_go(release)
        await uninstall(release)


async def admission_works(release: Installation) -> None:
    release.hooks.clear()
    await release.helm("test", helm.RELEASE)
    said = release.hooks[f"{FULL}-test-admission"].splitlines()
    assert said[0].startswith('ok: an invalid scaler is refused: admission webhook "scaler-rules.gpustack.ai" denied')
    assert said[1:] == ["ok: a valid scaler is admitted"]


async def bind(release: Installation) -> None:
    product = release.product
    await product.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT))
    await product.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(scaler()))
    await product.eventually("bound", lambda: has_condition(product, "Active", "True"))


async def scale_up_and_down(release: Installation) -> None:
    product = release.product
    async with watching(product, TARGET) as watcher:
        loop = load(product, 24)
        await product.eventually("grew", lambda: moved(watcher, grows=True), seconds=60)
        loop.stop()
        await product.eventually("back at the minimum", lambda: is_at(product, prefill=1, decode=1), seconds=120)
    await every_metric_is_told(release)


async def every_metric_is_told(release: Installation) -> None:
    """What alerts and the dashboard ask for is there once there was something to tell."""
    scenario = release.product.scenario
    text = ""
    async with aiohttp.ClientSession(trust_env=False) as session:
        for port in (scenario.controller_health_port, scenario.webhook_health_port):
            async with session.get(f"http://127.0.0.1:{port}/metrics") as response:
                text += await response.text()
    told = set(re.findall(r"^(mds_\w+)[{ ]", text, flags=re.MULTILINE))
    assert set(series()) - told == set()


async def upgrade(release: Installation) -> None:
    """What the running webhook wrote into the configurations stays, for neither helm knows of it."""
    before = await bundles(release)
    assert all(base64.b64decode(bundle).startswith(b"-----BEGIN CERTIFICATE") for bundle in before)
    await release.helm(
        "upgrade",
        helm.RELEASE,
        str(helm.CHART),
        "--reuse-values",
        "--set",
        "controller.workers=5,uninstall.timeoutSeconds=15",
    )
    assert await bundles(release) == before
    await admission_works(release)


async def bundles(release: Installation) -> list[str]:
    documents = [await release.admin.get(kind, ObjectKey("", CONFIGURATION)) for kind in CONFIGURATIONS]
    return [webhook["clientConfig"].get("caBundle", "") for one in documents for webhook in one["webhooks"]]


async def use_what_is_seldom_used(release: Installation) -> None:
    """Rights for what happens once in two years, or only in trouble: used by the very code, as the very account."""
    scenario = release.product.scenario
    async with await connect(
        scenario.credentials(Identity.CONTROLLER).access, field_manager="e2e", user_agent="e2e"
    ) as client:
        document = await client.get(resources.scalers(), TARGET)  # a pass after its own write was not seen for 5 s
        kind = resources.scalers()
        regarding = Regarding(
            api_version=kind.api_version,
            kind=kind.kind,
            namespace=TARGET.namespace,
            name=TARGET.name,
            uid=document["metadata"]["uid"],
        )
        clock = SteadyClock(factor=100, epoch=time.time())
        recorder = EventRecorder(client=client, controller="gpustack.ai/e2e", instance="e2e", clock=clock)
        for _ in range(3):
            recorder.record(regarding, Note(reason=EventReason.BOUND, message="Bound again"))
            await recorder.flush()
            await clock.sleep(1.1 * SERIES_WRITE_SECONDS)
        assert recorder.failed == 0
    async with await connect(
        scenario.credentials(Identity.WEBHOOK).access, field_manager="e2e", user_agent="e2e"
    ) as client:
        secret = ObjectKey(helm.NAMESPACE, f"{FULL}-webhook-ca")
        source = SecretSource(client=client, secret=secret, names=["127.0.0.1"], context=tls_context())
        await source.refresh(scenario.settings.clock.now() + 0.9 * AUTHORITY_LIFETIME.total_seconds())


async def an_uninstall_waits_for_scalers_that_do_not_let_go(release: Installation) -> None:
    """Without a controller nothing is released: helm fails, names who is left, and the fence stands."""
    await release.children["controller"].stop()
    await release.helm("uninstall", helm.RELEASE, expect=1)
    said = release.hooks.pop(f"{FULL}-release-scalers")
    assert "left: ModelDeploymentScaler default/llm: it holds ModelDeployment default/llm" in said
    assert await bundles(release)
    await release.children["controller"].start()


async def uninstall(release: Installation) -> None:
    product = release.product
    await release.helm("uninstall", helm.RELEASE)
    assert "1 scalers are suspended and hold nothing" in release.hooks[f"{FULL}-release-scalers"]
    target = await product.scenario.target(TARGET)
    assert BINDING not in target["metadata"].get("annotations", {})
    for kind in CONFIGURATIONS:
        with pytest.raises(errors.NotFoundError):
            await release.admin.get(kind, ObjectKey("", CONFIGURATION))
    assert "condition met" in await product.kubectl("wait", "--for=condition=established", f"crd/{crd.NAME}")
    patch = [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 3}]
    await product.kubectl("patch", "modeldeployment", "llm", "--type=json", "-p", json.dumps(patch))
    await release.stop()
    await product.kubectl("delete", "mds", "llm", "--timeout=10s")


def under_exactly_the_rights_of_the_chart(release: Installation, *components: str, before: datetime) -> None:
    """Neither was anything forbidden, nor is anything granted that no code asks for."""
    rendered: list[dict[str, Any]] = golden.documents_of("default")
    for component in components:
        used, forbidden = used_rights(release.product.plane, account(component), before)
        granted = rights_of(rendered, f"{FULL}-{component}")
        assert (component, forbidden, used - granted, granted - used) == (component, [], set(), set())
