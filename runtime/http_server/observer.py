"""The observer: one page at `/ui`, and the stream that keeps it up to date (server-sent events).

Read-only.

The view comes as parts, key -> JSON; this file need not know what they mean. It looks about once a second while
somebody watches, once for all watchers, and sends each watcher the parts that have changed. A slow watcher misses looks
but no parts. The number of watchers is bounded; without a watcher it costs nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

from aiohttp import web

from runtime.http_server.heads import HttpRefusal

LOOK_EVERY_SECONDS = 0.7
ALIVE_EVERY_SECONDS = 15.0
WATCHERS_AT_MOST = 32
PAGE = Path(__file__).parent / "observer_page"
_FILES = {
    "": ("index.html", "text/html"),
    "observer.css": ("observer.css", "text/css"),
    "observer.js": ("observer.js", "text/javascript"),
    "record.css": ("record.css", "text/css"),
    "record.js": ("record.js", "text/javascript"),
    "shares.css": ("shares.css", "text/css"),
    "shares.js": ("shares.js", "text/javascript"),
}
_POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

CHALLENGE = ("WWW-Authenticate", 'Basic realm="actorlet: any name, and a token as the password", charset="UTF-8"')

Look = Mapping[str, bytes]
"""Key such as `pod/<uid>` -> what is to be seen of it, as JSON."""
_NOTHING: Look = {}


def is_observed(path: str) -> bool:
    """Whether it is the observer's."""
    return path == "/ui" or path.startswith("/ui/")


def asking_for_token(refusal: HttpRefusal) -> HttpRefusal:
    """The refusal; a 401 gets the header with which a browser asks the person for a token."""
    return HttpRefusal(401, refusal.text, (CHALLENGE,)) if refusal.status == 401 else refusal


def page(name: str) -> web.Response:
    """A file of the page. Raises HttpRefusal."""
    if name not in _FILES:
        raise HttpRefusal(404, f"there is no /ui/{name}")
    file, kind = _FILES[name]
    return web.Response(body=(PAGE / file).read_bytes(), content_type=kind, charset="utf-8", headers=HEADERS)


class ObserverView(Protocol):
    """The data for the observer. Methods may wait, and run on a thread."""

    def look(self) -> Look: ...

    def timeline(self, uid: str) -> bytes | None:
        """The timeline of that pod as JSON; None for an unknown pod."""


class Observer:
    """See the module. `on_thread` runs what may wait."""

    def __init__(
        self,
        view: ObserverView,
        on_thread: Callable[[Callable[[], Look]], Awaitable[Look]],
        every_seconds: float = LOOK_EVERY_SECONDS,
    ) -> None:
        self._view = view
        self._on_thread = on_thread
        self._every = every_seconds
        self._watchers = 0
        self._looking: asyncio.Task[None] | None = None
        self._seen: Look = _NOTHING
        self._changed = asyncio.Event()

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Goes on until the client goes. Raises HttpRefusal."""
        if self._watchers >= WATCHERS_AT_MOST:
            raise HttpRefusal(503, f"{WATCHERS_AT_MOST} are watching already", (("Retry-After", "10"),))
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        self._watchers += 1
        try:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.get_running_loop().create_task(self._look_on())
            await response.prepare(request)
            told: Look | None = None
            while True:
                changed, seen = self._changed, self._seen
                if (event := _event(told, seen)) is not None and seen is not _NOTHING:
                    await response.write(event)
                    told = seen
                try:
                    await asyncio.wait_for(changed.wait(), ALIVE_EVERY_SECONDS)
                except TimeoutError:
                    await response.write(b": still here\n\n")
        finally:
            self._watchers -= 1

    async def _look_on(self) -> None:
        """Look again and again while somebody watches."""
        while self._watchers:
            self._seen = await self._on_thread(self._view.look)
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()
            await asyncio.sleep(self._every)
        self._seen = _NOTHING


def _event(told: Look | None, seen: Look) -> bytes | None:
    """The changes as an event; None without changes."""
    data = event_data(told, seen)
    return None if data is None else b"data: %s\n\n" % data


def event_data(told: Look | None, seen: Look) -> bytes | None:
    """The changes as JSON; None without changes.

    `told` None: nothing was sent before, so everything is.
    """
    before = _NOTHING if told is None else told
    parts = [json.dumps(key).encode() + b":" + part for key, part in seen.items() if before.get(key) != part]
    gone = [key for key in before if key not in seen]
    if told is not None and not parts and not gone:
        return None
    whole = b"true" if told is None else b"false"
    return b'{"whole":%s,"gone":%s,"parts":{%s}}' % (whole, json.dumps(gone).encode(), b",".join(parts))
