"""Logs over real connections: at the client's pace, to the end of the container.

The disk may fail or hang.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from aiohttp import web

from runtime.cri.messages import ContainerState, ContainerStatus, ContainerStatusResponse
from runtime.http_server.listener import HttpListener
from runtime.http_server.log_streams import THREADS, LogStreams
from runtime.logs.lines import LogReadOptions
from runtime.logs.source import LocalLogSource, OpenLog
from tests.runtime.http_server.clients import Client, ask, listening

LINE = b"2026-01-01T00:00:00Z stdout F " + b"x" * 1000 + b"\n"


class OneContainer:
    """A runtime of one container, with its log at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = ContainerState.CONTAINER_RUNNING

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Future[Any]:
        done: Future[Any] = Future()
        status = ContainerStatus(id=request.container_id, state=self.state, log_path=str(self.path))
        done.set_result(ContainerStatusResponse(status=status))
        return done

    def stream(self, *_: Any) -> Any:
        raise AssertionError


class Counting(LocalLogSource):
    """Counts the bytes that are read.

    `hang` makes every opening wait, `begun` tells of the first that does.
    """

    def __init__(self) -> None:
        self.read_bytes = 0
        self.opened: SimpleQueue[_Counted] = SimpleQueue()
        self.hang: threading.Event | None = None
        self.begun = threading.Event()

    def open(self, path: str) -> OpenLog:
        self.begun.set()
        if self.hang is not None:
            self.hang.wait(120)
        opened = _Counted(super().open(path), self)
        self.opened.put(opened)
        return opened


class _Counted:
    def __init__(self, log: OpenLog, owner: Counting) -> None:
        self._log = log
        self._owner = owner
        self.closed = threading.Event()

    @property
    def identity(self) -> Hashable:
        return self._log.identity

    def size(self) -> int:
        return self._log.size()

    def read(self, offset: int, limit_bytes: int) -> bytes:
        data = self._log.read(offset, limit_bytes)
        self._owner.read_bytes += len(data)
        return data

    def close(self) -> None:
        self._log.close()
        self.closed.set()


@contextmanager
def serving(cri: OneContainer, source: Counting, answered: threading.Event | None = None) -> Iterator[HttpListener]:
    """`answered` is set at the end of each request, however it ended."""
    streams = LogStreams(cri, source)

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/other":
            return web.Response(text="fine")
        try:
            return await streams.answer(request, "id", LogReadOptions(follow=request.path == "/follow"))
        finally:
            if answered is not None:
                answered.set()

    with listening(handler) as listener:
        yield listener
    streams.close()


def test_a_follower_that_does_not_read_costs_little_memory_and_no_disk_reads(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    with open(log, "wb") as file:
        for _ in range(64):
            file.write(LINE * 1000)
    source = Counting()
    with serving(OneContainer(log), source) as listener:
        lazy = [Client(listener.port) for _ in range(4)]
        for each in lazy:
            each.send("GET /follow HTTP/1.1\r\nHost: n\r\n\r\n")
        quick = ask(listener.port, "/all")
        assert quick.status == 200
        assert quick.body.count("x" * 1000) > 60_000
        read_by_lazy = source.read_bytes - log.stat().st_size
        # What the system takes into its buffers for each, and no more.
        assert read_by_lazy < len(lazy) * 10 * 2**20
        for each in lazy:
            each.close()


# (spec 11.2.6)
def test_a_follower_ends_with_the_container_and_sees_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_bytes(LINE)
    cri = OneContainer(log)
    with serving(cri, Counting()) as listener, closing(Client(listener.port)) as client:
        client.send("GET /follow HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
        client.read(500)
        with open(log, "ab") as file:
            file.write(b"2026-01-01T00:00:01Z stdout F last words")
        cri.state = ContainerState.CONTAINER_EXITED
        assert client.rest().rstrip().endswith(b"last words\n\r\n0")


def test_disks_that_hang_cost_those_who_read_them_and_nobody_else(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_bytes(LINE)
    source = Counting()
    source.hang = threading.Event()
    with serving(OneContainer(log), source) as listener:
        stuck = [Client(listener.port) for _ in range(2 * THREADS)]
        for each in stuck:
            each.send("GET /all HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
        assert ask(listener.port, "/other").body == "fine"
        source.hang.set()
        for each in stuck:
            assert b"200 OK" in each.rest()
            each.close()


def test_a_client_that_leaves_during_a_slow_read_leaves_no_file_open(tmp_path: Path) -> None:
    """People press Ctrl-C if nothing comes. Over months that would use up all descriptors."""
    log = tmp_path / "0.log"
    files = (log, tmp_path / "0.log.20260101-000003", tmp_path / "0.log.20260101-000006")
    for each in files:
        each.write_bytes(LINE)
    source, left = Counting(), threading.Event()
    source.hang = threading.Event()
    with serving(OneContainer(log), source, left) as listener:
        with closing(Client(listener.port)) as client:
            client.send("GET /all HTTP/1.1\r\nHost: n\r\n\r\n")
            assert source.begun.wait(120)
        assert left.wait(120)
        source.hang.set()
        opened = [source.opened.get(timeout=120) for _ in files]
        assert all(each.closed.wait(120) for each in opened)


def test_a_log_that_is_not_there_says_so(tmp_path: Path) -> None:
    with serving(OneContainer(tmp_path / "0.log"), Counting()) as listener:
        answer = ask(listener.port, "/all")
        assert (answer.status, answer.body) == (500, "the log cannot be read: No such file or directory")
