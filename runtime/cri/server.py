"""Any `Cri` served over gRPC, for every client of the interface: crictl, a kubelet, another actorlet.

All calls live on one event loop in one thread, so a thousand calls that hang cost no thread. A call that its client
cancels, or whose deadline passes, is cancelled in the `Cri` too; what time a client leaves is handed on as
`timeout_ns`. `CriError` becomes the gRPC status it stands for; any other exception is UNKNOWN, as a crash of a runtime
would be.

A socket on which somebody listens is refused, one that was left behind is replaced.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from runtime.cri.capability import Cri
from runtime.cri.endpoint import CriEndpoint, knock, parse_endpoint
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.messages import CriMessage
from runtime.cri.transport import SIZE_OPTIONS, TO_GRPC, grpc
from runtime.cri.verbs import ALL_VERBS, Verb
from runtime.cri.wire import codec
from runtime.io.event_loop import hand_over, settled

LOG = logging.getLogger(__name__)


class ServeError(Exception):
    """The endpoint cannot be served. The text says why and what to do."""


class CriServer:
    """Serves `cri` at `endpoint` from `start` to `stop`; also a context manager.

    `interceptors`: of gRPC, for who looks at calls as they come.
    """

    def __init__(self, cri: Cri, endpoint: str, interceptors: Sequence[Any] = ()) -> None:
        self._cri = cri
        self._interceptors = interceptors
        self._endpoint = parse_endpoint(endpoint)
        self._server: Any = None

    def start(self) -> None:
        """Listen. Raises `ServeError`; returns when calls are taken."""
        _make_room(self._endpoint)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cri-server", daemon=True)
        self._thread.start()
        try:
            self._on_loop(self._start())
        except RuntimeError as error:
            self._end_loop()
            raise ServeError(f"{self._endpoint} cannot be served: {error}") from error
        if self._endpoint.path is not None:
            os.chmod(self._endpoint.path, 0o660)

    def stop(self, grace_s: float = 0) -> None:
        """Take no more calls, let those in flight go on for `grace_s` seconds, then cancel them."""
        if self._server is not None and self._thread.is_alive():
            self._on_loop(self._server.stop(grace_s))
            self._end_loop()

    def __enter__(self) -> CriServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _on_loop(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self) -> None:
        options = [*SIZE_OPTIONS, ("grpc.so_reuseport", 0)]
        self._server = grpc.aio.server(options=options, interceptors=self._interceptors)
        self._server.add_generic_rpc_handlers(_handlers(self._cri))
        target = self._endpoint.target if self._endpoint.path is not None else self._endpoint.address
        self._server.add_insecure_port(target)
        await self._server.start()


def _make_room(endpoint: CriEndpoint) -> None:
    if endpoint.path is None:
        return
    found = knock(endpoint)
    if found is None:
        raise ServeError(f"{endpoint} is served already; stop that runtime or take another path")
    if found == errno.ENOTSOCK:
        raise ServeError(f"{endpoint} exists and is not a socket; take another path")
    if found == errno.ECONNREFUSED:
        os.unlink(endpoint.path)
    elif found != errno.ENOENT:
        raise ServeError(f"{endpoint} cannot be served: {os.strerror(found)}")
    elif not os.path.isdir(os.path.dirname(endpoint.path)):
        raise ServeError(f"{endpoint} cannot be served: there is no directory {os.path.dirname(endpoint.path)}")


def _handlers(cri: Cri) -> tuple[Any, ...]:
    """One handler for each service, with a method for each of its verbs."""
    methods: dict[str, dict[str, Any]] = {}
    for verb in ALL_VERBS:
        methods.setdefault(verb.service, {})[verb.name] = _method(cri, verb)
    return tuple(grpc.method_handlers_generic_handler(service, found) for service, found in methods.items())


def _method(cri: Cri, verb: Verb[Any, Any]) -> Any:
    decode, encode = codec(verb.request).decode, codec(verb.response).encode

    async def one(data: bytes, context: Any) -> bytes:
        request = await _request(decode, data, context)
        left = context.time_remaining()
        timeout_ns = None if left is None else max(1, int(left * 1e9))
        try:
            return encode(await settled(cri.call(verb, request, timeout_ns=timeout_ns)))
        except Exception as error:
            await _abort(context, verb, error)
            raise

    async def many(data: bytes, context: Any) -> None:
        request = await _request(decode, data, context)
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[tuple[CriMessage | None, CriError | None]] = asyncio.Queue()

        def put(item: CriMessage | None, error: CriError | None) -> None:
            hand_over(loop, items.put_nowait, (item, error))

        following = cri.stream(verb, request, lambda item: put(item, None), lambda error: put(None, error))
        try:
            while True:
                item, error = await items.get()
                if item is not None:
                    await context.write(encode(item))
                elif error is not None:
                    await _abort(context, verb, error)
                else:
                    return
        finally:
            following.close()

    if verb.streaming:
        return grpc.unary_stream_rpc_method_handler(many)
    return grpc.unary_unary_rpc_method_handler(one)


async def _request(decode: Any, data: bytes, context: Any) -> Any:
    try:
        return decode(data)
    except ValueError as error:
        return await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


async def _abort(context: Any, verb: Verb[Any, Any], error: Exception) -> None:
    """End the call with the status that `error` stands for; raises in any case, as gRPC wants it."""
    if isinstance(error, CriError):
        await context.abort(TO_GRPC[error.code], error.message)
    LOG.error("verb %s failed", verb, exc_info=error)
    await context.abort(TO_GRPC[StatusCode.UNKNOWN], f"{type(error).__name__}: {error}")
