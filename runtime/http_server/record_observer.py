"""The observer of a record: the page of a node, and any moment of what was recorded.

Read-only, on loopback, for holders of a token. The page has a slider instead of a stream:

    /ui, /ui/FILE                       the page
    /ui/record                          when the record begins and ends, and what lies between
    /ui/moments/MS                      all parts at that time, in ms since 1970, as the stream of a node tells them
    /ui/moments/MS/pods/UID             the timeline of a pod, as the agent would have told it then
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Protocol, TypeVar

from aiohttp import web

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.observer import HEADERS, Look, event_data, page
from runtime.http_server.observer_door import observed_path

T = TypeVar("T")

_MOMENT = re.compile(r"/ui/moments/([0-9]{1,15})(?:/pods/([^/]{1,253}))?")
_BODY, _OF_RECORD = b"<body>", b'<body class="of-record">'


class RecordedView(Protocol):
    """The data. Methods may wait, and run on a thread. Raises HttpRefusal for a moment that cannot be shown."""

    def span(self) -> bytes:
        """JSON: `from` and `to` in ms since 1970, and `runs`, a list of such pairs."""

    def look_at(self, at_ms: int) -> Look: ...

    def timeline_at(self, at_ms: int, uid: str) -> bytes | None:
        """JSON; None for an unknown pod."""


class RecordObserver:
    """See the module. `answer` is the handler of a listener."""

    def __init__(self, view: RecordedView, token: str) -> None:
        self._view = view
        self._token = token

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Raises HttpRefusal."""
        path = observed_path(request, self._token)
        if request.method != "GET":
            raise HttpRefusal(405, "a record can only be read", (("Allow", "GET"),))
        if path == "/ui/record":
            return _json(await _on_thread(self._view.span))
        moment = _MOMENT.fullmatch(path)
        if moment is None:
            return _of_record(page(path.removeprefix("/ui").removeprefix("/")))
        at_ms, uid = int(moment[1]), moment[2]
        if uid is None:
            return _json(event_data(None, await _on_thread(lambda: self._view.look_at(at_ms))) or b"")
        told = await _on_thread(lambda: self._view.timeline_at(at_ms, uid))
        if told is None:
            raise HttpRefusal(404, f"nothing was known of a pod {uid}")
        return _json(told)


def _of_record(answer: web.Response) -> web.Response:
    """The page, told that it shows a record."""
    if answer.content_type == "text/html":
        assert isinstance(answer.body, bytes)
        answer.body = answer.body.replace(_BODY, _OF_RECORD)
    return answer


async def _on_thread(question: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, question)


def _json(data: bytes) -> web.Response:
    return web.Response(body=data, content_type="application/json", charset="utf-8", headers=HEADERS)
