"""The observer of a record: the page of a node, and any moment of what was recorded.

Read-only, on loopback, for holders of a token. The page has a slider instead of a stream. MS is in ms since 1970.

| path | answer |
|---|---|
| `/ui`, `/ui/FILE` | The page. |
| `/ui/record` | When the record and its runs begin and end. |
| `/ui/moments/MS` | All parts at that time, as the stream of a node tells them. |
| `/ui/moments/MS/pods/UID` | The timeline of a pod, as the agent would have told it then. |
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable
from typing import Protocol, TypeVar

from aiohttp import web

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.listener import HttpListener
from runtime.http_server.observer import HEADERS, Look, event_data, page
from runtime.http_server.observer_door import observed_path
from runtime.io.daemon_threads import DaemonThreads
from runtime.io.event_loop import LoopThread

T = TypeVar("T")
LOOPBACK = "127.0.0.1"

_MOMENT = re.compile(r"/ui/moments/([0-9]{1,15})(?:/pods/([^/]{1,253}))?")
_BODY, _OF_RECORD = b"<body>", b'<body class="of-record">'


class RecordedView(Protocol):
    """The data. Methods may wait; one thread calls them.

    Raises HttpRefusal for a moment that cannot be shown.
    """

    def span(self) -> bytes:
        """JSON: `from` and `to` in ms since 1970, and `runs`, a list of such pairs."""

    def look_at(self, at_ms: int) -> Look: ...

    def timeline_at(self, at_ms: int, uid: str) -> bytes | None:
        """JSON; None for an unknown pod."""


class RecordObserver:
    """See the module. `start` first; `close` last."""

    def __init__(self, view: RecordedView, loop: LoopThread) -> None:
        self._view = view
        self._token = secrets.token_urlsafe(18)
        self._thread = DaemonThreads(1, "record")
        self._listener = HttpListener(loop, self.answer, host=LOOPBACK, port=0)

    def start(self) -> str:
        """Serve; the link, with the token in it. Raises OSError."""
        self._listener.start()
        return f"http://actorlet:{self._token}@{LOOPBACK}:{self._listener.port}/ui"

    def close(self) -> None:
        """Stop serving."""
        self._listener.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Raises HttpRefusal."""
        path = observed_path(request, self._token)
        if request.method != "GET":
            raise HttpRefusal(405, "a record can only be read", (("Allow", "GET"),))
        if path == "/ui/record":
            return _json(await self._on_thread(self._view.span))
        moment = _MOMENT.fullmatch(path)
        if moment is None:
            return _of_record(page(path.removeprefix("/ui").removeprefix("/")))
        at_ms, uid = int(moment[1]), moment[2]
        if uid is None:
            return _json(event_data(None, await self._on_thread(lambda: self._view.look_at(at_ms))) or b"")
        told = await self._on_thread(lambda: self._view.timeline_at(at_ms, uid))
        if told is None:
            raise HttpRefusal(404, f"nothing was known of a pod {uid}")
        return _json(told)

    async def _on_thread(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, question)


def _of_record(answer: web.Response) -> web.Response:
    """The page, told that it shows a record."""
    if answer.content_type == "text/html":
        assert isinstance(answer.body, bytes)
        answer.body = answer.body.replace(_BODY, _OF_RECORD)
    return answer


def _json(data: bytes) -> web.Response:
    return web.Response(body=data, content_type="application/json", charset="utf-8", headers=HEADERS)
