"""The logs of the node itself at `/logs/`: the files of `/var/log`, and the journal by query.

See spec 11.5.

Only plain files and listings beneath the directory are shown (`runtime.files.beneath`). Files are sent at the pace of
the client and read on a few threads of their own. journalctl has half a minute. Patterns are checked on one thread of
their own, for a hostile one takes a second of CPU: only other patterns wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gzip
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from aiohttp import web

from config.values.harmless_text import harmless_html
from runtime.files.beneath import is_directory, open_beneath
from runtime.files.disk_turns import DiskTurns
from runtime.http_server.heads import HttpRefusal, Query
from runtime.http_server.log_query import LogQuery, files_of, has_pattern, is_log_query, journal_command, log_query
from runtime.io.daemon_threads import DaemonThreads
from runtime.io.programs import running

DIRECTORY = "/var/log"
JOURNALCTL = "journalctl"
THREADS = 4
JOURNAL_SECONDS = 30.0
CHUNK_BYTES = 64 * 1024
TEXT = "text/plain"
_NOTHING = b"-- No entries --"


@dataclass(frozen=True, slots=True)
class SystemLogPlaces:
    """The paths of the logs. `journalctl`: the program."""

    directory: str = DIRECTORY
    journalctl: str = JOURNALCTL
    queries: bool = False
    """Whether the journal may be queried (`enableSystemLogQuery`)."""


class SystemLogs:
    def __init__(self, places: SystemLogPlaces) -> None:
        self._places = places
        self._threads = DaemonThreads(THREADS, "system-logs")
        self._patterns = DaemonThreads(1, "log-patterns")

    def close(self) -> None:
        for threads in (self._threads, self._patterns):
            threads.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: web.BaseRequest, path: str | None, query: Query) -> web.StreamResponse:
        """`path` is what follows `/logs/`; None for `/logs` itself. Raises HttpRefusal."""
        if self._places.queries and not path and is_log_query(query):
            return await self._query(request, await self._read(query))
        if path is None:
            return web.Response(status=301, headers={"Location": "logs/"})
        return await self._file(request, path)

    async def _read(self, query: Query) -> LogQuery:
        if not has_pattern(query):
            return log_query(query)
        return await asyncio.get_running_loop().run_in_executor(self._patterns, log_query, query)

    # --- files ------------------------------------------------------------------------------------------------------

    async def _file(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        turns, opened = DiskTurns(self._threads), list[int]()
        try:
            try:
                await turns.take(lambda: opened.append(open_beneath(self._places.directory, path)))
                directory = is_directory(opened[0])
            except OSError as error:
                raise _refusal(path, error) from None
            if not directory:
                return await self._send(request, turns, opened[0])
            if path and not path.endswith("/"):
                return web.Response(status=301, headers={"Location": f"{quote(os.path.basename(path))}/"})
            text = await turns.take(lambda: _listing(opened[0]))
            return web.Response(text=text, content_type="text/html")
        finally:
            turns.end(partial(_close_all, opened))

    async def _send(self, request: web.BaseRequest, turns: DiskTurns, descriptor: int) -> web.StreamResponse:
        size = os.fstat(descriptor).st_size
        response = web.StreamResponse(headers={"Content-Type": f"{TEXT}; charset=utf-8"})
        # Bytes written to the file meanwhile are not sent.
        response.content_length = size
        await response.prepare(request)
        at = 0
        while at < size and request.method != "HEAD":
            data = await turns.take(partial(os.pread, descriptor, min(CHUNK_BYTES, size - at), at))
            if not data:
                # The file was truncated: abort, so that the client sees an incomplete answer.
                if request.transport is not None:
                    request.transport.close()
                return response
            await response.write(data)
            at += len(data)
        await response.write_eof()
        return response

    # --- the journal ------------------------------------------------------------------------------------------------

    async def _query(self, request: web.BaseRequest, query: LogQuery) -> web.StreamResponse:
        if query.file:
            return await self._file(request, query.file)
        if request.method == "HEAD":
            raise HttpRefusal(405, "the answer to a query has no head alone", (("Allow", "GET"),))
        output = self._journal(query)
        try:
            first = await anext(output, b"")
            if first.strip() in (b"", _NOTHING) and (found := await self._fallback(query)) is not None:
                return await self._file(request, found)
            return await _streamed(request, first, output)
        finally:
            await output.aclose()

    async def _fallback(self, query: LogQuery) -> str | None:
        """The file of a service that has no journal."""
        if query.narrowed or len(query.services) != 1:
            return None
        for each in files_of(query.services[0]):
            with contextlib.suppress(OSError):
                if await DiskTurns(self._threads).take(partial(_is_file, self._places.directory, each)):
                    return each
        return None

    async def _journal(self, query: LogQuery) -> AsyncGenerator[bytes, None]:
        """The output of journalctl. Raises HttpRefusal before the first piece."""
        command = journal_command(self._places.journalctl, query)
        ends = asyncio.get_running_loop().time() + JOURNAL_SECONDS
        try:
            async with running(command, merged=True) as program:
                while data := await _before(ends, program.output.read(CHUNK_BYTES)):
                    yield data
        except TimeoutError:
            yield f"\n{command[0]} has not ended within {JOURNAL_SECONDS:.0f} s\n".encode()
        except OSError as error:
            raise HttpRefusal(500, f"{command[0]} cannot be run: {error.strerror}") from None


async def _before(ends: float, reading: Awaitable[bytes]) -> bytes:
    """Raises TimeoutError at that time of the loop. A client that is slow is no reason to wait for longer."""
    return await asyncio.wait_for(reading, max(0.0, ends - asyncio.get_running_loop().time()))


def _close_all(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        os.close(each)


def _is_file(directory: str, path: str) -> bool:
    descriptor = open_beneath(directory, path)
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


async def _streamed(request: web.BaseRequest, first: bytes, rest: AsyncIterator[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": TEXT})
    packed = request.headers.get("Accept-Encoding", "") == "gzip"
    if packed:
        response.headers["Content-Encoding"] = "gzip"
    response.enable_chunked_encoding()
    await response.prepare(request)
    data = first
    while data:
        # Each piece is a member of its own: readers take them for one.
        await response.write(gzip.compress(data) if packed else data)
        data = await anext(rest, b"")
    await response.write_eof()
    return response


def _listing(descriptor: int) -> str:
    """Names as links, as file servers write them."""
    with os.scandir(descriptor) as entries:
        names = sorted(f"{each.name}/" if each.is_dir(follow_symlinks=False) else each.name for each in entries)
    lines = [f'<a href="{quote(os.fsencode(name))}">{harmless_html(name)}</a>' for name in names]
    return "\n".join(
        ["<!doctype html>", '<meta name="viewport" content="width=device-width">', "<pre>", *lines, "</pre>\n"]
    )


def _refusal(path: str, error: OSError) -> HttpRefusal:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HttpRefusal(404, f"there is no /{path} among the logs")
    if isinstance(error, PermissionError) or error.errno == errno.ELOOP:
        return HttpRefusal(403, f"/{path} cannot be shown: {error.strerror}")
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return HttpRefusal(400, f"/{path[:300]} is not the path of a file")
    return HttpRefusal(500, f"/{path} cannot be read: {error.strerror or 'the disk does not answer'}")
