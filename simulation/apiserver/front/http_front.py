"""The API server over HTTP/1.1 on loopback, for kubectl, agents and other clients.

One listener on the given loop thread, with TLS if there are certificates. It reads a request, authenticates it, lets
the server answer, and writes the answer in the requested form. Watches are streamed line by line. Requests that
only the agent of a node can answer go to it. A request to upgrade the connection becomes a tunnel (see tunnels.py).

Without TLS it serves programs, but no page in a browser (`runtime.http_server.local_site`). Only the port can fail
(`start` raises OSError). The meaning of requests is not known here.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from runtime.http_server.heads import Head
from runtime.io.event_loop import LoopThread
from simulation.apiserver.documents.discovery import discovery
from simulation.apiserver.documents.openapi import openapi
from simulation.apiserver.front.agents import Agents, Tunnel
from simulation.apiserver.front.identities import Headers, other_user, refuse_strangers, subject_of
from simulation.apiserver.front.negotiation import Lines, check_included, shape_of, written
from simulation.apiserver.front.node_proxy import NodeProxy
from simulation.apiserver.front.tunnels import tunnel_protocol
from simulation.apiserver.front.usage import PREFIX as USAGE
from simulation.apiserver.front.usage import usage
from simulation.apiserver.front.watches import Clients, Stream, error_line, is_framed_watch, output_for
from simulation.apiserver.requests.answers import (
    Answer,
    Body,
    JsonAnswer,
    NodeAnswer,
    TextAnswer,
    WatchAnswer,
    error_of,
    refused,
)
from simulation.apiserver.requests.bodies import BODY_BYTES_AT_MOST, JSON
from simulation.apiserver.requests.calls import ApiRequest, ApiUser
from simulation.apiserver.requests.options import is_set
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import StatusError, internal_error, no_such_path, unavailable
from simulation.webhooks.caller import WebhookCaller
from simulation.webhooks.conversions import ConversionWantedError, FailedConversionError
from simulation.webhooks.reviews import Admission, ReviewWantedError

LOG = logging.getLogger("actorlet.apiserver.http")

START_SECONDS = 10.0
REVIEWS_AT_MOST = 1000
"""The limit of webhook reviews for one request."""
WARNINGS_AT_MOST = 64
WARNING_LETTERS_AT_MOST = 4096
"""The most letters of warnings in the headers of one answer.

