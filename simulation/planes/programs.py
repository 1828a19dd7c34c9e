"""The programs beside a simulated cluster: started, watched, and ended with it.

Each runs in a session of its own and dies with this process (`runtime.io.programs`). The ends of their outputs are
kept: they are what a user is told when a program ends by itself. One that is kept alive begins again then, later each
time. All calls come from the one loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from runtime.io.event_loop import leave_to_others
from runtime.io.programs import Program, running
from simulation.planes.binaries import PlaneError

LOG = logging.getLogger("actorlet.cluster")

INHERITED = ("PATH", "HOME", "TMPDIR", "GOMAXPROCS")
"""Variables of our environment that the programs get.

Others, such as `ETCD_NAME`, would change what they do.
"""
LAST_WORDS_BYTES = 2000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 60.0
"""Before a program begins again: twice as long each time, until it has lived for `LIVES_S`."""
LIVES_S = 30.0
SHORT_LIVES = 5
"""After so many in a row, a program is given up."""
REASONS = (b"panic: ", b"fatal error: ")
"""How the line begins in which a program in Go says why it ends."""
_LAST_WAIT_S = 2.0
_PIECE_BYTES = 65536


class Programs:
    """See the module."""

    def __init__(self) -> None:
        self._after = AsyncExitStack()
        self._watched: list[_Watched] = []
        self._kept: list[_Kept] = []

    async def start(self, words: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
        """Start a program: its path and its arguments. Raises PlaneError."""
        self._watched.append(await self.begun(words, environment))

    async def begun(self, words: Sequence[str], environment: Mapping[str, str]) -> _Watched:
        """A program that has begun, which the caller watches. Raises PlaneError."""
        own = {name: environment[name] for name in INHERITED if name in environment}
        try:
            program = await self._after.enter_async_context(running(words, own, merged=True))
        except OSError as error:
            raise PlaneError(f"{words[0]} does not start: {error.strerror}") from None
        return _Watched(os.path.basename(words[0]), program)

    async def keep(self, words: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
        """Start a program, and again when it ends by itself. Raises PlaneError."""
        self._kept.append(_Kept(self, words, environment, await self.begun(words, environment)))

    def fault(self) -> str:
        """What is wrong: which program has ended by itself, with its last words. Empty if all run."""
        faults = [each.fault for each in self._watched] + [each.fault for each in self._kept]
        return next((fault for fault in faults if fault), "")

    def ended(self) -> tuple[str, ...]:
        """One line for each program that has ended and begun again: how often, and why the last time."""
        return tuple(each.line() for each in self._kept if each.ends)

    async def first_fault(self) -> str:
        """Wait until one has ended by itself; returns the fault."""
        await asyncio.wait([watched.task for watched in self._watched], return_when=asyncio.FIRST_COMPLETED)
        return self.fault()

    async def end(self) -> None:
        """End all, the last one first. May be called more than once."""
        tasks = [each.task for each in self._kept] + [each.task for each in self._watched]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._watched.clear()
        self._kept.clear()
        await self._after.aclose()


class _Kept:
    """A program that begins again when it has ended. `ends`: how often it has."""

    def __init__(
        self, programs: Programs, words: Sequence[str], environment: Mapping[str, str], first: _Watched
    ) -> None:
        self.ends = 0
        self.fault = ""
        self._programs = programs
        self._words = words
        self._environment = environment
        self._last = first
        self._why = ""
        self.task = asyncio.get_running_loop().create_task(self._keep())

    def line(self) -> str:
        times = "once" if self.ends == 1 else f"{self.ends} times"
        return f"{self._last.name} has ended {times} and was started again; the last time {self._why}"

    async def _keep(self) -> None:
        clock = asyncio.get_running_loop().time
        short_lives, began_s = 0, clock()
        try:
            while True:
                await self._last.task
                self.ends += 1
                self._why = self._last.reason
                short_lives = 0 if clock() - began_s >= LIVES_S else short_lives + 1
                if short_lives == SHORT_LIVES:
                    self.fault = self._last.fault
                    return
                await leave_to_others(min(FIRST_PAUSE_S * 2**short_lives, LONGEST_PAUSE_S))
                began_s = clock()
                self._last = await self._programs.begun(self._words, self._environment)
        except PlaneError as error:
            self.fault = str(error)
        finally:
            self._last.task.cancel()


class _Watched:
    def __init__(self, name: str, program: Program) -> None:
        self.fault = ""
        self.name = name
        self.reason = ""
        """How it has ended, and why, in one line."""
        self._first_reason = b""
        self._program = program
        self._words = bytearray()
        self.task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        reading = asyncio.ensure_future(self._read())
        try:
            status = await self._program.status()
            # A child of the program may hold the pipe open.
            await asyncio.wait([reading], timeout=_LAST_WAIT_S)
        finally:
            reading.cancel()
        self.fault = f"{self.name} has ended {ending_of(status)}{_quoted(bytes(self._words))}"
        self.reason = reason_of(status, self._first_reason or bytes(self._words))
        LOG.error("%s", self.fault)

    async def _read(self) -> None:
        while piece := await self._program.output.read(_PIECE_BYTES):
            self._words += piece
            if not self._first_reason:
                lines = bytes(self._words).splitlines()
                self._first_reason = next((line for line in lines if line.startswith(REASONS)), b"")
            del self._words[:-LAST_WORDS_BYTES]


def ending_of(status: int) -> str:
    """How a program ended, for people."""
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"


def reason_of(status: int, words: bytes) -> str:
    """How a program ended, with the last line that it said, or that of its panic."""
    lines = words.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{ending_of(status)}: {last[:300]}" if last else f"{ending_of(status)}, saying nothing"


def _quoted(words: bytes) -> str:
    text = words.decode(errors="replace").strip()
    return f"; its last words:\n{text}" if text else " and said nothing"
