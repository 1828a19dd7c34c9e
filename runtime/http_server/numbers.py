"""The node's numbers: `/stats/summary` and the pages for Prometheus (spec 11.2, 11.6, 11.7).

`NumbersView` makes the pages on threads of its own. A page waits as long as the timeout for a hanging disk; pods and
logs are served meanwhile. At most `AT_ONCE` pages are made at a time. A client that comes then waits for a page that is
being made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar

from aiohttp import web

from runtime.http_server.heads import HttpRefusal, query_of
from runtime.http_server.targets import first_of
from runtime.io.daemon_threads import DaemonThreads
from runtime.metrics import slis
from runtime.metrics.exposition import CONTENT_TYPE, exposition

T = TypeVar("T")

AT_ONCE = 2
_TRUE = ("true", "1", "True", "TRUE", "t", "T")


class NumbersView(Protocol):
    """See the module. Each method may wait, and is called on a thread."""

    def summary(self, *, only_cpu_and_memory: bool = False) -> bytes | None:
        """The summary as JSON; None if nothing is known."""

    def metrics(self) -> bytes: ...

    def cadvisor(self) -> bytes: ...

    def resource(self) -> bytes: ...

    def probes(self) -> bytes: ...

    def late(self) -> tuple[str, ...]: ...


class Numbers:
    def __init__(self, view: NumbersView) -> None:
        self._view = view
        self._threads = DaemonThreads(AT_ONCE, "http-numbers")
        self._checks = slis.Checks()
        self._pages: Mapping[str, Callable[[], bytes]] = {
            "": view.metrics,
            "cadvisor": view.cadvisor,
            "resource": view.resource,
            "probes": view.probes,
            "slis": self._slis,
        }

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def summary(self, request: web.BaseRequest, _: Mapping[str, str]) -> web.Response:
        """Answer a request for the summary. Raises HttpRefusal."""
        asked = first_of(query_of(request.rel_url.raw_query_string)).get("only_cpu_and_memory", "")
        body = await self._on_thread(partial(self._view.summary, only_cpu_and_memory=asked in _TRUE))
        if body is None:
            raise HttpRefusal(500, "what this node and its pods use is not known now; the log of the agent may say why")
        return web.Response(body=body, content_type="application/json")

    async def metrics(self, request: web.BaseRequest, _: Mapping[str, str]) -> web.Response:
        """The metrics page of that path."""
        page = self._pages[request.path.removeprefix("/metrics").strip("/")]
        return web.Response(body=await self._on_thread(page), headers={"Content-Type": CONTENT_TYPE})

    def _slis(self) -> bytes:
        return exposition(self._checks.told({"ping": True, "actors": not self._view.late()}))

    async def _on_thread(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)