Python's own client takes a hundred headers.
"""
_HEALTH = ("/healthz", "/livez", "/readyz")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})

Between = Callable[[ApiRequest, str, Callable[[], Awaitable[Answer]]], Awaitable[Answer]]
"""(request, its User-Agent, carry it out) -> the answer. Raises ConnectionError to give none."""


class HttpFront:
    """See the module.

    `port` 0: any free one; after `start`, `address` says which. `tls`: None for plain HTTP.

    `node_scheme`: how the agents of nodes are spoken to; `node_client`: path of the certificate and key that are shown
    to them. `agents`: another way to them than the network. `clients`: is told what they do. `webhook_services`: see
    `WebhookCaller`. `between`: stands between clients and server for requests to resources.
    """

    def __init__(
        self,
        server: ApiServer,
        loop: LoopThread,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        node_scheme: str = "https",
        node_client: str = "",
        agents: Agents | None = None,
        clients: Clients | None = None,
        webhook_services: Mapping[str, str] | None = None,
        between: Between | None = None,
    ) -> None:
        self._server = server
        self._loop = loop
        self._host = host
        self._port = port
        self._tls = tls
        self._clients = clients or Clients()
        self._webhooks = WebhookCaller({} if webhook_services is None else webhook_services, server.new_uid)
        self._between = between
        self._agents: Agents = NodeProxy(node_scheme, node_client) if agents is None else agents
        self._listener: asyncio.Server | None = None
        self._web: web.Server | None = None
        self._streams: dict[Stream, None] = {}

    @property
    def address(self) -> str:
        """host:port."""
        return f"{self._host}:{self._port}"

    @property
    def url(self) -> str:
        """The URL in a kubeconfig."""
        return f"{'https' if self._tls else 'http'}://{self.address}"

    def start(self) -> None:
        """Start to serve. Raises OSError when the address is taken."""
        self._loop.submit(self.serve()).result(START_SECONDS)

    def close(self) -> None:
        """End every connection. May be called more than once."""
        with suppress(RuntimeError, TimeoutError):
            self._loop.submit(self.end()).result(START_SECONDS)

    async def serve(self) -> None:
        """`start`, for callers on the loop."""
        loop = asyncio.get_running_loop()
        self._web = web.Server(self._handle, request_factory=_request, handler_cancellation=True, access_log=None)
        doors = self._web

        def stays(head: Head) -> bool:
            return is_framed_watch(head) or self._agents.stays(head)

        self._listener = await loop.create_server(
            lambda: tunnel_protocol(doors, self._tunnel_to, stays), self._host, self._port, ssl=self._tls, backlog=1024
        )
        self._port = self._listener.sockets[0].getsockname()[1]

    async def end(self) -> None:
        """`close`, for callers on the loop."""
        listener, self._listener = self._listener, None
        if listener is None:
            return
        listener.close()
        for stream in tuple(self._streams):
            stream.end(None)
        if self._web is not None:
            await self._web.shutdown(1.0)
        await self._agents.close()

    # --- requests ---------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if self._tls is None:
                refuse_strangers(request.headers, request.body_exists)
            with self._clients.serving():
                return await self._answer(request)
        except StatusError as refusal:
            return _response(refused(refusal))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path in _HEALTH or path.startswith(tuple(f"{health}/" for health in _HEALTH)):
            return web.Response(text="ok")
        user = self._user_of(request.headers, request.transport)
        accept = request.headers.get("Accept", "")
        served = self._server.served
        known = discovery(path, accept, self.address, served) or openapi(path, accept, served)
        if known is not None or path.startswith("/openapi"):
            self._server.check_path(user, request.method, path)
            if known is None:
                raise no_such_path()
            body = known[1] if isinstance(known[1], bytes) else msgspec.json.encode(known[1])
            return _document(body, known[0], request.headers.get("If-None-Match", ""))
        if request.method not in _METHODS:
            raise StatusError(405, "MethodNotAllowed", f"there is no method {request.method}", {})
        body = await _body_of(request)
        shape = shape_of(accept)
        query = tuple(request.query.items())
        headers = request.headers
        asked = ApiRequest(
            request.method,
            path,
            query,
            body,
            headers.get("Content-Type", ""),
            user,
            user_agent=headers.get("User-Agent", ""),
        )
        if path.startswith(f"{USAGE}/"):
            return _response(await usage(asked, self._server, self._agents.fetch))
        include_object = request.query.get("includeObject") or "Metadata"
        check_included(shape, include_object)
        answer = await self._carried_out(asked, request.headers, request.transport)
        if isinstance(answer, WatchAnswer):
            lines = Lines(answer.resource, shape, self._server.wall_ns, include_object)
            return await self._stream(request, answer, lines)
        if isinstance(answer, NodeAnswer):
            return await self._agents.pass_on(request, answer, body)
        if isinstance(answer, JsonAnswer) and answer.code in (410, 504) and is_set(request.query.get("watch")):
            # That is where a watch looks for it: a stream of one event.
            output = await output_for(request, lambda: None)
            await output.write(error_line(answer.value))
            await output.end()
            return output.response
        body = written(answer, shape, wall_ns=self._server.wall_ns(), include_object=include_object)
        return _response(answer, body)

    async def _carried_out(self, asked: ApiRequest, headers: Headers, transport: asyncio.Transport | None) -> Answer:
        if self._between is None:
            return await self._reviewed(asked)
        try:
            return await self._between(asked, headers.get("User-Agent", ""), lambda: self._reviewed(asked))
        except ConnectionError as error:
            if transport is not None:
                transport.abort()
            raise unavailable(str(error)) from None

    async def _reviewed(self, asked: ApiRequest) -> Answer:
        """The answer of the server, which webhooks review first."""
        admission = Admission()
        asked = msgspec.structs.replace(asked, admission=admission)
        for _ in range(REVIEWS_AT_MOST):
            try:
                return self._server.handle(asked)
            except ReviewWantedError as wanted:
                admission.verdicts[wanted.key] = await self._webhooks.ask(wanted)
            except ConversionWantedError as wanted:
                await self._convert(wanted)
        return refused(internal_error(f"more than {REVIEWS_AT_MOST} reviews are needed"))

    async def _convert(self, wanted: ConversionWantedError) -> None:
        try:
            self._server.learn(wanted, await self._webhooks.convert(wanted))
        except FailedConversionError as failure:
            self._server.learn(wanted, failure)

    def _user_of(self, headers: Headers, transport: asyncio.BaseTransport | None) -> ApiUser:
        """The user of a request, or the impersonated one. Raises StatusError."""
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        shown = subject_of(certificate) if certificate else None
        user = self._server.user_of(headers.get("Authorization", ""), shown)
        return self._server.impersonated(user, other_user(headers)) if "Impersonate-User" in headers else user

    async def _tunnel_to(self, head: Head, transport: asyncio.Transport) -> tuple[NodeAnswer, Tunnel]:
        """The target of an upgraded connection. Raises StatusError."""
        headers = CIMultiDict(head.headers)
        if self._tls is None:
            refuse_strangers(headers, False)
        user = self._user_of(headers, transport)
        path, _, query = head.target.partition("?")
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        asked = ApiRequest(head.method, unquote(path), pairs, user=user)
        with self._clients.serving():
            answer = await self._carried_out(asked, headers, transport)
        if isinstance(answer, NodeAnswer):
            return answer, self._agents.tunnel(answer)
        if isinstance(answer, WatchAnswer):
            answer.watcher.end()
        if isinstance(answer, JsonAnswer) and answer.code >= 400:
            raise error_of(answer)
        raise StatusError(400, "BadRequest", "Upgrade request required")

    async def _stream(self, request: web.BaseRequest, answer: WatchAnswer, lines: Lines) -> web.StreamResponse:
        transport = request.transport
        abort = transport.abort if transport is not None else lambda: None
        stream = Stream(answer, lines, abort, self._clients, self._server, self._convert)
        self._streams[stream] = None
        seconds = int(request.query.get("timeoutSeconds") or 0)
        with self._clients.waiting(seconds, lambda: self._end(answer)), suppress(ConnectionError):
            try:
                output = await output_for(request, lambda: stream.end(None))
                stream.start()
                while data := await stream.next():
                    await output.write(data)
                    self._clients.told()
                await output.end()
                return output.response
            finally:
                self._streams.pop(stream, None)
                self._end(answer)
        return web.Response()  # nobody listens any more

    def _end(self, answer: WatchAnswer) -> None:
        with self._server.lock:
            answer.watcher.end()


def _document(body: bytes, media: str, has: str) -> web.Response:
    """A document, unless the client `has` just this one: the value of If-None-Match."""
    tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    headers = {"Content-Type": media, "Vary": "Accept", "ETag": tag}
    return web.Response(status=304, headers=headers) if has == tag else web.Response(body=body, headers=headers)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    """A request whose body may be as large as that of the API."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_BYTES_AT_MOST)


async def _body_of(request: web.BaseRequest) -> bytes:
    if not request.body_exists:
        return b""
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        text = f"limit is {BODY_BYTES_AT_MOST} bytes"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}") from None


def _response(answer: Body, body: bytes | None = None) -> web.Response:
    media_type = "text/plain" if isinstance(answer, TextAnswer) else JSON
    headers = [("Content-Type", media_type), ("Cache-Control", "no-cache, private")]
    room = WARNING_LETTERS_AT_MOST
    for warning in getattr(answer, "warnings", ())[:WARNINGS_AT_MOST]:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        room -= len(text)
        if room >= 0:
            headers.append(("Warning", f'299 - "{text}"'))
    retry_after_s = getattr(answer, "retry_after_s", None)
    if retry_after_s is not None:
        headers.append(("Retry-After", str(retry_after_s)))
    return web.Response(body=answer.body() if body is None else body, status=answer.code, headers=headers)
