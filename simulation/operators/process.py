"""The process of an operator, kept alive as the pod of a Deployment is.

It starts again at once after its first end, then after 10, 20, 40 ... 300 seconds of the cluster's time; an end after
ten minutes of life counts as the first (`next_pause_ns`). An end with status 0 is an end, too: a Deployment has
`restartPolicy: Always`. The last lines of its output are kept. Only the first start can fail, with `OSError`.

While it starts, the cluster takes it for a client at work, so that time does not run away from it. It has started with
its first request, or when it has been idle for ten real seconds, or after two minutes (`Start`). Imports alone may take
long on a busy machine. All calls come from one loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import Protocol

import msgspec

from runtime.host.family_effort import family_cpu_ns, family_wants_cpu
from runtime.io.programs import Program, running
from simulation.apiserver.front.watches import Clients
from simulation.planes.programs import ending_of

SECOND_NS = 10**9
FIRST_PAUSE_NS, LONGEST_PAUSE_NS, LIVES_NS = 10 * SECOND_NS, 300 * SECOND_NS, 600 * SECOND_NS
LINES_KEPT, LINE_BYTES_AT_MOST = 400, 4096
LOOKS_EVERY_S, IDLE_LOOKS, LOOKS = 1.0, 10, 120
ENDS_KEPT = 100
_LAST_WAIT_S = 0.5
_PIECE_BYTES = 65536


class Times(Protocol):
    """The cluster's time."""

    def now_ns(self) -> int: ...
    def after(self, ns: int, operation: Callable[[], object]) -> None: ...


class Started(msgspec.Struct, frozen=True):
    """What is run: the program with its arguments, all of its environment, and where."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str


class Start(msgspec.Struct, frozen=True):
    """How a start without a request goes, looked at once a second.

    `idle`: looks in a row at which it wanted no CPU.
    """

    looks: int = 0
    idle: int = 0

    def looked(self, *, wants_cpu: bool) -> Start:
        """After one more look."""
        return Start(self.looks + 1, 0 if wants_cpu else self.idle + 1)

    @property
    def is_over(self) -> bool:
        """Whether it counts as started: it waits for something else, or has had its time."""
        return self.idle >= IDLE_LOOKS or self.looks >= LOOKS


def next_pause_ns(pause_ns: int | None, lived_ns: int) -> int:
    """The pause after an end, after a life of `lived_ns`. `pause_ns`: the one before, if any."""
    if pause_ns is None or lived_ns > LIVES_NS:
        return 0
    return min(max(2 * pause_ns, FIRST_PAUSE_NS), LONGEST_PAUSE_NS)


class OperatorProcess:
    """See the module. `on_start` is called with the number of each life, from 1."""

    def __init__(self, started: Started, times: Times, clients: Clients, on_start: Callable[[int], object]) -> None:
        self._started = started
        self._times = times
        self._clients = clients
        self._on_start = on_start
        self._program: Program | None = None
        self._stack = AsyncExitStack()
        self._starting = ExitStack()
        self._is_starting = False
        self._keeper: asyncio.Task[None] | None = None
        self._killed = False
        self._output: deque[bytes] = deque(maxlen=LINES_KEPT)
        self._rest = b""
        self.lives = 0
        self.ends: deque[str] = deque(maxlen=ENDS_KEPT)
        """How it has ended by itself, each time."""

    @property
    def runs(self) -> bool:
        """Whether it runs now, and is in no pause."""
        return self._program is not None

    @property
    def starts(self) -> bool:
        """Whether it runs, and is still starting."""
        return self._is_starting

    def lines(self) -> tuple[str, ...]:
        """The last lines of its output, with a line for each end."""
        return tuple(line.decode(errors="replace") for line in (*self._output, *([self._rest] if self._rest else [])))

    async def start(self) -> None:
        """Raises OSError when the program cannot be run."""
        program = await self._begin()
        self._keeper = asyncio.get_running_loop().create_task(self._keep(program))

    def has_asked(self) -> None:
        """Its first request has come: it has started."""
        self._is_starting = False
        self._starting.close()

    def kill(self) -> None:
        """Kill it; it starts again as after any end."""
        if self._program is not None:
            self._killed = True
            self._program.kill()

    async def end(self) -> None:
        """End it for good. May be called more than once."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        self.has_asked()
        self._program = None
        await self._stack.aclose()

    def cpu_ns(self) -> int:
        """The CPU time that it and its children have used; 0 without one."""
        return 0 if self._program is None else family_cpu_ns(self._program.pid)

    def wants_cpu(self) -> bool:
        """Whether it, or one of its children, runs or waits for a core."""
        return self._program is not None and family_wants_cpu(self._program.pid)

    async def _begin(self) -> Program:
        this = self._started
        self.has_asked()
        self._starting.enter_context(self._clients.serving())
        self._is_starting = True
        try:
            context = running(this.words, this.environment, merged=True, directory=this.directory)
            program = await self._stack.enter_async_context(context)
        except OSError:
            self.has_asked()
            raise
        self.lives += 1
        self._look_later(self.lives, Start())
        self._program = program
        self._killed = False
        self._on_start(self.lives)
        return program

    def _look_later(self, life: int, start: Start) -> None:
        asyncio.get_running_loop().call_later(LOOKS_EVERY_S, self._look, life, start)

    def _look(self, life: int, start: Start) -> None:
        if life != self.lives or not self._is_starting:
            return
        start = start.looked(wants_cpu=self.wants_cpu())
        if start.is_over:
            self.has_asked()
        else:
            self._look_later(life, start)

    async def _keep(self, program: Program) -> None:
        pause_ns: int | None = None
        while True:
            began_ns = self._times.now_ns()
            status = await self._lived(program)
            self._program = None
            self.has_asked()
            await self._stack.aclose()
            if not self._killed:
                self.ends.append(ending_of(status))
            pause_ns = next_pause_ns(pause_ns, self._times.now_ns() - began_ns)
            self._say(f"[it has ended {'by the sweep' if self._killed else ending_of(status)}; it starts again]")
            await self._pause(pause_ns)
            try:
                program = await self._begin()
            except OSError as error:
                self._say(f"[it does not start again: {error.strerror}]")
                return

    async def _lived(self, program: Program) -> int:
        reading = asyncio.ensure_future(self._read(program))
        try:
            status = await program.status()
            await asyncio.wait([reading], timeout=_LAST_WAIT_S)  # a child may hold the pipe open
            return status
        finally:
            reading.cancel()

    async def _read(self, program: Program) -> None:
        while piece := await program.output.read(_PIECE_BYTES):
            *whole, self._rest = (self._rest + piece).split(b"\n")
            self._output.extend(line[:LINE_BYTES_AT_MOST] for line in whole)
            self._rest = self._rest[-LINE_BYTES_AT_MOST:]

    def _say(self, text: str) -> None:
        if self._rest:
            self._output.append(self._rest)
            self._rest = b""
        self._output.append(text.encode())

    async def _pause(self, ns: int) -> None:
        if ns:
            over = asyncio.Event()
            self._times.after(ns, over.set)
            await over.wait()


def words_of(command: Sequence[str]) -> tuple[str, ...]:
    """The words of a command. Raises ValueError for none, and for one with a NUL."""
    if not command or not command[0] or any("\0" in word for word in command):
        raise ValueError(f"{list(command)} is no command; write it as ['python3', 'operator.py']")
    return tuple(command)
