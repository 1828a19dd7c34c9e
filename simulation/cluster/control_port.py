"""Orders to a cluster over HTTP on loopback, for tests in any language.

The paths and bodies are those of `control_document.py`, which `/openapi.json` serves. One order is carried out at a
time, in the order of arrival. The answer to a refused order is `{"error": ...}` with the code 400. Like the API server
without TLS, it serves programs and no pages of a browser.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from config.values.nearest import did_you_mean
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.local_site import refuse_other_pages, refuse_simple_bodies
from simulation.cluster.control_document import OF_PATH, document, method_of
from simulation.cluster.orders import OrderError, read_order
from simulation.cluster.running_cluster import RunningCluster

BODY_BYTES_AT_MOST = 2**24
HOST = "127.0.0.1"

Json = dict[str, Any]


class ControlPort:
    """`version` is that of actorlet. `serve` and `end` are called on the loop of the cluster."""

    def __init__(self, cluster: RunningCluster, version: str) -> None:
        self._cluster = cluster
        self._document = msgspec.json.encode(document(version))
        self._one_at_a_time = asyncio.Lock()
        self._runner: web.AppRunner | None = None

    async def serve(self, port: int) -> str:
        """Listen; returns the URL. Raises OSError when the port is taken."""
        app = web.Application(client_max_size=BODY_BYTES_AT_MOST)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, port).start()
        host, chosen = self._runner.addresses[0][:2]
        return f"http://{host}:{chosen}"

    async def end(self) -> None:
        """Close every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        headers = request.headers
        try:
            refuse_other_pages(headers.get("Host", ""), headers.get("Origin"), headers.get("Sec-Fetch-Site", ""))
            if request.body_exists:
                refuse_simple_bodies(headers.get("Content-Type", ""))
            return await self._answer(request)
        except HttpRefusal as refusal:
            return _json({"error": refusal.text}, refusal.status)
        except OrderError as error:
            return _json({"error": str(error)}, 400)

    async def _answer(self, request: web.Request) -> web.Response:
        if request.path == "/openapi.json":
            return web.Response(body=self._document, content_type="application/json")
        if request.path == "/cluster":
            return _json(self._cluster.facts())
        order = OF_PATH.get(request.path)
        if order is None:
            hint = did_you_mean(request.path, OF_PATH, "see /openapi.json")
            raise HttpRefusal(404, f"there is no path {request.path!r}; {hint}")
        if request.method != method_of(order):
            raise HttpRefusal(405, f"{request.path} takes {method_of(order)}, not {request.method}")
        fields = dict(request.query) if request.method == "GET" else _fields(await request.read())
        line = msgspec.json.encode({**fields, "order": order.__struct_config__.tag})
        async with self._one_at_a_time:
            return _json(await self._cluster.obey(read_order(line)))


def _fields(body: bytes) -> Json:
    """The fields in a body. Raises OrderError."""
    try:
        return msgspec.json.decode(body or b"{}", type=Json)
    except msgspec.MsgspecError as error:
        raise OrderError(f"the body is not a JSON object: {error}") from None


def _json(value: Json, code: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=code, content_type="application/json")
