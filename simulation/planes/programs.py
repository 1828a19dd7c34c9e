"""The programs beside a simulated cluster: started, watched, and ended with it.

Each runs in a session of its own and dies with this process (`runtime.io.programs`). The ends of their outputs are
kept: they are what a user is told when a program ends by itself. All calls come from the one loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from runtime.io.programs import Program, running
from simulation.planes.binaries import PlaneError

LOG = logging.getLogger("actorlet.cluster")

INHERITED = ("PATH", "HOME", "TMPDIR", "GOMAXPROCS")
"""Variables of our environment that the programs get.

Others, such as `ETCD_NAME`, would change what they do.
"""
LAST_WORDS_BYTES = 2000
_LAST_WAIT_S = 2.0
_PIECE_BYTES = 65536


class Programs:
    """See the module."""

    def __init__(self) -> None:
        self._after = AsyncExitStack()
        self._watched: list[_Watched] = []

    async def start(self, words: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
        """Start a program: its path and its arguments. Raises PlaneError."""
        own = {name: environment[name] for name in INHERITED if name in environment}
        try:
            program = await self._after.enter_async_context(running(words, own, merged=True))
        except OSError as error:
            raise PlaneError(f"{words[0]} does not start: {error.strerror}") from None
        self._watched.append(_Watched(os.path.basename(words[0]), program))

    def fault(self) -> str:
        """What is wrong: which program has ended by itself, with its last words. Empty if all run."""
        return next((watched.fault for watched in self._watched if watched.fault), "")

    async def first_fault(self) -> str:
        """Wait until one has ended by itself; returns the fault."""
        await asyncio.wait([watched.task for watched in self._watched], return_when=asyncio.FIRST_COMPLETED)
        return self.fault()

    async def end(self) -> None:
        """End all, the last one first. May be called more than once."""
        for watched in self._watched:
            watched.task.cancel()
        await asyncio.gather(*(watched.task for watched in self._watched), return_exceptions=True)
        self._watched.clear()
        await self._after.aclose()


class _Watched:
    def __init__(self, name: str, program: Program) -> None:
        self.fault = ""
        self._name = name
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
        self.fault = f"{self._name} has ended {ending_of(status)}{_quoted(bytes(self._words))}"
        LOG.error("%s", self.fault)

    async def _read(self) -> None:
        while piece := await self._program.output.read(_PIECE_BYTES):
            self._words += piece
            del self._words[:-LAST_WORDS_BYTES]


def ending_of(status: int) -> str:
    """How a program ended, for people."""
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"


def _quoted(words: bytes) -> str:
    text = words.decode(errors="replace").strip()
    return f"; its last words:\n{text}" if text else " and said nothing"
