"""Calling one admission webhook over TLS, and reading its answer."""

import asyncio
import base64
import binascii
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from scaler_sim.apiserver import patching
from scaler_sim.apiserver.errors import Document, StatusError

_FIRST_REFUSAL: Final = 400


class WebhookFailedError(Exception):
    """The webhook gave no usable answer; `failurePolicy` decides what that means."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook said: operations for the object, and warnings for the client."""

    operations: tuple[Any, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Webhook:
    """One entry of a webhook configuration."""

    document: Document

    @property
    def name(self) -> str:
        """As refusals name it."""
        return str(self.document["name"])

    @property
    def timeout(self) -> int:
        """Seconds until the call counts as failed."""
        return int(self.document.get("timeoutSeconds", 10))

    @property
    def fails_closed(self) -> bool:
        """Whether no answer refuses the request."""
        return bool(self.document.get("failurePolicy", "Fail") == "Fail")

    @property
    def authority(self) -> str:
        """The CA bundle in PEM; empty for the system's roots."""
        try:
            return base64.b64decode(self.document["clientConfig"].get("caBundle") or "", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise WebhookFailedError("unable to load root certificates: unable to parse bytes as PEM block") from None


class WebhookClient:
    """Connections to webhooks; `services` maps `NAMESPACE/NAME` of a Service to `HOST:PORT`."""

    def __init__(self, services: Mapping[str, str]) -> None:
        self.services = dict(services)
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, webhook: Webhook, request: Document) -> Verdict:
        """Send a review.

        Args:
            webhook: whom to ask.
            request: the `request` member of the AdmissionReview.

        Raises:
            StatusError: the webhook refused.
            WebhookFailedError: no usable answer within the webhook's timeout.
        """
        versions = webhook.document.get("admissionReviewVersions") or ["v1"]
        version = next((version for version in versions if version == "v1"), versions[0])
        review = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": request}
        answer = await self._post(webhook, review)
        return read_answer(webhook, review, answer)

    async def _post(self, webhook: Webhook, review: Document) -> Any:
        url, server_name = self._address(webhook)
        timeout = aiohttp.ClientTimeout(total=webhook.timeout)
        context = self._context(webhook.authority)
        if self._session is None:
            self._session = aiohttp.ClientSession()
        shown = f'Post "{url}"'
        try:
            async with self._session.post(
                url, json=review, timeout=timeout, ssl=context, server_hostname=server_name, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise WebhookFailedError(f"the server responded with the status code {response.status}")
                return json.loads(await response.read())
        except TimeoutError:
            raise WebhookFailedError(f"{shown}: context deadline exceeded") from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise WebhookFailedError(f"{shown}: x509: {error.certificate_error}") from None
        except aiohttp.ClientConnectorError as error:
            raise WebhookFailedError(
                f"{shown}: dial tcp {error.host}:{error.port}: connect: {error.strerror}"
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WebhookFailedError(f"{shown}: {error}") from None

    def _address(self, webhook: Webhook) -> tuple[str, str | None]:
        config = webhook.document["clientConfig"]
        query = f"timeout={webhook.timeout}s"
        if "url" in config:
            return f"{config['url']}?{query}", urlsplit(config["url"]).hostname
        service = config["service"]
        key = f"{service['namespace']}/{service['name']}"
        if key not in self.services:
            raise WebhookFailedError(f'service "{service["name"]}" not found')
        name = f"{service['name']}.{service['namespace']}.svc"
        return f"https://{self.services[key]}{service.get('path') or '/'}?{query}", name

    def _context(self, authority: str) -> ssl.SSLContext:
        if authority not in self._contexts:
            try:
                self._contexts[authority] = ssl.create_default_context(cadata=authority or None)
            except ssl.SSLError as error:
                raise WebhookFailedError(f"unable to load root certificates: {error}") from None
        return self._contexts[authority]


def read_answer(webhook: Webhook, review: Document, answer: Any) -> Verdict:
    """What an answer means.

    Raises:
        StatusError: the webhook refused, with its code and message.
        WebhookFailedError: the answer is not one to this review.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("response"), dict):
        raise WebhookFailedError("webhook response was absent")
    response = answer["response"]
    uid = review["request"]["uid"]
    if answer.get("apiVersion") != review["apiVersion"] or answer.get("kind") != "AdmissionReview":
        expected = f"{review['apiVersion']}, Kind=AdmissionReview"
        raise WebhookFailedError(f"expected webhook response of {expected}, got {answer.get('apiVersion')}")
    if response.get("uid") != uid:
        raise WebhookFailedError(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    warnings = tuple(text for text in response.get("warnings") or () if "\n" not in text)
    if not response.get("allowed"):
        raise RefusedError(webhook, response.get("status") or {}, warnings)
    return Verdict(_operations(response), warnings)


class RefusedError(StatusError):
    """A refusal; its warnings still reach the client."""

    def __init__(self, webhook: Webhook, status: Document, warnings: tuple[str, ...]) -> None:
        denied = f'admission webhook "{webhook.name}" denied the request'
        why = status.get("message") or status.get("reason")
        message = f"{denied}: {why}" if why else f"{denied} without explanation"
        code = max(int(status.get("code") or 0), _FIRST_REFUSAL)
        super().__init__(code, status.get("reason") or "", message, status.get("details"))
        self.warnings = warnings

    def to_wire(self) -> Document:
        """Without a reason where the webhook gave none."""
        return {key: value for key, value in super().to_wire().items() if value != ""}


def refusal_warnings(error: StatusError) -> tuple[str, ...]:
    """The warnings that came with a webhook's refusal."""
    return error.warnings if isinstance(error, RefusedError) else ()


def _operations(response: Document) -> tuple[Any, ...]:
    if not response.get("patch"):
        return ()
    if response.get("patchType") != "JSONPatch":
        raise WebhookFailedError(f"webhook returned response.patchType of {response.get('patchType')!r}")
    try:
        operations = json.loads(base64.b64decode(response["patch"]))
    except ValueError:
        raise WebhookFailedError("the patch of the response cannot be read") from None
    return tuple(operations)


def apply_operations(document: Document, verdict: Verdict) -> Document:
    """The object after a mutating webhook's answer.

    Raises:
        WebhookFailedError: the operations do not fit the object.
    """
    if not verdict.operations:
        return document
    try:
        patched: Document = patching.json_patch(document, list(verdict.operations))
    except StatusError as error:
        raise WebhookFailedError(error.message) from None
    return patched


async def gather(*calls: Any) -> list[Any]:
    """Results or exceptions, in the order of the calls."""
    return await asyncio.gather(*calls, return_exceptions=True)
