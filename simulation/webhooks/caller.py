"""Asks webhooks over HTTPS.

A webhook has a URL, or a service. Services have no addresses here: `services` maps `NAMESPACE/NAME` to the URL where
the program of a test listens. Its certificate must still be for `NAME.NAMESPACE.svc`. Time limits are real time, so
that a simulated time that stands still does not keep a request waiting.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from simulation.webhooks.conversions import (
    SECONDS,
    ConversionWantedError,
    FailedConversionError,
    converted_of,
)
from simulation.webhooks.reviews import MUTATING, ReviewWantedError, Verdict, review_of, verdict_of

ANSWER_BYTES_AT_MOST = 8 * 2**20
USUAL_SECONDS = 10

Json = dict[str, Any]


class WebhookCaller:
    """Used on one event loop. `new_uid` names reviews."""

    def __init__(self, services: Mapping[str, str], new_uid: Callable[[], str]) -> None:
        self._services = services
        self._new_uid = new_uid

    async def convert(self, wanted: ConversionWantedError) -> list[Json]:
        """The converted objects. Raises FailedConversionError."""
        try:
            review, client = wanted.review(self._new_uid()), wanted.webhook.get("clientConfig") or {}
            answer = await self._answer(client, review, SECONDS)
        except (OSError, ValueError) as error:
            raise FailedConversionError(wanted.failed(str(error))) from None
        return converted_of(wanted, review, answer)

    async def ask(self, wanted: ReviewWantedError) -> Verdict:
        """The verdict of a webhook. Without a valid answer, its `failure` says why."""
        webhook, review = wanted.webhook, review_of(self._new_uid(), wanted.request)
        seconds = webhook.fields.get("timeoutSeconds") or USUAL_SECONDS
        try:
            answer = await self._answer(webhook.fields.get("clientConfig") or {}, review, seconds)
        except OSError as error:
            return Verdict(failure=f"failed to call webhook: {error}")
        try:
            return verdict_of(answer, review["request"]["uid"], wanted.key[0] == MUTATING)
        except ValueError as error:
            return Verdict(failure=f"received invalid webhook response: {error}")

    async def _answer(self, client: Json, review: Json, seconds: int) -> Any:
        """What a webhook says, as JSON. Raises OSError with the words of Kubernetes."""
        try:
            shown, url, server_name = self._address(client)
        except LookupError as error:
            raise OSError(error.args[0]) from None
        try:
            async with asyncio.timeout(seconds):
                return await self._post(f"{url}?timeout={seconds}s", server_name, client, review)
        except TimeoutError:
            why = "context deadline exceeded"
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: a caBundle that is no text
            why = str(error) or type(error).__name__
        raise OSError(f'Post "{shown}?timeout={seconds}s": {why}')

    def _address(self, client: Json) -> tuple[str, str, str | None]:
        """The URL as Kubernetes shows it, the URL to connect to, and the name in the expected certificate.

        The name is None for that of the URL. Raises LookupError for a service without a known URL.
        """
        service = client.get("service")
        if service is None:
            return client.get("url", ""), client.get("url", ""), None
        namespace, name, path = service["namespace"], service["name"], service.get("path") or "/"
        path = path if path.startswith("/") else f"/{path}"
        place = self._services.get(f"{namespace}/{name}")
        if place is None:
            raise LookupError(f'service "{name}" not found')
        host = f"{name}.{namespace}.svc"
        return f"https://{host}:{service.get('port') or 443}{path}", place.rstrip("/") + path, host

    async def _post(self, url: str, server_name: str | None, client: Json, review: Json) -> Any:
        if urlsplit(url).scheme != "https":
            raise OSError("a webhook is asked over HTTPS alone")
        bundle = client.get("caBundle")
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode() if bundle else None)
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
            session.post(
                url,
                data=msgspec.json.encode(review),
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                ssl=context,
                server_hostname=server_name,
                allow_redirects=False,
            ) as answer,
        ):
            body = await _whole(answer.content)
            if answer.status != 200:
                text = body[:1000].decode(errors="replace").strip()
                raise OSError(f"the server answered {answer.status}: {text}")
            try:
                return msgspec.json.decode(body)
            except msgspec.DecodeError as error:
                raise OSError(f"the answer is not JSON: {error}") from None


async def _whole(content: aiohttp.StreamReader) -> bytes:
    """The body of an answer. Raises OSError for one that is too long."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > ANSWER_BYTES_AT_MOST:
            raise OSError(f"the answer has more than {ANSWER_BYTES_AT_MOST} bytes")
    return bytes(body)
