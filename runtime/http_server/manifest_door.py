"""Manifests over HTTP: the endpoint that takes, lists and withdraws them.

This module does not know what becomes of them.

    POST   /manifests                     a Pod, a PodList or a v1 List of pods, YAML or JSON: all of it, or nothing
    GET    /manifests                     all that have been taken, as a v1 List that can be given back
    GET    /manifests/NAMESPACE/NAME      one of them
    DELETE /manifests/NAMESPACE/NAME      withdraw it

A client that does not finish its manifest is cut off after a while; larger ones than the listener takes are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol

from aiohttp import web

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.local_endpoint import Reply

BODY_SECONDS = 60.0
JSON = "application/json"


class ManifestDoor(Protocol):
    """Takes manifests. Methods may wait, and run on a thread; replies are JSON."""

    def take(self, content: bytes) -> Reply: ...

    def listed(self) -> Reply: ...

    def shown(self, namespace: str, name: str) -> Reply: ...

    def withdraw(self, namespace: str, name: str) -> Reply: ...


OnThread = Callable[[Callable[[], Reply]], Awaitable[Reply]]


async def answer(
    request: web.BaseRequest, names: Mapping[str, str], door: ManifestDoor, on_thread: OnThread
) -> web.Response:
    """Answer a request about manifests. Raises HttpRefusal."""
    pod = (names["namespace"], names["name"]) if names else None
    if pod is not None:
        operation = partial(door.withdraw if request.method == "DELETE" else door.shown, *pod)
    elif request.method == "POST":
        operation = partial(door.take, await _body(request))
    else:
        operation = partial(door.listed)
    reply = await on_thread(operation)
    return web.Response(body=reply.body, status=reply.status, content_type=JSON)


async def _body(request: web.BaseRequest) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            content = await request.read()
    except TimeoutError:
        raise HttpRefusal(408, f"the manifest was not there within {BODY_SECONDS:.0f} s") from None
    if not content:
        raise HttpRefusal(400, "there is no manifest in the request; send one as its body")
    return content
