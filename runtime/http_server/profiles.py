"""Profiles of the agent's threads for `go tool pprof` and for people: `/debug/pprof/`.

A profile samples every thread a hundred times a second, for the requested time; one profile at a time. A sample counts
for the current line of the thread, whether it computes or waits for the interpreter. There are no goroutines here;
under that name every thread's stack is shown. This agent has no execution trace and resolves no symbols by address, and
says so.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
import threading
import time
import traceback
from collections import Counter
from types import FrameType

from aiohttp import web

from config.values.harmless_text import harmless_html
from runtime.http_server.heads import HttpRefusal, Query
from runtime.http_server.targets import first_of

SECONDS = 30
SECONDS_AT_MOST = 300
EVERY_SECONDS = 0.01
DEPTH_AT_MOST = 64
STACKS_AT_MOST = 20_000
NANOSECONDS = 10**9
PAGES = {
    "cmdline": "the command line, parts parted by NUL",
    "goroutine": "the stack of every thread",
    "profile": "where the time goes: ?seconds=30, for `go tool pprof`; ?debug=1 for people",
    "symbol": "names are in the profile; nothing is to be looked up",
    "trace": "not there: an execution trace is Go's",
}

Stack = tuple[tuple[str, str, int], ...]
"""(function, file, line), the innermost first."""


class Profiles:
    def __init__(self) -> None:
        self._busy = False

    async def answer(self, name: str, query: Query) -> web.Response:
        """Answer a request for a profile. Raises HttpRefusal."""
        if name == "":
            return web.Response(text=_index(), content_type="text/html")
        if name == "cmdline":
            return web.Response(body="\0".join(_command()).encode(), content_type="text/plain")
        if name == "goroutine":
            return web.Response(text=_stacks(), content_type="text/plain")
        if name == "symbol":
            return web.Response(text="num_symbols: 0\n", content_type="text/plain")
        if name == "profile":
            return await self._profile(query)
        if name == "trace":
            raise HttpRefusal(501, "this agent has no execution trace; /debug/pprof/profile shows where its time goes")
        raise HttpRefusal(404, f"Unknown profile {name!r}; there are {', '.join(PAGES)}")

    async def _profile(self, query: Query) -> web.Response:
        first = first_of(query)
        seconds = first.get("seconds", str(SECONDS))
        if not (seconds.isascii() and seconds.isdecimal() and len(seconds) < 5 and 0 < int(seconds) <= SECONDS_AT_MOST):
            raise HttpRefusal(400, f"seconds: {seconds!r} is not a number from 1 to {SECONDS_AT_MOST}")
        if self._busy:
            raise HttpRefusal(500, "could not enable CPU profiling: one is being made already")
        self._busy = True
        began_ns = time.time_ns()
        try:
            stacks = await _looked_at(int(seconds))
        finally:
            self._busy = False
        if first.get("debug", "0") != "0":
            return web.Response(text=folded(stacks), content_type="text/plain")
        data = await asyncio.to_thread(pprof, stacks, began_ns, int(seconds) * NANOSECONDS)
        headers = {"Content-Disposition": 'attachment; filename="profile"'}
        return web.Response(body=data, content_type="application/octet-stream", headers=headers)


async def _looked_at(seconds: int) -> Counter[Stack]:
    """Every stack, and how often it was seen."""
    seen: Counter[Stack] = Counter()
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    own = threading.get_ident()
    while loop.time() < ends:
        for thread, frame in sys._current_frames().items():
            if thread != own and (len(seen) < STACKS_AT_MOST or (stack_of(frame) in seen)):
                seen[stack_of(frame)] += 1
        await asyncio.sleep(EVERY_SECONDS)
    return seen


def stack_of(frame: FrameType | None) -> Stack:
    """Bounded."""
    found: list[tuple[str, str, int]] = []
    while frame is not None and len(found) < DEPTH_AT_MOST:
        code = frame.f_code
        found.append((code.co_qualname, code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return tuple(found)


def folded(stacks: Counter[Stack]) -> str:
    """A line for each stack, outermost first, and how often: what flame graphs are drawn from."""
    lines = Counter[str]()
    for stack, count in stacks.items():
        lines[";".join(function for function, _, _ in reversed(stack))] += count
    return "".join(f"{line} {count}\n" for line, count in lines.most_common())


def pprof(stacks: Counter[Stack], began_ns: int, lasted_ns: int) -> bytes:
    """The profile as a compressed protobuf of pprof's profile.proto. Samples: (count, ns)."""
    texts: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str], int] = {}
    locations: dict[tuple[str, str, int], int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    period_ns = int(EVERY_SECONDS * NANOSECONDS)
    parts = [_field(1, _number(1, text(kind)) + _number(2, text(unit))) for kind, unit in _SAMPLES]
    for stack, count in stacks.items():
        ids = [locations.setdefault(each, len(locations) + 1) for each in stack]
        values = _varint(count) + _varint(count * period_ns)
        parts.append(_field(2, _field(1, b"".join(map(_varint, ids))) + _field(2, values)))
    for (name, file, line), number in locations.items():
        function = functions.setdefault((name, file), len(functions) + 1)
        parts.append(_field(4, _number(1, number) + _field(4, _number(1, function) + _number(2, line))))
    for (name, file), number in functions.items():
        parts.append(_field(5, _number(1, number) + _number(2, text(name)) + _number(4, text(file))))
    kind = _number(1, text(_SAMPLES[1][0])) + _number(2, text(_SAMPLES[1][1]))
    parts += [_field(6, value.encode()) for value in texts]
    parts += [_number(9, began_ns), _number(10, lasted_ns), _field(11, kind), _number(12, period_ns)]
    return gzip.compress(b"".join(parts), mtime=0)


_SAMPLES = (("samples", "count"), ("cpu", "nanoseconds"))


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _stacks() -> str:
    names = {each.ident: each.name for each in threading.enumerate()}
    parts = []
    for thread, frame in sys._current_frames().items():
        parts.append(f"{names.get(thread, thread)}:\n{''.join(traceback.format_stack(frame))}")
    return "\n".join(parts)


def _command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]


def _index() -> str:
    rows = [f'<a href="{name}">{name}</a> {harmless_html(about)}' for name, about in PAGES.items()]
    return "\n".join(["<!doctype html>", "<title>/debug/pprof/</title>", "<pre>", *rows, "</pre>\n"])
