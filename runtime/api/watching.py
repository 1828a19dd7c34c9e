"""One watch over HTTP, from its first byte to its one end.

Owns the life of the stream: it decides when the stream is dead, and calls `on_end` once and last. An idle connection
tells nothing, so the kernel probes the server (TCP keep-alive: after 15 s of silence, dead 30 s later). The stream also
ends when nothing came for as long as the watch was to last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Generic

from runtime.api.answers import refusal
from runtime.api.calls import K, WatchCall, WatchEvent
from runtime.api.connections import NO_ANSWER, ApiConnections, no_answer
from runtime.api.errors import UNREACHABLE, ApiError
from runtime.api.limited import CLOSED
from runtime.api.watch_stream import LineSplitter, LineTooLongError, cut_short, read_event
from runtime.io.event_loop import LoopThread

LOG = logging.getLogger(__name__)

HEADERS_SECONDS = 30.0
"""A server answers a watch at once; events come later."""
SLACK_SECONDS = 30.0
LONGEST_SECONDS = 3600.0
"""The longest that servers keep a watch without a time of its own."""


class Watching(Generic[K]):
    """A `Subscription`. The client calls `begin`, `ended` and `end`, on the loop (`end` also without one)."""

    def __init__(
        self,
        connections: ApiConnections,
        loop: LoopThread,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> None:
        self.call = call
        self._connections = connections
        self._loop = loop
        self._on_event = on_event
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._over = False

    def close(self) -> None:
        """See `Subscription.close`; `on_end` still comes."""
        self._closed = True
        try:
            self._loop.post(self._stop)
        except RuntimeError:
            return  # the loop has ended, and this with it

    def begin(self) -> asyncio.Task[None]:
        """Follow the watch."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        return self._task

    def end(self, error: ApiError | None) -> None:
        """Call `on_end`, unless that was done."""
        if self._over:
            return
        self._over = True
        try:
            self._on_end(None if self._closed else error)
        except Exception:
            LOG.exception("%s: the follower failed when the watch ended", self.call.verb)

    def ended(self) -> None:
        """The task is done, perhaps before its first step."""
        self.end(ApiError(0, UNREACHABLE, CLOSED, self.call.verb))

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        error: ApiError | None = None
        try:
            if not self._closed:
                error = await self._follow()
        except ApiError as refused:
            error = refused
        except NO_ANSWER as fault:
            error = no_answer(fault, self.call.verb)
        except LineTooLongError as fault:
            error = ApiError(200, "NotUnderstood", str(fault), self.call.verb)
        except Exception as fault:
            LOG.exception("%s: a fault of the client", self.call.verb)
            error = ApiError(0, UNREACHABLE, f"a fault of the client: {fault!r}", self.call.verb)
        self.end(error)

    async def _follow(self) -> ApiError | None:
        call = self.call
        async with (
            asyncio.timeout(HEADERS_SECONDS) as limit,
            self._connections.send("GET", call.path, call.query) as response,
        ):
            if response.status != 200:
                body, wait = await response.read(), response.header("retry-after")
                raise refusal(response.status, body, call.verb, wait, self._connections.shown.secrets)
            response.detect_dead_server()
            splitter, silence = LineSplitter(), _silence_seconds(call)
            limit.reschedule(asyncio.get_running_loop().time() + silence)
            while piece := await response.piece():
                for line in splitter.feed(piece):
                    event = read_event(line, call)
                    if self._closed:
                        return None
                    self._deliver(event)
                limit.reschedule(asyncio.get_running_loop().time() + silence)
            return cut_short(splitter, call)

    def _deliver(self, event: WatchEvent[K]) -> None:
        try:
            self._on_event(event)
        except Exception:
            LOG.exception("%s: the follower failed on an event", self.call.verb)


def _silence_seconds(call: WatchCall[K]) -> float:
    asked = dict(call.query).get("timeoutSeconds", "")
    return (float(asked) if asked.isdigit() else LONGEST_SECONDS) + SLACK_SECONDS
