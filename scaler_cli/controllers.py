"""Who knows what the last pass over a scaler saw: the controller that leads, through the API server or directly."""

from typing import Final

import aiohttp

from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler import VERSIONS
from scaler_kube import resources
from scaler_kube.client import KubeClient
from scaler_kube.errors import ForbiddenError, KubeError, NotFoundError
from scaler_kube.resources import Resource
from scaler_kube.transport import Document

LABELS: Final = "app.kubernetes.io/name=model-deployment-scaler,app.kubernetes.io/component=controller"
PORT: Final = "8080"
QUERY: Final = {"recording": "true"}
SECONDS: Final = 10.0


class UnexplainedError(Exception):
    """Nobody could tell; the message says why and what to do."""


async def ask_address(url: str, key: ObjectKey) -> Document:
    """Ask one controller.

    Args:
        url: of its health server, such as `http://127.0.0.1:8080`.
        key: the scaler.

    Raises:
        UnexplainedError: it does not answer, or has no pass over that scaler.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise UnexplainedError(f"{url!r} is no URL; write one such as http://127.0.0.1:8080")
    address = f"{url.rstrip('/')}{_path(key)}"
    try:
        async with (
            aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
            session.get(address, params=QUERY) as response,
        ):
            if response.status == 404:
                raise UnexplainedError(f"{url} has no pass over scaler {key}; only the leading controller has")
            if response.status != 200:
                raise UnexplainedError(f"{url} answered HTTP {response.status}; is it the controller's health port?")
            document = await response.json()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise UnexplainedError(f"{url} cannot be asked: {str(error) or type(error).__name__}") from error
    if not isinstance(document, dict):
        raise UnexplainedError(f"{url} answered no JSON object; is it the controller's health port?")
    return document


async def ask_cluster(client: KubeClient, key: ObjectKey, controllers_in: str | None) -> Document:
    """Ask every controller Pod; only the leader knows.

    Args:
        client: of somebody who may `get` scalers and `pods/proxy`, and list Pods.
        key: the scaler.
        controllers_in: namespace of the controllers; all are looked through when None.

    Raises:
        UnexplainedError: there is no such scaler, no controller, or none that knows.
        KubeError: the API server did not answer.
    """
    await _require_scaler(client, key)
    listing = await client.list_all(resources.PODS, namespace=controllers_in, labels=LABELS)
    pods = [ObjectKey(item["metadata"]["namespace"], item["metadata"]["name"]) for item in listing.items]
    if not pods:
        where = f"namespace {controllers_in}" if controllers_in else "any namespace"
        raise UnexplainedError(f"no controller Pod in {where} ({LABELS}); give its address with --controller URL")
    problems = []
    for pod in pods:
        try:
            return await client.read_through(pod, PORT, _path(key), QUERY)
        except NotFoundError:
            problems.append(f"{pod.name} has no pass over it")
        except ForbiddenError as error:
            raise UnexplainedError(
                f"{error.message}; get that right, or forward port {PORT} of Pod {pod} and use --controller URL"
            ) from error
        except KubeError as error:
            problems.append(f"{pod.name}: {error.message}")
    raise UnexplainedError(f"no controller can explain scaler {key} yet: {'; '.join(problems)}")


async def scaler_resource(client: KubeClient) -> Resource:
    """Scalers in the first version that the cluster serves.

    Raises:
        UnexplainedError: it serves none.
        KubeError: the API server did not answer.
    """
    for version in VERSIONS:
        candidate = resources.scalers(version)
        if await client.serves(candidate):
            return candidate
    raise UnexplainedError("this cluster does not serve ModelDeploymentScaler; install the product first")


async def _require_scaler(client: KubeClient, key: ObjectKey) -> None:
    try:
        await client.get(await scaler_resource(client), key)
    except NotFoundError as error:
        message = f"there is no ModelDeploymentScaler {key.name} in namespace {key.namespace}; see kubectl get mds -A"
        raise UnexplainedError(message) from error


def _path(key: ObjectKey) -> str:
    return f"/debug/scalers/{key.namespace}/{key.name}"
